"""Check an answer to E.9."""

import math

import numpy as np

from lessons.checks.measure import exact_gradients, has_all_digits
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import shape_all
from lessons.classroom.steps import edges, gradients, numbers, shape, values

T, W, S, D = 3, 5, 17, 3

# THE EXERCISE IN LOOPS


def gaussian(align, position, p, D):
    """a_ts = align_ts exp(-(s - p_t)^2 / (2 sigma^2)), sigma = D / 2"""
    sigma, bell = D / 2, np.zeros(align.shape)
    for t, n in np.ndindex(*align.shape):
        s, centre = position[t, n], p[t]
        bell[t, n] = math.exp(-((s - centre) ** 2) / (2 * sigma**2))
    a = align * bell

    def backward(g):
        d_align, d_p = np.zeros(align.shape), np.zeros(len(p))
        for t, n in np.ndindex(*align.shape):
            distance = position[t, n] - p[t]
            d_align[t, n] = g[t, n] * bell[t, n]
            d_p[t] += g[t, n] * a[t, n] * distance / (D / 2) ** 2
        return d_align, d_p

    return a, backward


def centre(q, W, v, S):
    """p_t = S sigmoid(z_t), z_t = v . tanh(W q_t)"""
    t, p = np.zeros((len(q), len(v))), np.zeros(len(q))
    for n, row in enumerate(q):
        for i, line in enumerate(W):
            t[n, i] = math.tanh(sum(w * x for w, x in zip(line, row)))
        z = sum(a * b for a, b in zip(t[n], v))
        p[n] = S / (1 + math.exp(-z))

    def backward(g):
        dq, dW, dv = np.zeros(q.shape), np.zeros(W.shape), np.zeros(len(v))
        for n, i in np.ndindex(*t.shape):
            dz = g[n] * p[n] * (1 - p[n] / S)
            inside = dz * v[i] * (1 - t[n, i] ** 2)
            dq[n] += inside * W[i]
            dW[i] += inside * q[n]
            dv[i] += dz * t[n, i]
        return dq, dW, dv

    return p, backward


def pull(g, align, H, position, p, D):
    """dL/da_ts = g_t . h_s, and from there dL/dp_t"""
    d_a = np.zeros(align.shape)
    for t, n in np.ndindex(*align.shape):
        s = position[t, n]
        d_a[t, n] = sum(x * y for x, y in zip(g[t], H[s]))
    return gaussian(align, position, p, D)[1](d_a)[1]


# THE CHECK


def draw(rng, T=T):
    """Return align (T, W), position (T, W) and p (T,): windows of five keys at p."""
    p = rng.uniform(4, 12, T)
    first = np.floor(p).astype(int) - 2
    return rng.random((T, W)), first[:, None] + np.arange(W), p


def parts(rng, d=7, k=11, T=T):
    return rng.normal(size=(T, d)), rng.normal(size=(k, d)) / 3, rng.normal(size=k)


@shape("weights for each window, a centre for each query")
def for_each(my, rng):
    align, position, p = draw(rng)
    a, backward = my.gaussian(align, position, p, D)
    my.shape(a, (T, W), "Tn")
    shapes, axes = {"d_align": (T, W), "d_p": (T,)}, {"d_align": "Tn", "d_p": "T"}
    shape_all(my, backward(rng.normal(size=(T, W))), shapes, axes)
    my.shape(my.centre(*parts(rng), S)[0], (T,), "T")


@numbers("a window of 1, 2, 3 around 2, with D = 2")
def around_two(my, rng):
    """With sigma = 1 the Gaussian is e^-1/2, 1, e^-1/2."""
    align, position = np.ones((1, 3)), np.array([[1, 2, 3]])
    a, backward = my.gaussian(align, position, np.array([2.0]), 2)
    side = math.exp(-1 / 2)
    my.equal(a, [[side, 1.0, side]], "Tn")


@values("weights and centres, against loops")
def against_loops(my, rng):
    arrays = draw(rng)
    my.equal(my.gaussian(*arrays, D)[0], gaussian(*arrays, D)[0], "Tn")
    arrays = parts(rng)
    my.equal(my.centre(*arrays, S)[0], centre(*arrays, S)[0], "T")


