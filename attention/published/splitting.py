"""Split a text into the words that byte-pair encoding (bpe.py) then works on.

No token reaches over the border of two words, so the rules of splitting belong to a
model as its weights do. A word keeps the space in front of it:

    gpt-2     "It's 12 cats  ok"   ["It", "'s", " 12", " cats", " ", " ok"]
    smollm                         ["It", "'s", " ", "1", "2", " cats", " ", " ok"]

gpt-2 takes, at each place, the first of these that fits: the ending of an English
contraction; a run of letters, of numbers, or of other characters, each with at most one
space in front; spaces. If a word follows a run of spaces, the last space is left for
the word. smollm first makes each digit a word of its own, and then splits the rest in
the same way. qwen2 also makes each digit a word, lets any single character but a number
stand in front of letters, and keeps line ends with the spaces before them; its texts
are first put in Unicode's form NFC, where é is one character and not e and an accent.

The rules in the files are regular expressions with \\p{L} for a letter and \\p{N} for a
number of any script. Python's ``re`` has neither. So each character outside ASCII is
first replaced by one in ASCII of the same kind. In that text the expression finds the
borders, with [A-Za-z] for a letter and [0-9] for a number, and the original text is cut
at the same places:

    text     "naïve 中文5€"
    kinds    "naave aa5#"        the borders: naave| aa|5|#

Sources: Radford et al. 2019 (GPT-2) and the files of GPT-2, SmolLM2 and Qwen2.
"""

import re
import unicodedata

GPT2 = r"'(?:[stmd]|re|ve|ll)| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+"
DIGITS = r"[0-9]|[^0-9]+"
QWEN2 = (
    r"'(?i:[stmd]|re|ve|ll)|[^\r\nA-Za-z0-9]?[A-Za-z]+|[0-9]"
    r"| ?[^\sA-Za-z0-9]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
RULES = {  # expressions, each of which splits the results of the one before it
    name: [re.compile(rule, re.ASCII) for rule in rules]
    for name, rules in {
        "gpt-2": [GPT2], "smollm": [DIGITS, GPT2], "qwen2": [QWEN2],
    }.items()
}  # fmt: skip


class Kinds(dict):
    """{code of a character: a character in ASCII of the same kind}, as it is needed."""

    def __missing__(self, code):
        character = chr(code)
        kind = unicodedata.category(character)[0]
        if code < 128:
            kind = character
        elif character.isspace():
            kind = "\t"
        else:
            kind = {"L": "a", "N": "0"}.get(kind, "#")
        self[code] = kind
        return kind


KINDS = Kinds()


def normalized(text, name):
    """Return the text with composed characters (NFC) if the rules ask for it."""
    return unicodedata.normalize("NFC", text) if name == "qwen2" else text


def split(text, name):
    """Return the words of a text, which joined are the text; name is in ``RULES``."""
    words = [(text, text.translate(KINDS))]
    for rule in RULES[name]:
        words = [
            (word[match.start() : match.end()], match[0])
            for word, kinds in words
            for match in rule.finditer(kinds)
        ]
    return [word for word, _ in words]
