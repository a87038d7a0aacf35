"""E.14  The backward of tiled attention  ●●●●  60 min  needs E.7, E.8

Tiled attention never stores the matrix of weights, neither in the forward nor in the
backward. The forward stores o and lse, and from lse every weight can be computed again:

    s_ij = scale q_i . k_j        p_ij = exp(s_ij - lse_i)        o_i = sum_j p_ij v_j

    dv_j = sum_i p_ij g_i                               for g_i = dL/do_i
    ds_ij = p_ij (g_i . v_j - D_i),                     D_i = sum_l p_il (g_i . v_l)
    dq_i = scale sum_j ds_ij k_j                        dk_j = scale sum_i ds_ij q_i

D_i is a sum over all keys, and a tile contains only some of them. But D_i also equals
the dot product of two rows that are known before the first tile. With ``causal``, query
i attends to the keys j <= i only, and tiles without an allowed pair cost nothing.
"""

import numpy as np


def row_sums(g, o):
    """Return D (L,) from g (L, E) and o (L, E), without any weight."""
    return (g * o).sum(1)  # sum_l p_il (g_i . v_l) = g_i . o_i  #? D_i contains the values, averaged by the weights. Which array has this average?


def tile(q, k, v, g, lse, D, scale, seen):
    """Return what one block of queries and one block of keys add to the gradients.

    q, g (m, E), lse, D (m,), k, v (n, E), seen (m, n) bool: the allowed pairs. Scores
    and lse may be of any size, and the score of a pair that is not allowed may be far
    above lse.
    ->  dq (m, E), dk (n, E), dv (n, E)
    """
    s = scale * (q @ k.T)  # (m, n)  #? s_ij = scale q_i . k_j: the forward used the scale as well.
    #! s = q @ k.T / np.sqrt(q.shape[1])  | the part with scores q . k / sqrt(E), whatever the scale is
    #! s = q @ k.T / scale  | the part with scores q . k / scale
    p = np.exp(np.where(seen, s - lse[:, None], -np.inf))  #? p = exp(s - lse) sums to 1 over the whole row, and is 0 at pairs that are not allowed. exp of a large score is inf, and inf times 0 is NaN.
    #! p = np.exp(np.where(seen, s, 0.0) - lse[:, None])  | the part with scores of 0 for pairs that are not allowed
    #! p = np.where(seen, np.exp(s), 0.0) / lse[:, None]  | the part with p = exp(s) / lse
    #! p = np.where(seen, np.exp(s - s.max(1, keepdims=True)), 0.0)  | the part with p = exp(s - the maximum of a row of the tile)
    #! p = np.where(seen, np.exp(s - lse[:, None]), 0.0); p = p / np.maximum(p.sum(1, keepdims=True), 1e-300)  | the part with p divided by its sum over the tile
    dp = g @ v.T  #? o_i = sum_j p_ij v_j: what is do_i / dp_ij?
    ds = p * (dp - D[:, None])  #? ds has two terms, both with the factor p. D_i is a sum over all keys of the row, not over those of a tile.
    #! ds = p * dp - D[:, None]  | the part with ds = p (g . v) - D
    #! ds = p * (dp - p * D[:, None])  | the part with ds = p (g . v - p D)
    #! ds = p * (dp - (p * dp).sum(1, keepdims=True))  | the part with D summed over the tile alone
    #! ds = p * (1 - p) * dp  | the part with ds = p (1 - p) (g . v), the diagonal alone
    dq = scale * (ds @ k)  #? s_ij = scale q_i . k_j: what is ds_ij / dq_i?
    dk = scale * (ds.T @ q)  #? s_ij = scale q_i . k_j: what is ds_ij / dk_j?
    dv = p.T @ g  #? o_i = sum_j p_ij v_j: which factor does v_j have?
    return dq, dk, dv


