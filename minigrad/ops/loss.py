"""The cross-entropy loss of class scores (logits)."""

import numpy as np

from ..arguments import one_of, probability, whole
from ..differentiable import differentiable
from ..shapes import shapes


@shapes
@differentiable
def cross_entropy(
    logits, targets, ignore_index=-100, label_smoothing=0.0, reduction="mean"
):
    """Return the mean, the sum or each of the losses -ln softmax(logits)[target].

    logits (..., C), targets (...) int  ->  loss (); or (...)

    The C classes lie on the *last* axis. ``reduction`` is "mean", over the positions
    that count, or "sum"; "none" returns the loss (...) of each position.

    For one position with the logits z and the target t, let p = softmax(z), and let q
    be the smoothed target, q = (1 - eps) onehot(t) + eps / C, with eps =
    label_smoothing (0 gives q = onehot(t)). The q_c have the sum 1, and ln p_c =
    z_c - ln Z with Z = sum_c exp(z_c). So the loss l of the position and its gradient
    are

        l = -sum_c q_c ln p_c = ln Z - sum_c q_c z_c
        dl/dz_c = exp(z_c) / Z - q_c = p_c - q_c

    (smoothing: Szegedy et al. 2016, section 7). Positions whose target is
    ``ignore_index`` have l = 0 and gradient 0 and are not counted; when none counts,
    the mean is 0 (torch: NaN).

    Raises IndexError for a target out of range, with its position.
    """
    one_of("cross_entropy", "reduction", reduction, ("mean", "sum", "none"))
    probability("cross_entropy", "label_smoothing", label_smoothing)
    whole("cross_entropy", "ignore_index", ignore_index, least=None)
    C, ignored = logits.shape[-1], targets == ignore_index
    _check_targets(logits, targets, ignored)
    z = logits.reshape(targets.size, C)  # (N, C)
    t = np.where(ignored, 0, targets).ravel()  # (N,)
    ignored = ignored.ravel() if ignored.any() else None  # (N,)
    count = t.size if ignored is None else t.size - int(np.count_nonzero(ignored))
    rows, eps = np.arange(t.size), label_smoothing

    with np.errstate(invalid="ignore"):
        z = z - z.max(1, keepdims=True)
        p = np.exp(z)
        total = p.sum(1, keepdims=True)  # (N, 1)
        p /= total
        # l, where sum_c q_c z_c = (1 - eps) z_t + eps mean(z)
        loss = np.log(total[:, 0]) - (1 - eps) * z[rows, t]  # (N,)
        if eps:
            loss -= eps * z.mean(1)
    if ignored is not None:
        loss[ignored] = 0
    scale = 1 / max(count, 1) if reduction == "mean" else 1

    def backward(g):
        w = g.reshape(-1, 1) * scale  # (1, 1), or (N, 1) for "none"
        d = p - eps / C if eps else p  # p - q; the target's part of q follows
        d = d * w
        d[rows, t] -= (1 - eps) * w[:, 0]
        if ignored is not None:
            d[ignored] = 0
        return d.reshape(logits.shape), None

    if reduction == "none":
        return loss.reshape(targets.shape), backward
    return loss.sum() * scale, backward


# ---- A first reading can stop here ----


def _check_targets(logits, targets, ignored):
    """Raise unless there is one target for each position, and it names a class."""
    *positions, C = logits.shape
    if targets.shape != tuple(positions):
        raise ValueError(
            f"cross_entropy: targets have shape {targets.shape}; expected "
            f"{tuple(positions)}, with logits {logits.shape}: all axes but the last, "
            "the classes."
        )
    wrong = ((targets < 0) | (targets >= C)) & ~ignored
    if wrong.any():
        position = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(wrong)))
        raise IndexError(
            f"cross_entropy: the target at {position} is {targets[wrong][0]}; expected "
            f"0 to {C - 1}, one of the {C} classes, or ignore_index."
        )
