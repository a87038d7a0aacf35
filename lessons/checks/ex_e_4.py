"""Check an answer to E.4."""

import numpy as np

from lessons.checks.measure import without_loops
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.classroom.steps import edges, laws, named, numbers, shape, values

# THE EXERCISE IN LOOPS


def numeric_gradient(f, x, c, h=1e-5):
    slopes = np.zeros(x.shape)
    for i in np.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[i] += h
        down[i] -= h
        slopes[i] = (c * (f(up) - f(down))).sum() / (2 * h)
    return slopes


def is_right(op, x, rng):
    y, backward = op(x)
    c = rng.normal(size=np.shape(y))
    yours = backward(c)
    if yours is None or np.shape(yours) != x.shape:
        return False
    numeric = numeric_gradient(lambda x: op(x)[0], x, c)
    error, largest = np.abs(yours - numeric), np.abs(numeric).max()
    return bool(np.all(error <= 1e-5 * largest))


# THE CHECK


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    y = e / e.sum(-1, keepdims=True)
    return y, lambda g: y * (g - (g * y).sum(-1, keepdims=True))


def tanh(x):
    y = np.tanh(x)
    return y, lambda g: g * (1 - y * y)


def row_sums(x):
    return x.sum(-1), lambda g: np.repeat(g[..., None], x.shape[-1], -1)


def sine(x):
    """Compute sin(10 x): with h = 1e-2, its differences are wrong by 1/600."""
    return np.sin(10 * x), lambda g: 10 * np.cos(10 * x) * g


def scaled(k):
    """Return the op y = k x^3, whose gradients have the size of k."""
    return named(f"{k:g} x^3", lambda x: (k * x**3, lambda g: 3 * k * x**2 * g))


def with_backward(text, op, change):
    """Return op with the backward change(gradient, g, y, x)."""

    def changed(x):
        y, backward = op(x)
        return y, lambda g: change(backward(g), g, y, x)

    return named(text, changed)


def one_entry(dx, g, y, x, factor=1.01):
    dx = dx.copy()
    k = np.unravel_index(np.abs(dx).argmax(), dx.shape)
    dx[k] *= factor
    return dx


def largest_entry(dx, g, y, x):
    return one_entry(dx, g, y, x, 1.001)


def wrong_far_from_0(dx, g, y, x):
    return np.where(np.abs(x) > 5, 2 * dx, dx)


def without_its_centre(dx, g, y, x):
    return y * g - y


def with_nan(dx, g, y, x):
    dx = dx.copy()
    dx.flat[-1] = np.nan
    return dx


WRONG = {
    "constant-cotangent": [
        with_backward("softmax, backward 0", softmax, lambda dx, g, y, x: 0 * dx),
        with_backward("softmax, backward y g - y", softmax, without_its_centre),
    ],
    "factor": [
        with_backward(
            "tanh, backward -1 times the right one", tanh, lambda dx, *_: -dx
        ),
        with_backward(
            "tanh, backward 2 times the right one", tanh, lambda dx, *_: 2 * dx
        ),
    ],
    "one-entry": [with_backward("tanh, wrong by 1% in one entry", tanh, one_entry)],
    "largest-entry": [
        with_backward("tanh, wrong by 0.1% in its largest entry", tanh, largest_entry)
    ],
    "loose": [
        with_backward("tanh, backward 1.001 times", tanh, lambda dx, *_: 1.001 * dx)
    ],
    "shape": [
        with_backward(
            "row sums, backward not broadcast", row_sums, lambda dx, g, *_: g[..., None]
        ),
        with_backward(
            "tanh, backward with one more axis", tanh, lambda dx, *_: dx[None]
        ),
    ],
    "missing-gradient": [
        with_backward("tanh, backward None", tanh, lambda *_: None),
    ],
    "nan-passes": [
        with_backward("tanh, NaN in one entry", tanh, with_nan),
        with_backward("tanh, NaN in all", tanh, lambda dx, *_: dx * np.nan),
    ],
    "other-x": [
        with_backward(
            "x^3, backward twice where |x| > 5", scaled(1.0), wrong_far_from_0
        )
    ],
    "absolute": [
        with_backward(
            f"1e-6 x^3, backward {k} times", scaled(1e-6), lambda dx, *_, k=k: k * dx
        )
        for k in (2, 1.001)
    ],
}


@shape("a slope for each entry")
def for_each_entry(my, rng):
    x, c = rng.normal(size=(3, 5)), rng.normal(size=3)
    row = named("sum of rows", lambda x: x.sum(-1))
    my.shape(my.numeric_gradient(row, x, c), (3, 5), "ij")


