"""Parameters under torch's names, and back: layers, blocks, whole models.

    torch                                    here
    in_proj_weight (3 D, D)                  W_q, W_k, W_v .weight, one below the other
    q_proj_weight, k_..., v_proj_weight      the same, where kdim or vdim is not D
    in_proj_bias (3 D,)                      W_q, W_k, W_v .bias
    out_proj.weight, out_proj.bias           W_o .weight, .bias

These are the names of torch.nn.MultiheadAttention. A module that contains some, such as
a Transformer's block, says under ``torch_names`` what torch calls its other parts; all
else (GRU, LSTM, Linear, Embedding, LayerNorm) has torch's names anyway.

    torch.nn                     here
    TransformerEncoderLayer      Block
    TransformerDecoderLayer      Block with cross=True
    TransformerEncoder           DecoderOnly.decoder, EncoderDecoder.encoder
    TransformerDecoder           EncoderDecoder.decoder
    Transformer                  EncoderDecoder, with final_norm=True if it is post-norm

Ours have their tables of words beside the layers, torch's leave them to who uses them.
So they stay behind on the way to a torch.nn.Transformer, and as they are on the way
back; all other names have to be there, each of its shape:

    TABLES = ("encoder.embedding", "decoder.embedding")
    theirs.load_state_dict(
        {n: torch.from_numpy(a) for n, a in torch_state(ours, without=TABLES).items()}
    )
    load_torch_state(ours, theirs.state_dict(), keep=TABLES)

Both compute the same, if torch's is made with batch_first=True, and ours with positions
that are added to the input, or none. There, a boolean attn_mask or key_padding_mask is
True for what may *not* attend: ~mask of ours. A state does not tell the number of heads
or the activation. With bias=False torch's norms have no biases either; ours have, which
begin as 0, and stay so if they are named beside the tables.
"""

import numpy as np

from minigrad import nn

from ..checks import plain

PARTS = ("W_q", "W_k", "W_v")  # in the order of torch


def torch_state(module, without=()):
    """{torch's name: array}: copies, for load_state_dict of torch after from_numpy.

    without   names, torch's, of what torch's module has not, such as tables of words

    Raises ValueError for a name that there is not, and for fewer key heads than query
    heads, which torch's has not.
    """
    _check_module(module)
    names = _names(module)
    without = _chosen("torch_state", "without", without, module, names)
    found, state = module.state_dict(), {}
    for name, ours in names.items():
        if name not in without:
            state[name] = np.concatenate([found[each] for each in ours])
    return state


def load_torch_state(module, state, keep=()):
    """Copy the values of torch's state_dict() in; they take the parameters' dtype.

    keep   names, torch's, of what the state has not, such as tables of words: they stay
           as they are

    Raises ValueError, which lists all that is missing, unexpected or of another shape;
    then nothing is loaded. So it does for a name that there is not, and for fewer key
    heads than query heads. Raises TypeError, with the name, for what NumPy cannot read.
    """
    _check_module(module)
    if not isinstance(state, dict):
        raise TypeError(
            f"load_torch_state: state is a {type(state).__name__}; expected a dict of "
            "arrays by name, such as torch's state_dict()."
        )
    names, sizes = _names(module), module.state_dict()
    keep = _chosen("load_torch_state", "keep", keep, module, names)
    names = {name: ours for name, ours in names.items() if name not in keep}
    lines = [f"missing: {name}" for name in names if name not in state]
    lines += [
        f"unexpected: {name}{', which is in keep' * (name in keep)}"
        for name in state
        if name not in names
    ]
    values = {}
    for name in names.keys() & state.keys():
        value, parts = _array(name, state[name]), [sizes[each] for each in names[name]]
        expected = (sum(len(part) for part in parts), *parts[0].shape[1:])
        if value.shape != expected:
            lines.append(
                f"does not fit: {name}: expected {expected}, found {value.shape}"
            )
            continue
        ends = np.cumsum([len(part) for part in parts])[:-1]
        values |= zip(names[name], np.split(value, ends))
    if lines:
        listed = "\n  ".join(sorted(lines))
        raise ValueError(
            f"{type(module).__name__} cannot load this state of torch's; nothing was "
            f"changed.\n  {listed}"
        )
    module.load_state_dict({n: values.get(n, size) for n, size in sizes.items()})


def _chosen(function, argument, given, module, names):
    """The set of ``given``, if all are among ``names``, those that torch would use."""
    if isinstance(given, str):
        raise TypeError(
            f"{function}: {argument} is {given!r}; expected a tuple of names."
        )
    wrong = [name for name in given if name not in names]
    if wrong:
        raise ValueError(
            f"{function}: {argument} has {wrong[0]!r}, and {type(module).__name__} no "
            f"such parameter; expected some of {', '.join(names)}."
        )
    return set(given)


def _array(name, value):
    """The array of a value; TypeError, with the name, for what NumPy cannot read."""
    try:
        found = plain(value)
        if found.dtype.kind in "biuf":
            return found
        why = f"it holds {found.dtype}"
    except Exception as problem:  # torch raises what it likes
        why = str(problem).split("\n")[0].rstrip(".") or type(problem).__name__
    raise TypeError(
        f"load_torch_state: {name} cannot be read as an array ({why}); expected real "
        "numbers that NumPy knows: of a tensor of torch's, "
        "value.detach().to_dense().float() has them."
    )


def _names(module):
    """{torch's name: names of the parameters here, to be stacked}"""
    names, taken = {}, set()
    for path, part in module.named_modules():
        if hasattr(part, "num_kv_heads"):
            for name, ours in _attention_names(part).items():
                ours = names[_joined(path, name)] = [_joined(path, n) for n in ours]
                taken.update(ours)
    names |= {name: [name] for name in module.state_dict() if name not in taken}
    return {_renamed(module, name): ours for name, ours in names.items()}


def _attention_names(layer):
    if layer.num_kv_heads != layer.num_heads:
        raise ValueError(
            f"MultiHeadAttention: has {layer.num_heads} query heads and "
            f"{layer.num_kv_heads} key heads; torch.nn.MultiheadAttention has as many "
            "of both."
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


def _renamed(module, name):
    """``name`` with torch's names for its parts, from the innermost out."""
    for path, part in reversed(module.named_modules()):
        for ours, theirs in getattr(part, "torch_names", {}).items():
            before = _joined(path, ours) + "."
            if name.startswith(before):
                name = _joined(_joined(path, theirs), name[len(before) :])
                break
    return name


def _joined(path, name):
    return f"{path}.{name}" if path and name else path or name


def _check_module(module):
    if not isinstance(module, nn.Module):
        raise TypeError(
            f"torch_state: found a {type(module).__name__}; expected a module, such as "
            "a MultiHeadAttention."
        )
