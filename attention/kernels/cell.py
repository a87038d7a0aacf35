"""The steps of a compiled GRU, forward and backward: what its loops over time share.

The twin is ``minigrad/ops/recurrent.py``: it has the formulas, and is the one to read.
Here the state is s (h in the twin); r, z, m, n are those of the twin. Arrays have T
steps first, then B examples; I is the width of the input, H that of the state. The
loops over time are in decoder.py and decoder_backward.py; gru.py uses them without
attention.
"""

from typing import NamedTuple

import numpy as np

from .compiling import Helper, reads, writes
from .elementary import tanh
from .product import aligned, copied, multiply

EXAMPLES = 16  # of a work item: enough rows for a product, and enough items for threads
GROUPS = 8  # at most: each group of examples sums its gradients separately
DEPTH = 96  # rows that are summed at a time: 96 rows of a block stay in the first cache


class Cell(NamedTuple):
    """The parameters of a GRU cell as the forward reads them."""

    W_x: reads(2)  # (I, 3H): weight_ih^T
    W_h: reads(2)  # (H, 3H): weight_hh^T
    bias: reads(2)  # (4, H): what is added to r, z, n and m


class Steps(NamedTuple):
    """What the forward has computed, and the backward reads."""

    x: reads(3)  # (T, B, I): the inputs
    gates: reads(4)  # (4, T, B, H): r, z, m, n
    states: reads(3)  # (T + 1, B, H): s_0, then s_t


