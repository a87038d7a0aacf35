"""Decay, gated linear attention and the delta rule: identities, chunks and states."""

import tracemalloc

import numpy as np
import pytest

from attention import (
    decay_attention,
    delta_rule,
    gated_linear_attention,
    kernels,
    retnet_log_decay,
)
from attention.variants import recurrence
from attention.variants.delta_rule import delta_scan, errors_backward, inverse
from minigrad import Tensor

from ...minigrad.array_cases import draw
from ..kernels.kernel_cases import BACKENDS, running

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


def orthonormal(n):
    return np.linalg.qr(draw((n, n))[0])[0]


# decay


def test_without_decay_it_is_linear_attention_without_denominator():
    q, k, v, *_ = example()
    o, S = decay_attention(q, k, v, np.zeros(1))
    wanted = np.tril(q @ k.swapaxes(-1, -2)) @ v
    close([o, S], [wanted, k.swapaxes(-1, -2) @ v])


def test_a_decay_of_0_leaves_the_own_token_only():
    q, k, v, *_ = example()
    o, S = decay_attention(q, k, v, np.full(L, -np.inf))
    close([o], [(q * k).sum(-1, keepdims=True) * v])


def test_a_reset_forgets_all_earlier_tokens_exactly(backend):
    """Also in float32, where differences of cumulative logarithms lose their digits."""
    q, k, v, _, log_a, _ = example(dtype=np.float32)
    for reset in -np.inf, -1e9:
        log_a[..., 40] = reset
        o, S = decay_attention(q, k, v, log_a)
        later = decay_attention(*(x[:, :, 40:] for x in (q, k, v, log_a)))
        close([o[:, :, 40:], S], [x.data for x in later], roundings=20)


def test_retnet_has_powers_of_gamma():
    q, k, v, *_ = example()
    log_a = retnet_log_decay(H)
    np.testing.assert_allclose(np.exp(log_a), [[31 / 32], [63 / 64], [127 / 128]])
    gamma, i = np.exp(log_a)[..., None], np.arange(L)
    D = np.tril(gamma ** np.maximum(i[:, None] - i, 0))  # equation 5 of the paper
    o, _ = decay_attention(q, k, v, log_a)
    close([o], [(q @ k.swapaxes(-1, -2) * D) @ v])


def test_decay_as_a_matrix_of_pairs():
    """M_ij = exp(c_i - c_j), as of Mamba-2: the duality."""
    q, k, v, _, log_a, _ = example()
    c = log_a.cumsum(-1)
    later = np.tri(L, k=-1, dtype=bool).T
    M = np.exp(np.where(later, -np.inf, c[..., :, None] - c[..., None, :]))
    o, _ = decay_attention(q, k, v, log_a)
    close([o], [(q @ k.swapaxes(-1, -2) * M) @ v])


def test_mamba_2_is_its_recurrence():
    """h_t = exp(d_t A) h_(t-1) + d_t B_t x_t^T, y_t = C_t h_t"""
    C, K, x, d, _, _ = example(9, ())
    A, h, y = -0.7, np.zeros((E, Ev)), []
    for t in range(9):
        h = np.exp(d[t] * A) * h + d[t] * np.outer(K[t], x[t])
        y.append(C[t] @ h)
    o, _ = decay_attention(C, K, d[:, None] * x, d * A)
    close([o], [np.stack(y)])


def test_equal_decays_of_all_coordinates_are_one_decay():
    q, k, v, _, log_a, S = example()
    vector = np.repeat(log_a[..., None], E, -1)
    found = gated_linear_attention(q, k, v, vector, S)
    close(found, [x.data for x in decay_attention(q, k, v, log_a, S)])


