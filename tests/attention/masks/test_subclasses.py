"""A subclass of a mask computes the same in tiles as pair by pair."""

import numpy as np
import pytest

from attention.exact.sdpa import scaled_dot_product_attention
from attention.masks import causal, dilated, global_tokens, sliding_window

from .mask_cases import B, H, cases, full

L = S = 200  # several tiles of the kernels
EXAMPLES = [mask for mask, _ in cases(L, S).values()]
EXAMPLES = {type(mask): mask for mask in EXAMPLES}  # one of each class


def thirds(self, b, h, q, kv):
    return (q + kv) % 3 == 0


class Thirds:
    allowed = thirds


def derived(mask, *bases, **members):
    """Return a copy of the mask that belongs to a new subclass of its class."""
    found = object.__new__(type("Mine", (*bases, type(mask)), members))
    vars(found).update(vars(mask))
    return found


def check(mask):
    """Compare the array of a mask, made from its ranges, with its ``allowed``."""
    allowed = np.broadcast_to(mask.allowed(*np.ogrid[:B, :H, :L, :S]), (B, H, L, S))
    np.testing.assert_array_equal(full(mask, L, S), allowed)


def of_rules(mask):
    """Return the kinds of subclasses with another definition, made from a mask."""
    mine = derived(mask, allowed=thirds)
    return mine, derived(mine), derived(mask, Thirds)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_a_new_definition_replaces_what_was_derived_from_the_old(kind):
    for mine in of_rules(EXAMPLES[kind]):
        check(mine)
        for changed in (~mine, mine & causal, dilated(90, 2) | mine):
            check(changed)
        assert repr(mine) == "Mine"


def test_the_tiled_path_computes_a_subclass():
    q, k, v = np.random.default_rng(0).standard_normal((3, 1, 1, L, 4))
    for mine in of_rules(dilated(6, 2)):
        expected = scaled_dot_product_attention(q, k, v, mine.dense(1, 1, L, S))
        found = scaled_dot_product_attention(q, k, v, mine, path="tiled")
        np.testing.assert_allclose(found.data, expected.data, rtol=1e-12, atol=1e-13)


def test_a_subclass_keeps_what_it_defines_and_what_is_still_right():
    def ranges(self, L, S):
        return np.zeros((1, 1, 1), int), np.full((1, 1, 1), min(S, 2))

    def first(self, b, h, q, kv):
        return kv < 2

    mine = derived(causal, allowed=first, key_ranges=ranges, __repr__=lambda m: "mine")
    assert mine.key_ranges(L, S) is not None and repr(mine) == "mine"
    check(mine)
    same = derived(sliding_window(2, 3), note=1)
    assert same.key_ranges(L, S) is not None and repr(same) == "sliding_window(2, 3)"
    check(same)
    both = derived(sliding_window(2, 3), global_tokens)  # allowed of global_tokens
    vars(both).update(vars(global_tokens([3])))
    assert both.key_ranges(L, S) is None
    check(both)