class Sums(NamedTuple):
    """The gradients of the parameters, one sum for each group of examples.

    The number of groups does not depend on the number of threads, and the groups are
    added in their order at the end: every number of threads gives the same bits.
    """

    dW_ih: writes(3)  # (groups, 3H, I)
    dW_hh: writes(3)  # (groups, 3H, H)
    da: writes(2)  # (groups, 4H): da_r, da_z, dm, da_n; the first 3H belong to W_hh

    @classmethod
    def of(cls, B, weight_ih, weight_hh, dtype):
        """Return sums for the groups of B examples, not yet begun."""
        groups, H = min(-(-B // EXAMPLES), GROUPS), weight_hh.shape[1]
        shapes = weight_ih.shape, weight_hh.shape, (4 * H,)
        return cls(*(np.empty((groups, *shape), dtype) for shape in shapes))

    def gradients(self):
        """Return dW_ih (3H, I), dW_hh (3H, H), db_ih and db_hh (3H,)."""
        dW_ih, dW_hh, da = (a.sum(0) for a in self)
        H = dW_hh.shape[1]
        db_ih = np.concatenate([da[: 2 * H], da[3 * H :]])
        return dW_ih, dW_hh, db_ih, da[: 3 * H]


class Rows(NamedTuple):
    """Rows of several steps, one for each example, collected for one product."""

    da: writes(2)  # (DEPTH + EXAMPLES, 4H), in the order of ``Sums``
    x: writes(2)  # (DEPTH + EXAMPLES, I)
    before: writes(2)  # (DEPTH + EXAMPLES, H): the state before the step


def cell_of(weight_ih, weight_hh, bias_ih, bias_hh, dtype):
    """Return the Cell of the four parameters; the biases may be None."""
    H = weight_hh.shape[1]
    bias = np.zeros((4, H), dtype)
    if bias_ih is not None:
        bias[:3] += bias_ih.reshape(3, H)
    if bias_hh is not None:
        bias[:2] += bias_hh[: 2 * H].reshape(2, H)
        bias[3] = bias_hh[2 * H :]
    return Cell(aligned(weight_ih.T, dtype), aligned(weight_hh.T, dtype), bias)


@Helper
def step(
    x: reads(2),
    cell: Cell,
    gates: writes(4),
    states: writes(3),
    t: int,
    b0: int,
    b1: int,
):
    """Compute the gates and the state of step t of the examples b0 to b1."""
    r, z = gates[0, t, b0:b1], gates[1, t, b0:b1]  # (b1 - b0, H)
    m, n = gates[2, t, b0:b1], gates[3, t, b0:b1]
    s, out = states[t, b0:b1], states[t + 1, b0:b1]
    W_x, W_h, H = cell.W_x, cell.W_h, s.shape[1]
    multiply(r, x, W_x[:, :H], False)
    multiply(r, s, W_h[:, :H], True)
    multiply(z, x, W_x[:, H : 2 * H], False)
    multiply(z, s, W_h[:, H : 2 * H], True)
    multiply(n, x, W_x[:, 2 * H :], False)
    multiply(m, s, W_h[:, 2 * H :], False)
    sigmoid(r, cell.bias[0])
    sigmoid(z, cell.bias[1])
    b_n, b_m = cell.bias[2], cell.bias[3]
    for i in range(b1 - b0):
        # few arrays in a loop: a vectorised loop first checks that none overlap
        out_i, s_i, z_i, n_i, r_i, m_i = out[i], s[i], z[i], n[i], r[i], m[i]
        for h in range(H):
            m_i[h] += b_m[h]
        for h in range(H):
            n_i[h] = tanh(n_i[h] + b_n[h] + r_i[h] * m_i[h])
        for h in range(H):
            out_i[h] = n_i[h] + z_i[h] * (s_i[h] - n_i[h])


@Helper
def sigmoid(a: writes(2), bias: reads(1)):
    """a = sigmoid(a + bias) = (1 + tanh((a + bias) / 2)) / 2"""
    half = a.dtype.type(0.5)
    for i in range(a.shape[0]):
        a_i = a[i]
        for h in range(bias.size):
            a_i[h] = half + half * tanh(half * (a_i[h] + bias[h]))


@Helper
def step_back(
    g: reads(3),
    steps: Steps,
    weight_ih: reads(2),
    weight_hh: reads(2),
    t: int,
    b0: int,
    b1: int,
    first: int,
    rows: Rows,
    ds: writes(2),
    dx: writes(3),
):
    """Take ds of the examples b0 to b1 back through step t, and set dx of the step.

    g      (T, B, H), the gradient of the states; it is added to ds first
    rows   receives da, x and the state before, from row ``first``
    """
    H, ds_b, dx_t = ds.shape[1], ds[b0:b1], dx[t, b0:b1]
    da = rows.da[first : first + b1 - b0]
    for b in range(b0, b1):
        through_gates(g[t, b], steps.gates, steps.states[t, b], t, b, ds[b], da[b - b0])
    copied(rows.x[first:], steps.x[t, b0:b1])
    copied(rows.before[first:], steps.states[t, b0:b1])
    multiply(ds_b, da[:, : 3 * H], weight_hh, True)
    multiply(dx_t, da[:, : 2 * H], weight_ih[: 2 * H], False)
    multiply(dx_t, da[:, 3 * H :], weight_ih[2 * H :], True)  # x is not part of m


@Helper
def through_gates(
    g: reads(1),
    gates: reads(4),
    s: reads(1),
    t: int,
    b: int,
    ds: writes(1),
    da: writes(1),
):
    """ds += g;  da = da_r, da_z, dm, da_n, as in ``minigrad.gru``;  ds = ds z."""
    r, z, m, n = gates[0, t, b], gates[1, t, b], gates[2, t, b], gates[3, t, b]
    one, H = s.dtype.type(1), s.size
    da_r, da_z, dm, da_n = da[:H], da[H : 2 * H], da[2 * H : 3 * H], da[3 * H :]
    for h in range(H):
        ds[h] += g[h]
    for h in range(H):
        da_n[h] = ds[h] * (one - z[h]) * (one - n[h] * n[h])
    for h in range(H):
        dm[h] = da_n[h] * r[h]
    for h in range(H):
        da_r[h] = dm[h] * m[h] * (one - r[h])
    for h in range(H):
        da_z[h] = ds[h] * z[h] * (one - z[h]) * (s[h] - n[h])
    for h in range(H):
        ds[h] *= z[h]


@Helper
def add_rows(sums: Sums, group: int, rows: Rows, n: int, begun: bool):
    """Add the products of the first n rows to the sums of a group, or begin them."""
    H, da, total = sums.dW_hh.shape[2], rows.da[:n], sums.da[group]
    dW_ih, x = sums.dW_ih[group], rows.x[:n]
    multiply(sums.dW_hh[group], da[:, : 3 * H].T, rows.before[:n], begun)
    multiply(dW_ih[: 2 * H], da[:, : 2 * H].T, x, begun)
    multiply(dW_ih[2 * H :], da[:, 3 * H :].T, x, begun)  # x is not part of m
    if not begun:
        total[:] = 0
    for i in range(n):
        for h in range(4 * H):
            total[h] += da[i, h]
