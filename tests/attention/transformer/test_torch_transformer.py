"""torch.nn.Transformer, there and back: names, outputs, every gradient; a last norm.

What torch computed is recorded in golden/torch_transformer.npz, for where there is no
torch. To record again:

    python -c "from tests.test_torch_transformer import record; record()"
"""

import pathlib
import re
import sys

import numpy as np
import pytest

import minigrad as mg
from attention.exact.torch_state import load_torch_state, torch_state
from attention.transformer import (
    Block,
    DecoderOnly,
    EncoderDecoder,
    EncoderDecoderConfig,
    TransformerConfig,
)
from attention.transformer.schemes import Scheme

from .transformer_definition import Definition

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "torch_transformer.npz"
V, D, H, LAYERS, DECODERS, HIDDEN = 7, 6, 3, 2, 1, 10
SIZES = dict(vocabulary=V, width=D, heads=H, layers=LAYERS, hidden=HIDDEN)
MODELS = {
    f"{norm} {activation}": (norm, activation)
    for norm in ("pre", "post")
    for activation in ("relu", "gelu")
}
RECORDED = ["pre gelu", "post relu"]
TABLES = {"encoder.embedding", "decoder.embedding"}
close = dict(rtol=1e-10, atol=1e-12)


def ours(norm, activation, **options):
    """A model in float64 whose layers are to be overwritten."""
    config = EncoderDecoderConfig(
        **SIZES, decoder_layers=DECODERS, norm=norm, activation=activation,
        positions="none", **{"final_norm": True, **options},
    )  # fmt: skip
    model = EncoderDecoder(config, np.random.default_rng(1)).eval()
    for parameter in model.parameters():
        parameter.data = parameter.data.astype(float)
    return model


def theirs(torch, norm, activation, **options):
    """A torch.nn.Transformer of the same sizes, with random parameters everywhere."""
    module = torch.nn.Transformer(
        D, H, LAYERS, DECODERS, HIDDEN, 0.0, activation, batch_first=True,
        norm_first=norm == "pre", **options,
    )  # fmt: skip
    rng = np.random.default_rng(2)
    for parameter in module.double().parameters():
        parameter.data = torch.from_numpy(rng.standard_normal(parameter.shape) / 2)
    return module


def sentences():
    """source (2, 5) of which 5 and 3 are tokens, target (2, 4), g (2, 4, V)."""
    rng = np.random.default_rng(3)
    source, target = rng.integers(0, V, (2, 5)), rng.integers(0, V, (2, 4))
    return source, [5, 3], target, rng.standard_normal((2, 4, V))


def computed(model):
    """Logits, and the gradient of all of them at once under torch's names."""
    source, lengths, target, g = sentences()
    logits = model(source, target, lengths)
    logits.backward(g)
    values = [parameter.data for parameter in model.parameters()]
    for parameter in model.parameters():
        parameter.data = parameter.grad
    found = torch_state(model)
    for parameter, value in zip(model.parameters(), values):
        parameter.data = value
    return {name: found[name] for name in found.keys() - TABLES} | {
        "logits": logits.data
    }


def computed_by_torch(torch, module, table):
    source, lengths, target, g = sentences()
    table = torch.from_numpy(table)
    padding = torch.from_numpy(np.arange(5) >= np.array(lengths)[:, None])
    y = module(
        table[source] * D**0.5, table[target] * D**0.5,
        tgt_mask=torch.ones(4, 4, dtype=torch.bool).triu(1),
        src_key_padding_mask=padding, memory_key_padding_mask=padding,
    )  # fmt: skip
    logits = y @ table.T
    logits.backward(torch.from_numpy(g))
    found = {name: p.grad.numpy() for name, p in module.named_parameters()}
    return found | {"logits": logits.detach().numpy()}


def compare(found, expected):
    assert found.keys() == expected.keys()
    for name, wanted in expected.items():
        np.testing.assert_allclose(found[name], wanted, **close, err_msg=name)


def arrays(module):
    return {name: value.numpy() for name, value in module.state_dict().items()}


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("name", MODELS)
def test_from_torch_the_same_is_computed(name):
    torch = pytest.importorskip("torch")
    module, model = theirs(torch, *MODELS[name]), ours(*MODELS[name])
    table = model.encoder.embedding.data.copy()
    load_torch_state(model, module.state_dict(), keep=TABLES)
    np.testing.assert_array_equal(model.encoder.embedding.data, table)
    compare(computed(model), computed_by_torch(torch, module, table))


@pytest.mark.parametrize("name", RECORDED)
def test_the_same_is_computed_as_torch_did(name):
    with np.load(GOLDEN) as file:
        state, expected, table = (
            {k.split("|")[2]: file[k] for k in file if k.startswith(f"{name}|{part}|")}
            for part in ("state", "out", "table")
        )
    model = ours(*MODELS[name])
    assert torch_state(model).keys() - TABLES == state.keys()
    load_torch_state(model, state, keep=TABLES)
    model.encoder.embedding.data = table["table"]
    compare(computed(model), expected)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("name", MODELS)
