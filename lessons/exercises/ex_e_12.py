"""E.12  T5's buckets, and what their table learns  ●●●○  40 min  needs E.1

T5 adds to each score a learned number for the distance j - i, key minus query, and far
distances share: they fall into buckets that grow with the distance.

    both ways:  nb = num_buckets // 2,  base = nb if j > i else 0,  n = |j - i|
    causal:     nb = num_buckets,       base = 0,                   n = max(i - j, 0)
    e = nb // 2,  K = nb - e

    bucket = base + n                                            if n < e,   else
             base + min(nb - 1, e + floor(K ln(n / e) / ln(max_distance / e)))

so that e buckets hold one distance each, and K are as long as a logarithm makes them.
Where the quotient is a whole number, the last digit of a logarithm decides. It need
not: the floor is the largest k with n^K >= e^(K - k) max_distance^k, in integers.
"""

import numpy as np

from lessons import NotWritten


def bucket(relative_position, bidirectional=True, num_buckets=32, max_distance=128):
    """The bucket of each distance, exactly.

    relative_position (…) integers j - i  ->  (…) integers from 0 to num_buckets - 1
    """
    raise NotWritten("E.12 bucket")


def relative_bias(table, L, S, **how):
    """What is added to the scores of L queries and S keys, and its backward.

    table (num_buckets, H)  ->  bias (H, L, S), backward;  ``how`` is handed to bucket.
    backward(g) returns dL/dtable: a number is used by all pairs of its bucket.
    """
    raise NotWritten("E.12 relative_bias")

    def backward(g):
        raise NotWritten("E.12 relative_bias")

    return bias, backward
