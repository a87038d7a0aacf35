"""Measure how fast the engine is: ratios to NumPy or PyTorch on the same machine.

    rows.py     what is measured, and the largest ratio that is allowed
    peer.py     the same work in torch, if it is installed
    timing.py   compare the results of the sides, then time them in turn

``python -m attention bench`` prints the table (commands/bench.py).
"""

NAMES = (  # of the rows, for ``--help``, which does not wait for rows.py and NumPy
    "reversal", "translate", "translate-cold", "additive-128", "additive-50",
    "tiled-forward", "tiled", "causal-forward", "causal", "window", "decay",
    "decay-from", "delta", "delta-from", "memory", "gru",
    "gpt-64", "gpt-128", "gpt-128-6", "gpt-192", "write", "write-float32",
    "tiny", "sgd", "import",
)  # fmt: skip
