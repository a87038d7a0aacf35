"""Every public function with a shape line is decorated with ``@shapes``."""

import importlib
import inspect
import pkgutil

import pytest

import attention
import minigrad
from minigrad.shape_line import shape_line
from minigrad.shapes import shapes

PACKAGES = [minigrad, attention]
PROSE = {  # functions whose results are tuples of other things, or layers and masks
    "attention.exact.multihead.MultiHeadAttention.precompute",
    "attention.layers.Attention.precompute",
    "attention.masks.tokens.document.__init__",
    "attention.masks.tokens.padding.__init__",
    "attention.masks.tokens.prefix_lm.__init__",
    "attention.positions.offsets.OffsetBias.__init__",
    "attention.seq2seq.model.Seq2Seq.encode",
    "attention.seq2seq.model.Seq2Seq.forced",
    "attention.seq2seq.model.Seq2Seq.step",
    "attention.transformer.decoder_only.DecoderOnly.step",
    "attention.transformer.encoder_decoder.EncoderDecoder.forward",
    "attention.transformer.encoder_decoder.EncoderDecoder.step",
    "attention.variants.steps.BahdanauStep.forward",
    "attention.variants.steps.LuongStep.forward",
}
UNCHECKED = {  # words in the brackets; or functions that checked ones alone call
    "attention.exact.dense.attention_average",
    "attention.exact.dense.attention_scores",
    "attention.exact.dense.group_heads",
    "attention.exact.flash.flash_attention",
    "attention.exact.multihead.heads",
    "attention.exact.sdpa.with_equal_batch",
    "attention.kernels.additive.backward",
    "attention.kernels.additive.forward",
    "attention.kernels.softmax.forward",
    "attention.positions.t5.t5_bucket",
    "attention.training.find_nan.find_nan",
    "attention.softmax.softmax_over_allowed",
    "minigrad.broadcasting.unbroadcast",
    "minigrad.ops.select.select",
}


def functions(package, private=False):
    """{qualified name: function} of the public functions and methods of a package."""
    found = {}
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        module = importlib.import_module(module.name)
        for owner in [module, *filter(inspect.isclass, vars(module).values())]:
            for name, function in vars(owner).items():
                public = not name.startswith("_") or name in ("__call__", "__init__")
                public = public or private
                own = getattr(function, "__module__", None) == module.__name__
                if public and own and inspect.isfunction(function):
                    found[f"{module.__name__}.{function.__qualname__}"] = function
    return found


def undecorated(functions):
    return [
        name
        for name, function in functions.items()
        if not hasattr(function, "contract") and shape_line(function)
    ]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_shape_line_is_enforced(package):
    assert set(undecorated(functions(package))) <= UNCHECKED


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_the_right_sides_in_prose_are_listed(package):
    contracts = {
        name: function.contract()  # raises if the line cannot be parsed
        for name, function in functions(package, private=True).items()
        if hasattr(function, "contract")
    }
    prose = {name for name, contract in contracts.items() if contract.results is None}
    assert len(contracts) > 10
    assert prose == {name for name in PROSE if name.startswith(package.__name__)}


def test_the_search_finds_functions_methods_and_lines():
    found = functions(minigrad)
    assert {"minigrad.ops.matmul.linear", "minigrad.nn.layers.Linear.forward"} <= set(
        found
    )

    def decorated(x):
        """x (B, D)  ->  y (B, D)"""

    def forgotten(x):
        """x (B, D)  ->  y (B, D)"""

    both = {"decorated": shapes(decorated), "forgotten": forgotten}
    assert undecorated(both) == ["forgotten"]
