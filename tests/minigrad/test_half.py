"""float16 stores numbers: operations compute in float32, and optimizers keep float32."""

import numpy as np
import pytest

import minigrad as mg
from attention.variants.small_cache import dequantize, quantize
from minigrad import Tensor, nn, optim

EPS, TINY = np.finfo(np.float16).eps, np.finfo(np.float16).tiny
x, table = (
    np.random.default_rng(i).normal(size=shape)
    for i, shape in enumerate([(4, 64), (3, 4)])
)
ids, ones = np.zeros(5000, int), np.ones((5000, 4))

CASES = {  # name: (operation, inputs); in float16, squares or sums overflow or stop
    "layer_norm": (mg.layer_norm, [x * 300]),
    "rms_norm": (mg.rms_norm, [x * 300, x[0]]),
    "var": (lambda x: mg.var(x, -1), [x * 200]),
    "sum along rows": (lambda x: mg.sum(x, 0), [ones]),
    "softmax of 70000": (mg.softmax, [np.zeros(70000)]),
    "cross_entropy": (lambda x: mg.cross_entropy(x * 50, ids % 2), [ones * x[0, :4]]),
    "mse_loss": (mg.mse_loss, [x * 100, x * 300]),
    "bias of many rows": (lambda W, b: mg.linear(ones.astype(W.dtype), W, b),
                          [table, table[:, 0]]),
    "repeated id": (lambda W: mg.embedding(ids, W), [table]),
    "einsum": (lambda W: mg.einsum("ij,jk->ik", ones.astype(W.dtype), W), [table.T]),
}  # fmt: skip


def outcome(op, arrays, dtype):
    leaves = [Tensor(a.astype(np.float16).astype(dtype), True) for a in arrays]
    y = op(*leaves)
    g = np.random.default_rng(1).uniform(0.5, 1.5, y.shape).astype(np.float16)
    y.backward(g.astype(dtype))
    return [y.data, *(leaf.grad for leaf in leaves)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", CASES)
def test_float16_is_as_exact_as_its_rounding(name):
    op, arrays = CASES[name]
    found = outcome(op, arrays, np.float16)
    for ours, exact in zip(found, outcome(op, arrays, np.float64)):
        assert ours.dtype == np.float16
        size = np.abs(exact).max()
        np.testing.assert_allclose(ours, exact, rtol=EPS, atol=2 * EPS * max(size, TINY))


def test_a_result_beyond_65504_is_infinite():
    assert np.isinf(mg.sum(Tensor(ones.astype(np.float16) * 100)).data)


def test_float16_beside_float32_is_float32_and_astype_still_converts():
    half, single = (Tensor(np.ones(3, d)) for d in (np.float16, np.float32))
    dtypes = [(half * single).dtype, half.astype(np.float32).dtype, (half * 2).dtype]
    assert dtypes == [np.float32, np.float32, np.float16]
    assert mg.concat([half, half]).dtype == np.float16


@pytest.mark.parametrize("rule", [optim.Adam, optim.AdamW, optim.SGD])
@pytest.mark.parametrize("size", [1e-5, 1.0, 1e4])
def test_steps_in_float16_are_those_of_float32_rounded(rule, size):
    """The square of a gradient of 1e-5 is 0 in float16, that of 1e4 infinite."""
    found = []
    for dtype in np.float16, np.float32:
        p = nn.Parameter(np.ones(4, dtype))
        optimizer = rule([p], lr=0.01 / max(size, 1), weight_decay=1e-3)
        for _ in range(3):
            p.grad = np.full(4, np.float16(size), dtype)
            optimizer.step()
            state = optimizer.state_dict()
            optimizer.load_state_dict(state)  # the averages stay in float32
            p.data = p.data.astype(np.float16).astype(dtype)
        found.append([p.data, *(state[name][0] for name in rule.averages)])
    for half, single in zip(*found):
        np.testing.assert_allclose(half, single, rtol=2 * EPS)  # decay, then step


@pytest.mark.parametrize("size", [1e-5, 1e-3, 1.0, 3e4])
def test_clipping_of_float16(size):
    p = nn.Parameter(np.ones(70000, np.float16))
    p.grad = np.full(70000, size, np.float16)
    norm = float(p.grad[0]) * 70000**0.5
    assert optim.clip_grad_norm_([p], 1e-2) == pytest.approx(norm, rel=1e-5)
    expected = float(np.float16(size)) * min(1, 1e-2 / (norm + 1e-6))
    smallest = np.finfo(np.float16).smallest_subnormal
    np.testing.assert_allclose(p.grad, expected, rtol=EPS, atol=smallest / 2)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-5, 1.0, 300.0, 6e4])
def test_codes_of_float16_differ_by_half_a_scale(size):
    keys = np.clip(x / np.abs(x).max(), -1, 1).astype(np.float16) * np.float16(size)
    keys[0, 0], keys[1, 0] = size, -size
    codes, scale, zero = quantize(keys, -2)
    error = np.abs(dequantize(codes, scale, zero) - keys.astype(float))
    assert (error <= scale * 0.5001).all()
