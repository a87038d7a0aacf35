"""Buckets by their formula, and sizes, alignments and a T5 bias, for the tests."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from attention.positions import T5RelativeBias

SIZES = [(5, 7), (7, 5), (5, 5), (1, 7), (7, 1), (1, 1)]
ALIGNMENTS = ["upper_left", "lower_right"]
every_size = pytest.mark.parametrize("L, S", SIZES)
both_alignments = pytest.mark.parametrize("align", ALIGNMENTS)
CLOSE = {"rtol": 0, "atol": 1e-13}


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def query_position(i, L, S, align):
    return i + S - L if align == "lower_right" else i


def bucket_by_formula(rel, bidirectional, num_buckets, max_distance):
    """With logarithms of 60 digits: what is whole is whole to the 50th."""
    nb, base, n = num_buckets, 0, max(-rel, 0)
    if bidirectional:
        nb, base, n = nb // 2, (nb // 2 if rel > 0 else 0), abs(rel)
    e = nb // 2
    if n < e:
        return base + n
    with localcontext(prec=60):
        far = (Decimal(n) / e).ln() / (Decimal(max_distance) / e).ln() * (nb - e)
        return base + min(nb - 1, e + math.floor(far + Decimal(10) ** -50))


def relative_bias(bidirectional=True, H=3, seed=0):
    module = T5RelativeBias(H, 8, 6, bidirectional)
    module.table.data = draw(8, H, seed=seed)
    return module
