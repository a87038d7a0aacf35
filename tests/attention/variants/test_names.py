"""Public names and signatures, which follow torch, and docstrings of modules."""

import inspect

import pytest

import attention

SDPA = (
    "query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, "
    "enable_gqa=False, *, bias=None, training=True, rng=None, return_weights=False, "
    "return_lse=False, path=None, normalize=None, score=None"
)
SIGNATURES = {
    "scaled_dot_product_attention": SDPA,
    "linear_attention": "q, k, v, is_causal=False",
    "sinusoidal": "n, d",
    "t5_bucket": "relative_position, bidirectional, num_buckets, max_distance",
    "rope": "x, positions, base=10000.0, interleaved=False, scaling=None",
    "alibi_slopes": "num_heads",
    "shaw_scores": "queries, keys, relative_keys, scale=None, first=0",
    "transformer_xl_scores": (
        "queries, keys, relative_keys, content_bias, position_bias, scale=None"
    ),
    "transformer_xl_distances": "L, S, first=0",
    "merge": "o1, lse1, o2, lse2",
    "MultiHeadAttention": (
        "embed_dim, num_heads, num_kv_heads=None, dropout=0.0, bias=True, kdim=None, "
        "vdim=None"
    ),
    "MultiHeadAttention.forward": (
        "self, query, key=None, value=None, *, lengths=None, mask=None, "
        "is_causal=False, need_weights=False"
    ),
    "AdditiveAttention": (
        "query_size, key_size, num_hiddens, dropout=0.0, rng=None, bias=False"
    ),
    "nadaraya_watson": (
        "queries, keys, values, kernel='gaussian', bandwidth=1.0, mask=None, "
        "lengths=None"
    ),
    "LongformerAttention": (
        "embed_dim, num_heads, window, dropout=0.0, bias=True, rng=None"
    ),
    "LongformerAttention.forward": (
        "self, x, global_tokens=None, lengths=None, need_weights=False"
    ),
    "masks.sliding_window": "left, right",
    "masks.dilated": "window, dilation",
    "masks.padding": "lengths",
    "masks.prefix_lm": "n",
    "masks.document": "ids",
    "masks.global_tokens": "idx",
    "masks.bigbird": "block, window, n_random, n_global, seed",
    "masks.local": "centre, D",
}


def named(path):
    found = attention
    for part in path.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("path", SIGNATURES)
def test_signature(path):
    """These parameters in this order; others follow, and are optional."""
    wanted = list(
        inspect.signature(eval(f"lambda {SIGNATURES[path]}: 0")).parameters.values()
    )
    found = list(inspect.signature(named(path)).parameters.values())
    assert [p.name for p in found[: len(wanted)]] == [p.name for p in wanted]
    for ours, theirs in zip(found, wanted):
        assert ours.kind == theirs.kind
        if theirs.default is not theirs.empty:
            assert ours.default == theirs.default
    assert all(p.default is not p.empty for p in found[len(wanted) :])


def test_signature_of_scaled_dot_product_attention():
    found = inspect.signature(attention.scaled_dot_product_attention)
    assert str(found) == f"({SDPA}) -> minigrad.tensor.Tensor"
