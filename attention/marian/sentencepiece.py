"""SentencePiece's unigram model: the most probable way to cut a text into pieces.

Each piece x has a log probability s(x), and pieces are taken to be independent. The
best cut of a text c_1 ... c_n is then found from left to right (Viterbi): with b_j the
score of the best cut of the first j characters,

    b_0 = 0,     b_j = max over pieces x that end at j of  b_(j - |x|) + s(x)

and the pieces are read off backwards. This costs n times the length of the longest
piece. A character that no piece covers becomes an unknown piece, 10 worse than the
worst piece, and unknown neighbours become one, which holds the text itself; a model
with byte fallback spells it in bytes, <0x41>.

Scores are added in float32, as the reference does: among cuts of equal probability
rounding may decide, and else the last piece that is longest ("aaa" is "a aa").

    model = sentencepiece.load("source.spm")
    model.encode("the dog")            ["▁the", "▁do", "g"]
    model.decode(["▁the", "▁do", "g"])   "the dog"

A ``.spm`` is a protocol buffer (protobuf.py): pieces, each with its text, score and
type, and the rules by which a text is normalised first (normalizer.py).
Source: Kudo 2018, "Subword Regularization", section 3.1 and equation 7.
"""

import math
import os
import re

import numpy as np

from .normalizer import SPACE, CharacterMap, Normalizer
from .protobuf import as_bytes, as_float, as_int, as_text, fields

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)  # types of pieces
UNIGRAM = 1
MODELS = {2: "BPE", 3: "word", 4: "character"}
PENALTY = np.float32(10.0)  # of an unknown character, below the worst piece
LARGEST = 1 << 28  # bytes; that of a real model has less than 2 ** 20
BYTE_PIECE = re.compile("<0x([0-9A-F]{2})>")


def load(path):
    """The SentencePiece model in a ``.spm`` file.

    Raises FileNotFoundError without one, ValueError with the reason for a file that is
    damaged, something else, or not a unigram model.
    """
    try:
        size = os.path.getsize(path)
        if size > LARGEST:
            raise ValueError(f"it has {size} bytes, more than any such model")
        with open(path, "rb") as file:
            return SentencePiece(file.read())
    except ValueError as error:
        raise ValueError(
            f"{path} cannot be read as a SentencePiece model: {error}."
        ) from None


class SentencePiece:
    """Cuts a text into pieces, and joins them again.

    proto   the bytes of a ``.spm``; ValueError, in half a sentence, if they are none
    """

    def __init__(self, proto):
        pieces, trainer, normalizer = [], {}, {}
        for number, value in fields(proto):
            if number == 1:
                pieces.append(_piece(as_bytes(value, "piece"), len(pieces)))
            elif number == 2:
                trainer = dict(fields(as_bytes(value, "trainer's settings")))
            elif number == 3:
                normalizer = dict(fields(as_bytes(value, "normaliser's settings")))
        if not pieces:
            raise ValueError("it has no pieces (it is empty, or not a .spm)")
        kind = as_int(trainer.get(3, UNIGRAM), "model type")
        if kind != UNIGRAM:
            raise ValueError(
                f"it is a {MODELS.get(kind, kind)} model; only unigram models are read"
            )
        self.byte_fallback = bool(trainer.get(35, 0))
        self.unknown_surface = as_text(trainer.get(44, b" \xe2\x81\x87 "), "surface")
        self.types, self.scores = {}, {}
        for text, score, kind in pieces:
            if text in self.types:
                raise ValueError(f"it has the piece {text!r} twice")
            self.types[text] = kind
            if kind in (NORMAL, USER_DEFINED):
                self.scores[text] = score
        normal = [s for _, s, kind in pieces if kind == NORMAL]
        self.unknown_score = min(normal, default=np.float32(0)) - PENALTY
        own = [text for text, _, kind in pieces if kind == USER_DEFINED]
        for text in own:  # above all that is probable, so that it is found
            n = len(text.encode("utf-8"))
            self.scores[text] = np.float32(0.1 * (n - 1))
        self.longest = max(map(len, self.scores), default=1)
        at_end, dummy = bool(trainer.get(24, 0)), bool(normalizer.get(3, 1))
        self.remove_extra = bool(normalizer.get(4, 1))
        self.strips_start = dummy or self.remove_extra
        rules = as_bytes(normalizer.get(2, b""), "character map")
        self.normalize = Normalizer(
            CharacterMap(rules) if rules else None,
            in_front=dummy and not at_end,
            at_end=dummy and at_end,
            remove_extra=self.remove_extra,
            escape=bool(normalizer.get(5, 1)),
            kept=sorted((t.encode("utf-8") for t in own), key=len, reverse=True),
        )

    def encode(self, text):
        """The pieces of a text, a list of str."""
        if not isinstance(text, str):
            raise TypeError(
                f"SentencePiece: text is a {type(text).__name__}; expected a str."
            )
        if any("\ud800" <= c <= "\udfff" for c in text):
            raise ValueError(
                "SentencePiece: the text holds half of a surrogate pair, which is no "
                "character."
            )
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
        """The text of pieces; one that the model has not stands for itself."""
        text, spelled, space_seen = "", b"", False
        for piece in pieces:
            kind = self.types.get(piece)
            byte = BYTE_PIECE.fullmatch(piece) if kind == BYTE else None
            if byte:
                spelled += bytes.fromhex(byte[1])
                continue
            text, spelled = text + _spelled(spelled), b""
            if kind == UNKNOWN:
                text += self.unknown_surface
            elif kind is None:
                text += piece
            elif kind != CONTROL:
                at_start = not text and not space_seen
                if at_start and self.strips_start and piece.startswith(SPACE):
                    piece = piece.removeprefix(SPACE)
                    space_seen = not self.remove_extra
                text += piece.replace(SPACE, " ")
        return text + _spelled(spelled)

    def _best_cut(self, text):
        """The pieces of the most probable cut, unknown ones a character each."""
        n, scores = len(text), self.scores
        best = [np.float32(0)] + [None] * n  # b_j
        begin = [0] * (n + 1)  # where the piece that ends at j begins
        for i in range(n):
            for j in range(i + 1, min(n, i + self.longest) + 1):
                s = scores.get(text[i:j])
                if s is None:
                    continue
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


def _piece(message, n):
    """(text, score, type) of the n-th piece."""
    found = dict(fields(message))
    text = as_text(found.get(1, b""), f"piece {n}")
    score = as_float(found.get(2, b"\0\0\0\0"), f"score of piece {n}")
    kind = as_int(found.get(3, NORMAL), f"type of piece {n}")
    if not text:
        raise ValueError(f"its piece {n} is empty")
    if not math.isfinite(score):
        raise ValueError(f"its piece {n}, {text!r}, has the score {score}")
    if kind not in range(1, 7):
        raise ValueError(f"its piece {n}, {text!r}, has the unknown type {kind}")
    return text, np.float32(score), kind


def _spelled(data):
    """Bytes as text, with U+FFFD for each that is no part of a character."""
    text = data.decode("utf-8", "surrogateescape")
    return re.sub("[\udc80-\udcff]", "\ufffd", text)
