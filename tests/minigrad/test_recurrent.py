"""GRU and LSTM: recorded values, padding, layers, and what is kept for the backward.

The gradients of the operations are checked by finite differences, in tests/ops.
"""

import pathlib

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor, nn
from minigrad.overwriting import saved_arrays

B, T, D, H = 3, 5, 7, 2  # no two equal: a lost transpose cannot pass
RAGGED = np.array([3, 5, 1])  # not sorted, with the longest and the shortest possible
GATES = {"gru": 3, "lstm": 4}
STATES = {"gru": ("h0",), "lstm": ("h0", "c0")}

# sums of at most a hundred float64 terms of order one, in two orders of summation
CLOSE = dict(rtol=1e-11, atol=1e-13)


def arguments(kind):
    """{name: array} of the arguments of the operation, in order."""
    rng = np.random.default_rng(0)
    k = GATES[kind] * H
    shapes = {"x": (B, T, D), **{name: (B, H) for name in STATES[kind]}}
    shapes |= {"weight_ih": (k, D), "weight_hh": (k, H)}
    shapes |= {"bias_ih": (k,), "bias_hh": (k,)}
    return {n: rng.standard_normal(s) / 2 for n, s in shapes.items()}


OPS = {"gru": mg.gru, "lstm": mg.lstm}
CELLS = {"gru": mg.gru_cell, "lstm": mg.lstm_cell}
LAYERS = {"gru": nn.GRU, "lstm": nn.LSTM}


# -- values of PyTorch, as recorded ----------------------------------------------------

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "recurrent.npz"
PROBLEMS = {
    f"{kind}-{name}": (kind, *options)
    for kind in LAYERS
    for name, options in {
        "one": (1, False, None),
        "both-ways-lengths": (2, True, RAGGED),
    }.items()
}


def ours(name, known):
    """{name: value} of what the layer returns."""
    kind, layers, both, lengths = PROBLEMS[name]
    layer = LAYERS[kind](D, H, layers, bidirectional=both)
    for parameter in layer.parameters():
        parameter.data = parameter.data.astype(np.float64)
    x, *states = (known.pop(n) for n in ("x", *STATES[kind]))
    layer.load_state_dict(known)
    state = tuple(states) if kind == "lstm" else states[0]
    output, last = layer(x, state, lengths)
    last = last if kind == "lstm" else (last,)
    return dict(zip(("output", "h_n", "c_n"), (output, *last)))


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


