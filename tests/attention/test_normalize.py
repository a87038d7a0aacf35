"""A normaliser of one's own instead of the softmax, on every way that takes one."""

import functools

import numpy as np
import pytest

from attention import BahdanauStep, definitions
from attention.layers import AdditiveAttention
from attention.softmax import masked_softmax
from attention.template import attend
from minigrad import Tensor, where

from ..minigrad.array_cases import draw
from .definition_cases import batched, check
from .exact.multihead_cases import defined, example, layer

B, L, S, D, A, Ev = 2, 3, 5, 7, 6, 4
SOME = np.random.default_rng(3).random((B, L, S)) < 0.6
SOME[1, 2] = False  # a query without keys
FLOAT = np.where(SOME, draw((L, S))[0], -np.inf)
MASKINGS = {  # arguments, the allowed pairs, and what is added to the scores
    "mask": ({"mask": SOME}, SOME, 0.0),
    "float mask": ({"mask": FLOAT}, SOME, np.where(SOME, FLOAT, 0)),
    "both": (
        {"mask": SOME, "lengths": [2, 5]},
        SOME & (np.arange(S) < np.reshape([2, 5], (B, 1, 1))),
        0.0,
    ),
}


def squares(s, allowed):
    """p_ij = s_ij^2 / sum_n s_in^2 over the allowed keys n"""
    e = where(allowed, s * s, 0.0)
    total = e.sum(-1, keepdims=True)
    return e / where(total.data == 0, 1.0, total)


def squares_definition(s, allowed):
    return definitions.divide_by_sum(np.where(allowed, s * s, 0))


def average(s, v, allowed, normalize):
    """Return contexts and weights by the definition, for all examples and heads."""
    each_head = batched(
        definitions.attend, "(l,s),(s,e),(l,s)->(l,e)", normalize=normalize
    )
    one = np.eye(s.shape[-1])  # the contexts of unit vectors are the weights
    return each_head(s, v, allowed), each_head(s, one, allowed)


@pytest.mark.parametrize("masking", MASKINGS)
def test_attend(masking):
    options, allowed, added = MASKINGS[masking]
    options = {**options, "normalize": squares}
    q, k, v, bias = draw((B, L, D), (B, S, D), (B, S, Ev), (L, S))
    dots = batched(definitions.scaled_dot, "(l,d),(s,d)->(l,s)")

    def definition(q, k, v, b):
        return average(dots(q, k) + b + added, v, allowed, squares_definition)

    run = functools.partial(attend, **options)
    check(lambda q, k, v, b: run(q, k, v, bias=b), definition, [q, k, v, bias])
    context, weights = run(q, k, v, bias=bias)
    assert (weights.data[~allowed] == 0).all()  # exactly
    assert (context.data[~allowed.any(-1)] == 0).all()


def test_multi_head():
    module, arrays = layer(2), example({})
    lens = [3, 7]
    options = dict(need_weights=True, lengths=lens, is_causal=True)
    run = functools.partial(module, normalize=squares, **options)
    i, j = definitions.positions(arrays[0].shape[1], arrays[1].shape[1])
    allowed = definitions.causal(i, j) & (j < np.reshape(lens, (2, 1, 1, 1)))
    definition = defined(module, allowed, normalize=squares_definition)
    check(run, definition, arrays, module.parameters())


def test_a_decoder_step_hands_it_to_its_attention():
    step = BahdanauStep(D, D, Ev, AdditiveAttention(D, D, A))
    x, h, k, v = draw((B, D), (B, D), (B, S, D), (B, S, Ev), dtype=np.float32)
    _, output, weights = step(x, h, k, v, normalize=squares)
    s = step.attention.score(Tensor(h[:, None]), Tensor(k))
    expected = squares(s, np.ones(s.shape, bool)).data[:, 0]
    np.testing.assert_allclose(weights.data, expected, rtol=1e-5)
    np.testing.assert_allclose(
        output.data[:, D:], (expected[:, None] @ v)[:, 0], rtol=1e-5, atol=1e-6
    )


def test_the_temperature_divides_the_scores_of_a_normalizer():
    q, k, v = draw((B, 4, L, D), (B, 4, S, D), (B, 4, S, Ev))
    found, expected = (
        attend(q, k, v, temperature=0.7, normalize=normalize)[0].data
        for normalize in (lambda s, allowed: masked_softmax(s, mask=allowed), None)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.filterwarnings("error")
def test_a_float_mask_that_is_infinite_in_float32():
    q, k, v = draw((B, L, D), (B, S, D), (B, S, Ev), dtype=np.float32)
    mask = np.where(np.arange(S) < 3, 0.0, -1e300)
    context, weights = attend(q, k, v, mask=mask, normalize=squares)
    assert context.dtype == np.float32 and not weights.data[..., 3:].any()
    expected = attend(q, k[:, :3], v[:, :3], normalize=squares)[0].data
    np.testing.assert_allclose(context.data, expected, rtol=1e-5, atol=1e-6)
