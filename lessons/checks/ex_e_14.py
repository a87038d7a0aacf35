"""Check an answer to E.14."""

import numpy as np

from lessons.checks.measure import calls_of, has_all_digits, peak_numbers
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import equal_all, shape_all
from lessons.classroom.steps import edges, gradients, numbers, shape, values

L, S, E, SCALE = 7, 11, 5, 0.7
TIME_LIMIT = 20  # seconds: plain Python loops over all pairs are right, and slow


class Problem:
    """Compute attention and its gradients from all pairs at once."""

    def __init__(self, rng, L=L, S=S, causal=False):
        self.q, self.g = rng.normal(size=(2, L, E))
        self.k, self.v = rng.normal(size=(2, S, E))
        self.causal = causal
        i, j = np.arange(L)[:, None], np.arange(S)
        self.seen = (j <= i) | (not causal)
        self.s = SCALE * np.array([[a @ b for b in self.k] for a in self.q])
        e = np.where(self.seen, np.exp(self.s), 0.0)
        self.lse, self.p = np.log(e.sum(1)), e / e.sum(1, keepdims=True)
        self.o = self.p @ self.v
        self.dp = self.g @ self.v.T
        self.ds = np.array(
            [(np.diag(row) - np.outer(row, row)) @ d for row, d in zip(self.p, self.dp)]
        )
        self.D = (self.p * self.dp).sum(1)

    def sums(self, rows=slice(None), columns=slice(None), p=None, ds=None):
        """Return dq (L, E), dk and dv (S, E), summed over some of the pairs."""
        p, ds = (self.p if p is None else p), (self.ds if ds is None else ds)
        dq, dk, dv = (np.zeros_like(x) for x in (self.q, self.k, self.v))
        for i in range(len(self.q))[rows]:
            for j in range(len(self.k))[columns]:
                dq[i] += SCALE * ds[i, j] * self.k[j]
                dk[j] += SCALE * ds[i, j] * self.q[i]
                dv[j] += p[i, j] * self.g[i]
        return dq, dk, dv

    def arguments(self, block):
        return self.q, self.k, self.v, self.o, self.lse, self.g, SCALE, block


