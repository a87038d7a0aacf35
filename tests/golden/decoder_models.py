"""Tiny models of published architectures: settings, and weights from a seed."""

import zlib

import numpy as np

LLAMA = dict(
    vocab_size=31,
    hidden_size=16,
    intermediate_size=24,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    rope_theta=500.0,
    rms_norm_eps=1e-3,
)
GPT2 = dict(
    vocab_size=31,
    n_embd=16,
    n_layer=2,
    n_head=4,
    n_positions=64,
    layer_norm_epsilon=1e-3,
)
CONFIGS = {
    "gpt2": GPT2 | dict(model_type="gpt2"),
    "gpt2-own-head": GPT2
    | dict(
        model_type="gpt2",
        n_inner=20,
        tie_word_embeddings=False,
        activation_function="gelu",
    ),
    "llama": LLAMA | dict(model_type="llama", tie_word_embeddings=False),
    "llama-tied": LLAMA | dict(model_type="llama", tie_word_embeddings=True),
    "llama-linear": LLAMA
    | dict(model_type="llama", rope_scaling={"rope_type": "linear", "factor": 2.5}),
    "llama-yarn": LLAMA
    | dict(
        model_type="llama",
        rope_scaling={
            "rope_type": "yarn",
            "factor": 8.0,
            "original_max_position_embeddings": 8,
        },
    ),
    "llama-llama3": LLAMA
    | dict(
        model_type="llama",
        rope_scaling={
            "rope_type": "llama3",
            "factor": 4.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 16,
        },
    ),
    "mistral": LLAMA | dict(model_type="mistral", sliding_window=4),
    "qwen2": LLAMA | dict(model_type="qwen2", tie_word_embeddings=True),
    "qwen3": LLAMA | dict(model_type="qwen3", head_dim=8),
}
TRAINED = "gpt2", "llama"  # those with a recorded step of fine-tuning
IDS = np.random.default_rng(0).integers(0, 31, (2, 12))


def weights(shapes):
    """Return {name: float32 array} for {name: shape}; each depends on its name."""
    found = {}
    for name, shape in shapes.items():
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        mean = 1 if "norm" in name or "ln_" in name else 0
        found[name] = (mean + 0.3 * rng.standard_normal(shape)).astype(np.float32)
    return found
