"""The public names of the package: ``attention.attend`` is ``attend`` here.

All names that this module imports are public.
"""

from . import masks
from .exact.kv_cache import FixedKVCache, KVCache
from .exact.merge import merge
from .exact.multihead import MultiHeadAttention
from .exact.sdpa import scaled_dot_product_attention
from .exact.torch_state import load_torch_state, torch_state
from .layers import (
    AdditiveAttention, DotProductAttention, GeneralAttention, ProjectedKeys,
)  # fmt: skip
from .masks.block_mask import BlockMask
from .plotting.curves import accuracy_bars, loss_curves
from .plotting.heatmaps import alignment_heatmap, show_heatmaps
from .positions import (
    LearnedPositions, LinearScaling, NTKScaling, T5RelativeBias, YaRNScaling,
    alibi_by_offset, alibi_slopes, disentangled_scores, grid, patches, rope, rope_2d,
    shaw_scores, sinusoidal, t5_bucket, transformer_xl_distances, transformer_xl_scores,
)  # fmt: skip
from .scores import additive, concat, dot, general, scaled_dot
from .softmax import masked_softmax
from .template import attend
from .variants.chosen_blocks import block_attention, choose_blocks, native_sparse
from .variants.coverage import CoverageAttention, coverage_loss
from .variants.decay import decay_attention, retnet_log_decay
from .variants.delta_rule import delta_rule
from .variants.gated_linear import gated_linear_attention
from .variants.differential import DifferentialAttention, differential
from .variants.entmax import entmax, sparsemax
from .variants.forgetting import forgetting_attention, forgetting_bias
from .variants.gaussian import GaussianAttention, gaussian
from .variants.hard import best_baseline, gumbel_softmax, hard_weights, reinforce
from .variants.latent import LatentAttention
from .variants.linear import elu_plus_one, linear_attention
from .variants.graph import GAT, GATv2, leaky_scores
from .variants.heads_together import shared_attention, talking_heads
from .variants.hops import address, hops, sharpen
from .variants.local import LocalAttention
from .variants.location import LocationAttention
from .variants.longformer import LongformerAttention
from .variants.low_rank import linformer_attention, nystrom_attention
from .variants.luong import LuongAttention
from .variants.monotonic import (
    MoChA, MonotonicAttention, chunk_weights, hard_stops, monotonic_weights,
)  # fmt: skip
from .variants.nadaraya_watson import nadaraya_watson
from .variants.pointer import Pointer, not_chosen
from .variants.pointer_generator import copy_loss, copy_probabilities
from .variants.output_gate import GatedAttention, output_gate
from .variants.qk_norm import CosineAttention, QKNormAttention
from .variants.sets import ISAB, PMA, Perceiver
from .variants.sigmoid import sigmoid_weights
from .variants.sink import Sink, sink_softmax, softmax_plus_one
from .variants.small_cache import SmallCache, dequantize, quantize
from .variants.random_features import (
    performer_attention,
    random_directions,
    random_features,
)
from .variants.steps import BahdanauStep, LuongStep
from .variants.stick_breaking import stick_breaking

__all__ = [name for name in dir() if name[0] != "_"]
