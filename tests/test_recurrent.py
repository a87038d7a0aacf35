"""GRU and LSTM: fused equals composed, gradients, padding, the peer, and messages.

The operations are also held against loops, and gradcheck against a zoo of their wrong
backwards, in ``tests/ops/recurrent.py``. ``tests/golden/recurrent.npz`` holds what
PyTorch says (float64, its version is in the file), recorded by

    python -m tests.test_recurrent

which runs ``peer`` below and writes inputs, parameters, values and gradients.
"""

import pathlib

import numpy as np
import pytest

import minigrad as mg
import minigrad.ops.recurrent as source
from minigrad import Tensor, nn
from minigrad.graph import kept_arrays
from minigrad.ops.packing import Packing

GOLDEN = pathlib.Path(__file__).parent / "golden" / "recurrent.npz"
B, T, D, H = 3, 5, 7, 2  # no two equal: a lost transpose cannot pass
RAGGED = np.array([3, 5, 1])  # not sorted, with the longest and the shortest possible
GATES = {"gru": 3, "lstm": 4}
STATES = {"gru": ("h0",), "lstm": ("h0", "c0")}

# sums of at most a hundred float64 terms of order one, in two orders of summation
CLOSE = dict(rtol=1e-11, atol=1e-13)


def arguments(kind, bias=True, dtype=np.float64, seed=0):
    """{name: array} of the arguments of the operation, in order."""
    rng = np.random.default_rng(seed)
    k = GATES[kind] * H
    shapes = {"x": (B, T, D), **{name: (B, H) for name in STATES[kind]}}
    shapes |= {"weight_ih": (k, D), "weight_hh": (k, H)}
    shapes |= {"bias_ih": (k,), "bias_hh": (k,)} if bias else {}
    return {n: rng.standard_normal(s).astype(dtype) / 2 for n, s in shapes.items()}


def pulled(function, arrays, seed=1):
    """Outputs and all gradients of ``function(*tensors)``, under random cotangents."""
    tensors = [Tensor(a, requires_grad=True) for a in arrays]
    outputs = function(*tensors)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    rng = np.random.default_rng(seed)
    loss = 0.0
    for y in outputs:
        loss = loss + (y * Tensor(rng.standard_normal(y.shape).astype(y.dtype))).sum()
    loss.backward()
    return [y.numpy().copy() for y in outputs], [t.grad for t in tensors]


# fused = composed


def composed(kind, lengths=None, reverse=False):
    """The layer as a graph of small operations, one step after the other."""

    def layer(x, *rest):
        n = len(STATES[kind])
        states, (W_ih, W_hh, *biases) = rest[:n], rest[n:]
        b_ih, b_hh = biases or (None, None)
        alive = np.arange(T) < np.full(B, T if lengths is None else lengths)[:, None]
        outputs = [None] * T
        for t in range(T)[::-1] if reverse else range(T):
            a = mg.linear(x[:, t], W_ih, b_ih)
            b = mg.linear(states[0], W_hh, b_hh)
            here = alive[:, t, None]
            new = STEP[kind](a, b, *states)
            states = [mg.where(here, s, old) for s, old in zip(new, states)]
            outputs[t] = mg.where(here, states[0], 0.0)
        return mg.stack(outputs, axis=1), *states

    return layer


def gru_step(a, b, h):
    r = mg.sigmoid(a[:, :H] + b[:, :H])
    z = mg.sigmoid(a[:, H : 2 * H] + b[:, H : 2 * H])
    n = mg.tanh(a[:, 2 * H :] + r * b[:, 2 * H :])
    return ((1 - z) * n + z * h,)


def lstm_step(a, b, h, c):
    a = a + b
    i, f, o = (mg.sigmoid(a[:, k * H : (k + 1) * H]) for k in (0, 1, 3))
    c = f * c + i * mg.tanh(a[:, 2 * H : 3 * H])
    return o * mg.tanh(c), c


STEP = {"gru": gru_step, "lstm": lstm_step}
OPS = {"gru": mg.gru, "lstm": mg.lstm}
CELLS = {"gru": mg.gru_cell, "lstm": mg.lstm_cell}


