"""Check an answer to E.23."""

import math

import numpy as np

from lessons.checks.counting import equal_counts, miscounts
from lessons.checks.measure import calls_of, peak_numbers, without_loops, work
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.classroom.steps import edges, laws, shape, values

H, L, S, D, E, EV, R, F = 2, 3, 7, 11, 5, 9, 6, 4

# THE EXERCISE IN LOOPS


def rotated(pairs, position):
    y, n = np.zeros(len(pairs)), len(pairs)
    for a, b in zip(range(0, n, 2), range(1, n, 2)):
        angle = position * 10000.0 ** (-a / n)
        cos, sin = np.cos(angle), np.sin(angle)
        y[a], y[b] = pairs[a] * cos - pairs[b] * sin, pairs[a] * sin + pairs[b] * cos
    return y


def normed(d):
    return d / np.sqrt(sum(d * d) / len(d) + 1e-6)


def latent_rows(x, start, W_d, W_r):
    rows = np.zeros((len(x), len(W_d) + len(W_r)))
    for j in range(len(x)):
        c = normed(W_d @ x[j])
        r = rotated(W_r @ x[j], start + j)
        rows[j] = [*c, *r]
    return rows


def weights(s):
    p = np.zeros(s.shape)
    for h, i in np.ndindex(*s.shape[:2]):
        read = range(s.shape[2] - s.shape[1] + i + 1)
        m = max(s[h, i, j] for j in read)
        for j in read:
            p[h, i, j] = np.exp(s[h, i, j] - m)
        p[h, i] /= sum(p[h, i])
    return p


def expanded(q, u, cache, W_k, W_v):
    (H, L, E), F, R = q.shape, u.shape[2], W_k.shape[2]
    k = np.array([[W_k[h] @ row[:R] for row in cache] for h in range(H)])
    v = np.array([[W_v[h] @ row[:R] for row in cache] for h in range(H)])
    s, o = np.zeros((H, L, len(cache))), np.zeros((H, L, v.shape[2]))
    for h, i, j in np.ndindex(*s.shape):
        content = q[h, i] @ k[h, j]
        place = u[h, i] @ cache[j, R:]
        s[h, i, j] = (content + place) / np.sqrt(E + F)
    p = weights(s)
    for h, i, j in np.ndindex(*s.shape):
        o[h, i] += p[h, i, j] * v[h, j]
    return o


def absorbed(q, u, cache, W_k, W_v):
    (H, L, E), F, R = q.shape, u.shape[2], W_k.shape[2]
    s, o = np.zeros((H, L, len(cache))), np.zeros((H, L, W_v.shape[1]))
    for h, i in np.ndindex(H, L):
        query = [*(q[h, i] @ W_k[h]), *u[h, i]]
        s[h, i] = cache @ query / np.sqrt(E + F)
    p = weights(s)
    for h, i in np.ndindex(H, L):
        average = p[h, i] @ cache[:, :R]
        o[h, i] = W_v[h] @ average
    return o


# THE CHECK


def draw(rng, H=H, L=L, S=S, E=E, EV=EV, R=R, F=F):
    """Return q, u, cache, W_k and W_v, with scores of the size of 1."""
    sizes = (H, L, E), (H, L, F), (S, R + F), (H, E, R), (H, EV, R)
    return [rng.normal(size=size) for size in sizes]


def tokens(rng, n=L):
    return rng.normal(size=(n, D)), rng.normal(size=(R, D)), rng.normal(size=(F, D))


@shape("a row for each token, an output for each query")
def for_each_token(my, rng):
    x, W_d, W_r = tokens(rng)
    my.shape(my.latent_rows(x, 0, W_d, W_r), (L, R + F), "LR")
    my.shape(my.weights(rng.normal(size=(H, L, S))), (H, L, S), "HLS")
    for f in (my.expanded, my.absorbed):
        my.shape(f(*draw(rng)), (H, L, EV), "HLE")


@values("the rows of the cache, against a loop")
def the_rows(my, rng):
    x, W_d, W_r = tokens(rng)
    for start in (0, 5):
        rows = my.latent_rows(x, start, W_d, W_r)
        my.equal(rows, latent_rows(x, start, W_d, W_r), "LR")


@values("the weights, against a loop")
def the_weights(my, rng):
    for queries in (L, S, 1):
        s = rng.normal(size=(H, queries, S))
        want = weights(s)
        my.equal(my.weights(s), want, "HLS", mask=want > 0)


@values("the expanded form, against a loop")
def with_keys(my, rng):
    inputs = draw(rng)
    my.equal(my.expanded(*inputs), expanded(*inputs), "HLE")


