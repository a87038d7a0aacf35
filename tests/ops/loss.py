"""Cross-entropy and dropout: specifications and wrong backwards."""

import numpy as np

from minigrad.registry import OPS

from .normalise import softmax
from .spec import call, nonzero, normal, spec, wrong


def cross_entropy(
    logits, targets, ignore_index=-100, label_smoothing=0.0, reduction="mean"
):
    """-sum_c q_c log p_c for each position, q the smoothed target; one at a time."""
    losses, counted = np.zeros(targets.shape), 0
    for position in np.ndindex(targets.shape):
        target = targets[position]
        if target == ignore_index:
            continue
        counted += 1
        log_p = np.log(softmax(logits[position]))
        q = np.full(len(log_p), label_smoothing / len(log_p))
        q[target] += 1 - label_smoothing
        losses[position] = -sum(q * log_p)
    if reduction == "none":
        return losses
    return losses.sum() / (counted if reduction == "mean" else 1)


_targets = np.array([[4, 0, 2], [1, 4, 4]])
_padded = np.array([[4, 0, -100], [1, -100, -100]])


def _logits(shape, targets, **options):
    return lambda r: call(normal(r, shape), targets, **options)


spec("cross_entropy", cross_entropy, {
    "rows": _logits((3, 5), _targets[0]),
    "all": _logits(
        (2, 3, 5), _targets, ignore_index=4, label_smoothing=0.1, reduction="none"
    ),
    "sum": _logits((2, 3, 5), _padded, reduction="sum"),
    "one": _logits((5,), np.array(2)),
    "batched": _logits((2, 3, 5), _targets),
    "ignored": _logits((2, 3, 5), _padded),
    "none": _logits((2, 3, 5), _padded, reduction="none"),
    "empty": _logits((0, 5), np.zeros(0, int), reduction="none"),
    "empty-sum": _logits((0, 5), np.zeros(0, int), reduction="sum"),
})  # fmt: skip


def _onehot(targets, n):
    return np.eye(n)[np.where(targets < 0, 0, targets)]


def _minus_target(logits, targets, smoothing=0.0):
    """(p - q, whether a position counts)"""
    n = logits.shape[-1]
    q = _onehot(targets, n) * (1 - smoothing) + smoothing / n
    return softmax(logits) - q, (targets >= 0)[..., None]


def _ignoring(backward):
    """Of backward(g, p - q, counts), with q the target without smoothing."""
    return lambda g, y, x, t, **options: backward(g, *_minus_target(x, t))


wrong("cross_entropy", "ignored-counted",
      _ignoring(lambda g, d, c: g * d * c / c.size), on="ignored")  # fmt: skip
wrong("cross_entropy", "no-target",
      lambda g, y, x, t: g * softmax(x) / t.size, on="batched")  # fmt: skip


def dropout(x, p, training=True, rng=None):
    """Which entries fall out is for the generator to say, and ``test_edges.py`` counts
    them; here they are those that fall out of an array of ones."""
    if not training or p == 0:
        return x
    kept = OPS["dropout"].raw(np.ones_like(x), p, training, rng)[0] != 0
    return np.where(kept, x / max(1 - p, 1e-300), 0)


def _dropping(shape, p, training=True):
    return lambda r: call(
        nonzero(r, shape), p, training=training, rng=np.random.default_rng(7)
    )


spec(
    "dropout",
    dropout,
    {
        "half": _dropping((3, 5), 0.5),
        "fifth": _dropping((7, 5), 0.2),
        "none": _dropping((3, 5), 0.0),
        "evaluating": _dropping((3, 5), 0.5, training=False),
        "empty": _dropping((0, 3), 0.5),
    },
)
wrong(
    "dropout",
    "fresh-mask",
    lambda g, y, x, p, training, rng: g * (rng.random(x.shape) >= p) / (1 - p),
    on="fifth",
)
