"""Dropout: set random entries to zero in training."""

import numpy as np

from .. import random
from ..arguments import flag, generator, probability
from ..differentiable import differentiable
from .select import select


@differentiable
def dropout(x, p=0.5, training=True, rng=None):
    """Set entries to zero with probability p, and scale the others by 1 / (1 - p).

        y_i = x_i b_i / (1 - p),   b_i ~ Bernoulli(1 - p)
        dL/dx_i = g_i b_i / (1 - p)

    so that E[y] = x, and with ``training=False`` y is x itself.
    That is the inverted form of Srivastava et al. 2014, section 10.

    rng   a numpy.random.Generator; None takes the one that ``manual_seed`` seeds
    """
    probability("dropout", "p", p)
    generator("dropout", rng)
    if not flag("dropout", "training", training) or p == 0:
        return x, lambda g: g
    x = np.asarray(x)
    keep = (rng or random.generator()).random(x.shape, np.float32) >= p
    scale = 1 / (1 - p) if p < 1 else 0.0
    return select(keep, x * scale), lambda g: select(keep, g * scale)
