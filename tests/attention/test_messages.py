"""Messages of softmax, attend, the layers and exact attention about wrong values.

Each names the function or layer, the argument, what was found and what was expected.
"""

import numpy as np
import pytest

from attention import CosineAttention, masks
from attention.template import attend
from attention.exact.kv_cache import KVCache
from attention.exact.multihead import MultiHeadAttention
from attention.exact.sdpa import scaled_dot_product_attention
from attention.layers import AdditiveAttention, DotProductAttention, GeneralAttention
from attention.masks.block_mask import BlockMask
from attention.plotting import loss_curves
from attention.positions import OffsetBias
from attention.scores import dot
from attention.softmax import masked_softmax
from attention.transformer import DecoderOnly
from minigrad import Tensor
from minigrad import softmax as softmax_of_an_axis

from ..messages import check_message

B, H, L, S, D = 2, 3, 5, 7, 4


def zeros(*shape, dtype=float):
    return np.zeros(shape, dtype)


q, k, v = zeros(B, L, D), zeros(B, S, D), zeros(B, S, 6)
scores = zeros(B, L, S)
Q, K, V = zeros(B, H, L, D), zeros(B, H, S, D), zeros(B, H, S, 6)


def sdpa(query=Q, key=K, value=V, **options):
    return lambda: scaled_dot_product_attention(query, key, value, **options)


def softmax(x=scores, **options):
    return lambda: masked_softmax(x, **options)


def template(query=q, keys=k, values=v, **options):
    return lambda: attend(query, keys, values, **options)


SOFTMAX = [
    (softmax(mask=zeros(L, S, dtype=int)), TypeError, "mask is int64", "mask == 1"),
    (softmax(mask=zeros(L, 8)), ValueError, "mask has shape (5, 8)", "(2, 5, 7)"),
    (softmax(lengths=[2, 8]), ValueError, "lengths hold 8", "0 to 7"),
    (softmax(temperature=0.0), ValueError, "temperature is 0.0", "positive"),
    (softmax(temperature=Tensor(1.0)), TypeError, "temperature is Tensor", "number"),
]

ATTEND = [
    (template(normalize=lambda s: s), TypeError, "normalize takes (s)", "allowed"),
    (template(normalize=lambda s, _: s.data), ValueError, "returned a ndarray"),
    (template(normalize=lambda s, _: s[0]), ValueError, "(5, 7)", "(2, 5, 7)"),
    (template(dropout_p=1.5), ValueError, "dropout: p is", "1.5"),
    (template(score=lambda q, k: None), ValueError, "score returned NoneType", "(2, 5"),
    (template(score=lambda q, k: dot(q, k)[:1]), ValueError, "float64 (1, 5, 7)"),
    (template(score=lambda q, k: q), ValueError, "score returned float64 (2, 5, 4)"),
    (template(temperature=-1.0), ValueError, "attend: temperature is -1.0", "positive"),
    (template(temperature=np.nan), ValueError, "attend: temperature is nan"),
    (lambda: DecoderOnly(10), TypeError, "config is of type int", "TransformerConfig"),
    (lambda: loss_curves([1.0]), TypeError, "of type list", "such as {'dot': losses}"),
    (lambda: CosineAttention(tau=-1), ValueError, "tau is -1", "positive"),
    (template(score=DotProductAttention()), TypeError, "the method score of a layer"),
    (template(score="dot"), TypeError, "attend: score is 'dot'", "attention.dot"),
]

LAYERS = [
    (
        lambda: GeneralAttention(4, 4)(q, GeneralAttention(4, 4).precompute(k), v),
        ValueError, "projected by another layer", "precompute(keys)",
    ),
    (lambda: AdditiveAttention(4, 4, 2, bias=1), TypeError, "bias is 1", "True"),
    (
        lambda: DotProductAttention(1.1),
        ValueError, "DotProductAttention: dropout is 1.1", "probability",
    ),
]  # fmt: skip

