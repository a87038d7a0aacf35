"""Check an answer to 6.3."""

import functools
import math

import numpy as np

from attention.costs.counted import OpCounter
from lessons.checks.counting import equal_counts, miscounts
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.words import self_assessed
from lessons.classroom.steps import edges, laws, numbers, shape, values

SIZES = (  # T, d_s, d_h, d_a
    (5, 3, 7, 11), (7, 11, 3, 5), (3, 5, 13, 2), (13, 2, 5, 3),
    (1, 7, 3, 5), (11, 3, 5, 7), (2, 13, 11, 3), (17, 5, 2, 3),
)  # fmt: skip
HAND = 4, 7, 5, 11  # no two mistakes give one number


def counted(T, d_s, d_h, d_a, cached, L=1, before=False):
    """Return the multiplications of L steps, counted by running them.

    before  whether the multiplications before the first step count
    """
    ops = OpCounter()
    shapes = (d_s,), (T, d_h), (d_a, d_s), (d_a, d_h), (d_a,)
    s, H, W_s, W_h, v = (ops.array(np.ones(shape)) for shape in shapes)
    keys = [W_h @ h for h in H]
    if not (cached and before):
        ops.multiplications = 0
    for _ in range(L):
        query = W_s @ s
        for j in range(T):
            v @ np.tanh(query + (keys[j] if cached else W_h @ H[j]))
    return ops.multiplications


@shape("integers")
def whole_numbers(my, rng):
    my.shape(my.mults_additive(5, 3, 7, 11, True), (), "", int)
    my.shape(my.mults_dot(5, 3), (), "", int)


@numbers("four states, by hand: 341 multiplications")
def by_hand(my, rng):
    right = {size: counted(*size, False) for size in SIZES} | {HAND: 341}
    compare_steps(my, False, lambda *size: right[size], (HAND, *SIZES))


@values("one step, counted multiplication by multiplication")
def one_step(my, rng):
    for cached in (True, False):
        compare_steps(my, cached, functools.partial(counted, cached=cached), SIZES)


def compare_steps(my, cached, want, cases):
    """Compare the multiplications of one step; name a wrong term."""

    def wrong(T, d_s, d_h, d_a):
        sizes = {"T": T, "d_s": d_s, "d_h": d_h, "d_a": d_a}
        terms = {"W_s s": "d_a d_s", "the products with v": "T d_a"}
        if not cached:
            terms["W_h h_j"] = "T d_a d_h"
        found = miscounts(sizes, terms, {"tanh": T * d_a, "the context": T * d_h})
        text = "the number with all W_h h_j computed in this step"
        anew = [("cached", text, counted(T, d_s, d_h, d_a, False))]
        return found + (anew if cached else [])

    count = functools.partial(my.mults_additive, cached=cached)
    equal_counts(my, count, want, wrong, cases)


@values("dot scores, counted")
def dot_scores(my, rng):
    def want(T, d):
        ops = OpCounter()
        s, H = ops.array(np.ones(d)), ops.array(np.ones((T, d)))
        for h in H:
            s @ h
        return ops.multiplications

    def wrong(T, d):
        text = "twice the number: the sums, or the average of the states, count as well"
        return [
            ("twice", text, 2 * T * d),
            ("sums", "the number with the sums", T * (2 * d - 1)),
            *miscounts({"T": T, "d": d}, {"s . h_j": "T d"}),
            ("other-size", "T T", T * T),
            ("other-size", "d d", d * d),
        ]

    equal_counts(my, my.mults_dot, want, wrong, ((5, 3), (7, 11), (1, 13), (17, 2)))


@values("a sentence, counted")
def a_sentence(my, rng):
    for cached in (True, False):

        def want(L, *size):
            return counted(*size, cached, L, before=True)

        def wrong(L, *size):
            names = "L", "T", "d_s", "d_h", "d_a"
            T, _, d_h, d_a = size
            terms = {"W_s s": "L d_a d_s", "the products with v": "L T d_a"}
            terms["W_h h_j"] = "T d_a d_h" if cached else "L T d_a d_h"
            once = T * d_a * d_h
            extra = {"the contexts": L * T * d_h}
            if cached:
                extra["W_h h_j in each step"] = L * once
            else:
                extra["W_h h_j before the first step"] = once
            found = [
                (tag, text, counted(*size, cached, n, before=True))
                for tag, text, n in (
                    ("one-step", "the number for one step", 1),
                    ("off-by-one", "the number for L - 1 steps", L - 1),
                    ("off-by-one", "the number for L + 1 steps", L + 1),
                )
            ]
            return found + miscounts(dict(zip(names, (L, *size))), terms, extra)

        def count(*size):
            return my.mults_sentence(*size, cached)

        equal_counts(my, count, want, wrong, ((3, 5, 3, 7, 11), (7, 3, 5, 2, 13)))


