"""Split text into words and join them, for European languages written with spaces.

    tokenize("Qu'est-ce que c'est ?")  Qu'  est  -  ce  que  c'  est  ?
    tokenize("I don't know, Tom.")     I  don't  know  ,  Tom  .

- A word is a sequence of letters, digits and combining marks of any script.
- An apostrophe inside a word belongs to it: don't, John's, aujourd'hui, o'clock.
- A French elided word ends at its apostrophe: l' d' j' m' t' s' n' c' qu' jusqu'
  lorsqu' puisqu' quoiqu'. So the second word of "l'amour" is "amour". An English word
  that starts in the same way, such as "c'mon", is also divided.
- A number keeps its points and commas: 1,000.50.
- Every other visible character is a token of its own.

First the text is normalised (Unicode NFC), characters without a shape are removed, and
between two letters or digits the apostrophe ’ is replaced by '. Then equal words are
equal strings.
"""

import functools
import re
import unicodedata

ELIDED = "l d j m t s n c qu jusqu lorsqu puisqu quoiqu".split()
CLOSING = frozenset(",.;:!?)]}»…%’”")  # no space before them
OPENING = frozenset("([{«¿¡$£“‘")  # no space after them
JOINING = frozenset("-/_")  # no space on either side
JOINERS = "\u200c\u200d"
# from Hebrew to Khmer and Mongolian; variation selectors; symbols and emoji
JOINED = (
    "\u0590-\u18af\u2300-\u2bff\ufb1d-\ufdff\ufe0f\ufe70-\ufefc\U0001f000-\U0001faff"
)
QUOTES = "\"'"  # the first opens, the second closes, and so on


def tokenize(text, lower=False):
    """Return the words and punctuation marks of ``text``, as a list of strings.

    lower   True: all in lower case
    """
    text, marks = text.lower() if lower else text, ""
    if not text.isascii():
        text = unicodedata.normalize("NFC", without_format(text))
        text = re.sub(r"(?<=[^\W_])’(?=[^\W_])", "'", text)
        found = {c for c in text if unicodedata.category(c)[0] == "M" or c in JOINERS}
        marks = "".join(sorted(found))
    return _pattern(marks).findall(text)


def without_format(text):
    """Return the text without characters that have no shape (Unicode category Cf).

    They are byte order marks, soft hyphens, zero-width spaces and marks of direction.
    The joiners U+200C and U+200D stay where they change a word or a picture: inside
    scripts such as Arabic and those of India, and between emoji.
    """
    if text.isascii():
        return text
    text = re.sub(rf"(?<![{JOINED}])[{JOINERS}]|[{JOINERS}](?![{JOINED}])", "", text)
    kept = (c for c in text if c in JOINERS or unicodedata.category(c) != "Cf")
    return "".join(kept)


def detokenize(tokens):
    """Return the tokens as a line of text, with spaces where English has them.

    Its spaces may differ from those of the original text, but ``tokenize`` returns the
    same tokens for both.
    """
    tokens = list(tokens)
    pieces, glued, open_ = [], True, set()
    # a quotation mark without a partner cannot open
    paired = {mark: tokens.count(mark) % 2 == 0 for mark in QUOTES}
    for token in tokens:
        before, after = token in CLOSING, token in OPENING  # True: no space there
        if token in JOINING:
            before = after = True
        elif token in QUOTES:
            after = paired[token] and token not in open_
            before = not after
            open_ ^= {token} if paired[token] else set()
        elif token.endswith("'"):
            after = True  # elided
        pieces += [token] if glued or before else [" ", token]
        glued = after
    return "".join(pieces)


@functools.lru_cache(64)
def _pattern(marks):
    """Return the pattern of a token; ``marks`` are the combining marks of the text.

    ``\\w`` does not match combining marks, which words of many scripts need.
    """
    mark = f"[{re.escape(marks)}]*" if marks else ""
    letter = rf"(?:[^\W_]{mark})"
    return re.compile(
        rf"(?i:{'|'.join(ELIDED)})'(?={letter})"
        r"|\d+(?:[.,]\d+)+"
        rf"|{letter}+(?:'{letter}+)*"
        rf"|\S{mark}(?:(?<=\u200d)\S{mark})*"
    )