@numbers("of x^3 at 2 with h = 1/2, exactly: 12.25")
def of_a_cube(my, rng):
    moved, x = [], np.array([2.0])
    cube = named("x^3", lambda z: moved.append(np.abs(z - x).max()) or z**3)
    for c in (1.0, 3.0):
        found = my.numeric_gradient(cube, x, np.array([c]), 0.5)
        longest = max(moved, default=0.5)
        my.holds(
            longest > 0.2,
            "ignores-h",
            "expected x moved by h = 0.5",
            f"found a step of {longest:.2g}, which is shorter than h",
        )
        my.equal(found, [12.25 * c], "i")


@values("numeric slopes of softmax, tanh and sums")
def of_three(my, rng):
    x = rng.normal(size=(3, 5))
    for op in (tanh, softmax, row_sums):
        y, backward = op(x)
        c = rng.normal(size=y.shape)
        f = named(op.__name__, lambda x, op=op: op(x)[0])
        found = my.numeric_gradient(f, x, c)
        my.equal(found, backward(c), "ij", rtol=1e-6, atol=1e-7)


@laws("c is drawn at random")
def at_random(my, rng):
    cotangents, outputs = [], []

    def spy(x):
        y, backward = tanh(x)
        outputs.append(y)
        return y, lambda g: cotangents.append(np.array(g)) or backward(g)

    my.is_right(named("tanh", spy), rng.normal(size=(3, 5)), np.random.default_rng(1))
    text = "expected a call of backward(g)"
    my.holds(cotangents, "no-backward", text, "found none")
    low, high = cotangents[0].min(), cotangents[0].max()
    my.holds(
        low < high,
        "constant-cotangent",
        "expected a g whose entries differ",
        f"found backward called with {low:g} in every entry",
    )
    my.holds(
        not np.array_equal(cotangents[0], outputs[0]),
        "output-for-c",
        "expected a g drawn at random: with y in its place, y dy/dx passes for g dy/dx",
        "found g = y",
    )
    zeros = np.argwhere(cotangents[0] == 0).tolist()
    my.holds(
        not zeros,
        "zero-in-cotangent",
        "expected a g without a 0: with it, no mistake in that entry is found",
        f"found g = 0 at {zeros[:1]}",
    )


@laws("right backwards are accepted")
def right_ones(my, rng):
    for op in (softmax, tanh, row_sums, scaled(1.0), sine):
        accept(my, rng, op, "refuses-right")
    x = rng.normal(size=(3, 5))
    x[0, 0], x[1, 2] = 1e-4, 0.0  # gradients of 1e-8 and 0 beside those of 1
    my.holds(
        answer(my, rng, scaled(1.0), x),
        "entry-tolerance",
        "expected True for x^3, whose backward is right, at x[0, 0] = 1e-4",
        "found False",
    )


@laws("wrong backwards are refused")
def wrong_ones(my, rng):
    for tag in ("constant-cotangent", "factor", "one-entry", "loose", "largest-entry"):
        refuse(my, rng, tag)


@laws("the backward is checked at x, not elsewhere")
def at_x(my, rng):
    refuse(my, rng, "other-x", centre=10)


@edges("no gradient, another shape, NaN")
def no_gradient(my, rng):
    for tag in ("missing-gradient", "shape", "nan-passes"):
        refuse(my, rng, tag)


@edges("gradients of the size of 1e-6, and of 1e6")
def sizes(my, rng):
    refuse(my, rng, "absolute")
    for k in (1e-6, 1e6):
        accept(my, rng, scaled(k), "absolute")


@without_loops()  # many mistakes give the same True or False
def accept(my, rng, op, tag):
    """Fail unless is_right is True, three times."""
    for _ in range(3):
        x, steps = rng.normal(size=(3, 5)), [0.0]

        def spy(z):
            moved = np.abs(z - x) if np.shape(z) == x.shape else np.zeros(1)
            if np.count_nonzero(moved) == 1:
                steps.append(moved.max())
            return op(z)

        is_right, longest = answer(my, rng, named(op.__name__, spy), x), max(steps)
        text = f"expected True for {op.__name__}, whose backward is right"
        found = f"found False, with an entry of x moved by {longest:.2g}"
        my.holds(is_right or longest < 9e-4, "long-step", text, found)
        my.holds(is_right, tag, text, "found False")


