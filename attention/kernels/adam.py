"""The compiled loop of Adam's rule: one pass over the gradient and both averages.

The twin is ``Adam._change`` in ``minigrad/optim/rules.py``, with the formulas.
"""

import math

import numpy as np

from .choice import EXP
from .compiling import kernel, reads, writes
from .pool import WORTH_A_CALL, spread

BLOCK = 2048  # numbers of a work item


def adam_change(adam, t, g, change, m, v):
    """Compute ``adam._change(t, g, change, m, v)``, or return NotImplemented."""
    work = EXP * g.size
    loop = change_loop.version(g.dtype, work) if work >= WORTH_A_CALL else None
    if loop is None:
        return NotImplemented
    (b1, b2), c = adam.betas, math.sqrt(1 - adam.betas[1] ** t)
    settings = b1, 1 - b1, b2, 1 - b2, c * adam.eps, adam.lr * c / (1 - b1**t)
    settings = np.array(settings, g.dtype)
    spread(loop, -(-g.size // BLOCK), work, g, settings, change, m, v)


@kernel
def change_loop(
    start: int,
    stop: int,
    g: reads(1),
    settings: reads(1),
    change: writes(1),
    m: writes(1),
    v: writes(1),
):
    """Update m and v, and write the change of each parameter."""
    b1, new1, b2, new2, eps, rate = settings
    for item in range(start, stop):
        block = slice(item * BLOCK, min((item + 1) * BLOCK, g.size))
        g_b, m_b, v_b, change_b = g[block], m[block], v[block], change[block]
        for i in range(g_b.size):
            m_b[i] = b1 * m_b[i] + new1 * g_b[i]
        for i in range(g_b.size):
            v_b[i] = b2 * v_b[i] + new2 * (g_b[i] * g_b[i])
        for i in range(g_b.size):
            change_b[i] = m_b[i] / (np.sqrt(v_b[i]) + eps) * rate
