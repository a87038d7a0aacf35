"""Local attention against its definition by loops; its windows; its calls."""

import math
import tracemalloc

import numpy as np
import pytest

import minigrad as mg
from attention import masks
from attention.attend import attend
from attention.layers import AdditiveAttention, DotProductAttention, GeneralAttention
from attention.variants.local import LocalAttention, gather_windows
from minigrad import Tensor, no_grad

from ...minigrad.array_cases import draw

B, L, S, Dq, Dk, Ev = 2, 4, 9, 5, 3, 6  # no two equal: a lost transpose shows
close = dict(rtol=1e-11, atol=1e-12)  # the same sums of order one, in another order


def example(seed=0, dtype=float):
    return draw((B, L, Dq), (B, S, Dk), (B, S, Ev), seed=seed, dtype=dtype)


def layer(D=2, kind="m", dtype=np.float64, seed=0, **options):
    module = LocalAttention(Dq, Dk, D, kind, rng=np.random.default_rng(seed), **options)
    for parameter in module.parameters():
        parameter.data = parameter.data.astype(dtype)
    return module


def reversal(t, length):
    return length - 1 - t


KINDS = {
    "m": dict(kind="m"),
    "m-wide": dict(kind="m", D=20),
    "m-narrow": dict(kind="m", D=0),
    "m-reversal": dict(kind="m", centre=reversal),
    "m-between": dict(kind="m", centre=lambda t, length: 0.5 + t / 2),
    "p": dict(kind="p"),
    "p-narrow": dict(kind="p", D=1),
    "p-wide": dict(kind="p", D=20),
    "p-renormalized": dict(kind="p", renormalize=True),
}

# the definition


def general(q, k, W_a):
    return sum(q[a] * W_a[a, b] * k[b] for a in range(len(q)) for b in range(len(k)))


def in_the_window(p, D, length):
    return [s for s in range(length) if p - D <= s <= p + D]


def by_loops(query, keys, values, length, p, D, score, gaussian, renormalize=False):
    """One query: align over the window, times the Gaussian, and the sum."""
    window = in_the_window(p, D, length)
    total = sum(math.exp(score(query, keys[s])) for s in window)
    weights, context = np.zeros(len(keys)), np.zeros(values.shape[1])
    for s in window:
        weights[s] = math.exp(score(query, keys[s])) / total
        if gaussian:
            weights[s] *= math.exp(-((s - p) ** 2) / (2 * (D / 2) ** 2))
    if renormalize and window:
        weights /= weights.sum()
    for s in window:
        context += weights[s] * values[s]
    return context, weights


def predicted(query, length, W_p, v_p):
    """p_t = S sigmoid(v_p . tanh(W_p q))"""
    z = sum(v_p[a] * math.tanh(W_p[a] @ query) for a in range(len(v_p)))
    return length / (1 + math.exp(-z))


def all_by_loops(module, arrays, lengths):
    """All examples and queries; lengths (B,) or (B, L)."""
    queries, keys, values = arrays
    context = np.zeros((*queries.shape[:2], values.shape[2]))
    weights = np.zeros((*queries.shape[:2], keys.shape[1]))
    W_a = module.score.W_a.data
    lengths = np.reshape(lengths, (len(queries), -1))  # (B, 1) or (B, L)
    for b, t in np.ndindex(queries.shape[:2]):
        length = int(np.broadcast_to(lengths, queries.shape[:2])[b, t])
        if module.kind == "p":
            p = predicted(queries[b, t], length, module.W_p.data, module.v_p.data)
        else:
            p = t if module.centre is None else module.centre(t, length)
        context[b, t], weights[b, t] = by_loops(
            queries[b, t], keys[b], values[b], length, p, module.D,
            lambda q, k: general(q, k, W_a), module.kind == "p", module.renormalize,
        )  # fmt: skip
    return context, weights


LENS = [None, [9, 5], [[9, 4, 1, 0], [2, 9, 3, 7]]]


