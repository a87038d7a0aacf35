"""Claims of chapter 38, "Attention Variants", each with its measurement."""

from dataclasses import replace
from importlib import import_module

import numpy as np

import minigrad as mg
from attention import (
    concat,
    coverage_loss,
    dot,
    general,
    masks,
    scaled_dot_product_attention,
)
from attention.app.experiments import fair
from attention.app.experiments.verdict import above, below, between, share
from attention.costs import cost_of
from attention.seq2seq.reverser import Reverser
from lessons.classroom.records import record
from minigrad import draw

from .chapter_6 import entropy
from .claims import (
    YES,
    claim,
    computed,
    count,
    drawn,
    fact,
    printed,
    seeds,
    shares,
    timed,
)

drawings = import_module("lessons.book.04_scores.drawn")
KINDS = ("additive", "dot", "general", "scaled")

# 38.1 and 38.2, the scores

S, H = np.array([[1.0, -0.5, 0.3, 0.8]]), np.array([[0.6, 0.2, -0.4, 1.0]])
WORKED = {
    "dot": ("1.18", (S @ H.T).item()),
    "scaled": ("0.59", (S @ H.T).item() / 2),
    "general": ("0.3471", general(S, H, drawings.W_g).item()),
    "additive": ("-0.6569", concat(S, H, drawings.W_a, drawings.v_a).item()),
}
for name, (said, found) in WORKED.items():
    register = claim("38.1", f"the {name} score is {said}", printed(said), "04")
    register(lambda x=found: computed(x))


@claim(
    "38.1",
    "general is a dot product after a rotation (smallest singular value of "
    "its matrix: 1.00)",
    printed("1.00"),
    "04",
    "after a *rotation*",
)
def smallest_stretch():
    return computed(np.linalg.svd(drawings.W_g)[1][-1])


@claim(
    "38.1",
    "of all scores only additive need not grow with the dot product",
    YES,
    "04",
    "need not grow",
)
def falling_general():
    a, b = (general(S, x * S, -np.eye(4)).item() for x in (1, 2))
    return fact(b > a, "with the matrix $-I$ general falls")


@claim(
    "ex. 38.1",
    "the projected key is $`W_g^\\top h`$",
    YES,
    "04",
    "That product does not exist",
)
def projected_key():
    W, s, h = (np.random.default_rng(0).normal(size=x) for x in ((4, 7), 4, 7))
    fits = W.T.shape[1] == h.size
    right = np.isclose(s @ (W @ h), (s @ W) @ h)
    return fact(fits or not right, "it is $W_g h$, for widths 4 and 7")


@claim(
    "38.2",
    "50 by 50 words are 2500 evaluations of a network (rows of tanhs)",
    printed("2500"),
    "04",
    "2,500",
)
def rows_of_tanhs():
    additive, dot = (
        cost_of(name, L=50, S=50, E=64).exponentials for name in ("additive", "dot")
    )
    rows = (additive - dot) // 64  # beside the exponentials of the softmax
    return computed(rows, f"{rows:,}, which share 100 products with a matrix")


@claim(
    "38.2",
    "dot is dramatically faster than additive in a whole pass (times as "
    "long, 1000 keys: above 10)",
    above(10),
    "04",
)
def time_with_many_keys():
    return timed(
        [
            r["whole"]["additive"][-1] / r["whole"]["dot"][-1]
            for r in record("scores")["runs"]
        ]
    )


# 38.3 and 38.5, the square root


@claim(
    "38.3",
    "the standard deviation of a score is the root of d (ratio, d = 64: 1 "
    "within a hundredth)",
    between(0.99, 1.01),
    "05",
)
def deviation_of_a_score():
    a, b = np.random.default_rng(1).normal(size=(2, 100, 2000, 64))
    return drawn((a * b).sum(-1).std(-1, ddof=1) / 8, "100 times 2000 scores")


PRINTED_DEVIATIONS = {4: 1.98, 16: 4.05, 64: 7.87, 256: 16.0, 1024: 31.99}


@claim(
    "38.3",
    "the printed deviations agree within a percent (the largest error, in percent)",
    below(1),
    "05",
    "within a percent",
)
def largest_error():
    off = [abs(x / d**0.5 - 1) for d, x in PRINTED_DEVIATIONS.items()]
    return computed(100 * max(off))


@claim("38.3", "the slope of the sigmoid is 1/4 at most", printed("0.25"), "05")
def steepest_sigmoid():
    return computed(0.5 * (1 - 0.5))


UNIFORM, TIE = np.eye(16) / 16 - 1 / 256, np.diag([0.5, 0.5]) - 0.25  # Jacobians


