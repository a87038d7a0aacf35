"""Check an answer to E.14."""

import numpy as np

from lessons.checks.measure import (
    calls_of,
    has_all_digits,
    peak_numbers,
    without_loops,
)
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import equal_all, shape_all
from lessons.classroom.steps import edges, gradients, numbers, shape, values

L, S, E, SCALE = 7, 11, 5, 0.7
TIME_LIMIT = 20  # seconds: plain Python loops over all pairs are right, and slow

# THE EXERCISE IN LOOPS


def row_sums(g, o):
    """D_i = g_i . o_i"""
    D = np.zeros(len(g))
    for i in range(len(g)):
        D[i] = sum(a * b for a, b in zip(g[i], o[i]))
    return D


def tile(q, k, v, g, lse, D, scale, seen):
    """p_ij = exp(scale q_i . k_j - lse_i), ds_ij = p_ij (g_i . v_j - D_i)"""
    dq, dk, dv = np.zeros(q.shape), np.zeros(k.shape), np.zeros(v.shape)
    p = np.zeros(seen.shape)
    for i, j in np.ndindex(*seen.shape):
        s = scale * (q[i] @ k[j])
        if seen[i, j]:
            p[i, j] = np.exp(s - lse[i])
    for i, j in np.ndindex(*seen.shape):
        dp = g[i] @ v[j]
        ds = p[i, j] * (dp - D[i])
        dq[i] += scale * ds * k[j]
        dk[j] += scale * ds * q[i]
        dv[j] += p[i, j] * g[i]
    return dq, dk, dv


def backward(q, k, v, o, lse, g, scale, block, causal=False):
    """Add the part of each tile to the rows of its queries and of its keys."""
    dq, dk, dv = np.zeros(q.shape), np.zeros(k.shape), np.zeros(v.shape)
    D = row_sums(g, o)
    for a in range(0, len(q), block):
        for b in range(0, len(k), block):
            i, j = slice(a, a + block), slice(b, b + block)
            rows, columns = range(len(q))[i], range(len(k))[j]
            if causal and b > rows[-1]:
                continue
            seen = [[not causal or n <= m for n in columns] for m in rows]
            parts = tile(
                q[i], k[j], v[j], g[i], lse[i], D[i], scale, np.array(seen)
            )
            dq[i] += parts[0]
            dk[j] += parts[1]
            dv[j] += parts[2]
    return dq, dk, dv


# THE CHECK


class Problem:
    """Attention of random arrays, and all that its backward is given."""

    def __init__(self, rng, L=L, S=S, causal=False):
        self.q, self.g = rng.normal(size=(2, L, E))
        self.k, self.v = rng.normal(size=(2, S, E))
        self.causal = causal
        self.seen = (np.arange(S) <= np.arange(L)[:, None]) | (not causal)
        e = np.where(self.seen, np.exp(SCALE * self.q @ self.k.T), 0.0)
        self.lse = np.log(e.sum(1))
        self.o = e @ self.v / e.sum(1, keepdims=True)
        self.D = row_sums(self.g, self.o)

    def arguments(self, block):
        return self.q, self.k, self.v, self.o, self.lse, self.g, SCALE, block

    def cut(self, i, j, far=0.0):
        """Return the arguments of a tile."""
        lse, seen = self.lse[i] + far, self.seen[i, j]
        return (
            self.q[i], self.k[j], self.v[j], self.g[i], lse, self.D[i], SCALE, seen
        )  # fmt: skip


NAMES = "dq", "dk", "dv"
AXES = {"dq": "LE", "dk": "SE", "dv": "SE"}
TILE_AXES = {"dq": "mE", "dk": "nE", "dv": "nE"}


def compare(my, found, want, axes=AXES):
    """Fail unless dq, dk and dv are right."""
    equal_all(my, found, dict(zip(NAMES, want)), axes)


@shape("gradients with the shapes of q, k and v")
def as_q_k_v(my, rng):
    at = Problem(rng)
    my.shape(my.row_sums(at.g, at.o), (L,), "L")
    parts = at.q, at.k, at.v, at.g, at.lse, at.D, SCALE, at.seen
    shapes = {"dq": at.q.shape, "dk": at.k.shape, "dv": at.v.shape}
    shape_all(my, my.tile(*parts), shapes, TILE_AXES)
    shape_all(my, my.backward(*at.arguments(4)), shapes, AXES)