def fused(kind, lengths=None, reverse=False):
    def layer(*args):
        full = [*args, None, None] if len(args) == 3 + len(STATES[kind]) else args
        return OPS[kind](*full, lengths, reverse)

    return layer


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("lengths", [None, RAGGED, [4, 4, 4], [5, 5, 5], [1, 1, 1]])
@pytest.mark.parametrize("kind", GATES)
def test_fused_equals_composed(kind, lengths, reverse, bias):
    arrays = list(arguments(kind, bias).values())
    values, gradients = pulled(fused(kind, lengths, reverse), arrays)
    reference, expected = pulled(composed(kind, lengths, reverse), arrays)
    for found, wanted in zip(values + gradients, reference + expected, strict=True):
        np.testing.assert_allclose(found, wanted, **CLOSE)


@pytest.mark.parametrize("kind", GATES)
def test_a_cell_is_a_layer_of_one_step(kind):
    args = arguments(kind)
    first = [args.pop("x")[:, 0], *args.values()]
    values, gradients = pulled(CELLS[kind], first)

    def one_step(x, *rest):
        return fused(kind)(mg.unsqueeze(x, 1), *rest)[1:]

    reference, expected = pulled(one_step, first)
    for found, wanted in zip(values + gradients, reference + expected, strict=True):
        np.testing.assert_allclose(found, wanted, **CLOSE)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", GATES)
def test_a_ragged_batch_is_its_examples_one_by_one(kind, reverse):
    """Each example run alone, without its padding: outputs, last states, dx."""
    args = arguments(kind)
    output, *last = OPS[kind](*args.values(), RAGGED, reverse)
    for b, length in enumerate(RAGGED):
        alone = {"x": args["x"][b : b + 1, :length]}
        alone |= {name: args[name][b : b + 1] for name in STATES[kind]}
        short, *final = OPS[kind](*{**args, **alone}.values(), None, reverse)
        np.testing.assert_allclose(output.data[b, :length], short.data[0], **CLOSE)
        assert (output.data[b, length:] == 0).all()
        for state, wanted in zip(last, final):
            np.testing.assert_allclose(state.data[b], wanted.data[0], **CLOSE)


@pytest.mark.parametrize("kind", GATES)
def test_float32_stays_float32(kind):
    """and agrees with float64 to the digits it has."""
    wide = pulled(fused(kind, RAGGED), list(arguments(kind).values()))
    narrow = pulled(
        fused(kind, RAGGED), list(arguments(kind, dtype=np.float32).values())
    )
    for found, wanted in zip(sum(narrow, []), sum(wide, []), strict=True):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=2e-6)


# gradients


def layer64(layer):
    """The layer with its parameters in float64."""
    for parameter in layer.parameters():
        parameter.data = parameter.data.astype(np.float64)
    return layer


LAYERS = {"gru": nn.GRU, "lstm": nn.LSTM}


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


