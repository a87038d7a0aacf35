"""The data that the models learn from: generated tasks, grammars and your own text."""

from . import (
    algorithmic, batch, batching, bindings, grammar, parallel_text, questions, reversal,
    vocabulary, words,
)  # fmt: skip

__all__ = [
    "algorithmic", "batch", "batching", "bindings", "grammar", "parallel_text",
    "questions", "reversal", "vocabulary", "words",
]  # fmt: skip
