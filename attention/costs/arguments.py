"""The variants that the ledger knows, and what it asks of its arguments.

A variant has some of the options alone: a window belongs to patterns, a projection to
scores with parameters. What has no meaning for a variant is checked all the same, so
that one set of options may be given to several.
"""

import numpy as np

from ..checks import between, whole, wholes

ONCE = ("once", "steps", "pairs")
PROJECTED = {  # which projections there are of queries and keys; the first is usual
    "general": ("queries", "keys", "pairs"),
    "additive": ONCE,
    "concat": ONCE,
}
SCORES = ("dot", "scaled", "general", "additive", "concat", "gaussian")
LOCAL = ("local-m", "local-p")
PATTERNS = ("window", "dilated", "longformer", "bigbird")  # the pairs that are kept
LEARNED = (*PROJECTED, "coverage", "local-p", "multi-head")
TWO_WIDTHS = (*PROJECTED, "coverage")  # queries and keys may differ in width
VARIANTS = (
    *SCORES, "coverage", *LOCAL, "dense", "multi-head", "tiled", *PATTERNS, "linear"
)  # fmt: skip


def check_variant(variant, E, Dk, H, Hk, projected):
    """ValueError unless there is such a variant, and it takes these."""
    if variant not in VARIANTS:
        raise ValueError(
            f"ledger: there is no variant {variant!r}; expected one of "
            f"{', '.join(VARIANTS)}."
        )
    if E != Dk and variant not in TWO_WIDTHS:
        raise ValueError(
            f"ledger: {variant!r} needs queries and keys of one width; found E {E} and "
            f"Dk {Dk}."
        )
    if H % Hk:
        raise ValueError(f"ledger: H is {H}; expected a multiple of Hk, {Hk}.")
    if projected is not None and projected not in PROJECTED.get(variant, ()):
        choices = ", ".join(map(repr, PROJECTED.get(variant, ()))) or "None"
        raise ValueError(
            f"ledger: projected is {projected!r}; expected {choices} for {variant!r}."
        )


def check_patterns(variant, L, S, window, dilation, global_tokens, blocks, D):
    """TypeError or ValueError unless these say which pairs there are."""
    note = ", or -1 for all keys on that side"
    _check_numbers("window", window, -1, ("left", "right"), note)
    _check_numbers("blocks", blocks, 0, ("block", "window", "n_random", "n_global"))
    whole("ledger", "dilation", dilation, least=1)
    whole("ledger", "D", D, least=1 if variant == "local-p" else 0)
    shapes = {1: "(n,), a list of positions"}
    tokens = wholes("ledger", "global_tokens", global_tokens, shapes)
    most = max(L, S) - 1
    between("ledger", "global_tokens", tokens, 0, most, "positions of tokens")
    block, wide, _, _ = blocks
    if variant == "bigbird" and wide % 2 == 0:
        raise ValueError(
            f"ledger: bigbird has a window of {wide}; expected an odd number of blocks."
        )
    if variant == "bigbird" and (block < 1 or L % block or S % block):
        raise ValueError(
            f"ledger: bigbird has blocks of {block} tokens; expected L and S in whole "
            f"blocks, found {L} and {S}."
        )


def _check_numbers(name, value, least, letters, note=""):
    """ValueError unless ``value`` is a whole number for each of the letters."""
    fits = isinstance(value, (tuple, list)) and len(value) == len(letters)
    kinds = (int, np.integer)
    if not fits or not all(
        isinstance(n, kinds) and not isinstance(n, bool) and n >= least for n in value
    ):
        raise ValueError(
            f"ledger: {name} is {value!r}; expected ({', '.join(letters)}), whole "
            f"numbers{note}."
        )
