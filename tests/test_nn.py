"""Modules: what they consist of, moving values in and out, initial values, messages."""

import copy
import math

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor, nn


class Model(nn.Module):
    """Every kind of layer, in every kind of place."""

    def __init__(self, rng=None):
        self.scale = nn.Parameter(np.ones(3, np.float32))
        self.embed = nn.Embedding(11, 4, padding_idx=0, rng=rng)
        self.blocks = [nn.GRU(4, 3, rng=rng), nn.Linear(3, 3, bias=False, rng=rng)]
        self.heads = {"a": nn.Linear(3, 5, rng=rng), "norm": nn.LayerNorm(3)}
        self.drop = nn.Dropout(0.25, rng)
        self.words, self.nothing = ["left", "alone"], None

    def forward(self, ids):
        output, _ = self.blocks[0](self.embed(ids))
        output = self.heads["norm"](self.blocks[1](self.drop(output * self.scale)))
        return self.heads["a"](output)


NAMES = [
    "scale",
    "embed.weight",
    "blocks.0.weight_ih_l0",
    "blocks.0.weight_hh_l0",
    "blocks.0.bias_ih_l0",
    "blocks.0.bias_hh_l0",
    "blocks.1.weight",
    "heads.a.weight",
    "heads.a.bias",
    "heads.norm.weight",
    "heads.norm.bias",
]
IDS = np.array([[3, 1, 4, 1, 0], [10, 2, 6, 0, 0]])


def test_names_of_parameters_and_modules():
    model = Model()
    assert [name for name, _ in model.named_parameters()] == NAMES
    assert [name for name, _ in model.named_modules()] == [
        "", "embed", "blocks.0", "blocks.1", "heads.a", "heads.norm", "drop",
    ]  # fmt: skip
    assert model.parameters()[0] is model.scale
    assert model.modules()[:2] == [model, model.embed]
    gru = 3 * 3 * (4 + 3) + 2 * 3 * 3
    assert model.num_parameters() == 3 + 11 * 4 + gru + 9 + (15 + 5) + (3 + 3)


def test_names_of_stacked_directions():
    names = [n for n, _ in nn.LSTM(4, 3, 2, bidirectional=True).named_parameters()]
    kinds = "weight_ih", "weight_hh", "bias_ih", "bias_hh"
    ends = "_l0", "_l0_reverse", "_l1", "_l1_reverse"
    assert names == [kind + end for end in ends for kind in kinds]
    assert [n for n, _ in nn.GRU(4, 3, bias=False).named_parameters()] == [
        "weight_ih_l0",
        "weight_hh_l0",
    ]


def test_attributes_come_and_go():
    """Nothing is registered: what is there counts."""
    model = Model()
    del model.embed
    model.blocks.append(nn.Linear(3, 2))
    model.scale = None
    names = [name for name, _ in model.named_parameters()]
    assert names == [*NAMES[2:7], "blocks.2.weight", "blocks.2.bias", *NAMES[7:]]


def test_a_tied_parameter_is_one_parameter_with_two_names():
    model = Model()
    model.tied = nn.Linear(4, 11, bias=False)
    model.tied.weight = model.embed.weight
    assert model.num_parameters() == Model().num_parameters()
    assert [name for name, _ in model.named_parameters()] == NAMES
    state = model.state_dict()
    assert "tied.weight" in state and "embed.weight" in state
    other = copy.deepcopy(model)
    assert other.tied.weight is other.embed.weight is not model.embed.weight
    other.load_state_dict(state)


def test_a_module_inside_itself_ends():
    model = Model()
    model.embed.parent = model
    model.again = model
    assert [name for name, _ in model.named_parameters()] == NAMES
    assert model.train(False).training is False


def test_parameter():
    p = nn.Parameter([1.0, 2.0])
    assert isinstance(p, Tensor) and p.requires_grad and p.dtype == np.float64
    assert type(p * 2) is Tensor and repr(p).startswith("Parameter([1., 2.]")
    with pytest.raises(TypeError, match="Only floating-point tensors have gradients"):
        nn.Parameter([1, 2])
    assert all(q.dtype == np.float32 for q in Model().parameters())


def test_train_and_eval_reach_everything():
    model = Model()
    assert all(module.training for module in model.modules())
    assert model.eval() is model
    assert not any(module.training for module in model.modules())
    model.train()
    assert all(module.training for module in model.modules())
    assert nn.Module.training and Model().training  # others are as they were


