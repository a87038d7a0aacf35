"""Build GPT-2 and the models of Llama's form from their settings and weights.

    model = load(tensors, config)

    config     the dict in a config.json, or the metadata of a GGUF file
    tensors    {name: array or StoredTensor}, as that file's program named them

All of them are a ``DecoderOnly`` of pre-norm blocks; ``PARTS`` has what differs. llama
is the form: rotary positions, RMS norms, gated networks and few key heads. mistral
reads a window of keys, qwen2 has biases of W_q, W_k and W_v, qwen3 normalises queries
and keys. SmolLM2 is a llama.

Rows of W_q and W_k have the order in which ``rope`` expects the pairs of a head: two
halves in the files of Hugging Face, but interleaved in a GGUF file of the architecture
llama, whose converter permutes them. GPT-2 has W_q, W_k and W_v as one tensor, and all
matrices of its blocks as (in, out), the transposes of ours.

Radford et al. 2019 (GPT-2); Touvron et al. 2023 (Llama); Jiang et al. 2023 (Mistral);
Yang et al. 2024 (Qwen2); Yang et al. 2025 (Qwen3).
"""

import dataclasses
import math
import re

import numpy as np

from minigrad import nn, no_grad
from minigrad.arguments import number, one_of, whole
from minigrad.nn import init

from ..transformer.block import Block
from ..transformer.config import TransformerConfig
from ..transformer.decoder_only import DecoderOnly
from .blocks import BLOCKS
from .files import renamed
from .marian import ACTIVATIONS
from .quantized import QuantizedEmbedding, QuantizedLinear

LLAMA = dict(
    positions="rope",
    norm_kind="rms",
    feed_forward="gated",
    activation="silu",
    bias=False,
)
PARTS = {  # model_type: options of a TransformerConfig
    "gpt2": dict(positions="learned", activation="gelu_tanh"),
    "llama": LLAMA,
    "mistral": LLAMA,
    "qwen2": LLAMA | dict(bias="qkv"),
    "qwen3": LLAMA | dict(attention="qk-norm"),
}
FIXED = {  # other values are another architecture, with layers that we do not have
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "use_sliding_window": False,
    "partial_rotary_factor": 1.0,
}
FIXED_GGUF = {  # the same, after "llama."
    "rope.scaling.type": "none",
    "rope.scaling.attn_factor": 1.0,
    "rope.scale_linear": 1.0,
    "attention.scale": 0.0,
    "attention.sliding_window": 0,
    "logit_scale": 1.0,
    "expert_count": 0,
}
SCALINGS = {  # rope_type: what its other settings must be, if they are there
    "default": {},
    "linear": {},
    "yarn": {
        "beta_fast": 32,
        "beta_slow": 1,
        "truncate": True,
        "attention_factor": None,
        "mscale": None,
        "mscale_all_dim": None,
    },
    "llama3": {"low_freq_factor": 1, "high_freq_factor": 4},
}
ENTRIES = {  # entry of a llama's config.json: GPT-2's, and GGUF's after "llama."
    "hidden_size": ("n_embd", "embedding_length"),
    "num_hidden_layers": ("n_layer", "block_count"),
    "num_attention_heads": ("n_head", "attention.head_count"),
    "num_key_value_heads": (None, "attention.head_count_kv"),
    "head_dim": (None, "attention.key_length"),
    "intermediate_size": ("n_inner", "feed_forward_length"),
    "hidden_act": ("activation_function", None),
    "rms_norm_eps": ("layer_norm_epsilon", "attention.layer_norm_rms_epsilon"),
    "max_position_embeddings": ("n_positions", "context_length"),
    "rope_theta": (None, "rope.freq_base"),
}
GPT2_NAMES = {  # part of a name in the file: part of a name in the model
    "transformer.": "",
    "wte.weight": "decoder.embedding",
    "wpe": "decoder.scheme.table",
    "h.": "decoder.blocks.",
    "ln_1": "self_attn_norm",
    "ln_2": "feed_forward_norm",
    "ln_f": "decoder.final_norm",
    "attn.c_attn": "self_attn.W_qkv",
    "attn.c_proj": "self_attn.W_o",
    "mlp.c_fc": "feed_forward.linear1",
    "mlp.c_proj": "feed_forward.linear2",
    "lm_head": "output",
}
LLAMA_NAMES = {
    "model.embed_tokens.weight": "decoder.embedding",
    "model.layers": "decoder.blocks",
    "model.norm": "decoder.final_norm",
    "input_layernorm": "self_attn_norm",
    "post_attention_layernorm": "feed_forward_norm",
    "q_norm.weight": "g_q",
    "k_norm.weight": "g_k",
    "q_proj": "W_q",
    "k_proj": "W_k",
    "v_proj": "W_v",
    "o_proj": "W_o",
    "mlp.gate_proj": "feed_forward.gate",
    "mlp.up_proj": "feed_forward.up",
    "mlp.down_proj": "feed_forward.down",
    "lm_head": "output",
}
GGUF_NAMES = {
    "token_embd.weight": "decoder.embedding",
    "output_norm": "decoder.final_norm",
    "blk.": "decoder.blocks.",
    "attn_norm": "self_attn_norm",
    "ffn_norm": "feed_forward_norm",
    "attn_q_norm.weight": "self_attn.g_q",
    "attn_k_norm.weight": "self_attn.g_k",
    "attn_q.": "self_attn.W_q.",
    "attn_k.": "self_attn.W_k.",
    "attn_v.": "self_attn.W_v.",
    "attn_output": "self_attn.W_o",
    "ffn_": "feed_forward.",
}
IGNORED = ".attn.bias", ".attn.masked_bias", "rotary_emb.inv_freq"  # masks, angles


