"""Pointers, copying, filters of past weights, monotonic stops: laws of each."""

import numpy as np
import pytest

import attention as A
import minigrad as mg
from minigrad import Tensor

from ...minigrad.array_cases import draw

rng = np.random.default_rng
CLOSE = dict(rtol=1e-12, atol=1e-12)


def in_float64(layer):
    for p in layer.parameters():
        p.data = p.data.astype(float)
    return layer.eval()


# -- pointers --------------------------------------------------------------------------


def test_renumbering_the_elements_renumbers_the_answer():
    pointer = in_float64(A.Pointer(3, 4, 5, rng=rng(0)))
    q, k = draw((2, 3), (6, 4))
    order = rng(1).permutation(6)
    np.testing.assert_allclose(pointer(q, k[order]).data, pointer(q, k).data[:, order])


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


def test_du_is_p_minus_onehot():
    pointer = in_float64(A.Pointer(3, 4, 5, rng=rng(0)))
    u = Tensor(pointer(*draw((1, 3), (6, 4))).data, requires_grad=True)
    mg.cross_entropy(u, [4]).backward()
    np.testing.assert_allclose(u.grad, mg.softmax(u).data - np.eye(6)[[4]], **CLOSE)


# -- copying ---------------------------------------------------------------------------

SOURCE = np.array([1, 6, 1, 7])  # a vocabulary of 5 words


def copied(r, source=SOURCE, z=None):
    a = rng(0).dirichlet(np.ones(4))
    z = rng(1).normal(size=5) if z is None else z
    return a, z, A.copy_probabilities(z, a, np.array(r), source, 8).data


def test_probabilities_sum_to_1_and_a_repeated_word_adds_up():
    a, z, P = copied(0.0)
    np.testing.assert_allclose(P.sum(), 1)
    written = mg.softmax(Tensor(z)).data
    np.testing.assert_allclose(P[1], (written[1] + a[0] + a[2]) / 2)
    np.testing.assert_allclose(P[[5, 6, 7]], [0, a[1] / 2, a[3] / 2])


def test_a_gate_at_its_ends_is_a_decoder_or_a_pointer():
    _, z, P = copied(800.0)
    np.testing.assert_allclose(P[:5], mg.softmax(Tensor(z)).data)
    a, _, P = copied(-800.0, source=np.array([6, 0, 3, 7]))
    np.testing.assert_allclose(P[[6, 0, 3, 7]], a)


def test_a_word_to_copy_has_a_finite_loss_where_the_model_is_sure_to_write():
    """In float32 1 - sigmoid(30) is 0, and sigmoid(-30) is not."""
    a, z = np.array([0.1, 0.2, 0.3, 0.4], np.float32), draw((5,))[0]
    z, r = z.astype(np.float32), Tensor(np.array(30, np.float32), requires_grad=True)
    loss = A.copy_loss(z, a, r, SOURCE, 6)
    loss.backward()
    assert loss.data.dtype == np.float32
    np.testing.assert_allclose(loss.data, 30 - np.log(0.2), rtol=1e-5)
    np.testing.assert_allclose(r.grad, 1)
    P = A.copy_probabilities(z, a, r, SOURCE, 8).data
    np.testing.assert_allclose(-np.log(P[6]), loss.data, rtol=1e-5)


def test_the_gradient_of_scores_is_cross_entropy_in_proportion_to_the_credit():
    e = Tensor(rng(0).normal(size=4), requires_grad=True)
    z, r = draw((5,), ())
    A.copy_loss(z, mg.softmax(e), r, SOURCE, 1).backward()
    a, gate = mg.softmax(e).data, 1 / (1 + np.exp(-r))
    P = A.copy_probabilities(z, a, r, SOURCE, 8).data
    rho = (1 - gate) * a * (SOURCE == 1) / P[1]
    pi = 1 - rho.sum()
    np.testing.assert_allclose(e.grad, (1 - pi) * a - rho, **CLOSE)


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


@pytest.mark.parametrize("word", [-1, 8])
def test_a_source_word_without_a_probability_is_refused(word):
    source = np.array([1, 6, 1, word])
    with pytest.raises(ValueError, match=f"source holds {word}; expected .* 0 to 7"):
        copied(0.0, source)
    if word < 0:
        with pytest.raises(ValueError, match="copy_loss: source holds -1"):
            A.copy_loss(*draw((5,)), np.ones(4) / 4, np.array(0.0), source, 1)


def test_a_word_that_nobody_can_write_is_refused():
    message = "target 5 is neither in the vocabulary, 0 to 4, nor"
    with pytest.raises(ValueError, match=message):
        A.copy_loss(*draw((5,)), np.ones(4) / 4, np.array(0.0), SOURCE, 5)


