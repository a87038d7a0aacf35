"""A published Marian model from a folder: ``model = load("opus-mt-en-fr")``.

    config.json          the sizes                           config.py
    model.safetensors    the weights, under these names      minigrad/safetensors.py
    vocab.json, source.spm, target.spm                       tokenizer.py

The names of the file become those of our layers by a table; nothing else is done to the
numbers, whatever their width is on disk. The file may hold one table of embeddings
under several names, and the positions, which are computed here; both are compared.

Before any layer is built, every size in ``config.json`` has been found in the weights,
so that no number in it can ask for more memory than the files have. A pickle is a
program, which runs when it is read; it is refused, with the way to convert it.
"""

import os

import numpy as np

from minigrad import checkpoint

from ..positions import sinusoidal
from .config import read_config
from .model import Marian
from .tokenizer import read_tokenizer

CONVERT = (
    'python -c "import transformers; transformers.MarianMTModel.from_pretrained('
    "'{0}'{1}).save_pretrained('{0}', safe_serialization=True)\""
)
OTHERS = {  # weights in another form: what they are, and what from_pretrained wants
    "pytorch_model.bin": ("a pickle, a program that runs when it is read, and is", ""),
    "model.safetensors.index.json": (
        "the list of a model in several files, which are",
        "",
    ),
    "tf_model.h5": ("TensorFlow's, and is", ", from_tf=True"),
}
ATTENTION = {"q_proj": "W_q", "k_proj": "W_k", "v_proj": "W_v", "out_proj": "W_o"}
SHARED = "model.shared.weight"
ENCODER = "model.encoder.embed_tokens.weight"
DECODER = "model.decoder.embed_tokens.weight"
HEAD = "lm_head.weight"
TABLES = "source_embedding", "target_embedding", "output_embedding"
BIAS = "final_logits_bias"
POSITIONS = ("model.encoder.embed_positions.weight",
             "model.decoder.embed_positions.weight")  # fmt: skip


def load(folder):
    """The Marian model in ``folder``, ready to translate.

    Its tokenizer is None if the folder has none of the three files for it. Raises
    FileNotFoundError for what is missing, ValueError with the reason for what is
    damaged, does not fit together, or is a pickle.
    """
    folder = os.fspath(folder)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"There is no folder {folder}.")
    config = read_config(folder)
    path = os.path.join(folder, "model.safetensors")
    if not os.path.exists(path):
        raise _missing(folder, path)
    try:
        state = translated(config, checkpoint.load(path))
    except checkpoint.CheckpointError:
        raise
    except ValueError as error:
        raise ValueError(f"{path} does not fit config.json: {error}.") from None
    tokenizer = read_tokenizer(folder, config)
    model = Marian(config, tokenizer, np.random.default_rng(0))
    model.load_state_dict(state)
    return model.eval()


def _missing(folder, path):
    """The error for a folder without the weights: says what is there in their place."""
    for name, (what, option) in OTHERS.items():
        found = os.path.join(folder, name)
        if os.path.exists(found):
            tensorflow = " and tensorflow are" if option else " is"
            return ValueError(
                f"{found} is {what} not read here; convert it once, where transformers"
                f"{tensorflow} installed: {CONVERT.format(folder, option)}"
            )
    return FileNotFoundError(f"There is no {path}.")


def translated(config, arrays):
    """{our name: array} from the arrays of a file, every one of them accounted for.

    Raises ValueError, in half a sentence, for one that is missing, unknown, of another
    shape, no floating-point numbers, or not finite.
    """
    left, d = Arrays(arrays), config.d_model
    state = _tables(config, left)
    V = config.decoder_vocab_size
    state[BIAS] = left.take(BIAS, (1, V))[0] if BIAS in left else np.zeros(V)
    for name in POSITIONS:
        if name in left:
            _check_positions(config, name, left.pop(name))

    for side in ("encoder", "decoder"):
        f = getattr(config, f"{side}_ffn_dim")
        attentions = ["self_attn"] + ["encoder_attn"] * (side == "decoder")
        for n in range(getattr(config, f"{side}_layers")):
            theirs, ours = f"model.{side}.layers.{n}", f"{side}.{n}"
            parts = {f"{a}.{w}": (f"{a}.{our}", (d, d))
                     for a in attentions for w, our in ATTENTION.items()}  # fmt: skip
            parts |= {"fc1": ("feed_forward.fc1", (f, d))}
            parts |= {"fc2": ("feed_forward.fc2", (d, f))}
            for at, (our, shape) in parts.items():
                weight = left.take(f"{theirs}.{at}.weight", shape)
                bias = left.take(f"{theirs}.{at}.bias", shape[:1])
                state |= {f"{ours}.{our}.weight": weight, f"{ours}.{our}.bias": bias}
            for norm in (*attentions, "final"):
                for part in ("weight", "bias"):
                    at = f"{norm}_layer_norm.{part}"
                    state[f"{ours}.{at}"] = left.take(f"{theirs}.{at}", (d,))
    if left:
        raise ValueError(f"it also has {min(left)}, and this model has no use for it")
    return state


class Arrays(dict):
    """{name: array}: those that nobody has taken yet."""

    def take(self, name, shape, *others):
        """The array of that name, which all of the others that are there must equal."""
        found = {n: self.pop(n) for n in (name, *others) if n in self}
        if not found:
            raise ValueError(f"{name} is missing")
        first = next(iter(found))
        for n, array in found.items():
            if array.shape != shape:
                raise ValueError(f"{n} has shape {array.shape}; expected {shape}")
            if array.dtype.kind != "f" or not np.isfinite(array).all():
                raise ValueError(f"{n} does not hold finite floating-point numbers")
            if n != first and not np.array_equal(array, found[first]):
                raise ValueError(f"{n} and {first} differ, and should be one")
        return found[first]


def _tables(config, left):
    """The three tables of embeddings, as many of them one as the config says."""
    source = config.vocab_size, config.d_model
    target = config.decoder_vocab_size, config.d_model
    if config.one_table:
        return dict.fromkeys(TABLES, left.take(SHARED, source, ENCODER, DECODER, HEAD))
    # newer programs write a table for each side, older ones the one that both share
    if config.share_encoder_decoder_embeddings and SHARED in left:
        shared = left.pop(SHARED)
        left.setdefault(ENCODER, shared)
        left.setdefault(DECODER, shared)
    if config.tie_word_embeddings:
        tables = [left.take(ENCODER, source), left.take(DECODER, target, HEAD)]
        return dict(zip(TABLES, [*tables, tables[1]]))
    names = {ENCODER: source, DECODER: target, HEAD: target}
    return dict(zip(TABLES, [left.take(*named) for named in names.items()]))


def _check_positions(config, name, array):
    """The positions of the file must be ours: sines first, then cosines."""
    shape = (config.max_position_embeddings, config.d_model)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}; expected {shape}")
    P = sinusoidal(*shape)
    P = np.concatenate([P[:, 0::2], P[:, 1::2]], -1)
    if array.dtype.kind != "f" or not np.allclose(array, P, atol=4e-3):  # bfloat16
        raise ValueError(f"{name} does not hold sinusoids")
