"""Our side of a row: a function of Tensors that were made before, as torch's are."""

import numpy as np

import minigrad as mg

from ... import kernels
from ...exact.sdpa import scaled_dot_product_attention


def both(run):
    """Two sides of one text: with the compiled kernels, and with NumPy's twins."""

    def on(name):
        def side():
            with kernels.backend(name):
                return run()

        return side

    return {"numba": on("numba"), "numpy": on("numpy")}


def of_ours(function, arrays, g):
    """A side: function's output, and its gradients if there is a cotangent g."""
    tensors = [mg.Tensor(x, requires_grad=g is not None) for x in arrays]

    def run():
        if g is None:
            with mg.no_grad():
                return function(*tensors)
        for t in tensors:
            t.grad = None
        out = function(*tensors)
        out.backward(g)
        return [out, *(t.grad for t in tensors)]

    return run


def draw(*shapes, seed=0):
    """float32 arrays of independent N(0, 1)."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape, np.float32) for shape in shapes]


def windowed(w):
    """Attention of w keys a query: its own and the w - 1 before it."""
    return lambda *x: scaled_dot_product_attention(*x, window_size=(w - 1, 0))
