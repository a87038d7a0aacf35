"""Variants of attention: what the messages say about wrong arguments."""

import warnings

import numpy as np
import pytest

import attention
from attention import (
    AdditiveAttention,
    BahdanauStep,
    CoverageAttention,
    GaussianAttention,
    LocalAttention,
    LocationAttention,
    LongformerAttention,
    LuongAttention,
    LuongStep,
    coverage_loss,
    definitions,
    gaussian,
    linear_attention,
    nadaraya_watson,
)
from attention.variants.pointer import not_chosen
from attention.variants.recurrent_heads import StateCache

from ...messages import check_message


def ones(*shape, dtype=float):
    return np.ones(shape, dtype)


def local(lens=None, start=0, **options):
    layer = LocalAttention(5, 3, **{"D": 2, **options})
    return layer(ones(2, 4, 5), ones(2, 9, 3), ones(2, 9, 6), lens, start)


def linear(q=(2, 3, 5, 4), k=(2, 3, 7, 4), v=(2, 3, 7, 6), **options):
    return linear_attention(ones(*q), ones(*k), ones(*v), **options)


def regression(kernel="boxcar", bandwidth=1.0):
    return nadaraya_watson(ones(3, 4), ones(5, 4), ones(5, 2), kernel, bandwidth)


def longformer(tokens):
    return LongformerAttention(12, 4, 2)(ones(2, 9, 12), tokens)


def step(kind, start=True, attention=None):
    step = kind(2, 4, 7, attention or AdditiveAttention(4, 7, 6))
    state = step.start(ones(2, 4, dtype="f")) if start else None
    x, v = ones(2, 2, dtype="f"), ones(2, 5, 7, dtype="f")
    return step(x, state, v, v)


def copied(module, word=-1):
    source = np.array([0, word, 2])
    return module.copy_probabilities(ones(4), ones(3), ones(), source, 5)


def loss_of_copying(word, target):
    source = np.array([0, word, 2])
    return attention.copy_loss(ones(4), ones(3), ones(), source, np.array(target))


def select(indices):
    cache = StateCache()
    cache.state = ones(2, 1, 3, 3)
    cache.select(indices)


a = ones(2, 4, 5)
CALLS = [
    # local attention
    (lambda: local(kind="x"), "LocalAttention: kind is 'x'", "'m' or 'p'"),
    (
        lambda: local(score=CoverageAttention(5, 3, 4)),
        "CoverageAttention computes more than a score",
        "AdditiveAttention",
    ),
    (lambda: local(score="additive"), "score is 'additive'", "an attention layer"),
    (lambda: local(score="dot"), "query_size is 5 and key_size 3", "Use 'general'"),
    (lambda: local(kind="p", centre=max), "centre is", "expected None with kind 'p'"),
    (lambda: local(centre=3), "centre is of type int", "function of (t, length)"),
    (lambda: local(renormalize=True), "renormalize is True", "False with kind 'm'"),
    (
        lambda: local(lens=[9, 5, 1]),
        "lengths have shape (3,)",
        "and scores (2, 4, 9)",
    ),
    (lambda: local(centre=lambda t: t), "centre takes (t)", "of (t, length)"),
    (lambda: local(centre=lambda t, n: t * np.nan), "centre returns NaN", "finite"),
    (lambda: local(centre=lambda t, n: np.arange(3)), "of centre has shape (3,)"),
    # coverage
    (lambda: coverage_loss(a, a, [5, 2]), "5", "0 to 4, the number of steps"),
    # linear attention
    (lambda: linear(is_causal=True), "5 queries and 7 keys", "the keys 0 to i"),
    (
        lambda: linear(mask=np.tri(5, 7, dtype=bool)),
        "mask differs between queries; expected the same for all",
        "pass mask[:, None, None]",
    ),
    (
        lambda: linear((5, 4), (7, 4), (7, 6), lengths=[1, 2, 3, 4, 5]),
        "lengths differ between queries; expected the same for all",
        "with the axis B",
    ),
    (lambda: linear(mask=np.zeros(7)), "mask is of floats; expected bool, because"),
    (lambda: linear(eps=-1.0), "eps is -1.0", "0 or more"),
    (
        lambda: linear(feature_map=None),
        "feature_map is of type",
        "a function of a Tensor",
    ),
    (lambda: linear(feature_map=lambda x: x[..., :3, :]), "returns shape (2, 3, 3, 4)"),
    (lambda: linear(feature_map=lambda x: x[..., : x.shape[-2] - 5]), "feature_map returns 0 numbers for a query and 2"),
    # ids that would count from the end, or name nothing
    (lambda: copied(definitions), "copy_probabilities: source holds -1", "0 to 4"),
    (lambda: copied(attention), "copy_probabilities: source holds -1", "0 to 4"),
    (lambda: copied(attention, 5), "copy_probabilities: source holds 5", "0 to 4"),
    (lambda: loss_of_copying(-1, 1), "copy_loss: source holds -1", "0 to inf"),
    (lambda: loss_of_copying(7, 5), "target 5 is neither in the vocabulary, 0 to 3, nor"),
    (lambda: not_chosen([0, -1], 4), "not_chosen: places hold -1", "0 to 3"),
    (lambda: select([0, -1]), "StateCache: indices hold -1", "0 to 1"),
    # distances
    (lambda: gaussian(ones(3, 4), ones(5, 4), 0.0), "bandwidth", "0.0", "1e-15"),
    (lambda: gaussian(ones(3, 4), ones(5, 4), ones(4)), "shape (4,)", "(3, 5)"),
    (lambda: GaussianAttention(1e16), "GaussianAttention: bandwidth", "1e+16"),
    (lambda: regression(kernel="epanechikov"), "nadaraya_watson: kernel is", "boxcar"),
    (lambda: regression(bandwidth=ones(4)), "nadaraya_watson: bandwidth has shape"),
    # Longformer
    (lambda: LongformerAttention(10, 4, 2), "embed_dim is 10", "such as 12"),
    (lambda: LongformerAttention(12, 4, 5), "window is 5", "an even number"),
    (lambda: longformer(tokens=[0, 9]), "global_tokens hold 9", "0 to 8"),
    (lambda: longformer(tokens=[0, 0, 0, 1]), "all of them 0 or 1", "np.flatnonzero"),
    (lambda: longformer(tokens=ones(3, 9, dtype=bool)), "(3, 9)", "(2, 9)"),
    (lambda: LocationAttention(3, 4, 5, width=4), "width is 4", "an odd number"),
    # Luong's scores, and steps
    (lambda: LuongAttention("x", 4, 4), "LuongAttention: kind is 'x'", "'concat'"),
    (lambda: LuongAttention("general", 4, 6, 8), "num_hiddens is 8", "Only 'concat'"),
    (lambda: BahdanauStep(2, 4, 7, "dot"), "BahdanauStep: attention is 'dot'"),
    (lambda: step(BahdanauStep, start=False), "BahdanauStep: state is None"),
    (lambda: step(LuongStep, start=False), "LuongStep: state is a NoneType", "pair"),
    (
        lambda: step(BahdanauStep, attention=CoverageAttention(4, 7, 6)),
        "CoverageAttention returns a tuple",
        "pass coverage",
    ),
]


@pytest.mark.parametrize("call, fragments", [(call, words) for call, *words in CALLS])
def test_message(call, fragments):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_message(call, fragments)