@gradients("of the Gaussian, with D = 3 and D = 5")
def of_the_bell(my, rng):
    for D, rows in ((3, T), (5, T), (4, W)):  # the last with square arrays
        align, position, p = draw(rng, rows)

        def mine(align, p):
            return my.gaussian(align, position, p, D)

        def right(align, p):
            return gaussian(align, position, p, D)

        exact_gradients(my, mine, right, [align, p], rng)


@gradients("of the centre, among 17 keys and among 29")
def of_the_centre(my, rng):
    for S, *sizes in ((17,), (29,), (3, 3, 3)):

        def mine(q, W, v):
            return my.centre(q, W, v, S)

        def right(q, W, v):
            return centre(q, W, v, S)

        exact_gradients(my, mine, right, parts(rng, *sizes), rng)


@gradients("of a context, for the centre")
def the_pull(my, rng):
    for rows, d, D in ((T, 7, 3), (W, W, 4)):  # also with square arrays
        align, position, p = draw(rng, rows)
        H, g = rng.normal(size=(S, d)), rng.normal(size=(rows, d))
        arguments = g, align, H, position, p, D
        found, want = my.pull(*arguments), pull(*arguments)
        my.equal(found, want, "T", rtol=1e-7)
        has_all_digits(my, found, want, "dL/dp")
    align, position, p = draw(rng)
    # with g = -1 for one key, more weight on it lowers L, so p moves there
    for place, side in ((0, "left"), (W - 1, "right")):
        g = np.zeros((T, W))
        g[:, place] = -1.0
        d_p = np.asarray(my.gaussian(align, position, p, D)[1](g)[1])
        away = -d_p * (position[:, place] - p)
        my.holds(
            (away > 0).all(),
            "scale:-1",
            f"expected -dL/dp to point to the key on the {side}, which lowers L",
            f"found dL/dp = {', '.join(f'{x:.3g}' for x in d_p)}",
        )


@edges("a key at the centre, and a key far from it")
def at_the_centre(my, rng):
    align, position = np.ones((2, 1)), np.array([[2], [40]])
    p = np.array([2.0, 2.0])
    a, backward = my.gaussian(align, position, p, 2)
    my.equal(a[0], [1.0], "w")
    d_align, d_p = backward(np.ones((2, 1)))
    my.holds(
        d_p[0] == 0 and abs(d_p[1]) < 1e-200,
        "no-distance",
        "expected the gradient 0 from a key at the centre and from one 38 away",
        f"found {d_p[0]:.3g} and {d_p[1]:.3g}",
    )
    p = my.centre(np.zeros((1, 7)), np.ones((5, 7)), np.ones(5), S)[0]
    my.equal(p, [S / 2], "T")


