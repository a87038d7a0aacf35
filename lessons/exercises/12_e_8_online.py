"""E.8  The online softmax  ●●○○  35 min  needs E.7

Online softmax computes attention over one block of keys after the other. For each row
it stores the largest score so far, the sum of exponentials relative to it, and the sum
of values with these exponentials as weights:

    m = max_j s_j        z = sum_j exp(s_j - m)        u = sum_j exp(s_j - m) v_j

When a block contains a larger score, the stored sums are relative to the old maximum
and must be rescaled. At the end o = u / z and lse = m + ln z. The matrix of all weights
is never stored. A score of -inf is a masked key; a row without keys has o = 0, lse =
-inf.
"""

import numpy as np


def online_attention(s, V, block):
    """Return the output and lse for scores s (L, S) and values V (S, Ev).

    ->  o (L, Ev), lse (L,)
    """
    L, S = s.shape
    m, z, u = np.full(L, -np.inf), np.zeros(L), np.zeros((L, V.shape[1]))
    for j in range(0, S, block):
        m, z, u = update(m, z, u, s[:, j : j + block], V[j : j + block])
    return finish(m, z, u)


def update(m, z, u, s, V):
    """Return m, z, u after one more block of keys.

    m (L,), z (L,), u (L, Ev) for the keys before; s (L, n), V (n, Ev) of the new keys
    ->  m (L,), z (L,), u (L, Ev)

    The given m, z and u may be overwritten; no later code reads them. s and V may not.
    """
    top = np.maximum(m, s.max(1))  #? m is the largest score of all keys so far, in this row, and keeps every exponent at most 0.
    #! top = s.max(1)  | the largest score of the new block alone
    #! top = np.maximum(m, s.max())  | m, with the largest score of all rows
    #! top = m + s.max(1)  | m + the largest new score
    base = np.where(top == -np.inf, 0.0, top)  # no key yet  #? In a row without keys m' is -inf. What is the difference of two infinities?
    #! base = top  | -inf subtracted from -inf, in a row without keys
    #! base = np.zeros(len(top))  | sums of exp(s), from which no maximum is subtracted
    shrink = np.exp(m - base)  # 0 for the first keys of a row  #? The old sums are relative to m. By which factor do they change if the maximum is m'?
    #! shrink = np.exp(m - base) ** 2  | exp(2 (m - m')) times the old sum, and the new, in z and u
    #! shrink = np.zeros(len(m))  | the new sum alone, in z and u
    p = np.exp(s - base[:, None])  # (L, n)  #? The new sums are relative to m': which number is subtracted from s?
    #! p = np.exp(s - s.max(1)[:, None])  | the new sum relative to its own maximum, in z and u
    #! p = np.exp(s - base[:, None]) * shrink[:, None]  | exp(m - m') times the old and the new, in z and u
    #! p = np.exp(s - base[:, None]) / len(V)  | the old sum and a mean over the block, in z and u
    z = shrink * z + p.sum(1)  #? z is a sum over all keys, old and new, relative to one maximum.
    #! z = np.exp(base - m) * z + p.sum(1)  | exp(m' - m) times the old sum, and the new, in z
    #! z = np.exp(m) * z + p.sum(1)  | exp(m) times the old sum, and the new, in z
    #! z = (m - base) * z + p.sum(1)  | (m - m') times the old sum, and the new, in z
    #! z = shrink * z + np.exp(s - s.max(1)[:, None]).sum(1)  | the new sum relative to its own maximum, in z
    #! z = shrink * z + np.exp(s).sum(1)  | the new sum without any maximum, in z
    #! z = shrink * z + np.exp(s - m[:, None]).sum(1)  | the new sum relative to the old maximum, in z
    #! z = shrink * (z + p.sum(1))  | exp(m - m') times the old and the new, in z
    #! z = shrink * z + p.max(1)  | the old sum and the largest new exponential
    #! z = shrink * z + len(V)  | the old sum, and the new one without weights, in z
    u = shrink[:, None] * u + p @ V  #? Each value has a weight of its own, exp(s - m'). u is a sum until the last block.
    #! u = np.exp(base - m)[:, None] * u + p @ V  | exp(m' - m) times the old sum, and the new, in u
    #! u = np.exp(m)[:, None] * u + p @ V  | exp(m) times the old sum, and the new, in u
    #! u = (m - base)[:, None] * u + p @ V  | (m - m') times the old sum, and the new, in u
    #! u = shrink[:, None] * u + np.exp(s - s.max(1)[:, None]) @ V  | the new sum relative to its own maximum, in u
    #! u = shrink[:, None] * u + np.exp(s) @ V  | the new sum without any maximum, in u
    #! u = shrink[:, None] * u + np.exp(s - m[:, None]) @ V  | the new sum relative to the old maximum, in u
    #! u = shrink[:, None] * (u + p @ V)  | exp(m - m') times the old and the new, in u
    #! u = shrink[:, None] * u + p @ V / len(V)  | the old sum and a mean over the block, in u
    #! u = shrink[:, None] * u + V.sum(0)  | the old sum, and the new one without weights, in u
    #! u = (shrink[:, None] * u + p @ V) / z[:, None]  | u / z, divided in every block
    #! u = shrink[:, None] * u + p @ V / p.sum(1)[:, None]  | the old sum and the average of the block
    return top, z, u  #? A block may have a score above all that came before.


