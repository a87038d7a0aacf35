"""Count the multiplications and exponentials of a variant by running its definition.

    o, ops = count("additive", q, k, v, parameters=[W_q, W_k, w_v])
    ops.multiplications, ops.exponentials

The definitions are those of ``attention/definitions.py``, for one head. Their arrays
are ``CountedArray``s, which add up the products and exponentials that are computed with
them. Tests hold the counts equal to the formulas of variants/table.
"""

import numpy as np

from minigrad.arguments import one_of

from .. import definitions
from ..variants.table import NORMALIZERS, SCORES, VARIANTS


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


def count(variant, *inputs, parameters=(), **options):
    """Compute the attention of one head; return its output and the OpCounter.

    variant      a name of the table of variants, or a function of definitions.py
    inputs       the arrays of the row's ``inputs``, mostly q, k and v
    parameters   the arrays of the row's ``parameters``, in their order
    options      of the definition, such as D of "local-m"; projected, as in ``cost_of``
    """
    definition = variant if callable(variant) else definition_of(variant)
    counter = OpCounter()
    arrays = [counter.array(x) for x in (*inputs, *parameters)]
    return np.asarray(definition(*arrays, **options)), counter


def definition_of(variant):
    """Return the definition of a variant: (q, k, v, *parameters, **options) -> o."""
    one_of("count", "variant", variant, VARIANTS)
    definition = VARIANTS[variant].definition
    if variant in NORMALIZERS:
        return by_normalizer(definition)
    return by_score(definition) if variant in SCORES else definition


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


def by_normalizer(normalizer):
    """Return the attention (q, k, v, *parameters) of scaled products with weights."""

    def attention(q, k, v, *parameters, **options):
        def normalize(s, allowed):
            return normalizer(s, allowed, *parameters, **options)

        return definitions.attend(definitions.scaled_dot(q, k), v, normalize=normalize)

    return attention
