"""GRU and LSTM: gradients equal finite differences, and a wrong backward is caught.

The operations are also held against loops, and gradcheck against a zoo of their wrong
backwards, in ``tests/ops/recurrent.py``.
"""

import pathlib

import numpy as np
import pytest

import minigrad as mg
import minigrad.ops.recurrent as source
from minigrad import nn

from .recurrent_cases import LAYERS, RAGGED, STATES, B, D, H, T, arguments


@pytest.mark.parametrize(
    "layers, both, lengths",
    [(1, False, None), (2, False, None), (1, True, RAGGED), (2, True, RAGGED)],
)
@pytest.mark.parametrize("kind", LAYERS)
def test_gradients_into_every_weight_and_state(kind, layers, both, lengths):
    rng = np.random.default_rng(0)
    layer = LAYERS[kind](D, H, layers, both, rng=rng)
    x = rng.standard_normal((B, T, D))
    states = [rng.standard_normal((layers * (1 + both), B, H)) for _ in STATES[kind]]
    state = tuple(states) if kind == "lstm" else states[0]
    result = mg.gradcheck_module(layer, x, state, lengths)
    assert result.ok, result.message
    assert len(result.rows) == layers * (1 + both) * 4 + 1 + len(states)


@pytest.mark.parametrize("layer", [nn.GRUCell, nn.LSTMCell])
def test_gradients_of_cells(layer):
    rng = np.random.default_rng(0)
    h, c = rng.standard_normal((2, B, H))
    state = (h, c) if layer is nn.LSTMCell else h
    result = mg.gradcheck_module(
        layer(D, H, rng=rng), rng.standard_normal((B, D)), state
    )
    assert result.ok, result.message


# wrong backwards: the source with one slip each, which the check must refuse

SLIPS = {
    "gru": {
        "reset gate placed outside": (
            "np.multiply(by_n, r, out=by_m)",
            "by_m[:] = by_n",
        ),
        "reset gate everywhere": (
            "da[:, 2 * H : 3 * H] = da[:, 3 * H :]",
            "da[:, 3 * H :] = da[:, 2 * H : 3 * H]",
        ),
        "z and 1 - z swapped": ("return dh * z", "return dh * (1 - z)"),
        "way through z forgotten": ("            d += through_z\n", ""),
        "tanh not squared": ("1 - n * n, out=by_n", "1 - n, out=by_n"),
        "last step's weight only": (
            "da[:, : 3 * H].T @ h",
            "da[-1:, : 3 * H].T @ h[-1:]",
        ),
        "the state after the step": ("packing.before(states)", "states[B:]"),
        "gradient of h_n forgotten": (
            "dh = np.array(g_h[packing.order], dtype)",
            "dh = np.zeros((B, H), dtype)",
        ),
        "examples left in sorted order": ("dh0[packing.order] = dh", "dh0[:] = dh"),
        "biases shared": (
            "db_ih = np.concatenate([total[: 2 * H], total[3 * H :]])",
            "db_ih = db_hh.copy()",
        ),
        "ended examples go on": (
            "d = dh[: rows.stop - rows.start]",
            "dh[rows.stop - rows.start :] = 0\n            "
            "d = dh[: rows.stop - rows.start]",
        ),
    },
    "lstm": {
        "cell state not carried": ("return dc * f", "return 0 * dc"),
        "tanh of the cell forgotten": ("* o * (1 - k * k)", "* o"),
        "forget gate of the new cell": (
            "np.multiply(dc * c,",
            "np.multiply(dc * c_new,",
        ),
        "candidate through a sigmoid": ("1 - g * g, out=da_g", "g * (1 - g), out=da_g"),
        "gradient of c_n forgotten": (
            "dc = np.array(g_c[packing.order], dtype)",
            "dc = np.zeros((B, H), dtype)",
        ),
        "output gate too late": ("dc = dc + dh *", "dc = dc + 0 * dh *"),
    },
}


def altered(kind, old="", new=""):
    """The operation from its source with ``old`` replaced, outside the registry."""
    text = pathlib.Path(source.__file__).read_text(encoding="utf-8")
    at = text.index(old, text.index(f"def {kind}("))
    text = text[:at] + new + text[at + len(old) :]
    text = text.replace("import differentiable", "import lift as differentiable")
    names = {"__name__": "minigrad.ops.altered", "__package__": "minigrad.ops"}
    exec(compile(text, "altered source", "exec"), names)
    return names[kind]


def verdict(op, kind):
    arrays = list(arguments(kind).values())
    return mg.gradcheck(lambda *tensors: op(*tensors, RAGGED), arrays)


@pytest.mark.parametrize("kind", SLIPS)
def test_the_unaltered_source_passes(kind):
    assert verdict(altered(kind), kind).ok


@pytest.mark.parametrize(
    "kind, slip", [(kind, slip) for kind in SLIPS for slip in SLIPS[kind]]
)
def test_a_slip_is_caught(kind, slip):
    result = verdict(altered(kind, *SLIPS[kind][slip]), kind)
    assert not result.ok
    assert result.worst is not None  # a wrong number, and not a program that broke