@claim(
    "38.3",
    "equal weights, T = 16: every slope is (1/T)(1 - 1/T) = 0.0586 in size "
    "(slope for the score of another key)",
    printed("0.0586"),
    "05",
)
def slope_of_another_key():
    return computed(abs(UNIFORM[0, 1]))


@claim(
    "38.5",
    "the Jacobian is largest for equal weights (Frobenius norm, over that "
    "of two tied keys)",
    above(1),
    "05",
    "when the distribution is uniform",
)
def size_of_the_uniform_jacobian():
    return computed(np.linalg.norm(UNIFORM) / np.linalg.norm(TIE))


BASE, SCALES = np.linspace(-1, 1, 16), np.linspace(0.1, 20, 200)


def slope(scale):
    p = mg.softmax(scale * BASE).data
    return np.linalg.norm(p[-1] * (np.eye(16)[-1] - p))  # of the largest weight


@claim(
    "38.3",
    "the slope peaks near unit variance (the scale at which it peaks: between half "
    "and twice 1.63, the scale of unit variance)",
    between(0.8, 3.3),
    "05",
    "peaks near unit-variance",
)
def peak():
    return computed(SCALES[np.argmax([slope(x) for x in SCALES])])


@claim(
    "38.3",
    "scale 1 is unit variance (scale of unit variance)",
    printed("1.0"),
    "05",
    "what scaling restores",
)
def unit_variance():
    return computed(1 / BASE.std())


@claim(
    "38.3",
    "at scale 10 the slope is near zero (below a tenth of the peak)",
    below(0.029),
    "05",
    "near-zero by score scale",
)
def slope_at_ten():
    return computed(slope(10))


@claim(
    "38.3",
    "scaled curves overlap (largest difference of two single draws, T = 10: "
    "below 0.05)",
    below(0.05),
    "05",
    "curves overlap",
)
def difference_of_draws():
    e = np.random.default_rng(2).normal(size=(500, 2, 10))
    p = mg.softmax(e).data
    return drawn(np.abs(p[:, 0] - p[:, 1]).max(-1))


def entropies(T, d, scaled, n=4000, seed=3):
    rng = np.random.default_rng(seed)
    e = rng.normal(size=(n, T)) * np.sqrt(rng.chisquare(d, (n, 1)))
    return entropy(mg.softmax(e / d**0.5 if scaled else e).data)


@claim(
    "38.5",
    "unscaled entropy is about 0 at d = 256 (below 0.05 nats)",
    below(0.05),
    "05",
    "unscaled entropy is about 0",
)
def entropy_at_256():
    return drawn(entropies(16, 256, False))


@claim(
    "38.5",
    "scaled entropy hugs the line of equal weights (ln 16 minus entropy: "
    "below 0.05 nats)",
    below(0.05),
    "05",
    "hugs the uniform line",
)
def gap_to_equal_weights():
    return drawn(np.log(16) - entropies(16, 256, True))


def half_width(T, seed):
    """The width d at which half of ln T is left, by interpolation."""
    widths = 2.0 ** np.arange(0, 6)
    left = [entropies(T, d, False, 1000, seed).mean() for d in widths]
    return 2 ** np.interp(-np.log(T) / 2, -np.array(left), np.log2(widths))


@claim(
    "ex. 38.3",
    "64 keys crash faster than 16: their entropy falls at smaller widths (width at "
    "which half of ln T is left, over that of 16 keys)",
    below(1),
    "05",
    "with 64 keys the entropy crashes faster",
)
def later_crash():
    ratios = [half_width(64, seed) / half_width(16, seed) for seed in range(20)]
    return drawn(ratios, "20 times 1000 queries")


@claim(
    "ex. 38.2",
    "the variance with means (widths 32, variances 1, means 1 and 2: "
    "measured over formula, 1 within a twentieth)",
    between(0.95, 1.05),
    "05",
)
def variance_with_means():
    a, b = np.random.default_rng(4).normal(size=(2, 100, 1000, 32))
    e = ((a + 1) * (b + 2)).sum(-1)  # (100, 1000)
    return drawn(e.var(-1, ddof=1) / (32 * (1 + 4 + 1)), "100 times 1000 scores")


# 38.6, the reversal experiment

TABLE = {  # printed, at 3, 5, 7 and 10 letters
    "additive": (0.9956, 0.9893, 1.0, 0.946),
    "dot": (0.4133, 0.8213, 0.8943, 0.8807),
    "general": (0.5156, 0.824, 0.8829, 0.8947),
    "scaled": (0.3911, 0.1653, 0.3038, 0.12),
}
LOSS = {"additive": 0.0016, "dot": 0.0827, "general": 0.0925, "scaled": 0.0221}
GOOD = 0.75  # of the letters: a limit that was chosen after seeing the numbers


