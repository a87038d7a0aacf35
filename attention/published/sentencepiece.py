"""SentencePiece's unigram model: the most probable cut of a text into pieces.

Each piece x has a log probability s(x), and pieces are independent. The best cut of a
text c_1 ... c_n is found from left to right (Viterbi): with b_j the score of the best
cut of the first j characters,

    b_0 = 0,     b_j = max over pieces x that end at j of  b_(j - |x|) + s(x)

The last piece is the one that gave b_n, the piece before it gave b at the place where
the last one begins, and so on. This costs n times the length of the longest piece. A
character that no piece covers becomes an unknown piece, with a score 10 below that of
the worst piece. Neighbouring unknown pieces are joined; a model with byte fallback
spells them in bytes, <0x41>.

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

import re
import struct

import numpy as np

from minigrad.bounds import read_for_parsing

from .normalizer import SPACE, CharacterMap, replaced, without_runs
from .protobuf import read_fields

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)  # types of pieces
UNIGRAM = 1  # a type of model

# numbers of fields, from sentencepiece_model.proto
PIECES, TRAINER, RULES = 1, 2, 3  # of the file
TEXT, SCORE, TYPE = 1, 2, 3  # of a piece
MODEL_TYPE, SPACE_AT_END, BYTE_FALLBACK, UNKNOWN_TEXT = 3, 24, 35, 44  # of the trainer
CHARACTER_MAP, ADD_SPACE, REMOVE_EXTRA, ESCAPE = 2, 3, 4, 5  # of the rules
PENALTY = np.float32(10.0)  # of an unknown character, below the worst piece
BYTE_PIECE = re.compile("<0x([0-9A-F]{2})>")


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
        trainer = dict(read_fields(last.get(TRAINER, b"")))
        rules = dict(read_fields(last.get(RULES, b"")))
        kind = trainer.get(MODEL_TYPE, UNIGRAM)
        if not pieces or kind != UNIGRAM:
            raise ValueError(
                f"it has {len(pieces)} pieces and the type {kind}; expected pieces and "
                f"the type {UNIGRAM}, unigram"
            )
        self.byte_fallback = bool(trainer.get(BYTE_FALLBACK, False))
        unknown_text = trainer.get(UNKNOWN_TEXT, b" \xe2\x81\x87 ")
        self.unknown_text = unknown_text.decode("utf-8")
        self.types = {text: kind for text, _, kind in pieces}
        self.scores = {text: score for text, score, kind in pieces if kind == NORMAL}
        self.unknown_score = min(self.scores.values(), default=np.float32(0)) - PENALTY
        own = [text.encode("utf-8") for text, _, kind in pieces if kind == USER_DEFINED]
        for text in own:  # 0 or more: at least every log probability
            self.scores[text.decode("utf-8")] = np.float32(0.1 * (len(text) - 1))
        self.longest = max(map(len, self.scores), default=1)
        compiled = rules.get(CHARACTER_MAP, b"")
        self.rules = CharacterMap(compiled) if compiled else None
        self.kept = sorted(own, key=len, reverse=True)
        self.add_space = bool(rules.get(ADD_SPACE, True))
        self.at_end = bool(trainer.get(SPACE_AT_END, False))  # the added space
        self.remove_extra = bool(rules.get(REMOVE_EXTRA, True))
        self.space = SPACE if rules.get(ESCAPE, True) else " "

    def normalize(self, text):
        """Return the text that is cut, see normalizer.py."""
        parts = list(replaced(text.encode("utf-8"), self.rules, self.kept))
        if all(part == " " for part in parts) and (self.remove_extra or not parts):
            return ""
        if self.remove_extra:
            parts = without_runs(parts)
        front = " " * (self.add_space and not self.at_end)
        normal = (front + "".join(parts)).replace(" ", self.space)
        if self.remove_extra:
            normal = normal.rstrip(self.space)
        return normal + self.space * (self.add_space and self.at_end)

    def encode(self, text):
        """Return the pieces of a text, a list of str."""
        pieces, after_unknown = [], False
        for piece in self._best_cut(self.normalize(text)):
            unknown = piece not in self.scores
            if unknown and self.byte_fallback:
                pieces += [f"<0x{byte:02X}>" for byte in piece.encode("utf-8")]
            elif unknown and after_unknown:
                pieces[-1] += piece
            else:
                pieces.append(piece)
            after_unknown = unknown
        return pieces

    def decode(self, pieces):
        """Return the text of pieces; a piece that the model lacks is its own text."""
        text, data, has_stripped = "", b"", False
        strips = self.add_space or self.remove_extra  # the first space
        for piece in pieces:
            kind = self.types.get(piece)
            byte = BYTE_PIECE.fullmatch(piece) if kind == BYTE else None
            if byte:
                data += bytes.fromhex(byte[1])
                continue
            text, data = text + _decoded(data), b""
            if kind == UNKNOWN:
                text += self.unknown_text
            elif kind is None:
                text += piece
            elif kind != CONTROL:
                at_start = not text and not has_stripped
                if at_start and strips and piece.startswith(SPACE):
                    piece = piece.removeprefix(SPACE)
                    has_stripped = not self.remove_extra  # then only one is removed
                text += piece.replace(SPACE, " ")
        return text + _decoded(data)

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


def _decoded(data):
    """Return bytes as text, with U+FFFD for each byte that is not in a character."""
    text = data.decode("utf-8", "surrogateescape")
    return re.sub("[\udc80-\udcff]", "\ufffd", text)
