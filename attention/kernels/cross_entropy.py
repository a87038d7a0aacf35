"""The compiled loop of ``minigrad.cross_entropy``: the losses and p - q in one pass.

The twin is ``minigrad/ops/loss.py``, with the formulas.
"""

import math

import numpy as np

from .choice import EXP
from .compiling import kernel, reads, writes
from .elementary import exp, from_ordered, ordered
from .pool import WORTH_A_CALL, spread

ROWS = 8  # of a work item


def cross_entropy(
    logits, targets, ignore_index=-100, label_smoothing=0.0, reduction="mean"
):
    """Compute ``minigrad.cross_entropy``; NotImplemented: its taught form should run.

    The taught form also computes smoothed targets, separate losses, and the messages.
    """
    kinds = type(ignore_index), type(label_smoothing)
    if kinds != (int, float) or label_smoothing or reduction not in ("mean", "sum"):
        return NotImplemented
    *positions, C = logits.shape
    work = EXP * logits.size
    if work < WORTH_A_CALL or targets.shape != tuple(positions):
        return NotImplemented
    counted = targets != ignore_index
    if ((targets < 0) | (targets >= C))[counted].any():
        return NotImplemented
    loop = loss_loop.version(logits.dtype, work)
    if loop is None:
        return NotImplemented
    Z = np.ascontiguousarray(logits).reshape(targets.size, C)
    t = np.where(counted, targets, -1).astype(np.int64).ravel()
    losses, d = np.empty(t.size, Z.dtype), np.empty_like(Z)
    spread(loop, -(-t.size // ROWS), work, Z, t, losses, d)
    n = max(int(np.count_nonzero(counted)), 1) if reduction == "mean" else 1

    def backward(g):
        return (d * (g / n)).reshape(logits.shape), None

    return losses.sum() / n, backward


@kernel
def loss_loop(
    start: int,
    stop: int,
    z: reads(2),
    targets: reads(1, int),
    losses: writes(1),
    d: writes(2),
):
    """losses_r = -ln p_t and d_rc = p_c - [c = t], both 0 where the target t is -1."""
    (R, C), zero, one = z.shape, z.dtype.type(0), z.dtype.type(1)
    for r in range(start * ROWS, min(stop * ROWS, R)):
        t, z_r, d_r = targets[r], z[r], d[r]
        if t < 0:
            losses[r] = zero
            d_r[:] = 0
            continue
        largest = ordered(z_r[0])
        for c in range(C):
            largest = max(largest, ordered(z_r[c]))
        m, total = from_ordered(largest), zero
        for c in range(C):
            d_r[c] = exp(z_r[c] - m)
            total += d_r[c]
        losses[r] = math.log(total) - (z_r[t] - m)
        for c in range(C):
            d_r[c] /= total
        d_r[t] -= one
