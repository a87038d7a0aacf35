"""Small Transformers in float64 and their inputs, for the tests."""

import numpy as np

from attention.transformer import (
    DecoderOnly,
    EncoderDecoderConfig,
    TransformerConfig,
)
from attention.variants.recurrent_heads import RECURRENT
from attention.variants.table import NORMALIZERS, POSITIONS

V, D, H = 7, 8, 2
TRAINED, L = 4, 9  # the length in training, and a longer one
KINDS = [  # of attention
    *({"attention": name} for name in NORMALIZERS if name != "softmax"),
    {"attention": "qk-norm", "key_heads": 1},
    {"attention": "forgetting", "key_heads": 1},
    {"attention": "sink", "key_heads": 1},
    *({"attention": kind, "positions": "none"} for kind in RECURRENT),
    {"attention": "latent", "positions": "sinusoidal", "latent": 3},
    {"attention": "blocks", "best_blocks": 2, "block": 2},
    {"attention": "blocks", "best_blocks": 2, "block": 2, "key_heads": 1},
    {"attention": "window", "window": 3},
    {"norm_kind": "rms", "feed_forward": "gated", "activation": "silu"},
    {"attention": "qk-norm", "norm_kind": "rms", "eps": 0.1, "head_width": 6},
    {"positions": "rope", "interleaved": True, "bias": "qkv", "scaled": False},
]
CHOICES = [*({"positions": name} for name in POSITIONS), *KINDS]
NORMS = ("pre", "post")
GRID = [(scheme, norm) for scheme in POSITIONS for norm in NORMS]
SMALL = dict(width=D, heads=H, hidden=12, num_buckets=4, max_distance=5, base=50.0)
close = dict(rtol=1e-10, atol=1e-10)  # logits have size ten


def model(positions="rope", norm="pre", kind=DecoderOnly, seed=0, **options):
    """A model for L tokens in evaluation mode, in which no parameter is 0."""
    max_length = L if POSITIONS[positions].scheme.bounded else TRAINED
    options = SMALL | {"max_length": max_length} | options
    cls = TransformerConfig if kind is DecoderOnly else EncoderDecoderConfig
    rng = np.random.default_rng(seed)
    made = kind(cls(V, positions=positions, norm=norm, **options), rng)
    for parameter in made.parameters():
        parameter.data = rng.standard_normal(parameter.shape) / 2
    made.extend(L)
    return made.eval()


def draw(*shape, seed=1, high=V):
    return np.random.default_rng(seed).integers(0, high, shape)
