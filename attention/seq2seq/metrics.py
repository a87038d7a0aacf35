"""How right a model is, token by token and sentence by sentence.

What is measured otherwise stands beside: ``bleu.py`` compares texts, and
``alignment_metrics.py`` and ``patterns.py`` look at attention weights.
"""

import numpy as np

from .alignment_metrics import (
    alignment_error_rate,
    attention_entropy,
    corpus_alignment_error_rate,
    diagonal_baseline,
    mean_attention_entropy,
    renormalized,
    uniform_baseline,
)
from .bleu import Bleu, bleu_parts, corpus_bleu, sentence_bleu
from .patterns import alignment_pattern, self_attention_pattern

__all__ = [
    "Bleu", "alignment_error_rate", "alignment_pattern", "attention_entropy",
    "bleu_parts", "corpus_alignment_error_rate", "corpus_bleu", "diagonal_baseline",
    "exact_match", "mean_attention_entropy", "renormalized", "self_attention_pattern",
    "sentence_bleu", "token_accuracy", "uniform_baseline",
]  # fmt: skip


def token_accuracy(said, wanted, ignore=0):
    """The share of tokens that are right, from 0 to 1.

    said (B, T'), wanted (B, T)   ids; a place that ``said`` does not reach is wrong,
                                  and what it holds beyond T is not looked at
    ignore                        the id in ``wanted`` that asks for nothing: PAD
    """
    right, counts = _compared("token_accuracy", said, wanted, ignore)
    return float(right[counts].mean())


def exact_match(said, wanted, ignore=0):
    """The share of rows of which every token is right, from 0 to 1.

    Arguments as of ``token_accuracy``. Where ``wanted`` holds EOS, a row must have
    ended there too.
    """
    right, counts = _compared("exact_match", said, wanted, ignore)
    return float((right | ~counts).all(1).mean())


def _compared(name, said, wanted, ignore):
    """Which tokens are right, and which count: two bool (B, T)."""
    said, wanted = np.asarray(said), np.asarray(wanted)
    for which, x in ("said", said), ("wanted", wanted):
        if x.dtype.kind not in "iu":
            raise TypeError(
                f"{name}: {which} holds {x.dtype}; expected ids, whole numbers. Of "
                "logits, .argmax(-1) makes them."
            )
        if x.ndim != 2:
            raise ValueError(
                f"{name}: {which} has shape {x.shape}; expected (B, T), a row of ids "
                "for each sentence."
            )
    if len(said) != len(wanted):
        raise ValueError(
            f"{name}: said has {len(said)} rows and wanted {len(wanted)}; expected as "
            "many."
        )
    counts = wanted != ignore
    if not len(wanted) or not counts.any(1).all():
        empty = f"row {int(counts.any(1).argmin())}" if len(wanted) else "wanted"
        raise ValueError(
            f"{name}: {empty} holds no token that counts; expected one or more that "
            f"are not {ignore}."
        )
    n = min(said.shape[1], wanted.shape[1])
    right = np.zeros(wanted.shape, bool)
    right[:, :n] = said[:, :n] == wanted[:, :n]
    return right, counts
