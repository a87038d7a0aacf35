"""GRU and LSTM: values and gradients equal the peer's, as recorded.

``tests/golden/recurrent.npz`` holds what PyTorch says (float64, its version is in the
file), recorded by

    python -m tests.minigrad.test_recurrent_peer

which runs ``peer`` below and writes inputs, parameters, values and gradients.
"""

import pathlib

import numpy as np
import pytest

from minigrad import Tensor

from .recurrent_cases import CLOSE, LAYERS, RAGGED, STATES, B, D, H, T

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "recurrent.npz"


def layer64(layer):
    """The layer with its parameters in float64."""
    for parameter in layer.parameters():
        parameter.data = parameter.data.astype(np.float64)
    return layer


PROBLEMS = {
    f"{kind}-{name}": (kind, *options)
    for kind in LAYERS
    for name, options in {
        "one": (1, False, None),
        "both-ways-lengths": (2, True, RAGGED),
    }.items()
}


def problem(name):
    """Inputs and parameters of a case, and cotangents for its outputs."""
    kind, layers, both, _ = PROBLEMS[name]
    rng = np.random.default_rng(sum(name.encode()))
    layer = layer64(LAYERS[kind](D, H, layers, bidirectional=both, rng=rng))
    known = {"x": rng.standard_normal((B, T, D))}
    known |= {s: rng.standard_normal((layers * (1 + both), B, H)) for s in STATES[kind]}
    known |= layer.state_dict()
    known["d_output"] = rng.standard_normal((B, T, H * (1 + both)))
    known |= {f"d_{s[0]}_n": rng.standard_normal(known[s].shape) for s in STATES[kind]}
    return known


def ours(name, known):
    """{name: value or gradient} of a case, as minigrad has it."""
    kind, layers, both, lengths = PROBLEMS[name]
    layer = layer64(LAYERS[kind](D, H, layers, bidirectional=both))
    parameters = dict(layer.named_parameters())
    layer.load_state_dict({n: known[n] for n in parameters})
    leaves = {n: Tensor(known[n], requires_grad=True) for n in ("x", *STATES[kind])}
    x, *states = leaves.values()
    output, last = layer(x, tuple(states) if kind == "lstm" else states[0], lengths)
    last = last if kind == "lstm" else (last,)
    results = dict(zip(("output", "h_n", "c_n"), (output, *last)))
    loss = sum((y * Tensor(known[f"d_{n}"])).sum() for n, y in results.items())
    loss.backward()
    leaves |= parameters
    return {n: y.numpy() for n, y in results.items()} | {
        f"dL/d {n}": leaf.grad for n, leaf in leaves.items()
    }


def peer(torch, name, known):
    """The same from PyTorch; ragged batches through its packed sequences."""
    kind, layers, both, lengths = PROBLEMS[name]
    make = torch.nn.LSTM if kind == "lstm" else torch.nn.GRU
    layer = make(D, H, layers, batch_first=True, bidirectional=both).double()
    parameters = dict(layer.named_parameters())
    layer.load_state_dict({n: torch.tensor(known[n]) for n in parameters})
    leaves = {
        n: torch.tensor(known[n], requires_grad=True) for n in ("x", *STATES[kind])
    }
    x, *states = leaves.values()
    if lengths is not None:
        x = torch.nn.utils.rnn.pack_padded_sequence(
            x, torch.tensor(lengths), batch_first=True, enforce_sorted=False
        )
    output, last = layer(x, tuple(states) if kind == "lstm" else states[0])
    if lengths is not None:
        output, _ = torch.nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
    last = last if kind == "lstm" else (last,)
    results = dict(zip(("output", "h_n", "c_n"), (output, *last)))
    sum(
        (y * torch.tensor(known[f"d_{n}"])).sum() for n, y in results.items()
    ).backward()
    leaves |= parameters
    return {n: y.detach().numpy() for n, y in results.items()} | {
        f"dL/d {n}": leaf.grad.numpy() for n, leaf in leaves.items()
    }


@pytest.mark.parametrize("name", PROBLEMS)
def test_equal_to_the_recorded_peer(name):
    with np.load(GOLDEN) as file:
        stored = {
            tuple(k.split(":")[1:]): file[k] for k in file if k.startswith(name + ":")
        }
    known = {n: a for (part, n), a in stored.items() if part == "in"}
    expected = {n: a for (part, n), a in stored.items() if part == "out"}
    found = ours(name, known)
    assert found.keys() == expected.keys()
    for n, wanted in expected.items():
        np.testing.assert_allclose(found[n], wanted, **CLOSE, err_msg=n)


def record():
    """Write the golden file."""
    import torch

    arrays = {"torch": np.array(torch.__version__)}
    for name in PROBLEMS:
        known = problem(name)
        arrays |= {f"{name}:in:{n}": a for n, a in known.items()}
        arrays |= {f"{name}:out:{n}": a for n, a in peer(torch, name, known).items()}
    GOLDEN.parent.mkdir(exist_ok=True)
    np.savez_compressed(GOLDEN, **arrays)


if __name__ == "__main__":
    record()
