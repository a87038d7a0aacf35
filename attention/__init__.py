"""attention: every attention variant as one template with a choice of score and mask.

Read these four first; they are the whole of classical attention:

scores.py, softmax.py   how well a key suits a query; scores into weights
template.py, layers.py  the template that joins them; the same with learned scores

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

seq2seq, transformer, marian, tasks and plotting load when they are first used.
"""

import importlib
from typing import TYPE_CHECKING

from . import masks
from .template import attend
from .exact.kv_cache import FixedKVCache, KVCache
from .exact.merge import merge
from .exact.multihead import MultiHeadAttention
from .exact.sdpa import scaled_dot_product_attention
from .exact.torch_state import load_torch_state, torch_state
from .layers import (
    AdditiveAttention,
    BahdanauAttention,
    DotProductAttention,
    GeneralAttention,
    ProjectedKeys,
)
from .masks.block_mask import BlockMask
from .positions import (
    DynamicNTKScaling,
    LearnedPositions,
    LinearScaling,
    NTKScaling,
    T5RelativeBias,
    YaRNScaling,
    alibi_bias,
    alibi_slopes,
    disentangled_scores,
    rope,
    shaw_scores,
    shaw_values,
    sinusoidal,
    t5_bucket,
    transformer_xl_distances,
    transformer_xl_scores,
)
from .scores import additive, concat, dot, general, scaled_dot
from .softmax import masked_softmax
from .variants.coverage import CoverageAttention, coverage_loss
from .variants.gaussian import GaussianAttention, gaussian
from .variants.linear import LinearAttentionState, elu_plus_one, linear_attention
from .variants.local import LocalAttention
from .variants.longformer import LongformerAttention
from .variants.luong import LuongAttention
from .variants.nadaraya_watson import nadaraya_watson
from .variants.steps import BahdanauStep, LuongStep

__all__ = [
    "masked_softmax",
    "dot",
    "scaled_dot",
    "general",
    "additive",
    "concat",
    "attend",
    "scaled_dot_product_attention",
    "merge",
    "linear_attention",
    "LinearAttentionState",
    "elu_plus_one",
    "MultiHeadAttention",
    "KVCache",
    "FixedKVCache",
    "torch_state",
    "load_torch_state",
    "DotProductAttention",
    "GeneralAttention",
    "AdditiveAttention",
    "BahdanauAttention",
    "LuongAttention",
    "ProjectedKeys",
    "LocalAttention",
    "CoverageAttention",
    "coverage_loss",
    "LongformerAttention",
    "gaussian",
    "GaussianAttention",
    "nadaraya_watson",
    "BahdanauStep",
    "LuongStep",
    "masks",
    "BlockMask",
    "sinusoidal",
    "LearnedPositions",
    "t5_bucket",
    "T5RelativeBias",
    "rope",
    "LinearScaling",
    "NTKScaling",
    "DynamicNTKScaling",
    "YaRNScaling",
    "alibi_slopes",
    "alibi_bias",
    "shaw_scores",
    "shaw_values",
    "transformer_xl_scores",
    "transformer_xl_distances",
    "disentangled_scores",
    "show_masks",
    "show_heatmaps",
    "alignment_heatmap",
    "loss_curves",
    "accuracy_bars",
]


FIGURES = {
    "accuracy_bars": "curves",
    "alignment_heatmap": "heatmaps",
    "loss_curves": "curves",
    "show_heatmaps": "heatmaps",
    "show_masks": "masks",
}


SUBPACKAGES = ("marian", "plotting", "seq2seq", "tasks", "transformer")

if TYPE_CHECKING:  # loaded at first use, below
    from . import marian, plotting, seq2seq, tasks, transformer
    from .plotting.curves import accuracy_bars, loss_curves
    from .plotting.heatmaps import alignment_heatmap, show_heatmaps
    from .plotting.masks import show_masks


def __dir__():
    return [*globals(), *SUBPACKAGES, *FIGURES]


def __getattr__(name):
    """Import subpackages and figures at their first use, so that importing is fast."""
    if name in SUBPACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in FIGURES:
        module = importlib.import_module(f"{__name__}.plotting.{FIGURES[name]}")
        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