def test_zero_grad():
    model = Model()
    model(IDS).sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    model.zero_grad()
    assert all(p.grad is None for p in model.parameters())


def test_repr_is_nested():
    assert repr(Model()) == (
        "Model(\n"
        "  (embed): Embedding(11, 4, padding_idx=0)\n"
        "  (blocks.0): GRU(4, 3)\n"
        "  (blocks.1): Linear(3, 3, bias=False)\n"
        "  (heads.a): Linear(3, 5)\n"
        "  (heads.norm): LayerNorm((3,), eps=1e-05)\n"
        "  (drop): Dropout(p=0.25)\n"
        ")"
    )

    class Outer(nn.Module):
        def __init__(self):
            self.inner = Model()
            self.cell = nn.LSTMCell(4, 3, bias=False)
            self.lstm = nn.LSTM(4, 3, 2, True, dropout=0.1)

        def extra_repr(self):
            return "of two"

    lines = repr(Outer()).splitlines()
    assert lines[:4] == [
        "Outer(",
        "  of two",
        "  (inner): Model(",
        "    (embed): Embedding(11, 4, padding_idx=0)",
    ]
    assert lines[-4:] == [
        "  )",
        "  (cell): LSTMCell(4, 3, bias=False)",
        "  (lstm): LSTM(4, 3, num_layers=2, bidirectional=True, dropout=0.1)",
        ")",
    ]


def test_a_module_without_forward_says_so():
    with pytest.raises(NotImplementedError, match="^Module has no method forward.$"):
        nn.Module()(1)


# moving values


def test_state_dict_holds_copies():
    model = Model()
    state = model.state_dict()
    assert list(state) == NAMES
    state["scale"][:] = 7
    assert (model.scale.data == 1).all()


def test_a_state_moves_from_one_model_to_another():
    first, second = Model(np.random.default_rng(1)).eval(), Model().eval()
    before = second.scale.data
    assert second.load_state_dict(first.state_dict()) == ([], [])
    np.testing.assert_array_equal(first(IDS).data, second(IDS).data)
    assert second.scale.data is before  # written in place: views of it stay valid


def test_values_take_the_dtype_of_the_parameter():
    layer = nn.Linear(2, 1)
    weight = Tensor([[1 / 3, 2.0]], requires_grad=True)
    layer.load_state_dict({"weight": weight, "bias": [4]})
    assert layer.weight.dtype == np.float32
    assert layer.weight.data.tolist() == [[np.float32(1 / 3), 2.0]]
    layer.weight.data = np.zeros((1, 2))  # of another dtype: allowed
    layer.load_state_dict({"weight": weight, "bias": [4]})
    assert layer.weight.data.tolist() == [[1 / 3, 2.0]]


def test_a_misfit_loads_nothing_and_is_told_whole():
    model = Model()
    before = model.state_dict()
    state = {name: array + 1 for name, array in before.items()}
    del state["blocks.1.weight"], state["heads.a.bias"]
    state["blocks.1.wieght"] = np.ones((3, 3))
    state["embed.weight"] = np.ones((4, 11))
    state["scale"] = np.array(["a", "b", "c"])
    with pytest.raises(ValueError) as caught:
        model.load_state_dict(state)
    assert str(caught.value) == (
        "Model cannot load this state; nothing was changed.\n"
        "  missing: blocks.1.weight\n"
        "  missing: heads.a.bias\n"
        "  unexpected: blocks.1.wieght\n"
        "  does not fit: scale: expected (3,), found <U1 (3,)\n"
        "  does not fit: embed.weight: expected (11, 4), found (4, 11)"
    )
    for name, array in model.state_dict().items():
        np.testing.assert_array_equal(array, before[name])


def test_not_strict_loads_what_is_there():
    model = Model()
    state = {"scale": np.full(3, 5.0), "spare": np.ones(2)}
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert missing == NAMES[1:] and unexpected == ["spare"]
    assert model.scale.data.tolist() == [5, 5, 5]
    with pytest.raises(
        ValueError, match=r"does not fit: scale: expected \(3,\), found"
    ):
        model.load_state_dict({"scale": np.ones(4)}, strict=False)


def test_a_state_must_be_a_dict():
    with pytest.raises(TypeError) as caught:
        Model().load_state_dict([1, 2])
    assert str(caught.value) == (
        "Model.load_state_dict wants a dict of arrays by name; found list."
    )


def test_loading_between_forward_and_backward_is_noticed():
    layer = nn.Linear(2, 1)
    x = Tensor(np.ones((1, 2), np.float32), requires_grad=True)
    loss = layer(x).sum()
    layer.load_state_dict(layer.state_dict())
    with pytest.raises(RuntimeError, match="overwritten in place"):
        loss.backward()


