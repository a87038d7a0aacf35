"""Weights that stay in blocks: the product, the layers, and a model made of them."""

import numpy as np
import pytest

import minigrad as mg
from attention.kernels import pool
from attention.kernels.choice import _Chosen
from attention.published import architectures
from attention.published.blocks import BLOCKS, bytes_of, product, stored_tensor
from attention.published.quantized import QuantizedEmbedding, QuantizedLinear

from ...golden.decoder_models import IDS
from ...messages import check_message
from ..kernels.kernel_cases import BACKENDS, running
from .decoder_cases import as_gguf

rng = np.random.default_rng(0)


def random_blocks(kind, shape):
    """A tensor of random bytes, with finite scales of both signs."""
    data = rng.integers(0, 256, bytes_of(kind, shape), np.uint8)
    blocks = stored_tensor(kind, shape, data).stored
    for part in {"d", "m"} & set(blocks.dtype.names):
        blocks[part] = rng.normal(size=blocks.shape)
    return stored_tensor(kind, shape, data)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", BLOCKS)
def test_the_product_is_that_of_the_dequantized_weights(kind, backend, monkeypatch):
    """Of an odd number of rows; with one row of x, and more than the loop takes."""
    monkeypatch.setattr(pool, "WORTH_A_THREAD", 0)
    monkeypatch.setattr("attention.published.blocks.STRIP", 1000)
    tensor = random_blocks(kind, (37, 96))
    W = tensor.array().astype(float)
    for N in 1, 7:
        x = rng.normal(size=(2 * N, 96)).astype(np.float32)[::2]  # not contiguous
        with running(backend):
            found = product(tensor, x)
            monkeypatch.setattr(_Chosen, "threads", 3)
            np.testing.assert_array_equal(product(tensor, x), found)
        assert found.dtype == np.float32
        sizes = abs(x) @ abs(W).T  # what rounding is relative to
        assert (abs(found - x @ W.T) <= 1e-6 * sizes).all()


@pytest.mark.parametrize("kind", BLOCKS)
def test_a_compiled_weight_has_the_bits_of_the_dequantized_one(kind):
    """x chooses one weight. The scales are all that float16 has, but NaN."""
    tensor = random_blocks(kind, (2**16, 32))
    tensor.stored["d"][:, 0] = halves = np.arange(2**16, dtype="u2").view("f2")
    with running("numba"), np.errstate(all="ignore"):
        found = product(tensor, np.eye(32, dtype=np.float32)[[0, 21]])
    finite = np.isfinite(halves)
    np.testing.assert_array_equal(found[:, finite], tensor.array().T[[0, 21]][:, finite])
    assert not np.isfinite(found[:, ~finite]).any()


MATRICES = {
    "attn_q": (32, 32), "attn_k": (16, 32), "attn_v": (16, 32), "attn_output": (32, 32),
    "ffn_gate": (64, 32), "ffn_up": (64, 32), "ffn_down": (32, 64),
}  # fmt: skip


def in_blocks(kind, tied):
    """The metadata and tensors of a GGUF file with matrices in blocks."""
    settings, arrays = as_gguf("llama" if kind == "llama" else "qwen2")
    settings |= {f"{kind}.embedding_length": 32, f"{kind}.feed_forward_length": 64,
                 f"{kind}.attention.key_length": 8,
                 f"{kind}.rope.dimension_count": 8}  # fmt: skip
    tensors = {}
    for each in arrays:
        part, _, last = each.rpartition(".")
        rows, width = MATRICES.get(part.split(".")[-1], (31, 32))
        if last == "bias" or "norm" in part:
            size = rows if last == "bias" else 32
            tensors[each] = rng.normal(size=size).astype(np.float32)
        elif each != "output.weight" or not tied:
            form = "Q8_0" if rows == 31 else "Q4_1"
            tensors[each] = tensor = random_blocks(form, (rows, width))
            tensor.stored["d"] = 0.002 if form == "Q8_0" else 0.03
            if form == "Q4_1":
                tensor.stored["m"] = -0.2
    return settings, tensors


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind, tied", [("llama", False), ("qwen2", True)])
def test_a_model_in_blocks_has_the_logits_of_that_in_float32(kind, tied, backend):
    settings, tensors = in_blocks(kind, tied)
    exact = architectures.load(tensors, settings)(IDS).data
    m = architectures.load(tensors, settings, quantized=True)
    with running(backend), mg.no_grad():
        np.testing.assert_allclose(m(IDS).data, exact, rtol=0, atol=1e-5)
        state = m.start(IDS[:, :-1])
        logits, *_ = m.step(state, IDS[:, -1])
    np.testing.assert_allclose(logits.data, exact[:, -1], rtol=0, atol=1e-5)
    assert len(m.decoder.blocks) == m.config.layers
    assert {p.ndim for p in m.parameters()} == {1}  # norms and biases


def changed(name, tensor):
    settings, tensors = in_blocks("llama", False)
    return architectures.load(tensors | {name: tensor}, settings, quantized=True)


TABLE = random_blocks("Q4_0", (5, 32))
WIDE = random_blocks("Q4_1", (32, 32))
CALLS = [
    (lambda: QuantizedLinear(TABLE)(mg.Tensor(np.ones((1, 32), "f"), True)),
     "QuantizedLinear: x requires a gradient; expected no_grad()"),
    (lambda: QuantizedEmbedding(TABLE)([[5]]), "ids hold 5; expected numbers from 0"),
    (lambda: changed("blk.1.attn_k.weight", WIDE),
     "'decoder.blocks.1.self_attn.W_k.weight' has the shape (32, 32); expected (16, 32)"),
    (lambda: changed("blk.0.attn_norm.weight", WIDE), "in blocks; expected floats"),
]  # fmt: skip


@pytest.mark.parametrize("call, fragment", CALLS)
def test_message(call, fragment):
    check_message(call, [fragment], (ValueError, RuntimeError))
