"""E.12  T5's relative position buckets  ●●●○  40 min  needs E.1

T5 adds a learned number to each score. It depends on the distance j - i, key minus
query, through a bucket: near distances have one bucket each, and far distances share
buckets whose length grows with the distance.

    both ways:  nb = num_buckets // 2,  base = nb if j > i else 0,  n = |j - i|
    causal:     nb = num_buckets,       base = 0,                   n = max(i - j, 0)
    e = nb // 2,  K = nb - e

    bucket = base + n                                            if n < e,   else
             base + min(nb - 1, e + floor(K ln(n / e) / ln(max_distance / e)))

So e buckets contain one distance each, and K buckets have logarithmic lengths. If
K ln(n / e) / ln(max_distance / e) is a whole number, rounding decides the bucket. Avoid
logarithms: count with integers. The floor is the largest k with n^K >= e^(K - k)
max_distance^k.
"""

import numpy as np


def bucket(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    """Return the bucket of each distance, without rounding.

    relative_position (…) integers j - i  ->  (…) integers from 0 to num_buckets - 1
    """
    # BEGIN SOLUTION
    nb = num_buckets // 2 if bidirectional else num_buckets
    e, K = nb // 2, nb - nb // 2

    def of_one(d):
        d = int(d)  # Python's integers have no limit, NumPy's have
        base = nb if bidirectional and d > 0 else 0
        n = abs(d) if bidirectional else max(-d, 0)
        if n < e:
            return base + n
        k = 0
        while k < K - 1 and n**K >= e ** (K - k - 1) * max_distance ** (k + 1):
            k += 1
        return base + e + k

    distances = np.asarray(relative_position)
    found = [of_one(d) for d in distances.reshape(-1)]
    return np.array(found, int).reshape(distances.shape)
    # END SOLUTION


def relative_bias(table, L, S, **how):
    """Return the bias that is added to the scores of L queries and S keys.

    table (num_buckets, H)  ->  bias (H, L, S), backward;  ``how`` are options of
    bucket. backward(g) returns dL/dtable: all pairs of a bucket use the same number.
    """
    # BEGIN SOLUTION
    distance = np.arange(S) - np.arange(L)[:, None]  # (L, S), key minus query
    b = bucket(distance, **how)
    bias = table[b].transpose(2, 0, 1)  # (H, L, S)
    # END SOLUTION

    def backward(g):
        # BEGIN SOLUTION
        dtable = np.zeros_like(table)
        np.add.at(dtable, b, g.transpose(1, 2, 0))  # a bucket occurs many times
        return dtable
        # END SOLUTION

    return bias, backward


# FOR THE CHECK

WHY = (
    "The comparison of two integers decides every boundary exactly, where rounded "
    "logarithms may fall on either side. All pairs in a bucket use the same number of "
    "the table, so its gradient is the sum over these pairs."
)

EQUIVALENT = {"n < e -> n <= e": "n = e begins bucket e, which is base + n as well"}
