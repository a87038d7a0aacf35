"""Check an answer to E.6."""

import math
import re

import numpy as np

from lessons.checks.measure import has_all_digits, without_loops
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import equal_all, result, several, shape_all
from lessons.classroom.steps import edges, gradients, numbers, shape, values

# THE EXERCISE IN LOOPS


def cell(x, h, W_ih, W_hh, b_ih, b_hh):
    """One number after the other; the parts of one unit are H rows apart."""
    H = h.shape[1]
    r, z, m, n = np.zeros((4, *h.shape))
    for b, j in np.ndindex(*h.shape):
        a_r, a_z, a_n = (W_ih[k] @ x[b] + b_ih[k] for k in (j, H + j, 2 * H + j))
        s_r, s_z, s_n = (W_hh[k] @ h[b] + b_hh[k] for k in (j, H + j, 2 * H + j))
        r[b, j] = 1 / (1 + np.exp(-a_r - s_r))
        z[b, j] = 1 / (1 + np.exp(-a_z - s_z))
        m[b, j] = s_n
        n[b, j] = math.tanh(a_n + r[b, j] * m[b, j])
    return (1 - z) * n + z * h, (h, r, z, m, n)


def slopes(dh, h, r, z, m, n):
    """sigmoid has the derivative s (1 - s), tanh 1 - n^2"""
    da_r, da_z, da_n, dm, direct = found = np.zeros((5, *h.shape))
    for i in np.ndindex(*h.shape):
        da_n[i] = dh[i] * (1 - z[i]) * (1 - n[i] ** 2)
        da_z[i] = dh[i] * (h[i] - n[i]) * z[i] * (1 - z[i])
        dm[i] = da_n[i] * r[i]
        da_r[i] = da_n[i] * m[i] * r[i] * (1 - r[i])
        direct[i] = dh[i] * z[i]
    return tuple(found)


def gru(xs, h0, W_ih, W_hh, b_ih, b_hh):
    """Step by step back, and row by row of the batch."""
    hs, seen, h = [], [], h0
    for x in xs:
        h, kept = cell(x, h, W_ih, W_hh, b_ih, b_hh)
        hs.append(h)
        seen.append(kept)

    def backward(g):
        dxs, dh = np.zeros(xs.shape), np.zeros(h0.shape)
        dW_ih, dW_hh = np.zeros(W_ih.shape), np.zeros(W_hh.shape)
        db_ih, db_hh = np.zeros(b_ih.shape), np.zeros(b_hh.shape)
        for t in range(len(xs) - 1, -1, -1):
            dh = dh + g[t]
            da_r, da_z, da_n, dm, direct = slopes(dh, *seen[t])
            before = np.zeros(h0.shape)
            for i, x in enumerate(xs[t]):
                da = np.concatenate([da_r[i], da_z[i], da_n[i]])
                db = np.concatenate([da_r[i], da_z[i], dm[i]])
                dxs[t, i] = da @ W_ih
                dW_ih += np.outer(da, x)
                dW_hh += np.outer(db, seen[t][0][i])
                db_ih += da
                db_hh += db
                before[i] = direct[i] + db @ W_hh
            dh = before
        return dxs, dh, dW_ih, dW_hh, db_ih, db_hh

    return np.array(hs), backward


# THE CHECK

NAMES = ["xs", "h0", "W_ih", "W_hh", "b_ih", "b_hh"]
PARTS = "da_r", "da_z", "da_n", "dm", "direct"


def draw(rng, T=3, B=2, I=7, H=5):  # noqa: E741
    sizes = (T, B, I), (B, H), (3 * H, I), (3 * H, H), (3 * H,), (3 * H,)
    return [rng.normal(size=size) for size in sizes]


def compare_slopes(my, arguments, right):
    """Fail unless the slopes of a cell are right."""
    found = dict(zip(PARTS, several(my, my.slopes(*arguments), PARTS)))
    right = dict(zip(PARTS, right))
    for name in ("da_n", "da_z", "dm", "da_r", "direct"):  # da_r follows from da_n
        with result(name):
            my.equal(found[name], right[name], "BH", rtol=1e-5, atol=1e-6)
        has_all_digits(my, found[name], right[name], name)