# padding


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", GATES)
def test_padding_changes_nothing(kind, reverse):
    """Not a bit of any value or gradient, whatever stands in it; NaN stays there."""
    arrays = list(arguments(kind).values())
    padding = np.arange(T) >= RAGGED[:, None]
    runs = []
    for filling in (0.0, 1e30, np.nan, np.inf):
        arrays[0] = np.where(padding[:, :, None], filling, arrays[0])
        runs.append(sum(pulled(fused(kind, RAGGED, reverse), arrays), []))
        dx = runs[-1][1 + len(STATES[kind])]
        assert (dx[padding] == 0).all() and (dx[~padding] != 0).all()
        for found, wanted in zip(runs[-1], runs[0], strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kind", GATES)
def test_a_gradient_that_arrives_at_padding_goes_nowhere(kind):
    arrays = list(arguments(kind).values())
    outputs, backward = OPS[kind].raw(*arrays, RAGGED)
    padding = np.arange(T) >= RAGGED[:, None]
    needs = (True,) * 8
    g = [np.ones_like(y) for y in outputs]
    clean = backward(g, needs)
    g[0][padding] = np.nan
    for found, wanted in zip(backward(g, needs), clean, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kind", LAYERS)
def test_padding_does_not_reach_the_layer_above(kind):
    layer = LAYERS[kind](D, H, 2, True, rng=np.random.default_rng(0))
    x = np.random.default_rng(1).standard_normal((B, T, D)).astype(np.float32)
    clean = layer(x, lengths=RAGGED)[0].data
    x[np.arange(T) >= RAGGED[:, None]] = np.nan
    np.testing.assert_array_equal(layer(x, lengths=RAGGED)[0].data, clean)


def test_packing_order():
    """The example in ``packing.py``: lengths 2, 4, 3."""
    packing = Packing("test", 3, 4, [2, 4, 3], reverse=False)
    assert packing.example.tolist() == [1, 2, 0, 1, 2, 0, 1, 2, 1]
    assert packing.time.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 3]
    backwards = Packing("test", 3, 4, [2, 4, 3], reverse=True)
    assert backwards.time.tolist() == [3, 2, 1, 2, 1, 0, 1, 0, 0]


# what is kept, and what is not computed


@pytest.mark.parametrize("kind, blocks", [("gru", 5), ("lstm", 6)])
def test_bytes_kept_for_backward(kind, blocks):
    """Four gate arrays and one of each kind of state, besides the inputs."""
    args = arguments(kind)
    output = OPS[kind](*[Tensor(a, requires_grad=True) for a in args.values()])[0]
    arrays = kept_arrays(output._node.parents[0])
    owners = {id(a if a.base is None else a.base): a for a in arrays}
    kept = sum((a if a.base is None else a.base).nbytes for a in owners.values())
    inputs = sum(a.nbytes for n, a in args.items() if n not in STATES[kind])
    states = len(STATES[kind]) * B * H * 8
    assert kept == inputs + blocks * B * T * H * 8 + states


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("ops", [OPS, CELLS], ids=["layer", "cell"])
def test_what_is_not_wanted_is_not_computed(ops, kind):
    args = arguments(kind)
    args["x"] = args["x"] if ops is OPS else args["x"][:, 0]
    outputs, backward = ops[kind].raw(*args.values())
    g = [np.ones_like(y) for y in outputs] if type(outputs) is tuple else outputs
    gradients = backward(g, [False] * len(args))
    n = 1 + len(STATES[kind])
    assert gradients[0] is gradients[n] is gradients[n + 1] is None


# the peer, and what it once said

PROBLEMS = {
    f"{kind}-{name}": (kind, *options)
    for kind in LAYERS
    for name, options in {
        "one": (1, False, None),
        "stacked": (2, False, None),
        "both-ways": (2, True, None),
        "lengths": (1, False, RAGGED),
        "both-ways-lengths": (2, True, RAGGED),
    }.items()
}


def problem(name):
    """Inputs and parameters of a case, and cotangents for its outputs."""
    kind, layers, both, _ = PROBLEMS[name]
    rng = np.random.default_rng(sum(name.encode()))
    layer = layer64(LAYERS[kind](D, H, layers, both, rng=rng))
    known = {"x": rng.standard_normal((B, T, D))}
    known |= {s: rng.standard_normal((layers * (1 + both), B, H)) for s in STATES[kind]}
    known |= layer.state_dict()
    known["d_output"] = rng.standard_normal((B, T, H * (1 + both)))
    known |= {f"d_{s[0]}_n": rng.standard_normal(known[s].shape) for s in STATES[kind]}
    return known


def ours(name, known):
    """{name: value or gradient} of a case, as minigrad has it."""
    kind, layers, both, lengths = PROBLEMS[name]
    layer = layer64(LAYERS[kind](D, H, layers, both))
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


RECORDED = [n for n in PROBLEMS if n.endswith(("-one", "both-ways-lengths"))]


@pytest.mark.parametrize("name", RECORDED)
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


@pytest.mark.parametrize("name", PROBLEMS)
def test_equal_to_the_peer(name):
    torch = pytest.importorskip("torch")
    known = problem(name)
    found, expected = ours(name, known), peer(torch, name, known)
    assert found.keys() == expected.keys()
    for n, wanted in expected.items():
        np.testing.assert_allclose(found[n], wanted, **CLOSE, err_msg=n)


def record():
    """Write the golden file."""
    import torch

    arrays = {"torch": np.array(torch.__version__)}
    for name in RECORDED:
        known = problem(name)
        arrays |= {f"{name}:in:{n}": a for n, a in known.items()}
        arrays |= {f"{name}:out:{n}": a for n, a in peer(torch, name, known).items()}
    GOLDEN.parent.mkdir(exist_ok=True)
    np.savez_compressed(GOLDEN, **arrays)


# messages


def bad(kind="gru", **changes):
    """A call with some arguments replaced."""
    args = {**arguments(kind), "lengths": None, **changes}
    return lambda: OPS[kind](*args.values())


def cell(**changes):
    args = arguments("gru")
    args["x"] = args["x"][:, 0]
    return lambda: mg.gru_cell(*{**args, **changes}.values())


ones = np.ones
MESSAGES = {
    "a matrix": (
        bad(x=ones((5, 7))),
        ValueError,
        "gru: x must have shape (B, T, I); found (5, 7).",
    ),
    "no steps": (
        bad(x=ones((3, 0, 7))),
        ValueError,
        "gru: x of shape (3, 0, 7) has no time steps, T = 0.",
    ),
    "integers": (
        bad(x=ones((3, 5, 7), int)),
        TypeError,
        "gru: x must be floating point; found int64.",
    ),
    "a list": (
        bad("lstm", c0=[[0.0]]),
        TypeError,
        "lstm: c0 must be floating point; found list.",
    ),
    "the weights of another kind": (
        bad("lstm", weight_hh=ones((6, 2))),
        ValueError,
        "lstm: weight_hh must have shape (4 H, H); found (6, 2).",
    ),
    "features": (
        bad(x=ones((3, 5, 4))),
        ValueError,
        "gru: weight_ih must have shape (6, 4) to go with x (B, T, I) = (3, 5, 4) and "
        "H = 2; found (6, 7).",
    ),
    "h0": (
        bad(h0=ones((1, 2))),
        ValueError,
        "gru: h0 must have shape (3, 2) to go with x (B, T, I) = (3, 5, 7) and H = 2; "
        "found (1, 2).",
    ),
    "c0": (
        bad("lstm", c0=ones((3, 7))),
        ValueError,
        "lstm: c0 must have shape (3, 2) to go with x (B, T, I) = (3, 5, 7) and H = 2; "
        "found (3, 7).",
    ),
    "bias": (
        bad(bias_hh=ones(5)),
        ValueError,
        "gru: bias_hh must have shape (6,) to go with x (B, T, I) = (3, 5, 7) and H = "
        "2; found (5,).",
    ),
    "too long": (
        bad(lengths=[3, 6, 1]),
        ValueError,
        "gru: a length must be from 1 to T = 5; lengths[1] is 6.",
    ),
    "length zero": (
        bad("lstm", lengths=[3, 5, 0]),
        ValueError,
        "lstm: a length must be from 1 to T = 5; lengths[2] is 0.",
    ),
    "fractional lengths": (
        bad(lengths=[3.0, 5.0, 1.0]),
        TypeError,
        "gru: lengths must be integers; found float64.",
    ),
    "too few lengths": (
        bad(lengths=[3, 5]),
        ValueError,
        "gru: lengths must hold one length for each of the 3 sequences; its shape is "
        "(2,).",
    ),
    "a cell with steps": (
        cell(x=ones((3, 5, 7))),
        ValueError,
        "gru_cell: x must have shape (B, I); found (3, 5, 7).",
    ),
    "a cell's state": (
        cell(h0=ones((3, 1))),
        ValueError,
        "gru_cell: h must have shape (3, 2) to go with x (B, I) = (3, 7) and H = 2; "
        "found (3, 1).",
    ),
    "layer: a matrix": (
        lambda: nn.GRU(7, 2)(ones((5, 7))),
        ValueError,
        "GRU(7, 2): x must have shape (B, T, input_size) with input_size = 7; found "
        "(5, 7).",
    ),
    "layer: features": (
        lambda: nn.LSTM(7, 2)(ones((3, 5, 4))),
        ValueError,
        "LSTM(7, 2): x must have shape (B, T, input_size) with input_size = 7; found "
        "(3, 5, 4).",
    ),
    "layer: integers": (
        lambda: nn.GRU(7, 2)(ones((3, 5, 7), int)),
        TypeError,
        "GRU(7, 2): x must be floating point; found int64.",
    ),
    "layer: h0": (
        lambda: nn.GRU(7, 2, 2, True)(ones((3, 5, 7)), ones((2, 3, 2))),
        ValueError,
        "GRU(7, 2, num_layers=2, bidirectional=True): h0 must have shape (num_layers * "
        "directions, B, hidden_size) = (4, 3, 2); found (2, 3, 2).",
    ),
    "layer: c0": (
        lambda: nn.LSTM(7, 2)(ones((3, 5, 7)), (ones((1, 3, 2)), ones((3, 2)))),
        ValueError,
        "LSTM(7, 2): c0 must have shape (num_layers * directions, B, hidden_size) = "
        "(1, 3, 2); found (3, 2).",
    ),
    "layer: no pair": (
        lambda: nn.LSTM(7, 2)(ones((3, 5, 7)), Tensor(ones((1, 3, 2)))),
        TypeError,
        "LSTM(7, 2): the state must be a pair (h0, c0); found Tensor.",
    ),
    "layer: lengths": (
        lambda: nn.GRU(7, 2)(ones((3, 5, 7)), lengths=[5, 5, 6]),
        ValueError,
        "gru: a length must be from 1 to T = 5; lengths[2] is 6.",
    ),
    "layer: none": (
        lambda: nn.GRU(7, 2, num_layers=0),
        ValueError,
        "GRU: num_layers must be 1 or more, not 0.",
    ),
    "layer: dropout": (
        lambda: nn.LSTM(7, 2, dropout=1.5),
        ValueError,
        "LSTM: dropout must be a probability, from 0 to 1; found 1.5.",
    ),
    "cell: features": (
        lambda: nn.GRUCell(7, 2)(ones((3, 4))),
        ValueError,
        "GRUCell(7, 2): x must have shape (B, input_size) with input_size = 7; found "
        "(3, 4).",
    ),
    "cell: state": (
        lambda: nn.LSTMCell(7, 2)(ones((3, 7)), (ones((3, 2)), ones((1, 2)))),
        ValueError,
        "LSTMCell(7, 2): c must have shape (B, hidden_size) = (3, 2); found (1, 2).",
    ),
}


@pytest.mark.parametrize("what", MESSAGES)
def test_message(what):
    call, kind, sentence = MESSAGES[what]
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == sentence


# layers


def test_shapes_as_torch_has_them():
    x = np.ones((B, T, D), np.float32)
    output, h_n = nn.GRU(D, H, 2, bidirectional=True)(x)
    assert (output.shape, h_n.shape) == ((B, T, 2 * H), (4, B, H))
    output, (h_n, c_n) = nn.LSTM(D, H, num_layers=3)(x)
    assert (output.shape, h_n.shape, c_n.shape) == ((B, T, H), (3, B, H), (3, B, H))
    assert nn.GRUCell(D, H)(x[:, 0]).shape == (B, H)
    assert [s.shape for s in nn.LSTMCell(D, H)(x[:, 0])] == [(B, H)] * 2


@pytest.mark.parametrize("kind", LAYERS)
def test_an_empty_batch(kind):
    layer = LAYERS[kind](D, H, 2, True)
    for lengths in (None, np.zeros(0, int), []):
        output, last = layer(Tensor(np.ones((0, T, D), np.float32)), lengths=lengths)
        output.sum().backward()
        assert output.shape == (0, T, 2 * H)
        assert all((p.grad == 0).all() for p in layer.parameters())


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


def test_lengths_may_be_a_list_an_array_or_a_tensor():
    layer = nn.GRU(D, H)
    x = np.random.default_rng(0).standard_normal((B, T, D))
    first = layer(x, lengths=RAGGED)[0].data
    for lengths in (
        RAGGED.tolist(),
        tuple(RAGGED),
        RAGGED.astype(np.uint8),
        Tensor(RAGGED),
    ):
        np.testing.assert_array_equal(layer(x, lengths=lengths)[0].data, first)


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


if __name__ == "__main__":
    record()
