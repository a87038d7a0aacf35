"""The parameters of MultiHeadAttention under the names of torch.nn.MultiheadAttention.

    torch                                    here
    in_proj_weight (3 D, D)                  W_q, W_k, W_v .weight, one below the other
    q_proj_weight, k_..., v_proj_weight      the same, where kdim or vdim is not D
    in_proj_bias (3 D,)                      W_q, W_k, W_v .bias
    out_proj.weight, out_proj.bias           W_o .weight, .bias

Both compute the same from them, if torch's is made with batch_first=True. There, a
boolean attn_mask or key_padding_mask is True for what may *not* attend: ~mask of ours.
"""

import numpy as np

from .masks.checks import plain

PARTS = ("W_q", "W_k", "W_v")  # in the order of torch


def torch_state(layer):
    """{torch's name: array}: copies, for load_state_dict of torch after from_numpy.

    Raises ValueError for fewer key heads than query heads, which torch's has not.
    """
    found, state = layer.state_dict(), {}
    for name, ours in _names(layer).items():
        state[name] = np.concatenate([found[each] for each in ours])
    return state


def load_torch_state(layer, state):
    """Copy the values of torch's state_dict() in; they take the parameters' dtype.

    Raises ValueError, which lists all that is missing, unexpected or of another shape;
    then nothing is loaded. So it does for fewer key heads than query heads.
    """
    if not isinstance(state, dict):
        raise TypeError(
            f"load_torch_state: state is a {type(state).__name__}; expected a dict of "
            "arrays by name, such as torch's state_dict()."
        )
    names, sizes = _names(layer), dict(layer.named_parameters())
    lines = [f"missing: {name}" for name in names if name not in state]
    lines += [f"unexpected: {name}" for name in state if name not in names]
    values = {}
    for name in names.keys() & state.keys():
        value, parts = plain(state[name]), [sizes[each] for each in names[name]]
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
            "MultiHeadAttention cannot load this state of torch's; nothing was "
            f"changed.\n  {listed}"
        )
    layer.load_state_dict(values)


def _names(layer):
    """{torch's name: names of the parameters here, to be stacked}"""
    if not hasattr(layer, "num_kv_heads"):
        raise TypeError(
            f"torch_state: found a {type(layer).__name__}; expected a "
            "MultiHeadAttention."
        )
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