def test_to_torch_and_back_through_a_file(name, tmp_path):
    torch = pytest.importorskip("torch")
    one, other = ours(*MODELS[name]), ours(*MODELS[name])
    rng, path = np.random.default_rng(5), tmp_path / "transformer.safetensors"
    for parameter in one.parameters():
        parameter.data = rng.standard_normal(parameter.shape)
    state = torch_state(one)
    mg.checkpoint.save(path, torch_state(one, without=TABLES))

    module = theirs(torch, *MODELS[name])
    loaded = {n: torch.from_numpy(a) for n, a in mg.checkpoint.load(path).items()}
    module.load_state_dict(loaded)  # strict: all names, and no other
    compare(computed(one), computed_by_torch(torch, module, state["encoder.embedding"]))
    mg.checkpoint.save(path, arrays(module))

    load_torch_state(other, state | mg.checkpoint.load(path))
    for n, value in one.state_dict().items():
        np.testing.assert_array_equal(other.state_dict()[n], value, err_msg=n)


@pytest.mark.parametrize("cross", [False, True])
def test_a_layer_comes_from_torch(cross):
    torch = pytest.importorskip("torch")
    kind = "TransformerDecoderLayer" if cross else "TransformerEncoderLayer"
    layer = getattr(torch.nn, kind)(D, H, HIDDEN, 0.0, batch_first=True).double()
    config = TransformerConfig(**SIZES, norm="post", activation="relu")
    block, rng = Block(config, Scheme(), cross=cross).eval(), np.random.default_rng(6)
    for parameter in block.parameters():
        parameter.data = parameter.data.astype(float)
    load_torch_state(block, layer.state_dict())
    x, *memory = (rng.standard_normal((2, n, D)) for n in (5, 4)[: 1 + cross])
    found, _ = block(x, *memory, scheme=Scheme())
    expected = layer(*map(torch.from_numpy, (x, *memory)))
    np.testing.assert_allclose(found.data, expected.detach().numpy(), **close)
    back = torch_state(block)
    assert back.keys() == layer.state_dict().keys()
    for name, value in arrays(layer).items():
        np.testing.assert_array_equal(back[name], value, err_msg=name)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_stacks_alone():
    torch = pytest.importorskip("torch")
    module, model = theirs(torch, "pre", "gelu"), ours("pre", "gelu")
    for mine, peer in (model.encoder, module.encoder), (model.decoder, module.decoder):
        load_torch_state(mine, torch_state(mine) | peer.state_dict())
        assert torch_state(mine).keys() - {"embedding"} == peer.state_dict().keys()
    compare(
        computed(model),
        computed_by_torch(torch, module, model.encoder.embedding.data),
    )


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_norms_without_biases_are_norms_with_zeros():
    torch = pytest.importorskip("torch")
    module = theirs(torch, "pre", "gelu", bias=False)
    model = ours("pre", "gelu", bias=False)
    load_torch_state(model, torch_state(model) | module.state_dict())
    expected = computed_by_torch(torch, module, model.encoder.embedding.data)
    found = computed(model)
    compare({name: found[name] for name in expected}, expected)


def test_a_state_that_does_not_fit_is_named_and_not_loaded():
    model, state = (
        ours("post", "relu", final_norm=None),
        torch_state(ours("post", "relu")),
    )
    before = {name: value.copy() for name, value in model.state_dict().items()}
    with pytest.raises(ValueError) as caught:
        load_torch_state(model, torch_state(model) | state)
    said = str(caught.value).splitlines()
    assert "EncoderDecoder cannot load this state of torch's" in said[0]
    assert [line.strip() for line in said[1:]] == [
        f"unexpected: {side}.norm.{part}"
        for side in ("decoder", "encoder")
        for part in ("bias", "weight")
    ]
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


# the last norm


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("final_norm", [None, False, True])
def test_a_last_norm_where_it_is_asked_for(norm, final_norm):
    ends = norm == "pre" if final_norm is None else final_norm
    rng = np.random.default_rng(7)
    config = TransformerConfig(**SIZES, norm=norm, final_norm=final_norm)
    assert TransformerConfig.from_dict(config.to_dict()) == config
    model = DecoderOnly(config, rng).eval()
    for parameter in model.parameters():
        parameter.data = rng.standard_normal(parameter.shape)
    state, ids = model.state_dict(), rng.integers(0, V, (1, 5))
    assert any("final_norm" in name for name in state) == ends == config.ends_with_norm
    expected = Definition(config, state).decoder_only(ids[0])
    np.testing.assert_allclose(model(ids).data[0], expected, **close)
    both = [
        DecoderOnly(TransformerConfig(**SIZES, final_norm=x)) for x in (True, False)
    ]
    with_it, without = (each.num_parameters() for each in both)
    assert with_it - without == 2 * D


def test_what_is_neither_true_nor_false():
    with pytest.raises(TypeError, match="final_norm is 1; expected True or False"):
        TransformerConfig(**SIZES, final_norm=1)


# what the README says of it


