"""Check an answer to E.9."""

import math

import numpy as np

from lessons.checks.measure import has_all_digits
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import shape_all
from lessons.classroom.steps import edges, gradients, numbers, shape, values

T, W, S, D = 3, 5, 17, 3


def draw(rng, T=T):
    """Return align (T, W), position (T, W) and p (T,): windows of five keys at p."""
    p = rng.uniform(4, 12, T)
    first = np.floor(p).astype(int) - 2
    return rng.random((T, W)), first[:, None] + np.arange(W), p


def bell(s, p, sigma):
    return math.exp(-((s - p) ** 2) / (2 * sigma**2))


def weights(align, position, p, sigma):
    rows = zip(align, position, p)
    return np.array(
        [[a * bell(s, c, sigma) for a, s in zip(row, keys)] for row, keys, c in rows]
    )


def d_centre(g, align, position, p, D=D):
    """Return dL/dp by differences from five points, with an error of 1e-11."""

    def loss(p):
        return (g * weights(align, position, p, D / 2)).sum(1)

    h = 1e-3
    return (8 * (loss(p + h) - loss(p - h)) - (loss(p + 2 * h) - loss(p - 2 * h))) / (
        12 * h
    )


def of_p(align, position, p, D):
    """Return wrong gradients for p: (tag, what, function of g)."""
    distance = position - p[:, None]
    ones = np.ones_like(align)

    def alone(g):
        only = np.zeros_like(g)
        only[:, 0] = g[:, 0]
        return d_centre(only, align, position, p, D)

    def sums(of):
        return lambda g: of(g).sum(1)

    a = weights(align, position, p, D / 2)
    return [
        (
            "no-variance",
            "sum g a (s - p), without 1 / sigma^2",
            lambda g: d_centre(g, align, position, p, D) * D**2 / 4,
        ),
        (
            "sigma",
            "sum g a (s - p) / sigma",
            lambda g: d_centre(g, align, position, p, D) * D / 2,
        ),
        (
            "sigma",
            "sum g a (s - p) / D^2",
            lambda g: d_centre(g, align, position, p, D) / 4,
        ),
        (
            "bell-alone",
            "the gradient of the Gaussian alone, without align",
            lambda g: d_centre(g, ones, position, p, D),
        ),
        ("no-distance", "sum g a", sums(lambda g: g * a)),
        ("no-distance", "sum g a / sigma^2", sums(lambda g: g * a * 4 / D**2)),
        (
            "no-distance",
            "sum g a |s - p| / sigma^2",
            sums(lambda g: g * a * np.abs(distance) * 4 / D**2),
        ),
        ("unbroadcast", "the term of the first key of each window", alone),
        (
            "wrong-derivative",
            "sum g a (s - p)^2 / sigma^2",
            sums(lambda g: g * a * distance**2 * 4 / D**2),
        ),
        *(
            (
                "wrong-factor",
                f"sum g a (s - p) / sigma^2 with {name} a second time in each term",
                sums(lambda g, x=x: g * a * x * distance * 4 / D**2),
            )
            for name, x in (("align", align), ("the Gaussian", a / align), ("a", a))
        ),
    ]


@shape("weights for each window, a centre for each query")
def for_each(my, rng):
    align, position, p = draw(rng)
    a, backward = my.gaussian(align, position, p, D)
    my.shape(a, (T, W), "Tn")
    shapes, axes = {"d_align": (T, W), "d_p": (T,)}, {"d_align": "Tn", "d_p": "T"}
    shape_all(my, backward(rng.normal(size=(T, W))), shapes, axes)
    my.shape(my.centre(*parts(rng), S)[0], (T,), "T")


def parts(rng, d=7, k=11, T=T):
    return rng.normal(size=(T, d)), rng.normal(size=(k, d)) / 3, rng.normal(size=k)


