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

First the text is normalised (Unicode NFC), and between two letters or digits the
apostrophe ’ is replaced by '. Then equal words are equal strings.
"""

import functools
import re
import unicodedata

ELIDED = "l d j m t s n c qu jusqu lorsqu puisqu quoiqu".split()
CLOSING = frozenset(",.;:!?)]}»…%’”")  # no space before them
OPENING = frozenset("([{«¿¡$£“‘")  # no space after them
JOINING = frozenset("-/_")  # no space on either side
QUOTES = "\"'"  # the first opens, the second closes, and so on


def tokenize(text, lower=False):
    """Return the words and punctuation marks of ``text``, as a list of strings.

    lower   True: all in lower case
    """
    text, marks = text.lower() if lower else text, ""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        text = re.sub(r"(?<=[^\W_])’(?=[^\W_])", "'", text)
        found = {c for c in text if unicodedata.category(c)[0] == "M"}
        marks = "".join(sorted(found))
    return _pattern(marks).findall(text)


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
        rf"|\S{mark}"
    )
