"""The cross-entropy loss of class scores (logits)."""

import numpy as np

from ..differentiable import differentiable


@differentiable
def cross_entropy(
    logits, targets, ignore_index=-100, label_smoothing=0.0, reduction="mean"
):
    """Average -ln softmax(logits)[target]: how surprising the targets are.

    logits (..., C), the classes on the *last* axis; targets (...), integers
    ->  a scalar ("mean" over the positions that count, or "sum"), or (...) ("none")

    With p = softmax(z) and the smoothed target q = (1 - eps) onehot(t) + eps / C,

        l = -sum_c q_c ln p_c = ln sum_c exp(z_c) - sum_c q_c z_c,    dl/dz = p - q

    because sum_c q_c = 1 (smoothing: Szegedy et al. 2016, section 7). Positions whose
    target is ``ignore_index`` have l = 0 and gradient 0 and are not counted; when none
    counts, the mean is 0 (torch: NaN).

    Raises IndexError for a target out of range, naming it and its position; TypeError
    unless targets are integers; ValueError for shapes that do not match, a smoothing
    outside [0, 1], an unknown reduction.
    """
    logits, targets = np.asarray(logits), np.asarray(targets)
    C, ignored = _check(logits, targets, ignore_index, label_smoothing, reduction)
    z = logits.reshape(targets.size, C)  # (N, C)
    t = np.where(ignored, 0, targets).ravel()  # (N,)
    ignored = ignored.ravel() if ignored.any() else None
    n = t.size if ignored is None else t.size - int(np.count_nonzero(ignored))
    rows, eps = np.arange(t.size), label_smoothing

    with np.errstate(invalid="ignore"):
        z = z - z.max(1, keepdims=True)
        p = np.exp(z)
        total = p.sum(1, keepdims=True)  # (N, 1)
        p /= total
        loss = np.log(total[:, 0]) - (1 - eps) * z[rows, t]  # (N,)
        if eps:
            loss -= eps * z.mean(1)
    if ignored is not None:
        loss[ignored] = 0
    scale = 1 / max(n, 1) if reduction == "mean" else 1

    def backward(g):
        w = g.reshape(-1, 1) * scale  # (1, 1), or (N, 1) for "none"
        d = p - eps / C if eps else p
        d = d * w
        d[rows, t] -= (1 - eps) * w[:, 0]
        if ignored is not None:
            d[ignored] = 0
        return d.reshape(logits.shape), None

    if reduction == "none":
        return loss.reshape(targets.shape), backward
    return loss.sum() * scale, backward


def _check(logits, targets, ignore_index, label_smoothing, reduction):
    """Validate the arguments; return the number of classes and the ignored targets."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(
            f'cross_entropy: reduction is "mean", "sum" or "none", not {reduction!r}.'
        )
    if not 0 <= label_smoothing <= 1:
        raise ValueError(
            f"cross_entropy: label_smoothing is from 0 to 1, not {label_smoothing}."
        )
    if targets.dtype.kind not in "iu":
        raise TypeError(
            f"cross_entropy: targets are class numbers, integers, not {targets.dtype}."
        )
    if logits.ndim == 0 or logits.shape[:-1] != targets.shape:
        raise ValueError(
            f"cross_entropy: logits of shape {logits.shape} want targets of shape "
            f"{logits.shape[:-1]}, all axes but the last (the classes); these are "
            f"{targets.shape}."
        )
    C = logits.shape[-1]
    ignored = targets == ignore_index
    wrong = ((targets < 0) | (targets >= C)) & ~ignored
    if wrong.any():
        where = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(wrong)))
        raise IndexError(
            f"cross_entropy: the target at {where} is {targets[wrong][0]}; with {C} "
            f"classes it must be 0 to {C - 1}, or ignore_index ({ignore_index})."
        )
    return C, ignored
