"""Count the multiplications and exponentials of a variant by running its definition.

    o, ops = count("additive", q, k, v, [W_q, W_k, w_v])
    ops.multiplications, ops.exponentials

A definition here is the textbook formula in NumPy for one head. Its arrays are
``CountedArray``s, which add up the products and exponentials that are computed with
them. Tests hold the definitions equal to the functions of this package, and the counts
equal to the formulas of formulas.py.

Bahdanau et al. 2015; Luong et al. 2015; See et al. 2017; Vaswani et al. 2017;
Katharopoulos et al. 2020; Dao 2023, algorithm 1; Nadaraya 1964.
"""

import math

import numpy as np


class OpCounter:
    """Counts the operations on the arrays that it made, and on their results."""

    def __init__(self):
        self.multiplications = self.exponentials = 0

    def array(self, x):
        """Return x as a float array whose products and exponentials are counted."""
        x = np.asarray(x, float).view(CountedArray)
        x.counter = self
        return x


class CountedArray(np.ndarray):
    """An array that reports to an OpCounter what NumPy computes with it.

    ``*``, ``@`` and squares count as multiplications; exp and tanh as exponentials.
    Sums, comparisons and divisions are free. np.dot and np.einsum are not counted.
    """

    counter = None

    def __array_finalize__(self, source):
        self.counter = getattr(source, "counter", None)  # a view or slice of source

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        counter = next(x.counter for x in inputs if isinstance(x, CountedArray))
        inputs = [np.asarray(x) for x in inputs]
        result = getattr(ufunc, method)(*inputs, **options)
        if ufunc in (np.multiply, np.square):
            counter.multiplications += result.size
        elif ufunc is np.matmul:
            counter.multiplications += result.size * inputs[0].shape[-1]
        elif ufunc in (np.exp, np.tanh):
            counter.exponentials += result.size
        return counter.array(result)


def count(variant, q, k, v, parameters=(), **options):
    """Compute the attention of one head; return its output and the OpCounter.

    q (L, E), k (S, Dk), v (S, Ev)  ->  o (L, Ev), counter

    parameters   W_a of "general"; W_q, W_k, w_v of "additive", and w_c of "coverage";
                 W_a, v_a of "concat"; W_p, v_p of "local-p"; W_q, W_k, W_v, W_o of
                 "multi-head", which computes all its heads
    options      projected, as in ``cost_of``; heads, of "multi-head"; D, of "local-m"
                 and "local-p"; tile, of "tiled"; allowed (L, S) bool, of "tiled" and
                 of "masked": scaled dot products of the allowed pairs alone
    """
    if variant not in DEFINITIONS:
        raise ValueError(
            f"count: variant is {variant!r}; expected one of {', '.join(DEFINITIONS)}. "
            'For a pattern such as a window use "masked" with allowed=.'
        )
    counter = OpCounter()
    arrays = [counter.array(x) for x in (q, k, v, *parameters)]
    return np.asarray(DEFINITIONS[variant](*arrays, **options)), counter


def softmax(s):
    """Return weights for each row of s; 0 where s is -inf."""
    row_max = s.max(-1, keepdims=True, initial=-np.inf)
    e = np.exp(s - np.where(row_max == -np.inf, 0, row_max))
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def dot(q, k, v):
    return softmax(q @ k.swapaxes(-1, -2)) @ v


def scaled(q, k, v):
    return dot(q * q.shape[-1] ** -0.5, k, v)


def general(q, k, v, W_a, projected="queries"):
    if projected == "queries":
        return dot(q @ W_a, k, v)
    if projected == "keys":
        return dot(q, k @ W_a.T, v)
    keys = k[None].repeat(len(q), 0) @ W_a.T  # (L, S, E): each key, once a query
    return softmax((keys @ q[:, :, None])[..., 0]) @ v


def additive(q, k, v, W_q, W_k, w_v, projected="once"):
    queries, keys = q[:, None], k[None]  # (L, 1, Dq), (1, S, Dk)
    if projected in ("steps", "pairs"):
        keys = keys.repeat(len(q), 0)  # projected once a query: (L, S, Dk)
    if projected == "pairs":
        queries = queries.repeat(len(k), 1)  # projected once a key: (L, S, Dq)
    return softmax(np.tanh(queries @ W_q.T + keys @ W_k.T) @ w_v) @ v


def concat(q, k, v, W_a, v_a, projected="once"):
    E = q.shape[-1]  # W_a [q; k] = W_q q + W_k k with W_a = [W_q | W_k]
    return additive(q, k, v, W_a[:, :E], W_a[:, E:], v_a, projected)


def gaussian(q, k, v, h=1.0):
    """Scores -|q_i - k_j|^2 / (2 h^2)."""
    difference = q[:, None] - k  # (L, S, E)
    return softmax((difference * difference).sum(-1) / (-2 * h * h)) @ v


