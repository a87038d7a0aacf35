"""Graphs, sets and memories: laws that the definitions do not state."""

import numpy as np
import pytest

import attention as A
from minigrad import Tensor

from ...minigrad.array_cases import draw

rng = np.random.default_rng
CLOSE = dict(rtol=1e-10, atol=1e-12)


def in_float64(layer):
    for p in layer.parameters():
        p.data = p.data.astype(float)
    return layer


# -- graphs ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_all_nodes_of_gat_prefer_the_same_neighbour(seed):
    gat, v2 = (in_float64(L(4, 5, 3, rng=rng(seed))) for L in (A.GAT, A.GATv2))
    (h,) = draw((7, 4), seed=seed)
    for p in [*gat.parameters(), *v2.parameters()]:
        p.data = rng(seed).normal(size=p.shape)
    gat(h), v2(h)
    best = gat.attention_weights.data.argmax(-1)  # (H, n)
    assert (best == best[:, :1]).all()
    best = v2.attention_weights.data.argmax(-1)
    assert (best != best[:, :1]).any()


LAYERS = pytest.mark.parametrize("layer", [A.GAT, A.GATv2])


@LAYERS
def test_renumbering_the_nodes_renumbers_the_output(layer):
    layer, order = in_float64(layer(4, 5, 2, rng=rng(0))), rng(1).permutation(6)
    (h,), edges = draw((6, 4)), rng(2).random((6, 6)) < 0.6
    found = layer(h[order], edges[order][:, order])
    np.testing.assert_allclose(found.data, layer(h, edges).data[order], **CLOSE)


@LAYERS
def test_no_gradient_crosses_to_another_part_of_the_graph(layer):
    layer, part = in_float64(layer(4, 5, 2, rng=rng(0))), np.arange(6) < 2
    h = Tensor(*draw((6, 4)), requires_grad=True)
    out = layer(h, part[:, None] == part)
    (out[:2] ** 2).sum().backward()
    assert h.grad[:2].all() and not h.grad[2:].any()


@LAYERS
def test_a_node_without_neighbours_gets_0(layer):
    edges = np.eye(3, dtype=bool)
    edges[1, 1] = False
    out = layer(4, 5, rng=rng(0))(np.ones((3, 4), np.float32), edges)
    assert not out.data[1].any() and out.data[0].any()


def test_gatv2_on_a_complete_graph_is_additive_attention_but_for_its_tanh(monkeypatch):
    layer = in_float64(A.GATv2(4, 5, rng=rng(0)))
    (h,) = draw((6, 4))
    x, y = (h @ W.weight.data.T for W in (layer.W_l, layer.W_r))
    additive = A.scores.tanh_scores(x, y, layer.a.data[0]).data
    leaky = A.leaky_scores(x, y, layer.a.data[0], slope=1.0).data
    np.testing.assert_allclose(
        leaky, (x @ layer.a.data[0])[:, None] + y @ layer.a.data[0]
    )
    small = A.scores.tanh_scores(1e-4 * x, 1e-4 * y, layer.a.data[0]).data
    np.testing.assert_allclose(small, 1e-4 * leaky, rtol=1e-5, atol=1e-11)
    assert np.abs(additive - leaky).max() > 0.1


# -- sets ------------------------------------------------------------------------------


def test_pooling_does_not_depend_on_the_order_and_reading_follows_it():
    (x,), order = draw((2, 7, 8)), rng(1).permutation(7)
    pma, isab = (in_float64(L(8, 2, 3, rng=rng(0))) for L in (A.PMA, A.ISAB))
    perceiver = in_float64(A.Perceiver(8, 2, 3, 2, rng=rng(0)))
    for pool in pma, perceiver:
        np.testing.assert_allclose(pool(x[:, order]).data, pool(x).data, **CLOSE)
    np.testing.assert_allclose(isab(x[:, order]).data, isab(x).data[:, order], **CLOSE)


