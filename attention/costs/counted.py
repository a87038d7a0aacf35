"""Count the multiplications and exponentials of a variant by running its definition.

    o, ops = count("additive", q, k, v, parameters=[W_q, W_k, w_v])
    ops.multiplications, ops.exponentials

The definitions are those of ``attention/definitions.py``, for one head. Their arrays
are ``CountedArray``s, which add up the products and exponentials that are computed with
them. Tests hold the counts equal to the formulas of the rows.
"""

import numpy as np

from minigrad.arguments import one_of

from ..variants.table import VARIANTS


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
    options      of the definition, such as D of "local-m"
    """
    definition = variant
    if not callable(variant):
        definition = VARIANTS[one_of("count", "variant", variant, VARIANTS)].attention
    counter = OpCounter()
    arrays = [counter.array(x) for x in (*inputs, *parameters)]
    return np.asarray(definition(*arrays, **options)), counter


def polynomial(counts, letters):
    """Return the formula of counts, such as "2*L*E + L*S*E".

    counts    an array with an axis for each letter: the counts for the sizes 2, 4 and 6
    letters   the names of these sizes

    Along an axis, c_0 + c_1 n + c_2 n^2 = y for three sizes n gives the three c. No
    term has a letter three times.
    """
    inverse = np.linalg.inv(np.vander([2.0, 4.0, 6.0], increasing=True))
    c = np.asarray(counts, float)
    for axis in range(c.ndim):
        c = np.moveaxis(np.tensordot(inverse, c, (1, axis)), 0, axis)
    c, terms = c.round(3), []
    for powers in np.argwhere(c):
        factors = [x for x, power in zip(letters, powers) for _ in range(power)]
        number = f"{c[tuple(powers)]:g}"
        if number != "1" or not factors:
            factors.insert(0, number)
        terms.append("*".join(factors))
    return " + ".join(terms) or "0"