@numbers("weights 1/4 and 3/4 of the values 1 and 3, with g = 2")
def two_keys(my, rng):
    """o is 10/4, and D is 1/4 of 2 plus 3/4 of 6."""
    D = my.row_sums(np.array([[2.0]]), np.array([[2.5]]))
    my.equal(D, [5.0], "L")


@values("row sums, and one tile of many")
def one_tile(my, rng):
    for causal in (False, True):
        at = Problem(rng, causal=causal)
        my.equal(my.row_sums(at.g, at.o), at.D, "L")
        cut = at.cut(slice(2, 5), slice(1, 5))
        compare(my, my.tile(*cut), tile(*cut), TILE_AXES)


@values("tile by tile, in blocks of several sizes")
def by_tiles(my, rng):
    for causal in (False, True):
        at = Problem(rng, causal=causal)
        for block in (3, 1, 2, 4, 16):
            arguments = *at.arguments(block), causal
            compare(my, my.backward(*arguments), backward(*arguments))
        at = Problem(rng, E, E, causal)  # all sizes are equal
        for block in (2, E):
            arguments = *at.arguments(block), causal
            found, right = my.backward(*arguments), backward(*arguments)
            compare(my, found, right)
            for name, each, want in zip(NAMES, found, right):
                has_all_digits(my, each, want, name)


@gradients("of attention whose forward is given")
def of_attention(my, rng):
    at = Problem(rng, causal=True)
    visible = np.where(at.seen, 0.0, -np.inf)

    def attention(q, k, v):
        s = SCALE * (q @ k.T) + visible
        e = np.exp(s - s.max(1, keepdims=True))
        o = e @ v / e.sum(1, keepdims=True)
        lse = np.log(e.sum(1)) + s.max(1)
        return o, lambda g: my.backward(q, k, v, o, lse, g, SCALE, 3, True)

    my.gradients(attention, [at.q, at.k, at.v])


@edges("scores of pairs that are not allowed, far above the others")
def far_above(my, rng):
    at = Problem(rng, causal=True)
    at.k[3:] *= 1e4  # the queries 0 to 2 may not attend to these keys
    cut = at.cut(slice(0, 3), slice(0, 5))
    found = my.tile(*cut)
    for name, part in zip(NAMES, found):
        my.holds(
            np.isfinite(part).all(),
            "unseen-overflow",
            f"expected a finite {name}: exp of a score that is not allowed may be inf, "
            "and inf times 0 is NaN",
            f"found {np.count_nonzero(~np.isfinite(part))} entries NaN or infinite",
        )
    compare(my, found, tile(*cut), TILE_AXES)


@edges("scores of 1000, and of -1000")
def far_from_zero(my, rng):
    at = Problem(rng)
    i, j = slice(2, 5), slice(1, 5)
    for far in (1000.0, -1000.0):  # a further entry adds this number to all scores
        q, k, g, v = (np.pad(x, ((0, 0), (0, 1))) for x in (at.q, at.k, at.g, at.v))
        q[:, -1], k[:, -1] = far, 1 / SCALE
        found = my.tile(
            q[i], k[j], v[j], g[i], at.lse[i] + far, at.D[i], SCALE, at.seen[i, j]
        )
        is_finite = all(np.isfinite(part).all() for part in found)
        text = f"expected finite gradients: exp(s - lse) is a weight for s = {far:g}"
        my.holds(is_finite, "overflow", text, "found NaN or infinity")
        part = np.asarray(found[2])[:, :-1]
        my.equal(part, tile(*at.cut(i, j))[2], "nE", rtol=1e-7, call="tile")


@edges("keys that no query may attend to, with NaN")
def unseen(my, rng):
    at = Problem(rng, L=8, S=16, causal=True)
    want = backward(*at.arguments(8), True)
    at.k[8:] = at.v[8:] = np.nan
    for block in (4, 8):
        compare(my, my.backward(*at.arguments(block), True), want)


