"""Count the multiplications and exponentials of a variant by running its definition.

    o, ops = count("additive", q, k, v, [W_q, W_k, w_v])
    ops.multiplications, ops.exponentials

The definitions are those of ``attention/definitions.py``, for one head. Their arrays
are ``CountedArray``s, which add up the products and exponentials that are computed with
them. Tests hold the counts equal to the formulas of formulas.py.
"""

import numpy as np

from .. import definitions


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
        return result if result.dtype == bool else counter.array(result)

    def __array_function__(self, function, types, arguments, options):
        """Call a function such as np.where, whose result is counted as well."""
        result = super().__array_function__(function, types, arguments, options)
        is_array = isinstance(result, np.ndarray) and result.dtype.kind == "f"
        return self.counter.array(result) if is_array else result


def count(variant, q, k, v, parameters=(), **options):
    """Compute the attention of one head; return its output and the OpCounter.

    q (L, E), k (S, Dk), v (S, Ev)  ->  o (L, Ev), counter

    parameters   W_a of "general"; W_q, W_k, w_v of "additive", and w_c of "coverage";
                 W_a, v_a of "concat"; W_p, v_p of "local-p"; W_q, W_k, W_v, W_o of
                 "multi-head", which computes all its heads
    options      projected, as in ``cost_of``; heads, of "multi-head"; D, of "local-m"
                 and "local-p"; centre, of "local-m"; tile, of "tiled"; allowed (L, S)
                 bool, of "tiled" and of "masked": scaled dot products of the allowed
                 pairs alone
    """
    if variant not in DEFINITIONS:
        raise ValueError(
            f"count: variant is {variant!r}; expected one of {', '.join(DEFINITIONS)}. "
            'For a pattern such as a window use "masked" with allowed=.'
        )
    counter = OpCounter()
    arrays = [counter.array(x) for x in (q, k, v, *parameters)]
    return np.asarray(DEFINITIONS[variant](*arrays, **options)), counter


def by_score(score):
    """Return the attention (q, k, v, *parameters, projected) of a score.

    projected   "steps": the score is computed again for each query; "pairs": for each
                pair; "keys", of "general": W_a k_j is computed, and not W_a^T q_i
    """

    def attention(q, k, v, *parameters, projected=None):
        if projected == "keys":
            s = score(k, q, *(W.T for W in parameters)).T
        elif projected in ("steps", "pairs"):
            Q, K = [q[i : i + 1] for i in range(len(q))], [k]
            if projected == "pairs":
                K = [k[j : j + 1] for j in range(len(k))]
            s = np.block([[score(q_i, k_j, *parameters) for k_j in K] for q_i in Q])
        else:
            s = score(q, k, *parameters)
        return definitions.attend(s, v)

    return attention


def concat(q, k, W_a, v_a):
    """Compute W_a [q_i; k_j] as W_q q_i + W_k k_j, each product once."""
    E = q.shape[1]
    return definitions.additive(q, k, W_a[:, :E], W_a[:, E:], v_a)


def masked(q, k, v, allowed):
    """Attend to the allowed keys of each query; the other scores are not computed."""
    rows = [
        definitions.scaled_dot_attention(q[i : i + 1], k[keys], v[keys])
        for i, keys in enumerate(np.asarray(allowed, bool))
    ]
    return np.concatenate(rows)


def multi_head(q, k, v, W_q, W_k, W_v, W_o, heads):
    attention = [definitions.scaled_dot_attention] * heads
    return definitions.multi_head(q, k, v, W_q, W_k, W_v, W_o, attention)


DEFINITIONS = {
    "dot": by_score(definitions.dot),
    "scaled": by_score(definitions.scaled_dot),
    "dense": definitions.scaled_dot_attention,
    "general": by_score(definitions.general),
    "additive": by_score(definitions.additive),
    "concat": by_score(concat),
    "gaussian": by_score(definitions.gaussian),
    "coverage": definitions.coverage,
    "local-m": definitions.local_m,
    "local-p": definitions.local_p,
    "multi-head": multi_head,
    "tiled": definitions.tiled,
    "masked": masked,
    "linear": definitions.linear,
}
