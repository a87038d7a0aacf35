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

from lessons import NotWritten


def bucket(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    """Return the bucket of each distance, without rounding.

    relative_position (…) integers j - i  ->  (…) integers from 0 to num_buckets - 1
    """
    raise NotWritten("E.12 bucket")


def relative_bias(table, L, S, **how):
    """Return the bias that is added to the scores of L queries and S keys.

    table (num_buckets, H)  ->  bias (H, L, S), backward;  ``how`` are options of
    bucket. backward(g) returns dL/dtable: all pairs of a bucket use the same number.
    """
    raise NotWritten("E.12 relative_bias")

    def backward(g):
        raise NotWritten("E.12 relative_bias")

    return bias, backward
