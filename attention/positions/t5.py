"""T5's relative bias: a learned number for each head and each range of distances.

    s_ij = q_i . k_j + table[bucket(j - i), h]

Each direction has nb buckets. The near distances 0, ..., e - 1, with e = nb // 2, have
one bucket each. The other distances share the remaining K = nb - e buckets, which begin
at the distances

    e (max_distance / e)^(k / K),    k = 0, ..., K - 1

The last bucket has no end. Half of all buckets are for later keys; with
``bidirectional=False``, for decoders, all are for earlier keys.

In T5 the products are *not* divided by sqrt(d) (``scale=1.0``), all layers share one
table, and attention from decoder to encoder has no bias. There are num_buckets H
parameters, and L + S - 1 look-ups instead of L S. Raffel et al. 2020, section 2.1.
"""

import numpy as np

from minigrad import embedding, nn, swapaxes
from minigrad.arguments import flag, whole

from .. import definitions
from .offsets import OffsetBias, offsets
from .scheme import Position, Scheme


def t5_bucket(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    """Return the bucket of each distance j - i, key minus query.

    relative_position (...) integers  ->  (...) integers from 0 to num_buckets - 1

        bidirectional:  nb = num_buckets // 2,  base = nb if j > i else 0,  n = |j - i|
        causal:         nb = num_buckets,       base = 0,           n = max(i - j, 0)
        e = nb // 2,    K = nb - e

        bucket = base + n     if n < e, else
                 base + min(nb - 1, e + floor(K ln(n / e) / ln(max_distance / e)))

    So the bucket is base + the number of buckets 1, ..., nb - 1 whose first distance is
    at most n. These first distances are computed in integers. With logarithms, a
    rounding error matters where K times their quotient is a whole number: with nb = 9
    and max_distance = 128, (ln(n / e) / ln(max_distance / e)) K in float64 puts n = 8,
    16 and 64 one bucket too low. (If
    bidirectional, bucket nb stays empty: j > i implies n > 0.)
    """
    relative = np.asarray(relative_position)
    if relative.dtype.kind not in "iu" and relative.size:
        raise TypeError(
            f"t5_bucket: relative positions are {relative.dtype}; expected integers, "
            "key position minus query position."
        )
    relative = relative.astype(np.int64)  # unsigned numbers have no negative
    nb = _buckets_per_direction(bidirectional, num_buckets, max_distance)
    n = np.abs(relative) if bidirectional else np.maximum(-relative, 0)
    base = nb * (relative > 0) if bidirectional else 0
    first = first_distances(int(nb), int(max_distance))
    return base + np.searchsorted(first, n, side="right")


def first_distances(nb, max_distance):
    """Return the smallest distance in each of the buckets 1 to nb - 1: exact integers.

    1, 2, ..., e; then for k = 1, ..., K - 1, with K = nb - e, the smallest n with

        K ln(n / e) / ln(max_distance / e) >= k
        n^K >= e^(K - k) max_distance^k
    """
    e = nb // 2
    K = nb - e
    first = list(range(1, e + 1))
    for k in range(1, K):
        power = e ** (K - k) * max_distance**k  # Python's integers have no limit
        n = int(e * (max_distance / e) ** (k / K))  # the root, rounded down
        while n**K < power:
            n += 1
        first.append(n)
    return first


class T5RelativeBias(nn.Module):
    """A learned bias to be added to the scores: (L, S, first) -> an ``OffsetBias``.

    table   (num_buckets, num_heads), initially 0: no distance is preferred

    The gradient of a table entry is the sum of dL/ds_ij over all pairs (i, j) of its
    bucket, and over the batch.
    """

    def __init__(self, num_heads, num_buckets=32, max_distance=128, bidirectional=True):
        self.num_heads = whole("T5RelativeBias", "num_heads", num_heads, least=1)
        self.num_buckets = num_buckets
        self.max_distance, self.bidirectional = max_distance, bidirectional
        t5_bucket(0, bidirectional, num_buckets, max_distance)  # raises for bad numbers
        self.table = nn.Parameter(np.zeros((num_buckets, num_heads), np.float32))

    def forward(self, L, S, first=0):
        """Return the ``OffsetBias`` of values (H, L + S - 1).

        first   the position of the first query, where key 0 has position 0
        """
        relative = offsets(repr(self), L, S, first)
        buckets = t5_bucket(
            relative, self.bidirectional, self.num_buckets, self.max_distance
        )
        by_bucket = embedding(buckets, self.table)  # (L + S - 1, H)
        return OffsetBias(swapaxes(by_bucket, 0, 1))

    def extra_repr(self):
        sizes = f"{self.num_heads}, {self.num_buckets}, {self.max_distance}"
        return sizes if self.bidirectional else f"{sizes}, bidirectional=False"


def _buckets_per_direction(bidirectional, num_buckets, max_distance):
    flag("t5_bucket", "bidirectional", bidirectional)
    whole("t5_bucket", "num_buckets", num_buckets, least=4 if bidirectional else 2)
    nb = num_buckets // 2 if bidirectional else num_buckets
    whole("t5_bucket", "max_distance", max_distance, least=nb // 2 + 1)
    return nb


class T5(Scheme):
    """T5's bias, one table for all layers.

    The scale is 1, and W_q starts smaller instead, see ``Block``.
    """

    changes = "scores"
    scale = cross_scale = 1.0

    def __init__(self, config, causal, rng):
        self.bias = T5RelativeBias(
            config.heads, config.num_buckets, config.max_distance, not causal
        )


ROWS = [
    Position(
        "t5", T5, definitions.t5,
        """score: + b[bucket(j - i)], a learned number for each range of distances
        can learn how much each range of distances matters, for each head
        cannot distinguish two distances of the same bucket
        lesson 11: reading beyond the trained length; Raffel et al. 2020""",
        "L*S*E",
        "b (32)",
    ),
]  # fmt: skip
