"""attention: every attention variant as one template with a choice of score and mask.

Read these four first; they are the whole of classical attention:

scores.py, softmax.py   how well a key suits a query; scores into weights
attend.py, layers.py    the template that joins them; the same with learned scores

exact/          scaled dot-product attention, whole and in tiles; many heads; a cache
variants/       windows, coverage, kernels, linear time, Longformer, decoder steps
masks/          which key a query may attend to, as an algebra and in blocks
positions/      how attention learns where a token stands
kernels/        the hot loops, compiled by numba, each beside its NumPy twin
seq2seq/        recurrent models with attention, their training, search and metrics
transformer/    Transformer blocks and models
marian/         published translation models, read and run
tasks/          what the models learn: reversal, grammars, your own text
costs/          what attention costs: formulas, counted, measured
plotting/       figures of weights, masks and training runs
app/            the command line

Every name loads when it is first used, so that a command's --help needs no NumPy.
"""

import importlib
import sys
import types

SUBMODULES = (
    "costs", "exact", "kernels", "layers", "marian", "masks", "plotting", "positions",
    "scores", "seq2seq", "softmax", "tasks", "transformer", "variants",
)  # fmt: skip
MODULES = {  # module: the public names that it defines
    "attend": "attend",
    "exact.kv_cache": "FixedKVCache KVCache",
    "exact.merge": "merge",
    "exact.multihead": "MultiHeadAttention",
    "exact.sdpa": "scaled_dot_product_attention",
    "exact.torch_state": "load_torch_state torch_state",
    "layers": """
        AdditiveAttention BahdanauAttention DotProductAttention GeneralAttention
        ProjectedKeys""",
    "masks.block_mask": "BlockMask",
    "plotting.curves": "accuracy_bars loss_curves",
    "plotting.heatmaps": "alignment_heatmap show_heatmaps",
    "plotting.masks": "show_masks",
    "positions": """
        DynamicNTKScaling LearnedPositions LinearScaling NTKScaling T5RelativeBias
        YaRNScaling alibi_bias alibi_slopes disentangled_scores rope shaw_scores
        shaw_values sinusoidal t5_bucket transformer_xl_distances
        transformer_xl_scores""",
    "scores": "additive concat dot general scaled_dot",
    "softmax": "masked_softmax",
    "variants.coverage": "CoverageAttention coverage_loss",
    "variants.gaussian": "GaussianAttention gaussian",
    "variants.linear": "LinearAttentionState elu_plus_one linear_attention",
    "variants.local": "LocalAttention",
    "variants.longformer": "LongformerAttention",
    "variants.luong": "LuongAttention",
    "variants.nadaraya_watson": "nadaraya_watson",
    "variants.steps": "BahdanauStep LuongStep",
}
_module_of = {name: m for m, names in MODULES.items() for name in names.split()}

__all__ = ["masks", *_module_of]


def __getattr__(name):
    """Import the module of a public name, or a submodule, at its first use."""
    if name in _module_of:
        module = importlib.import_module(f"{__name__}.{_module_of[name]}")
        globals()[name] = getattr(module, name)
        return globals()[name]
    if name in SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__, *SUBMODULES})


class _Package(types.ModuleType):
    """This package. ``attend`` is the function, also after its module is imported."""

    def __setattr__(self, name, value):
        if name == "attend" and isinstance(value, types.ModuleType):
            value = value.attend
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