@claim(
    "38.6",
    "the text: the lowest share of additive is 0.99 (in its own table)",
    printed("0.99"),
    "07",
    '"across all input lengths"',
)
def least_of_additive():
    return computed(min(TABLE["additive"]))


@claim(
    "38.6",
    "the text: the lowest share of general is 0.41 (in its own table)",
    printed("0.41"),
    "07",
    '["dot and general"]',
)
def least_of_general():
    return computed(min(TABLE["general"]))


@claim(
    "38.6",
    "the text: scaled degrades with length (its own table)",
    YES,
    "07",
    'caled "degrades with input length"',
)
def fall_of_scaled():
    falls = bool(np.all(np.diff(TABLE["scaled"]) < 0))
    return fact(falls, "it goes down, up and down")


@claim(
    "38.6",
    "the text: only scaled trains badly (rank of its loss among the four, in its "
    "own table; 4 is the largest)",
    printed("4"),
    "07",
)
def place_of_scaled():
    return computed(1 + sorted(LOSS, key=LOSS.get).index("scaled"))


def accuracies(setup, kind):
    runs = record("reversal")["runs"]
    mine = [r["accuracy"] for r in runs if (r["setup"], r["kind"]) == (setup, kind)]
    return np.array(mine)  # (seeds, lengths 3, 5, 7, 8, 10)


def of_many_seeds():
    """Return the shares of right letters of additive (seeds, lengths)."""
    return np.array(record("reversal_seeds")["accuracy"])


@claim(
    "38.6",
    "additive reverses strings of all four lengths (share of seeds with "
    "three quarters of the letters or more at each of 3, 5, 7, 10: nearly all, 0.9)",
    above(0.9),
    "07",
)
def good_seeds():
    good = (of_many_seeds()[:, (0, 1, 2, 4)] >= GOOD).all(1)
    return share(good.sum(), len(good))


@claim(
    "38.6",
    "additive comes back beyond the trained length (share of seeds with three "
    "quarters of the letters or more, at 10 letters alone)",
    above(0.9),
    "07",
)
def good_at_ten():
    good = of_many_seeds()[:, 4] >= GOOD  # column 4: ten letters
    return share(good.sum(), len(good))


for kind in KINDS[1:]:
    register = claim(
        "38.6",
        f"{kind} comes back (right letters, mean of the four lengths, minus "
        "the printed mean: within 0.05)",
        between(-0.05, 0.05),
        "07",
    )
    register(
        lambda kind=kind: seeds(
            accuracies("book", kind)[:, (0, 1, 2, 4)].mean(1) - np.mean(TABLE[kind])
        )
    )


@claim(
    "38.6",
    "scaled fails because scaling makes the softmax too flat (then it fails with "
    "padding as in training as well: right letters at 5, padded to 8: below 0.5)",
    below(0.5),
    "07",
    "softmax too flat",
)
def scaled_with_padding():
    runs = record("reversal")["runs"]
    mine = [r for r in runs if (r["setup"], r["kind"]) == ("book", "scaled")]
    return shares([r["widths"]["5"][3] for r in mine])


def losses(setup, kind):
    runs = record("reversal")["runs"]
    return np.array(
        [r["loss"] for r in runs if (r["setup"], r["kind"]) == (setup, kind)]
    )


for setup, words in (("book", "padding attended to"), ("masked", "padding masked")):
    register = claim(
        "38.6",
        f"dot wins the race of 2500 steps with the text's rate ({words}: its last "
        "training loss, minus that of scaled)",
        below(0),
        "07",
        "wins the race" if setup == "book" else "",
    )
    register(lambda setup=setup: seeds(losses(setup, "dot") - losses(setup, "scaled")))


for kind in KINDS:
    register = claim(
        "38.6",
        f"the ranking belongs to the scores: {kind} is still imperfect with "
        "padding masked (least of 3, 5, 7, 8 letters: below 0.99)",
        below(0.99),
        "07",
    )
    register(lambda kind=kind: shares(accuracies("masked", kind)[:, :4].min(1)))


@claim(
    "38.6",
    "unscaled dot does not train at all (width 256: share of seeds with a last loss of "
    "0.9 of the first or more; nearly all, 0.9)",
    above(0.9),
    "07",
    "would not train at all",
)
def training_at_256():
    kept = record("ex_38_4")["result"]
    left = fair.figures(kept, "dot", lambda run: run["loss"] / run["watched"]["loss"][0])
    steps = fair.steps_without_plateau(kept, "dot")
    return replace(count(left, above(0.9)), steps=steps)