def wrong_tiles(problem, i, j):
    """Yield wrong gradients of a tile: (tag, what, (dq, dk, dv))."""
    at = problem
    unmasked = np.exp(at.s - at.lse[:, None])
    inside = np.zeros_like(at.p)
    inside[i, j] = at.p[i, j]
    own = inside / np.maximum(inside.sum(1, keepdims=True), 1e-300)
    of_tile = (inside * at.dp).sum(1, keepdims=True)
    D = at.D[:, None]

    of_zeros = np.exp(np.where(at.seen, at.s, 0.0) - at.lse[:, None])
    top = np.zeros_like(D)
    top[i] = at.s[i, j].max(1, keepdims=True)

    def from_p(p):
        p = np.where(at.seen, p, 0.0)
        return p, p * (at.dp - D)

    for tag, what, p, ds in (
        ("no-centre", "with ds = p (g . v)", at.p, at.p * at.dp),
        (
            "own-row-sum",
            "with p divided by its sum over the tile",
            own,
            own * (at.dp - D),
        ),
        (
            "tile-row-sum",
            "with D summed over the tile alone",
            at.p,
            at.p * (at.dp - of_tile),
        ),
        (
            "mask-leak",
            "with pairs that are not allowed",
            unmasked,
            unmasked * (at.dp - D),
        ),
        (
            "mask-leak",
            "with scores of 0 for pairs that are not allowed",
            of_zeros,
            of_zeros * (at.dp - D),
        ),
        ("no-lse", "with p = exp(s), without lse", *from_p(np.exp(at.s))),
        (
            "max-for-lse",
            "with p = exp(s - the maximum of a row of the tile)",
            *from_p(np.exp(at.s - top)),
        ),
        (
            "unscaled-scores",
            "with scores q . k, without the scale",
            *from_p(np.exp(at.s / SCALE - at.lse[:, None])),
        ),
        (
            "unscaled-scores",
            "with scores q . k / sqrt(E), whatever the scale is",
            *from_p(np.exp(at.s / SCALE / E**0.5 - at.lse[:, None])),
        ),
        (
            "unscaled-scores",
            "with scores q . k / scale",
            *from_p(np.exp(at.s / SCALE**2 - at.lse[:, None])),
        ),
        (
            "no-lse",
            "with p = exp(s) / lse",
            *from_p(np.exp(at.s) / at.lse[:, None]),
        ),
        (
            "no-lse",
            "with p = exp(s + lse)",
            *from_p(np.exp(at.s + at.lse[:, None])),
        ),
        ("one-factor", "with ds = p (g . v) - D", at.p, at.p * at.dp - D),
        ("p-for-ds", "with p in place of ds", at.p, at.p),
        ("one-factor", "with ds = p (g . v - p D)", at.p, at.p * (at.dp - at.p * D)),
        ("k-for-v", "with ds = p (g . k - D)", at.p, at.p * (at.g @ at.k.T - D)),
        ("plus", "with ds = p (g . v + D)", at.p, at.p * (at.dp + D)),
        ("softmax-skipped", "with ds = g . v - D, without p", at.p, at.dp - D),
        (
            "softmax-diagonal",
            "with ds = p (1 - p) (g . v), the diagonal alone",
            at.p,
            at.p * (1 - at.p) * at.dp,
        ),
    ):
        yield tag, f"the part {what}", at.sums(i, j, p, ds)
    dq, dk, dv = at.sums(i, j)
    from_g = SCALE * (at.ds[i, j].T @ at.g[i]), at.ds[i, j].T @ at.g[i]
    from_v = np.zeros_like(dq)
    from_v[i] = SCALE * (at.ds[i, j] @ at.v[j])
    yield "v-for-k", "the part summed over v in place of k", (from_v, dk, dv)
    for tag, text, place, array in (
        ("g-for-q", "summed over g in place of q", 1, from_g[0]),
        ("ds-for-p", "summed with ds in place of p", 2, from_g[1]),
    ):
        parts = [dq, dk, dv]
        parts[place] = np.zeros_like(at.k)
        parts[place][j] = array
        yield tag, f"the part {text}", parts
    yield "no-scale", "the part without the scale", (dq / SCALE, dk / SCALE, dv)


