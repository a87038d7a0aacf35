"""Where the data come from: one task a file."""

from ..late import late

__getattr__ = late(
    __name__,
    "algorithmic",
    "batch",
    "batching",
    "bindings",
    "grammar",
    "parallel_text",
    "questions",
    "reversal",
    "symbols",
    "vocabulary",
    "words",
)