def test_each_coordinate_has_its_own_decay():
    """Two halves of the coordinates are two heads, whose outputs are added."""
    q, k, v, _, log_a, _ = example(heads=(2,))
    vector = np.concatenate([log_a[0][:, None]] * 2 + [log_a[1][:, None]] * 2, -1)
    o, S = gated_linear_attention(q[0], k[0], v[0], vector)
    halves = [
        decay_attention(*(x[0][:, i : i + 2] for x in (q, k)), v[0], log_a[i // 2])
        for i in (0, 2)
    ]
    close([o], [halves[0][0].data + halves[1][0].data])
    close([S], [np.concatenate([S.data for _, S in halves])])


# the delta rule


def test_orthonormal_keys_return_their_values():
    k, v = orthonormal(6), draw((6, 3))[0]
    o, S = delta_rule(k, k, v, np.ones(6))
    close([o, k @ S.data], [v, v])


def test_a_second_value_replaces_the_first():
    """Linear attention returns the sum of both."""
    k, v = orthonormal(6)[[0, 1, 0]], draw((3, 3))[0]
    one = np.ones((3,))
    _, S = delta_rule(k, k, v, one)
    close([k[[0, 1]] @ S.data], [v[[2, 1]]])
    _, S = decay_attention(k, k, v, 0 * one)
    close([k[[0]] @ S.data], [v[[0]] + v[[2]]])


def test_beta_of_0_writes_nothing():
    q, k, v, _, log_a, S = example()
    zero = np.zeros((B, H, L))
    o, last = delta_rule(q, k, v, zero, state=S)
    close([o, last], [q @ S, S])
    _, last = delta_rule(q, k, v, zero, log_a, S)
    close([last], [np.exp(log_a.sum(-1))[..., None, None] * S])


def test_a_step_is_gradient_descent_on_the_squared_error():
    _, k, v, b, _, S = example(1, ())
    leaf = Tensor(S, requires_grad=True)
    error = k @ leaf - v
    (error * error / 2).sum().backward()
    close([delta_rule(k, k, v, b, state=S)[1]], [S - b * leaf.grad])


def test_a_small_beta_is_linear_attention_times_beta():
    q, k, v, *_ = example()
    for beta in 1e-4, 1e-5:
        found = delta_rule(q, k, v, np.full(1, beta))[0].data / beta
        wanted = decay_attention(q, k, v, np.zeros(1))[0].data
        assert abs(found - wanted).max() < 30 * L * beta


def test_a_decay_of_1_is_the_delta_rule_without_a_gate():
    q, k, v, b, _, S = example()
    found = delta_rule(q, k, v, b, np.zeros((B, H, L)), S)
    close(found, [x.data for x in delta_rule(q, k, v, b, state=S)])


def test_keys_of_length_1_keep_the_state_bounded():
    """Longer ones do not: each step has the factor 1 - beta |k|^2."""
    _, k, v, *_ = example(500, ())
    assert abs(delta_rule(k, k, v, np.ones(1))[1].data).max() < 50
    assert abs(delta_rule(2 * k, 2 * k, v, np.ones(1))[1].data).max() > 1e50


def test_inverse_of_a_triangle():
    for n in 0, 1, 2, 3, 7, 64:
        triangle = np.tril(draw((2, n, n))[0], -1) / 4
        close([inverse(triangle)], [np.linalg.inv(np.eye(n) + triangle)])


# all three


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


def run_delta(q, k, v, b, log_a, S, g, D):
    """Return o, S and all gradients of the gated delta rule."""
    leaves = [Tensor(x, requires_grad=True) for x in (q, k, v, b, log_a, S)]
    o, last = delta_rule(*leaves)
    ((o * g).sum() + (last * D).sum()).backward()
    return [o.data, last.data, *(x.grad for x in leaves)]


@pytest.mark.deep
@pytest.mark.parametrize("dtype", ["d", "f"])
@pytest.mark.parametrize("width", [1, 17, 64])  # without and with vectors
def test_kernel_and_numpy_agree_in_any_width(width, dtype):
    """The delta rule has every loop: the forward, its errors, scans in both ways."""
    pytest.importorskip("numba")
    q, k = (
        x / np.sqrt((x * x).sum(-1, keepdims=True)) for x in draw(*[(2, 70, width)] * 2)
    )
    v, g = draw(*[(2, 70, 81 - width)] * 2, seed=1)
    S, D = draw(*[(2, width, 81 - width)] * 2, seed=2)
    b, log_a = (sigmoid(x) for x in draw((2, 70), (2, 70), seed=3))
    arrays = [x.astype(dtype) for x in (q, k, v, b, np.log(log_a), S, g, D)]
    results = []
    for name in BACKENDS:
        with kernels.backend(name):
            results.append(run_delta(*arrays))
    assert all(x.dtype == dtype for x in results[0])
    close(*results, roundings=100)


@every
def test_memory_grows_linearly(backend, name):
    """No array (L, L), and no state of every token, forward and backward."""
    function, inputs = CALLS[name]
    used = []
    for n in 1024, 4096:
        big = [np.repeat(x[0, :1], n // 64, 1)[:, :n] for x in inputs]
        assert big[0].shape[-2] == n
        tracemalloc.start()
        try:
            leaves = [Tensor(x, requires_grad=True) for x in big]
            o, S = function(*leaves)
            (o.sum() + S.sum()).backward()
            used.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert used[1] < 4.2 * used[0] and used[1] < 0.1 * 8 * 4096**2


@pytest.mark.parametrize("chunk", [1, 3, 16, 70, 200])
def test_chunks_of_any_size_give_the_same(chunk):
    """1 is the recurrence, 70 the matrix of all pairs."""
    q, k, v, b, log_a, S = example()
    a, b = np.exp(log_a)[..., None], b[..., None]
    vector = sigmoid(draw((B, H, L, E))[0])
    g, D = v[:, :, ::-1].copy(), S[:, ::-1].copy()
    for function, arrays in (
        (recurrence.scan, (q, k, v, a, S)),
        (recurrence.scan, (q, k, v, vector, S)),
        (delta_scan, (q, k, v, a, b, S)),
        (errors_backward, (q, k, g, a, b, D)),
    ):
        close(function(*arrays, chunk), function(*arrays))


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