def wrong_wholes(problem, block):
    """Yield gradients in which tiles are missing or in the wrong place."""
    at, (n, m) = problem, problem.p.shape
    last_rows = slice((n - 1) // block * block, n)
    last_columns = slice((m - 1) // block * block, m)
    yield (
        "overwrites",
        "the part of the last block of keys",
        at.sums(columns=last_columns),
    )
    yield "overwrites", "the part of the last block of queries", at.sums(last_rows)
    for text, which in (
        ("keys", {"columns": slice(0, m // block * block)}),
        ("queries", {"rows": slice(0, n // block * block)}),
    ):
        yield (
            "last-tile",
            f"the sum without the smaller block of {text}",
            at.sums(**which),
        )
    for text, D in (("g . g", at.g), ("o . o", at.o)):
        ds = at.p * (at.dp - (D * D).sum(1, keepdims=True))
        yield "not-o", f"the sum with {text} for D", at.sums(ds=ds)
    first = np.arange(n) % block
    p = np.where(at.seen, np.exp(at.s - at.lse[first, None]), 0.0)
    for text, parts in (
        ("lse", at.sums(p=p, ds=p * (at.dp - at.D[:, None]))),
        ("D", at.sums(ds=at.p * (at.dp - at.D[first, None]))),
    ):
        yield "rows-not-cut", f"the sum with {text} of the first block for all", parts
    if not at.causal:
        i, j = np.arange(n)[:, None], np.arange(m)
        for tag, text, seen in (
            ("causal-always", "pairs j <= i, where causal is False", j <= i),
            (
                "causal-always",
                "tiles up to the diagonal, where causal is False",
                j // block <= i // block,
            ),
            ("flipped", "tiles from the diagonal on", j // block >= i // block),
        ):
            text = f"the sum over the {text}"
            yield tag, text, at.sums(p=at.p * seen, ds=at.ds * seen)
    if at.causal:
        i, j = np.arange(n)[:, None], np.arange(m)
        inside = (j % block <= i % block) & (j // block <= i // block)
        last_query = np.minimum((i // block + 1) * block, n) - 1
        computed = j // block * block <= last_query
        for tag, what, seen in (
            (
                "tile-positions",
                "the sum with positions counted inside each tile",
                inside,
            ),
            (
                "tile-positions",
                "the sum with positions counted inside each tile, of all tiles",
                j % block <= i % block,
            ),
            ("not-causal", "the sum over all pairs", inside | True),
            ("not-causal", "the sum over all pairs of the tiles", computed),
            ("off-by-one", "the sum over the pairs j < i", j < i),
            (
                "off-by-one",
                "the sum without the tiles on the diagonal",
                (j <= i) & (j // block < i // block),
            ),
            (
                "off-by-one",
                "the sum without the tiles whose first key is the last query",
                (j <= i) & (j // block * block < last_query),
            ),
            ("flipped", "the sum over the pairs j >= i", (j >= i) & computed),
            ("flipped", "the sum over the pairs j > i", (j > i) & computed),
            ("flipped", "the sum over the pairs j >= i of all tiles", j >= i),
        ):
            p = np.where(seen, np.exp(at.s - at.lse[:, None]), 0.0)
            yield tag, what, at.sums(p=p, ds=p * (at.dp - at.D[:, None]))


NAMES = "dq", "dk", "dv"
AXES = {"dq": "LE", "dk": "SE", "dv": "SE"}
TILE_AXES = {"dq": "mE", "dk": "nE", "dv": "nE"}


def compare(my, found, want, wrong, axes=AXES):
    """Fail unless dq, dk and dv are right."""
    wrong, known = list(wrong), {}
    for place, name in enumerate(NAMES):
        known[name] = [
            (tag, f"{name}, {what}", arrays[place])
            for tag, what, arrays in wrong
            if arrays[place].any() and not np.allclose(arrays[place], want[place])
        ]
    equal_all(my, found, dict(zip(NAMES, want)), axes, known)


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
    my.equal(D, [5.0], "L", [("not-o", "g . g", [4.0]), ("not-o", "o . o", [6.25])])


@values("row sums, and one tile of many")
def one_tile(my, rng):
    for causal in (False, True):
        at = Problem(rng, causal=causal)
        not_o = [
            ("not-o", "g . g", (at.g**2).sum(1)),
            ("not-o", "o . o", (at.o**2).sum(1)),
            ("mean", "g . o, divided by E", at.D / E),
            ("sign", "-g . o", -at.D),
        ]
        my.equal(my.row_sums(at.g, at.o), at.D, "L", not_o)
        i, j = slice(2, 5), slice(1, 5)
        cut = at.q[i], at.k[j], at.v[j], at.g[i], at.lse[i], at.D[i]
        found = my.tile(*cut, SCALE, at.seen[i, j])
        want = _cut(at.sums(i, j), i, j)
        wrong = [
            (t, what, _cut(parts, i, j)) for t, what, parts in wrong_tiles(at, i, j)
        ]
        compare(my, found, want, wrong, TILE_AXES)


def _cut(parts, i, j):
    return parts[0][i], parts[1][j], parts[2][j]


@values("tile by tile, in blocks of several sizes")
def by_tiles(my, rng):
    for causal in (False, True):
        at = Problem(rng, causal=causal)
        for block in (3, 1, 2, 4, 16):
            found = my.backward(*at.arguments(block), causal)
            compare(my, found, at.sums(), wrong_wholes(at, block))
        at = Problem(rng, E, E, causal)  # all sizes are equal
        for block in (2, E):
            found = my.backward(*at.arguments(block), causal)
            compare(my, found, at.sums(), wrong_wholes(at, block))
            for name, each, want in zip(NAMES, found, at.sums()):
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
    i, j = slice(0, 3), slice(0, 5)
    cut = at.q[i], at.k[j], at.v[j], at.g[i], at.lse[i], at.D[i]
    found = my.tile(*cut, SCALE, at.seen[i, j])
    for name, part in zip(("dq", "dk", "dv"), found):
        my.holds(
            np.isfinite(part).all(),
            "unseen-overflow",
            f"expected a finite {name}: exp of a score that is not allowed may be inf, "
            "and inf times 0 is NaN",
            f"found {np.count_nonzero(~np.isfinite(part))} entries NaN or infinite",
        )
    compare(my, found, _cut(at.sums(i, j), i, j), [], TILE_AXES)


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
        my.equal(part, at.sums(i, j)[2][j], "nE", rtol=1e-7, call="tile")


@edges("keys that no query may attend to, with NaN")
def unseen(my, rng):
    at = Problem(rng, L=8, S=16, causal=True)
    want = at.sums()
    at.k[8:] = at.v[8:] = np.nan
    for block in (4, 8):
        found = my.backward(*at.arguments(block), True)
        compare(my, found, want, [])


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
        f"expected scores of block x block = {block * block} pairs at a time, and no "
        f"arrays of block x S = {block * n} scores in memory",
        f"found {peak:.0f} numbers",
    )
    with calls_of(my, "tile") as calls:
        my.backward(q, k, v, o, lse, g, SCALE, block)
    largest = max((np.size(given[-1]) for _, given in calls), default=0)
    my.holds(
        largest <= block * block,
        "block-rows",
        f"expected tiles of at most block x block = {block * block} pairs",
        f"found one of {largest}",
    )


HINTS = {
    "max-for-lse": ["Only s - lse gives weights whose row sums to 1."],
    "v-for-k": ["s_ij = scale q_i . k_j: what is ds_ij / dq_i?"],
    "rows-not-cut": ["A block of queries has its own rows of lse and of D."],
    "p-for-ds": ["dq and dk go through the scores: which gradient do those have?"],
    "causal-always": ["causal is an argument, and False by default."],
    "k-for-v": ["o_i = sum_j p_ij v_j: what is do_i / dp_ij?"],
    "overflow": ["exp(s) may be larger than any float64. exp(s - lse) is not."],
    "no-lse": ["p = exp(s - lse): what makes the weights of a row sum to 1?"],
    "unscaled-scores": ["s_ij = scale q_i . k_j: the forward used the scale as well."],
    "g-for-q": [
        "s_ij = scale q_i . k_j. What is the derivative of s_ij with respect to k_j?",
    ],
    "ds-for-p": ["o_i = sum_j p_ij v_j: which factor does v_j have?"],
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
    "not-o": ["D_i contains the values, averaged by the weights."],
    "own-row-sum": [
        "The sum of p over a tile is not 1, because the row continues in other "
        "tiles. lse belongs to the whole row.",
    ],
    "tile-row-sum": [
        "D_i is a sum over all keys of the row, not over those of a tile.",
    ],
    "no-centre": ["ds has two terms. Does yours contain D?"],
    "no-scale": [
        "s = scale q . k: the scale is a factor of the gradients of q and of k.",
    ],
    "overwrites": ["Several tiles add to the same rows of dk."],
    "unseen-overflow": [
        "exp of a large score is inf, and 0 * inf is NaN: a product with the mask "
        "cannot remove it. Mask the score before exp.",
    ],
    "block-rows": [
        "Your answer makes an array of block x S scores. Divide the keys as well.",
    ],
    "mask-leak": ["A pair that is not allowed has p = 0 for every score."],
    "tile-positions": [
        "Inside a tile, rows and columns begin at 0. Causality depends on the "
        "positions in the whole sequence.",
    ],
    "last-tile": ["The last tile may be smaller than block, but it counts."],
    "all-pairs": ["Your answer makes an array of all L x S pairs."],
    "not-causal": ["With causal, key j counts for the queries i >= j only."],
    "nan": [
        "If the keys are NaN: your answer computes a tile without an allowed pair, and "
        "0 times NaN is NaN. Half of the tiles of a causal square can be left out.",
    ],
}
