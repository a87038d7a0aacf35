"""A GRU over time, forward and backward: the loops of ``seq2seq/encoder_gru.py``.

``minigrad/ops/recurrent.py`` is the same in NumPy, has the formulas, and is the one to
read. There a step is a dozen calls on small arrays. Here a thread takes some examples
through all the steps, and the state stays in the processor's cache on the way.

Arrays lie in order of time: t first, then the examples, the longest first, so that
those still running at a step are the first few. ``step`` and ``step_back`` are those of
the decoder too (decoder.py), and so are the sums over all rows that are the gradients
of the weights.
"""

import numpy as np

from .compiling import Helper, kernel, reads, writes
from .elementary import tanh
from .pool import spread
from .product import aligned, multiply

EXAMPLES = 16  # an item: enough rows for a product, and items enough for the threads
MULTIPLY_NS, TANH_NS = 0.02, 0.25  # a multiplication and an addition; both in float32
GROUPS = 8  # at most, of examples whose gradients are summed apart
DEPTH = 96  # rows that are summed at a time: 96 x 64 numbers stay in the nearest cache


def forward(x, lengths, weight_ih, weight_hh, bias_ih, bias_hh, gates, states):
    """Fill gates and states; False when NumPy's loop is to run.

    x (T, B, I), lengths (B,), from the longest to the shortest
    gates (4, T, B, H)      gets r, z, n, m
    states (T + 1, B, H)    has s_0, gets s_t
    """
    dtype = states.dtype
    loop = forward_loop.version(dtype)
    if loop is None:
        return False
    (T, B, I), H = x.shape, states.shape[2]  # noqa: E741
    spread(
        loop,
        -(-B // EXAMPLES),
        T * B * H * 3 * (MULTIPLY_NS * (I + H) + TANH_NS),
        x,
        np.ascontiguousarray(lengths, np.int64),
        aligned(weight_ih.T, dtype),
        aligned(weight_hh.T, dtype),
        biases(bias_ih, bias_hh, H, dtype),
        gates,
        states,
    )
    return True


def backward(g, g_last, lengths, weight_ih, weight_hh, x, gates, states):
    """dx (T, B, I), ds_0 (B, H), dW_ih, dW_hh, db_ih, db_hh.

    g (T, B, H), g_last (B, H): the gradients of the states and of the last of each
    """
    (T, B, H), dtype = g.shape, g.dtype
    dx, ds = np.zeros(x.shape, dtype), np.array(g_last, dtype, order="C")
    sums = Sums(B, weight_ih, weight_hh, dtype)
    spread(
        backward_loop.version(dtype),
        sums.groups,
        T * B * H * 6 * MULTIPLY_NS * (x.shape[2] + H),
        np.ascontiguousarray(g),
        np.ascontiguousarray(lengths, np.int64),
        aligned(weight_ih, dtype),
        aligned(weight_hh, dtype),
        x,
        gates,
        states,
        dx,
        ds,
        *sums.arrays,
    )
    return dx, ds, *sums.gradients()


class Sums:
    """Gradients of the weights, summed over all examples and steps.

    Examples are cut into groups, whatever the number of threads; each group has sums
    of its own, and these are added up in their order at the end. So no two threads
    write to one sum, and no bit depends on who came first.
    """

    def __init__(self, B, weight_ih, weight_hh, dtype):
        H = weight_hh.shape[1]
        self.groups = min(-(-B // EXAMPLES), GROUPS)
        self.arrays = [
            np.empty((self.groups, *shape), dtype)
            for shape in (weight_ih.shape, weight_hh.shape, (4 * H,))
        ]

    def gradients(self):
        """dW_ih (3H, I), dW_hh (3H, H), db_ih, db_hh (3H,)"""
        dW_ih, dW_hh, total = (a.sum(0) for a in self.arrays)
        H = dW_hh.shape[1]
        db_ih = np.concatenate([total[: 2 * H], total[3 * H :]])
        return dW_ih, dW_hh, db_ih, total[: 3 * H]


def biases(bias_ih, bias_hh, H, dtype):
    """What is added to r, z, n and m: (4, H)."""
    out = np.zeros((4, H), dtype)
    if bias_ih is not None:
        out[:3] += bias_ih.reshape(3, H)
    if bias_hh is not None:
        out[[0, 1, 3]] += bias_hh.reshape(3, H)
    return out


@kernel
def forward_loop(
    start: int,
    stop: int,
    x: reads(3),
    lengths: reads(1, int),
    W_x: reads(2),
    W_h: reads(2),
    bias: reads(2),
    gates: writes(4),
    states: writes(3),
):
    _, T, B, H = gates.shape
    for item in range(start, stop):
        b0 = item * EXAMPLES
        b1 = min(b0 + EXAMPLES, B)
        for t in range(T):
            while b1 > b0 and lengths[b1 - 1] <= t:
                b1 -= 1
            if b1 > b0:
                step(
                    x[t, b0:b1], states[t, b0:b1], states[t + 1, b0:b1],
                    gates[0, t, b0:b1], gates[1, t, b0:b1], gates[2, t, b0:b1],
                    gates[3, t, b0:b1], W_x, W_h, bias,
                )  # fmt: skip


@kernel
def backward_loop(
    start: int,
    stop: int,
    g: reads(3),
    lengths: reads(1, int),
    weight_ih: reads(2),
    weight_hh: reads(2),
    x: reads(3),
    gates: reads(4),
    states: reads(3),
    dx: writes(3),
    ds: writes(2),
    dW_ih: writes(3),
    dW_hh: writes(3),
    total: writes(2),
):
    (T, B, H), (groups, _, I) = g.shape, dW_ih.shape  # noqa: E741
    da = np.empty((DEPTH + EXAMPLES, 4 * H), g.dtype)
    fed = np.empty((DEPTH + EXAMPLES, I), g.dtype)
    before = np.empty((DEPTH + EXAMPLES, H), g.dtype)
    for group in range(start, stop):
        rows, more = 0, False
        for b0 in range(group * EXAMPLES, B, groups * EXAMPLES):
            for t in range(T - 1, -1, -1):
                b1 = min(b0 + EXAMPLES, B)
                while b1 > b0 and lengths[b1 - 1] <= t:
                    b1 -= 1
                n = b1 - b0
                if n == 0:
                    continue
                da_t = da[rows : rows + n]
                for b in range(b0, b1):
                    through_gates(
                        ds[b], g[t, b], gates[0, t, b], gates[1, t, b], gates[2, t, b],
                        gates[3, t, b], states[t, b], da[rows + b - b0],
                    )  # fmt: skip
                step_back(ds[b0:b1], dx[t, b0:b1], da_t, weight_ih, weight_hh)
                put(fed, rows, x[t, b0:b1])
                put(before, rows, states[t, b0:b1])
                rows += n
                if rows >= DEPTH:
                    add_up(
                        dW_ih[group], dW_hh[group], total[group],
                        da[:rows], fed[:rows], before[:rows], more,
                    )  # fmt: skip
                    rows, more = 0, True
        add_up(
            dW_ih[group], dW_hh[group], total[group],
            da[:rows], fed[:rows], before[:rows], more,
        )  # fmt: skip


@Helper
def step(x, s, out, r, z, n, m, W_x, W_h, bias):
    """The next state of some examples, and their gates: all (n, H)."""
    H = s.shape[1]
    multiply(r, x, W_x[:, :H], False)
    multiply(r, s, W_h[:, :H], True)
    multiply(z, x, W_x[:, H : 2 * H], False)
    multiply(z, s, W_h[:, H : 2 * H], True)
    multiply(n, x, W_x[:, 2 * H :], False)
    multiply(m, s, W_h[:, 2 * H :], False)
    sigmoid(r, bias[0])
    sigmoid(z, bias[1])
    b_n, b_m = bias[2], bias[3]
    for i in range(out.shape[0]):
        # Few arrays a loop: before it runs, a vectorised loop must find none overlap.
        out_i, s_i, z_i, n_i, r_i, m_i = out[i], s[i], z[i], n[i], r[i], m[i]
        for h in range(H):
            m_i[h] += b_m[h]
        for h in range(H):
            n_i[h] = tanh(n_i[h] + b_n[h] + r_i[h] * m_i[h])
        for h in range(H):
            out_i[h] = n_i[h] + z_i[h] * (s_i[h] - n_i[h])


@Helper
def sigmoid(a, bias):
    """a = sigmoid(a + bias), in place."""
    half = a.dtype.type(0.5)
    for i in range(a.shape[0]):
        a_i = a[i]
        for h in range(bias.size):
            a_i[h] = half + half * tanh(half * (a_i[h] + bias[h]))


@Helper
def through_gates(ds, g, r, z, n, m, s, da):
    """ds += g;  da = da_r, da_z, dm, da_n, as in ``gru``;  ds = ds z."""
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
def step_back(ds, dx, da, weight_ih, weight_hh):
    """From the gates to the state before, to which is added, and to the input."""
    H = ds.shape[1]
    multiply(ds, da[:, : 3 * H], weight_hh[:, :H], True)
    multiply(dx, da[:, : 2 * H], weight_ih[: 2 * H], False)
    multiply(dx, da[:, 3 * H :], weight_ih[2 * H :], True)


@Helper
def put(rows, start, a):
    """rows[start:] = a, as many as there are."""
    for i in range(a.shape[0]):
        from_i, to_i = a[i], rows[start + i]
        for h in range(from_i.size):
            to_i[h] = from_i[h]


@Helper
def add_up(dW_ih, dW_hh, total, da, x, before, more):
    """The gradients of the weights from some rows; added, if there is ``more``."""
    H = dW_hh.shape[1]
    multiply(dW_hh, da[:, : 3 * H].T, before, more)
    multiply(dW_ih[: 2 * H], da[:, : 2 * H].T, x, more)
    multiply(dW_ih[2 * H :], da[:, 3 * H :].T, x, more)  # not through m
    if not more:
        for h in range(4 * H):
            total[h] = 0
    for n in range(da.shape[0]):
        da_n = da[n]
        for h in range(4 * H):
            total[h] += da_n[h]