# layers


def test_linear():
    rng = np.random.default_rng(0)
    layer = nn.Linear(5, 3, rng=rng)
    x = rng.standard_normal((2, 7, 5)).astype(np.float32)
    expected = np.einsum("bti,oi->bto", x, layer.weight.data) + layer.bias.data
    # sums of five float32 terms of order one
    np.testing.assert_allclose(layer(x).data, expected, rtol=1e-5, atol=1e-6)
    assert nn.Linear(5, 3, bias=False).bias is None
    assert layer(x[0, 0]).shape == (3,)


def test_layer_norm():
    x = np.random.default_rng(0).standard_normal((2, 3, 5)) * 4 + 2
    for shape, axes in ((5, (2,)), ((3, 5), (1, 2))):
        layer = nn.LayerNorm(shape, eps=0.1)
        mean = x.mean(axes, keepdims=True)
        expected = (x - mean) / np.sqrt(x.var(axes, keepdims=True) + 0.1)
        np.testing.assert_allclose(layer(x).data, expected, rtol=1e-12)
        assert layer.weight.shape == layer.bias.shape == x.shape[-len(axes) :]


def test_embedding():
    layer = nn.Embedding(6, 3, rng=np.random.default_rng(0))
    ids = np.array([[0, 5], [5, 2]])
    np.testing.assert_array_equal(layer(ids).data, layer.weight.data[ids])
    layer(ids).sum().backward()
    assert layer.weight.grad[:, 0].tolist() == [1, 0, 1, 0, 0, 2]


@pytest.mark.parametrize("padding_idx", [2, -4])
def test_the_row_of_padding_is_zero_and_stays_so(padding_idx):
    layer = nn.Embedding(6, 3, padding_idx)
    assert layer.padding_idx == 2
    layer(np.array([2, 2, 3])).sum().backward()
    assert (layer.weight.data[2] == 0).all() and (layer.weight.data[3] != 0).all()
    assert layer.weight.grad[:, 0].tolist() == [0, 0, 0, 1, 0, 0]


def test_dropout():
    layer = nn.Dropout(0.25, np.random.default_rng(0))
    x = Tensor(np.ones(40_000, np.float32), requires_grad=True)
    y = layer(x)
    y.sum().backward()
    assert set(np.unique(y.data)) == {0, np.float32(4 / 3)}
    np.testing.assert_array_equal(x.grad, y.data)
    # the share of zeros is within five standard deviations, sqrt(p (1 - p) / n)
    share = (y.data == 0).mean()
    assert abs(share - 0.25) < 5 * math.sqrt(0.25 * 0.75 / 40_000)
    np.testing.assert_array_equal(layer.eval()(x).data, x.data)
    again = nn.Dropout(0.25, np.random.default_rng(0))
    np.testing.assert_array_equal(again(x).data, y.data)


@pytest.mark.parametrize(
    "layer, x",
    [
        (lambda r: nn.Linear(5, 3, rng=r), (2, 7, 5)),
        (lambda r: nn.Linear(5, 3, bias=False, rng=r), (5,)),
        (lambda r: nn.LayerNorm((3, 5)), (2, 3, 5)),
        (lambda r: nn.Dropout(0.5, r), (3, 5)),  # off in the check, so the identity
    ],
)
def test_gradients_of_layers(layer, x):
    rng = np.random.default_rng(0)
    result = mg.gradcheck_module(layer(rng), rng.standard_normal(x))
    assert result.ok, result.message


def test_gradients_of_a_model():
    """Parameters in lists and dicts, through embedding, GRU and normalisation."""
    result = mg.gradcheck_module(Model(np.random.default_rng(0)), IDS)
    assert result.tag != "kink" and len(result.rows) == len(NAMES)
    wrong = [row.input for row in result.rows if row.verdict != "ok"]
    assert wrong == ["embed.weight"]  # by design: the row of padding gets no gradient


def test_gradients_of_a_model_without_padding():
    model = Model(np.random.default_rng(0))
    model.embed = nn.Embedding(11, 4, rng=np.random.default_rng(0))
    result = mg.gradcheck_module(model, IDS)
    assert result.ok, result.message


# initial values

SIZE = 300  # parameters are SIZE wide, so that moments are known to about 1 / SIZE