@pytest.mark.parametrize("valid_lens", LENS)
@pytest.mark.parametrize("kind", KINDS)
def test_definition(kind, valid_lens):
    module, arrays = layer(**KINDS[kind]), example()
    context = module(*arrays, valid_lens)
    c, w = all_by_loops(module, arrays, [S, S] if valid_lens is None else valid_lens)
    np.testing.assert_allclose(module.attention_weights.data, w, **close)
    np.testing.assert_allclose(context.data, c, **close)
    assert (module.attention_weights.data[w == 0] == 0).all()  # exactly
    assert (context.data[(w == 0).all(-1)] == 0).all()


def mid_cell(module, queries, lengths):
    """Return whether no end of a window is near a key, where values jump."""
    W_p, v_p = module.W_p.data, module.v_p.data
    p = [
        predicted(queries[b, t], lengths[b], W_p, v_p) % 1
        for b, t in np.ndindex(queries.shape[:2])
    ]
    return 0.1 < min(p) and max(p) < 0.9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lengths", [[S, S], [9, 5]])
def test_gradients(kind, lengths):
    module, arrays = layer(**KINDS[kind]), example(seed=42)
    if module.kind == "p":  # no small step moves a key into or out of a window
        assert mid_cell(module, arrays[0], lengths)
    result = mg.gradcheck_module(
        module, *arrays, lengths, no_gradient=("score.W_a", "0", "1") * (module.D == 0)
    )
    assert result.ok, result


@pytest.mark.parametrize("score", ["dot", "concat", "additive", "scaled", "general"])
@pytest.mark.parametrize("kind", ["m", "p"])
def test_gradients_with_other_scores(kind, score):
    make = {
        "dot": lambda: "dot",
        "concat": lambda: "concat",
        "additive": lambda: AdditiveAttention(4, 4, 7, rng=np.random.default_rng(3)),
        "scaled": lambda: DotProductAttention(),
        "general": lambda: GeneralAttention(4, 4, rng=np.random.default_rng(3)),
    }[score]
    module = LocalAttention(4, 4, 2, kind, make(), rng=np.random.default_rng(0))
    arrays = draw((B, L, 4), (B, S, 4), (B, S, Ev))
    assert mg.gradcheck_module(module, *arrays, [9, 5]).ok


def test_the_centre_has_a_gradient_through_the_gaussian_only():
    """If all values are equal and weights sum to 1, no p is better than another."""
    module, (queries, keys, values) = layer(kind="p"), example()
    same = np.broadcast_to(values[:, :1], values.shape)
    for renormalize in False, True:
        module.renormalize = renormalize
        module.zero_grad()
        module(queries, keys, same).backward(draw((B, L, Ev), seed=9)[0])
        if renormalize:
            np.testing.assert_allclose(module.W_p.grad, 0, atol=1e-14)
        else:
            assert abs(module.W_p.grad).max() > 0.1


def test_weights_of_local_p_sum_to_less_than_1_unless_renormalized():
    arrays = example()
    for renormalize in False, True:
        module = layer(kind="p", renormalize=renormalize)
        module(*arrays, [9, 5])
        sums = module.attention_weights.data.sum(-1)
        if renormalize:
            np.testing.assert_allclose(sums, 1, rtol=1e-12)
        else:
            assert (sums < 0.99).all()
    module = layer()
    module(*arrays, [9, 5])
    np.testing.assert_allclose(module.attention_weights.data.sum(-1), 1, rtol=1e-12)


# windows


@pytest.mark.parametrize("kind", ["m", "m-reversal", "m-between", "m-narrow"])
def test_local_m_is_attention_with_the_mask_local(kind):
    module, (queries, keys, values) = layer(**KINDS[kind]), example()
    lengths = np.array([9, 5])
    context = module(queries, keys, values, lengths)
    centre = module.centre or (lambda t, length: t)
    p = np.broadcast_to(centre(np.arange(L), lengths[:, None]), (B, L))
    mask = masks.local(p, module.D) & masks.padding(lengths)
    dense = attend(
        queries, keys, values, module.score.score, mask=mask.dense(B, 1, L, S)[:, 0]
    )
    np.testing.assert_allclose(context.data, dense[0].data, **close)
    np.testing.assert_allclose(module.attention_weights.data, dense[1].data, **close)


