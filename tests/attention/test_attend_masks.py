"""All ways to mask the template agree, and what is masked has no influence."""

import warnings

import numpy as np
import pytest

from attention.attend import attend
from minigrad import Tensor

from ..minigrad.array_cases import draw
from .attend_cases import KINDS, LENS, L, S, bound, close, example, lens_as_mask


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
