"""attention: every attention variant as one template with a choice of score and mask.

scores.py, softmax.py     how well a key suits a query; scores into weights
attend.py                 the template that joins them
layers.py, luong.py       the same with learned scores
sdpa.py, flash.py         exact attention under torch's arguments; tile by tile
merge.py                  attention over two sets of keys into that over both
multihead.py, kv_cache.py heads side by side; keys and values kept for decoding
linear.py                 attention in linear time, and its state for decoding
local.py, coverage.py     windows that move; a memory of what was attended to
longformer.py             windows, and a few tokens that see all and are seen by all
gaussian.py               the Gaussian kernel as a score
kernel_regression.py      the estimate of Nadaraya and Watson, by one of four kernels
steps.py                  Luong's and Bahdanau's decoder step
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
from .gaussian import GaussianAttention, gaussian
from .kernel_regression import nadaraya_watson
from .kv_cache import FixedKVCache, KVCache
from .late import late
from .layers import (
    AdditiveAttention,
    BahdanauAttention,
    DotProductAttention,
    GeneralAttention,
    ProjectedKeys,
)
from .linear import LinearAttentionState, elu_plus_one, linear_attention
from .local import LocalAttention
from .longformer import LongformerAttention
from .luong import LuongAttention
from .mask_plots import show_masks
from .merge import merge
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
    shaw_scores,
    shaw_values,
    sinusoidal,
    t5_bucket,
    transformer_xl_distances,
    transformer_xl_scores,
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
__getattr__ = late(__name__, "marian", "seq2seq", "tasks", "transformer")