def test_each_example_has_its_own_length():
    module, arrays = layer(D=0, centre=reversal), example()
    module(*arrays, [9, 5])
    np.testing.assert_array_equal(
        module.attention_weights.data[:, 0].argmax(-1), [8, 4]
    )
    module = layer(kind="p", D=1)
    module.v_p.data = np.zeros(Dq)  # sigmoid(0) = 1/2
    module(*arrays, [9, 5])
    weights = module.attention_weights.data
    np.testing.assert_array_equal(np.nonzero(weights[0, 0])[0], [4, 5])  # 4.5 -+ 1
    np.testing.assert_array_equal(np.nonzero(weights[1, 0])[0], [2, 3])  # 2.5 -+ 1


def test_windows_at_the_borders_have_fewer_keys():
    module, arrays = layer(D=2), draw((B, S, Dq), (B, S, Dk), (B, S, Ev))
    module(*arrays, [9, 4])
    counts = (module.attention_weights.data > 0).sum(-1)
    np.testing.assert_array_equal(counts[0], [3, 4, 5, 5, 5, 5, 5, 4, 3])
    np.testing.assert_array_equal(counts[1], [3, 4, 4, 3, 2, 1, 0, 0, 0])


@pytest.mark.parametrize("kind", ["m", "p"])
def test_memory_does_not_grow_with_the_source(kind):
    """Beyond the inputs it is that of the windows, (B, L, 2 D + 1)."""

    def peak(S):
        module = layer(kind=kind)
        arrays = draw((B, L, Dq), (B, S, Dk), (B, S, Ev))
        queries, keys, values = (Tensor(a) for a in arrays)
        with no_grad():
            module(queries, keys, values)  # fill caches
            tracemalloc.start()
            module(queries, keys, values)
            measured = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return measured

    few, many = peak(100), peak(100_000)
    assert many < 1.1 * few < 100_000  # one column of keys has 800 000 bytes


def test_gather_windows_gives_0_beyond_the_end_of_a_window():
    x = np.array([[np.nan], [1.0], [2.0]])
    y = gather_windows(x, np.array([1, 2, 3]), np.array([3, 3, 3]), 2).data
    np.testing.assert_array_equal(y[..., 0], [[1, 2], [2, 0], [0, 0]])


def test_gather_windows_broadcasts_leading_axes():
    (x,), first = draw((S, 2)), np.array([[1, 4], [0, 2], [6, 5]])
    leaf = Tensor(x, requires_grad=True)
    y = gather_windows(leaf, first, first + 2, 2)
    np.testing.assert_array_equal(y.data, x[first[..., None] + np.arange(2)])
    y.sum().backward()
    counts = np.bincount((first[..., None] + np.arange(2)).ravel(), minlength=S)
    np.testing.assert_array_equal(leaf.grad, np.repeat(counts[:, None], 2, 1))


# calls


@pytest.mark.parametrize("kind", ["m", "m-reversal", "p"])
def test_step_by_step_equals_one_call(kind):
    module, (queries, keys, values) = layer(**KINDS[kind]), example()
    whole = module(queries, keys, values, [9, 5])
    weights = module.attention_weights.data
    for t in range(L):
        context = module(queries[:, t : t + 1], keys, values, [9, 5], start=t)
        np.testing.assert_allclose(context.data[:, 0], whole.data[:, t], **close)
        np.testing.assert_allclose(
            module.attention_weights.data[:, 0], weights[:, t], **close
        )


@pytest.mark.parametrize("score", ["dot", "general", "concat"])
@pytest.mark.parametrize("kind", ["m", "p"])
def test_precomputed_keys(kind, score):
    module = LocalAttention(3, 3, 2, kind, score, rng=np.random.default_rng(0))
    arrays = draw((B, L, 3), (B, S, 3), (B, S, Ev))
    results = []
    for prepare in (lambda k: k, module.precompute):
        module.zero_grad()
        leaves = [Tensor(a, requires_grad=True) for a in arrays]
        q, k, v = leaves
        context = module(q, prepare(k), v, [9, 5])
        context.backward(draw((B, L, Ev), seed=9)[0])
        grads = [x.grad for x in (*leaves, *module.parameters())]
        results.append([context.data, *grads])
    for a, b in zip(*results):
        # the parameters' gradients are float32
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_leading_axes_are_examples_and_heads_and_broadcast():
    H, module = 3, layer(kind="p")
    arrays = draw((B, H, L, Dq), (B, H, S, Dk), (B, H, S, Ev))
    context = module(*arrays, [9, 5])
    assert context.shape == (B, H, L, Ev)
    assert module.attention_weights.shape == (B, H, L, S)
    for h in range(H):
        each = module(*(a[:, h] for a in arrays), [9, 5])
        np.testing.assert_allclose(each.data, context.data[:, h], **close)
    alone = module(*(a[0, 1] for a in arrays))
    np.testing.assert_allclose(alone.data, module(*arrays).data[0, 1], **close)
    queries, keys, values = arrays
    shared = module(queries, keys[0, 0], values[:, :1])
    expanded = np.broadcast_to(keys[0, 0], keys.shape)
    repeated = module(queries, expanded, np.repeat(values[:, :1], H, 1))
    np.testing.assert_allclose(shared.data, repeated.data, **close)


