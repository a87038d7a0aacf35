"""What others rely on: names and signatures, as torch has them and as was agreed."""

import inspect

import numpy as np
import pytest

import attention
from attention import masks

DOOR = (
    "query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, "
    "enable_gqa=False, *, softcap=None, window_size=(-1, -1), bias=None, "
    "score_mod=None, mask_mod=None, block_mask=None, causal_align='upper_left', "
    "training=True, rng=None, return_weights=False, return_lse=False, path=None"
)
SIGNATURES = {
    "scaled_dot_product_attention": DOOR,
    "linear_attention": "q, k, v, is_causal=False",
    "sinusoidal": "n, d",
    "t5_bucket": "relative_position, bidirectional, num_buckets, max_distance",
    "rope": "x, positions, base=10000.0, interleaved=False, scaling=None",
    "alibi_slopes": "num_heads",
    "shaw_scores": (
        "queries, keys, relative_keys, scale=None, causal_align='upper_left'"
    ),
    "shaw_values": "weights, relative_values, causal_align='upper_left'",
    "transformer_xl_scores": (
        "queries, keys, relative_keys, content_bias, position_bias, scale=None"
    ),
    "transformer_xl_distances": "L, S, causal_align='upper_left'",
    "merge": "o1, lse1, o2, lse2",
    "MultiHeadAttention": (
        "embed_dim, num_heads, num_kv_heads=None, dropout=0.0, bias=True, kdim=None, "
        "vdim=None"
    ),
    "MultiHeadAttention.forward": (
        "self, query, key=None, value=None, *, valid_lens=None, mask=None, "
        "is_causal=False, need_weights=False"
    ),
    "BahdanauAttention": (
        "query_size, key_size, num_hiddens, dropout=0.0, rng=None, bias=False"
    ),
    "nadaraya_watson": (
        "queries, keys, values, kernel='gaussian', bandwidth=1.0, mask=None, "
        "valid_lens=None"
    ),
    "LongformerAttention": (
        "embed_dim, num_heads, window, dropout=0.0, bias=True, rng=None"
    ),
    "LongformerAttention.forward": (
        "self, x, global_tokens=None, valid_lens=None, need_weights=False"
    ),
    "masks.and_masks": "*masks",
    "masks.or_masks": "*masks",
    "masks.sliding_window": "left, right",
    "masks.dilated": "window, dilation",
    "masks.padding": "valid_lens",
    "masks.prefix_lm": "n",
    "masks.document": "ids",
    "masks.global_tokens": "idx",
    "masks.bigbird": "block, window, n_random, n_global, seed",
    "masks.local": "centre, D",
}
NAMES = (
    "LocalAttention", "CoverageAttention", "coverage_loss", "LearnedPositions",
    "T5RelativeBias", "BlockMask", "masks",
)  # fmt: skip


def named(path):
    found = attention
    for part in path.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("path", SIGNATURES)
def test_signature(path):
    """What is written, in that order; whatever else there is comes after, optional."""
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


def test_the_door_has_these_and_no_others():
    assert str(inspect.signature(attention.scaled_dot_product_attention)) == f"({DOOR})"


def test_all_names_are_there_and_listed():
    for name in (*NAMES, *(p for p in SIGNATURES if "." not in p)):
        assert name in attention.__all__ and getattr(attention, name) is not None
    assert len(set(attention.__all__)) == len(attention.__all__)
    for name in attention.__all__:
        assert (getattr(attention, name).__doc__ or "").strip(), name
    assert isinstance(masks.causal, masks.Mask)


def test_torch_takes_the_same_names():
    torch = pytest.importorskip("torch")
    text = torch.nn.functional.scaled_dot_product_attention.__doc__
    first = text[text.index("(") : text.index(")")]
    places = [first.index(p.split("=")[0]) for p in DOOR.split(", ")[:8]]
    assert places == sorted(places)


def test_a_mask_function_takes_indices_by_name():
    """mask_mod(b, h, q_idx, kv_idx), as flex_attention calls them."""
    grid = {"b": 0, "h": 0, "q_idx": np.arange(5)[:, None], "kv_idx": np.arange(5)}
    np.testing.assert_array_equal(masks.causal(**grid), np.tri(5, dtype=bool))
    both = masks.causal & masks.sliding_window(1, 1) | ~masks.dilated(2, 2)
    i, j = grid["q_idx"], grid["kv_idx"]
    expected = (j <= i) & (abs(i - j) <= 1) | ~((abs(i - j) <= 2) & ((i - j) % 2 == 0))
    np.testing.assert_array_equal(both(**grid), expected)
