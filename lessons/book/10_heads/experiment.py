"""What does a Transformer's block need in order to train? The record of lesson 10.

    python -m lessons experiment 10

Pre-norm blocks learn a table of two entries: of the token at a place and of the one
before it, y_t = F[x_t, x_(t-1)]. Whole, and without each of the four things that the
sidebar of section 6.4.4 calls necessary: two and four blocks, the best of three
learning rates (four without positions), five seeds, until they have learned what they
can. Some 12 minutes on two cores.
"""

from importlib import import_module

from lessons.classroom.studies import study

small = import_module("lessons.book.10_heads.small")
ARMS = {"nothing": {}} | {
    part: {"without": part} for part in ("feed-forward", "residual", "norm")
}
NO_ORDER = {"positions": {"without": "positions"}}
DEPTHS = 2, 4
SIZE = {"width": 32, "heads": 4}


def comparison(layers):
    """Return the study of blocks without each of the parts.

    Without the residual connection they take long.
    """
    return small.Table(
        f"{layers} blocks", f"What do {layers} blocks need?", arms=ARMS,
        size={**SIZE, "layers": layers}, rates=(5e-4, 1e-3, 2e-3), budget=12_000,
    )  # fmt: skip


def without_order():
    """Return the study of one arm: how near do blocks come to the bound?

    No model that does not know the order is better than ``small.best_without_order``.
    So its training may end there, where other models may begin to rise later.
    """
    return small.Table(
        "no positions", "What do blocks learn without positions?", arms=NO_ORDER,
        size={**SIZE, "layers": DEPTHS[-1]}, trivial=None,
    )  # fmt: skip


if __name__ == "__main__":
    depths = [comparison(layers) for layers in DEPTHS]
    study("transformer", [*depths, without_order()])
