"""Decay, gated linear attention and the delta rule: gates near 0, memory, needs."""

import numpy as np
import pytest

from attention import (
    decay_attention,
    delta_rule,
    gated_linear_attention,
)
from attention.variants import recurrence
from minigrad import Tensor

from ...memory import peak_bytes
from ...minigrad.array_cases import draw
from ..kernels.kernel_cases import running

B, H, L, E, Ev = 2, 3, 70, 4, 6  # L is no multiple of the chunk, 64


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def example(n=L, heads=(B, H), dtype=float):
    """Return q, k, v, beta, log_decay, S_0; the keys have length 1."""
    shapes = [(n, E), (n, E), (n, Ev), (n,), (n,), (E, Ev)]
    q, k, v, b, x, S = draw(*((*heads, *s) for s in shapes))
    k /= np.sqrt((k * k).sum(-1, keepdims=True))
    return [x.astype(dtype) for x in (q, k, v, sigmoid(b), np.log(sigmoid(x + 2)), S)]


def close(x, y, roundings=400):
    for x, y in zip(x, y, strict=True):
        x = x.data if isinstance(x, Tensor) else x
        assert x.shape == np.shape(y)
        atol = roundings * np.finfo(x.dtype).eps * np.abs(y).max(initial=1)
        np.testing.assert_allclose(x, y, rtol=0, atol=atol)


@pytest.fixture(params=[pytest.param("numba", marks=pytest.mark.deep), "numpy"])
def backend(request):
    """Run a test on both backends; compiling these kernels takes long."""
    with running(request.param):
        yield request.param


def test_a_reset_forgets_all_earlier_tokens_exactly(backend):
    """Also in float32, where differences of cumulative logarithms lose their digits."""
    q, k, v, _, log_a, _ = example(dtype=np.float32)
    for reset in -np.inf, -1e9:
        log_a[..., 40] = reset
        o, S = decay_attention(q, k, v, log_a)
        later = decay_attention(*(x[:, :, 40:] for x in (q, k, v, log_a)))
        close([o[:, :, 40:], S], [x.data for x in later], roundings=20)


def calls():
    """Return {name: (function, inputs)}."""
    q, k, v, b, log_a, _ = example()
    return {
        "decay": (decay_attention, [q, k, v, log_a]),
        "gla": (gated_linear_attention, [q, k, v, np.log(sigmoid(q[..., ::-1]))]),
        "delta": (delta_rule, [q, k, v, b, log_a]),
    }


CALLS = calls()
every = pytest.mark.parametrize("name", CALLS)


@every
def test_memory_grows_linearly(backend, name):
    """No array (L, L), and no state of every token, forward and backward."""
    function, inputs = CALLS[name]
    used = []
    for n in 1024, 4096:
        big = [np.repeat(x[0, :1], n // 64, 1)[:, :n] for x in inputs]
        assert big[0].shape[-2] == n

        def call(big=big):
            o, S = function(*(Tensor(x, requires_grad=True) for x in big))
            (o.sum() + S.sum()).backward()

        used.append(peak_bytes(call))
    assert used[1] < 4.2 * used[0] and used[1] < 0.1 * 8 * 4096**2


@every
@pytest.mark.parametrize("log_gate", [-4, -12, -30])
def test_the_gradient_of_gates_near_0_in_float32(backend, name, log_gate):
    """The pair of a token with itself has no gate, and leaves no rounding error."""
    function, _ = CALLS[name]
    q, k, v, b, _, S, g, D = *example(512, (2,)), *draw((2, 512, Ev), (2, E, Ev))
    gates = np.full((2, 512, E if name == "gla" else 1), float(log_gate))
    b = [b] if name == "delta" else []
    arrays = [q, k, v, *b, gates if name == "gla" else gates[..., 0], S]
    found = []
    for dtype in np.float32, np.float64:
        leaves = [Tensor(x.astype(dtype), requires_grad=True) for x in arrays]
        o, last = function(*leaves)
        ((o * g.astype(dtype)).sum() + (last * D.astype(dtype)).sum()).backward()
        found.append(leaves[-2].grad)
    found, expected = found
    largest = abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * largest)


@every
@pytest.mark.parametrize("needed", range(4))
def test_only_needed_gradients_are_computed(monkeypatch, name, needed):
    """Each scan of the backward is made for a gradient that is needed."""
    function, inputs = CALLS[name]
    scans, made = [], recurrence.scan
    monkeypatch.setattr(
        recurrence, "scan", lambda *x, **options: scans.append(1) or made(*x, **options)
    )
    found = []
    for needs in [n == needed for n in range(len(inputs))], [True] * len(inputs):
        leaves = [Tensor(x, requires_grad=n) for x, n in zip(inputs, needs)]
        o, _ = function(*leaves)
        scans.clear()
        (o * o).sum().backward()
        found.append((len(scans), leaves[needed].grad))
        assert [x.grad is not None for x in leaves] == needs
    (few, gradient), (all_scans, expected) = found
    close([gradient], [expected])
    assert few < all_scans
