"""Tiny random models of published architectures, in both forms of files."""

import json
import pathlib

import numpy as np

from ...golden.decoder_models import CONFIGS, weights
from .file_cases import TOKENS, gguf, metadata, safetensors, tokenizer_json

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "decoders.npz"
with np.load(GOLDEN) as recorded:
    RECORDED = dict(recorded)


GGUF_NAMES = {  # as in the converter of llama.cpp
    "model.embed_tokens": "token_embd", "model.norm": "output_norm",
    "lm_head": "output", "model.layers": "blk", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm", "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip


def weights_of(name):
    return weights(json.loads(RECORDED[f"{name}.shapes"].tobytes()))


def as_gguf(name, arrays=None):
    """Metadata and tensors as the converter of llama.cpp writes them."""
    c, found = CONFIGS[name], {}
    kind, head_width = c["model_type"], c.get("head_dim", 4)
    settings = {
        "general.architecture": kind,
        f"{kind}.embedding_length": c["hidden_size"],
        f"{kind}.feed_forward_length": c["intermediate_size"],
        f"{kind}.block_count": c["num_hidden_layers"],
        f"{kind}.attention.head_count": c["num_attention_heads"],
        f"{kind}.attention.head_count_kv": c["num_key_value_heads"],
        f"{kind}.attention.layer_norm_rms_epsilon": c["rms_norm_eps"],
        f"{kind}.attention.key_length": head_width,
        f"{kind}.context_length": c["max_position_embeddings"],
        f"{kind}.rope.freq_base": c["rope_theta"],
        f"{kind}.rope.dimension_count": head_width,
    }
    for each, array in (arrays or weights_of(name)).items():
        if kind == "llama" and each.endswith(("q_proj.weight", "k_proj.weight")):
            pairs = array.reshape(-1, 2, head_width // 2, array.shape[1])
            array = pairs.swapaxes(1, 2).reshape(array.shape)
        for theirs, its in GGUF_NAMES.items():
            each = each.replace(theirs, its)
        found[each] = array
    return settings, found


def readable(name):
    """Weights with a row for each token of the tokenizer of file_cases.py."""
    rng, found = np.random.default_rng(3), weights_of(name)
    for each, array in found.items():
        if len(array) == CONFIGS[name]["vocab_size"]:
            drawn = rng.normal(size=(len(TOKENS), array.shape[1]))
            found[each] = drawn.astype(np.float32)
    return found


def _stored(arrays):
    return {
        each: ("F32", list(a.shape), np.ascontiguousarray(a, "<f4").tobytes())
        for each, a in arrays.items()
    }


def write_gguf(path, name="llama", **changes):
    """Write the file of a model; changes are entries of its metadata."""
    settings, arrays = as_gguf(name, readable(name))
    path.write_bytes(gguf(metadata() | settings | changes, _stored(arrays)))
    return path


def write_folder(path, name="llama", **changes):
    """Write the folder of a model; changes are entries of its config."""
    config = CONFIGS[name] | {"vocab_size": len(TOKENS)} | changes
    (path / "config.json").write_text(json.dumps(config))
    (path / "model.safetensors").write_bytes(safetensors(_stored(readable(name))))
    (path / "tokenizer.json").write_text(json.dumps(tokenizer_json()))
    return path