@without_loops()
def refuse(my, rng, tag, centre=0):
    """Fail unless is_right is False for all ops with this mistake, near ``centre``."""
    for op in WRONG[tag]:
        for size in ((3, 5), (3, 5), (7, 20), *[(30, 40)] * (tag == "largest-entry")):
            text = f"expected False for {op.__name__}"
            x = centre + rng.normal(size=size)
            cotangents = []
            accepted = answer(my, rng, spied(op, cotangents), x)
            if tag == "constant-cotangent" and np.ptp(cotangents or [0]):
                tag = "not-each-entry"
            if accepted and tag == "largest-entry":  # or any error of this size?
                near = with_backward("1.0005", tanh, lambda dx, *_: 1.0005 * dx)
                tag = "loose" if answer(my, rng, near, x) else tag
            my.holds(not accepted, tag, text, "found True")


def spied(op, cotangents):
    """Return op with a backward that keeps the numbers of its g in a list."""

    def spy(x):
        y, backward = op(x)
        return y, lambda g: cotangents.extend(np.ravel(g)) or backward(g)

    return named(op.__name__, spy)


def answer(my, rng, op, x):
    before = rng.bit_generator.state
    found = my.is_right(op, x, rng)
    drawn = f"expected a c that is drawn from the argument rng, for {op.__name__}"
    my.holds(rng.bit_generator.state != before or not found, "own-generator", drawn,
             "found that rng was not used")  # fmt: skip
    kind = type(found).__name__
    true_or_false = isinstance(found, (bool, np.bool_))
    my.holds(true_or_false, "type", "expected True or False", f"found {kind}")
    return found


