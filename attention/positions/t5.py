"""T5's relative bias: a learned number for each head and each *range* of distances.

    s_ij = q_i . k_j + table[bucket(j - i), h]

Of the nb buckets of a direction, the near distances 0, ..., e - 1 have one each, where
e = nb // 2; the others share the rest, K = nb - e buckets that begin at

    e (max_distance / e)^(k / K),    k = 0, ..., K - 1

and the last never ends. Half of all buckets are for keys that come later, unless there
are none (``bidirectional=False``, for decoders).

As T5 has it: the products are *not* divided by sqrt(d) (``scale=1.0``); one table
serves all layers; there is none between decoder and encoder. num_buckets H parameters;
L + S - 1 looked up, not L S. Raffel et al. 2020, section 2.1.
"""

import numpy as np

from minigrad import embedding, nn, swapaxes

from ..checks import whole
from .offsets import offsets, toeplitz


def t5_bucket(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    """The bucket of each distance j - i, key minus query.

    relative_position (...) integers  ->  (...) integers from 0 to num_buckets - 1

        bidirectional:  nb = num_buckets // 2,  base = nb if j > i else 0,  n = |j - i|
        causal:         nb = num_buckets,       base = 0,           n = max(i - j, 0)
        e = nb // 2,    K = nb - e

        bucket = base + n     if n < e, else
                 base + min(nb - 1, e + floor(K ln(n / e) / ln(max_distance / e)))

    That is base + how many buckets after 0 have begun at n or before; and where they
    begin is computed in integers. Where the quotient is a whole number, the rounding of
    logarithms would decide: with nb = 9 and max_distance = 128, float64 puts n = 8, 16
    and 64 one bucket too low. (Bucket nb of the bidirectional ones stays empty: if
    j > i, then n > 0.)

    Raises TypeError for positions that are not integers; ValueError for fewer than two
    buckets a direction, and for a max_distance below those that have their own.
    """
    relative = np.asarray(relative_position)
    if relative.dtype.kind not in "iu" and relative.size:
        raise TypeError(
            f"t5_bucket: relative positions are {relative.dtype}; expected integers, "
            "key position minus query position."
        )
    relative = relative.astype(np.int64)  # unsigned numbers have no negative
    nb = _buckets_a_direction(bidirectional, num_buckets, max_distance)
    n = np.abs(relative) if bidirectional else np.maximum(-relative, 0)
    base = nb * (relative > 0) if bidirectional else 0
    first = first_distances(int(nb), int(max_distance))
    return base + np.searchsorted(first, n, side="right")


def first_distances(nb, max_distance):
    """The smallest distance in each of the buckets 1 to nb - 1, as exact integers.

    1, 2, ..., e; then for k = 1, ..., K - 1, with K = nb - e, the first n that has

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
    """(L, S)  ->  (H, L, S), to be added to the scores; learned.

    table   (num_buckets, num_heads), 0 at first: no distance is preferred to another

    The gradient of a table entry is the sum of the scores' over all pairs (i, j) of its
    bucket, and over the batch.
    """

    def __init__(self, num_heads, num_buckets=32, max_distance=128, bidirectional=True):
        self.num_heads = whole("T5RelativeBias", "num_heads", num_heads, least=1)
        self.num_buckets = num_buckets
        self.max_distance, self.bidirectional = max_distance, bidirectional
        t5_bucket(0, bidirectional, num_buckets, max_distance)  # refuses bad numbers
        self.table = nn.Parameter(np.zeros((num_buckets, num_heads), np.float32))

    def forward(self, L, S, causal_align="upper_left"):
        """The bias as a matrix for each head: (H, L, S).

        causal_align   "lower_right": the last query stands beside the last key
        """
        return toeplitz(self.by_offset(L, S, causal_align), L, S)

    def by_offset(self, L, S, causal_align="upper_left"):
        """The same, one value for each offset: (H, L + S - 1), b_ij = v[j - i + L - 1].

        What a tiled kernel wants, which never has an L x S array.
        """
        relative = offsets(repr(self), L, S, causal_align)
        buckets = t5_bucket(
            relative, self.bidirectional, self.num_buckets, self.max_distance
        )
        return swapaxes(embedding(buckets, self.table), 0, 1)  # (H, L + S - 1)

    def extra_repr(self):
        sizes = f"{self.num_heads}, {self.num_buckets}, {self.max_distance}"
        return sizes if self.bidirectional else f"{sizes}, bidirectional=False"


def _buckets_a_direction(bidirectional, num_buckets, max_distance):
    if not isinstance(bidirectional, (bool, np.bool_)):
        raise TypeError(
            f"t5_bucket: bidirectional is {bidirectional!r}; expected True or False."
        )
    for name, value in ("num_buckets", num_buckets), ("max_distance", max_distance):
        if not isinstance(value, (int, np.integer)):
            raise TypeError(f"t5_bucket: {name} is {value!r}; expected an integer.")
    nb = num_buckets // 2 if bidirectional else num_buckets
    if nb < 2:
        least = "4, two for each direction" if bidirectional else "2"
        raise ValueError(
            f"t5_bucket: num_buckets is {num_buckets}; expected at least {least}."
        )
    if max_distance <= nb // 2:
        raise ValueError(
            f"t5_bucket: max_distance is {max_distance}; expected more than {nb // 2}: "
            "so many distances have a bucket of their own already."
        )
    return nb