def test_equal_seeds_get_equal_gradients_and_stay_equal():
    pma, (x,) = in_float64(A.PMA(8, 2, 3, rng=rng(0))), draw((4, 7, 8))
    pma.seeds.data[1] = pma.seeds.data[0]
    (pma(x) ** 3).sum().backward()
    np.testing.assert_allclose(pma.seeds.grad[0], pma.seeds.grad[1])
    assert np.abs(pma.seeds.grad[0] - pma.seeds.grad[2]).max() > 1e-3


def test_the_map_of_a_head_of_isab_has_rank_m():
    """Each half has n x m weights, so their product has rank m or less."""
    isab, (x,) = in_float64(A.ISAB(8, 2, 3, rng=rng(0))), draw((1, 9, 8))
    halves = []
    for mab in isab.collect, isab.read:
        plain = mab.attention.forward

        def forward(*args, plain=plain, **options):
            out, weights = plain(*args, need_weights=True, **options)
            halves.append(weights.data[0])
            return out

        mab.attention.forward = forward
    isab(x)
    first, second = halves  # (H, m, n), (H, n, m)
    assert np.linalg.matrix_rank(second @ first).tolist() == [3, 3]


# -- hops and addresses ----------------------------------------------------------------


def test_hops_with_certain_weights_compose_two_maps():
    """Keys e_j and values e_map(j): each hop follows the pointer of a place."""
    follow = np.array([3, 0, 1, 4, 2])
    m, c = 50 * np.eye(5), np.eye(5)[follow]
    u, weights = A.hops(np.eye(5), m, c, hops=2, add=False)
    np.testing.assert_allclose(u.data, np.eye(5)[follow[follow]], atol=1e-10)
    assert weights.shape == (5, 2, 5)
    np.testing.assert_array_equal(weights.data[:, 1].argmax(-1), follow)


def test_a_hop_with_equal_keys_and_values_is_a_soft_lookup():
    u, m = draw((3, 4), (6, 4))
    found, _ = A.hops(u, m, m)
    wanted, _ = A.attend(u, m, m, A.dot)
    np.testing.assert_allclose(found.data, u + wanted.data, **CLOSE)
    half, _ = A.hops(u, m, m, np.eye(4) / 2)
    np.testing.assert_allclose(half.data, u / 2 + wanted.data, **CLOSE)


def addressed(**changes):
    key, memory = draw((4,), (6, 4))
    numbers = dict(last=np.eye(6)[5], beta=1.0, gate=0.0, shift=np.eye(3)[1], gamma=1.0)
    numbers = {n: np.asarray(x) for n, x in (numbers | changes).items()}
    return A.address(key, memory, **numbers).data


def test_a_shift_moves_one_place_around_the_end():
    np.testing.assert_array_equal(addressed(), np.eye(6)[5])
    np.testing.assert_array_equal(addressed(shift=np.eye(3)[2]), np.eye(6)[0])
    np.testing.assert_array_equal(addressed(shift=np.eye(3)[0]), np.eye(6)[4])


def test_a_gate_of_1_finds_by_content():
    key, memory = draw((4,), (6, 4))
    cosine = memory @ key / np.linalg.norm(memory, axis=1) / np.linalg.norm(key)
    found = addressed(gate=1.0, beta=200.0)
    assert found.argmax() == cosine.argmax() and found.max() > 0.9


def test_sharpening_undoes_a_blur():
    blurred = addressed(shift=np.array([0.1, 0.8, 0.1]))
    np.testing.assert_allclose(np.sort(blurred)[-3:], [0.1, 0.1, 0.8])
    sharp = addressed(shift=np.array([0.1, 0.8, 0.1]), gamma=20.0)
    np.testing.assert_allclose(sharp, np.eye(6)[5], atol=1e-15)
    assert not A.sharpen(Tensor(np.zeros(3)), np.array(2.0)).data.any()


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


# -- beside PyTorch --------------------------------------------------------------------