def coverage(q, k, v, W_q, W_k, w_v, w_c):
    """Scores w_v . tanh(W_q q_i + W_k k_j + w_c c_j); c sums the earlier weights."""
    keys, c, o = k @ W_k.T, None, []  # (S, A)
    for q_i in q:
        covered = keys if c is None else keys + c[:, None] * w_c
        p = softmax(np.tanh(W_q @ q_i + covered) @ w_v)  # (S,)
        c = p if c is None else c + p
        o.append(p @ v)
    return np.stack(o)


def multi_head(q, k, v, W_q, W_k, W_v, W_o, heads):
    """q, k, v (L | S, D); W_q (H E, D), W_k (Hk E, D), W_v (Hk Ev, D), W_o (D, H Ev)"""
    key_heads = heads * len(W_k) // len(W_q)
    q, k, v = (
        (x @ W.T).reshape(len(x), n, -1).swapaxes(0, 1)  # (n, L | S, E | Ev)
        for x, W, n in ((q, W_q, heads), (k, W_k, key_heads), (v, W_v, key_heads))
    )
    k, v = (x.repeat(heads // key_heads, 0) for x in (k, v))
    o = scaled(q, k, v)  # (H, L, Ev)
    return o.swapaxes(0, 1).reshape(o.shape[1], -1) @ W_o.T


def linear(q, k, v):
    """phi(q) (phi(k)^T v) / (phi(q) sum_j phi(k_j)), where phi(x) = elu(x) + 1."""
    q, k = (np.exp(np.minimum(x, 0)) + np.maximum(x, 0) for x in (q, k))
    return q @ (k.T @ v) / (q @ k.sum(0))[:, None]


def masked(q, k, v, allowed):
    """Scaled dot products of the allowed pairs; the other pairs are not computed."""
    o = []
    for q_i, keys in zip(q * q.shape[-1] ** -0.5, np.asarray(allowed, bool)):
        o.append(softmax(k[keys] @ q_i) @ v[keys])
    return np.stack(o)


def tiled(q, k, v, tile=64, allowed=None):
    """FlashAttention: the tiles that hold an allowed pair, each computed whole."""
    L, S = len(q), len(k)
    allowed = np.ones((L, S), bool) if allowed is None else allowed
    q, out = q * q.shape[-1] ** -0.5, []
    for i in (slice(n, n + tile) for n in range(0, L, tile)):
        rows = len(q[i])
        m = q.counter.array(np.full(rows, -np.inf))
        total, o = np.zeros(rows), np.zeros((rows, v.shape[1]))
        for j in (slice(n, n + tile) for n in range(0, S, tile)):
            if not allowed[i, j].any():
                continue
            s = q[i] @ k[j].T + np.where(allowed[i, j], 0, -np.inf)  # (Tq, Tk)
            row_max = np.maximum(m, s.max(-1))
            shift = np.where(row_max == -np.inf, 0, row_max)
            alpha, p = np.exp(m - shift), np.exp(s - shift[:, None])
            total = alpha * total + p.sum(-1)
            o = alpha[:, None] * o + p @ v[j]
            m = row_max
        out.append(o / np.where(total == 0, 1, total)[:, None])
    return np.concatenate(out)


def local_m(q, k, v, D):
    """Dot products with the window of 2 D + 1 keys around p_t = t."""
    return _windows(q, k, v, D, range(len(q)))


def local_p(q, k, v, W_p, v_p, D):
    """The window around p_t = S sigmoid(v_p . tanh(W_p q_t)), with a Gaussian."""
    sigmoid = 1 / (1 + np.exp(-(np.tanh(q @ W_p.T) @ v_p)))
    return _windows(q, k, v, D, sigmoid * len(k), gaussian=True)


def _windows(q, k, v, D, centres, gaussian=False):
    """Average values with softmax weights over min(2 D + 1, S) keys around p_t.

    With ``gaussian`` each value is multiplied by exp(-(s - p_t)^2 / (2 sigma^2)), where
    sigma = D / 2. Positions past the end of the source are computed with weight 0.
    """
    S, o = len(k), []
    for t, q_t in enumerate(q):
        p_t = centres[t : t + 1]  # an array of one number, so that it is counted
        first = min(max(math.ceil(p_t[0] - D), 0), S)
        stop = min(max(math.floor(p_t[0] + D) + 1, first), S)
        positions = np.arange(first, first + min(2 * D + 1, S))
        keys = np.minimum(positions, S - 1)
        scores = k[keys] @ q_t + np.where(positions < stop, 0, -np.inf)
        values = v[keys]
        if gaussian:
            distance = positions - p_t
            values = np.exp(distance * distance * (-2 / D**2))[:, None] * values
        o.append(softmax(scores) @ values)
    return np.stack(o)


DEFINITIONS = {
    "dot": dot, "scaled": scaled, "dense": scaled, "general": general,
    "additive": additive, "concat": concat, "gaussian": gaussian, "coverage": coverage,
    "local-m": local_m, "local-p": local_p, "multi-head": multi_head, "tiled": tiled,
    "masked": masked, "linear": linear,
}  # fmt: skip