SDPA = [
    (sdpa(zeros(B, 6, L, D)), ValueError, "6 query heads and 3", "enable_gqa"),
    (sdpa(zeros(B, 4, L, D), enable_gqa=True), ValueError, "4 query heads", "multiple"),
    (sdpa(attn_mask=zeros(L, S, dtype=int)), TypeError, "attn_mask is int64", "== 1"),
    (sdpa(bias=zeros(L, S, dtype=bool)), TypeError, "bias is bool", "as a mask"),
    (sdpa(bias=lambda L, S: 0), TypeError, "bias is function", "bias(L, S)"),
    (sdpa(bias=zeros(1, L + S - 1)), ValueError, "(1, 11)", "OffsetBias(values)"),
    (sdpa(bias=OffsetBias(zeros(1, L + S))), ValueError, "an OffsetBias of shape"),
    (sdpa(score=lambda q: q), TypeError, "score takes (q)", "(query, key)"),
    (sdpa(score=lambda q, k: q), ValueError, "score returned", "shape of the scores"),
    (
        sdpa(attn_mask=BlockMask.from_mask(masks.causal, 6, 7)),
        ValueError, "BlockMask: made for 6 queries and 7 keys",
    ),
    (sdpa(is_causal=1), TypeError, "is_causal is 1", "True or False"),
    (sdpa(scale=np.nan), ValueError, "scale is nan", "finite"),
    (sdpa(dropout_p=1.5), ValueError, "dropout_p is 1.5", "probability"),
    (sdpa(rng=0), TypeError, "rng is of type int", "Generator"),
    (
        sdpa(normalize=lambda s, _: s, return_lse=True),
        ValueError, "return_lse is True and normalize is", "belongs to the softmax",
    ),
    (
        sdpa(normalize=lambda s, _: s, path="tiled"),
        ValueError, "path is 'tiled' and", "a normalize", "'dense' or None",
    ),
    (sdpa(path="fast"), ValueError, "path is 'fast'", "'tiled'"),
    (
        sdpa(path="tiled", return_weights=True),
        ValueError, "path is 'tiled'", "weights, a score and a normalize need",
    ),
    (
        sdpa(path="dense", return_lse=True),
        ValueError, "return_lse is True and path is 'dense'", "tiles compute lse",
    ),
]  # fmt: skip

x, y = zeros(B, L, 8, dtype="f"), zeros(B, S, 8, dtype="f")


def layer(embed_dim=8, num_heads=4, **options):
    return MultiHeadAttention(embed_dim, num_heads, **options)


def call(*arrays, module={}, **options):
    return lambda: layer(**module)(*(arrays or (x, y)), **options)


def filled(module):
    cache = KVCache()
    module(x, cache=cache)
    return cache


def step_of_another():
    layer()(x, cache=filled(layer()))


def step_with(x):
    module = layer()
    module(x, cache=filled(module))


MULTIHEAD = [
    (lambda: layer(9), ValueError, "embed_dim is 9 and num_heads 4", "12"),
    (lambda: layer(num_kv_heads=3), ValueError, "num_heads is 4 and num_kv_heads 3"),
    (lambda: layer(scale=np.inf), ValueError, "scale is inf", "finite"),
    (call(need_weights=1), TypeError, "need_weights is 1"),
    (call(average_attn_weights="x"), TypeError, "average_attn_weights is 'x'"),
    (call(cache=KVCache()), ValueError, "a cache and a key", "precompute"),
    (call(x, module=dict(forgetting=True)), ValueError, "forgetting without causal"),
    (
        call(x, module=dict(forgetting=True), is_causal=True, score=lambda *x: x),
        ValueError, "forgetting and a score; expected one of them",
    ),
    (lambda: layer(qk_norm=1), TypeError, "qk_norm is 1"),
    (
        lambda: layer()(x, layer().precompute(y)),
        ValueError, "FixedKVCache: the keys were projected by another layer",
    ),
    (step_of_another, ValueError, "KVCache: holds the keys of another layer"),
    (lambda: step_with(x[:1]), ValueError, "holds 2 examples; found 1", "select"),
    (lambda: step_with(x.astype(float)), TypeError, "holds float32; found float64"),
    (lambda: filled(layer()).select([2]), ValueError, "indices hold 2", "0 to 1"),
]  # fmt: skip


@pytest.mark.parametrize(
    "wrong_call, kind, fragments",
    [
        (wrong_call, kind, fragments)
        for wrong_call, kind, *fragments in (
            *SOFTMAX, *ATTEND, *LAYERS, *SDPA, *MULTIHEAD
        )
    ],
    ids=lambda x: x[0] if isinstance(x, list) else "",
)  # fmt: skip
def test_message(wrong_call, kind, fragments):
    check_message(wrong_call, fragments, kind)


HINTED = [  # a call, and the note of its error
    (template(normalize=softmax_of_an_axis), "(scores, allowed)"),
    (template(is_causal=True), "Write mask=masks.causal"),
    (template(scale=2.0), "Write score=lambda q, k: scaled_dot"),
    (template(dropout=0.1), "Write dropout_p instead"),
    (sdpa(mask=zeros(L, S) == 0), "Write attn_mask instead"),
    (sdpa(softcap=30.0), "c * tanh"),
]


@pytest.mark.parametrize("call, hint", HINTED)
def test_an_error_of_python_has_a_hint(call, hint):
    with pytest.raises(TypeError) as error:
        call()
    assert any(hint in note for note in error.value.__notes__)