BELL = "bell[t, n] = math.exp(-((s - centre) ** 2) / (2 * sigma**2))"
D_P = "d_p[t] += g[t, n] * a[t, n] * distance / (D / 2) ** 2"
D_ALIGN = "d_align[t, n] = g[t, n] * bell[t, n]"
CENTRE = "p[n] = S / (1 + math.exp(-z))"
D_Z = "dz = g[n] * p[n] * (1 - p[n] / S)"
INSIDE = "inside = dz * v[i] * (1 - t[n, i] ** 2)"
D_V = "dv[i] += dz * t[n, i]"
D_A = "d_a[t, n] = sum(x * y for x, y in zip(g[t], H[s]))"
SIGMA = "sigma is half of D. How often is it squared and doubled?"
SLOPE = "sigmoid and tanh each have a derivative, which is a factor of the gradient."
BY_PLACE = "Column 0 of a window is the key position[t, 0], not the key 0."
DISTANCE = "How does the Gaussian change with p at the key s = p, and far from it?"
LENGTH = "Is p a place among the keys, or a number between 0 and 1?"
FACTOR = "a = align times the Gaussian contains each of the two once."
FORGOTTEN = "z = v . tanh(W q): what is dz / d tanh?"
DERIVATIVE = "Write the derivative of each function beside it, with its own letter."

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("sigma", "the Gaussian with sigma = D", SIGMA, "sigma, bell = D / 2,",
     "sigma, bell = D,"),
    ("sigma", "the Gaussian with sigma = D / 4", SIGMA, "sigma, bell = D / 2,",
     "sigma, bell = D / 4,"),
    ("sigma", "the Gaussian with sigma = D // 2", SIGMA, "sigma, bell = D / 2,",
     "sigma, bell = D // 2,"),
    ("sigma", "the Gaussian with sigma = sqrt(D)", SIGMA, "sigma, bell = D / 2,",
     "sigma, bell = D**0.5,"),
    ("sigma", "exp(-2 (s - p)^2 / D)", SIGMA, BELL,
     BELL.replace("(2 * sigma**2)", "D * 2")),
    ("sigma", "exp(-(s - p)^2 / (2 sigma))", SIGMA, BELL, BELL.replace("**2))", "))")),
    ("sigma", "exp(-(s - p)^2 / sigma^2)", SIGMA, BELL, BELL.replace("2 * ", "")),
    ("sign", "exp(+(s - p)^2 / (2 sigma^2))", "Where is a Gaussian largest?", BELL,
     BELL.replace("exp(-", "exp(")),
    ("not-squared", "exp(-2 |s - p| / D)", "Which power of s - p is in a Gaussian?",
     BELL, "bell[t, n] = math.exp(-2 * abs(s - centre) / D)"),
    ("no-exponential", "1 - (s - p)^2 / (2 sigma^2), times align",
     "A Gaussian is an exponential.", BELL,
     "bell[t, n] = 1 - (s - centre) ** 2 / (2 * sigma**2)"),
    ("rounded", "the Gaussian with the centre rounded",
     "The centre lies between two keys in general.", "p[t]\n        bell",
     "round(p[t])\n        bell"),
    ("rounded", "the Gaussian with the centre rounded down",
     "The centre lies between two keys in general.", "p[t]\n        bell",
     "math.floor(p[t])\n        bell"),
    ("keys-by-place", "the Gaussian of the places 0, 1, 2 in the window", BY_PLACE,
     "s, centre = position[t, n],", "s, centre = n,"),
    ("plus", "align + the Gaussian, not times",
     "The Gaussian multiplies the weights of the window.", "a = align * bell",
     "a = align + bell"),
    ("bell-alone", "the Gaussian alone, without align",
     "The Gaussian multiplies the weights of the window.", "a = align * bell",
     "a = bell"),
    ("renormalised", "the weights, divided by their sum",
     "The weights of local-p sum to less than 1.", "a = align * bell",
     "a = align * bell / (align * bell).sum(1, keepdims=True)"),
    ("own-weight", "g a, the weight instead of the Gaussian",
     "a = align times the Gaussian: what is da / d align?", D_ALIGN,
     "d_align[t, n] = g[t, n] * a[t, n]"),
    ("own-weight", "g align, with align instead of the Gaussian",
     "a = align times the Gaussian: what is da / d align?", D_ALIGN,
     "d_align[t, n] = g[t, n] * align[t, n]"),
    ("ignores-upstream", "the gradient without g", "", D_ALIGN,
     "d_align[t, n] = bell[t, n]"),
    ("passes-through", "g itself", "a = align times the Gaussian.", D_ALIGN,
     "d_align[t, n] = g[t, n]"),
    ("no-variance", "sum g a (s - p), without 1 / sigma^2",
     "The derivative of -(s - p)^2 / (2 sigma^2) in p is not s - p itself.", D_P,
     "d_p[t] += g[t, n] * a[t, n] * distance"),
    ("sigma", "sum g a (s - p) / sigma", SIGMA, D_P, D_P.replace(" ** 2", "")),
    ("sigma", "sum g a (s - p) / D^2", SIGMA, D_P, D_P.replace("(D / 2)", "D")),
    ("sigma", "sum g a (s - p) / (2 sigma^2)", SIGMA, D_P, D_P + " / 2"),
    ("sigma", "the gradient with sigma = 1.5, whatever D is", SIGMA, D_P,
     D_P.replace("(D / 2)", "1.5")),
    ("scale:-1", "the gradient with p - s for s - p",
     "To which side does more weight on a key pull the centre?", D_P, "-".join(
         ["d_p[t] ", D_P.partition("+")[2]])),
    ("bell-alone", "the gradient of the Gaussian alone, without align",
     "a is align times the Gaussian. Which factor multiplies the derivative of the "
     "Gaussian?", D_P, D_P.replace("a[t, n]", "bell[t, n]")),
    ("no-distance", "sum g a", DISTANCE, D_P, "d_p[t] += g[t, n] * a[t, n]"),
    ("no-distance", "sum g a / sigma^2", DISTANCE, D_P, D_P.replace(" * distance", "")),
    ("no-distance", "sum g a |s - p| / sigma^2", DISTANCE, D_P,
     D_P.replace("distance", "abs(distance)")),
    ("unbroadcast", "the term of the first key of each window",
     "All keys of a window use one p_t.", D_P, D_P + " * (n == 0)"),
    ("mean", "the mean over the window, not the sum",
     "How many keys pull at one centre? Is that a sum or a mean?", D_P, D_P + " / align.shape[1]"),
    ("ignores-upstream", "the gradient without g", "", D_P,
     D_P.replace("g[t, n] * ", "")),
    ("wrong-derivative", "sum g a (s - p)^2 / sigma^2", DERIVATIVE, D_P,
     D_P.replace("distance", "distance**2")),
    ("wrong-factor", "the gradient with align a second time in each term", FACTOR, D_P,
     D_P + " * align[t, n]"),
    ("wrong-factor", "the gradient with the Gaussian a second time in each term",
     FACTOR, D_P, D_P + " * bell[t, n]"),
    ("wrong-factor", "the gradient with a a second time in each term", FACTOR, D_P,
     D_P + " * a[t, n]"),
    ("no-length", "the sigmoid itself, between 0 and 1", LENGTH, CENTRE,
     "p[n] = 1 / (1 + math.exp(-z))"),
    ("no-length", "sigmoid(S v . tanh(W q)), with S inside", LENGTH, CENTRE,
     "p[n] = 1 / (1 + math.exp(-S * z))"),
    ("last-key", "(S - 1) sigmoid(…), with S - 1 for S",
     "The sigmoid is between 0 and 1. Which number is its multiple?", CENTRE,
     "p[n] = (S - 1) / (1 + math.exp(-z))"),
    ("sign", "S sigmoid(-v . tanh(W q))", "Where is a sigmoid near 1?", CENTRE,
     "p[n] = S / (1 + math.exp(z))"),
    ("no-sigmoid", "S tanh(v . tanh(W q))",
     "A tanh is between -1 and 1. Where may the centre be?", CENTRE,
     "p[n] = S * math.tanh(z)"),
    ("no-tanh", "S sigmoid(v . W q), without tanh",
     "p = S sigmoid(v . tanh(W q)) has two functions, one inside the other.",
     "t[n, i] = math.tanh(", "t[n, i] = float("),
    ("v-forgotten", "S sigmoid(sum tanh(W q)), without v",
     FORGOTTEN, "sum(a * b for a, b in zip(t[n], v))",
     "sum(a for a, b in zip(t[n], v))"),
    ("no-length", "the gradient without the factor S", LENGTH, D_Z,
     "dz = g[n] * p[n] / S * (1 - p[n] / S)"),
    ("no-slope", "the gradient without the derivative of the sigmoid", SLOPE, D_Z,
     "dz = g[n] * S"),
    ("no-slope", "the gradient without that derivative and without S", SLOPE, D_Z,
     "dz = g[n]"),
    ("wrong-derivative", "the gradient with g p (1 - p), where p is not between 0 and 1",
     DERIVATIVE, D_Z, "dz = g[n] * p[n] * (1 - p[n])"),
    ("wrong-derivative", "the gradient with g p (S - p)", DERIVATIVE, D_Z,
     "dz = g[n] * p[n] * (S - p[n])"),
    ("wrong-derivative", "the gradient with g p, without 1 - p / S", DERIVATIVE, D_Z,
     "dz = g[n] * p[n]"),
    ("wrong-derivative", "the gradient with g (1 - p / S), without p", DERIVATIVE, D_Z,
     "dz = g[n] * (1 - p[n] / S)"),
    ("ignores-upstream", "the gradient without g", "", D_Z,
     "dz = p[n] * (1 - p[n] / S)"),
    ("no-slope", "the gradient without the derivative of tanh", SLOPE, INSIDE,
     "inside = dz * v[i]"),
    ("wrong-derivative", "the gradient with 1 - t, where tanh has the derivative 1 - t^2",
     DERIVATIVE, INSIDE, "inside = dz * v[i] * (1 - t[n, i])"),
    ("wrong-derivative", "the gradient with 1 + t^2 for 1 - t^2", DERIVATIVE, INSIDE,
     "inside = dz * v[i] * (1 + t[n, i] ** 2)"),
    ("wrong-derivative", "the gradient with t for 1 - t^2", DERIVATIVE, INSIDE,
     "inside = dz * v[i] * t[n, i]"),
    ("v-forgotten", "the gradient without the factor v",
     FORGOTTEN, INSIDE,
     "inside = dz * (1 - t[n, i] ** 2)"),
    ("no-tanh", "the gradient with W q for tanh(W q)",
     "p = S sigmoid(v . tanh(W q)) has two functions, one inside the other.", D_V,
     "dv[i] += dz * math.atanh(t[n, i])"),
    ("wrong-derivative", "the gradient with 1 - tanh^2 for tanh", DERIVATIVE, D_V,
     "dv[i] += dz * (1 - t[n, i] ** 2)"),
    ("keys-by-place", "the gradient for the keys 0, 1, … of H", BY_PLACE,
     "s = position[t, n]\n        d_a", "s = n\n        d_a"),
    ("ignores-upstream", "the gradient with the sum of h_s for g . h_s",
     "", D_A, "d_a[t, n] = sum(y for x, y in zip(g[t], H[s]))"),
    ("mean", "the gradient with a mean for g . h_s", "A dot product is a sum.", D_A,
     D_A + " / len(g[t])"),
    ("align-twice", "the gradient with align in dL/da as well",
     "c = sum a h: dL/da = g . h contains neither align nor a.", D_A,
     D_A + " * align[t, n]"),
    *(
        ("no-slope", f"sum_s (g . h_s) {text}, without the Gaussian's derivative", SLOPE,
         "return gaussian(align, position, p, D)[1](d_a)[1]", f"return ({line}).sum(1)")
        for text, line in (
            ("align", "d_a * align"), ("a", "d_a * gaussian(align, position, p, D)[0]"),
            ("bell", "d_a * gaussian(align, position, p, D)[0] / align"), ("1", "d_a"),
        )
    ),
    ("wrong-result", "d_align, the other result of the backward",
     "Which of the two gradients is dL/dp?",
     "return gaussian(align, position, p, D)[1](d_a)[1]",
     "return gaussian(align, position, p, D)[1](d_a)[0]"),
]  # fmt: skip

HINTS = {
    "gaussian": [
        "Which weights change if one centre moves a little, and how does each change?",
    ],
    "centre": [
        "Give each intermediate a name. How much does each one change with the one "
        "before?",
    ],
    "pull": [
        "How much does c_t change with one weight, and which key has this weight?",
    ],
    "": [
        "Write the distances s - p as an array (T, n) first: the Gaussian and its "
        "derivative are functions of them.",
        "d/dp exp(-(s - p)^2 / (2 sigma^2)) is the Gaussian times (s - p) / sigma^2, "
        "and p_t is in every weight of its row. For the centre, go back through S "
        "sigmoid, the product with v, tanh, and the product with W.",
        "d_p = sum_s g a (s - p) / sigma^2, with sigma^2 = D^2 / 4. In centre, dz = "
        "g p (1 - p/S); multiply it by v and by 1 - tanh^2, then by W for dq and by "
        "q for dW; dv is the sum of dz times tanh. In pull, the gradient of a_ts is "
        "g_t . h_s.",
    ],
    "differences": [
        "A difference quotient loses digits. The derivative of a Gaussian does not.",
    ],
}
