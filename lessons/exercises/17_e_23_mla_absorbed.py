"""E.23  MLA absorbed  ●●●○  40 min  needs E.7

A cache of keys and values has 2 H E numbers for each token. Latent attention (MLA)
caches one row of R + F numbers, [c_j; r_j], for all heads. Each head makes its keys and
values from c_j, and r_j carries the position:

    k_j = W_k c_j (E,),   v_j = W_v c_j (Ev,)              of each head
    s_ij = (q_i . k_j + u_i . r_j) / sqrt(E + F)
    o_i = sum_j p_ij v_j,   p_i = softmax(s_i)

u_i and r_j are rotated by the positions of their tokens. This is the expanded form. In
the absorbed form no key and no value is computed. q_i . W_k c_j is the product of c_j
with another vector, which is the same for all j: find it, and do the same for values.
The numbers stay what they are. (A rotation between W_k and c_j would depend on i and j.
This is why positions have a part of their own.)

The queries are the last L of S tokens. Each reads itself and all tokens before it.
"""

import numpy as np

from attention import rope


def latent_rows(x, start, W_d, W_r):
    """Return the rows [c; r] (L, R + F) of new tokens x (L, D), to be cached.

    c = RMSNorm(W_d x), r = rope(W_r x);  W_d (R, D), W_r (F, D);  start tokens stand
    before them.  rope.raw(r, positions, interleaved=True)[0] rotates the rows of r.
    """
    positions = start + np.arange(len(x))  #? New tokens stand after those of the cache: where does the first one stand?
    c = _rms_norm(x @ W_d.T)  #? Which of c and r is normed, and which is rotated?
    #! c = rope.raw(_rms_norm(x @ W_d.T), positions, interleaved=True)[0]  | rows with c rotated as well
    r = rope.raw(x @ W_r.T, positions, interleaved=True)[0]  #? Which of c and r is rotated, and by which positions?
    #! r = x @ W_r.T  | rows with r not rotated
    return np.concatenate([c, r], axis=1)  #? In which order does the task write a row, and which part is normed?
    #! return _rms_norm(np.concatenate([x @ W_d.T, r], axis=1))  | rows normed as a whole, with r


def weights(s):
    """Return p (H, L, S), the softmax of scores s (H, L, S) over the tokens it reads."""
    L, S = s.shape[1:]
    read = np.tri(L, S, S - L, dtype=bool)  #? The last query is the last token, and reads all S. Which is the first one?
    #! read = np.tri(L, S, S - L - 1, dtype=bool) | (np.arange(S) == 0)  | weights of the tokens before the query, without itself
    seen = np.where(read, s, -np.inf)  #? Which score has a weight of 0: what is exp(0)?
    #! seen = np.where(read, s, 0.0)  | the softmax in which later tokens have scores of 0
    p = np.exp(seen - seen.max(2, keepdims=True))  #? How large may a score be, so that exp(s) is still a number?
    #! p = np.exp(np.where(read, s, 0) - seen.max(2, keepdims=True))  | the softmax in which later tokens have scores of 0
    return p / p.sum(2, keepdims=True)  #? The weights of a query sum to 1: over which tokens is this sum?
    #! p = np.exp(s - s.max(2, keepdims=True)); return read * p / p.sum(2, keepdims=True)  | the softmax of all tokens, then 0 for later ones


def expanded(q, u, cache, W_k, W_v):
    """Return o (H, L, Ev), from the keys and values of all tokens and heads.

    q (H, L, E), u (H, L, F), cache (S, R + F), W_k (H, E, R), W_v (H, Ev, R)
    """
    c, r = np.split(cache, [W_k.shape[2]], axis=1)
    k, v = c @ W_k.swapaxes(1, 2), c @ W_v.swapaxes(1, 2)  #? Each head has its own W_k and W_v. Which vector do they multiply?
    scale = (q.shape[2] + u.shape[2]) ** -0.5  #? Both forms have the scores of keys with E + F entries: what divides them?
    s = scale * (q @ k.swapaxes(1, 2) + u @ r.T)  #? A score has two parts, contents and positions. Which of them is divided?
    #! s = scale * (q @ k.swapaxes(1, 2)) + u @ r.T  | the expanded form with u . r not divided
    return weights(s) @ v  #? o_i is an average of values: with which weights?


