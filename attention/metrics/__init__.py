"""Metrics: how good an output is, and what attention weights show.

accuracy.py    the share of correct tokens and sentences
bleu.py        compares translations with references
alignment.py   compares weights with word alignments; the entropy of weights
"""

from . import accuracy, alignment, bleu  # noqa: F401
from .accuracy import exact_match, token_accuracy
from .alignment import (
    alignment_error_rate,
    attention_entropy,
    corpus_alignment_error_rate,
    diagonal_baseline,
    renormalized,
    uniform_baseline,
)
from .bleu import Bleu, bleu_parts, corpus_bleu

__all__ = [
    "Bleu", "alignment_error_rate", "attention_entropy", "bleu_parts",
    "corpus_alignment_error_rate", "corpus_bleu", "diagonal_baseline", "exact_match",
    "renormalized", "token_accuracy", "uniform_baseline",
]  # fmt: skip
