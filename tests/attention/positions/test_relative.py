"""Relative positions equal their definitions: biases, buckets, and whole scores."""

import numpy as np
import pytest

from attention import definitions
from attention.positions import (
    FIRE,
    KERPLE,
    OffsetBias,
    T5RelativeBias,
    alibi_by_offset,
    alibi_slopes,
    disentangled_scores,
    shaw_scores,
    t5_bucket,
    transformer_xl_distances,
    transformer_xl_scores,
)
from attention.template import attend
from minigrad import Tensor

from ...memory import peak_bytes
from ...minigrad.array_cases import draw
from ..definition_cases import batched, check

SIZES = [(5, 7), (7, 5), (5, 5), (1, 7), (7, 1), (1, 1)]
every_size = pytest.mark.parametrize("L, S", SIZES)
both_alignments = pytest.mark.parametrize("align", ["first", "last"])
D = 3


def after_zeros(x, n):
    """Return x (m, D) as the last rows of an array (n, D)."""
    return np.concatenate([np.zeros((n - len(x), x.shape[1])), x])


def first_of(L, S, align):
    """Return the position of the first query, where the first or the last are equal."""
    return 0 if align == "first" else S - L


def aligned(definition, align):
    """Return a definition in which the last query has the position of the last key.

    So queries and keys are the last ones of n = max(L, S) positions.
    """
    if align == "first":
        return definition

    def scores(q, k, *tables):
        n = max(len(q), len(k))
        s = definition(after_zeros(q, n), after_zeros(k, n), *tables)
        return s[n - len(q) :, n - len(k) :]

    return scores


# -- biases ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bidirectional, num_buckets, max_distance",
    [(True, 32, 128), (False, 32, 128), (False, 9, 128), (True, 4, 2), (False, 2, 5)]
    + [(True, 19, 10), (False, 19, 256)],
)
def test_buckets_by_their_formula(bidirectional, num_buckets, max_distance):
    """(False, 9, 128) has whole quotients at which float64 logarithms fall short."""
    sizes = bidirectional, num_buckets, max_distance
    expected = [definitions.t5_bucket(offset, *sizes) for offset in range(-300, 301)]
    assert t5_bucket(np.arange(-300, 301), *sizes).tolist() == expected


def test_the_known_buckets():
    both = {0: 0, -1: 1, -7: 7, -8: 8, -11: 8, -12: 9, -15: 9, -16: 10, -32: 12,
            -64: 14, -128: 15, -10**6: 15, 1: 17, 7: 23, 8: 24, 11: 24, 16: 26,
            64: 30, 128: 31, 10**6: 31}  # fmt: skip
    past = {10**6: 0, 1: 0, 0: 0, -1: 1, -15: 15, -16: 16, -18: 16, -19: 17, -20: 17,
            -21: 18, -32: 21, -64: 26, -112: 30, -113: 31, -(10**6): 31}  # fmt: skip
    assert {r: int(t5_bucket(r)) for r in both} == both
    assert t5_bucket(np.array(list(past)), False).tolist() == list(past.values())


def test_buckets_of_any_integers():
    for dtype, least in (np.int8, -128), (np.uint8, 3), (np.uint64, 3):
        rel = np.array([[127, least], [0, 1]])  # negatives of the dtype overflow
        for bidirectional in (True, False):
            found = t5_bucket(rel.astype(dtype), bidirectional)
            np.testing.assert_array_equal(found, t5_bucket(rel, bidirectional))
    assert t5_bucket(np.zeros((0, 3), int)).shape == (0, 3)


def test_attend_adds_the_matrix_of_a_bias_by_offset():
    q, k, v = draw((2, 3, 4), (2, 5, 4), (2, 5, 6), dtype="f")
    bias = OffsetBias(draw((2, 7))[0])  # float64; the result has the dtype of the query
    found = attend(q, k, v, bias=bias)
    wanted = attend(q, k, v, bias=bias.matrix(3, 5).data.astype("f"))
    for x, y in zip(found, wanted):
        assert x.dtype == np.float32
        np.testing.assert_array_equal(x.data, y.data)
    assert repr(bias) == "OffsetBias of values (2, 7); .matrix(L, S) is the array"


def test_the_known_slopes():
    two = {1: [-8], 2: [-4, -8], 4: [-2, -4, -6, -8], 8: range(-1, -9, -1)}
    two[6] = [-2, -4, -6, -8, -1, -3]
    for H, exponents in two.items():
        assert alibi_slopes(H).tolist() == [np.float32(2.0**a) for a in exponents]
    rest = [0.7071, 0.3536, 0.1768, 0.0884]
    np.testing.assert_allclose(alibi_slopes(12)[8:], rest, atol=5e-5)


@pytest.mark.parametrize("H", [*range(1, 18), 33, 71])
def test_slopes_for_any_number_of_heads(H):
    slopes = alibi_slopes(H, np.float64)
    np.testing.assert_allclose(slopes, definitions.alibi_slopes(H), rtol=1e-13)
    assert slopes.shape == (H,) and alibi_slopes(H).dtype == np.float32


@pytest.mark.parametrize("L, S", [(0, 5), (5, 0), (0, 0)])
def test_empty_biases(L, S):
    module = T5RelativeBias(3)
    bias = module(L, S).matrix(L, S)
    assert bias.shape == alibi_by_offset(3, L, S).matrix(L, S).shape == (3, L, S)
    bias.backward(np.ones((3, L, S)))
    assert not module.table.grad.any()


