"""Check an answer to 38.1."""

import functools

import numpy as np

from attention.costs.counted import OpCounter
from lessons.checks.counting import equal_counts, miscounts
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.classroom.steps import CheckFailed, edges, laws, numbers, shape, values
from lessons.classroom.theory import (
    check_chain,
    in_symbols,
    links_that_run,
    rationals,
)

SIZES = ((1, 1, 5, 3, 7), (3, 5, 7, 2, 11), (2, 3, 1, 5, 3), (1, 7, 5, 11, 3))


def scores_by_loop(s, W, H):
    """sum_i sum_k s_i W_ik h_jk for each key j"""
    d_s, d_h = W.shape
    return [
        sum(s[i] * W[i, k] * h[k] for i in range(d_s) for k in range(d_h)) for h in H
    ]


def counted(B, T_q, T_k, d_s, d_h, precomputed):
    """Return the multiplications of all scores, counted by running them."""
    ops = OpCounter()
    W = ops.array(np.ones((d_s, d_h)))
    for _ in range(B):
        queries = ops.array(np.ones((T_q, d_s)))
        keys = ops.array(np.ones((T_k, d_h)))
        if precomputed:
            keys = [W @ h for h in keys]
        for s in queries:
            for h in keys:
                s @ (h if precomputed else W @ h)
    return ops.multiplications


def fractions(rng, *shape):
    return np.array(rationals(rng, int(np.prod(shape))), object).reshape(shape)


@shape("a projected key for each key, as wide as the query")
def as_wide_as_the_query(my, rng):
    H, W = rng.normal(size=(5, 7)), rng.normal(size=(3, 7))
    try:
        found = my.project_keys(H, W)
    except CheckFailed as failure:
        if not isinstance(failure.__cause__, ValueError):
            raise
        # with two arrays, only their sizes can raise a ValueError
        raise CheckFailed("axes", *failure.lines) from failure.__cause__
    my.shape(found, (5, 3), ("T", "d_s"))


@numbers("two keys, by hand: W_g = ((1, 2, 0), (0, -1, 3))")
def by_hand(my, rng):
    W = np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 3.0]])
    H = np.array([[1.0, 1.0, 1.0], [2.0, 0.0, -1.0]])
    my.equal(
        my.project_keys(H, W), [[3.0, 2.0], [2.0, -3.0]], ("T", "d_s"), wrong_keys(H, W)
    )


@values("s . h'_j is the general score, against a double sum")
def the_general_score(my, rng):
    s, W, H = (rng.normal(size=n) for n in (3, (3, 7), (5, 7)))
    projected = my.project_keys(H, W)
    want = [scores_by_loop(e, W, H) for e in np.eye(3)]  # h'_ji, the score of e_i
    my.equal(projected, np.array(want).T, ("T", "d_s"), wrong_keys(H, W))
    want = np.array(scores_by_loop(s, W, H))
    my.holds(
        np.allclose(projected @ s, want),
        "scores",
        f"expected scores {want.round(4)}",
        f"found {(projected @ s).round(4)}",
    )


