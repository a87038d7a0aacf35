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
    distances = np.asarray(relative_position)
    found = np.zeros(distances.shape, int)
    nb = num_buckets // 2 if bidirectional else num_buckets  #? How many of the buckets has one direction, if there are two, and if there is one?
    #! nb = 16 if bidirectional else 32  | buckets with num_buckets=32, whatever it is
    e = nb // 2  #? Of the nb buckets of a direction, which half has one distance each?
    K = nb - e  #? How many buckets of a direction are left for the far distances, if nb is odd?
    for i, d in np.ndenumerate(distances):
        d = int(d)  #? Is the distance key minus query? Can NumPy's integers hold n^K?
        base = nb if bidirectional and d > 0 else 0  #? Which keys are later ones, and where do their buckets begin?
        n = abs(d) if bidirectional else max(-d, 0)  #? Which n has a later key, with two directions and with one?
        if n < e:
            found[i] = base + n  #? Below e, each distance has its own bucket: which one, for later keys too?
            #! found[i] = base + n + 1  | buckets that are one too high below the distance e
            continue
        reached = [k for k in range(K) if n**K >= e ** (K - k) * max_distance**k]  #? floor(x) >= k means x >= k. What does that mean for the powers of n, e and max_distance, also at a boundary?
        #! reached = [k for k in range(K) if n**K > e ** (K - k) * max_distance**k or k == 0]  | buckets with > for >=: n at a boundary is below it
        #! reached = [k for k in range(K) if n**K >= e ** (K - k) * 128**k]  | buckets with max_distance=128, whatever it is
        #! reached = [k for k in range(K) if n**e >= e ** (e - k) * max_distance**k]  | buckets with K = e in the quotient, where nb is odd
        #! reached = [k for k in range(max(K - 1, 1)) if n**K >= e ** (K - k) * max_distance**k]  | buckets that end with nb - 2, and nb - 1 is the last
        #! reached = [k for k in range(10 * K) if n**K * e**k >= e**K * max_distance**k]  | buckets that go on behind the last
        #! reached = [k for k in range(K) if n**K >= e ** (K - k) * max_distance ** max(k - 1, 0)]  | buckets from n^K >= e^(K - k - 1) max_distance^k
        #! reached = [k for k in range(K) if n**K >= e ** (K - k + 1) * max_distance**k or k == 0]  | buckets from n^K >= e^(K - k) max_distance^(k + 1)
        #! reached = [k for k in range(K) if k == 0 or np.int64(n) ** K >= e ** (K - k) * max_distance**k]  | buckets from powers of integers of 64 bits
        #! reached = [k for k in range(K) if all(np.int64(n) ** K >= e ** (K - j) * np.int64(max_distance) ** j for j in range(1, k + 1))]  | buckets from powers of integers of 64 bits
        #! reached = [min(K - 1, int(np.floor(K * np.log(n) / np.log(max_distance / e))))]  | buckets from K ln(n) / ln(max_distance / e), without e
        #! reached = [min(K - 1, round(K * np.log(n / e) / np.log(max_distance / e)))]  | buckets from round(…) in place of floor(…)
        #! reached = [min(K - 1, int(np.ceil(K * np.log(n / e) / np.log(max_distance / e))))]  | buckets from ceil(…) in place of floor(…)
        #! reached = [min(K - 1, int(np.floor(nb * np.log(n / e) / np.log(max_distance / e))))]  | buckets from nb ln(n / e) / ln(max_distance / e), with nb for K
        #! reached = [min(K - 1, K * (n - e) // (max_distance - e))]  | buckets from K (n - e) / (max_distance - e), without logarithms
        found[i] = base + e + max(reached)  #? How many buckets of this direction come before the first far one?
        #! found[i] = base + e + max(reached) + 1  | buckets that are one too high from the distance e on
        #! found[i] = base + e + max(reached) - 1  | buckets that are one too low from the distance e on
        #! found[i] = base + e + min(max(reached) + 1, K - 1)  | buckets that are one too high from the distance e on, but the last
    return found


