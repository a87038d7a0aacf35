"""Names of models, tasks and benchmark rows that the command line offers.

The modules that define them import NumPy, and ``--help`` does not wait for that. A test
compares the names here with those of the modules.
"""

ATTENTIONS = ("none", "bahdanau", "luong")  # CHOICES of seq2seq/config.py
CELLS = ("gru", "lstm")

SCALED = ("rope+linear", "rope+ntk", "rope+yarn")  # SCHEMES of transformer/schemes.py
TRAINED = (
    "none", "sinusoidal", "learned", "t5", "shaw", "transformer-xl", "disentangled",
    "alibi", "rope",
)  # fmt: skip

QUESTIONS = {  # TASKS of tasks/algorithmic.py, with their lengths
    "copy": (3, 8),
    "reversal": (3, 8),
    "sort": (3, 8),
    "addition": (1, 3),
    "recall": (2, 6),
}

ROWS = (  # benchmark/rows.py
    "reversal", "translate", "translate-cold", "additive-128", "additive-50",
    "tiled-forward", "tiled", "causal-forward", "causal", "window", "memory", "gru",
    "gpt-64", "gpt-128", "gpt-128-6", "gpt-192", "tiny", "sgd", "import",
)  # fmt: skip
