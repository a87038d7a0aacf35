"""Dropout: set random entries to zero in training."""

import numpy as np

from .. import random
from ..differentiable import differentiable
from .select import select


@differentiable
def dropout(x, p, training=True, rng=None):
    """Set entries to zero with probability p, and scale the others by 1 / (1 - p).

        y_i = x_i b_i / (1 - p),   b_i ~ Bernoulli(1 - p)
        dL/dx_i = g_i b_i / (1 - p)

    so that E[y] = x, and with ``training=False`` y is x itself.
    That is the inverted form of Srivastava et al. 2014, section 10.

    rng   a numpy.random.Generator; None is the one that ``manual_seed`` seeds

    Raises ValueError unless 0 <= p <= 1, TypeError when rng is no Generator.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p is a probability, from 0 to 1, not {p}.")
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise TypeError(
            "dropout: rng is a numpy.random.Generator, such as "
            f"np.random.default_rng(0), not {type(rng).__name__}."
        )
    if not training or p == 0:
        return x, lambda g: g
    x = np.asarray(x)
    keep = (rng or random.generator()).random(x.shape, np.float32) >= p
    scale = 1 / (1 - p) if p < 1 else 0.0
    return select(keep, x * scale), lambda g: select(keep, g * scale)
