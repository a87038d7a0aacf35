"""Pointers, copying, addresses, monotonic stops: masks, zeros, and underflow."""

import numpy as np
import pytest

import attention as A
import minigrad as mg
from minigrad import Tensor

from ...minigrad.array_cases import draw, in_float64

rng = np.random.default_rng


# -- pointers --------------------------------------------------------------------------


def test_a_chosen_element_has_no_probability_and_no_gradient():
    pointer = in_float64(A.Pointer(3, 4, 5, rng=rng(0)))
    places = np.array([[2, 0, 1], [1, 2, 0]])
    allowed = A.not_chosen(places, 4)
    assert [row.tolist() for row in allowed[0]] == [
        [True, True, True, True],
        [True, True, False, True],
        [False, True, False, True],
    ]
    q, k = draw((2, 3, 3), (2, 4, 4))
    keys = Tensor(k, requires_grad=True)
    u = pointer(q, keys, allowed)
    p = mg.softmax(u).data
    assert (p[~allowed] == 0).all()
    np.testing.assert_allclose(p.sum(-1), 1)
    mg.cross_entropy(u[:, 2], places[:, 2]).backward()  # element 2 of the first is gone
    assert not keys.grad[0, [0, 2]].any() and keys.grad[0, [1, 3]].all()

    u_many = pointer(q[0], keys, allowed)  # the same queries for each set of elements
    np.testing.assert_array_equal(u_many.data[0], u.data[0])


# -- copying ---------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "z, r, a, source, y",
    [
        ([110, 0, 0], 0, [0.5, 0.5], [0, 2], 1),  # its logit underflows
        ([110, 0, 0], 0, [0, 1], [1, 2], 1),  # and its weight is 0
        ([0, 0, 0], -110, [0.5, 0.5], [0, 2], 1),  # its gate underflows
        ([0, 0, 0], 110, [0.5, 0.5], [3, 2], 3),
        ([1, 2, 3], 0.5, [0, 1], [1, 2], 1),
    ],
)
def test_the_loss_of_an_improbable_word_is_exact(dtype, z, r, a, source, y):
    z, r, a = (np.array(x, np.longdouble) for x in (z, r, a))
    gate, p = 1 / (1 + np.exp(-r)), np.exp(z) / np.exp(z).sum()
    is_word, is_copied = np.arange(3) == y, np.array(source) == y
    written, rest = gate * p[is_word].sum(), 1 / (1 + np.exp(r))
    P = written + rest * a[is_copied].sum()
    leaves = [Tensor(x.astype(dtype), requires_grad=True) for x in (z, a, r)]
    loss = A.copy_loss(*leaves, np.array(source), y)
    loss.backward()
    close = dict(rtol=20 * np.finfo(dtype).eps, atol=np.finfo(dtype).eps)
    np.testing.assert_allclose(loss.data, -np.log(P), **close)
    dz, da, dr = (leaf.grad for leaf in leaves)
    np.testing.assert_allclose(dz, written / P * (p - is_word), **close)
    np.testing.assert_allclose(dr, gate - written / P, **close)
    da_exact = np.minimum(rest / P, np.finfo(dtype).max)
    np.testing.assert_allclose(da, -da_exact * is_copied, rtol=1e-4)


@pytest.mark.filterwarnings("error")
def test_a_word_of_probability_0_has_an_infinite_loss_and_no_nan():
    z, r = (Tensor(np.zeros(n, np.float32), requires_grad=True) for n in ((3,), ()))
    e = Tensor(np.array([-200, 0], np.float32), requires_grad=True)
    loss = A.copy_loss(z, mg.softmax(e), r, np.array([3, 1]), 3)
    loss.backward()
    assert loss.data == np.inf
    np.testing.assert_array_equal(np.r_[z.grad, r.grad], [0, 0, 0, 0.5])  # pi is 0
    assert np.isfinite(e.grad).all()


# -- addresses -------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sharpening_leaves_places_of_weight_0_out(dtype):
    p, g = np.array([0, 3e-3, 0, 1e-3, 0], dtype), draw((5,))[0].astype(dtype)
    for gamma in np.array([1, 2.5, 30, 300], dtype):
        outcomes = []
        for places in slice(None), p > 0:
            leaves = [Tensor(x, requires_grad=True) for x in (p[places], gamma)]
            y = A.sharpen(*leaves)
            y.backward(g[places])
            outcomes.append([y.data, *(x.grad for x in leaves)])
        (y, dp, dgamma), (few, dfew, dgamma_few) = outcomes
        np.testing.assert_allclose(y[p > 0], few, rtol=1e-5)
        np.testing.assert_allclose(y.sum(), 1, rtol=1e-5)
        np.testing.assert_allclose(dp[p > 0], dfew, rtol=1e-4)
        np.testing.assert_allclose(dgamma, dgamma_few, rtol=1e-4)
        assert not y[p == 0].any() and not dp[p == 0].any()


def test_a_large_gamma_keeps_the_digits():
    p = np.array([2e-30, 1.9999e-30, 1.9998e-30], np.float32)  # ln p is about -68
    exact = A.sharpen(p.astype(float), np.array(3e4)).data
    np.testing.assert_allclose(A.sharpen(p, np.float32(3e4)).data, exact, rtol=5e-3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("what", ["row", "key", "memory"])
def test_an_address_of_zeros_has_the_cosine_0(what, dtype):
    key, memory, last = (x.astype(dtype) for x in draw((4,), (6, 4), (6,)))
    {"row": memory[2], "key": key, "memory": memory}[what][...] = 0
    with np.errstate(invalid="ignore"):
        cosine = memory @ key / np.linalg.norm(memory, axis=1) / np.linalg.norm(key)
    numbers = [np.asarray(x, dtype) for x in (3, 1, np.eye(3)[1], 1)]
    leaves = [Tensor(x, requires_grad=True) for x in (key, memory, abs(last))]
    p = A.address(*leaves, *numbers)
    wanted = A.definitions.softmax(3 * np.nan_to_num(cosine))
    np.testing.assert_allclose(p.data, wanted, rtol=1e-5)
    (p * np.arange(6, dtype=dtype)).sum().backward()
    for x in leaves[:2]:
        assert np.isfinite(x.grad).all() and not x.grad[x.data == 0].any()


# -- monotonic stops -------------------------------------------------------------------


def test_certain_stops_are_one_hot_and_hard_stops():
    p = np.array([[0, 0, 1, 1, 0, 0], [0, 1, 0, 0, 1, 0], [1, 0, 0, 0, 0, 0.0]])
    a = A.monotonic_weights(p).data
    np.testing.assert_array_equal(a, [*np.eye(6)[[2, 4]], np.zeros(6)])
    np.testing.assert_array_equal(A.hard_stops(p).data, a)


@pytest.mark.parametrize("layer", [A.MonotonicAttention, A.MoChA])
def test_hard_stops_are_certain_and_training_has_noise(layer):
    q, k, v = draw((2, 5, 3), (2, 7, 4), (2, 7, 6), seed=3)
    layer = in_float64(layer(3, 4, 5, rng=rng(0))).eval()
    one_hot = layer(q, k, v, hard=True)[1].data
    assert set(np.unique(one_hot)) <= {0, 1} and (one_hot.sum(-1) <= 1).all()
    np.testing.assert_array_equal(layer(q, k, v, hard=True)[1].data, one_hot)
    layer.train()
    assert not np.allclose(layer(q, k, v)[1].data, layer(q, k, v)[1].data)