@edges("a single pair")
def single(my, rng):
    at = Problem(rng, L=1, S=1)
    dq, dk, dv = my.backward(*at.arguments(3), True)
    my.equal(dv, at.g, "SE")
    my.holds(
        max(np.abs(dq).max(), np.abs(dk).max()) < 1e-12,
        "no-centre",
        "expected dq = dk = 0: a single key has the weight 1 for any score",
        f"found up to {max(np.abs(dq).max(), np.abs(dk).max()):.3g}",
    )


@edges("memory, for 192 queries and keys in blocks of 12")
def memory(my, rng):
    n, block = 192, 12
    q, k, v, g = rng.normal(size=(4, n, 1))
    s = SCALE * q @ k.T
    top = s.max(1)
    e = np.exp(s - top[:, None])
    lse, o = top + np.log(e.sum(1)), e @ v / e.sum(1, keepdims=True)
    with without_loops():
        peak = peak_numbers(my.backward, q, k, v, o, lse, g, SCALE, block)
        my.holds(
            peak < n * n / 2,
            "all-pairs",
            f"expected far fewer than L S = {n * n} numbers in memory",
            f"found {peak:.0f}",
        )
        my.holds(
            peak < 2 * block * n,
            "block-rows",
            f"expected scores of block x block = {block * block} pairs at a time, and "
            f"no arrays of block x S = {block * n} scores in memory",
            f"found {peak:.0f} numbers",
        )
        with calls_of(my, "tile") as calls:
            my.backward(q, k, v, o, lse, g, SCALE, block)
        sizes = [np.size(given[-1]) for _, given in calls]
        largest = max(sizes, default=0)
        my.holds(
            largest <= block * block,
            "block-rows",
            f"expected tiles of at most block x block = {block * block} pairs",
            f"found one of {largest}",
        )
        my.holds(
            len(sizes) <= (n // block) ** 2,
            "ignores-block",
            f"expected {(n // block) ** 2} tiles, as L = S = {n}",
            f"found {len(sizes)}: what is ``block`` used for?",
        )


WEIGHT = "p[i, j] = np.exp(s - lse[i])"
D_S = "ds = p[i, j] * (dp - D[i])"
SKIP = "if causal and b > rows[-1]:"
SEEN = "not causal or n <= m for"
BOTH = SKIP + "\n                continue\n            seen = [[" + SEEN
ALL = "if False:\n                continue\n            seen = [["
NOT_O = "D_i contains the values, averaged by the weights."
NO_LSE = "p = exp(s - lse): what makes the weights of a row sum to 1?"
SCORES = "s_ij = scale q_i . k_j: the forward used the scale as well."
SCALED = "s = scale q . k: the scale is a factor of the gradients of q and of k."
LEAK = "A pair that is not allowed has p = 0 for every score."
TWO_TERMS = "ds has two terms. Does yours contain D?"
ADDED = "Several tiles add to the same rows of dk."
SMALLER = "The last tile may be smaller than block, but it counts."
NOT_CUT = "A block of queries has its own rows of lse and of D."
PLACES = (
    "Inside a tile, rows and columns begin at 0. Causality depends on the positions "
    "in the whole sequence."
)
DEFAULT = "causal is an argument, and False by default."
ALLOWED = "With causal, key j counts for the queries i >= j only."

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("not-o", "g . g", NOT_O, "zip(g[i], o[i])", "zip(g[i], g[i])"),
    ("not-o", "o . o", NOT_O, "zip(g[i], o[i])", "zip(o[i], o[i])"),
    ("mean", "g . o, divided by E", "",
     "D[i] = sum(a * b", "D[i] = sum(a * b / len(o[i])"),
    ("sign", "-g . o", "", "D[i] = sum(a * b", "D[i] = sum(-a * b"),
    ("own-row-sum", "the part with p divided by its sum over the tile",
     "The sum of p over a tile is not 1, because the row continues in other tiles. lse "
     "belongs to the whole row.", "        dp = g[i] @ v[j]",
     "        if j == 0:\n            p[i] /= max(p[i].sum(), 1e-300)\n"
     "        dp = g[i] @ v[j]"),
    ("tile-row-sum", "the part with D summed over the tile alone",
     "D_i is a sum over all keys of the row, not over those of a tile.",
     D_S, D_S.replace("D[i]", "p[i] @ (v @ g[i])")),
    ("mask-leak", "the part with pairs that are not allowed", LEAK, "if seen[i, j]:",
     "if True:"),
    ("mask-leak", "the part with scores of 0 for pairs that are not allowed", LEAK,
     "(q[i] @ k[j])\n        if seen[i, j]:",
     "(q[i] @ k[j]) * seen[i, j]\n        if True:"),
    ("no-lse", "the part with p = exp(s), without lse", NO_LSE, WEIGHT,
     "p[i, j] = np.exp(s)"),
    ("no-lse", "the part with p = exp(s) / lse", NO_LSE, WEIGHT,
     "p[i, j] = np.exp(s) / lse[i]"),
    ("no-lse", "the part with p = exp(s + lse)", NO_LSE, WEIGHT,
     "p[i, j] = np.exp(s + lse[i])"),
    ("max-for-lse", "the part with p = exp(s - the maximum of a row of the tile)",
     "Only s - lse gives weights whose row sums to 1.", WEIGHT,
     "p[i, j] = np.exp(s - scale * (k @ q[i]).max())"),
    ("unscaled-scores", "the part with scores q . k, without the scale", SCORES,
     "s = scale * (", "s = ("),
    ("unscaled-scores", "the part with scores q . k / sqrt(E), whatever the scale is",
     SCORES, "s = scale * (", "s = len(q[i]) ** -0.5 * ("),
    ("unscaled-scores", "the part with scores q . k / scale", SCORES, "s = scale * (",
     "s = 1 / scale * ("),
    ("no-centre", "the part with ds = p (g . v)", TWO_TERMS, D_S, "ds = p[i, j] * dp"),
    ("one-factor", "the part with ds = p (g . v) - D", "", D_S,
     "ds = p[i, j] * dp - D[i]"),
    ("one-factor", "the part with ds = p (g . v - p D)", "", D_S,
     "ds = p[i, j] * (dp - p[i, j] * D[i])"),
    ("p-for-ds", "the part with p in place of ds",
     "dq and dk go through the scores: which gradient do those have?", D_S,
     "ds = p[i, j]"),
    ("k-for-v", "the part with ds = p (g . k - D)",
     "o_i = sum_j p_ij v_j: what is do_i / dp_ij?", "dp = g[i] @ v[j]",
     "dp = g[i] @ k[j]"),
    ("plus", "the part with ds = p (g . v + D)", "", D_S, D_S.replace("-", "+")),
    ("softmax-skipped", "the part with ds = g . v - D, without p", "", D_S,
     "ds = dp - D[i]"),
    ("softmax-diagonal", "the part with ds = p (1 - p) (g . v), the diagonal alone", "",
     D_S, "ds = p[i, j] * (1 - p[i, j]) * dp"),
    ("v-for-k", "the part summed over v in place of k",
     "s_ij = scale q_i . k_j: what is ds_ij / dq_i?", "dq[i] += scale * ds * k[j]",
     "dq[i] += scale * ds * v[j]"),
    ("g-for-q", "the part summed over g in place of q",
     "s_ij = scale q_i . k_j. What is the derivative of s_ij with respect to k_j?",
     "dk[j] += scale * ds * q[i]", "dk[j] += scale * ds * g[i]"),
    ("ds-for-p", "the part summed with ds in place of p",
     "o_i = sum_j p_ij v_j: which factor does v_j have?", "dv[j] += p[i, j] * g[i]",
     "dv[j] += ds * g[i]"),
    ("no-scale", "the part without the scale", SCALED,
     "dq[i] += scale * ds", "dq[i] += ds"),
    ("no-scale", "the part without the scale", SCALED,
     "dk[j] += scale * ds", "dk[j] += ds"),
    *(
        ("overwrites", f"the part of the last block of {others}", ADDED, line,
         line.replace("+=", "="))
        for line, others in (
            ("dq[i] += parts[0]", "keys"), ("dk[j] += parts[1]", "queries"),
            ("dv[j] += parts[2]", "queries"),
        )
    ),
    ("last-tile", "the sum without the smaller block of keys", SMALLER,
     "for b in range(0, len(k), block)",
     "for b in range(0, len(k) // block * block, block)"),
    ("last-tile", "the sum without the smaller block of queries", SMALLER,
     "for a in range(0, len(q), block)",
     "for a in range(0, len(q) // block * block, block)"),
    ("rows-not-cut", "the sum with lse of the first block for all", NOT_CUT,
     "lse[i], D[i]", "lse[: len(rows)], D[i]"),
    ("rows-not-cut", "the sum with D of the first block for all", NOT_CUT,
     "lse[i], D[i]", "lse[i], D[: len(rows)]"),
    ("causal-always", "the sum over the pairs j <= i, where causal is False", DEFAULT,
     SEEN, "n <= m for"),
    ("causal-always",
     "the sum over the tiles up to the diagonal, where causal is False",
     DEFAULT, SKIP, "if b > rows[-1]:"),
    ("flipped", "the sum over the tiles from the diagonal on", "", SKIP, "if b < a:"),
    ("tile-positions", "the sum with positions counted inside each tile", PLACES, SEEN,
     "not causal or n - b <= m - a for"),
    ("tile-positions", "the sum with positions counted inside each tile, of all tiles",
     PLACES, BOTH, ALL + "not causal or n - b <= m - a for"),
    ("not-causal", "the sum over all pairs", ALLOWED, BOTH, ALL + "True for"),
    ("not-causal", "the sum over all pairs of the tiles", ALLOWED, SEEN, "True for"),
    ("off-by-one", "the sum over the pairs j < i", "", SEEN, SEEN.replace("<=", "<")),
    ("off-by-one", "the sum without the tiles on the diagonal", "", SKIP,
     "if causal and b >= a:"),
    ("off-by-one", "the sum without the tiles whose first key is the last query", "",
     SKIP, SKIP.replace(">", ">=")),
    ("flipped", "the sum over the pairs j >= i", "", SEEN, SEEN.replace("<=", ">=")),
    ("flipped", "the sum over the pairs j > i", "", SEEN, SEEN.replace("<=", ">")),
    ("flipped", "the sum over the pairs j >= i of all tiles", "", BOTH,
     ALL + SEEN.replace("<=", ">=")),
]  # fmt: skip

