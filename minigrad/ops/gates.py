"""Functions of stacked gates that GRU and LSTM share, and their argument check."""

import numpy as np


def affine(x, weight, bias):
    """x W^T + b: (n, I) -> (n, gates H)."""
    return x @ weight.T if bias is None else x @ weight.T + bias


def project(x, weight, bias, out):
    """x W_k^T + b_k for each gate k, into ``out``: (N, I) -> (gates, N, H)."""
    gates, _, H = out.shape
    for k in range(gates):
        rows = slice(k * H, (k + 1) * H)
        np.matmul(x, weight[rows].T, out=out[k])
        if bias is not None:
            out[k] += bias[rows]


def by_gate(a, gates):
    """View rows (n, gates H), whose gates lie side by side, as (gates, n, H)."""
    n, width = a.shape
    return a.reshape(n, gates, width // gates).swapaxes(0, 1)


def sigmoid(a):
    """In place: 1 / (1 + e^-a) = (1 + tanh(a / 2)) / 2, which cannot overflow."""
    a *= 0.5
    np.tanh(a, out=a)
    a *= 0.5
    a += 0.5


def checked(name, gates, x, states, weight_ih, weight_hh, bias_ih, bias_hh):
    """Return the common dtype of the arguments of ``name``.

    Raises TypeError unless all are floating point, ValueError unless the shapes fit.
    """
    cell = name.endswith("_cell")
    named = {"x": x, **dict(zip(("h", "c") if cell else ("h0", "c0"), states))}
    named |= {"weight_ih": weight_ih, "weight_hh": weight_hh}
    named |= {"bias_ih": bias_ih, "bias_hh": bias_hh}
    named = {key: array for key, array in named.items() if array is not None}
    for key, array in named.items():
        found = getattr(array, "dtype", type(array).__name__)
        if getattr(found, "kind", None) != "f":
            raise TypeError(f"{name}: {key} must be floating point; found {found}.")
    letters = "(B, I)" if cell else "(B, T, I)"
    if x.ndim != (2 if cell else 3):
        raise ValueError(f"{name}: x must have shape {letters}; found {x.shape}.")
    if not cell and x.shape[1] == 0:
        raise ValueError(f"{name}: x of shape {x.shape} has no time steps, T = 0.")
    if weight_hh.ndim != 2 or weight_hh.shape[0] != gates * weight_hh.shape[1]:
        raise ValueError(
            f"{name}: weight_hh must have shape ({gates} H, H); "
            f"found {weight_hh.shape}."
        )
    H = weight_hh.shape[1]
    wanted = dict.fromkeys(named, (len(x), H))  # the states
    wanted |= {"x": x.shape, "weight_hh": weight_hh.shape}
    wanted |= {"weight_ih": (gates * H, x.shape[-1])}
    wanted |= {"bias_ih": (gates * H,), "bias_hh": (gates * H,)}
    for key, array in named.items():
        if array.shape != wanted[key]:
            raise ValueError(
                f"{name}: {key} must have shape {wanted[key]} to go with x {letters} = "
                f"{x.shape} and H = {H}; found {array.shape}."
            )
    return np.result_type(*named.values())
