"""A masked key changes no bit in any variant, forward or backward."""

import numpy as np
import pytest

from minigrad import Tensor

from .variant_cases import VARIANTS, D, across, running

B = 2
PADDED = [n for n, v in VARIANTS.items() if v.lengths]
FORWARD = {  # those that never look ahead, and where their queries come from
    **{n: "causal" for n, v in VARIANTS.items() if v.causal},
    "coverage": "steps",
    "Bahdanau's step": "steps",
    "Luong's step": "steps",
}


@pytest.fixture
def backend(request):
    with running(request.param):
        yield request.param


def draw(name):
    """q, k, v: of two tiles, for what has tiles; else of a few rows."""
    n = 70 if name.startswith(("tiled", "dense", "linear", "merge")) else 18
    rng = np.random.default_rng(0)
    return [rng.standard_normal((B, n, D)) for _ in range(3)]


def results(variant, arrays, g, lens=None):
    """o, dq, dk, dv, and the gradients of all parameters."""
    module = variant.module()
    leaves = [Tensor(a, requires_grad=True) for a in arrays]
    o = variant.run(module, *leaves, lens)
    o.backward(g(o.shape) if callable(g) else g)
    grads = (x.grad for x in (*leaves, *module.parameters()))
    return [o.data, *(np.zeros(1) if d is None else d for d in grads)]


def anything(shape):
    return np.random.default_rng(5).standard_normal(shape)


def equal(found, expected):
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y)


@across(PADDED)
def test_padding(backend, name):
    """Outputs, and gradients of inputs and parameters, whatever stands in it."""
    variant, (q, k, v) = VARIANTS[name], draw(name)
    n = q.shape[1] // 2
    lens = [n, q.shape[1]]
    expected = results(variant, (q, k, v), anything, lens)
    o, _, dk, dv, *_ = expected
    assert dv[0, :n].any() and np.isfinite(o).all()
    assert not dk[0, n:].any() and not dv[0, n:].any()
    k[0, n:], v[0, n:] = 7.0, 7.0
    equal(results(variant, (q, k, v), anything, lens), expected)


@across(PADDED)
def test_one_example_knows_nothing_of_another(backend, name):
    """A change of example 0 changes no bit of example 1."""
    variant, arrays = VARIANTS[name], draw(name)
    lens = [arrays[0].shape[1] - 5, arrays[0].shape[1]]
    o, *gradients = results(variant, arrays, anything, lens)
    for x in arrays:
        x[0, 0] = 7.0
    bad, *others = results(variant, arrays, anything, lens)
    assert (bad[0] != o[0]).any()
    equal([x[1] for x in (bad, *others[:3])], [x[1] for x in (o, *gradients[:3])])


@across(PADDED)
def test_an_example_without_keys(backend, name):
    variant, arrays = VARIANTS[name], draw(name)
    lens = [0, arrays[0].shape[1]]
    expected = results(variant, arrays, anything, lens)
    o, dq, dk, dv, *_ = expected
    assert all(np.isfinite(x).all() for x in expected)
    assert not dk[0].any() and not dv[0].any() and dv[1].any()
    if not name.startswith(("heads", "one key", "Bahdanau", "Luong's")):
        assert not o[0].any() and not dq[0].any()
    for x in arrays[1:]:
        x[0] = 7.0
    equal(results(variant, arrays, anything, lens), expected)


@across(FORWARD)
def test_the_future(backend, name):
    """A loss on the past: no bit of it or of its gradients knows what comes later."""
    variant, (q, k, v) = VARIANTS[name], draw(name)
    at = q.shape[1] - 10
    changed = (q, k, v) if FORWARD[name] == "causal" else (q,)
    shape = variant.run(variant.module(), q, k, v).shape
    g = anything(shape)
    g[:, at:] = 0
    expected = results(variant, (q, k, v), g)
    for x in changed:
        x[:, at:] = 7.0
    found = results(variant, (q, k, v), g)
    past = slice(None), slice(at)
    equal([found[0][past], found[1][past]], [expected[0][past], expected[1][past]])
    if FORWARD[name] == "causal":
        found, expected = ([x[past] for x in y[2:4]] + y[4:] for y in (found, expected))
        if len(found) > 2:  # sums over rows of 0 may be taken in another order
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-13)
        else:
            equal(found, expected)
    else:
        equal(found[2:4], expected[2:4])


OUTSIDE = [n for n, v in VARIANTS.items() if v.local is not None]


@across(OUTSIDE)
def test_outside_of_a_pattern(backend, name):
    """Key ``at`` reaches those alone that attend to it, and their gradients too."""
    variant, (q, k, v) = VARIANTS[name], draw(name)
    n = q.shape[1]
    at = n - 10
    away = ~variant.pairs(B, n, n)[0][:, at]
    assert 0 < away.sum() < n
    g = anything(variant.run(variant.module(), q, k, v).shape)
    g[:, ~away] = 0
    expected = results(variant, (q, k, v), g)
    k[:, at], v[:, at] = 7.0, 7.0
    found = results(variant, (q, k, v), g)
    equal([x[:, away] for x in found[:2]], [x[:, away] for x in expected[:2]])
    equal(found[2:4], expected[2:4])
    assert not found[2][:, at].any() and not found[3][:, at].any()