HINTS = {
    "overflow": ["exp(s) may be larger than any float64. exp(s - lse) is not."],
    "row_sums": ["Which sum over the keys has the forward computed, and stored?"],
    "tile": ["p = exp(s - lse) at allowed pairs only, decided before the exponential."],
    "backward": [
        "Which rows of dq does one tile change, and which of dk and dv?",
    ],
    "": [
        "o_i = sum_l p_il v_l. Multiply both sides by g_i: what is on the right side?",
        "In a tile p is exp(s - lse), 0 where not allowed, and already divided by "
        "the sum of the whole row. dq of a block of queries is a sum over blocks of "
        "keys, dk and dv are sums over blocks of queries.",
        "D = (g * o).sum(1). In a tile: s, p, ds = p (g v^T - D), then scale ds k, "
        "scale ds^T q and p^T g. Write two loops over slices and add each part to "
        "its rows. With causal, seen is j <= i in positions of the whole sequence, "
        "and a tile is left out if its first key is after its last query.",
    ],
    "no-centre": ["ds has two terms. Does yours contain D?"],
    "unseen-overflow": [
        "exp of a large score is inf, and 0 * inf is NaN: a product with the mask "
        "cannot remove it. Mask the score before exp.",
    ],
    "block-rows": [
        "Your answer makes an array of block x S scores. Divide the keys as well.",
    ],
    "all-pairs": ["Your answer makes an array of all L x S pairs."],
    "nan": [
        "If the keys are NaN: your answer computes a tile without an allowed pair, and "
        "0 times NaN is NaN. Half of the tiles of a causal square can be left out.",
    ],
}
