"""Metrics: how good an output is, and what attention weights show.

accuracy.py    the share of correct tokens and sentences
bleu.py        compares translations with references
alignment.py   compares weights with word alignments; the entropy of weights
patterns.py    names the pattern of a matrix of weights
"""

from . import accuracy, alignment, bleu, patterns  # noqa: F401
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
from .patterns import alignment_pattern, self_attention_pattern

__all__ = [
    "Bleu", "alignment_error_rate", "alignment_pattern", "attention_entropy",
    "bleu_parts", "corpus_alignment_error_rate", "corpus_bleu", "diagonal_baseline",
    "exact_match", "renormalized", "self_attention_pattern", "token_accuracy",
    "uniform_baseline",
]  # fmt: skip
