"""What the variants say of an argument of the wrong kind: its name, and what to do."""

import importlib
import re

import numpy as np
import pytest

from attention import masks
from attention.exact.multihead import MultiHeadAttention
from attention.exact.sdpa import scaled_dot_product_attention
from attention.masks import block_mask, causal, local
from attention.plotting.masks import show_masks
from attention.positions import T5RelativeBias
from attention.exact.torch_state import load_torch_state, torch_state
from attention.variants.coverage import CoverageAttention
from attention.variants.linear import linear_attention
from attention.variants.local import LocalAttention
from minigrad import Tensor

x = np.random.default_rng(0).normal(size=(3, 5, 4))
door = "scaled_dot_product_attention: "
BLOCKS = block_mask.BlockMask.from_mask(causal, 5, 5)


def ask(**options):
    return lambda: scaled_dot_product_attention(x, x, x, **options)


def branches(s, b, h, i, j):
    return s if i > j else s


def few(b, h):
    return b == h


def at_local(centre):
    return LocalAttention(4, 4, 1, centre=centre)(x, x, x)


nothing = "is None; expected an array or a Tensor of floating-point numbers."
REFUSED = {
    "linear": (
        lambda: linear_attention(x, None, x),
        TypeError,
        f"linear_attention: k {nothing}",
    ),
    "local": (
        lambda: LocalAttention(4, 4, 1)(x, x, None),
        TypeError,
        f"LocalAttention: values {nothing}",
    ),
    "score_mod of two": (
        ask(score_mod=few),
        TypeError,
        f"{door}score_mod takes (b, h); expected a function of (score, b, h, q_idx, "
        "kv_idx).",
    ),
    "mask_mod of two": (
        ask(mask_mod=few),
        TypeError,
        "mask_mod(few): the function takes (b, h); expected a function of (b, h, "
        "q_idx, kv_idx).",
    ),
    "centre of two": (
        ask(mask_mod=local(few, 2)),
        TypeError,
        "local(few, 2): the function centre takes (b, h); expected a function of one "
        "array, q_idx.",
    ),
    "centre of one": (
        lambda: at_local(lambda t: t),
        TypeError,
        "LocalAttention: the function centre takes (t); expected a function of (t, "
        "length).",
    ),
    "tiles of None": (
        lambda: block_mask.BlockMask.from_mask(causal, 4, 4, block=None),
        TypeError,
        "BlockMask: block is None; expected (Tq, Tk), or one number for both.",
    ),
    "one mask to draw": (
        lambda: show_masks(causal, 5, 5),
        TypeError,
        "show_masks: masks is one mask; expected a list of masks, such as [mask].",
    ),
    "multi-head's bias": (
        lambda: MultiHeadAttention(4, 2, bias="no"),
        TypeError,
        "MultiHeadAttention: bias is 'no'; expected True or False.",
    ),
    "coverage's bias": (
        lambda: CoverageAttention(4, 4, 3, bias="x"),
        TypeError,
        "CoverageAttention: bias is 'x'; expected True or False.",
    ),
    "multi-head's scale": (
        lambda: MultiHeadAttention(4, 2, scale="a"),
        TypeError,
        "MultiHeadAttention: scale is 'a'; expected a finite number, or None for 1 / "
        "sqrt(E). To learn a scale, multiply the query by it.",
    ),
    "multi-head's scale, NaN": (
        lambda: MultiHeadAttention(4, 2, scale=np.nan),
        ValueError,
        "MultiHeadAttention: scale is nan; expected a finite number",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_argument_is_named(name):
    call, kind, message = REFUSED[name]
    with pytest.raises(kind) as error:
        call()
    assert str(error.value).startswith(message) and str(error.value).endswith(".")


def test_a_state_of_torch_s_is_led_to_its_own_function():
    layer, other = MultiHeadAttention(4, 2), MultiHeadAttention(4, 2)
    state = torch_state(layer)
    with pytest.raises(ValueError, match=r"use load_torch_state\(layer, state\)\.$"):
        other.load_state_dict(state)
    load_torch_state(other, state)
    with pytest.raises(ValueError) as error:  # no other state is said to be torch's
        other.load_state_dict({})
    assert "torch" not in str(error.value)
    assert other.load_state_dict(layer.state_dict()) == ([], [])


def test_an_error_inside_of_a_function_is_not_taken_for_its_arguments():
    def broken(s, b, h, i, j):
        return s + None

    with pytest.raises(TypeError) as error:
        ask(score_mod=broken)()
    assert "expected a function of" not in str(error.value)
    with pytest.raises(ValueError, match="^mine$"):
        ask(score_mod=raises)()


def raises(*arguments):
    raise ValueError("mine")


def test_what_is_right_is_taken():
    bias = T5RelativeBias(3)
    for given in (bias(5, 5), bias.by_offset(5, 5)):
        assert ask(bias=given)().shape == x.shape
    doubled = ask(score_mod=lambda s, *indices: s * 2.0)()
    assert isinstance(doubled, Tensor)
    layer = MultiHeadAttention(4, 2, bias=np.False_, scale=np.float32(0.5))
    assert layer.W_q.bias is None and layer.scale == 0.5
    assert masks.sliding_window(1, 0).dense(1, 1, 3, 3).sum() == 5


OPENING = ["exact.sdpa", "masks.windows", "masks.tokens", "masks.bigbird", "layers", "attend",
           "softmax", "scores", "variants.gaussian", "masks.block_mask"]  # fmt: skip


@pytest.mark.parametrize("name", OPENING)
def test_a_file_opens_with_its_formula_and_its_source(name):
    text = importlib.import_module(f"attention.{name}").__doc__
    assert re.search(r"^    \S", text, re.M), "a formula, set apart"
    assert re.search(r"\b(19|20)\d\d\b", text), "a source"