def load(tensors, config, quantized=False):
    """Return the DecoderOnly with these settings and weights, in float32.

    tensors     {name: array or StoredTensor}; one of them is read at a time
    config      the dict in a config.json, or the metadata of a GGUF file
    quantized   True: matrices in blocks stay in blocks, and have no gradients

    Raises ValueError or TypeError for an architecture that is not one of ``PARTS``, and
    for weights that do not fit the settings.
    """
    is_gguf = "general.architecture" in config
    entries = _from_metadata(config, tensors) if is_gguf else _from_json(config)
    kind = entries["model_type"]
    try:
        options, length = _options(entries)
    except KeyError as error:
        raise ValueError(f"The config of the {kind} has no {error}.") from None
    _check_size(options, tensors)
    names = GGUF_NAMES if is_gguf else {"gpt2": GPT2_NAMES}.get(kind, LLAMA_NAMES)
    kept = {name: name for name in tensors if not name.endswith(IGNORED)}
    places = renamed(kept, names)  # {our name: the file's name}
    if quantized:
        in_blocks = {
            name: tensors[place]
            for name, place in places.items()
            if getattr(tensors[place], "kind", None) in BLOCKS
        }
        model = _with_blocks(options, in_blocks)
        places = {name: places[name] for name in places.keys() - in_blocks.keys()}
    else:
        model = DecoderOnly(options, init.Zeros())
    if length is not None:
        model.extend(length)
    _fill(model, tensors, places, is_gpt2=kind == "gpt2")
    return model.eval()


def _from_json(config):
    """Return the entries of a config.json, under the names of a llama's."""
    entries = {name: value for name, value in config.items() if value is not None}
    kind = one_of("config", "model_type", entries.get("model_type"), tuple(PARTS))
    for name, expected in FIXED.items():
        one_of(kind, name, entries.get(name, expected), [expected])
    for name, (gpt2, _) in ENTRIES.items():
        if kind == "gpt2" and gpt2 in entries:
            entries[name] = entries[gpt2]
    return entries


def _from_metadata(metadata, tensors):
    """Return the entries that a llama's config.json has, from a GGUF file."""
    kind = metadata["general.architecture"]
    one_of("GGUF", "general.architecture", kind, ("llama", "qwen2", "qwen3"))
    own = {
        key.removeprefix(f"{kind}."): value
        for key, value in metadata.items()
        if key.startswith(f"{kind}.")
    }
    for name, expected in FIXED_GGUF.items():
        one_of("GGUF", f"{kind}.{name}", own.get(name, expected), [expected])
    entries = {name: own[key] for name, (_, key) in ENTRIES.items() if key in own}
    if "token_embd.weight" in tensors:
        entries["vocab_size"] = tensors["token_embd.weight"].shape[0]
    tied = "output.weight" not in tensors
    entries |= {"model_type": kind, "tie_word_embeddings": tied}
    entries["rotated"] = own.get("rope.dimension_count")
    return entries | {"interleaved": kind == "llama"}


def _options(entries):
    """Return the TransformerConfig, and the length for ``extend`` or None."""
    kind = entries["model_type"]
    options = dict(PARTS[kind], max_length=entries["max_position_embeddings"])
    if kind == "mistral" and "sliding_window" in entries:
        options |= {"attention": "window", "window": entries["sliding_window"]}
    if "hidden_act" in entries:
        activation = entries["hidden_act"]
        options["activation"] = ACTIVATIONS.get(str(activation), activation)
    length = None if kind == "gpt2" else _set_rotation(options, entries)
    config = TransformerConfig(
        entries["vocab_size"],
        width=entries["hidden_size"],
        heads=entries["num_attention_heads"],
        head_width=entries.get("head_dim"),
        key_heads=entries.get("num_key_value_heads"),
        layers=entries["num_hidden_layers"],
        hidden=entries.get("intermediate_size"),
        eps=entries.get("rms_norm_eps"),
        scaled=False,
        tied=entries.get("tie_word_embeddings", kind == "gpt2"),
        **options,
    )
    if entries.get("rotated") is not None:  # of the entries of a head
        one_of("GGUF", "rope.dimension_count", entries["rotated"], [config.head_size])
    return config, length