def relative_bias(table, L, S, **how):
    """Return the bias that is added to the scores of L queries and S keys.

    table (num_buckets, H)  ->  bias (H, L, S), backward;  ``how`` are options of
    bucket. backward(g) returns dL/dtable: all pairs of a bucket use the same number.
    """
    distance = np.arange(S) - np.arange(L)[:, None]  #? The distance is key minus query. Which sign has a later key?
    #! distance = abs(np.arange(S) - np.arange(L)[:, None])  | the bias of |j - i|
    b = bucket(distance, **how)  #? Which options has a call of bucket?
    bias = table[b].transpose(2, 0, 1)  #? table[b] is (L, S, H). Which axis moves where?

    def backward(g):
        dtable = np.zeros_like(table)
        np.add.at(dtable, b, g.transpose(1, 2, 0))  #? Many pairs have one bucket: which pairs add to its row, and what?
        #! dtable[b] += g.transpose(1, 2, 0)  | the last pair of each bucket
        #! np.add.at(dtable, b, g.transpose(1, 2, 0) / (b[:, :, None, None] == b).sum((2, 3))[..., None])  | the mean over the pairs of each bucket
        #! np.add.at(dtable, b, g.reshape(L, S, -1))  | the sums of g.reshape(L, S, H), no transpose
        #! np.add.at(dtable, b, (g.swapaxes(1, 2) if L == S else g).transpose(1, 2, 0))  | the sums of g with queries and keys exchanged
        #! np.add.at(dtable, b, 1.0)  | the number of pairs of each bucket, without g
        return dtable

    return bias, backward


# ---- THE CHECK: each call of my.f is compared with the function f above

from lessons.course.measure import ends


def buckets(my, distances, *how):
    """Compare buckets; fail if a loop has no end: it ends where powers need few bits."""
    end = "expected an end: n^K needs more than 64 bits here, as 50^16 does"
    endless = "found a loop without one: powers of 64 bits become 0"
    with ends(my, "overflow", end, endless):
        return my.bucket(distances, *how)


def every_distance(my, rng):
    """every distance up to 50, and 130, with four settings"""
    # without 16 and 32: whole-number logarithms have a test of their own
    near = np.r_[-130, -50:-32, -31:-16, -15:16, 17:32, 33:51, 130]
    for how in ((True, 32, 128), (False, 32, 128), (True, 22, 100), (False, 9, 64)):
        buckets(my, near, *how)
    buckets(my, rng.integers(-7, 8, (3, 5)))


def at_boundaries(my, distances, *how):
    """Fail at the first wrong bucket; ``every_distance`` has compared the others."""
    found, want = buckets(my.only, distances, *how), bucket(distances, *how)
    for k in np.flatnonzero(np.asarray(found) != want)[:1]:
        expected = f"bucket {want[k]} for the distance {distances[k]}"
        text = f"{found[k]}; right up to 50, but for whole-number logarithms"
        my.holds("bucket", False, expected, text, "rounding")


def whole_numbers(my, rng):
    """whole-number logarithms, just below one, very large distances, and none"""
    for how in ((False, 9, 128), (True, 18, 128), (True, 32, 128), (False, 12, 1000)):
        at_boundaries(my, np.arange(-140, 141), *how)
    for how in ((19, 16), (17, 27), (17, 1000), (6, 81), (17, 216), (9, 972)):
        at_boundaries(my, np.arange(-80, 1), False, *how)
    for n in (1_000_001, 10_000_001):  # n^2 = e max_distance - 1: 1 - 4e-14, 1 - 3e-16
        at_boundaries(my, np.arange(-n - 2, -n + 3), False, 4, (n * n + 1) // 2)
    buckets(my, np.array([-100_000, 100_000, -(10**9), 10**9, -1, 0]))
    found = np.shape(my.only.bucket(np.zeros(0, int)))  # [] is an array of floats
    my.holds("bucket", found == (0,), "shape (0,)", found)


def pairs(my, rng):
    """the bias of each pair, and the gradient of a table whose rows many pairs share"""
    for L, S, H, n in ((17, 7, 3, 8), (5, 7, 2, 6), (5, 5, 2, 8), (3, 3, 3, 8), (5, 5, 5, 8)):
        for both in (True, False):
            how = {"bidirectional": both, "num_buckets": n, "max_distance": 20}
            my.relative_bias(rng.normal(size=(n, H)), L, S, **how)


HINTS = """
1  Write bucket for one distance first, with plain Python integers.
2  Count k upwards from 0 while n^K is at least e^(K - k - 1) max_distance^(k + 1), at most
   to K - 1: that is the floor and the min in one. For the bias, the buckets of all pairs
   are an (L, S) array of integers that indexes the table.
3  table[b] is (L, S, H), and its axes must move. In the backward np.add.at(dtable, b, …)
   adds the g of every pair; dtable[b] += … keeps one pair of many.
"""
WHY = """The comparison of two integers decides every boundary exactly, where rounded
logarithms may fall on either side. All pairs in a bucket use the same number of the
table, so its gradient is the sum over these pairs."""