@values("values of tanh, and numbers that a step keeps, counted")
def tanh_and_memory(my, rng):
    def kept(T, d):
        """Compute the scores of a step; return the arrays that it keeps, by name."""
        s, H = np.ones(d), np.ones((T, d))
        W_s, W_h, v = np.ones((d, d)), np.ones((d, d)), np.ones(d)
        query, keys = W_s @ s, H @ W_h.T
        tanh = np.tanh(query + keys)
        return {"W_s s": query, "W_h h_j": keys, "tanh": tanh, "scores": tanh @ v}

    def of_tanh(T, d_a):
        found = miscounts({"T": T, "d_a": d_a}, {"tanh": "T d_a"}, {"W_s s": d_a})
        squares = ("other-size", "T T", T * T), ("other-size", "d_a d_a", d_a * d_a)
        return [*found, *squares]

    def of_additive(T, d):
        terms = {"W_s s": "d", "W_h h_j": "T d", "tanh": "T d", "the scores": "T"}
        extra = {"s and H": d + T * d, "the arguments of tanh": T * d}
        text = "the number without W_s s and all W_h h_j"
        found = [("no-term", text, T * d + T)]
        found += [("one-score", "the number for the dot score", T)]
        return found + miscounts({"T": T, "d": d}, terms, extra)

    def of_dot(T, d):
        extra = {"s and H": d + T * d, "the products": T * d, "the weights": T}
        found = miscounts({"T": T, "d": d}, {"the scores": "T"}, extra)
        additive = d + 2 * T * d + T
        return [("one-score", "the number for the additive score", additive), *found]

    cases = (5, 3), (7, 11), (1, 13), (3, 2)
    equal_counts(my, my.tanhs, lambda *size: kept(*size)["tanh"].size, of_tanh, cases)
    held = functools.partial(my.numbers_held, "additive")
    equal_counts(
        my, held, lambda *d: sum(a.size for a in kept(*d).values()), of_additive, cases
    )
    held = functools.partial(my.numbers_held, "dot")
    equal_counts(my, held, lambda T, d: T, of_dot, cases)


@laws("how the three grow, by doubling large sizes")
def how_they_grow(my, rng):
    def cost(score, T, d):
        if score == "dot":
            return my.mults_dot(T, d)
        return my.mults_additive(T, d, d, d, score == "cached")

    large = 10**9
    for score in ("dot", "additive", "cached"):
        a = math.log2(cost(score, 2 * large, 8) / cost(score, large, 8))
        b = math.log2(cost(score, 8, 2 * large) / cost(score, 8, large))
        found = my.growth(score)
        my.holds(
            np.array_equal(found, (round(a), round(b))),
            "growth",
            "expected the exponents (a, b) of the numbers that your own "
            f"mults_{'dot' if score == 'dot' else 'additive'} returns for large sizes",
            f"found {found}, which they do not have",
        )


@edges("with a cache: as much as dot for a large T, d^2 for a small T")
def large_and_small(my, rng):
    for T, d, want in ((10**9, 5, 1.0), (1, 10**9, 10**9)):
        ratio = my.mults_additive(T, d, d, d, True) / my.mults_dot(T, d)
        my.holds(
            abs(ratio / want - 1) < 1e-6,
            "growth",
            f"expected {want:g} times the cost of dot, at T = {T}, d = {d}",
            f"found {ratio:g}",
        )


@edges("the GPU, in your own words")
def your_own_words(my, rng):
    self_assessed(
        my,
        my.explanation(),
        "dot: all scores are one product of matrices, the operation that a GPU is "
        "built for",
        "additive: T d_a numbers for each query that stand between two steps; they "
        "pass through the memory, and each is used once",
        "tanh takes more time than a multiplication, and special units compute it",
        "Theta(T d) hides the constant, and holds for additive only with cached W_h "
        "h_j; 6.6 measures the factor on your machine",
    )


HINTS = {
    "tanhs": ["One tanh for each entry of each argument."],
    "numbers_held": [
        "Count the results of all products once each, then the values of tanh.",
    ],
    "mults_additive": [
        "Count three products one by one: W_s s, W_h h_j, and the one with v.",
    ],
    "mults_dot": ["One multiplication for each entry of each state."],
    "mults_sentence": [
        "Write down the loop over the L steps. Which products stand before it?",
    ],
    "": [
        "A matrix (m, n) times a vector takes m n multiplications: n for each entry "
        "of the result. Which of the three products of the additive score are "
        "computed once in a step, and which once for each state?",
        "For a sentence: add the work that does not depend on the step and L times "
        "the cost of a step. For the growth: only the term of a sum that grows "
        "fastest counts.",
        "W_s s takes d_a d_s multiplications, once. W_h h_j takes d_a d_h, for T "
        "states, or none in this step. The product with v takes d_a, for T states.",
    ],
    "cached": ["Which products remain in this step if all W_h h_j are already known?"],
    "widths": ["W_s has as many columns as s has entries, and W_h as many as h_j."],
    "twice": ["Count no sums, and the scores only, not the average of the states."],
    "sums": ["Count the multiplications alone."],
    "one-step": ["A sentence has L steps."],
    "one-score": ["A dot score has no tanh, and no projections."],
    "growth": [
        "Double one size in your own formulas and compute the ratio of the costs.",
    ],
}