def _set_rotation(options, entries):
    """Set the options of the rotary positions; return the length for ``extend``."""
    rope = entries.get("rope_parameters", entries.get("rope_scaling", {}))
    if not isinstance(rope, dict):
        raise TypeError(f"config: the settings of rope are {rope!r}; expected a dict.")
    kind = rope.get("rope_type", rope.get("type", "default"))
    one_of("config", "rope_type", kind, tuple(SCALINGS))
    for name, expected in SCALINGS[kind].items():
        one_of(f"rope {kind!r}", name, rope.get(name, expected), [expected])
    options["base"] = rope.get("rope_theta", entries.get("rope_theta", 10000.0))
    options["interleaved"] = entries.get("interleaved", False)
    if kind == "default":
        return None
    options["positions"] = f"rope+{kind}"
    trained = "original_max_position_embeddings"
    trained = whole("rope", trained, rope.get(trained, options["max_length"]), least=1)
    options["max_length"] = trained
    return trained * number("rope", "factor", rope["factor"], least=1)


def _check_size(config, tensors):
    """Raise ValueError if the file has fewer numbers than the matrices of the model.

    So a wrong size cannot allocate more memory than the file has.
    """
    D, H, E = config.width, config.heads, config.head_size
    Hk = H if config.key_heads is None else config.key_heads
    matrices = 3 if config.feed_forward == "gated" else 2
    block = 2 * (H + Hk) * E * D + matrices * D * config.hidden_width
    expected = config.vocabulary * D * (1 if config.tied else 2) + config.layers * block
    if config.positions == "learned":
        expected += config.max_length * D
    found = sum(math.prod(tensor.shape) for tensor in tensors.values())
    if found < expected:
        raise ValueError(
            f"The file has {found} numbers; expected at least {expected} for the sizes "
            "of its config."
        )


def _with_blocks(config, tensors):
    """Return the DecoderOnly in which these tensors are the weights of its matrices.

    tensors   {our name of a matrix: the StoredTensor of its blocks}

    It is built one block at a time, as a whole model in float32 needs more memory.
    """
    rng, left = init.Zeros(), dict(tensors)

    def replace(module, prefix):
        parents = dict(module.named_modules())
        for name, layer in parents.items():
            weight = f"{prefix}{name}.weight"
            if isinstance(layer, nn.Linear) and weight in left:
                parent, _, last = name.rpartition(".")
                tensor = _fitting(weight, left.pop(weight), layer.weight.shape)
                setattr(parents[parent], last, QuantizedLinear(tensor, layer.bias))

    model = DecoderOnly(dataclasses.replace(config, layers=1), rng)
    model.config, stack = config, model.decoder
    stack.blocks = []
    replace(model, "")
    table = "decoder.embedding"
    if table in left:
        tensor = _fitting(table, left.pop(table), stack.embedding.shape)
        stack.embedding = QuantizedEmbedding(tensor)
        if config.tied:
            model.output = QuantizedLinear(tensor)
    for i in range(config.layers):
        block = Block(config, stack.scheme, causal=True, rng=rng)
        replace(block, f"decoder.blocks.{i}.")
        stack.blocks.append(block)
    for name in left:
        raise ValueError(f"The file has {name!r} in blocks; expected floats.")
    return model


def _fitting(name, tensor, shape):
    """Return a tensor of this shape; raise ValueError for another one."""
    if tensor.shape != shape:
        raise ValueError(
            f"The tensor of {name!r} has the shape {tensor.shape}; expected {shape} for "
            "the sizes of the config."
        )
    return tensor


def _fill(model, tensors, places, is_gpt2):
    """Copy the tensors into the parameters; places is {our name: the file's name}."""
    parameters = dict(model.named_parameters())
    sources = {name: name for name in parameters}
    if is_gpt2:
        sources = {name: re.sub(r"\.W_[qkv]\.", ".W_qkv.", name) for name in parameters}
    for name in sources.values():
        if name not in places:
            raise ValueError(f"The file has no tensor for {name!r}.")
    for name in places.keys() - sources.values() - {"output.weight"}:
        raise ValueError(
            f"The file has a tensor {places[name]!r}, and its config describes a model "
            "without it."
        )
    for name, parameter in parameters.items():
        place = places[sources[name]]
        tensor = tensors[place]
        array = tensor.array() if hasattr(tensor, "array") else tensor
        if is_gpt2 and ".blocks." in name:
            array = array.T
            if name != sources[name]:  # W_q, W_k and W_v, one below the other
                part = "qkv".index(re.search(r"\.W_([qkv])\.", name)[1])
                array = np.array_split(array, 3)[part]
        if array.shape != parameter.shape:
            raise ValueError(
                f"The tensor {place!r} gives {name!r} the shape {array.shape}; "
                f"expected {parameter.shape} for the sizes of the config."
            )
        with no_grad():
            parameter[...] = array
