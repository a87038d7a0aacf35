"""Wrong arguments at every public door: a sentence, and never a wrong number."""

import warnings

import numpy as np
import pytest

import attention as A
from attention import masks
from attention.exact.sdpa import dense_attention, tiled_attention
from minigrad import Tensor

X, Y = np.ones((2, 5, 4), np.float32), np.ones((2, 7, 4), np.float32)
F = np.ones((70, 4), np.float32)
DOOR, LAYER = A.scaled_dot_product_attention, A.MultiHeadAttention(4, 2)
WIDTHS = "expected a whole number"

REFUSED = {
    "an integer mask": (
        lambda: DOOR(X, Y, Y, np.ones((5, 7), int)),
        "attn_mask is int64; expected bool",
    ),
    "a mask function of integers": (
        lambda: DOOR(X, Y, Y, mask_mod=lambda b, h, i, j: (j <= i) * 1),
        "the function returns int64; expected bool",
    ),
    "and between arrays": (
        lambda: DOOR(X, Y, Y, mask_mod=lambda b, h, i, j: j <= i and j > 0),
        "write &, |, ~",
    ),
    "and between masks": (
        lambda: masks.causal and masks.padding([3]),
        "neither true nor false",
    ),
    "a width as text": (lambda: A.AdditiveAttention("4", 4, 3), WIDTHS),
    "a width with a point": (lambda: A.GeneralAttention(4.0, 4), WIDTHS),
    "a negative width": (lambda: A.CoverageAttention(4, 4, -3), WIDTHS),
    "hidden units with a point": (
        lambda: A.LuongAttention("concat", 4, 4, 2.5),
        "num_hiddens is 2.5; expected a whole number",
    ),
    "a local width": (lambda: A.LocalAttention("4", 4, 2), WIDTHS),
    "a window with a point": (lambda: A.LocalAttention(4, 4, 2.0), "D is 2.0"),
    "a table of no heads": (lambda: A.T5RelativeBias(0), "num_heads is 0"),
    "a table of text": (lambda: A.LearnedPositions("9", 4), "n_max is '9'"),
    "slopes without fractions": (
        lambda: A.alibi_slopes(4, dtype=int),
        "dtype is int64; expected a floating-point type",
    ),
    "biases without fractions": (
        lambda: A.alibi_bias(4, 3, 3, dtype=int),
        "dtype is int64; expected a floating-point type",
    ),
    "pairs by name": (
        lambda: A.rope(F, np.arange(70), interleaved="half"),
        "interleaved is 'half'; expected True",
    ),
    "directions by name": (
        lambda: A.t5_bucket(3, "causal", 32, 128),
        "bidirectional is 'causal'; expected True or False",
    ),
    "a length with a point": (
        lambda: A.sinusoidal(5.0, 4),
        "the length is 5.0; expected a whole number",
    ),
    "an infinite factor": (
        lambda: A.YaRNScaling(4, 2048, attention_factor=np.inf),
        "attention_factor is inf; expected a positive number",
    ),
    "turns as text": (
        lambda: A.YaRNScaling(4, 2048, "fast"),
        "beta_fast is 'fast'; expected a number",
    ),
    "no features": (
        lambda: A.linear_attention(F, F, F, feature_map=None),
        "feature_map is None; expected a function",
    ),
    "the state of what is no module": (
        lambda: A.torch_state({"W_q": 1}),
        "found a dict; expected a module",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_in_a_sentence(name):
    call, text = REFUSED[name]
    with warnings.catch_warnings(), pytest.raises((TypeError, ValueError)) as error:
        warnings.simplefilter("error")
        call()
    message = str(error.value)
    assert text in message and message.endswith(".")


@pytest.mark.parametrize("path", [dense_attention, tiled_attention])
def test_the_largest_and_the_smallest_cap(path):
    """What is not refused means the same on both paths."""
    q, k, v = np.random.default_rng(0).standard_normal((3, 70, 4)).astype(np.float32)
    small = path(q, k, v, softcap=1e-37).data  # all scores are alike
    np.testing.assert_allclose(small, np.tile(v.mean(0), (70, 1)), atol=1e-6)
    large = path(q, k, v, softcap=1e6).data
    np.testing.assert_allclose(large, path(q, k, v).data, atol=1e-5)


def test_scores_of_another_precision_leave_the_output_as_it_is():
    slopes = np.arange(7.0)  # float64

    def faster(score, b, h, q_idx, kv_idx):
        return score * slopes

    q, k, v = (Tensor(x, requires_grad=True) for x in (X, Y, Y))
    o = DOOR(q, k, v, score_mod=faster)
    o.sum().backward()
    assert o.dtype == q.grad.dtype == k.grad.dtype == np.float32


@pytest.mark.parametrize("L, S", [(0, 0), (0, 2), (2, 0), (1, 1), (0, 1), (1, 0)])
@pytest.mark.parametrize("path", [dense_attention, tiled_attention])
def test_a_bias_by_offset_of_nothing(path, L, S):
    table = A.T5RelativeBias(3)
    o = path(*(np.ones((3, n, 4), "f") for n in (L, S, S)), bias=table.by_offset(L, S))
    assert o.shape == (3, L, 4)


@pytest.mark.parametrize("kind", [list, np.asarray, Tensor])
def test_arrays_lists_and_tensors_are_alike(kind):
    arrays = [kind(x.astype(float).tolist()) for x in (X, Y, Y)]
    exact = [x.astype(float) for x in (X, Y, Y)]
    for call in (
        DOOR,
        lambda *x: A.attend(*x)[0],
        A.AdditiveAttention(4, 4, 3, rng=np.random.default_rng(0)),
        A.LocalAttention(4, 4, 2, "p", rng=np.random.default_rng(0)),
        A.linear_attention,
    ):
        np.testing.assert_array_equal(call(*arrays).data, call(*exact).data)
