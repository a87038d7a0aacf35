"""Convert parameter names to torch's, and back: in layers, blocks and whole models.

    torch                                    here
    in_proj_weight (3 D, D)                  W_q, W_k, W_v .weight, stacked
    q_proj_weight, k_..., v_proj_weight      the same, where kdim or vdim is not D
    in_proj_bias (3 D,)                      W_q, W_k, W_v .bias
    out_proj.weight, out_proj.bias           W_o .weight, .bias

These are the names of torch.nn.MultiheadAttention. A module that contains attention,
such as a Transformer's block, lists torch's names for its other parts in an attribute
``torch_names``. All other layers (GRU, LSTM, Linear, Embedding, LayerNorm) have torch's
names already.

    torch.nn                     here
    TransformerEncoderLayer      Block
    TransformerDecoderLayer      Block with cross=True
    TransformerEncoder           DecoderOnly.decoder, EncoderDecoder.encoder
    TransformerDecoder           EncoderDecoder.decoder
    Transformer                  EncoderDecoder, with final_norm=True if it is post-norm

A torch.nn.Transformer has no embedding tables. ``without`` leaves them out of the
exported state, and ``keep`` leaves them unchanged. The same holds for learned positions
and for output.weight, which a model with tied=False has. Every other name must exist
and have the correct shape:

    TABLES = ("encoder.embedding", "decoder.embedding")
    theirs.load_state_dict(
        {n: torch.from_numpy(a) for n, a in torch_state(ours, without=TABLES).items()}
    )
    load_torch_state(ours, theirs.state_dict(), keep=TABLES)

Both compute the same if torch's module has batch_first=True and ours uses no positions,
or adds them to the input. In torch, a boolean attn_mask or key_padding_mask
is True for what may *not* be attended: ~mask of ours. A state holds neither the number
of heads nor the activation. With bias=False torch's norms have no biases either; ours
start at 0 and remain 0 if ``keep`` names them as well.
"""

import numpy as np

from minigrad.arguments import plain

PARTS = ("W_q", "W_k", "W_v")  # in the order of torch


def torch_state(module, without=()):
    """Return {torch's name: copy of the array}, for torch's load_state_dict.

    without   torch's names of parameters to leave out, such as embedding tables

    Raises ValueError for an unknown name in ``without``, and for layers with fewer key
    heads than query heads, which torch does not have.
    """
    names, state = _names(module, "torch_state"), module.state_dict()
    _check_known(module, "torch_state: without", without, names)
    return {
        name: _stacked([state[part] for part in parts])
        for name, parts in names.items()
        if name not in without
    }


def load_torch_state(module, state, keep=()):
    """Load the values of torch's state_dict(); the parameters keep their dtypes.

    keep   torch's names of parameters that stay unchanged, such as embedding tables

    Raises ValueError with a list of all names that are missing, unexpected or of
    another shape, and TypeError for a value that is not an array of real numbers. The
    module is then unchanged.
    """
    if not isinstance(state, dict):
        raise TypeError(
            f"load_torch_state: state is a {type(state).__name__}; expected a dict of "
            "arrays by name, such as torch's state_dict()."
        )
    names, values = _names(module, "load_torch_state"), module.state_dict()
    _check_known(module, "load_torch_state: keep", keep, names)
    names = {name: parts for name, parts in names.items() if name not in keep}
    problems = [f"missing: {name}" for name in names if name not in state]
    problems += [f"unexpected: {name}" for name in state if name not in names]
    for name in names.keys() & state.keys():
        parts, array = names[name], _array(name, state[name])
        ours = [values[part] for part in parts]
        shape = _stacked(ours).shape
        if array.shape != shape:
            problems.append(
                f"does not fit: {name}: expected {shape}, found {array.shape}"
            )
        elif len(parts) == 1:
            values[parts[0]] = array
        else:
            values |= zip(parts, np.split(array, np.cumsum([*map(len, ours)])[:-1]))
    if problems:
        listed = "\n  ".join(sorted(problems))
        raise ValueError(
            f"{type(module).__name__} cannot load this state of torch's; nothing was "
            f"changed.\n  {listed}"
        )
    module.load_state_dict(values)


def _stacked(arrays):
    """Return the arrays, one below the other; a single one may be a number."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _check_known(module, argument, chosen, names):
    """Raise ValueError unless all the chosen names are torch's for this module."""
    unknown = [name for name in chosen if name not in names]
    if unknown:
        raise ValueError(
            f"{argument} has {unknown[0]!r}, which is not a parameter of "
            f"{type(module).__name__}; expected some of {', '.join(names)}."
        )


def _array(name, value):
    """Return the array of a value, which may be a tensor of torch."""
    try:
        array = plain(value)
        reason = f"it holds {array.dtype}"
    except (TypeError, ValueError, RuntimeError) as error:  # from torch or NumPy
        reason, array = str(error).split("\n")[0].rstrip("."), None
    if array is None or array.dtype.kind not in "biuf":
        raise TypeError(
            f"load_torch_state: {name} cannot be read as an array ({reason}); expected "
            "real numbers of a type that NumPy has. For a tensor of torch, use "
            "value.detach().to_dense().float()."
        )
    return array


def _names(module, caller):
    """Return {torch's name: the names of our parameters, which are stacked}."""
    names, stacked = {}, set()
    for path, part in module.named_modules():
        if hasattr(part, "num_kv_heads"):
            for name, ours in _attention_names(part, caller).items():
                parts = names[_join(path, name)] = [_join(path, n) for n in ours]
                stacked.update(parts)
    names |= {name: [name] for name in module.state_dict() if name not in stacked}
    return {_torch_name(module, name): parts for name, parts in names.items()}


def _attention_names(layer, caller):
    """Return {torch's name: our names} of a MultiHeadAttention."""
    if layer.num_kv_heads != layer.num_heads:
        raise ValueError(
            f"{caller}: a MultiHeadAttention has {layer.num_heads} query heads and "
            f"{layer.num_kv_heads} key heads; expected equal numbers, as torch has "
            "them."
        )
    if layer.kdim == layer.vdim == layer.embed_dim:
        names = {"in_proj_weight": [f"{part}.weight" for part in PARTS]}
    else:
        names = {f"{part[-1]}_proj_weight": [f"{part}.weight"] for part in PARTS}
    if layer.W_q.bias is not None:
        names["in_proj_bias"] = [f"{part}.bias" for part in PARTS]
    names["out_proj.weight"] = ["W_o.weight"]
    if layer.W_o.bias is not None:
        names["out_proj.bias"] = ["W_o.bias"]
    return names


def _torch_name(module, name):
    """Replace our names of parts by torch's, beginning with the innermost part."""
    for path, part in reversed(module.named_modules()):
        for ours, theirs in getattr(part, "torch_names", {}).items():
            before = _join(path, ours) + "."
            if name.startswith(before):
                name = _join(_join(path, theirs), name[len(before) :])
                break
    return name


def _join(path, name):
    return f"{path}.{name}" if path and name else path or name