def finish(m, z, u):
    """Return the output and lse from m, z, u of all keys.

    ->  o (L, Ev), lse (L,)
    """
    o = u / np.where(z == 0, 1.0, z)[:, None]  #? o is a sum of values, divided by the sum of their weights. z may be 0.
    #! o = u * np.exp(-m)[:, None]  | o with exp(-m) for 1 / z
    #! o = u / z[:, None] ** 2  | o with 1 / z twice
    #! o = u / z[:, None] / m[:, None]  | o with a factor 1 / m too many
    #! o = u / z[:, None] * np.exp(-m)[:, None]  | o with a factor exp(-m) too many
    #= o = u / np.maximum(z, 1.0)[:, None]
    lse = m + np.log(z)  # -inf where z is 0  #? lse = ln sum_j exp(s_j); z is that sum divided by exp(m).
    #! lse = np.where(z == 0, 0.0, m + np.log(z))  | lse with 0 in a row without keys
    #! lse = np.log(z) - m  | ln z - m
    #! lse = np.log(abs(m + z))  | ln (m + z)
    #! lse = m * z  | m z
    #! lse = m * np.log(z)  | m ln z
    #! lse = m + np.exp(z)  | m + exp(z)
    #! lse = m + np.log1p(z)  | m + ln(1 + z)
    #! lse = m + np.log10(z)  | m + log10 z
    return o, lse


def merge(o1, lse1, o2, lse2):
    """Return the output and lse over two sets of keys, from those over each set.

    o1, o2 (L, Ev), lse1, lse2 (L,)  ->  o (L, Ev), lse (L,)

    No key is in both sets. In this way several machines can share a long sequence.
    """
    high = np.maximum(lse1, lse2)  #? exp(lse) may be larger than any float64, but the ratio of two is not.
    #! high = np.full(len(lse1), max(lse1.max(), lse2.max()))  | shares relative to the largest lse of all rows
    base = np.where(high == -np.inf, 0.0, high)  #? What is the difference of two infinities, in a row without keys?
    w1, w2 = np.exp(lse1 - base), np.exp(lse2 - base)  #? A set of one key and one of a thousand have different weights. Which number contains the weight of a set?
    #! w1, w2 = np.full((2, len(lse1)), 0.5)  | the mean of o1 and o2, and the larger lse
    both = w1 + w2
    share = np.where(both == 0, 1.0, both)
    o = (w1 / share)[:, None] * o1 + (w2 / share)[:, None] * o2  #? Which share has each of the two sets?
    #! o = (o1 + o2) / 2  | the mean of o1 and o2
    #! o = o1 + o2  | o1 + o2
    #! o = np.where((lse1 > lse2)[:, None], o1, o2)  | the output of the larger lse alone
    #! o = (lse1[:, None] * o1 + lse2[:, None] * o2) / (lse1 + lse2)[:, None]  | lse1 and lse2 as the weights
    #! o = w1[:, None] * o1 + w2[:, None] * o2  | exp(lse1 - m) o1 + exp(lse2 - m) o2, m the larger of the two
    lse = base + np.log(both)  #? exp(lse) is the sum of all exponentials of a set.
    #! lse = lse1 + lse2  | lse1 + lse2
    #! lse = (lse1 + lse2) / 2  | the mean of lse1 and lse2
    #= lse = np.logaddexp(lse1, lse2)
    return o, lse
    #! return np.exp(-lse2)[:, None] * o1 + np.exp(-lse1)[:, None] * o2, lse1 + lse2  | exp(lse1 - lse) o1 + exp(lse2 - lse) o2 with lse1 + lse2 for lse