@pytest.mark.parametrize("c", [1e-3, 1e-6, 1e-9, 1e-30])
def test_small_factors_of_logarithms_in_float32(c):
    """FIRE tends to the part |i - j| / max(T, i), and KERPLE to a line."""
    fire, kerple = FIRE(2, 4, rng=np.random.default_rng(0)), KERPLE(1)
    y = np.log(np.expm1(c)).astype(np.float32)  # softplus gives c
    fire.y_c.data, kerple.x_a.data = y[None], y[None]
    c, y_T = np.logaddexp(0, y.astype(float)), np.logaddexp(0, fire.y_T.data)
    k, network = np.zeros((12, 1)), (fire.W_1.weight.data[:, 0], fire.W_1.bias.data)
    found, w_2 = fire(np.arange(12), 12).data, fire.W_2.weight.data
    for h in 0, 1:
        expected = definitions.fire(k, k, c, 4 * y_T, *network, w_2[h])
        np.testing.assert_allclose(found[h], expected, rtol=1e-5, atol=1e-6)
    expected = definitions.kerple(k, k, 1 / c, c)
    found = kerple(12, 12).matrix(12, 12).data[0] / np.float32(c)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["y_c", "y_T"])
def test_a_factor_or_length_of_fire_that_is_0_has_the_values_of_a_small_one(name):
    fire = FIRE(2, 4, rng=np.random.default_rng(0))
    getattr(fire, name).data = np.float32([-20])
    small = fire(np.arange(5), 5).data
    getattr(fire, name).data = np.float32([-200])  # softplus gives 0
    found = fire(np.arange(5), 5)
    earlier = np.tri(5, dtype=bool)
    np.testing.assert_allclose(found.data[:, earlier], small[:, earlier], rtol=1e-5)
    found.sum().backward()
    assert all(np.isfinite(p.grad).all() for p in fire.parameters())


# -- scores ----------------------------------------------------------------------------


def shaw(L, S, k=2, D=D, leading=(), tables=()):
    return draw((*leading, L, D), (*leading, S, D), (*tables, 2 * k + 1, D))


def xl(L, S, D=D, leading=(), heads=()):
    return draw(
        (*leading, L, D), (*leading, S, D), (*heads, max(L + S - 1, 0), D),
        (*heads, D), (*heads, D),
    )  # fmt: skip


def deberta(L, S, D=3, k=2, leading=(), tables=()):
    table = (*tables, 2 * k, D)
    return draw((*leading, L, D), (*leading, S, D), table, table)


SCORES = {  # function, definition, core axes of the tables, the example
    "shaw": (shaw_scores, definitions.shaw, "(n,d)", shaw),
    "deberta": (disentangled_scores, definitions.disentangled, "(n,d),(n,d)", deberta),
}


@every_size
@both_alignments
@pytest.mark.parametrize("k", [1, 2, 9])
@pytest.mark.parametrize("name", SCORES)
def test_scores(name, L, S, align, k):
    """In values and gradients."""
    function, definition, core, make = SCORES[name]
    first = first_of(L, S, align)
    each_head = batched(aligned(definition, align), f"(l,d),(s,d),{core}->(l,s)")
    for tables in (2,), ():
        arrays = make(L, S, k=k, leading=(2, 2), tables=tables)
        check(lambda *x: function(*x, first), each_head, arrays)


@every_size
@both_alignments
def test_transformer_xl(L, S, align):
    """R has a row for each distance, so an alignment is another R."""
    each_head = batched(definitions.transformer_xl, "(l,d),(s,d),(n,d),(d),(d)->(l,s)")
    for heads in (3,), ():
        arrays = xl(L, S, leading=(2, 3), heads=heads)
        check(transformer_xl_scores, each_head, arrays)
    i, j = definitions.positions(L, S)
    first = first_of(L, S, align)
    distance = transformer_xl_distances(L, S, first)[L - 1 - (i - j)]
    np.testing.assert_array_equal(distance, i + first - j)


@pytest.mark.parametrize("L, S", [(5, 7), (1, 0), (0, 1)])
@pytest.mark.parametrize("first, low", [(20, 0), (-20, -1)])
def test_offsets_beyond_the_table_have_its_nearest_row(first, low, L, S):
    (q, k, R), high = shaw(L, S), -1 - low
    s = shaw_scores(q, k, R, first).data
    np.testing.assert_allclose(s, (q @ k.T + (q @ R[low])[:, None]) / D**0.5)
    q, k, Q_r, K_r = deberta(L, S)
    s = disentangled_scores(q, k, Q_r, K_r, first).data
    expected = (q @ k.T + (q @ K_r[high])[:, None] + k @ Q_r[low]) / 3
    np.testing.assert_allclose(s, expected)


@pytest.mark.parametrize("L, S", [(5, 7), (0, 7), (5, 0), (1, 0), (0, 1)])
def test_float32_and_no_queries_or_keys(L, S):
    for f, arrays in (
        (shaw_scores, shaw(L, S)),
        (transformer_xl_scores, xl(L, S)),
        (disentangled_scores, deberta(L, S)),
    ):
        leaves = [Tensor(x.astype("f"), requires_grad=True) for x in arrays]
        s = f(*leaves)
        s.backward(np.ones((L, S), "f"))
        assert s.dtype == leaves[0].grad.dtype == np.float32
        np.testing.assert_allclose(s.data, f(*arrays).data, rtol=1e-5, atol=1e-5)


def test_no_array_has_a_vector_for_each_pair():
    n, D = 128, 64
    for f, arrays in (
        (shaw_scores, shaw(n, n, 32, D)),
        (transformer_xl_scores, xl(n, n, D)),
        (disentangled_scores, deberta(n, n, D, 32)),
    ):
        leaves = [Tensor(x, requires_grad=True) for x in arrays]

        def call(f=f, leaves=leaves):
            f(*leaves).backward(np.ones((n, n)))

        assert peak_bytes(call) < n * n * D * 8 / 4, f.__name__