def check_gradients(my, arguments, rng):
    """Fail unless the six gradients are right, with the digits of a formula."""
    H = arguments[1].shape[1]
    gates = {"r": np.s_[:H], "z": np.s_[H : 2 * H], "n": np.s_[2 * H :]}
    blocks = {name: gates for name in NAMES[2:]}
    my.gradients(my.gru, arguments, NAMES, blocks=blocks)
    hs, backward = my.gru(*arguments)
    g = rng.normal(size=np.shape(hs))
    for name, found, want in zip(NAMES, backward(g), gru(*arguments)[1](g)):
        has_all_digits(my, found, want, f"d_{name}")


@shape("five parts of a step, and a gradient for each input")
def of_each(my, rng):
    parts = [rng.normal(size=(2, 7)) for _ in range(6)]
    axes = dict.fromkeys(PARTS, "BH")
    shape_all(my, my.slopes(*parts), dict.fromkeys(PARTS, (2, 7)), axes)
    arguments = draw(rng)
    hs, backward = my.gru(*arguments)
    shapes = {f"d_{name}": x.shape for name, x in zip(NAMES, arguments)}
    shape_all(my, backward(rng.normal(size=np.shape(hs))), shapes)


@numbers("r = 1/4, z = 1/3, n = 1/2, h = 4, m = 8, by hand")
def by_hand(my, rng):
    """da_n = 2/3 3/4 = 1/2, da_z = 7/2 2/9, dm = 1/8, da_r = 8/2 3/16, direct 1/3."""
    one = np.ones((1, 1))
    arguments = one, 4 * one, one / 4, one / 3, 8 * one, one / 2
    with without_loops():  # mistakes agree by chance in one number
        want = 0.75 * one, 7 / 9 * one, one / 2, one / 8, one / 3
        compare_slopes(my, arguments, want)


@values("the slopes of a step")
def of_a_step(my, rng):
    dh, h, m = rng.normal(size=(3, 3, 7))
    r, z, n = rng.uniform((0, 0, -1), 1, size=(3, 7, 3)).T
    arguments = dh, h, r.T, z.T, m, n.T
    compare_slopes(my, arguments, slopes(*arguments))


@gradients("of two steps")
def of_two_steps(my, rng):
    check_gradients(my, draw(rng, T=2, B=3, I=1, H=2), rng)
    check_gradients(my, draw(rng, 2, 2, 2, 2), rng)  # also with equal sizes


@gradients("of one step")
def of_one_step(my, rng):
    with without_loops():  # a loop that leaves out a step gives 0 here
        check_gradients(my, draw(rng, T=1, B=4, I=3, H=2), rng)


@edges("z = 1 keeps the state: all gradients of the states reach h0")
def remembers(my, rng):
    arguments = draw(rng, T=5)
    arguments[4][5:10] = 60.0  # z is 1 in float64
    hs, backward = my.gru(*arguments)
    g = rng.normal(size=np.shape(hs))
    with result("d_h0"):
        my.equal(backward(g)[1], sum(g), "BH")


@edges("the same backward twice, and gates of 0 and 1")
def twice(my, rng):
    arguments = draw(rng, T=4, B=3)
    arguments[4][:5] = -500.0  # r is 0
    arguments[4][10:] = 40.0  # n is 1
    hs, backward = my.gru(*arguments)
    g = rng.normal(size=np.shape(hs))
    want = gru(*arguments)[1](g)
    for _ in range(2):
        found = {f"d_{name}": x for name, x in zip(NAMES, want)}
        equal_all(my, backward(g), found, rtol=1e-7)