# -- filters of past weights -----------------------------------------------------------

INPUTS = draw((2, 5, 3), (2, 7, 4), (2, 7, 6), seed=3)


def location(**options):
    return in_float64(A.LocationAttention(3, 4, 5, rng=rng(0), **options))


def same_parameters(layer, other):
    other.load_state_dict(
        {n: p.data for n, p in layer.named_parameters()
         if n in dict(other.named_parameters())}, strict=False,
    )  # fmt: skip
    return in_float64(other)


def test_filters_of_zero_give_the_additive_score():
    layer = location()
    layer.F.data = np.zeros_like(layer.F.data)
    other = same_parameters(layer, A.AdditiveAttention(3, 4, 5))
    np.testing.assert_allclose(layer(*INPUTS)[0].data, other(*INPUTS).data, **CLOSE)


def test_one_filter_of_width_1_on_the_sum_is_coverage():
    layer = location(filters=1, width=1)
    layer.F.data = np.array([[[0.0], [1.0]]])
    other = same_parameters(layer, A.CoverageAttention(3, 4, 5))
    other.w_c.data = layer.U.data[:, 0]
    for found, wanted in zip(layer(*INPUTS), other(*INPUTS)):
        np.testing.assert_allclose(found.data, wanted.data, **CLOSE)


def test_a_filter_that_shifts_walks_one_key_a_step():
    """Without content, and w_v . tanh(U f) = 50 tanh(f) with f_j = a_(j-1)."""
    layer = location(filters=1, width=3)
    for p in layer.parameters():
        p.data = np.zeros_like(p.data)
    layer.F.data[0, 0, 0], layer.U.data[0, 0], layer.w_v.data[0] = 1, 1, 50
    weights = start = np.eye(7)[[0, 2]]
    for t in range(1, 4):
        _, weights = layer.step(
            INPUTS[0][:, t], *INPUTS[1:], coverage=start, weights=weights
        )
        np.testing.assert_allclose(weights.data, np.eye(7)[[t, 2 + t]], atol=1e-8)


def test_an_even_width_has_no_middle():
    with pytest.raises(ValueError, match="width is 4; expected an odd number"):
        A.LocationAttention(3, 4, 5, width=4)


# -- monotonic stops -------------------------------------------------------------------


def stops(*shape):
    return rng(0).uniform(0.1, 0.9, shape)


def test_stopping_at_once_repeats_the_last_weights():
    before = rng(1).dirichlet(np.ones(6), 2)
    a = A.monotonic_weights(np.ones((2, 3, 6)), before).data
    np.testing.assert_allclose(a, np.broadcast_to(before[:, None], a.shape))


def test_certain_stops_are_one_hot_and_hard_stops():
    p = np.array([[0, 0, 1, 1, 0, 0], [0, 1, 0, 0, 1, 0], [1, 0, 0, 0, 0, 0.0]])
    a = A.monotonic_weights(p).data
    np.testing.assert_array_equal(a, [*np.eye(6)[[2, 4]], np.zeros(6)])
    np.testing.assert_array_equal(A.hard_stops(p).data, a)


def test_weights_of_a_step_and_what_passes_the_last_key_sum_to_1():
    p = stops(4, 6)
    a = A.monotonic_weights(p).data
    for i in range(1, 4):
        passed = [a[i - 1, k] * np.prod(1 - p[i, k:]) for k in range(6)]
        np.testing.assert_allclose(a[i].sum() + sum(passed), a[i - 1].sum())


def test_chunks_of_one_key_are_the_stops_and_all_chunks_keep_the_sum():
    a = A.monotonic_weights(stops(2, 3, 6)).data
    (u,) = draw((2, 3, 6))
    np.testing.assert_allclose(A.chunk_weights(a, u, 1).data, a)
    for width in 2, 4, 9:
        b = A.chunk_weights(a, u, width).data
        np.testing.assert_allclose(b.sum(-1), a.sum(-1))


@pytest.mark.parametrize("layer", [A.MonotonicAttention, A.MoChA])
def test_hard_stops_are_certain_and_training_has_noise(layer):
    layer, (q, k, v) = in_float64(layer(3, 4, 5, rng=rng(0))), INPUTS
    one_hot = layer(q, k, v, hard=True)[1].data
    assert set(np.unique(one_hot)) <= {0, 1} and (one_hot.sum(-1) <= 1).all()
    np.testing.assert_array_equal(layer(q, k, v, hard=True)[1].data, one_hot)
    layer.train()
    assert not np.allclose(layer(q, k, v)[1].data, layer(q, k, v)[1].data)
