"""Check an answer to E.6."""

import numpy as np

from lessons.checks.measure import has_all_digits
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import (
    equal_all,
    result,
    several,
    shape_all,
    wrong_factors,
)
from lessons.classroom.steps import (
    edges,
    gradients,
    laws,
    numbers,
    shape,
    values,
)
from minigrad.ops.recurrent import gru as engine

NAMES = ["xs", "h0", "W_ih", "W_hh", "b_ih", "b_hh"]
PARTS = "da_r", "da_z", "da_n", "dm", "direct"
TAU = 1e-30  # an imaginary step whose square is 0


def draw(rng, T=3, B=2, I=7, H=5):  # noqa: E741
    sizes = (T, B, I), (B, H), (3 * H, I), (3 * H, H), (3 * H,), (3 * H,)
    return [rng.normal(size=size) for size in sizes]


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def slope(a):
    """Return the derivative of the sigmoid."""
    return sigmoid(a + 1j * TAU).imag / TAU


def by_imaginary_steps(dh, a_r, a_z, a_n, m, h):
    """Yield da_r, da_z, da_n, dm and direct, each by moving one argument."""
    constant = sigmoid(a_r) * m

    def new_state(a_r, a_z, a_n, m, h):
        n, z = np.tanh(a_n + sigmoid(a_r) * m - constant + 0j), sigmoid(a_z)
        return (1 - z) * n + z * h

    at = a_r, a_z, a_n, m, h
    for k in range(5):
        moved = [x + 1j * TAU * (i == k) for i, x in enumerate(at)]
        yield dh * new_state(*moved).imag / TAU


FACTORS = {  # of each slope of a cell
    "da_r": ("da_n", "1 - z", "1 - n^2", "m", "r", "1 - r"),
    "da_z": ("dh", "h - n", "z", "1 - z"),
    "da_n": ("dh", "1 - z", "1 - n^2"),
    "dm": ("da_n", "1 - z", "1 - n^2", "r"),
    "direct": ("dh", "z"),
}


def compare_slopes(my, dh, a_r, a_z, a_n, m, h):
    """Fail unless the slopes of a cell are right; a_n is the sum inside the tanh."""
    r, z, n = sigmoid(a_r), sigmoid(a_z), np.tanh(a_n)
    d_r, d_z, d_n, dm, direct = right = list(
        by_imaginary_steps(dh, a_r, a_z, a_n, m, h)
    )
    wrong = {
        "da_r": [
            ("no-slope", "da_n m, without the slope of the sigmoid", d_n * m),
            (
                "slope-of-input",
                "da_n m a (1 - a), of the a inside",
                d_n * m * a_r * (1 - a_r),
            ),
            ("m-forgotten", "da_n r (1 - r), without m", d_n * slope(a_r)),
            ("h-for-m", "da_n h r (1 - r), with h for m", d_n * h * slope(a_r)),
            ("wrong-gate", "da_n m z (1 - z), with z for r", d_n * m * slope(a_z)),
            (
                "no-slope",
                "dh (1 - z) m r (1 - r), without the slope of tanh",
                dh * (1 - z) * m * slope(a_r),
            ),
        ],
        "da_z": [
            ("z-sees-n-alone", "dh (-n) z (1 - z), of n alone", -dh * n * slope(a_z)),
            ("z-sees-h-alone", "dh h z (1 - z), of h alone", dh * h * slope(a_z)),
            ("no-slope", "dh (h - n), without the slope of the sigmoid", dh * (h - n)),
            ("wrong-gate", "dh (h - n) r (1 - r), with r for z",
             dh * (h - n) * slope(a_r)),
            ("plus", "dh (h + n) z (1 - z), with + for -", dh * (h + n) * slope(a_z)),
            ("wrong-derivative", "dh (h - n) (1 - z^2), the slope of a tanh",
             dh * (h - n) * (1 - z * z)),
        ],
        "da_n": [
            ("gates-exchanged", "dh z (1 - n^2), with z for 1 - z", d_n * z / (1 - z)),
            ("no-slope", "dh (1 - z), without the slope of tanh", dh * (1 - z)),
            ("wrong-derivative", "dh (1 - z)(1 + n^2)", dh * (1 - z) * (1 + n * n)),
            ("wrong-derivative", "dh (1 - z)(1 - tanh(n)^2)",
             dh * (1 - z) / np.cosh(n) ** 2),
            ("wrong-derivative", "dh (1 - z)(1 - n)", dh * (1 - z) * (1 - n)),
            ("wrong-derivative", "dh (1 - z) n (1 - n)", dh * (1 - z) * n * (1 - n)),
            (
                "slope-of-input",
                "dh (1 - z)(1 - a^2), of the a inside",
                dh * (1 - z) * (1 - a_n**2),
            ),
        ],
        "dm": [
            ("reset-forgotten", "da_n, without r", d_n),
            ("m-for-r", "da_n m, with m for r", d_n * m),
            ("no-slope", "dh (1 - z) r, without the slope of tanh", dh * (1 - z) * r),
        ],
        "direct": [("gates-exchanged", "dh (1 - z), with 1 - z for z", dh * (1 - z))],
    }  # fmt: skip
    found = dict(zip(PARTS, several(my, my.slopes(dh, h, r, z, m, n), PARTS)))
    right = dict(zip(PARTS, right))
    factors = {"dh": dh, "da_n": d_n, "h": h, "m": m, "n": n, "r": r, "z": z}
    factors |= {"1 - r": 1 - r, "1 - z": 1 - z, "1 - n^2": 1 - n * n, "h - n": h - n}
    for name in ("da_n", "da_z", "dm", "da_r", "direct"):  # da_r follows from da_n
        known = [(tag, f"{name} = {what}", wr) for tag, what, wr in wrong[name]]
        known.append(("scale:-1", f"-1 times {name}", -right[name]))
        own = {each: factors[each] for each in FACTORS[name]}
        for tag, what, array in wrong_factors(right[name], own, factors):
            known.append((tag, f"{name} {what}", array))
        with result(name):
            known = known if dh.size > 1 else []  # an example may agree by chance
            my.equal(found[name], right[name], "BH", known, rtol=1e-5, atol=1e-6)
        if right[name].any():
            has_all_digits(my, found[name], right[name], name)


