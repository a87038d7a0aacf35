"""Integer options of attention: what is no whole number is refused in one sentence."""

import re

import numpy as np
import pytest

import attention as A
from attention import masks, positions
from attention.masks.block_mask import BlockMask
from attention.masks.mask_check import check_mask
from attention.positions import offsets
from attention.positions.fire import FIRE
from attention.positions.grid import grid, patches
from attention.positions.kerple import KERPLE
from attention.positions.sinusoidal import frequencies
from attention.variants.chosen_blocks import (
    block_attention,
    choose_blocks,
    chosen_blocks,
    native_sparse,
)
from attention.variants.decay import retnet_log_decay
from attention.variants.hops import hops
from attention.variants.low_rank import iterated_inverse
from attention.variants.monotonic import MoChA, chunk_weights
from attention.variants.pointer import Pointer, not_chosen
from attention.variants.recurrent_heads import RecurrentHeads
from attention.variants.sets import MAB
from attention.variants.small_cache import quantize

X = np.ones((1, 2, 4, 6))  # (B, H, L, E)
GATES = np.ones((1, 2, 4, 3))
EYE, WIDE = np.eye(6), np.ones((12, 6))
SCORE = A.AdditiveAttention(4, 6, 3)
MASK = masks.causal

# name and argument: the least value, a right value, and a call with the value
OPTIONS = {
    # positions
    "T5RelativeBias num_heads": (1, 3, lambda n: positions.T5RelativeBias(n)),
    "t5_bucket num_buckets of T5RelativeBias": (
        4, 8, lambda n: positions.T5RelativeBias(2, n)
    ),
    "t5_bucket max_distance of T5RelativeBias": (
        9, 20, lambda n: positions.T5RelativeBias(2, 32, n)
    ),
    "T5RelativeBias(2, 32, 128) L": (0, 3, lambda n: positions.T5RelativeBias(2)(n, 3)),
    "T5RelativeBias(2, 32, 128) S": (0, 3, lambda n: positions.T5RelativeBias(2)(3, n)),
    "t5_bucket num_buckets": (4, 8, lambda n: positions.t5_bucket([3], True, n)),
    "t5_bucket max_distance": (9, 20, lambda n: positions.t5_bucket([3], True, 32, n)),
    "alibi_slopes num_heads": (1, 3, lambda n: positions.alibi_slopes(n)),
    "alibi_slopes num_heads of a bias": (1, 3, lambda n: positions.alibi_bias(n, 2, 2)),
    "alibi_bias L": (0, 3, lambda n: positions.alibi_bias(2, n, 3)),
    "alibi_bias S": (0, 3, lambda n: positions.alibi_bias(2, 3, n)),
    "KERPLE num_heads": (1, 3, lambda n: KERPLE(n)),
    "KERPLE L": (0, 3, lambda n: KERPLE(2).by_offset(n, 3)),
    "KERPLE S": (0, 3, lambda n: KERPLE(2).by_offset(3, n)),
    "FIRE num_heads": (1, 3, lambda n: FIRE(n, 9)),
    "FIRE length": (1, 3, lambda n: FIRE(2, n)),
    "FIRE S": (0, 3, lambda n: FIRE(2, 9)(np.arange(2), n)),
    "LearnedPositions n_max": (1, 3, lambda n: positions.LearnedPositions(n, 4)),
    "LearnedPositions d": (1, 3, lambda n: positions.LearnedPositions(9, n)),
    "sinusoidal d": (1, 3, lambda n: positions.sinusoidal(3, n)),
    "sinusoidal length": (0, 3, lambda n: positions.sinusoidal(n, 4)),
    "frequencies d": (0, 3, lambda n: frequencies(n)),
    "rope rot_dim": (0, 4, lambda n: positions.rope(X, np.arange(4), rot_dim=n)),
    "YaRNScaling original_length": (1, 3, lambda n: positions.YaRNScaling(2.0, n)),
    "patches size": (1, 2, lambda n: patches(np.ones((4, 4, 3)), n)),
    "grid rows": (0, 3, lambda n: grid(n, 3)),
    "grid columns": (0, 3, lambda n: grid(3, n)),
    "transformer_xl_distances L": (
        0, 3, lambda n: positions.transformer_xl_distances(n, 3)
    ),
    "transformer_xl_distances S": (
        0, 3, lambda n: positions.transformer_xl_distances(3, n)
    ),
    "toeplitz L": (None, 3, lambda n: offsets.toeplitz(np.ones(5), n, 3)),
    "toeplitz S": (None, 3, lambda n: offsets.toeplitz(np.ones(5), 3, n)),
    "from_offsets S": (0, 3, lambda n: offsets.from_offsets(np.ones((3, 5)), n, -2)),
    "from_offsets first": (
        None, 3, lambda n: offsets.from_offsets(np.ones((3, 5)), 3, n)
    ),
    # masks
    "sliding_window left": (-1, 3, lambda n: masks.sliding_window(n, 1)),
    "sliding_window right": (-1, 3, lambda n: masks.sliding_window(1, n)),
    "sliding_window offset": (None, 3, lambda n: masks.sliding_window(1, 1, n)),
    "causal offset": (None, 3, lambda n: masks.causal(offset=n)),
    "dilated window": (0, 3, lambda n: masks.dilated(n, 1)),
    "dilated dilation": (1, 3, lambda n: masks.dilated(1, n)),
    "bigbird block": (1, 3, lambda n: masks.bigbird(n, 1, 1, 1, 0)),
    "bigbird window": (0, 3, lambda n: masks.bigbird(2, n, 1, 1, 0)),
    "bigbird n_random": (0, 3, lambda n: masks.bigbird(2, 3, n, 1, 0)),
    "bigbird n_global": (0, 3, lambda n: masks.bigbird(2, 3, 1, n, 0)),
    "bigbird seed": (0, 3, lambda n: masks.bigbird(2, 3, 1, 1, n)),
    "axial columns": (1, 3, lambda n: masks.axial(n)),
    "neighbourhood columns": (1, 3, lambda n: masks.neighbourhood(n, 1)),
    "neighbourhood reach": (0, 3, lambda n: masks.neighbourhood(3, n)),
    "dense L": (0, 3, lambda n: MASK.dense(1, 1, n, 3)),
    "dense S": (0, 3, lambda n: MASK.dense(1, 1, 3, n)),
    "causal B": (0, 3, lambda n: MASK.dense(n, 1, 3, 3)),
    "causal H": (0, 3, lambda n: MASK.dense(1, n, 3, 3)),
    "BlockMask L": (0, 3, lambda n: BlockMask.from_mask(MASK, n, 3)),
    "BlockMask S": (0, 3, lambda n: BlockMask.from_mask(MASK, 3, n)),
    "BlockMask block": (1, 3, lambda n: BlockMask.from_mask(MASK, 3, 3, block=n)),
    "check_mask L": (0, 3, lambda n: check_mask(MASK, n, 3)),
    "check_mask S": (0, 3, lambda n: check_mask(MASK, 3, n)),
    # layers
    "MultiHeadAttention embed_dim": (1, 4, lambda n: A.MultiHeadAttention(n, 1)),
    "MultiHeadAttention num_heads": (1, 3, lambda n: A.MultiHeadAttention(12, n)),
    "MultiHeadAttention num_kv_heads": (1, 3, lambda n: A.MultiHeadAttention(12, 6, n)),
    "MultiHeadAttention kdim": (1, 3, lambda n: A.MultiHeadAttention(12, 6, kdim=n)),
    "MultiHeadAttention vdim": (1, 3, lambda n: A.MultiHeadAttention(12, 6, vdim=n)),
    "KVCache capacity": (1, 3, lambda n: A.KVCache(n)),
    "AdditiveAttention query_size": (1, 3, lambda n: A.AdditiveAttention(n, 4, 4)),
    "AdditiveAttention key_size": (1, 3, lambda n: A.AdditiveAttention(4, n, 4)),
    "AdditiveAttention num_hiddens": (1, 3, lambda n: A.AdditiveAttention(4, 4, n)),
    "CoverageAttention num_hiddens": (1, 3, lambda n: A.CoverageAttention(4, 4, n)),
    "Pointer num_hiddens": (1, 3, lambda n: Pointer(4, 4, n)),
    "LatentAttention width": (1, 3, lambda n: A.LatentAttention(n, 1, 4, 2)),
    "LatentAttention num_heads": (1, 3, lambda n: A.LatentAttention(12, n, 4, 2)),
    "LatentAttention latent": (1, 3, lambda n: A.LatentAttention(12, 3, n, 2)),
    "LatentAttention rotated": (2, 4, lambda n: A.LatentAttention(12, 3, 4, n)),
    "DifferentialAttention width": (1, 4, lambda n: A.DifferentialAttention(n, 2)),
    "DifferentialAttention num_heads": (1, 3, lambda n: A.DifferentialAttention(12, n)),
    "DifferentialAttention layer": (0, 3, lambda n: A.DifferentialAttention(12, 3, n)),
    "RecurrentHeads embed_dim": (1, 3, lambda n: RecurrentHeads(n, 1, "decay")),
    "RecurrentHeads num_heads": (1, 3, lambda n: RecurrentHeads(12, n, "decay")),
    "LocalAttention query_size": (1, 3, lambda n: A.LocalAttention(n, 4, 2)),
    "LocalAttention key_size": (1, 3, lambda n: A.LocalAttention(4, n, 2)),
    "LocalAttention D": (0, 3, lambda n: A.LocalAttention(4, 4, n)),
    "LocalAttention start": (
        0, 3, lambda n: A.LocalAttention(6, 6, 2)(*[X[0]] * 3, start=n)
    ),
    "LocationAttention filters": (1, 3, lambda n: A.LocationAttention(4, 4, 4, n)),
    "LocationAttention width": (1, 3, lambda n: A.LocationAttention(4, 4, 4, 2, n)),
    "LongformerAttention embed_dim": (1, 4, lambda n: A.LongformerAttention(n, 2, 2)),
    "LongformerAttention num_heads": (1, 3, lambda n: A.LongformerAttention(12, n, 2)),
    "LongformerAttention window": (2, 4, lambda n: A.LongformerAttention(12, 3, n)),
    "LuongAttention query_size": (1, 3, lambda n: A.LuongAttention("general", n, 4)),
    "LuongAttention key_size": (1, 3, lambda n: A.LuongAttention("general", 4, n)),
    "LuongAttention num_hiddens": (1, 3, lambda n: A.LuongAttention("concat", 4, 4, n)),
    "MonotonicAttention num_hiddens": (1, 3, lambda n: A.MonotonicAttention(4, 4, n)),
    "MoChA chunk": (1, 3, lambda n: MoChA(4, 4, 4, n)),
    "GATv2 in_size": (1, 3, lambda n: A.GATv2(n, 4)),
    "GATv2 num_hiddens": (1, 3, lambda n: A.GATv2(4, n)),
    "GATv2 num_heads": (1, 3, lambda n: A.GATv2(4, 4, n)),
    "GAT num_heads": (1, 3, lambda n: A.GAT(4, 4, n)),
    "MAB width": (1, 3, lambda n: MAB(n, 1)),
    "MultiHeadAttention num_heads of MAB": (1, 3, lambda n: MAB(12, n)),
    "PMA width": (1, 3, lambda n: A.PMA(n, 1)),
    "MultiHeadAttention num_heads of PMA": (1, 3, lambda n: A.PMA(12, n)),
    "PMA m": (1, 3, lambda n: A.PMA(12, 3, n)),
    "ISAB width": (1, 3, lambda n: A.ISAB(n, 1, 2)),
    "ISAB m": (1, 3, lambda n: A.ISAB(12, 3, n)),
    "Perceiver width": (1, 3, lambda n: A.Perceiver(n, 1, 2)),
    "Perceiver m": (1, 3, lambda n: A.Perceiver(12, 3, n)),
    "Perceiver layers": (1, 3, lambda n: A.Perceiver(12, 3, 2, n)),
    "Sink num_heads": (1, 3, lambda n: A.Sink(n)),
    "SmallCache budget": (1, 3, lambda n: A.SmallCache(n, 1)),
    "SmallCache recent": (1, 3, lambda n: A.SmallCache(9, n)),
    "SmallCache sinks": (0, 3, lambda n: A.SmallCache(9, 1, n)),
    "BahdanauStep input_size": (1, 3, lambda n: A.BahdanauStep(n, 4, 6, SCORE)),
    "BahdanauStep hidden_size": (1, 4, lambda n: A.BahdanauStep(3, n, 6, SCORE)),
    "BahdanauStep value_size": (1, 6, lambda n: A.BahdanauStep(3, 4, n, SCORE)),
    "LuongStep input_size": (1, 3, lambda n: A.LuongStep(n, 4, 6, SCORE)),
    "LuongStep hidden_size": (1, 4, lambda n: A.LuongStep(3, n, 6, SCORE)),
    "LuongStep value_size": (1, 6, lambda n: A.LuongStep(3, 4, n, SCORE)),
    "GatedAttention query_size": (1, 3, lambda n: A.GatedAttention(n, 6)),
    "GatedAttention value_size": (1, 3, lambda n: A.GatedAttention(4, n)),
    "QKNormAttention size": (1, 3, lambda n: A.QKNormAttention(n)),
    # functions
    "random_directions m": (1, 3, lambda n: A.random_directions(n, 4)),
    "random_directions E": (1, 3, lambda n: A.random_directions(4, n)),
    "nystrom_attention landmarks": (1, 3, lambda n: A.nystrom_attention(X, X, X, n)),
    "iterated_inverse iterations of nystrom_attention": (
        0, 3, lambda n: A.nystrom_attention(X, X, X, 2, n)
    ),
    "iterated_inverse iterations": (0, 3, lambda n: iterated_inverse(EYE, n)),
    "shared_attention num_heads": (
        1, 2, lambda n: A.shared_attention(X[0], X, X, WIDE, WIDE.T, n)
    ),
    "block_attention block": (1, 3, lambda n: block_attention(X, X, X, n, 1)),
    "block_attention best": (1, 3, lambda n: block_attention(X, X, X, 1, n)),
    "choose_blocks block": (1, 3, lambda n: choose_blocks(X, X, n, 1)),
    "choose_blocks best": (1, 3, lambda n: choose_blocks(X, X, 1, n)),
    "chosen_blocks block": (
        1, 3, lambda n: chosen_blocks(np.ones((1, 1, 4, 4), bool), n)
    ),
    "native_sparse block": (1, 3, lambda n: native_sparse(X, X, X, GATES, n, 1, 1)),
    "native_sparse best": (1, 3, lambda n: native_sparse(X, X, X, GATES, 1, n, 1)),
    "native_sparse window": (1, 3, lambda n: native_sparse(X, X, X, GATES, 1, 1, n)),
    "retnet_log_decay num_heads": (1, 3, lambda n: retnet_log_decay(n)),
    "hops hops": (1, 3, lambda n: hops(X[0, 0, 0], X[0, 0], X[0, 0], hops=n)),
    "chunk_weights width": (1, 3, lambda n: chunk_weights(X, X, n)),
    "not_chosen S": (0, 3, lambda n: not_chosen(np.zeros(2, int), n)),
    "quantize axis": (-4, 3, lambda n: quantize(X, n)),
    "copy_probabilities words": (
        4, 5, lambda n: A.copy_probabilities(*np.ones((3, 4)), [0, 1, 2, 3], n)
    ),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_that_is_no_whole_number_is_refused(option):
    least, right, call = OPTIONS[option]
    name, argument = option.split(" of ")[0].rsplit(" ", 1)
    call(np.int64(right))
    too_small = [n for n in (-1, 0) if least is not None and n < least]
    for n in (2.5, True, "3", *too_small):
        with pytest.raises((TypeError, ValueError)) as error:
            call(n)
        start = f"{re.escape(name)}: (the )?(width )?{argument}\\b.* is {n!r}; expected"
        assert re.match(start + r".*\.$", str(error.value)), str(error.value)
