"""What masks say of wrong arguments; an error inside a function is its own."""

import numpy as np
import pytest

from attention.masks import causal, everything, from_array, mask_mod, padding

from .mask_cases import A, C
from .mask_messages import OF_POSITIONS, call

two = mask_mod(lambda b, h, q, kv: np.ones(2, bool))
ints = mask_mod(lambda b, h, q, kv: q + kv)
branch = mask_mod(lambda b, h, q, kv: q > kv and kv > 1)
many = mask_mod(lambda b, h, q, kv: np.ones((1, 2, 2, 4, 5), bool))
table = np.ones((3, 4))


@pytest.mark.parametrize(
    "error, what, message",
    [
        *OF_POSITIONS,
        (
            TypeError,
            lambda: from_array(table),
            "from_array: array is float64; expected bool, True = may attend. Ones and "
            "zeros could be meant either way: write array == 1 to allow the ones.",
        ),
        (
            TypeError,
            lambda: from_array(table.astype(int)),
            "from_array: array is int64; expected bool, True = may attend. Ones and "
            "zeros could be meant either way: write array == 1 to allow the ones.",
        ),
        (
            ValueError,
            lambda: from_array(table[0] > 0),
            "from_array: array has shape (4,); expected (L, S), (B, L, S) or (B, H, "
            "L, S).",
        ),
        (
            ValueError,
            call(from_array(table > 0)),
            "from_array((1, 1, 3, 4)): found 4 queries and 5 keys; expected as many "
            "as the last two axes say, unless they are 1.",
        ),
        (
            ValueError,
            call(from_array(np.ones((2, 3, 1, 1)) > 0), H=2),
            "from_array((2, 3, 1, 1)): made for 3 heads; found H = 2.",
        ),
        (
            TypeError,
            lambda: mask_mod(3),
            "mask_mod: found int; expected a function of (b, h, q_idx, kv_idx). A "
            "bool array is from_array(array).",
        ),
        (
            TypeError,
            call(ints),
            "mask_mod(<lambda>): the function gives int64; expected bool, True = may "
            "attend.",
        ),
        (
            ValueError,
            call(two),
            "mask_mod(<lambda>): the function gives shape (2,); expected one that "
            "broadcasts to (2, 2, 1, 1), as its arguments do.",
        ),
        (
            ValueError,
            call(many),
            "mask_mod(<lambda>): the function gives shape (1, 2, 2, 4, 5); expected "
            "one that broadcasts to (2, 2, 1, 1), as its arguments do.",
        ),
        (
            ValueError,
            lambda: branch(0, 0, np.arange(3), np.arange(3)),
            "mask_mod(<lambda>): the function asks whether an array is true. It is "
            "called once, on arrays: write &, |, ~ for `and`, `or`, `not`, and "
            "np.where for `if`.",
        ),
        (
            ValueError,
            call(A),
            "mask_mod(<lambda>): is not the same for all; expected the number of "
            "examples, B.",
        ),
        (
            ValueError,
            call(C),
            "mask_mod(<lambda>): is not the same for all; expected the number of "
            "heads, H.",
        ),
        (
            ValueError,
            lambda: padding([1]) & padding([1, 2]),
            "padding([1]) & padding([1, 2]): the left side has B = 1 examples, the "
            "right side 2; expected the same.",
        ),
        (
            TypeError,
            lambda: causal and everything,
            "causal: a mask is neither true nor false. Combine masks by &, | and ~; "
            "`and`, `or` and `not` would want one answer for all pairs.",
        ),
        (
            TypeError,
            lambda: causal & (table > 0),
            "&, |: found ndarray beside a mask; expected a mask, or a function of (b, "
            "h, q_idx, kv_idx). A bool array is from_array(array).",
        ),
        (
            TypeError,
            lambda: (table > 0) & causal,
            "&, |: found ndarray beside a mask; expected a mask, or a function of (b, "
            "h, q_idx, kv_idx). A bool array is from_array(array).",
        ),
        (
            TypeError,
            lambda: causal | None,
            "&, |: found NoneType beside a mask; expected a mask, or a function of "
            "(b, h, q_idx, kv_idx). A bool array is from_array(array).",
        ),
        (
            TypeError,
            lambda: causal(0, 0, 1.0, 2),
            "causal: q_idx is float64; expected whole numbers, positions counted from "
            "0.",
        ),
        (
            TypeError,
            call(causal, L=4.0),
            "dense: L is 4.0; expected a whole number.",
        ),
        (
            ValueError,
            call(causal, S=-1),
            "dense: S is -1; expected a whole number, 0 or more.",
        ),
    ],
)
def test_the_messages(error, what, message):
    with pytest.raises(error) as raised:
        what()
    assert str(raised.value) == message


def test_an_error_inside_a_function_is_its_own():
    def broken(b, h, q, kv):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="^mine$"):
        mask_mod(broken).dense(1, 1, 2, 2)