COPIES = "up, down = x.copy(), x.copy()"
MOVED = "up[i] += h\n        down[i] -= h"
SLOPE = "(c * (f(up) - f(down))).sum() / (2 * h)"
C = "c = rng.normal(size=np.shape(y))"
ALL = "np.all(error <= 1e-5 * largest)"
STEP = "How long is the interval from x - h to x + h?"
ONE_SIDED = (
    "(f(x + h) - f(x)) / h has an error of h f''/2. Which terms cancel in a central "
    "difference?"
)
WHERE_C = "c replaces the gradient of later operations. Where do you use it?"
EACH = "Compare every entry, with its absolute error."
NORM = (
    "A mean over all entries, or a norm, hardly shows that one of many is wrong. "
    "Compare entry by entry."
)
SMALL = (
    "A gradient of 1e-6 is smaller than many tolerances. Compare the error with the "
    "size of the gradient."
)

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("step", "half the slope from x to x + h", STEP, "down[i] -= h", "down[i] -= 0"),
    ("step", "twice the slope from x - h to x + h", STEP, SLOPE,
     SLOPE.replace("(2 * h)", "h")),
    ("step", "the slope from x - h/2 to x + h/2", STEP, "slopes = np.zeros(x.shape)",
     "slopes, h = np.zeros(x.shape), h / 2"),
    ("step", "the slope from x - h x to x + h x", STEP,
     f"{MOVED}\n        slopes[i] = {SLOPE}",
     f"{MOVED}\n        slopes[i] = {SLOPE}".replace(" h", " h * x[i]")),
    ("one-sided", "the slope from x to x + h", ONE_SIDED, SLOPE,
     "(c * (f(up) - f(x))).sum() / h"),
    ("one-sided", "the slope from x - h to x", ONE_SIDED, SLOPE,
     "(c * (f(x) - f(down))).sum() / h"),
    ("cotangent", "the slopes for a c of ones", WHERE_C, SLOPE,
     SLOPE.replace("c * ", "")),
    ("cotangent", "the slopes for a c of ones, times the sum of c", WHERE_C, SLOPE,
     SLOPE.replace("c * ", "c.sum() * ")),
    ("sign-lost", "the sizes of the slopes",
     "A slope has a sign. Where does yours lose it?", SLOPE, f"abs{SLOPE}"),
    ("zero", "0 everywhere",
     "Is the copy that moves up another array than the one that moves down?", COPIES,
     "up = down = x.copy()"),
    ("mutates-input", "the slopes, and another x", "", COPIES,
     "up, down = x, x.copy()"),
    ("ignores-h", "the slope for h = 1e-5, whatever h is",
     "h is an argument. Is it the step that is used?", "slopes = np.zeros(x.shape)",
     "slopes, h = np.zeros(x.shape), 1e-5"),
    ("moves-all", "the slope for all entries moved at once",
     "e_i is 1 in entry i and 0 in all others.", MOVED, "up, down = x + h, x - h"),
    ("moves-row", "the slope for all entries of a row moved at once",
     "x[i] is a row if x has two axes. Does i count axes, or entries?",
     "in np.ndindex(*x.shape)", "in range(len(x))"),
    ("moves-earlier", "the slope with all earlier entries moved as well",
     "Does each entry begin with a new copy of x?",
     f"for i in np.ndindex(*x.shape):\n        {COPIES}",
     f"{COPIES}\n    for i in np.ndindex(*x.shape):"),
    ("constant-cotangent", "the check with a c of ones",
     "The outputs of a softmax sum to 1 for every x. What is the gradient of that "
     "sum, and which wrong backwards return it?", C, "c = np.ones(np.shape(y))"),
    ("constant-cotangent", "the check with a c of zeros",
     "With c = 0 every linear backward is accepted, and with ones too many are. "
     "Draw c from rng.", C, "c = np.zeros(np.shape(y))"),
    ("zero-in-cotangent", "the check with a 0 in c",
     "What is g * dy/dx in an entry where g is 0, and what is it for another dy/dx?",
     C, "c = np.arange(y.size).reshape(y.shape) / y.size"),
    ("output-for-c", "the check with y for c",
     "c stands for dL/dy. Does it depend on y?", C, "c = y"),
    ("other-x", "the check at another x", "Which x does the caller ask about?",
     "y, backward = op(x)",
     "x = rng.normal(size=x.shape)\n    y, backward = op(x)"),
    ("shape", "the check without a comparison of the shapes",
     "NumPy broadcasts: it compares arrays of different shapes without an error.",
     " or np.shape(yours) != x.shape", ""),
    ("missing-gradient", "the check that accepts None",
     "None is not a gradient. What should the check return for it?",
     "if yours is None or", "if yours is None:\n        return True\n    if"),
    ("long-step", "the check with h = 0.01",
     "The error of a central difference is h^2 f'''/6. How long is h?",
     "[0], x, c)", "[0], x, c, 1e-2)"),
    ("loose", "the check with a tolerance of 2e-3",
     "An error of one part in a thousand is wrong. Differences find one in a million.",
     ALL, "np.all(error <= 2e-3 * largest)"),
    ("refuses-right", "the check with a tolerance of 1e-14",
     "Differences in float64 have about ten right digits, not sixteen. And is c the "
     "same on both sides?", ALL, "np.all(error <= 1e-14 * largest)"),
    ("nan-passes", "the check that accepts NaN",
     "NaN > 1 is False, and so is NaN <= 1.", ALL,
     "not np.any(error > 1e-5 * largest)"),
    ("one-entry", "the check of any entry",
     "A backward can be wrong in one of many entries.", ALL, ALL.replace("all", "any")),
    ("one-entry", "the check of a mean", "", ALL, "error.mean() <= 2e-4 * largest"),
    ("not-each-entry", "the check of the mean error with its sign", EACH, ALL,
     "abs(np.mean(yours - numeric)) <= 1e-5 * largest"),
    ("largest-entry", "the check of a sum of all errors", NORM, ALL,
     "error.sum() <= 1e-5 * np.abs(numeric).sum()"),
    ("largest-entry", "the check of a norm", NORM, ALL,
     "np.linalg.norm(error) <= 5e-4 * np.linalg.norm(numeric)"),
    ("factor", "the check of the sizes alone",
     "Do you compare gradients, or only their norms or absolute values?", ALL,
     "np.allclose(abs(yours), abs(numeric), 1e-5, 1e-5 * largest)"),
    ("absolute", "the check with the tolerance 1e-5 at every size", SMALL, ALL,
     "np.all(error <= 1e-5)"),
    ("absolute", "the check by np.allclose", SMALL, ALL, "np.allclose(yours, numeric)"),
    ("entry-tolerance", "the check with a tolerance for each entry",
     "Rounding in the differences depends on the size of f, not on that of one entry. "
     "Compare each error with the largest entry of the gradient.", ALL,
     "np.allclose(yours, numeric, 1e-4, 0)"),
]  # fmt: skip

HINTS = {
    "numeric_gradient": [
        "Move one entry of a copy up and down; sum c times the change of every output.",
    ],
    "is_right": ["Which c, which comparison, and what if there is no gradient at all?"],
    "": [
        "One entry at a time: copy x twice, move this entry up in one copy and down "
        "in the other. What remains is a sum over the outputs.",
        "Draw c at random and pass the same c to backward and to numeric_gradient. "
        "Compare errors with the largest entry of the numeric gradient.",
        "sum(c * (f(up) - f(down))) / (2 h) for every index of np.ndindex(x.shape). "
        "In is_right: refuse None and other shapes, then require |yours - numeric| "
        "<= 1e-5 times the largest |numeric| everywhere; that is false for NaN.",
    ],
    "scale": [
        "Every entry is wrong by the same factor. How long is the interval from x - "
        "h to x + h?",
    ],
}