@pytest.mark.parametrize("kind", ["m", "p", "p-renormalized"])
def test_float32_stays_float32(kind):
    module = layer(**KINDS[kind], dtype=np.float32)
    leaves = [Tensor(a, requires_grad=True) for a in example(dtype=np.float32)]
    context = module(*leaves, [9, 5])
    assert context.dtype == module.attention_weights.dtype == np.float32
    context.backward(np.ones(context.shape))
    for leaf in (*leaves, *module.parameters()):
        assert leaf.grad.dtype == np.float32
    exact = layer(**KINDS[kind])(*(leaf.data.astype(float) for leaf in leaves), [9, 5])
    np.testing.assert_allclose(context.data, exact.data, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["m", "p"])
def test_float64_arrays_with_float32_parameters(kind):
    arrays, module = example(), layer(kind=kind, dtype=np.float32)
    exact = layer(kind=kind, dtype=np.float32)
    for parameter in exact.parameters():
        parameter.data = parameter.data.astype(float)
    np.testing.assert_allclose(module(*arrays).data, exact(*arrays).data, **close)


def test_dropout_of_the_score_in_training_only():
    score = GeneralAttention(Dq, Dk, dropout=0.5, rng=np.random.default_rng(0))
    module = LocalAttention(Dq, Dk, 3, "p", score, rng=np.random.default_rng(0))
    arrays = example(dtype=np.float32)
    first, second = (module(*arrays).data for _ in range(2))
    weights = module.attention_weights.data  # before dropout
    assert (first != second).any()
    module.eval()
    plain = module(*arrays).data
    np.testing.assert_allclose(module.attention_weights.data, weights, rtol=1e-5)
    np.testing.assert_allclose(weights @ arrays[2], plain, rtol=1e-5, atol=1e-6)
    assert (first != plain).any()


@pytest.mark.parametrize("kind", ["m", "p"])
@pytest.mark.parametrize("b, n_queries, n_keys", [(0, L, S), (B, 0, S), (B, L, 0)])
def test_no_examples_queries_or_keys(kind, b, n_queries, n_keys):
    module = layer(kind=kind)
    arrays = draw((b, n_queries, Dq), (b, n_keys, Dk), (b, n_keys, Ev))
    leaves = [Tensor(a, requires_grad=True) for a in arrays]
    context = module(*leaves, np.zeros(b, int))
    assert module.attention_weights.shape == (b, n_queries, n_keys)
    assert context.shape == (b, n_queries, Ev) and (context.data == 0).all()
    context.backward(np.ones(context.shape))
    assert all((leaf.grad == 0).all() for leaf in leaves)


def test_parameters_and_representation():
    one, other, arrays = layer(kind="p"), layer(kind="p", seed=1), example()
    names = {n: p.shape for n, p in one.named_parameters()}
    assert names == {"score.W_a": (Dq, Dk), "W_p": (Dq, Dq), "v_p": (Dq,)}
    assert [n for n, _ in layer().named_parameters()] == ["score.W_a"]
    assert one.attention_weights is None
    assert (one(*arrays).data != other(*arrays).data).any()
    other.load_state_dict(one.state_dict())
    np.testing.assert_allclose(one(*arrays).data, other(*arrays).data, **close)
    assert repr(layer(kind="p", renormalize=True)) == (
        "LocalAttention(\n  D=2, kind='p', renormalize=True\n"
        "  (score): LuongAttention('general', 5, 3, dropout=0.0)\n)"
    )