# ---- THE CHECK: each call my.f(…) is compared with the function f above

from lessons.course.measure import peak_numbers

OWN_STATE = {"update": ("m", "z", "u")}  # may be overwritten, as the stub says


def draw(rng, L=3, S=7, Ev=5):
    return rng.normal(size=(L, S)) * 2, rng.normal(size=(S, Ev))


def sums(s, V):
    """Return m, z and u over all keys at once."""
    L, Ev = len(s), V.shape[1]
    return update(np.full(L, -np.inf), np.zeros(L), np.zeros((L, Ev)), s, V)


def parts(s, V):
    """Return o1, lse1, o2 and lse2 of the first 4 keys and of the others."""
    return *finish(*sums(s[:, :4], V[:4])), *finish(*sums(s[:, 4:], V[4:]))


def after_others(my, rng):
    """update, after larger scores and after smaller ones"""
    for sizes in ((), (4, 8, 4)):  # also as many rows as keys in a block, and values
        s, V = draw(rng, *sizes)
        s[0, :4] += 9  # the largest score comes before the block
        s[1, 4:] += 9  # and in it
        my.update(*sums(s[:, :4], V[:4]), s[:, 4:], V[4:])


def of_all_keys(my, rng):
    """finish, also of single keys, of which z is 1"""
    my.near(1e-6).finish(*sums(*draw(rng)))
    my.finish(rng.normal(size=3), np.ones(3), rng.dirichlet(np.ones(5), 3))


def of_two_sets(my, rng):
    """merge of 4 keys and 3, and of single keys and none"""
    my.near(1e-6).merge(*parts(*draw(rng)))
    o, lse = rng.dirichlet(np.ones(5), 3), rng.normal(size=3)
    my.merge(o, lse, np.zeros((3, 5)), np.full(3, -np.inf))


def in_blocks(my, rng):
    """attention in blocks of several sizes"""
    s, V = draw(rng)
    for block in (1, 2, 3, 7, 11):
        my.online_attention(s, V, block)
    my.online_attention(*draw(rng, 5, 5, 5), 5)


def no_keys(my, rng):
    """masked blocks and rows, scores of 1e4 and of -1e4, and lse that are far apart"""
    s, V = draw(rng)
    s[0, :4] = s[1, 4:] = s[2] = -np.inf
    my.update(*sums(s[:, :4], V[:4]), s[:, 4:], V[4:])
    my.finish(*sums(s, V))
    far = rng.normal(size=(3, 7)) + np.array([[1e4], [-1e4], [0.0]])
    far[2, ::2] += 1e4
    for each in (s, far):
        my.merge(*parts(each, V))
        for block in (2, 3, 7):
            my.online_attention(each, V, block)
    o1, o2 = rng.normal(size=(2, 4, 5))
    o1[2] = o2[3] = 0.0  # a set without keys
    lse1 = np.array([0.0, 1000.0, -np.inf, 800.0])
    my.merge(o1, lse1, o2, np.array([1000.0, 0.0, 800.0, -np.inf]))


def memory(my, rng):
    """memory, for 2000 keys in blocks of 5"""
    s, V = draw(rng, S=2000)
    my.only.online_attention(s, V, 5)
    peak = peak_numbers(my.made["online_attention"], s, V, 5)
    expected = f"far fewer than L S = {s.size} numbers in memory"
    my.holds("update", peak < s.size / 3, expected, f"{peak:.0f}", "all-pairs")


HINTS = """
all-pairs  Which numbers of a block are needed after its update?
1  With m' the larger of m and the largest score of the block, multiply z and u by
   exp(m - m') and add the sums of the block. In a row without keys m' is -inf, and the
   difference of two infinities is NaN: subtract another number there.
2  For merge, exp(lse) is the sum of all exponentials of a set, so the sets have the
   weights exp(lse1) and exp(lse2), each divided by their sum; subtract the larger lse
   first.
"""
WHY = """exp(s - new) is exp(s - old) exp(old - new), so one factor for each row
converts the stored sums to the new maximum. Sums that are relative to the same maximum
can be added, whether they come from blocks or from machines."""