@values("multiplications, counted one by one")
def multiplications(my, rng):
    kinds = [(*sizes, p) for sizes in SIZES for p in (True, False)]
    my.holds(
        any(my.mults(*s, p) != counted(*s, not p) for *s, p in kinds),
        "inverted",
        "expected the larger number for precomputed=False",
        "found the number for True with False, and that for False with True",
    )
    for precomputed in (True, False):

        def wrong(B, T_q, T_k, d_s, d_h):
            sizes = {"B": B, "T_q": T_q, "T_k": T_k, "d_s": d_s, "d_h": d_h}
            projected = "B T_k d_s d_h" if precomputed else "B T_q T_k d_s d_h"
            terms = {"the projections": projected, "the dot products": "B T_q T_k d_s"}
            dots = B * T_q * T_k * d_s
            right = counted(*sizes.values(), precomputed)
            return [
                ("one-example", "the number for one example", right // B),
                ("product", "the product of both numbers, not their sum",
                 (right - dots) * dots // B),
                ("additions", "the number with as many additions", 2 * right),
                ("additions", "the number with the additions of the projections",
                 2 * right - dots),
                *miscounts(sizes, terms),
            ]  # fmt: skip

        count = functools.partial(my.mults, precomputed=precomputed)
        want = functools.partial(counted, precomputed=precomputed)
        equal_counts(my, count, want, wrong, SIZES)


@laws("the chain of equalities, at rational numbers")
def the_chain(my, rng):
    chain = my.proof()

    def draw():
        return fractions(rng, 3), fractions(rng, 3, 5), fractions(rng, 5)

    links_that_run(my, chain, draw())
    links = [f for f, _ in chain.links]
    s, W, h = draw()
    want, found = (s @ W) @ h, links[0](s, W, h)
    my.holds(
        np.all(found == want),
        "starts-elsewhere",
        f"expected the first expression to be the general score, {want}",
        f"found {found}",
    )
    bracketed = products_with_h(links[0], s, W, h)
    my.holds(
        bracketed in (None, len(h)),
        "starts-elsewhere",
        "expected (s^T W_g) h first: one product for each entry of h",
        f"found {bracketed} products with the {len(h)} entries of h",
    )
    my.holds(
        "project_keys" in names_in(links[-1]),
        "arrives-elsewhere",
        "expected a call of project_keys in the last expression",
        "found none",
    )
    my.holds(
        len(links) > 2,
        "too-short",
        "expected three expressions or more",
        f"found {len(links)}",
    )
    check_chain(my, chain, lambda s, W, h: (s @ W) @ h, general_score, draw)
    middle = [f for f in links[1:-1] if "project_keys" not in names_in(f)]
    my.holds(
        any(products_with_h(f, s, W, h) != len(h) for f in middle),
        "no-step",
        "expected an expression between the two ends that multiplies h by W_g before s",
        "found s^T W_g as a factor of h in all of them",
    )


@laws("precomputed keys: no gain for one query, up to d_h + 1 for many")
def what_is_gained(my, rng):
    for T_q, expected in ((1, 1), (10**6, 8)):
        per_pair, before = (my.mults(1, T_q, 5, 3, 7, p) for p in (False, True))
        my.holds(
            abs(per_pair / before - expected) < 1e-3,
            "gain",
            f"expected a ratio of {expected}, for {T_q} queries and d_h = 7",
            f"found {per_pair / before:.6g}",
        )


@edges("one key, and sizes of one")
def sizes_of_one(my, rng):
    my.equal(
        my.project_keys(np.array([[2.0]]), np.array([[3.0]])), [[6.0]], ("T", "d_s")
    )
    my.equal(my.mults(1, 1, 1, 1, 1, True), 2)


def wrong_keys(H, W):
    return [
        ("inverse", "H times the pseudo-inverse of W_g", H @ np.linalg.pinv(W)),
        ("ignores-W", "the first d_s entries of each key", H[:, : len(W)]),
    ]


def general_score(s, W, h):
    return sum(s[i] * W[i, k] * h[k] for i in range(len(s)) for k in range(len(h)))


def products_with_h(link, *arguments):
    """Return how often the entries of h are factors; None if that cannot be traced.

    (s W) h multiplies each entry of h once, and s (W h) once for each row of W.
    """
    traced = in_symbols(link, arguments)
    return traced and "".join(traced[1]).count("x2[")


def names_in(function):
    """Return the names that a function uses."""
    return list(getattr(getattr(function, "__code__", None), "co_names", ()))


HINTS = {
    "project_keys": [
        "h' = W_g h for one key. H has the keys as rows, and the result as well.",
    ],
    "proof": ["Each link moves one pair of brackets, or names one product."],
    "mults": [
        "How many keys are projected, and how many pairs are scored: for one example, "
        "and for B?",
    ],
    "": [
        "Write (d_s) (d_s, d_h) (d_h) under s^T W_g h. Where can you place "
        "parentheses, and what is the size of the product inside them?",
        "h' = W_g h has d_s entries. With the keys as rows of H, entry i of row j is "
        "sum_k W_g[i, k] H[j, k], a sum over the columns of both.",
        "Multiply the keys by the transposed matrix. A projection takes d_s d_h "
        "multiplications, a dot product takes d_s. Count how often each is computed.",
    ],
    "axes": [
        "The report contains the two sizes that do not match. The rows of H have d_h "
        "entries: which axis of W_g has that size?",
    ],
    "false-link": [
        "The report names the link at which the value changes. What did you change "
        "there?",
    ],
    "chain-repeats": [
        "Two neighbours are the same expression; + 0 and * 1 are no step. What does "
        "each step change?",
    ],
    "chain": ["Return an expression that begins with Chain( and goes on with .then(."],
    "link-raises": ["Write the size of each factor of that expression beside it."],
    "inverse": [
        "A transposed matrix is not an inverse. Which of the two is in the score?",
    ],
    "starts-elsewhere": ["In the first expression the parentheses are around s^T W_g."],
    "arrives-elsewhere": ["The last expression calls project_keys."],
    "no-step": [
        "s^T (W_g h) and (s^T W_g) h are the same number. Which one is missing?",
    ],
    "inverted": ["Which of the two computes W_g h for every pair?"],
    "too-short": ["One step between the two ends moves the parentheses."],
    "widths": ["W_g multiplies the keys, and makes them as wide as the queries."],
    "one-example": ["Every example has its own keys."],
    "product": [
        "A projection comes before its dot products. Are the two counts added "
        "or multiplied?",
    ],
    "additions": ["Only multiplications count: a dot product of n entries has n."],
}
