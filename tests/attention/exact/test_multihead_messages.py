"""Multi-head attention: what it says of wrong options and arguments."""

import numpy as np
import pytest

from attention import masks
from attention.exact.multihead import MultiHeadAttention
from attention.masks.block_mask import BlockMask
from attention.positions import rope

from .multihead_cases import B, D, H, L, S

X, Y = np.ones((B, L, D)), np.ones((B, S, D))


def made(*args, **options):
    return lambda: MultiHeadAttention(*args, **options)


def called(query=X, key=Y, value=None, layer=None, **options):
    layer = {"embed_dim": D, "num_heads": H, **(layer or {})}
    return lambda: MultiHeadAttention(**layer)(query, key, value, **options)


OF_A_LAYER = {
    "heads that do not divide": (
        made(12, 5),
        ValueError,
        "embed_dim is 12, and 5 heads cannot share it evenly; expected a multiple of "
        "num_heads, such as 15.",
    ),
    "key heads that do not divide": (
        made(12, 4, 3),
        ValueError,
        "num_heads is 4 and num_kv_heads 3; expected a number of key heads that "
        "divides the number of query heads.",
    ),
    "more key heads": (
        made(12, 4, 8),
        ValueError,
        "num_heads is 4 and num_kv_heads 8; expected a number of key heads that "
        "divides the number of query heads.",
    ),
    "no heads": (
        made(12, 0),
        ValueError,
        "num_heads is 0; expected a whole number, 1 or more.",
    ),
    "no key heads": (
        made(12, 4, 0),
        ValueError,
        "num_kv_heads is 0; expected a whole number, 1 or more.",
    ),
    "half a width": (
        made(12.5, 4),
        TypeError,
        "embed_dim is 12.5; expected a whole number.",
    ),
    "no width": (
        made(12, 4, kdim=0),
        ValueError,
        "kdim is 0; expected a whole number, 1 or more.",
    ),
    "a width in letters": (
        made(12, 4, vdim="12"),
        TypeError,
        "vdim is '12'; expected a whole number.",
    ),
    "dropout": (
        made(12, 4, dropout=1.5),
        ValueError,
        "dropout is 1.5; expected a probability, from 0 to 1.",
    ),
}

OF_A_CALL = {
    "integers": (
        called(X.astype(int)),
        TypeError,
        "query is int64; expected floating-point numbers. Write 1.0 for 1, or use "
        ".astype(np.float32).",
    ),
    "a query of another width": (
        called(np.ones((B, L, 11))),
        ValueError,
        "query has shape (2, 5, 11); expected (B, L, 12), or (L, 12) for one example.",
    ),
    "a key of another width": (
        called(layer={"kdim": 9}),
        ValueError,
        "key has shape (2, 7, 12); expected (B, S, 9), or (S, 9) for one example.",
    ),
    "a value of another width": (
        called(value=np.ones((B, S, 13))),
        ValueError,
        "value has shape (2, 7, 13); expected (B, S, 12), or (S, 12) for one example.",
    ),
    "a vector": (
        called(np.ones(D)),
        ValueError,
        "query has shape (12,); expected (B, L, 12), or (L, 12) for one example.",
    ),
    "four axes": (
        called(X[None]),
        ValueError,
        "query has shape (1, 2, 5, 12); expected (B, L, 12), or (L, 12) for one "
        "example.",
    ),
    "one example and two": (
        called(X[0]),
        ValueError,
        "found query (5, 12), key (2, 7, 12), value (2, 7, 12); expected as many "
        "examples in each, the first of three axes.",
    ),
    "other examples": (
        called(key=Y[:1]),
        ValueError,
        "found query (2, 5, 12), key (1, 7, 12), value (1, 7, 12); expected as many "
        "examples in each, the first of three axes.",
    ),
    "fewer values than keys": (
        called(value=Y[:, 1:]),
        ValueError,
        "found query (2, 5, 12), key (2, 7, 12), value (2, 6, 12); expected one value "
        "for each key.",
    ),
    "a value without a key": (
        called(key=None, value=X),
        ValueError,
        "value is given, but no key of its own; expected both, a key that is its own "
        "value, or neither for self-attention.",
    ),
    "itself, of other widths": (
        called(key=None, layer={"kdim": 9, "vdim": 12}),
        ValueError,
        "without a key, the query is its own; that needs embed_dim, kdim and vdim to "
        "be the same; found (12, 9, 12).",
    ),
    "two dtypes": (
        called(key=Y.astype(np.float32)),
        TypeError,
        "query is float64, key is float32, value is float32; expected one dtype. Use "
        ".astype.",
    ),
    "an integer mask": (
        called(mask=np.ones((L, S), int)),
        TypeError,
        "mask is int64; expected bool, where True = may attend, or float, which is "
        "added. Ones and zeros could be meant either way: write mask == 1 to allow the "
        "ones.",
    ),
    "a mask of three axes": (
        called(mask=np.ones((B, L, S), bool)),
        ValueError,
        "mask has shape (2, 5, 7); expected (5, 7), or four axes that broadcast to the "
        "scores, (2, 4, 5, 7). Of three axes the first could count examples, "
        "mask[:, None], or heads, mask[None].",
    ),
    "a mask of heads, or of examples": (
        called(mask=np.ones((H, L, S), bool)),
        ValueError,
        "mask has shape (4, 5, 7); expected (5, 7), or four axes that broadcast to the "
        "scores, (2, 4, 5, 7). Of three axes the first could count examples, "
        "mask[:, None], or heads, mask[None].",
    ),
    "padding as a mask": (
        called(mask=np.ones((B, S), bool)),
        ValueError,
        "mask has shape (2, 7); expected (5, 7), or four axes that broadcast to the "
        "scores, (2, 4, 5, 7). Padding, (B, S), is mask[:, None, None].",
    ),
    "a mask of other sizes": (
        called(mask=np.ones((B, H, L, 6))),
        ValueError,
        "mask has shape (2, 4, 5, 6); expected (5, 7), or four axes that broadcast to "
        "the scores, (2, 4, 5, 7).",
    ),
    "lengths of others": (
        called(valid_lens=[1, 2, 3]),
        ValueError,
        "valid_lens has shape (3,); expected (2,), one length for each example, or "
        "(2, 5), for each of its queries.",
    ),
    "rotate": (
        called(rotate=10000.0),
        TypeError,
        "rotate is a float; expected a function of (x, positions), such as rope.",
    ),
    "what rotate made": (
        called(rotate=lambda x, positions: x[..., :2]),
        ValueError,
        "rotate made shape (2, 4, 5, 2) of the query; expected a Tensor of the shape "
        "that it was given, (2, 4, 5, 3).",
    ),
    "an array that rotate made": (
        called(rotate=lambda x, positions: x.data),
        ValueError,
        "rotate made ndarray of the query; expected a Tensor of the shape that it was "
        "given, (2, 4, 5, 3).",
    ),
    "positions alone": (
        called(positions=[0, 1, 2, 3, 4]),
        ValueError,
        "positions has no use without rotate; expected both or none.",
    ),
    "too few positions": (
        called(positions=[0, 1], rotate=rope),
        ValueError,
        "positions has shape (2,); expected (5,) or (2, 5), one for each query.",
    ),
    "positions between positions": (
        called(positions=np.arange(L) / 2, rotate=rope),
        TypeError,
        "positions holds float64; expected whole numbers.",
    ),
    "need_weights": (
        called(need_weights=1),
        TypeError,
        "need_weights is 1; expected True or False.",
    ),
}