# -- padding ---------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", GATES)
def test_padding_changes_nothing(kind, reverse):
    """Not a bit of any value or gradient, whatever stands in it; NaN stays there."""
    arrays = list(arguments(kind).values())
    padding = np.arange(T) >= RAGGED[:, None]
    runs = []
    for filling in (0.0, 1e30, np.nan, np.inf):
        arrays[0] = np.where(padding[:, :, None], filling, arrays[0])
        leaves = [Tensor(a, requires_grad=True) for a in arrays]
        outputs = OPS[kind](*leaves, RAGGED, reverse)
        rng, loss = np.random.default_rng(1), 0.0
        for y in outputs:
            loss = loss + (y * rng.standard_normal(y.shape)).sum()
        loss.backward()
        runs.append([*(y.data for y in outputs), *(t.grad for t in leaves)])
        dx = leaves[0].grad
        assert (dx[padding] == 0).all() and (dx[~padding] != 0).all()
        for found, wanted in zip(runs[-1], runs[0], strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kind", GATES)
def test_a_gradient_that_arrives_at_padding_goes_nowhere(kind):
    arrays = list(arguments(kind).values())
    outputs, backward = OPS[kind].raw(*arrays, RAGGED)
    padding = np.arange(T) >= RAGGED[:, None]
    g = [np.ones_like(y) for y in outputs]
    clean = backward(g)
    g[0][padding] = np.nan
    for found, wanted in zip(backward(g), clean, strict=True):
        np.testing.assert_array_equal(found, wanted)


# -- layers ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gru", pytest.param("lstm", marks=pytest.mark.deep)])
def test_gradients_into_every_weight_and_state(kind):
    """Two layers, in both directions, of sequences of unequal length."""
    rng = np.random.default_rng(0)
    B, T, D, H, lengths = 2, 3, 2, 1, np.array([3, 2])
    layer = LAYERS[kind](D, H, 2, bidirectional=True, rng=rng)
    states = [rng.standard_normal((4, B, H)) for _ in STATES[kind]]
    state = tuple(states) if kind == "lstm" else states[0]
    result = mg.gradcheck_module(layer, rng.standard_normal((B, T, D)), state, lengths)
    assert result.ok, result.message
    assert len(result.rows) == 4 * 4 + 1 + len(states)


@pytest.mark.parametrize("cell, layer", [("gru", nn.GRU), ("lstm", nn.LSTM)])
def test_cells_and_layers_share_weights(cell, layer):
    """A cell given the layer's weights does what the layer does."""
    layer = layer(D, H, rng=np.random.default_rng(0))
    step = (nn.GRUCell if cell == "gru" else nn.LSTMCell)(D, H)
    step.load_state_dict({n[:-3]: a for n, a in layer.state_dict().items()})
    x = np.random.default_rng(1).standard_normal((B, T, D)).astype(np.float32)
    output, _ = layer(x)
    state = None
    for t in range(T):
        state = step(x[:, t], state)
        h = state[0] if cell == "lstm" else state
        np.testing.assert_allclose(h.data, output.data[:, t], rtol=1e-5, atol=1e-6)


def test_dropout_acts_between_layers_in_training_only():
    layer = nn.GRU(D, H, 2, dropout=0.5, rng=np.random.default_rng(0))
    x = np.ones((B, T, D), np.float32)
    assert not np.array_equal(layer(x)[0].data, layer(x)[0].data)
    layer.eval()
    plain = nn.GRU(D, H, 2)
    plain.load_state_dict(layer.state_dict())
    np.testing.assert_array_equal(layer(x)[0].data, plain(x)[0].data)
    everything = nn.GRU(D, H, 2, dropout=1.0, rng=np.random.default_rng(0))
    above = nn.GRU(H, H)
    above.load_state_dict(
        {n[:-1] + "0": a for n, a in everything.state_dict().items() if "_l1" in n}
    )
    output, h_n = everything(x)
    zeros = np.zeros((B, T, H), np.float32)
    np.testing.assert_array_equal(output.data, above(zeros)[0].data)
    # neither what goes into the first layer nor the states of a layer are dropped
    np.testing.assert_array_equal(h_n.data[0], everything.eval()(x)[1].data[0])
    runs = [nn.GRU(D, H, 2, dropout=0.5, rng=np.random.default_rng(3)) for _ in "ab"]
    np.testing.assert_array_equal(*[run(x)[0].data for run in runs])


# -- memory and needs ------------------------------------------------------------------


@pytest.mark.parametrize("kind, blocks", [("gru", 5), ("lstm", 6)])
def test_bytes_kept_for_backward(kind, blocks):
    """Four gate arrays and one of each kind of state, besides the inputs."""
    args = arguments(kind)
    output = OPS[kind](*[Tensor(a, requires_grad=True) for a in args.values()])[0]
    arrays = saved_arrays(output._node.parents[0])
    owners = {id(a if a.base is None else a.base): a for a in arrays}
    kept = sum((a if a.base is None else a.base).nbytes for a in owners.values())
    inputs = sum(a.nbytes for n, a in args.items() if n not in STATES[kind])
    states = len(STATES[kind]) * B * H * 8
    assert kept == inputs + blocks * B * T * H * 8 + states


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("ops", [OPS, CELLS], ids=["layer", "cell"])
def test_unneeded_gradients_are_not_computed(ops, kind):
    args = arguments(kind)
    args["x"] = args["x"] if ops is OPS else args["x"][:, 0]
    outputs, backward = ops[kind].raw(*args.values(), needs=[False] * len(args))
    g = [np.ones_like(y) for y in outputs] if type(outputs) is tuple else outputs
    gradients = backward(g)
    n = 1 + len(STATES[kind])
    assert gradients[0] is gradients[n] is gradients[n + 1] is None
