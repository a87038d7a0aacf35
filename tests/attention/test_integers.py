"""Integer options of attention: what is no whole number is refused in one sentence."""

import functools
import re

import numpy as np
import pytest

import attention as A
from attention import masks, positions
from attention.masks.block_mask import BlockMask
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
from attention.variants.monotonic import MoChA, chunk_weights
from attention.variants.pointer import not_chosen
from attention.variants.recurrent_heads import RecurrentHeads
from attention.variants.sets import MAB
from attention.variants.small_cache import quantize

X = np.ones((1, 2, 4, 6))  # (B, H, L, E)
GATES = np.ones((1, 2, 4, 3))
WIDE = np.ones((12, 6))
SCORE = A.AdditiveAttention(4, 6, 3)
of = functools.partial
LOCAL = A.LocalAttention(6, 6, 2)

# a call, the right values of its integer options, and the least ones that are not 1;
# None is any number
CALLS = [
    # positions
    (of(positions.T5RelativeBias, 2), dict(num_buckets=8, max_distance=20),
     dict(num_buckets=4, max_distance=5)),
    (positions.T5RelativeBias, dict(num_heads=3), {}),
    (positions.alibi_by_offset, dict(num_heads=3, L=3, S=3), dict(L=0, S=0)),
    (KERPLE, dict(num_heads=3), {}),
    (FIRE, dict(num_heads=3, length=3), {}),
    (of(FIRE(2, 9), np.arange(2)), dict(S=3), dict(S=0)),
    (positions.LearnedPositions, dict(n_max=3, d=3), {}),
    (positions.sinusoidal, dict(n=3, d=3), dict(n=0)),
    (frequencies, dict(d=3), dict(d=0)),
    (of(positions.rope, X, np.arange(4)), dict(rot_dim=4), dict(rot_dim=0)),
    (of(positions.YaRNScaling, 2.0), dict(original_length=3), {}),
    (of(patches, np.ones((4, 4, 3))), dict(size=2), {}),
    (grid, dict(rows=3, columns=3), dict(rows=0, columns=0)),
    (of(offsets.toeplitz, np.ones(5)), dict(L=3, S=3), dict(L=None, S=None)),
    # masks
    (masks.sliding_window, dict(left=3, right=3, offset=1),
     dict(left=-1, right=-1, offset=None)),
    (masks.causal, dict(offset=3), dict(offset=None)),
    (masks.dilated, dict(window=3, dilation=3), dict(window=0)),
    (masks.bigbird, dict(block=3, window=3, n_random=3, n_global=3, seed=3),
     dict(window=0, n_random=0, n_global=0, seed=0)),
    (masks.axial, dict(columns=3), {}),
    (masks.neighbourhood, dict(columns=3, reach=3), dict(reach=0)),
    (masks.causal.dense, dict(B=3, H=3, L=3, S=3), dict(B=0, H=0, L=0, S=0)),
    (of(BlockMask.from_mask, masks.causal), dict(L=3, S=3, block=3), dict(L=0, S=0)),
    # layers
    (A.MultiHeadAttention,
     dict(embed_dim=12, num_heads=6, num_kv_heads=3, kdim=3, vdim=3), {}),
    (A.KVCache, dict(capacity=3), {}),
    (A.AdditiveAttention, dict(query_size=3, key_size=3, num_hiddens=3), {}),
    (A.LatentAttention, dict(width=12, num_heads=3, latent=3, rotated=4),
     dict(rotated=2)),
    (A.DifferentialAttention, dict(width=12, num_heads=3, layer=3), dict(layer=0)),
    (of(RecurrentHeads, kind="decay"), dict(embed_dim=12, num_heads=3), {}),
    (A.LocalAttention, dict(query_size=4, key_size=4, D=3), dict(D=0)),
    (of(LOCAL, *[X[0]] * 3), dict(start=3), dict(start=0)),
    (of(A.LocationAttention, 4, 4, 4), dict(filters=3, width=3), {}),
    (A.LongformerAttention, dict(embed_dim=12, num_heads=3, window=4), dict(window=2)),
    (of(A.LuongAttention, "concat"), dict(query_size=3, key_size=4, num_hiddens=3), {}),
    (of(MoChA, 4, 4, 4), dict(chunk=3), {}),
    (A.GATv2, dict(in_size=3, num_hiddens=3, num_heads=3), {}),
    (MAB, dict(width=12, num_heads=3), {}),
    (A.PMA, dict(width=12, num_heads=3, m=3), {}),
    (A.ISAB, dict(width=12, num_heads=3, m=3), {}),
    (A.Perceiver, dict(width=12, num_heads=3, m=3, layers=3), {}),
    (A.Sink, dict(num_heads=3), {}),
    (A.SmallCache, dict(budget=9, recent=3, sinks=3), dict(sinks=0)),
    (of(A.BahdanauStep, attention=SCORE),
     dict(input_size=3, hidden_size=4, value_size=6), {}),
    (A.GatedAttention, dict(query_size=3, value_size=3), {}),
    (A.QKNormAttention, dict(size=3), {}),
    # functions
    (A.random_directions, dict(m=3, E=3), {}),
    (of(A.nystrom_attention, X, X, X), dict(landmarks=3, iterations=3),
     dict(iterations=0)),
    (of(A.shared_attention, X[0], X, X, WIDE, WIDE.T), dict(num_heads=2), {}),
    (of(block_attention, X, X, X), dict(block=3, best=3), {}),
    (of(choose_blocks, X, X), dict(block=3, best=3), {}),
    (of(chosen_blocks, np.ones((1, 1, 4, 4), bool)), dict(block=3), {}),
    (of(native_sparse, X, X, X, GATES), dict(block=3, best=3, window=3), {}),
    (retnet_log_decay, dict(num_heads=3), {}),
    (of(hops, X[0, 0, 0], X[0, 0], X[0, 0]), dict(hops=3), {}),
    (of(chunk_weights, X, X), dict(width=3), {}),
    (of(not_chosen, np.zeros(2, int)), dict(S=3), dict(S=0)),
    (of(quantize, X), dict(axis=3), dict(axis=-4)),
    (of(A.copy_probabilities, *np.ones((3, 4)), [0, 1, 2, 3]), dict(words=5),
     dict(words=4)),
]  # fmt: skip
# functions that check the options of others, and methods that the object names
INNER = "t5_bucket alibi_slopes MultiHeadAttention iterated_inverse causal BlockMask"
SAID = {"n": "the length"}  # an option by another word


def title(call):
    call = getattr(call, "func", call)
    call = getattr(call, "__name__", repr(call))
    return {"from_mask": "BlockMask"}.get(call, call)


OPTIONS = {f"{title(row[0])} {name}": (row, name) for row in CALLS for name in row[1]}


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_that_is_no_whole_number_is_refused(option):
    (call, right, least), name = OPTIONS[option]
    call(**right | {name: np.int64(right[name])})
    least = least.get(name, 1)
    too_small = [n for n in (-1, 0) if least is not None and n < least]
    for n in (2.5, True, "3", *too_small):
        with pytest.raises((TypeError, ValueError)) as error:
            call(**right | {name: n})
        names = "|".join([title(call).partition("(")[0], *INNER.split()])
        said = rf"(the )?(width )?{SAID.get(name, name)}\b.* is {n!r}; expected.*\.$"
        assert re.match(f"({names})[^:]*: {said}", str(error.value)), str(error.value)
