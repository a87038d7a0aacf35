"""What scaled_dot_product_attention refuses, and what it says."""

import numpy as np
import pytest

from attention import masks
from attention.exact.sdpa import scaled_dot_product_attention, tiled_attention
from attention.masks.block_mask import BlockMask
from minigrad import Tensor

Q, K, V = np.ones((2, 3, 5, 4)), np.ones((2, 3, 7, 4)), np.ones((2, 3, 7, 6))


def refused(kind, query=Q, key=K, value=V, **options):
    with pytest.raises(kind) as error:
        scaled_dot_product_attention(query, key, value, **options)
    message = str(error.value)
    assert message.endswith("."), "a sentence"
    return message.removeprefix("scaled_dot_product_attention: ")


ROWS = [
    (
        TypeError,
        {"query": Q.astype(int)},
        "query is int64; expected floating-point numbers. Write 1.0 for 1, or use "
        ".astype(np.float32).",
    ),
    (
        ValueError,
        {"key": np.ones(4)},
        "key has shape (4,); expected (..., S, E). A single vector x is x[None, "
        ":], one row.",
    ),
    (
        TypeError,
        {"key": K.astype(np.float32)},
        "query is float64, key is float32, value is float64; expected one dtype. "
        "Use .astype.",
    ),
    (
        ValueError,
        {"query": Q[..., :3]},
        "query has shape (2, 3, 5, 3) and key (2, 3, 7, 4); expected (..., L, E) "
        "and (..., S, E), rows of one width E.",
    ),
    (
        ValueError,
        {"value": V[:, :, :6]},
        "key has shape (2, 3, 7, 4) and value (2, 3, 6, 6); expected (..., S, E) "
        "and (..., S, Ev), one value for each key.",
    ),
    (
        ValueError,
        {"query": np.ones((4, 3, 5, 4))},
        "query (4, 3, 5, 4), key (2, 3, 7, 4) and value (2, 3, 7, 6) differ in "
        "their leading axes; expected (..., H, L, E), (..., Hk, S, E) and (..., "
        "Hk, S, Ev), with axes that are alike, or 1, or missing.",
    ),
    (
        ValueError,
        {"value": V[:, :2]},
        "query (2, 3, 5, 4), key (2, 3, 7, 4) and value (2, 2, 7, 6) differ in "
        "their leading axes; expected (..., H, L, E), (..., Hk, S, E) and (..., "
        "Hk, S, Ev), with axes that are alike, or 1, or missing.",
    ),
    (
        ValueError,
        {"query": np.ones((2, 6, 5, 4))},
        "query (2, 6, 5, 4), key (2, 3, 7, 4) and value (2, 3, 7, 6) have 6 query "
        "heads and 3 key heads; expected as many key heads as query heads, or "
        "enable_gqa=True: 2 of them then share a key head.",
    ),
    (
        ValueError,
        {"query": np.ones((2, 4, 5, 4))},
        "query (2, 4, 5, 4), key (2, 3, 7, 4) and value (2, 3, 7, 6) have 4 query "
        "heads and 3 key heads; expected as many key heads as query heads.",
    ),
    (
        ValueError,
        {"query": np.ones((2, 4, 5, 4)), "enable_gqa": True},
        "query (2, 4, 5, 4), key (2, 3, 7, 4) and value (2, 3, 7, 6) have 4 query "
        "heads and 3 key heads; expected a multiple of the key heads, to be shared "
        "evenly.",
    ),
]

