"""Whole models under torch's names: through a file, to torch, and back."""

import pathlib
import re

import numpy as np
import pytest

from attention.exact.torch_state import load_torch_state, torch_state
from attention.transformer import (
    DecoderOnly,
    EncoderDecoder,
    EncoderDecoderConfig,
    TransformerConfig,
)
from minigrad import checkpoint, nn

SIZES = dict(vocabulary=11, width=12, heads=3, layers=2)


def language_model(seed=0, norm="pre"):
    config = TransformerConfig(**SIZES, norm=norm, positions="none", tied=False)
    return DecoderOnly(config, rng=np.random.default_rng(seed)).eval()


def test_names_are_torchs():
    names = set(torch_state(language_model()))
    block = {f"decoder.layers.1.{end}" for end in (
        "self_attn.in_proj_weight", "self_attn.in_proj_bias",
        "self_attn.out_proj.weight", "self_attn.out_proj.bias",
        "norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias",
        "linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias",
    )}  # fmt: skip
    others = {"decoder.norm.weight", "decoder.norm.bias", "decoder.embedding"}
    first = {name.replace("layers.1", "layers.0") for name in block}
    assert names == block | first | others | {"output.weight"}


@pytest.mark.parametrize("suffix", [".safetensors", ".npz"])
def test_through_a_file_and_back(tmp_path, suffix):
    config = EncoderDecoderConfig(**SIZES, decoder_layers=3)
    one, other = (EncoderDecoder(config, np.random.default_rng(i)) for i in (0, 1))
    checkpoint.save(tmp_path / f"model{suffix}", torch_state(one))
    load_torch_state(other, checkpoint.load(tmp_path / f"model{suffix}"))
    for name, value in one.state_dict().items():
        np.testing.assert_array_equal(other.state_dict()[name], value)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_torch_computes_the_same(norm, tmp_path):
    torch = pytest.importorskip("torch")
    model, ids = language_model(norm=norm), np.arange(14).reshape(2, 7) % 11
    for p in model.parameters():
        p.data = p.data.astype(float)
    state = {n: torch.from_numpy(a) for n, a in torch_state(model).items()}
    layer = torch.nn.TransformerEncoderLayer(
        12, 3, 4 * 12, 0.0, model.config.activation, batch_first=True,
        norm_first=norm == "pre",
    )  # fmt: skip
    last = torch.nn.LayerNorm(12) if norm == "pre" else None
    stack = torch.nn.TransformerEncoder(layer, 2, last, enable_nested_tensor=False)
    table = state.pop("decoder.embedding")
    output = state.pop("output.weight")
    stack.double().load_state_dict(
        {n.removeprefix("decoder."): a for n, a in state.items()}
    )
    later = torch.ones(7, 7, dtype=torch.bool).triu(1)
    with torch.no_grad():
        expected = stack.eval()(table[ids] * 12**0.5, mask=later) @ output.T
    out = model(ids).data
    np.testing.assert_allclose(out, expected.numpy(), rtol=1e-12, atol=1e-13)


def test_recurrent_layers_have_torchs_names_anyway():
    layer = nn.LSTM(3, 5, num_layers=2, bidirectional=True)
    assert torch_state(layer).keys() == layer.state_dict().keys()


def test_what_has_no_names_in_torch():
    config = TransformerConfig(**SIZES | {"heads": 4}, key_heads=2)
    with pytest.raises(ValueError, match="4 query heads and 2 key heads"):
        torch_state(DecoderOnly(config))
    with pytest.raises(TypeError, match="found a int; expected a module"):
        torch_state(3)
    model, state = language_model(), torch_state(language_model())
    state.pop("decoder.layers.0.norm1.bias")
    with pytest.raises(ValueError, match="missing: decoder.layers.0.norm1.bias"):
        load_torch_state(model, state)


def test_the_way_to_torch_and_back_in_the_readme(tmp_path, monkeypatch):
    readme = pathlib.Path(__file__).resolve().parents[3] / "README.md"
    blocks = re.findall(r"```python\n(.*?)```", readme.read_text("utf-8"), re.S)
    ours, theirs = [block for block in blocks if "gru.safetensors" in block]
    monkeypatch.chdir(tmp_path)
    there, back = ours.strip().rsplit("\n", 1)
    exec(there, here := {})
    before = {n: a.copy() for n, a in here["layer"].state_dict().items()}
    exec(back, here)
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    exec(theirs, {})
    for parameter in here["layer"].parameters():
        parameter.data = parameter.data * 0
    exec(back, here)
    for name, value in here["layer"].state_dict().items():
        np.testing.assert_array_equal(value, before[name])