def uniform_within(bound, values):
    """U(-bound, bound): its range, and its mean and variance within 5 deviations."""
    n = values.size
    assert np.abs(values).max() <= bound
    assert np.abs(values).max() > bound * (1 - 20 / n)
    assert abs(values.mean()) < 5 * bound / math.sqrt(3 * n)
    # var(u^2) = b^4 (1/5 - 1/9)
    assert abs((values**2).mean() - bound**2 / 3) < 5 * bound**2 * math.sqrt(4 / 45 / n)


@pytest.mark.parametrize(
    "layer, bound",
    [
        (lambda r: nn.Linear(100, SIZE, rng=r), 0.1),
        (lambda r: nn.GRU(7, SIZE, 2, True, rng=r), SIZE**-0.5),
        (lambda r: nn.LSTM(7, SIZE, rng=r), SIZE**-0.5),
        (lambda r: nn.GRUCell(7, SIZE, rng=r), SIZE**-0.5),
        (lambda r: nn.LSTMCell(7, SIZE, rng=r), SIZE**-0.5),
    ],
)
def test_initial_values_are_uniform(layer, bound):
    for parameter in layer(np.random.default_rng(0)).parameters():
        # in float32 the bound may be exceeded by rounding
        uniform_within(bound * (1 + 1e-7), parameter.data.astype(np.float64))


def test_initial_embedding_is_normal():
    values = nn.Embedding(SIZE, SIZE, rng=np.random.default_rng(0)).weight.data
    n = values.size
    assert abs(values.mean()) < 5 / math.sqrt(n)
    assert abs((values**2).mean() - 1) < 5 * math.sqrt(2 / n)
    assert abs((values**4).mean() - 3) < 5 * math.sqrt(96 / n)


def test_initial_layer_norm_is_the_identity():
    layer = nn.LayerNorm(4)
    assert (layer.weight.data == 1).all() and (layer.bias.data == 0).all()


def test_xavier_and_kaiming():
    rng = np.random.default_rng(0)
    weight = nn.Parameter(np.empty((200, 100)))
    assert nn.init.xavier_uniform_(weight, rng=rng) is weight
    uniform_within(math.sqrt(6 / 300), weight.data)
    nn.init.xavier_uniform_(weight, gain=2, rng=rng)
    uniform_within(2 * math.sqrt(6 / 300), weight.data)
    nn.init.kaiming_uniform_(weight, rng=rng)
    uniform_within(math.sqrt(6 / 100), weight.data)
    nn.init.kaiming_uniform_(weight, math.sqrt(5), rng)
    uniform_within(0.1, weight.data)
    fresh = nn.Parameter(np.ones((2, 2)))
    loss = (fresh * fresh).sum()
    nn.init.normal_(fresh)
    with pytest.raises(RuntimeError, match="overwritten in place"):
        loss.backward()


def test_the_same_generator_gives_the_same_model():
    first, second = (Model(np.random.default_rng(5)).state_dict() for _ in range(2))
    for name in NAMES:
        np.testing.assert_array_equal(first[name], second[name])
    mg.manual_seed(5)
    first = Model().state_dict()
    mg.manual_seed(5)
    second = Model().state_dict()
    assert not np.array_equal(
        first["embed.weight"], Model().state_dict()["embed.weight"]
    )
    for name in NAMES:
        np.testing.assert_array_equal(first[name], second[name])


# messages

ones = np.ones
MESSAGES = {
    "linear: features": (
        lambda: nn.Linear(5, 3)(ones((2, 4))),
        ValueError,
        "Linear(5, 3): the last axis of x must have 5 features; found shape (2, 4).",
    ),
    "linear: a number": (
        lambda: nn.Linear(5, 3, bias=False)(1.0),
        ValueError,
        "Linear(5, 3, bias=False): the last axis of x must have 5 features; found "
        "shape ().",
    ),
    "linear: ids": (
        lambda: nn.Linear(5, 3)(ones((2, 5), int)),
        TypeError,
        "Linear(5, 3): x must be floating point; found int64.",
    ),
    "layer norm: shape": (
        lambda: nn.LayerNorm((3, 5))(ones((3, 4))),
        ValueError,
        "LayerNorm((3, 5), eps=1e-05): the last axes of x must be (3, 5); found shape "
        "(3, 4).",
    ),
    "embedding: padding": (
        lambda: nn.Embedding(6, 3, padding_idx=6),
        ValueError,
        "Embedding: padding_idx is 6, and there are 6 rows.",
    ),
    "dropout: p": (
        lambda: nn.Dropout(-0.1),
        ValueError,
        "Dropout: p must be a probability, from 0 to 1; found -0.1.",
    ),
    "dropout: a word": (
        lambda: nn.Dropout("a"),
        ValueError,
        "Dropout: p must be a probability, from 0 to 1; found 'a'.",
    ),
    "a fraction of a feature": (
        lambda: nn.Linear(3.5, 4),
        TypeError,
        "Linear: in_features must be a whole number; found 3.5.",
    ),
    "no feature": (
        lambda: nn.Linear(4, 0),
        ValueError,
        "Linear: out_features must be 1 or more; found 0.",
    ),
    "no rows": (
        lambda: nn.Embedding(0, 4),
        ValueError,
        "Embedding: num_embeddings must be 1 or more; found 0.",
    ),
    "a seed for a generator": (
        lambda: nn.Linear(5, 3, rng=0),
        TypeError,
        "rng must be a numpy.random.Generator, such as np.random.default_rng(0); found "
        "int.",
    ),
    "xavier of a vector": (
        lambda: nn.init.xavier_uniform_(Tensor(ones(3))),
        ValueError,
        "xavier_uniform_ needs a weight of shape (out, in); found shape (3,).",
    ),
}