DA_N = "da_n[i] = dh[i] * (1 - z[i]) * (1 - n[i] ** 2)"
DA_Z = "da_z[i] = dh[i] * (h[i] - n[i]) * z[i] * (1 - z[i])"
DM = "dm[i] = da_n[i] * r[i]"
DA_R = "da_r[i] = da_n[i] * m[i] * r[i] * (1 - r[i])"
DIRECT = "direct[i] = dh[i] * z[i]"
PRODUCTS = [DA_N, DA_Z, DM, DA_R, DIRECT]
DX = "dxs[t, i] = da @ W_ih"
LOOP = "range(len(xs) - 1, -1, -1)"
ADD = "dh = dh + g[t]"
OLD = "seen[t][0][i])"
BEFORE = "before[i] = direct[i] + db @ W_hh"
SUMS = [
    "dW_ih += np.outer(da, x)", f"dW_hh += np.outer(db, {OLD}", "db_ih += da",
    "db_hh += db",
]  # fmt: skip
EXCHANGED = "Let z be 1: is h' then n or h?"
SLOPE = "Between a gate and the sum inside it there is a sigmoid or a tanh."
DERIVATIVE = "Write the derivative of each function beside it, with its own letter."
BOTH = "A larger z takes more of h and less of n. Both terms count."
OWN_GATE = "The slope of the sigmoid of z contains z."
OWN_G = "Every state is an output with its own g."
M = "W_hh computes m = W_hn h + b_hn. What is the gradient of m called in slopes?"
ALL_STEPS = "How many states have a g? Does the loop begin with the last of them?"
EVERY = "Every step uses the weights. Is the part of another step overwritten?"
ORDER = "Which step must be finished before the backward of step t can begin?"

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("no-slope", "da_n = dh (1 - z), without the slope of tanh", SLOPE, DA_N,
     "da_n[i] = dh[i] * (1 - z[i])"),
    ("gates-exchanged", "da_n = dh z (1 - n^2), with z for 1 - z", EXCHANGED, DA_N,
     "da_n[i] = dh[i] * z[i] * (1 - n[i] ** 2)"),
    ("wrong-derivative", "da_n = dh (1 - z)(1 + n^2)", DERIVATIVE, DA_N,
     DA_N.replace("1 - n", "1 + n")),
    ("wrong-derivative", "da_n = dh (1 - z)(1 - tanh(n)^2)", DERIVATIVE, DA_N,
     DA_N.replace("n[i] **", "math.tanh(n[i]) **")),
    ("wrong-derivative", "da_n = dh (1 - z)(1 - n)", DERIVATIVE, DA_N,
     DA_N.replace(" ** 2", "")),
    ("wrong-derivative", "da_n = dh (1 - z) n (1 - n)", DERIVATIVE, DA_N,
     DA_N.replace("(1 - n[i] ** 2)", "n[i] * (1 - n[i])")),
    ("z-sees-n-alone", "da_z = dh (-n) z (1 - z), of n alone", BOTH, DA_Z,
     DA_Z.replace("h[i] - n[i]", "-n[i]")),
    ("z-sees-h-alone", "da_z = dh h z (1 - z), of h alone", BOTH, DA_Z,
     DA_Z.replace("(h[i] - n[i])", "h[i]")),
    ("no-slope", "da_z = dh (h - n), without the slope of the sigmoid", SLOPE, DA_Z,
     "da_z[i] = dh[i] * (h[i] - n[i])"),
    ("wrong-gate", "da_z = dh (h - n) r (1 - r), with r for z", OWN_GATE, DA_Z,
     DA_Z.replace("z[i] * (1 - z[i])", "r[i] * (1 - r[i])")),
    ("plus", "da_z = dh (h + n) z (1 - z), with + for -", "h' = (1 - z) n + z h: with "
     "which sign does z multiply n?", DA_Z, DA_Z.replace("h[i] -", "h[i] +")),
    ("wrong-derivative", "da_z = dh (h - n) (1 - z^2), the slope of a tanh", DERIVATIVE,
     DA_Z, DA_Z.replace("z[i] * (1 - z[i])", "(1 - z[i] ** 2)")),
    ("reset-forgotten", "dm = da_n, without r",
     "m is multiplied by r, so its gradient is not da_n itself.", DM,
     "dm[i] = da_n[i]"),
    ("m-for-r", "dm = da_n m, with m for r", "d(r m)/dr is m. What is d(r m)/dm?", DM,
     "dm[i] = da_n[i] * m[i]"),
    ("no-slope", "dm = dh (1 - z) r, without the slope of tanh", SLOPE, DM,
     "dm[i] = dh[i] * (1 - z[i]) * r[i]"),
    ("no-slope", "da_r = da_n m, without the slope of the sigmoid", SLOPE, DA_R,
     "da_r[i] = da_n[i] * m[i]"),
    ("m-forgotten", "da_r = da_n r (1 - r), without m",
     "r multiplies m: how much does r m change with r?", DA_R,
     "da_r[i] = da_n[i] * r[i] * (1 - r[i])"),
    ("h-for-m", "da_r = da_n h r (1 - r), with h for m",
     "r multiplies m inside the tanh, not h.", DA_R,
     "da_r[i] = da_n[i] * h[i] * r[i] * (1 - r[i])"),
    ("wrong-gate", "da_r = da_n m z (1 - z), with z for r", OWN_GATE, DA_R,
     DA_R.replace("r[i] * (1 - r[i])", "z[i] * (1 - z[i])")),
    ("no-slope", "da_r = dh (1 - z) m r (1 - r), without the slope of tanh", SLOPE,
     DA_R, DA_R.replace("= da_n[i]", "= dh[i] * (1 - z[i])")),
    ("gates-exchanged", "direct = dh (1 - z), with 1 - z for z", EXCHANGED, DIRECT,
     "direct[i] = dh[i] * (1 - z[i])"),
    *(("scale:-1", f"-1 times {line.partition('[')[0]}", "", line,
       line.replace("= ", "= -")) for line in PRODUCTS),
    ("one-step", "gradients without those of the step after",
     "The gradient from step t + 1 is missing at step t. Where does dh come from?", ADD,
     "dh = g[t]"),
    ("last-output-alone", "the gradient for the last state alone", OWN_G, ADD,
     "dh = dh + g[t] * (t == len(xs) - 1)"),
    ("one-output", "gradients with the g of the last state in every step", OWN_G, ADD,
     "dh = dh + g[-1]"),
    ("twice", "gradients with dh += where the step before has dh =",
     "dh is computed anew in each step. Does it contain the old one already?",
     "dh = before", "dh = dh + before"),
    ("wrong-order", "gradients of a loop from first to last", ORDER, LOOP,
     "range(len(xs))"),
    ("loop-short", "gradients of a loop without the first state", ALL_STEPS, LOOP,
     "range(len(xs) - 1, 0, -1)"),
    ("loop-short", "gradients of a loop without the last state", ALL_STEPS, LOOP,
     "range(len(xs) - 2, -1, -1)"),
    ("no-direct-path", "the gradient without the path through z h",
     "h reaches h' in four ways, and one of them contains no weights.", BEFORE,
     "before[i] = db @ W_hh"),
    ("direct-path-alone", "the gradient through z h alone",
     "h reaches h' through W_hh as well, in all three parts.", BEFORE,
     "before[i] = direct[i]"),
    ("da-for-db", "the gradient through (da_r, da_z, da_n) @ W_hh", M, BEFORE,
     BEFORE.replace("db", "da")),
    ("da-for-db", "gradients with (da_r, da_z, da_n) for (da_r, da_z, dm)", M,
     "da_z[i], dm[i]]", "da_z[i], da_n[i]]"),
    ("db-for-da", "gradients through (da_r, da_z, dm) @ W_ih",
     "x W_in^T is a term of the sum inside the tanh. m is another.", DX,
     DX.replace("da", "db")),
    ("swapped", "gradients with r and z exchanged",
     "W_ih, W_hh and the biases contain the three parts r, z, n in this order.",
     "da = np.concatenate([da_r[i], da_z[i],",
     "da = np.concatenate([da_z[i], da_r[i],"),
    ("state-after", "sums with the state after each step",
     "Was W_hh multiplied by the old state or by the new one?", OLD, "hs[t][i])"),
    ("first-state-alone", "sums with h0 in every step",
     "W_hh multiplies the state before each step.", OLD, "h0[i])"),
    ("shifted", "sums with the input of the step before", "", "np.outer(da, x)",
     "np.outer(da, xs[t - 1][i])"),
    *(("first-step-alone", f"the part of the first step, in {line.partition(' ')[0]}",
       EVERY, line, f"{line} * (t == 0)") for line in SUMS),
    *(("last-step-alone", f"the part of the last step, in {line.partition(' ')[0]}",
       EVERY, line, f"{line} * (t == len(xs) - 1)") for line in SUMS),
]  # fmt: skip


def wrong_factors(line):
    """Return rows for a product: a factor is missing, or a gate is 1 - the gate."""
    target, _, product = line.partition(" = ")
    own, found = product.split(" * "), {}
    for k, a in enumerate(own):
        found[f"without the factor {a}"] = own[:k] + own[k + 1 :]
        if a in ("r[i]", "z[i]", "(1 - r[i])", "(1 - z[i])"):
            b = a[5:-1] if "-" in a else f"(1 - {a})"
            found[f"with {b} for {a}"] = own[:k] + [b] + own[k + 1 :]
    known = [new for *_, old, new in SPOILED if old == line]
    for what, factors in found.items():
        text = re.sub(r"\[i\]|[()]", "", f"{target} {what}")
        new = f"{target} = {' * '.join(factors)}"
        if new not in known:
            yield "wrong-factor", text, "", line, new


SPOILED += [row for line in PRODUCTS for row in wrong_factors(line)]

HINTS = {
    "wrong-factor": ["Write the product that you differentiate: which factors remain?"],
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
    "block:n": [
        "The third parts differ: x W_in^T is a term of the sum inside tanh, and W_hn "
        "computes m. The two have different gradients.",
    ],
}
