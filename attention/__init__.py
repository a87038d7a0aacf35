"""attention: every attention variant as one template with a choice of score and mask.

scores.py, softmax.py     how well a key suits a query; scores into weights
attend.py                 the template that joins them
layers.py                 the same with learned scores
sdpa.py, flash.py         exact attention under torch's arguments; tile by tile
multihead.py, kv_cache.py heads side by side; keys and values kept for decoding
linear.py                 attention in linear time, and its state for decoding
local.py, coverage.py     windows that move; a memory of what was attended to
gaussian.py, steps.py     kernel regression; Luong's and Bahdanau's decoder step
masks, block_mask.py      who may attend to whom, as an algebra; the same in tiles
positions                 how attention learns where things stand
plots.py, curves.py       pictures of weights and of training runs

Of their own, loaded when they are first asked for (``attention.marian.load(folder)``):

seq2seq, transformer      recurrent models, their training and search; Transformers
marian                    published translation models, read by hand
tasks                     what the models learn: reversal, grammars, your own text
"""

from . import masks
from .attend import attend
from .block_mask import BlockMask
from .coverage import CoverageAttention, coverage_loss
from .curves import accuracy_bars, loss_curves
from .flash import merge
from .gaussian import gaussian
from .kv_cache import FixedKVCache, KVCache
from .late import late
from .layers import (
    AdditiveAttention,
    DotProductAttention,
    GeneralAttention,
    LuongAttention,
    ProjectedKeys,
)
from .linear import LinearAttentionState, elu_plus_one, linear_attention
from .local import LocalAttention
from .mask_plots import show_masks
from .multihead import MultiHeadAttention
from .plots import alignment_heatmap, show_heatmaps
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
    sinusoidal,
    t5_bucket,
)
from .scores import additive, concat, dot, general, scaled_dot
from .sdpa import scaled_dot_product_attention
from .softmax import masked_softmax
from .steps import BahdanauStep, LuongStep
from .torch_state import load_torch_state, torch_state

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
    "LuongAttention",
    "ProjectedKeys",
    "LocalAttention",
    "CoverageAttention",
    "coverage_loss",
    "gaussian",
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
    "disentangled_scores",
    "show_masks",
    "show_heatmaps",
    "alignment_heatmap",
    "loss_curves",
    "accuracy_bars",
]
__getattr__ = late(__name__, "marian", "seq2seq", "tasks", "transformer")