@pytest.mark.parametrize("what", MESSAGES)
def test_message(what):
    call, kind, sentence = MESSAGES[what]
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == sentence


def test_ids_are_looked_at():
    """The sentence is the operation's: it names the id and the vocabulary's size."""
    with pytest.raises(IndexError, match=r"^embedding: id 6 is .* vocabulary of 6"):
        nn.Embedding(6, 3)(np.array([[0, 6]]))
    with pytest.raises(TypeError, match=r"^embedding: ids must be integers.* float64"):
        nn.Embedding(6, 3)(ones(2))


# the peer


def test_a_state_moves_to_the_peer_and_back():
    torch = pytest.importorskip("torch")

    class Peer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.zeros(3))
            self.embed = torch.nn.Embedding(11, 4, padding_idx=0)
            self.blocks = torch.nn.ModuleList(
                [
                    torch.nn.GRU(4, 3, batch_first=True),
                    torch.nn.Linear(3, 3, bias=False),
                ]
            )
            self.heads = torch.nn.ModuleDict(
                {"a": torch.nn.Linear(3, 5), "norm": torch.nn.LayerNorm(3)}
            )

        def forward(self, ids):
            output, _ = self.blocks[0](self.embed(ids))
            output = self.heads["norm"](self.blocks[1](output * self.scale))
            return self.heads["a"](output)

    model, peer = Model(np.random.default_rng(0)).eval(), Peer()
    weights = model.state_dict()
    peer.load_state_dict({n: torch.tensor(a) for n, a in weights.items()})
    y, z = model(IDS), peer(torch.tensor(IDS))
    # float32, through a handful of layers
    np.testing.assert_allclose(y.data, z.detach().numpy(), rtol=1e-5, atol=1e-5)
    g = np.random.default_rng(1).standard_normal(y.shape).astype(np.float32)
    y.backward(g)
    z.backward(torch.tensor(g))
    gradients = {n: q.grad.numpy() for n, q in peer.named_parameters()}
    for name, p in model.named_parameters():
        np.testing.assert_allclose(
            p.grad, gradients[name], rtol=1e-4, atol=1e-5, err_msg=name
        )
    fresh = Model()
    fresh.load_state_dict(peer.state_dict())
    for name, array in fresh.state_dict().items():
        np.testing.assert_array_equal(array, weights[name])


@pytest.mark.parametrize("cell", ["GRUCell", "LSTMCell"])
@pytest.mark.parametrize("bias", [True, False])
def test_cells_equal_the_peer(cell, bias):
    torch = pytest.importorskip("torch")
    ours, theirs = getattr(nn, cell)(7, 2, bias), getattr(torch.nn, cell)(7, 2, bias)
    ours.load_state_dict(theirs.state_dict())
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 7)).astype(np.float32)
    h, c = rng.standard_normal((2, 3, 2)).astype(np.float32)
    for state in (None, (h, c) if cell == "LSTMCell" else h):
        found, wanted = ours(x, state), theirs(torch.tensor(x), _torch(torch, state))
        found = found if isinstance(found, tuple) else (found,)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a.data, b.detach().numpy(), rtol=1e-5, atol=1e-6)


def _torch(torch, state):
    if state is None:
        return None
    if isinstance(state, tuple):
        return tuple(map(torch.tensor, state))
    return torch.tensor(state)
