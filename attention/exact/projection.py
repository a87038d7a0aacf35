"""Projections of heads: first values, heads that share, and what is not finite."""

import math

import numpy as np

from minigrad import nn, reshape, swapaxes, where


def check_heads(name, D, H):
    """ValueError unless H heads can share D numbers evenly."""
    if D % H:
        raise ValueError(
            f"{name}: embed_dim is {D}, and {H} heads cannot share it evenly; expected "
            f"a multiple of num_heads, such as {-(-D // H) * H}."
        )


def draw(three, W_o, rng, stacked=True):
    """W_q, W_k and W_v Xavier-uniform; the biases of all four 0.

    stacked   Xavier's bounds are of the three on top of one another, as torch has them;
              False: of each by itself
    """
    together = sum(W.out_features for W in three)
    for W in three:
        outputs = together if stacked else W.out_features
        a = math.sqrt(6 / (outputs + W.in_features))
        nn.init.uniform_(W.weight, -a, a, rng)
    for W in (*three, W_o):
        if W.bias is not None:
            nn.init.uniform_(W.bias, 0, 0, rng)


def project_finite(project, x):
    """project(x), or NaN for each row of x that is not finite.

    project   a function of a Tensor (..., n, width) that takes each row by itself

    Such a row may stand in the padding. Then it must not meet the weights: the gradient
    that comes back for it is 0, and in theirs it would stand as 0 * NaN = NaN.
    """
    finite = np.isfinite(x._data).all(-1, keepdims=True)  # (..., n, 1)
    if finite.all():
        return project(x)
    return where(finite, project(where(finite, x, 0.0)), np.nan)


def heads(W, x, H):
    """(B, n, width)  ->  (B, H, n, E): W x, whose entries the heads share evenly."""
    y = project_finite(W, x)
    return swapaxes(reshape(y, (*y.shape[:2], H, y.shape[2] // H)), 1, 2)