@values("the absorbed form, against a loop")
def without_keys(my, rng):
    inputs = draw(rng)
    my.equal(my.absorbed(*inputs), absorbed(*inputs), "HLE")


@values("the multiplications, counted")
def multiplications(my, rng):
    shared = {"u_i . r_j": "L S H F"}
    terms = {
        False: {"W_k c_j": "S H E R", "W_v c_j": "S H E R", "q_i . k_j": "L S H E",
                "the averages": "L S H E", **shared},
        True: {"W_k^T q_i": "L H E R", "W_v times the averages": "L H E R",
               "the products with c_j": "L S H R", "the averages": "L S H R", **shared},
    }  # fmt: skip

    def terms_of(*case):
        return dict(zip("LSHERF", case)), terms[case[-1]]

    def want(*case):
        sizes, products = terms_of(*case)
        return sum(math.prod(sizes[f] for f in p.split()) for p in products.values())

    def wrong(L, S, H, E, R, F, form):
        case, other = (L, S, H, E, R, F), "expanded" if form else "absorbed"
        widths = L * S * H * (E - R if form else R - E)
        return [
            ("other-form", f"the number of the {other} form", want(*case, not form)),
            ("widths", "the number with a vector of the other form in one product of "
             "L queries and S tokens, E numbers for R or R for E",
             want(*case, form) + widths),
            *miscounts(*terms_of(*case, form)),
        ]  # fmt: skip

    for form in (False, True):
        cases = [(3, 7, 2, 5, 11, 13, form), (1, 5, 3, 7, 2, 17, form)]
        equal_counts(my, my.products, want, wrong, cases)


@laws("one token after the other, with a growing cache")
def with_a_cache(my, rng):
    """Decode with the absorbed form, against one expanded pass of all tokens."""
    x, W_d, W_r = tokens(rng, S)
    q, u, _, W_k, W_v = draw(rng, L=S)
    cache, found = np.zeros((0, R + F)), []
    for t in range(S):
        rows = my.latent_rows(x[t : t + 1], t, W_d, W_r)
        cache = np.concatenate([cache, rows])
        step = q[:, t : t + 1], u[:, t : t + 1]
        found.append(np.asarray(my.absorbed(*step, cache, W_k, W_v)))
    at_once = expanded(q, u, latent_rows(x, 0, W_d, W_r), W_k, W_v)
    with without_loops():
        my.equal(np.concatenate(found, axis=1), at_once, "HLE")


@edges("scores of 1000 and of -1000, and rows that are 1000 apart")
def large(my, rng):
    for far in (1000.0, -1000.0, 1000.0 * np.arange(L)[:, None]):
        s = far + rng.normal(size=(H, L, S))
        my.equal(my.weights(s), weights(s), "HLS")


@edges("the expanded form is computed without the other one")
def with_its_own(my, rng):
    with calls_of(my, "absorbed") as calls:
        my.expanded(*draw(rng))
    text = "expected no call of absorbed", f"found {len(calls)}"
    my.holds(not calls, "other-form", *text, call="expanded")


@edges("the absorbed form makes no keys")
def no_keys(my, rng):
    n, E, R, F = 800, 64, 5, 2
    inputs = draw(rng, 2, 1, n, E, E, R, F)
    with without_loops():
        for found, limit, what in (
            (peak_numbers(my.absorbed, *inputs), n * E / 2, "numbers in memory"),
            (work(my.absorbed, *inputs)[0], n * E * R, "numbers read and written"),
        ):
            my.holds(
                found < limit,
                "expands",
                f"expected fewer than {limit:.0f} {what}, with S = {n} and E = {E}",
                f"found {found:.0f}",
                call="absorbed",
            )