def backward(q, k, v, o, lse, g, scale, block, causal=False):
    """Return the gradients, tile by tile.

    q, o, g (L, E), lse (L,), k, v (S, E)  ->  dq (L, E), dk (S, E), dv (S, E)

    Store no array of more than block x block scores; ``block`` need not divide L or S.
    Leave out a tile without an allowed pair: its keys and values may be NaN.
    """
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    D = row_sums(g, o)
    for a in range(0, len(q), block):  #? The last tile may be smaller than block, but it counts.
        for b in range(0, len(k), block):  #? The last tile may be smaller than block, but it counts.
            #! for b in range(0, len(k) // block * block, block):  | the sum without the smaller block of keys
            i = slice(a, min(a + block, len(q)))
            j = slice(b, min(b + block, len(k)))
            rows, columns = np.ogrid[i, j]
            seen = (columns <= rows) | (not causal)  #? With causal, key j counts for the queries i >= j only, in positions of the whole sequence. It is False by default.
            #! seen = columns <= rows  | the sum over the pairs j <= i, where causal is False
            #! seen = np.ones((rows.size, columns.size), bool)  | the sum over all pairs
            #! seen = (columns - b <= rows - a) | (not causal)  | the sum with positions counted inside each tile, of all tiles
            #! seen = ((columns >= rows) & (b < i.stop)) | (not causal)  | the sum over the pairs j >= i
            #! seen = ((columns > rows) & (b < i.stop)) | (not causal)  | the sum over the pairs j > i
            #! seen = ((columns - b <= rows - a) & (b < i.stop)) | (not causal)  | the sum with positions counted inside each tile
            #! seen = (b < i.stop) | (rows < 0) | (columns < 0) | (not causal)  | the sum over all pairs of the tiles
            if not seen.any():  #? A tile is left out if causal is True and its first key comes after its last query.
                #! if b >= i.stop or not seen.any():  | the sum over the tiles up to the diagonal, where causal is False
                #! if b < a or not seen.any():  | the sum over the tiles from the diagonal on
                #! if causal and b >= a or not seen.any():  | the sum without the tiles on the diagonal
                #! if causal and b >= i.stop - 1 or not seen.any():  | the sum without the tiles whose first key is the last query
                continue
            parts = tile(q[i], k[j], v[j], g[i], lse[i], D[i], scale, seen)  #? A block of queries has its own rows of lse and of D.
            #! parts = tile(q[i], k[j], v[j], g[i], lse[: rows.size], D[i], scale, seen)  | the sum with lse of the first block for all
            #! parts = tile(q[i], k[j], v[j], g[i], lse[i], D[: rows.size], scale, seen)  | the sum with D of the first block for all
            dq[i] += parts[0]  #? Several tiles add to the same rows of dq.
            dk[j] += parts[1]  #? Several tiles add to the same rows of dk.
            dv[j] += parts[2]  #? Several tiles add to the same rows of dv.
    return dq, dk, dv


# ---- THE CHECK: each call my.f(…) is compared with the function f above

from lessons.course.measure import calls_of, peak_numbers

TIME_LIMIT = 20  # seconds: plain Python loops over all pairs are right, and slow
SCALE = 0.7


def problem(rng, causal, L=7, S=11, E=5):
    """Return q, k, v, o, lse and g of random attention."""
    (q, g), (k, v) = rng.normal(size=(2, L, E)), rng.normal(size=(2, S, E))
    e = np.exp(SCALE * q @ k.T) * (np.tri(L, S) if causal else 1)
    return q, k, v, e @ v / e.sum(1, keepdims=True), np.log(e.sum(1)), g


def part(rng, m, n, far=0.0):
    """Return q, k, v, g, lse and D of a tile; ``far`` is in all scores and in lse."""
    (q, g), (k, v) = rng.normal(size=(2, m, 5)), rng.normal(size=(2, n, 5))
    q[:, -1] += far
    k[:, -1] = 1 / SCALE
    lse, D = rng.normal(size=(2, m))
    return q, k, v, g, lse + far, D


def one_tile(my, rng):
    """row sums; a tile: all allowed, a part, scores far above, and of 1000 and -1000"""
    for shape in ((7, 3), (5, 5)):
        my.row_sums(*rng.normal(size=(2, *shape)))
    for m, n in ((3, 4), (5, 5)):  # the second is as wide as E
        for seen in (np.ones((m, n), bool), np.tri(m, n) > 0):
            my.tile(*part(rng, m, n), SCALE, seen)
    q, k, *others = part(rng, 3, 4)
    k[3] = 1e4 * q[0]  # a key of no query, with scores far above
    my.tile(q, k, *others, SCALE, np.tri(3, 4) > 0)
    for far in (1000.0, -1000.0):
        my.near(1e-8).tile(*part(rng, 3, 4, far), SCALE, np.ones((3, 4), bool))


def by_tiles(my, rng):
    """tile by tile, also with keys of NaN that no query attends to"""
    for causal in (False, True):
        for sizes in ((7, 11), (5, 5)):
            arrays = problem(rng, causal, *sizes)
            for block in (3, 1, 2, 4, 16):
                my.backward(*arrays, SCALE, block, causal)
    my.backward(*arrays, SCALE, 2)
    q, k, v, *others = problem(rng, True, 8, 16)
    k[8:] = v[8:] = np.nan
    for block in (4, 8):
        my.backward(q, k, v, *others, SCALE, block, True)


def memory(my, rng):
    """memory, for 160 queries and keys in blocks of 16"""
    n, block = 160, 16
    arguments = *problem(rng, False, n, n, 1), SCALE, block
    with calls_of(my, "tile") as calls:
        my.only.backward(*arguments)
    peak = peak_numbers(my.made["backward"], *arguments)
    tag = "block-rows" if peak < n * n else "all-pairs"
    text = f"no array of block x S = {block * n} scores", f"{peak:.0f} numbers in memory"
    my.holds("backward", peak < 3 * block * n, *text, tag)
    most, found = (n // block) ** 2, f"{len(calls)}: what is block for?"
    my.holds("backward", len(calls) <= most, f"{most} tiles", found, "ignores-block")


HINTS = """
1  o_i = sum_l p_il v_l. Multiply both sides by g_i: what is on the right side?
2  D = (g * o).sum(1). In a tile: s, p, ds = p (g v^T - D), then scale ds k, scale
   ds^T q and p^T g.
nan  Does your answer compute a tile without an allowed pair? 0 times NaN is NaN.
"""
WHY = """exp(s - lse) computes each weight again, so none is stored, and D_i is
g_i . o_i because o_i is the sum of p_il v_l. A tile needs only its own queries and keys
then, and the gradients of all tiles are added."""