def one_step(x, h, weights, dh):
    """Return h', dx, dh, da and db of one step of the engine, row by row."""
    rows = []
    for k in range(len(h)):
        (hs, _), backward = engine.raw(x[k : k + 1, None], h[k : k + 1], *weights)
        g = dh[k][None, None], np.zeros((1, h.shape[1]))
        dx, d_old, _, _, da, db = backward(list(g))[:6]
        rows.append((hs[0, -1], dx[0, 0], d_old[0], da, db))
    return [np.array(column) for column in zip(*rows)]


def chain(arguments, g, last=False, one=False, twice=False, cut=None, forwards=False):
    """Return dL/dh0 and the parts of the gradients of each step, with one mistake.

    last       only the last state has a gradient
    one        each state has the gradient of the last one
    twice      the gradient of a state stays in the sum of the step before
    cut        the path that is left out in a step: "all", "direct" or "weights"; "da"
               goes through W_hh with da for db
    forwards   the loop goes from the first step to the last
    """
    xs, h0, *weights = arguments
    states = [h0]
    for x in xs:
        states.append(one_step(x, states[-1], weights, 0 * h0)[0])
    dh, parts = np.zeros_like(h0), []
    for t in sorted(range(len(xs)), reverse=not forwards):
        dh = dh + g[-1 if one else t] * (not last or t == len(xs) - 1)
        _, dx, back, da, db = one_step(xs[t], states[t], weights, dh)
        through = db @ weights[1]
        through_b = db @ weights[0]
        ends = states[t], states[t + 1]
        parts.append((dx, da, db, xs[t], *ends, h0, through_b, xs[t - 1]))
        paths = {"all": 0 * back, "direct": through, "weights": back - through}
        paths["da"] = back - through + da @ weights[1]
        dh = paths.get(cut, back) + twice * dh
    return dh if cut != "all" else back, parts if forwards else parts[::-1]


def gathered(dh, parts, of=slice(None), state=4, inputs=0, x=3):
    """Return the six gradients; those of the weights are sums over the steps ``of``."""
    dW_ih = sum(part[1].T @ part[x] for part in parts[of])
    dW_hh = sum(part[2].T @ part[state] for part in parts[of])
    db_ih, db_hh = (sum(part[k].sum(0) for part in parts[of]) for k in (1, 2))
    dxs = np.array([part[inputs] for part in parts])
    return dict(zip(NAMES, (dxs, dh, dW_ih, dW_hh, db_ih, db_hh)))


