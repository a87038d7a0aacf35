"""Text to words and back, by rules that fit European languages written with spaces.

    tokenize("Qu'est-ce que c'est ?")  Qu'  est  -  ce  que  c'  est  ?
    tokenize("I don't know, Tom.")     I  don't  know  ,  Tom  .

- A word is a run of letters, digits and combining marks of any script.
- An apostrophe inside a word belongs to it: don't, John's, aujourd'hui, o'clock.
- But a word that French elides before another ends there: l' d' j' m' t' s' n' c' qu'
  jusqu' lorsqu' puisqu' quoiqu'. So "l'amour" shares its second word with "amour". An
  English word that starts in the same way is cut too; "c'mon" is one.
- A number keeps its points and commas: 1,000.50.
- Everything else that can be seen is a token for each character.

First the text is brought to composed characters (NFC), and the typographic apostrophe
to the typewriter's: the same word is then always the same string.
"""

import functools
import re
import unicodedata

ELIDED = "l d j m t s n c qu jusqu lorsqu puisqu quoiqu".split()
CLOSING = frozenset(",.;:!?)]}»…%’”")  # stand at the word before
OPENING = frozenset("([{«¿¡$£“‘")  # stand at the word after
JOINING = frozenset("-/_")  # stand at both
EITHER = "\"'"  # open and close in turn


def tokenize(text, lower=False):
    """The words and punctuation marks of ``text``, as a list of strings.

    lower   True: all in lower case

    Text of white space alone has no tokens. Raises TypeError for what is no string.
    """
    if not isinstance(text, str):
        raise TypeError(f"tokenize: text is a {type(text).__name__}; expected a str.")
    text, marks = text.lower() if lower else text, ""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        text = re.sub(r"(?<=[^\W_])’(?=[^\W_])", "'", text)
        found = {c for c in text if unicodedata.category(c)[0] == "M"}
        marks = "".join(sorted(found))
    return _pattern(marks).findall(text)


def detokenize(tokens):
    """The tokens as a line of text, with spaces where English has them.

    A way back, though not always to the same text: how many spaces there were, and
    whether a hyphen stood alone, is not in the tokens. What it returns has the same
    tokens again.
    """
    tokens = _checked_tokens(tokens)
    pieces, glued, open_ = [], True, set()
    # a quotation mark without a partner cannot open
    paired = {mark: tokens.count(mark) % 2 == 0 for mark in EITHER}
    for token in tokens:
        before, after = token in CLOSING, token in OPENING  # whether it clings
        if token in JOINING:
            before = after = True
        elif token in EITHER:
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
    """What a token is, where ``marks`` are the combining marks of the text.

    ``\\w`` leaves marks out, though in many scripts no word can be spelled without.
    """
    mark = f"[{re.escape(marks)}]*" if marks else ""
    letter = rf"(?:[^\W_]{mark})"
    return re.compile(
        rf"(?i:{'|'.join(ELIDED)})'(?={letter})"
        r"|\d+(?:[.,]\d+)+"
        rf"|{letter}+(?:'{letter}+)*"
        rf"|\S{mark}"
    )


def _checked_tokens(tokens):
    if isinstance(tokens, str):
        raise TypeError(
            "detokenize: tokens is one string; expected a list of tokens, as tokenize "
            "returns it."
        )
    tokens = list(tokens)
    for i, token in enumerate(tokens):
        if not isinstance(token, str):
            raise TypeError(
                f"detokenize: token {i} is {token!r}; expected a str. Ids become words "
                "by Vocabulary.decode."
            )
    return tokens