@claim(
    "38.6",
    "there is no reason ever to use unscaled (10 letters, padding masked: share of "
    "seeds in which dot has more right letters than scaled, below 0.5)",
    below(0.5),
    "07",
    "no reason ever",
)
def reason_for_unscaled():
    dot, scaled = (accuracies("masked", kind)[:, 4] for kind in ("dot", "scaled"))
    return share((dot > scaled).sum(), len(dot))


for name, total in (("additive", "63773"), ("dot", "55517"), ("general", "59613")):
    register = claim("38.6", f"{name} has {total} parameters", printed(total), "04")
    register(lambda name=name: computed(Reverser(name).num_parameters()))


@claim(
    "38.6",
    "the models that were run have width 64 (parameters of dot in the code; 55517 at "
    "width 64)",
    printed("55517"),
    "04",
    "have width 64",
)
def parameters_as_run():
    return computed(Reverser("dot", hidden=96).num_parameters())


@claim(
    "38.6",
    "the table of costs counts floating-point operations (of the dot product, d = "
    "64, over the printed d)",
    printed("1.00"),
    "04",
    "these are FLOPs",
)
def operations():
    return computed((64 + 63) / 64)


@claim(
    "38.6",
    "dot needs less memory than general (in a forward pass: numbers held for one query "
    "and 50 keys, general minus dot, above 1)",
    above(1),
    "04",
    "O(BT + Bd)",
)
def numbers_held():
    general, dot = (
        cost_of(name, L=1, S=50, E=64).extra_bytes // 4 for name in ("general", "dot")
    )
    return computed(general - dot)


@claim(
    "38.6",
    "dot needs less memory than general (in training: the same, kept for the backward)",
    above(1),
    "04",
)
def numbers_kept():
    q, K, W = (
        mg.Tensor(np.ones(shape, np.float32), requires_grad=True)
        for shape in ((1, 64), (50, 64), (64, 64))
    )
    scores = general(q, K, W), dot(q, K)
    more, less = (draw.saved_bytes(mg.softmax(e) @ K).total // 4 for e in scores)
    return computed(more - less)


@claim("38.6", "only additive can compare vectors of two widths", YES, "04")
def two_widths():
    s, h, W = (
        np.random.default_rng(5).normal(size=x) for x in ((1, 4), (5, 7), (4, 7))
    )
    runs = general(s, h, W).shape == (1, 5)
    return fact(not runs, "general does, too")


# 38.7, windows


@claim(
    "38.7",
    "local-m predicts its centre (the textbook's code, step 15: 18, from the ratio "
    "of the lengths)",
    printed("18"),
    "08",
    "local-m predicts a position",
)
def centre_of_local_m():
    return computed(15, "Luong's local-m: $p_t = t$")


@claim(
    "38.7",
    "local-p is a mask (what the outer key of a window gets, over the "
    "centre, D = 2: 1)",
    printed("1.00"),
    "08",
    "special cases of attention",
)
def outer_key():
    return computed(np.exp(-(2**2) / (2 * (2 / 2) ** 2)))


@claim(
    "38.7",
    "a mask of $i \\le j$ is causal, with i for the target",
    YES,
    "10",
    r"constraint $i \le j$",
)
def causal_triangle():
    printed_mask = np.tri(5).T > 0
    same = np.array_equal(printed_mask, masks.causal().dense(1, 1, 5, 5)[0, 0])
    return fact(same, "it is $j \\le i$; the other one shows the answer")


# 38.8 and 38.9


@claim("38.8", "the coverage loss of an exact repetition is 1", printed("1"), "08")
def loss_of_a_repetition():
    a = np.array([[[0.8, 0.2, 0.0]]])
    return computed(coverage_loss(a, a).item())


@claim("38.9", "the matrix form is the loop form", YES, "10")
def matrix_form():
    Q, K, V = np.random.default_rng(6).normal(size=(3, 5, 8))
    loop = [mg.softmax(K @ q / 8**0.5).data @ V for q in Q]
    same = np.allclose(scaled_dot_product_attention(Q, K, V).data, loop)
    return fact(same, "equal to the last digits")


@claim(
    "38.9",
    "Q, K and V are there in the fast weights of 1991",
    YES,
    "12",
    "introduced in 1991",
)
def fast_weights():
    q, k, v = np.random.default_rng(7).normal(size=(3, 20, 4))
    W, o = np.zeros((4, 4)), []
    for t in range(20):
        W += np.outer(v[t], k[t])
        o.append(W @ q[t])
    same = np.allclose(o, np.tril(q @ k.T) @ v)
    return fact(same, "as causal attention without softmax and division")
