"""Load a published Marian model from a folder: ``model = load("opus-mt-en-fr")``.

    config.json          the sizes                           config.py
    model.safetensors    the weights, under these names      minigrad/safetensors.py
    vocab.json, source.spm, target.spm                       tokenizer.py

The weights are renamed and not changed. A file may hold copies of an embedding table,
which must be equal, and the positions, which must agree with those computed here.

All sizes of ``config.json`` are compared with the weights before a layer is built, so
that a wrong number cannot allocate more memory than the files have. A pickle
(``pytorch_model.bin``) is a program that runs when it is read; it is never read.
"""

import os

import numpy as np

from minigrad import checkpoint

from .config import read_config
from .model import Marian, sines_then_cosines
from .tokenizer import read_tokenizer

CONVERT = (
    'python -c "import transformers; transformers.MarianMTModel.from_pretrained('
    "'{0}'{1}).save_pretrained('{0}', safe_serialization=True)\""
)
OTHER_FORMATS = {  # file: the option of from_pretrained
    "pytorch_model.bin": "",
    "model.safetensors.index.json": "",
    "tf_model.h5": ", from_tf=True",
}
PARTS = {  # part of a layer in the file: part of a Block
    "self_attn": "self_attn",
    "encoder_attn": "cross_attn",
    "final": "feed_forward",
}
ATTENTION = {"q_proj": "W_q", "k_proj": "W_k", "v_proj": "W_v", "out_proj": "W_o"}
TABLES = "source_embedding", "target_embedding", "output_embedding"


def load(folder):
    """Return the Marian model in ``folder``, ready to translate.

    Its tokenizer is None if the folder has none of its files. Raises FileNotFoundError
    for a missing file, and ValueError for files that are damaged, do not fit, or have
    another format.
    """
    folder = os.fspath(folder)
    config = read_config(folder)
    path = os.path.join(folder, "model.safetensors")
    if not os.path.exists(path):
        raise _missing(folder, path)
    arrays = checkpoint.load(path)
    try:
        state = renamed(config, arrays)
    except ValueError as error:
        raise ValueError(f"{path} does not fit config.json: {error}.") from None
    model = Marian(config, read_tokenizer(folder, config), np.random.default_rng(0))
    model.load_state_dict(state)
    return model.eval()


def renamed(config, arrays):
    """Return {our name: array} of the arrays of a file; it must hold no others."""
    arrays = dict(arrays)
    state = _tables(config, arrays)
    V, bias = config.decoder_vocab_size, "final_logits_bias"
    arrays.setdefault(bias, np.zeros((1, V), np.float32))
    state[bias] = _take(arrays, bias, (1, V))[0]
    for side in ("encoder", "decoder"):
        _check_positions(config, arrays, f"model.{side}.embed_positions.weight")
    for theirs, (ours, shape) in _layer_names(config):
        state[ours] = _take(arrays, theirs, shape)
    if arrays:
        raise ValueError(f"{min(arrays)} has no use in this model")
    return state


def _missing(folder, path):
    """Return the error for a folder without safetensors."""
    for name, option in OTHER_FORMATS.items():
        if os.path.exists(os.path.join(folder, name)):
            return ValueError(
                f"{folder} has its weights in {name}; expected model.safetensors. "
                "Convert them once, where transformers is installed: "
                + CONVERT.format(folder, option)
            )
    return FileNotFoundError(f"There is no {path}.")


def _layer_names(config):
    """Yield (name in the file, (our name, shape)) of all parameters in the layers."""
    d = config.d_model
    for side in ("encoder", "decoder"):
        f = getattr(config, f"{side}_ffn_dim")
        attentions = ["self_attn"] + ["encoder_attn"] * (side == "decoder")
        linear = {
            f"{part}.{theirs}": (f"{PARTS[part]}.{ours}", (d, d))
            for part in attentions
            for theirs, ours in ATTENTION.items()
        }
        linear |= {"fc1": ("feed_forward.linear1", (f, d))}
        linear |= {"fc2": ("feed_forward.linear2", (d, f))}
        for n in range(getattr(config, f"{side}_layers")):
            layer, ours = f"model.{side}.layers.{n}", f"{side}.{n}"
            for name, (our, shape) in linear.items():
                yield f"{layer}.{name}.weight", (f"{ours}.{our}.weight", shape)
                yield f"{layer}.{name}.bias", (f"{ours}.{our}.bias", shape[:1])
            for name in (*attentions, "final"):
                for part in ("weight", "bias"):
                    our = f"{ours}.{PARTS[name]}_norm.{part}"
                    yield f"{layer}.{name}_layer_norm.{part}", (our, (d,))


def _take(arrays, name, shape, *copies):
    """Remove and return the array of that name, and its copies under other names."""
    found = {n: arrays.pop(n) for n in (name, *copies) if n in arrays}
    if not found:
        raise ValueError(f"{name} is missing")
    first = next(iter(found))
    for n, array in found.items():
        if array.shape != shape:
            raise ValueError(f"{n} has shape {array.shape}; expected {shape}")
        if n != first and not np.array_equal(array, found[first]):
            raise ValueError(f"{n} and {first} differ; expected one table")
    return found[first]


def _tables(config, arrays):
    """Return the three embedding tables; the config says which of them are the same."""
    encoder = "model.encoder.embed_tokens.weight"
    decoder = "model.decoder.embed_tokens.weight"
    shared, head = "model.shared.weight", "lm_head.weight"
    source = config.vocab_size, config.d_model
    target = config.decoder_vocab_size, config.d_model
    if config.one_table:
        table = _take(arrays, shared, source, encoder, decoder, head)
        return dict.fromkeys(TABLES, table)
    # new versions of transformers write a table for each side, old ones the shared one
    if config.share_encoder_decoder_embeddings and shared in arrays:
        table = arrays.pop(shared)
        arrays.setdefault(encoder, table)
        arrays.setdefault(decoder, table)
    if config.tie_word_embeddings:
        E = _take(arrays, decoder, target, head)
        return dict(zip(TABLES, [_take(arrays, encoder, source), E, E]))
    shapes = {encoder: source, decoder: target, head: target}
    return dict(zip(TABLES, [_take(arrays, *each) for each in shapes.items()]))


def _check_positions(config, arrays, name):
    """Raise ValueError if the file has other positions than ours."""
    shape = (config.max_position_embeddings, config.d_model)
    if name in arrays:
        P = _take(arrays, name, shape)
        if not np.allclose(P, sines_then_cosines(*shape), atol=4e-3):  # bfloat16
            raise ValueError(f"{name} does not hold sinusoids, sines before cosines")
