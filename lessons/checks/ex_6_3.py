"""Check an answer to 6.3."""

import math

import numpy as np

from attention.costs.counted import OpCounter
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.words import self_assessed
from lessons.classroom.steps import edges, laws, numbers, shape, values

SIZES = (  # T, d_s, d_h, d_a
    (5, 3, 7, 11), (7, 11, 3, 5), (3, 5, 13, 2), (13, 2, 5, 3),
    (1, 7, 3, 5), (11, 3, 5, 7), (2, 13, 11, 3), (17, 5, 2, 3),
)  # fmt: skip


def counted(T, d_s, d_h, d_a, cached, L=1, before=False, query="step"):
    """Return the multiplications of L steps, counted by running them.

    before  whether the multiplications before the first step count
    query   when W_s s is computed: once a "step", for each "key", or "never"
    """
    ops = OpCounter()
    shapes = (d_s,), (T, d_h), (d_a, d_s), (d_a, d_h), (d_a,)
    s, H, W_s, W_h, v = (ops.array(np.ones(shape)) for shape in shapes)
    keys = [W_h @ h for h in H]
    if not (cached and before):
        ops.multiplications = 0
    zero = v - v
    for _ in range(L):
        query_s = W_s @ s if query == "step" else zero
        for j in range(T):
            b = keys[j] if cached else W_h @ H[j]
            a = W_s @ s if query == "key" else query_s
            v @ np.tanh(a + b)
    return ops.multiplications


@shape("integers")
def whole_numbers(my, rng):
    my.shape(my.mults_additive(5, 3, 7, 11, True), (), "", int)
    my.shape(my.mults_dot(5, 3), (), "", int)


@numbers("four states, by hand: 341 multiplications")
def by_hand(my, rng):
    got = my.mults_additive(4, 7, 5, 11, False)  # no two mistakes give one number
    my.equal(got, 341, "", wrong_steps(4, 7, 5, 11, False))


@values("one step, counted multiplication by multiplication")
def one_step(my, rng):
    for size in SIZES:
        for cached in (True, False):
            want = counted(*size, cached)
            got = my.mults_additive(*size, cached)
            my.equal(got, want, "", wrong_steps(*size, cached))


@values("dot scores, counted")
def dot_scores(my, rng):
    for T, d in ((5, 3), (7, 11), (1, 13), (17, 2)):
        ops = OpCounter()
        s, H = ops.array(np.ones(d)), ops.array(np.ones((T, d)))
        for h in H:
            s @ h
        want = ops.multiplications
        text = "twice the number, as with all sums, or the average of the states"
        wrong = [("twice", text, 2 * want)]
        my.equal(my.mults_dot(T, d), want, "", wrong)


@values("a sentence, counted")
def a_sentence(my, rng):
    for L, size in ((3, (5, 3, 7, 11)), (7, (3, 5, 2, 13))):
        for cached in (True, False):
            want = counted(*size, cached, L, before=True)
            anew = counted(*size, False, L)
            once = size[0] * size[2] * size[3]
            one = counted(*size, cached, 1, before=True)
            wrong = [
                ("recomputed", "the number with W_h h_j in each step", anew),
                (
                    "recomputed",
                    "the number with W_h h_j in each step and once before",
                    anew + once,
                ),
                ("not-counted", "the steps alone", counted(*size, cached, L)),
                ("one-step", "the number for one step", one),
            ]
            got = my.mults_sentence(L, *size, cached)
            my.equal(got, want, "", [v for v in wrong if v[2] != want])


@values("values of tanh, and numbers that a step keeps, counted")
def tanh_and_memory(my, rng):
    for T, d in ((5, 3), (7, 11), (1, 13), (3, 2)):
        s, H = np.ones(d), np.ones((T, d))
        W_s, W_h, v = np.ones((d, d)), np.ones((d, d)), np.ones(d)
        query, keys = W_s @ s, [W_h @ h for h in H]
        values_of_tanh = [np.tanh(query + key) for key in keys]
        scores = [v @ t for t in values_of_tanh]
        evaluated = sum(t.size for t in values_of_tanh)
        wrong = [("per-state", "one for each state", T)]
        my.equal(my.tanhs(T, d), evaluated, "", [w for w in wrong if w[2] != evaluated])
        keys_held = sum(key.size for key in keys)
        want = query.size + keys_held + evaluated + len(scores)
        wrong = [
            (
                "tanh-not-held",
                "the number without the values of tanh",
                want - evaluated,
            ),
            ("projections-not-held", "that without W_h h_j", want - T * d - d),
            ("query-held-per-key", "that with W_s s for each state", want - d + T * d),
            ("inputs-held", "the number with s and H", want + d + T * d),
        ]
        found = my.numbers_held("additive", T, d)
        my.equal(found, want, "", [w for w in wrong if w[2] != want])
        wrong = [("inputs-held", "the number with s and H", T + d + T * d)]
        my.equal(my.numbers_held("dot", T, d), T, "", wrong)


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
            f"expected ({a:.0f}, {b:.0f}): twice T costs {2**a:.3g} times as much, "
            f"twice d costs {2**b:.3g} times as much",
            f"found {found}",
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


def wrong_steps(T, d_s, d_h, d_a, cached):
    """Return wrong numbers of multiplications: (tag, what, number)."""
    size = T, d_s, d_h, d_a
    right = counted(*size, cached)
    other = counted(*size, not cached)
    keys = "computed in this step" if cached else "cached"
    per_key, never = (counted(*size, cached, query=q) for q in ("key", "never"))
    wrong = [
        ("cached", f"the number with all W_h h_j {keys}", other),
        ("query-per-key", "the number with W_s s for each state", per_key),
        ("no-query", "the number without W_s s", never),
        ("no-v", "the number without the products with v", right - T * d_a),
        ("v-once", "the number with one product with v", right - T * d_a + d_a),
    ]
    if not cached:
        one = right - T * d_a * d_h + d_a * d_h
        wrong.append(("one-key", "the number with W_h h_j for one state", one))
    for a, b, widths in (
        ("d_s", "d_h", (d_h, d_h, d_a)),
        ("d_h", "d_s", (d_s, d_s, d_a)),
        ("d_h", "d_a", (d_s, d_a, d_a)),
    ):
        swapped = counted(T, *widths, cached)
        wrong.append(("widths", f"the number with {b} in the place of {a}", swapped))
    return [v for v in wrong if v[2] != right]


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
        "What is computed once for the sentence, and what in each of its L steps?",
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
    "query-per-key": ["s is the same for all T states of a step."],
    "no-query": ["The state of the decoder is new in each step, and W_s s with it."],
    "no-v": ["The product with v is computed for each state, after the tanh."],
    "v-once": ["Each state has its own score, and its own product with v."],
    "one-key": ["W_h h_j is another vector for each state."],
    "widths": ["W_s has as many columns as s has entries, and W_h as many as h_j."],
    "twice": ["Count no sums, and the scores only, not the average of the states."],
    "recomputed": ["What is cached is computed once for the whole sentence."],
    "not-counted": [
        "The work before the first step counts as well, once for a sentence.",
    ],
    "one-step": ["A sentence has L steps."],
    "per-state": ["tanh is applied to a vector. How many entries has it?"],
    "tanh-not-held": ["The backward of tanh needs its values."],
    "projections-not-held": ["W_h h_j are results of products, for each state."],
    "query-held-per-key": ["W_s s is one vector for all T states."],
    "inputs-held": ["s and H exist before the step. Do not count them."],
    "growth": [
        "Double one size in your own formulas and compute the ratio of the costs.",
    ],
}
