"""The template of attention against its definition, written as plain loops."""

import math
import warnings

import numpy as np
import pytest

import minigrad as mg
from attention.attend import attend
from attention.scores import additive, concat, dot, general, scaled_dot
from minigrad import Tensor

B, L, S, Dq, Dk, A, Ev = 2, 3, 5, 7, 4, 6, 11  # no two alike: a lost transpose shows


def draw(*shapes, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def bound(kind, parameters):
    """The score as ``attend`` wants it: a function of query and keys alone."""
    function = {
        "dot": dot, "scaled": scaled_dot, "general": general, "additive": additive
    }[kind]  # fmt: skip
    return lambda q, k: function(q, k, *parameters)


DEFINITIONS = {  # of one query vector and one key vector
    "dot": lambda q, k: sum(q[d] * k[d] for d in range(len(q))),
    "scaled": lambda q, k: sum(q[d] * k[d] for d in range(len(q))) / math.sqrt(len(q)),
    "general": lambda q, k, W_a: sum(
        q[d] * W_a[d, e] * k[e] for d in range(len(q)) for e in range(len(k))
    ),
    "additive": lambda q, k, W_q, W_k, w_v: sum(
        w_v[a] * math.tanh(W_q[a] @ q + W_k[a] @ k) for a in range(len(w_v))
    ),
}
PARAMETERS = {
    "dot": [],
    "scaled": [],
    "general": [(Dq, Dk)],
    "additive": [(A, Dq), (A, Dk), (A,)],
}
KINDS = list(DEFINITIONS)


def example(kind, seed=0):
    """Arrays query, keys, values, and the parameters of the score."""
    width = Dq if kind in ("dot", "scaled") else Dk
    shapes = [(B, L, Dq), (B, S, width), (B, S, Ev), *PARAMETERS[kind]]
    query, keys, values, *parameters = draw(*shapes, seed=seed)
    return query, keys, values, parameters


def by_loops(score, query, keys, values, allowed, bias=None, temperature=1.0):
    """The definition: a sum over the allowed keys, for each example and each query."""
    context = np.zeros((*query.shape[:2], values.shape[2]))
    weights = np.zeros((*query.shape[:2], keys.shape[1]))
    for b in range(query.shape[0]):
        for i in range(query.shape[1]):
            js = [j for j in range(keys.shape[1]) if allowed[b, i, j]]
            s = {j: score(query[b, i], keys[b, j]) for j in js}
            if bias is not None:
                s = {j: s[j] + bias[b, i, j] for j in js}
            total = sum(math.exp(s[j] / temperature) for j in js)
            for j in js:
                weights[b, i, j] = math.exp(s[j] / temperature) / total
                context[b, i] += weights[b, i, j] * values[b, j]
    return context, weights


def lens_as_mask(valid_lens):
    lens = np.asarray(valid_lens)
    lens = lens[:, None] if lens.ndim == 1 else lens
    return np.broadcast_to(np.arange(S) < lens[..., None], (B, L, S))


LENS = [None, [2, 5], [[1, 3, 5], [4, 0, 2]]]  # the second example has an empty row


# Values: the same sums in another order, so a few rounding errors of numbers near 1.
close = dict(rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("valid_lens", LENS)
def test_the_template_is_its_definition(kind, valid_lens):
    query, keys, values, parameters = example(kind)
    context, weights = attend(
        query, keys, values, bound(kind, parameters), valid_lens=valid_lens
    )
    allowed = lens_as_mask([S, S] if valid_lens is None else valid_lens)
    c, w = by_loops(
        lambda q, k: DEFINITIONS[kind](q, k, *parameters), query, keys, values, allowed
    )
    np.testing.assert_allclose(weights.data, w, **close)
    np.testing.assert_allclose(context.data, c, **close)
    assert (weights.data[~allowed] == 0).all()  # exactly
    empty = ~allowed.any(-1)
    assert (context.data[empty] == 0).all()
    np.testing.assert_allclose(weights.data.sum(-1), np.where(empty, 0, 1), **close)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("valid_lens", LENS)
def test_gradients_into_query_keys_values_and_parameters(kind, valid_lens):
    *inputs, parameters = example(kind)

    def context(query, keys, values, *parameters):
        score = bound(kind, parameters)
        return attend(query, keys, values, score, valid_lens=valid_lens)[0]

    assert mg.gradcheck(context, [*inputs, *parameters]).ok


def test_the_weights_have_gradients_too():
    query, keys, values, _ = example("scaled")

    def weights(query, keys):
        return attend(query, keys, values, valid_lens=[2, 5], temperature=0.5)[1]

    assert mg.gradcheck(weights, [query, keys]).ok


def test_self_attention_sums_the_gradients_of_its_three_roles():
    (x,) = draw((B, S, 4))
    assert mg.gradcheck(lambda x: attend(x, x, x, valid_lens=[3, 5])[0], [x]).ok
    shared = Tensor(x, requires_grad=True)
    roles = [Tensor(x, requires_grad=True) for _ in range(3)]
    g = draw((B, S, 4), seed=1)[0]
    attend(shared, shared, shared)[0].backward(g)
    attend(*roles)[0].backward(g)
    np.testing.assert_allclose(shared.grad, sum(r.grad for r in roles), **close)


def test_bias_mask_and_temperature_as_defined():
    query, keys, values, _ = example("dot")
    (bias,) = draw((B, L, S), seed=1)
    mask = np.random.default_rng(2).random((B, L, S)) < 0.6
    bias[0, 0] += np.where(mask[0, 0], 0, 50)  # the bias cannot unmask: it comes before
    context, weights = attend(
        query, keys, values, "dot", mask=mask, bias=bias, temperature=1.7
    )
    c, w = by_loops(DEFINITIONS["dot"], query, keys, values, mask, bias, 1.7)
    np.testing.assert_allclose(weights.data, w, **close)
    np.testing.assert_allclose(context.data, c, **close)


def test_gradients_into_a_bias_that_is_broadcast():
    query, keys, values, _ = example("dot")
    (bias,) = draw((L, 1), seed=1)  # one number for each query changes no weight
    leaf = Tensor(bias, requires_grad=True)
    attend(query, keys, values, bias=leaf)[0].backward(draw((B, L, Ev))[0])
    assert leaf.grad.shape == (L, 1)
    np.testing.assert_allclose(leaf.grad, 0, atol=1e-14)  # sums of numbers near 1

    (bias,) = draw((L, S), seed=1)  # shared by the examples

    def context(query, bias):
        return attend(query, keys, values, bias=bias, valid_lens=[2, 5])[0]

    assert mg.gradcheck(context, [query, bias]).ok


@pytest.mark.parametrize("valid_lens", LENS[1:])
def test_valid_lens_and_the_mask_that_says_the_same(valid_lens):
    query, keys, values, _ = example("scaled")
    by_lens = attend(query, keys, values, valid_lens=valid_lens)
    by_mask = attend(query, keys, values, mask=lens_as_mask(valid_lens))
    for a, b in zip(by_lens, by_mask):
        np.testing.assert_array_equal(a.data, b.data)


def test_mask_and_valid_lens_both_hold():
    query, keys, values, _ = example("scaled")
    mask = np.tril(np.ones((L, S), bool))
    _, weights = attend(query, keys, values, mask=mask, valid_lens=[2, 5])
    np.testing.assert_array_equal(weights.data > 0, mask & lens_as_mask([2, 5]))


def test_a_float_mask_is_added():
    query, keys, values, _ = example("scaled")
    (mask,) = draw((L, S), seed=1)
    by_mask = attend(query, keys, values, mask=mask)
    by_bias = attend(query, keys, values, bias=mask)
    for a, b in zip(by_mask, by_bias):
        np.testing.assert_allclose(a.data, b.data, **close)


@pytest.mark.parametrize("kind", KINDS)
def test_permuting_keys_and_values_together_changes_nothing(kind):
    query, keys, values, parameters = example(kind)
    score, p = bound(kind, parameters), [3, 0, 4, 2, 1]
    context, weights = attend(query, keys, values, score)
    permuted, moved = attend(query, keys[:, p], values[:, p], score)
    np.testing.assert_allclose(permuted.data, context.data, **close)
    np.testing.assert_allclose(moved.data, weights.data[..., p], **close)
    assert (
        np.abs(attend(query, keys[:, p], values, score)[0].data - context.data).max()
        > 0.1
    )


def run(kind, query, keys, values, parameters, **masking):
    """Context, weights, and the gradients into everything, for a fixed cotangent."""
    leaves = [Tensor(a, requires_grad=True) for a in (query, keys, values, *parameters)]
    context, weights = attend(*leaves[:3], bound(kind, leaves[3:]), **masking)
    context.backward(draw(context.shape, seed=9)[0])
    return [context.data, weights.data, *(leaf.grad for leaf in leaves)]


MASKINGS = {
    "lens": {"valid_lens": [2, 5]},
    "lens for each query": {"valid_lens": [[1, 0, 2], [4, 5, 2]]},
    "mask": {"mask": lens_as_mask([2, 5])},
    "mask for all queries": {"mask": lens_as_mask([2, 5])[:, :1]},
    "float mask": {"mask": np.where(lens_as_mask([2, 5]), 0.0, -np.inf)},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("masking", MASKINGS)
@pytest.mark.parametrize("junk", [1e6, np.nan, np.inf, -np.inf])
def test_padding_has_no_influence_whatever_stands_in_it(kind, masking, junk):
    """Outputs and gradients are the same to the bit, and nothing warns."""
    query, keys, values, parameters = example(kind)
    masking = MASKINGS[masking]
    before = run(kind, query, keys, values, parameters, **masking)
    for array in (keys, values):
        array[0, 2:] = junk  # no query of example 0 may attend to these
    if "valid_lens" in masking and masking["valid_lens"][0] == [1, 0, 2]:
        query[0, 1] = junk  # may attend to nothing
    with warnings.catch_warnings(), np.errstate(over="ignore"):
        warnings.simplefilter("error")
        after = run(kind, query, keys, values, parameters, **masking)
    for a, b in zip(before, after):
        np.testing.assert_array_equal(a, b)
    dkeys, dvalues = after[3:5]
    assert (dkeys[0, 2:] == 0).all() and (dvalues[0, 2:] == 0).all()
    assert (dkeys[0, :2] != 0).any() and (dvalues[0, :2] != 0).any()


@pytest.mark.parametrize("which", ["query", "keys", "values"])
def test_padding_is_found_in_each_of_the_three(which):
    query, keys, values, _ = example("scaled")
    lens = {"valid_lens": [[2, 0, 1], [5, 4, 5]]}
    before = run("scaled", query, keys, values, [], **lens)
    if which == "query":
        query[0, 1] = np.nan  # may attend to nothing
    else:
        {"keys": keys, "values": values}[which][0, 2:] = np.nan
    for a, b in zip(before, run("scaled", query, keys, values, [], **lens)):
        np.testing.assert_array_equal(a, b)


def test_what_may_be_attended_to_is_never_cleaned():
    """A NaN that belongs to the sum is no padding: it has to be seen."""
    query, keys, values, _ = example("scaled")
    values[0, 1] = np.nan
    context, weights = attend(query, keys, values, valid_lens=[2, 5])
    assert np.isnan(context.data[0]).all() and np.isfinite(context.data[1]).all()
    assert np.isfinite(weights.data).all()


def test_padding_of_shared_keys_is_that_of_each_example():
    """Keys without a batch axis: padding for one example need not be for another."""
    query, keys, values, _ = example("scaled")
    keys, values = keys[0], values[0]
    keys[4:] = values[4:] = np.nan
    context, weights = attend(query, keys, values, valid_lens=[2, 4])
    clean, _ = attend(query, keys[:4], values[:4], valid_lens=[2, 4])
    np.testing.assert_allclose(context.data, clean.data, **close)
    assert (weights.data[..., 4] == 0).all()


def test_a_row_with_nothing_to_attend_to_is_zero_in_value_and_gradient():
    query, keys, values, _ = example("scaled")
    results = run("scaled", query, keys, values, [], valid_lens=[0, 5])
    for array in results:
        assert (
            (array[0] == 0).all() and np.isfinite(array).all() and (array[1] != 0).any()
        )


def test_the_shapes_of_the_page():
    """Scoring functions, the two demos: a batch of two with one query each."""
    queries, keys, values = draw((2, 1, 2), (2, 10, 2), (2, 10, 4))
    context, weights = attend(queries, keys, values, valid_lens=np.array([2, 6]))
    assert context.shape == (2, 1, 4) and weights.shape == (2, 1, 10)
    np.testing.assert_array_equal((weights.data > 0).sum(-1), [[2], [6]])
    W_q, W_k, w_v = draw((8, 20), (8, 2), (8,))
    context, weights = attend(
        draw((2, 1, 20))[0],
        keys,
        values,
        lambda q, k: additive(q, k, W_q, W_k, w_v),
        valid_lens=np.array([2, 6]),
    )
    assert context.shape == (2, 1, 4) and weights.shape == (2, 1, 10)
    np.testing.assert_array_equal((weights.data > 0).sum(-1), [[2], [6]])


def test_the_worked_example_of_chapter_38_1():
    s, h = np.array([[1.0, -0.5, 0.3, 0.8]]), np.array([[0.6, 0.2, -0.4, 1.0]])
    np.testing.assert_allclose(dot(s, h).data, [[1.18]], rtol=1e-12)
    np.testing.assert_allclose(scaled_dot(s, h).data, [[0.59]], rtol=1e-12)
    context, weights = attend(s, h, h)
    np.testing.assert_array_equal(weights.data, [[1]])  # of a single key
    np.testing.assert_array_equal(context.data, h)


def test_the_worked_example_of_chapter_6_2_5_corrected():
    """The chapter prints e = (.458, .121, .512, .389); from its own projections it is
    (.457, .127, .047, .443), so that the token it ranks first is in truth the last."""
    W_s_s = np.array([[0.3, -0.1, 0.5, 0.2]])
    W_h_h = np.array(
        [
            [0.4, 0.2, -0.3, 0.6],
            [-0.2, 0.5, 0.3, -0.1],
            [0.7, -0.3, 0.4, 0.2],
            [0.1, 0.4, -0.2, 0.5],
        ]
    )
    v, one = np.array([0.3, 0.5, -0.2, 0.4]), np.eye(4)  # they are projected already

    def score(q, k):
        return additive(q, k, one, one, v)

    np.testing.assert_array_equal(
        score(Tensor(W_s_s), Tensor(W_h_h)).data.round(3),
        [[0.457, 0.127, 0.047, 0.443]],
    )
    context, weights = attend(W_s_s, W_h_h, np.eye(4), score)
    np.testing.assert_array_equal(weights.data.round(3), [[0.297, 0.213, 0.197, 0.293]])
    np.testing.assert_allclose(context.data, weights.data, rtol=1e-15)


def test_additive_is_concat_with_its_matrix_sliced():
    query, keys, values, _ = example("additive")
    W_a, v_a = draw((A, Dq + Dk), (A,), seed=1)
    got = []
    for score in (
        lambda q, k, W, v: concat(q, k, W, v),
        lambda q, k, W, v: additive(q, k, W[:, :Dq], W[:, Dq:], v),
    ):
        leaves = [
            Tensor(a, requires_grad=True) for a in (query, keys, values, W_a, v_a)
        ]
        q, k, x, W, v = leaves
        context, _ = attend(q, k, x, lambda q, k: score(q, k, W, v), valid_lens=[2, 5])
        context.backward(draw((B, L, Ev), seed=9)[0])
        got.append([context.data, *(leaf.grad for leaf in leaves)])
    for a, b in zip(*got):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)


def test_general_with_the_identity_is_dot():
    query, keys, values, _ = example("dot")
    by_general, _ = attend(query, keys, values, lambda q, k: general(q, k, np.eye(Dq)))
    np.testing.assert_allclose(
        by_general.data, attend(query, keys, values, "dot")[0].data, **close
    )


def test_torch_agrees():
    """In value and in every gradient, apart from the order of its sums."""
    torch = pytest.importorskip("torch")
    arrays = draw((B, 4, L, 6), (B, 4, S, 6), (B, 4, S, Ev), (B, 4, L, Ev))
    mask = np.random.default_rng(2).random((B, 1, L, S)) < 0.6
    mask[..., 0] = True  # no row is empty
    ours = [Tensor(a, requires_grad=True) for a in arrays[:3]]
    context, _ = attend(*ours, mask=mask)
    context.backward(arrays[3])
    theirs = [torch.tensor(a, requires_grad=True) for a in arrays[:3]]
    expected = torch.nn.functional.scaled_dot_product_attention(
        *theirs, attn_mask=torch.tensor(mask)
    )
    expected.backward(torch.tensor(arrays[3]))
    np.testing.assert_allclose(context.data, expected.detach().numpy(), **close)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a.grad, b.grad.numpy(), **close)


def test_names_of_scores():
    query, keys, values, _ = example("dot")
    for name, function in {"dot": dot, "scaled_dot": scaled_dot}.items():
        np.testing.assert_array_equal(
            attend(query, keys, values, name)[0].data,
            attend(query, keys, values, function)[0].data,
        )
    np.testing.assert_array_equal(
        attend(query, keys, values)[0].data,
        attend(query, keys, values, "scaled_dot")[0].data,
    )


def test_leading_axes_are_examples_and_heads():
    H = 4
    query, keys, values = draw((B, H, L, 6), (B, H, S, 6), (B, H, S, Ev))
    context, weights = attend(query, keys, values, valid_lens=[2, 5])
    assert context.shape == (B, H, L, Ev) and weights.shape == (B, H, L, S)
    for h in range(H):
        c, w = attend(query[:, h], keys[:, h], values[:, h], valid_lens=[2, 5])
        np.testing.assert_allclose(context.data[:, h], c.data, **close)
        np.testing.assert_allclose(weights.data[:, h], w.data, **close)


def test_heads_may_share_keys_and_values():
    query, keys, values = draw((B, 4, L, 6), (B, 1, S, 6), (B, 1, S, Ev))
    shared, _ = attend(query, keys, values)
    repeated, _ = attend(query, np.repeat(keys, 4, 1), np.repeat(values, 4, 1))
    np.testing.assert_allclose(shared.data, repeated.data, **close)


def test_one_example_needs_no_batch_axis():
    query, keys, values, _ = example("scaled")
    context, weights = attend(query[0], keys[0], values[0])
    batch = attend(query, keys, values)
    np.testing.assert_allclose(context.data, batch[0].data[0], **close)
    np.testing.assert_allclose(weights.data, batch[1].data[0], **close)


@pytest.mark.parametrize(
    "b, n_queries, n_keys", [(0, L, S), (B, 0, S), (B, L, 0)], ids=["B", "L", "S"]
)
def test_nothing_at_all(b, n_queries, n_keys):
    query, keys, values = draw((b, n_queries, 6), (b, n_keys, 6), (b, n_keys, Ev))
    leaves = [Tensor(a, requires_grad=True) for a in (query, keys, values)]
    context, weights = attend(*leaves, valid_lens=np.zeros(b, int))
    assert context.shape == (b, n_queries, Ev) and weights.shape == (
        b,
        n_queries,
        n_keys,
    )
    assert (context.data == 0).all()
    context.backward(np.ones(context.shape))
    assert all((leaf.grad == 0).all() for leaf in leaves)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dropout_p", [0.0, 0.5])
def test_float32_stays_float32(kind, dropout_p):
    *inputs, parameters = example(kind)
    leaves = [Tensor(a.astype(np.float32), True) for a in (*inputs, *parameters)]
    context, weights = attend(
        *leaves[:3],
        bound(kind, leaves[3:]),
        valid_lens=[2, 5],
        bias=np.zeros((L, S), np.float32),
        temperature=np.float64(2.0),
        dropout_p=dropout_p,
    )
    assert context.dtype == weights.dtype == np.float32
    context.backward(np.ones(context.shape))
    assert {leaf.grad.dtype for leaf in leaves} == {np.dtype(np.float32)}


def test_inputs_may_be_read_only_or_strided_and_are_not_changed():
    query, keys, values, _ = example("scaled")
    context, _ = attend(query, keys, values, valid_lens=[2, 5])
    strided = [np.asfortranarray(a) for a in (query, keys, values)]
    for array in strided:
        array.flags.writeable = False
    again, _ = attend(*strided, valid_lens=[2, 5])
    np.testing.assert_allclose(again.data, context.data, **close)


def test_dropout_only_in_training_and_only_on_what_the_values_see():
    query, keys, values, _ = example("scaled")
    plain, weights = attend(query, keys, values, valid_lens=[2, 5])

    def dropped(seed, **options):
        rng = np.random.default_rng(seed)
        return attend(
            query, keys, values, valid_lens=[2, 5], dropout_p=0.5, rng=rng, **options
        )

    context, before = dropped(0)
    np.testing.assert_array_equal(
        before.data, weights.data
    )  # before dropout: sums of 1
    assert (context.data != plain.data).any()
    np.testing.assert_array_equal(
        dropped(0)[0].data, context.data
    )  # the generator rules
    assert (dropped(1)[0].data != context.data).any()
    np.testing.assert_array_equal(dropped(0, training=False)[0].data, plain.data)


def test_dropout_without_a_generator_follows_manual_seed():
    query, keys, values, _ = example("scaled")
    contexts = []
    for _ in range(2):
        mg.manual_seed(3)
        contexts.append(attend(query, keys, values, dropout_p=0.5)[0].data)
    np.testing.assert_array_equal(*contexts)


def test_dropout_keeps_the_mean():
    """n contexts of values 1 under uniform weights 1/S: each is a mean of S variables
    of mean 1 and variance p / (1 - p), so their mean is 1 with a deviation of sigma."""
    n, p = 20_000, 0.25
    zeros, ones = np.zeros((n, 2)), np.ones((S, 1))
    context, weights = attend(
        zeros, ones @ [[1.0, 1.0]], ones, dropout_p=p, rng=np.random.default_rng(0)
    )
    np.testing.assert_allclose(weights.data, 1 / S)
    sigma = math.sqrt(p / (1 - p) / S / n)
    assert abs(context.data.mean() - 1) < 4 * sigma
    kept = context.data * S * (1 - p)  # how many of the S weights were kept
    np.testing.assert_allclose(kept, kept.round(), atol=1e-12)
    assert set(kept.round().ravel()) == set(range(S + 1))


def test_gradients_with_dropout():
    query, keys, values, _ = example("scaled")

    def context(query, keys, values):
        rng = np.random.default_rng(
            5
        )  # anew in each call: the same weights are dropped
        return attend(query, keys, values, valid_lens=[2, 5], dropout_p=0.4, rng=rng)[0]

    assert mg.gradcheck(context, [query, keys, values]).ok


def ok():
    return dict(
        zip(("query", "keys", "values"), draw((B, L, 6), (B, S, 6), (B, S, Ev)))
    )


BAD = [
    (
        {"query": np.zeros((B, L, 6), int)},
        TypeError,
        "attend: query is int64; expected floating-point numbers. Write 1.0 for 1, or "
        "use .astype(np.float32).",
    ),
    (
        {"keys": np.zeros(6)},
        ValueError,
        "attend: keys has shape (6,); expected (..., S, Dk). A single vector x is "
        "x[None, :], one row.",
    ),
    (
        {"values": np.zeros((B, 3, Ev))},
        ValueError,
        "attend: keys has shape (2, 5, 6) and values has shape (2, 3, 11); expected "
        "(..., S, Dk) and (..., S, Ev), one value for each key.",
    ),
    (
        {"values": np.zeros((3, S, Ev))},
        ValueError,
        "attend: query (2, 3, 6), keys (2, 5, 6) and values (3, 5, 11) differ before "
        "their last two axes; expected the same leading axes (batch, heads), or 1, or "
        "none.",
    ),
    (
        {"score": "additive"},
        TypeError,
        "attend: score is 'additive'; expected a function (query, keys) -> scores, or "
        "one of the names 'dot', 'scaled_dot'. A score with parameters is a function "
        "that binds them: lambda q, k: general(q, k, W_a).",
    ),
    (
        {"score": lambda q, k: k @ q.swapaxes(-1, -2)},
        ValueError,
        "attend: score gave shape (2, 5, 3); expected a Tensor of shape (2, 3, 5), a "
        "number for each query of (2, 3, 6) and each key of (2, 5, 6).",
    ),
    (
        {"score": lambda q, k: q.data @ k.data.swapaxes(-1, -2)},
        ValueError,
        "attend: score gave a ndarray; expected a Tensor of shape (2, 3, 5), a number "
        "for each query of (2, 3, 6) and each key of (2, 5, 6).",
    ),
    (
        {"bias": np.ones((L, S), bool)},
        TypeError,
        "attend: bias is bool; expected floating-point numbers, which are added to the "
        "scores. What may attend to what is a boolean mask=.",
    ),
    (
        {"bias": np.zeros((4, B, L, S))},
        ValueError,
        "attend: bias has shape (4, 2, 3, 5); expected one that broadcasts to the "
        "scores, (2, 3, 5).",
    ),
    (
        {"bias": np.zeros(L)},
        ValueError,
        "attend: bias has shape (3,); expected one that broadcasts to the scores, "
        "(2, 3, 5).",
    ),
    (
        {"dropout_p": 1.5, "training": False},
        ValueError,
        "dropout: p is a probability, from 0 to 1, not 1.5.",
    ),
]


@pytest.mark.parametrize("change, kind, message", BAD)
def test_messages(change, kind, message):
    with pytest.raises(kind) as error:
        attend(**{**ok(), **change})
    assert str(error.value) == message


@pytest.mark.parametrize(
    "change, kind, names",
    [
        ({"mask": np.ones((L, S), int)}, TypeError, ["mask", "int64"]),
        ({"mask": np.ones((L, 4), bool)}, ValueError, ["mask", "(3, 4)", "(2, 3, 5)"]),
        ({"valid_lens": [2, 6]}, ValueError, ["valid_lens", "6", "5"]),
        ({"valid_lens": [2, 5, 1]}, ValueError, ["valid_lens", "(3,)"]),
        ({"keys": np.zeros((B, S, 4))}, ValueError, ["(2, 3, 6)", "(2, 5, 4)"]),
        ({"temperature": 0.0}, ValueError, ["temperature"]),
    ],
)
def test_what_the_parts_refuse_the_template_refuses(change, kind, names):
    with pytest.raises(kind) as error:
        attend(**{**ok(), **change})
    assert all(name in str(error.value) for name in names), str(error.value)