def absorbed(q, u, cache, W_k, W_v):
    """Return the same o (H, L, Ev), with no array of S keys or values of a head."""
    queries = np.concatenate([q @ W_k, u], axis=2)  #? Which query of R + F numbers has each head, so that a row of the cache is its key?
    #! queries = np.concatenate([q @ W_k, 0 * u], axis=2)  | the absorbed form without u . r
    #! queries = np.concatenate([q @ W_k[0], u], axis=2)  | the absorbed form with W_k of the first head
    #! queries = np.concatenate([0 * (q @ W_k) + (q @ W_k).sum(0), u], axis=2)  | the absorbed form with one query for all heads, their sum
    scale = (q.shape[2] + u.shape[2]) ** -0.5  #? Both forms have the scores of keys with E + F entries: what divides them?
    s = scale * (queries @ cache.T)  #? Which product of two vectors is a score, before it is divided?
    averages = weights(s) @ cache[:, : W_k.shape[2]]  #? Which part of a row of the cache do values come from?
    return averages @ W_v.swapaxes(1, 2)  #? An average of W_v c_j is W_v times which average?
    #! return averages @ W_v[0].T  | the absorbed form with W_v of the first head


def products(L, S, H, E, R, F, is_absorbed):
    """Return how many multiplications a form needs, of all products, with Ev = E.

    L queries and S tokens: count the products of every query with every token. Do not
    count the scale and the softmax.
    """
    if is_absorbed:
        return 2 * L * H * E * R + L * S * H * (R + F + R)  #? Which vectors does W_k multiply here, and how long are the vectors of a score and of an average?
        #! return 2 * S * H * E * R + L * S * H * (E + F + E)  | the number of the expanded form
    return 2 * S * H * E * R + L * S * H * (E + F + E)  #? How many keys and values are made, and how long are the vectors of a score and of an average?


def _rms_norm(c):
    """Return the rows c (L, R), each divided by the root of its mean square."""
    return c / np.sqrt((c**2).mean(1, keepdims=True) + 1e-6)


# ---- THE CHECK: each call my.f(…) is compared with the function f above

from lessons.course.measure import calls_of, peak_numbers, work

SIZES = (2, 3, 7, 5, 9, 6, 4), (4, 4, 4, 4, 4, 4, 4)  # H, L, S, E, Ev, R, F


def draw(rng, H, L, S, E, Ev, R, F):
    """Return q, u, cache, W_k and W_v, with scores of the size of 1."""
    sizes = (H, L, E), (H, L, F), (S, R + F), (H, E, R), (H, Ev, R)
    return [rng.normal(size=size) for size in sizes]


def the_rows(my, rng):
    """the rows of the cache, the weights, and the multiplications of both forms"""
    for start, L, D, R, F in ((0, 3, 11, 6, 4), (5, 3, 11, 6, 4), (3, 4, 4, 4, 4)):
        x, W_d, W_r = (rng.normal(size=(n, D)) for n in (L, R, F))
        my.latent_rows(x, start, W_d, W_r)
    far = 1000.0 * np.arange(3)[:, None]
    for L, more in ((3, 0), (7, 0), (1, 0), (3, 1000.0), (3, -1000.0), (3, far)):
        my.weights(more + rng.normal(size=(2, L, 7)))
    for sizes in ((3, 7, 2, 5, 11, 13), (1, 5, 3, 7, 2, 17), (11, 11, 2, 3, 5, 7)):
        for is_absorbed in (False, True):
            my.products(*sizes, is_absorbed)


def with_keys(my, rng):
    """the expanded form, without the other one; the absorbed form, without keys"""
    for sizes in SIZES:
        inputs = draw(rng, *sizes)
        with calls_of(my, "absorbed") as calls:
            my.expanded(*inputs)
    text = "no call of absorbed in expanded", f"{len(calls)}"
    my.holds("expanded", not calls, *text, "other-form")
    for sizes in (*SIZES, (2, 1, 5, 5, 9, 6, 4)):
        my.absorbed(*draw(rng, *sizes))
    S, E, R = 800, 64, 5
    inputs = draw(rng, 2, 1, S, E, E, R, 2)
    for found, limit, what in (
        (peak_numbers(my.made["absorbed"], *inputs), S * E / 2, "in memory"),
        (work(my.made["absorbed"], *inputs)[0], S * E * R, "read and written"),
    ):
        text = f"fewer than {limit:.0f} numbers {what}, with S = {S} and E = {E}"
        my.holds("absorbed", found < limit, text, f"{found:.0f}", "expands")


HINTS = """
1  [W_k^T q_i; u_i] times a row of the cache is the score before it is divided.
2  sum_j p_ij W_v c_j = W_v (sum_j p_ij c_j): average the rows first.
3  queries = concatenate([q @ W_k, u]), scores = queries @ cache.T / sqrt(E + F),
   o = weights(scores) @ c @ W_v.swapaxes(1, 2).
"""
WHY = """q . W_k c = (W_k^T q) . c, and an average of W_v c_j is W_v times that of the c_j:
a matrix is applied to each query, not to each token of a cache. Training has as many
queries as tokens; there the expanded form needs less, as keys are shorter than rows."""
