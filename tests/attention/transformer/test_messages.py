"""Transformers and torch's states: what the messages say about wrong arguments."""

import itertools

import numpy as np
import pytest

import minigrad as mg
from attention.exact.torch_state import load_torch_state, torch_state
from attention.transformer import (
    DecoderOnly,
    EncoderDecoder,
    EncoderDecoderConfig,
    TransformerConfig,
)
from attention.transformer.block import Block
from attention.positions.scheme import Scheme
from attention.transformer.config import SELF_ATTENTIONS
from attention.variants.table import POSITIONS

from ...messages import check_message

V = 5
IDS = np.zeros((2, 3), int)


def config(cls=TransformerConfig, **options):
    return cls(V, **(dict(width=8, heads=2, positions="none") | options))


def decoder(positions="none", **options):
    return DecoderOnly(config(positions=positions, **options)).eval()


def both(**options):
    return EncoderDecoder(config(EncoderDecoderConfig, **options)).eval()


def block(**options):
    return Block(config(**options), Scheme())


def steps(m, tokens):
    return m.step(m.start(IDS), tokens)


GRU = mg.nn.GRU(2, 3)


def load_gru(keep=(), **changes):
    load_torch_state(GRU, torch_state(GRU) | changes, keep)


class Unreadable:
    """Like a tensor of torch that NumPy cannot read."""

    def __array__(self, *_, **__):
        raise RuntimeError("Can't call numpy() on it.\nUse something else.")


CALLS = [
    # configs
    (lambda: config(width=9), "width is 9", "a multiple of heads, 2", "head_width"),
    (lambda: config(norm_kind="batch"), "norm_kind is 'batch'", "'layer' or 'rms'"),
    (lambda: config(eps=-1), "eps is -1", "0 or more"),
    (lambda: decoder(attention="latent", head_width=4), "head_width 4", "None"),
    (lambda: decoder(attention="decay", bias="qkv"), "bias 'qkv'", "True"),
    (lambda: decoder("alibi", interleaved=True), "positions 'alibi'", "'rope'"),
    (lambda: decoder("rope", head_width=3), "a head is 3 wide", "even"),
    (lambda: block(attention="window"), "attention is 'window'", "causal=True"),
    (lambda: config(width=8.0), "width is 8.0", "a whole number"),
    (lambda: config(layers=0), "layers is 0", "1 or more"),
    (lambda: decoder(key_heads=3), "num_kv_heads 3", "divides"),
    (lambda: config(activation="elu"), "activation is 'elu'", "'relu' or 'gelu'"),
    (lambda: config(attention="lstm"), "attention is 'lstm'", "'softmax'", "'decay'"),
    (lambda: decoder("rope", attention="decay"), "positions 'rope'", "the input"),
    (lambda: decoder("shaw", attention="forgetting"), "'shaw'", "that add a bias"),
    (lambda: both(attention="delta"), "attention is 'delta'", "expected a DecoderOnly"),
    (lambda: config(positions="rotary"), "positions is 'rotary'", "'alibi'"),
    (lambda: config(dropout=2), "dropout is 2", "a probability"),
    (lambda: config(bias=1), "bias is 1", "True, False or 'qkv'"),
    (lambda: config(final_norm=1), "final_norm is 1", "True or False"),
    (lambda: config(base=np.nan), "base is nan", "finite"),
    (lambda: config(EncoderDecoderConfig, heads=0), "EncoderDecoderConfig: heads is 0"),
    (lambda: decoder("t5", num_buckets=9, max_distance=4), "max_distance is 4"),
    (lambda: both(positions="t5", num_buckets=3), "num_buckets is 3", "4 or more"),
    # ids, lengths and tokens
    (lambda: decoder()(IDS + V), "ids hold 5", "0 to 4"),
    (lambda: decoder()(IDS, [1, 4]), "lengths hold 4", "0 to 3"),
    (lambda: both()(IDS, IDS, [1, 4]), "EncoderDecoder: lengths hold 4"),
    (lambda: both(target_vocabulary=6)(IDS, IDS + 6), "ids hold 6", "0 to 5"),
    (lambda: steps(decoder(), [1]), "tokens have shape (1,)", "(2,)", "select"),
    (lambda: steps(both(), [1]), "tokens have shape (1,)", "(2,)", "select"),
    (lambda: decoder().start(IDS[:, :0]).select([0, -1]), "indices hold -1"),
    # lengths that a scheme does not have
    (lambda: decoder("learned", max_length=3).extend(4), "no row for position 3"),
    (lambda: decoder("rope+ntk", max_length=2)(IDS), "3 tokens", "model.extend(3)"),
    # torch's states
    (lambda: load_gru(bias_hh_l0=Unreadable()), "bias_hh_l0 cannot be read", "float()"),
    (lambda: load_gru(bias_hh_l0=[1j]), "bias_hh_l0 cannot be read", "complex128"),
    (lambda: load_gru(bias_hh_l0=np.ones(8)), "bias_hh_l0", "(9,)", "(8,)"),
    (lambda: load_gru(bias_k=np.ones(1)), "unexpected: bias_k"),
    (lambda: load_torch_state(GRU, {}, ["bias_hh_l0"]), "missing: bias_ih_l0"),
    (lambda: load_gru(keep=["bias_hh_l0"]), "unexpected: bias_hh_l0"),
    (
        lambda: load_gru(keep=["table"]),
        "load_torch_state: keep has 'table'",
        "GRU",
        "weight_ih_l0",
    ),
    (lambda: torch_state(GRU, without=["table"]), "without has 'table'"),
    (lambda: load_torch_state(GRU, []), "state is a list", "a dict of arrays"),
    (lambda: load_torch_state(decoder(key_heads=1), {}), "2 query heads", "1 key"),
    (lambda: torch_state(decoder(key_heads=1)), "2 query heads and 1 key heads"),
]


OPTIONS = {  # of a config: the values that are tried in pairs
    "positions": POSITIONS,
    "attention": SELF_ATTENTIONS,
    "key_heads": (1,),
    "head_width": (6,),
    "norm_kind": ("rms",),
    "feed_forward": ("gated",),
    "bias": ("qkv",),
    "norm": ("post",),
    "dropout": (0.1,),
    "tied": (False,),
}
SINGLE = [(name, value) for name, values in OPTIONS.items() for value in values]


def works(m):
    """Call a model, differentiate it, and take a step."""
    m(IDS, *[IDS] * isinstance(m, EncoderDecoder), [3, 2]).sum().backward()
    m.step(m.start(IDS, [3, 1]), [1, 2])


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("build", [decoder, both])
def test_a_model_with_two_options_works_or_is_not_built(build, name, request):
    """Every 15th pair, and with --deep every pair."""
    every = 1 if request.config.getoption("--deep") else 15
    pairs = [*itertools.combinations(SINGLE, 2)]
    for (a, x), (b, y) in pairs[::every]:
        if a == name != b:
            try:
                m = build(**{a: x, b: y})
            except ValueError as error:
                assert f"attention is {x!r}" in str(error) or f"is {y!r}" in str(error)
            else:
                works(m)


@pytest.mark.parametrize("call, fragments", [(call, words) for call, *words in CALLS])
def test_message(call, fragments):
    check_message(call, fragments)


def test_padding_needs_no_position():
    m = decoder("learned", max_length=3)
    assert len(m.start(np.zeros((1, 4), int), [3])) == 1