@numbers("a window of 1, 2, 3 around 2, with D = 2")
def around_two(my, rng):
    """With sigma = 1 the Gaussian is e^-1/2, 1, e^-1/2."""
    align, position = np.ones((1, 3)), np.array([[1, 2, 3]])
    p, side = np.array([2.0]), math.exp(-1 / 2)
    a, backward = my.gaussian(align, position, p, 2)
    wrong = [
        (
            "sigma",
            "the Gaussian with sigma = D",
            [[math.exp(-1 / 8), 1, math.exp(-1 / 8)]],
        ),
        ("sigma", "exp(-(s - p)^2 / D^2)", [[math.exp(-1 / 4), 1, math.exp(-1 / 4)]]),
        ("sign", "exp(+(s - p)^2 / (2 sigma^2))", [[1 / side, 1.0, 1 / side]]),
        (
            "renormalised",
            "the Gaussian, divided by its sum",
            np.array([[side, 1.0, side]]) / (1 + 2 * side),
        ),
        (
            "keys-by-place",
            "the Gaussian of the places 0, 1, 2 in the window",
            weights(align, np.array([[0, 1, 2]]), p, 1.0),
        ),
    ]
    my.equal(a, [[side, 1.0, side]], "Tn", wrong)


@values("weights and centres, against loops")
def against_loops(my, rng):
    align, position, p = draw(rng)
    apart = np.abs(position - p[:, None])
    wrong = [
        ("sigma", text, align * np.exp(-c * apart**2))
        for text, c in (
            ("the Gaussian with sigma = D", 1 / (2 * D**2)),
            ("the Gaussian with sigma = D / 4", 8 / D**2),
            ("the Gaussian with sigma = D // 2", 1 / (2 * (D // 2) ** 2)),
            ("the Gaussian with sigma = sqrt(D)", 1 / (2 * D)),
            ("exp(-2 (s - p)^2 / D)", 2 / D),
            ("exp(-(s - p)^2 / (2 sigma))", 1 / D),
            ("exp(-(s - p)^2 / sigma^2)", 4 / D**2),
        )
    ]
    text = "the Gaussian alone, without align"
    added = align + weights(np.ones_like(align), position, p, D / 2)
    wrong.append(("plus", "align + the Gaussian, not times", added))
    square = 1 - 2 * apart**2 / D**2
    wrong.append(("no-exponential", "1 - (s - p)^2 / (2 sigma^2), times align",
                  align * square))  # fmt: skip
    wrong.append(("bell-alone", text, weights(np.ones_like(align), position, p, D / 2)))
    wrong.append(("not-squared", "exp(-2 |s - p| / D)", align * np.exp(-2 * apart / D)))
    for text, how in (("rounded", np.round), ("rounded down", np.floor)):
        bell = weights(align, position, how(p), D / 2)
        wrong.append(("rounded", f"the Gaussian with the centre {text}", bell))
    a = my.gaussian(align, position, p, D)[0]
    my.equal(a, weights(align, position, p, D / 2), "Tn", wrong)
    q, matrix, v = parts(rng)
    want = []
    for row in q:
        inside = [math.tanh(sum(w * x for w, x in zip(line, row))) for line in matrix]
        z = sum(a * b for a, b in zip(inside, v))
        want.append(S / (1 + math.exp(-z)))
    want = np.array(want)
    straight = S / (1 + np.exp(-(q @ matrix.T @ v)))
    share = [
        ("no-length", "the sigmoid itself, between 0 and 1", want / S),
        ("last-key", "(S - 1) sigmoid(…), with S - 1 for S", want * (S - 1) / S),
        ("no-tanh", "S sigmoid(v . W q), without tanh", straight),
        ("sign", "S sigmoid(-v . tanh(W q))", S - want),
        ("v-forgotten", "S sigmoid(sum tanh(W q)), without v",
         S / (1 + np.exp(-np.tanh(q @ matrix.T).sum(1)))),
        ("no-length", "sigmoid(S v . tanh(W q)), with S inside",
         1 / (1 + (S / want - 1) ** S)),
        ("no-sigmoid", "S tanh(v . tanh(W q))", S * np.tanh(np.log(want / (S - want)))),
    ]  # fmt: skip
    my.equal(my.centre(q, matrix, v, S)[0], want, "T", share)


@gradients("of the Gaussian, with D = 3 and D = 5")
def of_the_bell(my, rng):
    for D, rows in ((3, T), (5, T), (4, W)):  # the last with square arrays
        compare_bell(my, *draw(rng, rows), D, rng.normal(size=(rows, W)))


def compare_bell(my, align, position, p, D, g):
    """Fail unless both gradients are right, with the digits of a formula."""

    def gaussian(align, p):
        a, backward = my.gaussian(align, position, p, D)
        return a, backward

    a = weights(align, position, p, D / 2)
    own = [
        ("own-weight", "g a, the weight instead of the Gaussian", lambda g: g * a),
        ("own-weight", "g align, with align instead of it", lambda g: g * align),
    ]

    def fixed(g):
        return d_centre(g, align, position, p, D) * D**2 / 9

    wrong = [("sigma", "the gradient with sigma = 1.5, whatever D is", fixed)]
    known = {"align": own, "p": of_p(align, position, p, D) + wrong * (D != 3)}
    my.gradients(gaussian, [align, p], variants=known)
    bell = np.exp(-2 * (position - p[:, None] - 1e-30j) ** 2 / D**2)  # complex step
    d_align, d_p = gaussian(align, p)[1](g)
    has_all_digits(my, d_align, g * bell.real, "d_align")
    has_all_digits(my, d_p, (g * align * bell.imag).sum(1) / 1e-30, "d_p")


@gradients("of the centre, among 17 keys and among 29")
def of_the_centre(my, rng):
    for S in (17, 29):
        compare_centre(my, rng, *parts(rng), S)
    compare_centre(my, rng, *parts(rng, 3, 3), 3)


def compare_centre(my, rng, q, matrix, v, S):
    """Fail unless the three gradients of the centre are right."""

    def centre(q, W, v):
        return my.centre(q, W, v, S)

    t = np.tanh(q @ matrix.T)
    y = 1 / (1 + np.exp(-(t @ v)))

    def from_slopes(outer, inner):
        """Return a function of g: the three gradients for these derivatives."""

        def all_three(g):
            dz = [x * s for x, s in zip(g, outer)]
            dt = np.array(
                [[d * b * s for b, s in zip(v, row)] for d, row in zip(dz, inner)]
            )
            dq = sum(dt[:, [i]] * matrix[i] for i in range(len(v)))
            dW = sum(np.outer(dt[n], q[n]) for n in range(len(q)))
            return dq, dW, sum(d * row for d, row in zip(dz, t))

        return all_three

    tanh_slope = 1 - t * t
    known = [
        ("no-length", "the gradient without the factor S", y * (1 - y), tanh_slope),
        (
            "no-slope",
            "the gradient without the derivative of the sigmoid",
            S + 0 * y,
            tanh_slope,
        ),
        (
            "no-slope",
            "the gradient without that derivative and without S",
            1 + 0 * y,
            tanh_slope,
        ),
        (
            "no-slope",
            "the gradient without the derivative of tanh",
            S * y * (1 - y),
            1 + 0 * t,
        ),
        ("no-slope", "the gradient without both derivatives", S + 0 * y, 1 + 0 * t),
        (
            "wrong-derivative",
            "the gradient with g p (1 - p), where p is not between 0 and 1",
            S * y * (1 - S * y),
            tanh_slope,
        ),
        (
            "wrong-derivative",
            "the gradient with 1 - t, where tanh has the derivative 1 - t^2",
            S * y * (1 - y),
            1 - t,
        ),
        ("wrong-derivative", "the gradient with 1 + t^2 for 1 - t^2",
         S * y * (1 - y), 1 + t * t),
        ("wrong-derivative", "the gradient with g p, without 1 - p / S",
         S * y, tanh_slope),
        ("wrong-derivative", "the gradient with g (1 - p / S), without p",
         1 - y, tanh_slope),
        ("wrong-derivative", "the gradient with t for 1 - t^2", S * y * (1 - y), t),
        ("v-forgotten", "the gradient without the factor v",
         S * y * (1 - y), tanh_slope / v),
    ]  # fmt: skip
    wrong = {"q": [], "W": [], "v": []}
    for tag, what, outer, inner in known:
        for place, name in enumerate(wrong):
            if name == "v" and inner is not tanh_slope:
                continue  # the gradient of v does not contain that derivative
            make = from_slopes(outer, inner)
            wrong[name].append((tag, what, _one(make, place)))
    for tag, text, factor in (
        ("no-tanh", "the gradient with W q for tanh(W q)", q @ matrix.T),
        ("wrong-derivative", "the gradient with 1 - tanh^2 for tanh", tanh_slope),
    ):
        known = (tag, text, lambda g, f=factor: (g * S * y * (1 - y)) @ f)
        wrong["v"].append(known)
    my.gradients(centre, [q, matrix, v], variants=wrong)
    g = rng.normal(size=len(q))
    right = from_slopes(S * y * (1 - y), tanh_slope)(g)
    for name, found, want in zip(("dq", "dW", "dv"), centre(q, matrix, v)[1](g), right):
        has_all_digits(my, found, want, name)


def _one(make, place):
    return lambda g: make(g)[place]


@gradients("of a context, for the centre")
def the_pull(my, rng):
    align, position, p = draw(rng)
    H, g = rng.normal(size=(S, 7)), rng.normal(size=(T, 7))

    def by_key(keys):
        return np.array([[sum(g[t] * H[s]) for s in row] for t, row in enumerate(keys)])

    want = d_centre(by_key(position), align, position, p)
    places = np.tile(np.arange(W), (T, 1))
    first = d_centre(by_key(places), align, position, p)
    d_a = np.array([[g[t] @ H[s] for s in row] for t, row in enumerate(position)])
    bell = weights(np.ones_like(align), position, p, D / 2)
    wrong = [
        ("keys-by-place", "the gradient for the keys 0, 1, … of H", first),
        ("ignores-upstream", "the gradient with the sum of h_s for g . h_s",
         d_centre(H[position].sum(-1), align, position, p)),
        ("align-twice", "the gradient with align in dL/da as well",
         d_centre(by_key(position) * align, align, position, p)),
        *(
            ("no-slope", f"sum_s (g . h_s) {text}, without the Gaussian's derivative",
             (d_a * factor).sum(1))
            for text, factor in (
                ("align", align), ("bell", bell), ("a", align * bell), ("1", 1.0)
            )
        ),
    ]  # fmt: skip
    my.equal(my.pull(g, align, H, position, p, D), want, "T", wrong, rtol=1e-7)
    for rows, d in ((T, 7), (W, W)):  # also with square arrays
        align, position, p = draw(rng, rows)
        H, g = rng.normal(size=(S, d)), rng.normal(size=(rows, d))
        d_a = np.array([[g[t] @ H[s] for s in row] for t, row in enumerate(position)])
        bell = np.exp(-2 * (position - p[:, None] - 1e-30j) ** 2 / D**2)
        want = (d_a * align * bell.imag).sum(1) / 1e-30  # complex step
        has_all_digits(my, my.pull(g, align, H, position, p, D), want, "dL/dp")
    align, position, p = draw(rng)
    # with g = -1 for one key, more weight on it lowers L, so p moves there
    for place, side in ((0, "left"), (W - 1, "right")):
        g = np.zeros((T, W))
        g[:, place] = -1.0
        d_p = my.gaussian(align, position, p, D)[1](g)[1]
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


HINTS = {
    "last-key": ["The sigmoid is between 0 and 1. Which number is its multiple?"],
    "no-sigmoid": ["A tanh is between -1 and 1. Where may the centre be?"],
    "plus": ["The Gaussian multiplies the weights of the window."],
    "wrong-factor": ["a = align times the Gaussian contains each of the two once."],
    "v-forgotten": ["z = v . tanh(W q): what is dz / d tanh?"],
    "no-tanh": [
        "p = S sigmoid(v . tanh(W q)) has two functions, one inside the other.",
    ],
    "not-squared": ["Which power of s - p is in a Gaussian?"],
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
    "sigma": ["sigma is half of D. How often is it squared and doubled?"],
    "differences": [
        "A difference quotient loses digits. The derivative of a Gaussian does not.",
    ],
    "rounded": ["The centre lies between two keys in general."],
    "align-twice": ["c = sum a h: dL/da = g . h contains neither align nor a."],
    "bell-alone": [
        "a is align times the Gaussian. Which factor multiplies the derivative of "
        "the Gaussian?",
    ],
    "own-weight": ["a = align times the Gaussian: what is da / d align?"],
    "no-variance": [
        "The derivative of -(s - p)^2 / (2 sigma^2) in p is not s - p itself.",
    ],
    "no-distance": [
        "How does the Gaussian change with p at the key s = p, and far from it?",
    ],
    "no-length": ["Is p a place among the keys, or a number between 0 and 1?"],
    "no-slope": [
        "sigmoid and tanh each have a derivative, which is a factor of the gradient.",
    ],
    "keys-by-place": ["Column 0 of a window is the key position[t, 0], not the key 0."],
    "unbroadcast": [
        "All keys of a window use one p_t.",
        "Its gradient is a sum over that window.",
    ],
}
