"""SentencePiece's unigram model: the most probable cut of a text into pieces.

Each piece x has a log probability s(x), and pieces are independent. The best cut of a
text c_1 ... c_n is found from left to right (Viterbi): with b_j the score of the best
cut of the first j characters,

    b_0 = 0,     b_j = max over pieces x that end at j of  b_(j - |x|) + s(x)

The last piece is the one that gave b_n, the piece before it gave b at the place where
the last one begins, and so on. This costs n times the length of the longest piece. A
character that no piece covers becomes an unknown piece, with a score 10 below that of
the worst piece. Neighbouring unknown pieces are joined.

Scores are added in float32, as in the reference: rounding may decide between cuts of
equal probability. Of two cuts with equal sums, the one with the longer last piece is
taken: "a aa", not "aa a".

    model = sentencepiece.load("source.spm")
    model.encode("the dog")            ["▁the", "▁do", "g"]
    model.decode(["▁the", "▁do", "g"])   "the dog"

A ``.spm`` file is a protocol buffer (protobuf.py): pieces, each with its text, score
and type, and the rules that normalise a text first (normalizer.py).
Source: Kudo 2018, "Subword Regularization", section 3.2.
"""

import struct

import numpy as np

from minigrad.bounds import read_for_parsing

from .normalizer import SPACE, CharacterMap, replaced, without_runs
from .protobuf import read_fields

NORMAL, UNKNOWN, CONTROL, USER_DEFINED = 1, 2, 3, 4  # types of pieces
UNIGRAM = 1  # a type of model

# numbers of fields, from sentencepiece_model.proto
PIECES, TRAINER, RULES = 1, 2, 3  # of the file
TEXT, SCORE, TYPE = 1, 2, 3  # of a piece
MODEL_TYPE = 3  # of the trainer
CHARACTER_MAP = 2  # of the rules
USUAL = {  # what Marian's models have; other values are other rules for spaces and bytes
    (TRAINER, 24): ("treat_whitespace_as_suffix", 0),
    (TRAINER, 35): ("byte_fallback", 0),
    (RULES, 3): ("add_dummy_prefix", 1),
    (RULES, 4): ("remove_extra_whitespaces", 1),
    (RULES, 5): ("escape_whitespaces", 1),
}
PENALTY = np.float32(10.0)  # of an unknown character, below the worst piece
UNKNOWN_TEXT = " \u2047 "  # of the piece <unk>


def load(path):
    """Return the SentencePiece model in a ``.spm`` file."""
    data = read_for_parsing(path)
    try:
        return SentencePiece(data)
    except (ValueError, TypeError, AttributeError, struct.error) as error:
        raise ValueError(
            f"{path} is not a SentencePiece unigram model, or is damaged: {error}."
        ) from None


class SentencePiece:
    """Cut a text into pieces, and join them again.

    data   the bytes of a ``.spm`` file
    """

    def __init__(self, data):
        fields = read_fields(data)
        pieces = [_piece(message) for number, message in fields if number == PIECES]
        last = dict(fields)
        settings = {n: dict(read_fields(last.get(n, b""))) for n in (TRAINER, RULES)}
        kind = settings[TRAINER].get(MODEL_TYPE, UNIGRAM)
        if not pieces or kind != UNIGRAM:
            raise ValueError(
                f"it has {len(pieces)} pieces and the type {kind}; expected pieces and "
                f"the type {UNIGRAM}, unigram"
            )
        for (part, number), (name, usual) in USUAL.items():
            found = settings[part].get(number, usual)
            if found != usual:
                raise ValueError(f"{name} is {found}; expected {usual}")
        self.types = {text: kind for text, _, kind in pieces}
        self.scores = {text: score for text, score, kind in pieces if kind == NORMAL}
        self.unknown_score = min(self.scores.values(), default=np.float32(0)) - PENALTY
        own = [text.encode("utf-8") for text, _, kind in pieces if kind == USER_DEFINED]
        for text in own:  # 0 or more: at least every log probability
            self.scores[text.decode("utf-8")] = np.float32(0.1 * (len(text) - 1))
        self.longest = max(map(len, self.scores), default=1)
        compiled = settings[RULES].get(CHARACTER_MAP, b"")
        self.rules = CharacterMap(compiled) if compiled else None
        self.kept = sorted(own, key=len, reverse=True)

    def normalize(self, text):
        """Return the text that is cut, see normalizer.py."""
        parts = replaced(text.encode("utf-8"), self.rules, self.kept)
        normal = " " + "".join(without_runs(parts))
        return normal.replace(" ", SPACE).rstrip(SPACE)

    def encode(self, text):
        """Return the pieces of a text, a list of str."""
        pieces, after_unknown = [], False
        for piece in self._best_cut(self.normalize(text)):
            unknown = piece not in self.scores
            if unknown and after_unknown:
                pieces[-1] += piece
            else:
                pieces.append(piece)
            after_unknown = unknown
        return pieces

    def decode(self, pieces):
        """Return the text of pieces; a piece that the model lacks is its own text."""
        text = ""
        for piece in pieces:
            kind = self.types.get(piece)
            if kind == UNKNOWN:
                text += UNKNOWN_TEXT
            elif kind is None:
                text += piece
            elif kind != CONTROL:
                piece = piece if text else piece.removeprefix(SPACE)
                text += piece.replace(SPACE, " ")
        return text

    def _best_cut(self, text):
        """Return the most probable cut; unknown pieces are single characters."""
        n, scores = len(text), self.scores
        best = [np.float32(0)] + [None] * n  # b_j
        begin = [0] * (n + 1)  # where the piece that ends at j begins
        for i in range(n):
            for j in range(i + 1, min(n, i + self.longest) + 1):
                s = scores.get(text[i:j])
                if s is None:
                    continue
                # > and not >=: of equal sums, the first stays, with the longer piece
                if best[j] is None or best[i] + s > best[j]:
                    best[j], begin[j] = best[i] + s, i
            s = best[i] + self.unknown_score
            if best[i + 1] is None or s > best[i + 1]:
                best[i + 1], begin[i + 1] = s, i
        pieces, j = [], n
        while j > 0:
            pieces.append(text[begin[j] : j])
            j = begin[j]
        return pieces[::-1]


def _piece(message):
    """Return (text, score, type) of a piece."""
    fields = dict(read_fields(message))
    (score,) = struct.unpack("<f", fields.get(SCORE, b"\0\0\0\0"))
    text = fields.get(TEXT, b"").decode("utf-8")
    if not text or not abs(score) < 1e30:  # the sum of many is finite
        raise ValueError(f"the piece {text!r} has the score {score}")
    return text, np.float32(score), fields.get(TYPE, NORMAL)