MISTAKES = [
    (
        "one-step",
        "gradients without those of the step after",
        {"cut": "all"},
        {},
    ),
    ("last-output-alone", "the gradient for the last state alone", {"last": True}, {}),
    (
        "no-direct-path",
        "the gradient without the path through z h",
        {"cut": "direct"},
        {},
    ),
    (
        "direct-path-alone",
        "the gradient through z h alone",
        {"cut": "weights"},
        {},
    ),
    ("da-for-db", "the gradient through (da_r, da_z, da_n) @ W_hh", {"cut": "da"}, {}),
    ("wrong-order", "gradients of a loop from first to last", {"forwards": True}, {}),
    ("first-step-alone", "the part of the first step", {}, {"of": slice(0, 1)}),
    ("last-step-alone", "the part of the last step", {}, {"of": slice(-1, None)}),
    ("state-after", "sums with the state after each step", {}, {"state": 5}),
    ("first-state-alone", "sums with h0 in every step", {}, {"state": 6}),
    ("shifted", "sums with the input of the step before", {}, {"x": 8}),
    ("db-for-da", "gradients through (da_r, da_z, dm) @ W_ih", {}, {"inputs": 7}),
    ("one-output", "gradients with the g of the last state in every step",
     {"one": True}, {}),
    ("twice", "gradients with dh += where the step before has dh =",
     {"twice": True}, {}),
]  # fmt: skip


def known_mistakes(arguments):
    """Return wrong gradients of each input: {name: [(tag, what, function of g)]}."""
    probe = np.random.default_rng(1).normal(
        size=(len(arguments[0]), *arguments[1].shape)
    )
    right = gathered(*chain(arguments, probe))
    found = {name: [] for name in NAMES}
    for tag, what, how, which in MISTAKES:
        wrong = gathered(*chain(arguments, probe, **how), **which)
        for name in NAMES:
            if not np.allclose(wrong[name], right[name]):
                again = _again(arguments, how, which, name)
                found[name].append((tag, what, again))
    return found


def _again(arguments, how, which, name):
    return lambda g: gathered(*chain(arguments, g, **how), **which)[name]


def check_gradients(my, arguments):
    """Fail unless the six gradients are right."""
    H = arguments[1].shape[1]
    gates = {"r": np.s_[:H], "z": np.s_[H : 2 * H], "n": np.s_[2 * H :]}
    my.gradients(
        my.gru,
        arguments,
        NAMES,
        variants=known_mistakes(arguments),
        blocks={name: gates for name in NAMES[2:]},
    )


@shape("five parts of a step, and a gradient for each input")
def of_each(my, rng):
    parts = [rng.normal(size=(2, 7)) for _ in range(6)]
    axes = dict.fromkeys(PARTS, "BH")
    shape_all(my, my.slopes(*parts), dict.fromkeys(PARTS, (2, 7)), axes)
    arguments = draw(rng)
    hs, backward = my.gru(*arguments)
    shapes = {f"d_{name}": x.shape for name, x in zip(NAMES, arguments)}
    shape_all(my, backward(rng.normal(size=hs.shape)), shapes)


@numbers("r = 1/4, z = 1/3, n = 1/2, h = 4, m = 8, by hand")
def by_hand(my, rng):
    """da_n = 2/3 3/4 = 1/2, da_z = 7/2 2/9, dm = 1/8, da_r = 8/2 3/16, direct 1/3."""
    one, a_r, a_z = np.ones((1, 1)), -np.log(3), -np.log(2)
    compare_slopes(my, one, a_r * one, a_z * one, np.arctanh(one / 2), 8 * one, 4 * one)
    found = my.slopes(one, 4 * one, one / 4, one / 3, 8 * one, one / 2)
    want = zip(PARTS, (0.75 * one, 7 / 9 * one, one / 2, one / 8, one / 3))
    equal_all(my, found, dict(want), dict.fromkeys(PARTS, "BH"))


@values("the slopes of a step")
def of_a_step(my, rng):
    compare_slopes(my, *rng.normal(size=(6, 3, 7)))


@laws("z = 1 keeps the state: all gradients of the states reach h0")
def remembers(my, rng):
    arguments = draw(rng, T=5)
    arguments[4][5:10] = 60.0  # z is 1 in float64
    hs, backward = my.gru(*arguments)
    g = rng.normal(size=hs.shape)
    others = draw(rng, T=5)
    dh0 = my.gru(*others)[1](g)[1]
    zero = ("no-direct-path", "0, the gradient without the path through z h")
    if dh0 is not None and not np.any(dh0):
        zero = ("zero", "0, here and for other weights")
    wrong = [
        ("one-step", "the g of the first state alone", g[0]),
        ("last-output-alone", "the g of the last state alone", g[-1]),
        ("one-output", "the g of the last state in every step", len(g) * g[-1]),
        ("loop-short", "the sum without the g of the first state", sum(g[1:])),
        ("loop-short", "the sum without the g of the last state", sum(g[:-1])),
        ("twice", "a sum in which later states count several times",
         sum(2 ** (t + 1) * x for t, x in enumerate(g))),
        (*zero, 0 * g[0]),
    ]  # fmt: skip
    with result("d_h0"):
        my.equal(backward(g)[1], sum(g), "BH", wrong)