C, TURNED = "c = normed(W_d @ x[j])", "r = rotated(W_r @ x[j], start + j)"
ROW = "rows[j] = [*c, *r]"
READ = "read = range(s.shape[2] - s.shape[1] + i + 1)"
SHIFT, P_SUM = "m = max(s[h, i, j] for j in read)", "p[h, i] /= sum(p[h, i])"
SCORE = "s[h, i, j] = (content + place) / np.sqrt(E + F)"
QUERY = "query = [*(q[h, i] @ W_k[h]), *u[h, i]]"
READS = "s[h, i] = cache @ query / np.sqrt(E + F)"
START = "New tokens stand after those of the cache, at start, start + 1, …"
ORDER = "A row is c, normed and not rotated, and then r, rotated and not normed."
LAST = "The last query is the last token, and reads all S. Which is the first one?"
WIDTH = "Both forms have the same scores, those of keys with E + F entries."
PARTS = "A score has two parts: one of contents, one of positions. Both are divided."
OWN_HEAD = "Each head has its own W_k and W_v."

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("not-normed", "rows with W_d x, without the norm", ORDER, C, "c = W_d @ x[j]"),
    ("normed-after", "rows normed as a whole, with r", ORDER, ROW,
     "rows[j] = normed(np.array([*(W_d @ x[j]), *r]))"),
    ("not-rotated", "rows with r not rotated", ORDER, TURNED, "r = W_r @ x[j]"),
    ("both-rotated", "rows with c rotated as well", ORDER, C,
     "c = rotated(normed(W_d @ x[j]), start + j)"),
    ("start-ignored", "rows rotated by 0, 1, 2, … for any start", START, TURNED,
     "r = rotated(W_r @ x[j], j)"),
    ("one-position", "rows all rotated by start", START, TURNED,
     "r = rotated(W_r @ x[j], start)"),
    ("swapped", "rows with r before c", ORDER, ROW, "rows[j] = [*r, *c]"),
    ("upper-left", "weights of the tokens 0 … i for query i", LAST, READ,
     "read = range(i + 1)"),
    ("strict", "weights of the tokens before the query, without itself",
     "A query reads its own token as well.", READ,
     "read = range(max(s.shape[2] - s.shape[1] + i, 1))"),
    ("no-mask", "weights of all tokens, also of later ones", LAST, READ,
     "read = range(s.shape[2])"),
    ("mask-after", "the softmax of all tokens, then 0 for later ones",
     "The weights of a query sum to 1: mask the scores, not the weights.", P_SUM,
     "p[h, i] /= sum(np.exp(s[h, i] - m))"),
    ("masked-zero", "the softmax in which later tokens have scores of 0",
     "exp(0) is 1: a masked score is -inf.", P_SUM,
     "p[h, i, len(read) :] = np.exp(-m)\n        p[h, i] /= sum(p[h, i])"),
    ("overflow", "exp(s), which is too large for s = 1000",
     "Subtract the largest score of a row first.", SHIFT, "m = 0.0"),
    *(
        ("scale", f"the {form} form, scores divided by {name}", WIDTH, line,
         line.replace("np.sqrt(E + F)", divisor))
        for form, line in (("expanded", SCORE), ("absorbed", READS))
        for name, divisor in (
            ("sqrt(E)", "np.sqrt(E)"), ("sqrt(R + F)", "np.sqrt(R + F)"),
            ("E + F", "(E + F)"), ("1", "1.0"),
        )
    ),
    ("no-place", "the expanded form without u . r", PARTS, SCORE,
     SCORE.replace(" + place", "")),
    ("own-scales", "the expanded form with u . r not divided", PARTS, SCORE,
     "s[h, i, j] = content / np.sqrt(E + F) + place"),
    ("no-place", "the absorbed form without u . r", PARTS, QUERY,
     "query = [*(q[h, i] @ W_k[h]), *(0 * u[h, i])]"),
    ("one-head", "the absorbed form with W_k of the first head", OWN_HEAD, QUERY,
     "query = [*(q[h, i] @ W_k[0]), *u[h, i]]"),
    ("one-query", "the absorbed form with one query for all heads, their sum",
     "The heads share the cache. Each has a query of its own.", QUERY,
     "query = [*sum(q[g, i] @ W_k[g] for g in range(H)), *u[h, i]]"),
]  # fmt: skip

HINTS = {
    "latent_rows": ["Compute c and r of all tokens with two products, then join them."],
    "weights": ["Query i may read the tokens j with j <= S - L + i."],
    "expanded": ["W.swapaxes(1, 2) is the transpose of the matrix of each head."],
    "absorbed": ["q^T (W c) = (q^T W) c. The second form multiplies q by W once."],
    "products": ["A matrix (a, b) times a vector takes a b multiplications."],
    "": [
        "A query [W_k^T q_i; u_i] of R + F numbers times a row of the cache is the "
        "score before it is divided.",
        "sum_j p_ij W_v c_j = W_v (sum_j p_ij c_j): average the rows first.",
        "queries = concatenate([q @ W_k, u]), scores = queries @ cache.T / "
        "sqrt(E + F), o = weights(scores) @ c @ W_v.swapaxes(1, 2).",
    ],
    "expands": [
        "No array in the absorbed form has a row of E numbers for each of S tokens. In "
        "p @ c @ W_v^T the first product comes first; p @ (c @ W_v^T) makes values.",
    ],
}
