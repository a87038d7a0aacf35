"""How the tests run an operation: as a function of arrays, and through the engine."""

import numpy as np

from minigrad import Tensor

from .spec import as_tuple, is_input


def cotangents(outputs, seed=1):
    """A random g for each output, of its dtype."""
    r = np.random.default_rng(seed)
    return [np.asarray(r.normal(size=y.shape)).astype(y.dtype) for y in outputs]


def pull(case, outputs, backward, g):
    """The gradient of each input of ``case``, from the raw operation's backward."""
    positions = list(case.positions())
    with np.errstate(all="ignore"):  # as in the backward pass of the engine
        gradients = backward(list(g) if isinstance(outputs, tuple) else g[0])
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    return [d for d, a in zip(gradients, positions) if is_input(a)]


def through_engine(op, case, dtype=np.float64):
    """The outputs and the gradients as a user gets them."""
    tensors = [Tensor(a.astype(dtype), requires_grad=True) for a in case.inputs()]
    outputs = as_tuple(case.run(op, tensors))
    for y, g in zip(outputs, cotangents([y.data for y in outputs])):
        y.backward(g, retain_graph=True)
    return [y.data for y in outputs], [t.grad for t in tensors]


def awkward(a):
    """``a`` as a read-only view with gaps, back to front, columns first."""
    base = np.full([2 * n for n in a.shape[::-1]], np.nan, a.dtype)
    view = base.T[(slice(None, None, -2),) * a.ndim + (...,)]
    view[...] = a
    view.flags.writeable = False
    return view


def assert_close(actual, expected, ulps, what=""):
    """Equal within ``ulps`` units in the last place of the largest entry, or of 1.

    Entries of order one that cancel leave the rounding of order one behind, so the
    comparison is by the size of the array, not of each entry.
    """
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"{what} {actual.shape} {expected.shape}"
    scale = np.max(np.abs(expected), initial=1.0)
    precision = np.result_type(actual, np.float16)  # empty ones may be integers
    tolerance = ulps * np.finfo(precision).eps * scale
    np.testing.assert_allclose(actual, expected, 0, tolerance, err_msg=what)
