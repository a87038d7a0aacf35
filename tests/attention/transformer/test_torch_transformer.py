"""Transformers to torch and back: names, outputs, and every gradient.

golden/torch_transformer.npz holds what torch.nn.Transformer computed, its state, and
the version of torch.
"""

import pathlib
import re

import numpy as np
import pytest

from attention.exact.torch_state import load_torch_state, torch_state
from attention.positions.scheme import Scheme
from attention.transformer import Block, EncoderDecoder, EncoderDecoderConfig

from ...minigrad.array_cases import in_float64

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "torch_transformer.npz"
PAGE = pathlib.Path(__file__).parents[3] / "lessons" / "PYTORCH.md"
V, D, H, LAYERS, DECODERS, HIDDEN = 7, 6, 3, 2, 1, 10
SIZES = dict(vocabulary=V, width=D, heads=H, layers=LAYERS, hidden=HIDDEN)
RECORDED = {"pre gelu": ("pre", "gelu"), "post relu": ("post", "relu")}
TABLES = {"encoder.embedding", "decoder.embedding"}
close = dict(rtol=1e-10, atol=1e-12)


def ours(norm, activation, **options):
    """A model in float64 whose layers are to be overwritten."""
    config = EncoderDecoderConfig(
        **SIZES, decoder_layers=DECODERS, norm=norm, activation=activation,
        positions="none", **{"final_norm": True, **options},
    )  # fmt: skip
    return in_float64(EncoderDecoder(config, np.random.default_rng(1))).eval()


def sentences():
    """source (2, 5) with 5 and 3 tokens, target (2, 4), g (2, 4, V)."""
    rng = np.random.default_rng(3)
    source, target = rng.integers(0, V, (2, 5)), rng.integers(0, V, (2, 4))
    return source, [5, 3], target, rng.standard_normal((2, 4, V))


def computed(model):
    """The logits, and the gradients of all of them under torch's names."""
    source, lengths, target, g = sentences()
    logits = model(source, target, lengths)
    logits.backward(g)
    values = [parameter.data for parameter in model.parameters()]
    for parameter in model.parameters():
        parameter.data = parameter.grad
    found = torch_state(model, without=TABLES)
    for parameter, value in zip(model.parameters(), values):
        parameter.data = value
    return found | {"logits": logits.data}


def compare(found, expected):
    assert found.keys() == expected.keys()
    for name, wanted in expected.items():
        np.testing.assert_allclose(found[name], wanted, **close, err_msg=name)


def recorded(name, part):
    """Return the arrays of a part: "state", "out" or "table"."""
    with np.load(GOLDEN) as file:
        start = f"{name}|{part}|"
        return {k.removeprefix(start): file[k] for k in file if k.startswith(start)}


@pytest.mark.parametrize("name", RECORDED)
def test_outputs_and_gradients_are_those_that_torch_recorded(name):
    state, expected, table = (recorded(name, x) for x in ("state", "out", "table"))
    model = ours(*RECORDED[name])
    load_torch_state(model, state, keep=TABLES)
    assert torch_state(model, without=TABLES).keys() == state.keys()
    model.encoder.embedding.data = table["table"]
    compare(computed(model), expected)


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_a_layer_and_a_stack_come_from_torch(side):
    state, model = recorded("post relu", "state"), ours("post", "relu")
    stack = {k.removeprefix(f"{side}."): a for k, a in state.items() if side in k}
    load_torch_state(getattr(model, side), stack, keep=["embedding"])
    start = f"{side}.layers.0."
    layer = {k.removeprefix(start): a for k, a in state.items() if start in k}
    block = in_float64(Block(model.config, Scheme(), cross=side == "decoder")).eval()
    load_torch_state(block, layer)
    assert torch_state(block).keys() == layer.keys()
    for name, value in torch_state(getattr(model, side).blocks[0]).items():
        np.testing.assert_array_equal(torch_state(block)[name], value, err_msg=name)


# states that do not fit


def test_a_state_that_does_not_fit_is_listed_and_not_loaded():
    model = ours("post", "relu", final_norm=None)
    state = torch_state(ours("post", "relu"), without=TABLES)
    state = {n: a + 1 for n, a in state.items() if "encoder.layers.1." not in n}
    before = {name: value.copy() for name, value in model.state_dict().items()}
    with pytest.raises(ValueError) as caught:
        load_torch_state(model, state, keep=TABLES)
    first, *lines = str(caught.value).splitlines()
    assert "EncoderDecoder cannot load this state of torch's" in first
    unexpected = [line for line in lines if line.startswith("  unexpected: ")]
    assert unexpected == [
        f"  unexpected: {side}.norm.{part}"
        for side in ("decoder", "encoder")
        for part in ("bias", "weight")
    ]
    missing = [line for line in lines if line not in unexpected]
    assert len(missing) == 12
    assert all(line.startswith("  missing: encoder.layers.1.") for line in missing)
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


# the lines of the page for readers who know PyTorch


def block_of(word):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    return [block for block in blocks if word in block]


def test_the_page_moves_a_gru(tmp_path, monkeypatch):
    mine, _ = block_of("gru.safetensors")
    monkeypatch.chdir(tmp_path)
    export, load = mine.strip().rsplit("\n", 1)
    exec(export, names := {})
    before = {n: a.copy() for n, a in names["layer"].state_dict().items()}
    for parameter in names["layer"].parameters():
        parameter.data = parameter.data * 0
    exec(load, names)
    for name, value in names["layer"].state_dict().items():
        np.testing.assert_array_equal(value, before[name])


def test_the_page_moves_a_transformer():
    tables, export, load = block_of("TABLES")[0].strip().splitlines()[-3:]
    model, other = ours("post", "relu"), ours("post", "relu")
    kept = {n: torch_state(other)[n] for n in TABLES}
    exec(tables, names := globals() | {"model": model})
    assert set(names["TABLES"]) == TABLES
    exec(export, names)
    state = {n: a + 1 for n, a in names["state"].items()}
    exec(load, names | {"state": state, "model": other})
    for name, value in (state | kept).items():
        np.testing.assert_array_equal(torch_state(other)[name], value)