PAIRS = [
    (
        TypeError,
        {"attn_mask": np.ones((5, 7), int)},
        "attn_mask is int64; expected bool, where True = may attend, or float, "
        "which is added. Ones and zeros could be meant either way: write attn_mask "
        "== 1 to allow the ones.",
    ),
    (
        TypeError,
        {"attn_mask": masks.causal},
        "attn_mask is the mask causal; expected an array. Pass it as mask_mod=.",
    ),
    (
        ValueError,
        {"attn_mask": np.ones((7, 5), bool)},
        "attn_mask has shape (7, 5); expected one that broadcasts to the scores, "
        "(2, 3, 5, 7).",
    ),
    (
        ValueError,
        {"attn_mask": np.ones((1, 2, 3, 5, 7))},
        "attn_mask has shape (1, 2, 3, 5, 7); expected one that broadcasts to the "
        "scores, (2, 3, 5, 7).",
    ),
    (
        TypeError,
        {"bias": np.ones((5, 7), bool)},
        "bias is bool; expected floating-point numbers, which are added to the "
        "scores. What may attend to what is a boolean attn_mask=.",
    ),
    (
        ValueError,
        {"bias": np.ones((3, 12))},
        "bias has shape (3, 12); expected one that broadcasts to the scores, (2, "
        "3, 5, 7), or one value for each head and offset, (3, 11).",
    ),
    (
        ValueError,
        {"bias": Tensor(np.ones((2, 11)))},
        "bias has shape (2, 11); expected one that broadcasts to the scores, (2, "
        "3, 5, 7), or one value for each head and offset, (3, 11).",
    ),
    (
        TypeError,
        {"mask_mod": np.ones((5, 7), bool)},
        "mask_mod is a ndarray; expected a function of (b, h, q_idx, kv_idx), or a "
        "mask of attention.masks. An array is attn_mask=.",
    ),
    (
        TypeError,
        {"mask_mod": BlockMask.from_mask(masks.causal, 5, 7)},
        "mask_mod is a BlockMask; expected a function of (b, h, q_idx, kv_idx), or "
        "a mask of attention.masks. A BlockMask is block_mask=.",
    ),
    (
        TypeError,
        {"block_mask": masks.causal},
        "block_mask is a _Causal; expected a BlockMask, such as "
        "BlockMask.from_mask(mask, L, S). A mask is mask_mod=.",
    ),
    (
        ValueError,
        {"block_mask": BlockMask.from_mask(masks.causal, 5, 8)},
        "BlockMask: made for 5 queries and 8 keys; found 5 and 7. Make one with "
        "BlockMask.from_mask(mask, 5, 7).",
    ),
    (
        ValueError,
        {"window_size": 3},
        "window_size is 3; expected (left, right), how many keys before the "
        "query's position and after it, -1 for all of them.",
    ),
    (
        ValueError,
        {"window_size": (1, -2)},
        "window_size is (1, -2); expected (left, right), how many keys before the "
        "query's position and after it, -1 for all of them.",
    ),
    (
        ValueError,
        {"window_size": (1.0, 2)},
        "window_size is (1.0, 2); expected (left, right), how many keys before the "
        "query's position and after it, -1 for all of them.",
    ),
    (
        ValueError,
        {"causal_align": "left"},
        "causal_align is 'left'; expected 'upper_left', where the first query "
        "stands at the first key, or 'lower_right', where the last stands at the "
        "last.",
    ),
]

NUMBERS = [
    (TypeError, {"is_causal": 0.1}, "is_causal is 0.1; expected True or False."),
    (TypeError, {"return_weights": 1}, "return_weights is 1; expected True or False."),
    (
        TypeError,
        {"scale": Tensor(1.0)},
        "scale is a Tensor; expected a finite number, or None. To learn a scale, "
        "multiply the query by it.",
    ),
    (ValueError, {"scale": np.nan}, "scale is nan; expected a finite number, or None."),
    (
        ValueError,
        {"softcap": 0},
        "softcap is 0; expected a positive, finite number, or None.",
    ),
    (
        TypeError,
        {"softcap": "none"},
        "softcap is a str; expected a positive, finite number, or None.",
    ),
    (
        TypeError,
        {"score_mod": 1.0},
        "score_mod is a float; expected a function of (score, b, h, q_idx, kv_idx).",
    ),
    (
        ValueError,
        {"score_mod": lambda *_: None},
        "score_mod gave a NoneType; expected a Tensor of the shape of the scores, "
        "(2, 3, 5, 7).",
    ),
    (
        ValueError,
        {"score_mod": lambda s, *_: s[0, 0]},
        "score_mod gave shape (5, 7); expected a Tensor of the shape of the "
        "scores, (2, 3, 5, 7).",
    ),
    (
        ValueError,
        {"dropout_p": 1.5, "training": False},
        "dropout_p is 1.5; expected a probability, 0 to 1.",
    ),
    (
        TypeError,
        {"dropout_p": True},
        "dropout_p is a bool; expected a probability, from 0 to 1.",
    ),
    (
        TypeError,
        {"rng": 3},
        "rng is a int; expected a numpy.random.Generator, such as "
        "np.random.default_rng(0).",
    ),
]


@pytest.mark.parametrize("kind, options, message", ROWS + PAIRS + NUMBERS)
def test_refuses(kind, options, message):
    assert refused(kind, **options) == message


def test_a_mask_refuses_in_its_own_words():
    message = refused(ValueError, mask_mod=masks.padding([3, 8]))
    assert message.startswith(
        "padding: valid_lens holds 8; expected numbers from 0 to 7"
    )
    message = refused(ValueError, mask_mod=masks.padding([3, 7, 1]))
    assert message == "padding([3, 7, 1]): made for 3 examples; found B = 2."


def test_the_tiled_path_says_what_it_cannot_do():
    for options in (
        {"return_weights": True},
        {"score_mod": lambda s, *_: s},
    ):
        with pytest.raises(ValueError) as error:
            tiled_attention(Q, K, V, **options)
        assert str(error.value) == (
            "scaled_dot_product_attention: weights and a score_mod need the whole "
            "matrix of scores, which tiled_attention never has."
        )