def readme_names():
    """What the README's last lines of Python say, by the names that they need."""
    readme = pathlib.Path(__file__).resolve().parents[3] / "README.md"
    blocks = re.findall(r"```python\n(.*?)```", readme.read_text("utf-8"), re.S)
    (lines,) = [block for block in blocks if "TABLES" in block]
    tables, there, back = lines.strip().splitlines()
    exec(tables, found := {})
    return found["TABLES"], there, back


def test_the_lines_of_the_readme_move_a_transformer():
    tables, there, back = readme_names()
    assert set(tables) == TABLES and repr(tables).replace("'", '"') in torch_doc()
    model, other = ours("post", "relu"), ours("post", "relu")
    kept = {n: torch_state(other)[n] for n in TABLES}
    exec(there, names := globals() | {"model": model, "TABLES": tables})
    names |= {"state": {n: a + 1 for n, a in names["state"].items()}, "model": other}
    exec(back, names)
    for name, value in (names["state"] | kept).items():
        np.testing.assert_array_equal(torch_state(other)[name], value)


def torch_doc():
    from attention.exact.torch_state import torch_state as function

    return sys.modules[function.__module__].__doc__.replace("\n", " ")


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_both_ways_as_the_readme_has_them_with_torch():
    torch = pytest.importorskip("torch")
    tables, there, back = readme_names()
    model, module = ours("post", "relu"), theirs(torch, "post", "relu")
    exec(there, names := globals() | {"model": model, "TABLES": tables})
    state = {n: torch.from_numpy(a) for n, a in names["state"].items()}
    module.load_state_dict(state)  # strict
    before, other = torch_state(model), ours("post", "relu")
    exec(back, globals() | {"model": other, "TABLES": tables, "state": state})
    for name, value in before.items():
        np.testing.assert_array_equal(torch_state(other)[name], value)


def test_a_layer_that_is_missing_is_not_kept_in_silence():
    model = ours("pre", "gelu")  # two layers, and a state of one
    state = {n: a for n, a in torch_state(model, TABLES).items() if ".1." not in n}
    before = {name: value.copy() for name, value in model.state_dict().items()}
    with pytest.raises(ValueError) as caught:
        load_torch_state(model, {n: a + 1 for n, a in state.items()}, keep=TABLES)
    lines = str(caught.value).splitlines()[1:]
    assert lines and all(x.startswith("  missing: encoder.layers.1.") for x in lines)
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


def test_names_to_keep_or_leave_out_that_do_not_fit():
    model = ours("pre", "gelu")
    for call, argument in (
        (lambda names: torch_state(model, without=names), "without"),
        (lambda names: load_torch_state(model, torch_state(model), names), "keep"),
    ):
        with pytest.raises(ValueError, match=f"{argument} has 'encoder.table', and En"):
            call(["encoder.embedding", "encoder.table"])
        with pytest.raises(TypeError, match=f"{argument} is 'encoder.embedding'; exp"):
            call("encoder.embedding")
    with pytest.raises(ValueError, match="unexpected: encoder.embedding, which is in"):
        load_torch_state(model, torch_state(model), keep=TABLES)


class Unreadable:
    """As a tensor of torch's that NumPy cannot have."""

    def __array__(self, *_, **__):
        raise RuntimeError("Can't call numpy() on it.\nUse something else.")


@pytest.mark.parametrize(
    "value", [Unreadable(), "letters", [1j], [None], [[1], [2, 3]]]
)
def test_what_numpy_cannot_read_is_named(value):
    layer = mg.nn.GRU(2, 3)
    state = torch_state(layer) | {"bias_hh_l0": value}
    with pytest.raises(TypeError, match="^load_torch_state: bias_hh_l0 cannot be read"):
        load_torch_state(layer, state)


def test_tensors_of_torchs_that_numpy_cannot_read():
    torch = pytest.importorskip("torch")
    layer = mg.nn.GRU(2, 3)
    state = {n: torch.from_numpy(a) for n, a in torch_state(layer).items()}
    weight = state["weight_ih_l0"]
    for value in weight.bfloat16(), weight.clone().requires_grad_(), weight.to_sparse():
        with pytest.raises(TypeError, match="weight_ih_l0 cannot be read as an") as no:
            load_torch_state(layer, state | {"weight_ih_l0": value})
        (advice,) = re.findall(r"value[.].*[)]", str(no.value))
        names = {"value": value}  # and what it advises helps
        load_torch_state(layer, state | {"weight_ih_l0": eval(advice, names)})


def record():
    """Write the golden file, from torch."""
    import torch

    kept = {"torch": np.array(torch.__version__)}
    for name in RECORDED:
        module, table = theirs(torch, *MODELS[name]), np.random.default_rng(4)
        table = table.standard_normal((V, D))
        kept |= {f"{name}|state|{n}": a for n, a in arrays(module).items()}
        out = computed_by_torch(torch, module, table)
        kept |= {f"{name}|out|{n}": a for n, a in out.items()}
        kept[f"{name}|table|table"] = table
    np.savez_compressed(GOLDEN, **kept)