ELSEWHERE = {  # said by those whose business it is
    "lengths of 8 keys": (
        called(valid_lens=[7, 8]),
        ValueError,
        "padding: valid_lens holds 8; expected numbers from 0 to 7, the number of "
        "keys.",
    ),
    "a negative length": (
        called(valid_lens=[-1, 7]),
        ValueError,
        "padding: valid_lens holds -1; expected numbers from 0 to 7, the number of "
        "keys.",
    ),
    "lengths of other queries": (
        called(valid_lens=np.ones((B, L - 1), int)),
        ValueError,
        "padding: valid_lens has shape (2, 4); expected one length for each of 5 "
        "queries.",
    ),
    "lengths by halves": (
        called(valid_lens=[0.5, 1.0]),
        TypeError,
        "padding: valid_lens holds float64; expected whole numbers.",
    ),
    "lengths of three axes": (
        called(valid_lens=np.ones((B, H, L), int)),
        ValueError,
        "padding: valid_lens has shape (2, 4, 5); expected (B,), one for each example, "
        "or (B, L), one for each query.",
    ),
    "is_causal": (
        called(is_causal="yes"),
        TypeError,
        "scaled_dot_product_attention: is_causal is 'yes'; expected True or False.",
    ),
    "a bias of other sizes": (
        called(bias=np.ones((3, L, S))),
        ValueError,
        "scaled_dot_product_attention: bias has shape (3, 5, 7); expected one that "
        "broadcasts to the scores, (2, 4, 5, 7), or one value for each head and "
        "offset, (4, 11).",
    ),
    "tiles of other sizes": (
        called(mask=BlockMask.from_mask(masks.causal, 3, S)),
        ValueError,
        "BlockMask: made for 3 queries and 7 keys; found 5 and 7. Make one with "
        "BlockMask.from_mask(mask, 5, 7).",
    ),
    "a function that gives numbers": (
        called(mask=lambda b, h, q, kv: q - kv),
        TypeError,
        "mask_mod(<lambda>): the function gives int64; expected bool, True = may "
        "attend.",
    ),
    "rope of an odd width": (
        called(rotate=rope),
        ValueError,
        "rope: the width E is 3; expected an even number, as entries are turned in "
        "pairs. rot_dim=2 leaves the last one as it is.",
    ),
}


@pytest.mark.parametrize("name", OF_A_LAYER | OF_A_CALL)
def test_what_is_refused(name):
    call, kind, message = (OF_A_LAYER | OF_A_CALL)[name]
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == f"MultiHeadAttention: {message}"


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_others_refuse(name):
    call, kind, message = ELSEWHERE[name]
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == message


def test_what_a_key_to_be_kept_must_be():
    layer = MultiHeadAttention(D, H)
    with pytest.raises(ValueError) as error:
        layer.precompute(Y, Y[:, 1:])
    assert str(error.value) == (
        "MultiHeadAttention: found key (2, 7, 12), value (2, 6, 12); expected one "
        "value for each key."
    )