@gradients("of one step")
def of_one_step(my, rng):
    check_gradients(my, draw(rng, T=1, I=3))


@gradients("of three steps")
def of_three_steps(my, rng):
    check_gradients(my, draw(rng, B=7, I=5, H=2))


@gradients("with the digits of a formula")
def all_digits(my, rng):
    for arguments in (draw(rng), draw(rng, 3, 3, 3, 3)):  # also with equal sizes
        hs, backward = my.gru(*arguments)
        g = rng.normal(size=hs.shape)
        right = gathered(*chain(arguments, g))
        for found, (name, want) in zip(backward(g), right.items()):
            has_all_digits(my, found, want, f"d_{name}")


@edges("the same backward twice, and gates of 0 and 1")
def twice(my, rng):
    arguments = draw(rng, T=4, B=3)
    arguments[4][:5] = -500.0  # r is 0
    arguments[4][10:] = 40.0  # n is 1
    hs, backward = my.gru(*arguments)
    g = rng.normal(size=hs.shape)
    want = gathered(*chain(arguments, g))
    for _ in range(2):
        equal_all(my, backward(g), {f"d_{n}": x for n, x in want.items()}, rtol=1e-7)


HINTS = {
    "m-for-r": ["d(r m)/dr is m. What is d(r m)/dm?"],
    "da-for-db": [
        "W_hh computes m = W_hn h + b_hn. What is the gradient of m called in slopes?",
    ],
    "wrong-factor": ["Write the product that you differentiate: which factors remain?"],
    "db-for-da": ["x W_in^T is a term of the sum inside the tanh. m is another."],
    "one-output": ["Every state is an output with its own g."],
    "first-state-alone": ["W_hh multiplies the state before each step."],
    "twice": ["dh is computed anew in each step. Does it contain the old one already?"],
    "h-for-m": ["r multiplies m inside the tanh, not h."],
    "wrong-gate": ["The slope of the sigmoid of z contains z."],
    "slopes": ["Which derivatives of h' does the last line of the task give alone?"],
    "gru": [
        "A state is an output, and the input of another step. Which two gradients does "
        "it receive?",
    ],
    "": [
        "Begin with slopes: h' = (1 - z) n + z h is a sum of products. What are "
        "dL/dz and dL/dn? Then go through sigmoid and tanh.",
        "The derivative of sigmoid is s (1 - s) and that of tanh 1 - n^2, both from "
        "the output. The product r m passes da_n r to m and da_n m to r. Through "
        "time: go from the last step to the first; at each step add g of that step "
        "to the gradient from the step after.",
        "With A = (da_r, da_z, da_n) and B = (da_r, da_z, dm) side by side: dW_ih sums "
        "A.T @ x, dW_hh sums B.T @ h, db_ih sums the rows of A, db_hh the rows of B. "
        "The step before receives direct plus B @ W_hh.",
    ],
    "reset-forgotten": ["m is multiplied by r, so its gradient is not da_n itself."],
    "block:n": [
        "The third parts differ: x W_in^T is a term of the sum inside tanh, and W_hn "
        "computes m. The two have different gradients.",
    ],
    "gates-exchanged": ["Let z be 1: is h' then n or h?"],
    "slope-of-input": [
        "The derivatives of sigmoid and tanh are functions of their outputs r, z and "
        "n.",
    ],
    "no-slope": ["Between a gate and the sum inside it there is a sigmoid or a tanh."],
    "z-sees-h-alone": ["A larger z takes more of h and less of n. Both terms count."],
    "z-sees-n-alone": ["A larger z takes more of h and less of n. Both terms count."],
    "wrong-order": [
        "Which step must be finished before the backward of step t can begin?",
    ],
    "one-step": [
        "The gradient from step t + 1 is missing at step t. Where does dh come from?",
    ],
    "last-output-alone": ["Every state is an output with its own g."],
    "last-step-alone": ["Every step uses the weights."],
    "first-step-alone": [
        "Every step uses the weights. Is the part of the step before overwritten?",
    ],
    "m-forgotten": ["r multiplies m: how much does r m change with r?"],
    "no-direct-path": [
        "h reaches h' in four ways, and one of them contains no weights.",
    ],
    "direct-path-alone": ["h reaches h' through W_hh as well, in all three parts."],
    "state-after": ["Was W_hh multiplied by the old state or by the new one?"],
}
