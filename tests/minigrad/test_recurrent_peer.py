"""GRU and LSTM: values equal the peer's, as recorded.

``tests/golden/recurrent.npz`` holds what PyTorch says (float64, its version is in the
file), recorded by

    python -m tests.minigrad.test_recurrent_peer

which runs ``peer`` below and writes inputs, parameters and values. The gradients of the
same equations are checked by finite differences, in tests/ops.
"""

import pathlib

import numpy as np
import pytest

from .recurrent_cases import CLOSE, LAYERS, RAGGED, STATES, B, D, H, T

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "recurrent.npz"
PROBLEMS = {
    f"{kind}-{name}": (kind, *options)
    for kind in LAYERS
    for name, options in {
        "one": (1, False, None),
        "both-ways-lengths": (2, True, RAGGED),
    }.items()
}


def layer64(kind, layers, both, rng=None):
    """The layer with its parameters in float64."""
    layer = LAYERS[kind](D, H, layers, bidirectional=both, rng=rng)
    for parameter in layer.parameters():
        parameter.data = parameter.data.astype(np.float64)
    return layer


def problem(name):
    """Inputs and parameters of a case."""
    kind, layers, both, _ = PROBLEMS[name]
    rng = np.random.default_rng(sum(name.encode()))
    layer = layer64(kind, layers, both, rng)
    known = {"x": rng.standard_normal((B, T, D))}
    known |= {s: rng.standard_normal((layers * (1 + both), B, H)) for s in STATES[kind]}
    return known | layer.state_dict()


def results(kind, output, last):
    """{name: value} of what a layer returns."""
    last = last if kind == "lstm" else (last,)
    return dict(zip(("output", "h_n", "c_n"), (output, *last)))


def ours(name, known):
    kind, layers, both, lengths = PROBLEMS[name]
    layer = layer64(kind, layers, both)
    x, *states = (known.pop(n) for n in ("x", *STATES[kind]))
    layer.load_state_dict(known)
    state = tuple(states) if kind == "lstm" else states[0]
    return results(kind, *layer(x, state, lengths))


def peer(torch, name, known):
    """The same from PyTorch; ragged batches through its packed sequences."""
    rnn = torch.nn.utils.rnn
    kind, layers, both, lengths = PROBLEMS[name]
    make = torch.nn.LSTM if kind == "lstm" else torch.nn.GRU
    layer = make(D, H, layers, batch_first=True, bidirectional=both).double()
    known = {n: torch.tensor(a) for n, a in known.items()}
    x, *states = (known.pop(n) for n in ("x", *STATES[kind]))
    layer.load_state_dict(known)
    state = tuple(states) if kind == "lstm" else states[0]
    if lengths is None:
        return results(kind, *layer(x, state))
    lengths = torch.tensor(lengths)
    x = rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    output, last = layer(x, state)
    return results(kind, rnn.pad_packed_sequence(output, batch_first=True)[0], last)


@pytest.mark.parametrize("name", PROBLEMS)
def test_equal_to_the_recorded_peer(name):
    with np.load(GOLDEN) as file:
        stored = {
            tuple(k.split(":")[1:]): file[k] for k in file if k.startswith(name + ":")
        }
    expected = {n: a for (part, n), a in stored.items() if part == "out"}
    found = ours(name, {n: a for (part, n), a in stored.items() if part == "in"})
    assert found.keys() == expected.keys()
    for n, wanted in expected.items():
        np.testing.assert_allclose(found[n].data, wanted, **CLOSE, err_msg=n)


def record():
    """Write the golden file."""
    import torch

    arrays = {"torch": np.array(torch.__version__)}
    for name in PROBLEMS:
        known = problem(name)
        arrays |= {f"{name}:in:{n}": a for n, a in known.items()}
        found = peer(torch, name, known)
        arrays |= {f"{name}:out:{n}": y.detach().numpy() for n, y in found.items()}
    np.savez_compressed(GOLDEN, **arrays)


if __name__ == "__main__":
    record()
