"""Check an answer to 6.5."""

import math

import numpy as np

from lessons.checks.attending import wrong_sums, wrong_weights
from lessons.checks.before import answers_pass
from lessons.checks.measure import has_all_digits
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import result
from lessons.classroom.checking.hypotheses import wrong_softmax_gradients
from lessons.classroom.steps import edges, gradients, laws, numbers, shape, values

# THE EXERCISE IN LOOPS


def arguments(s, H, W_s, W_h):
    """pre_jk = (W_s s)_k + (W_h h_j)_k, the arguments of tanh"""
    pre = np.zeros((len(H), len(W_s)))
    for j, k in np.ndindex(*pre.shape):
        of_s = sum(a * b for a, b in zip(W_s[k], s))
        of_h = sum(a * b for a, b in zip(W_h[k], H[j]))
        pre[j, k] = of_s + of_h
    return pre


def scores(pre, v):
    """e_j = sum_k v_k tanh(pre_jk)"""
    return np.array([sum(a * math.tanh(x) for a, x in zip(v, row)) for row in pre])


def softmax(e, mask):
    top = max(x for x, may in zip(e, mask) if may)
    z = np.array([np.exp(x - top) if may else 0.0 for x, may in zip(e, mask)])
    return z / sum(z)


def bahdanau_forward(s, H, W_s, W_h, v, mask):
    e = scores(arguments(s, H, W_s, W_h), v)
    alpha, c = softmax(e, mask), np.zeros(H.shape[1])
    for j in range(len(H)):
        c += alpha[j] * H[j]
    return c, alpha


def bahdanau_backward(s, H, W_s, W_h, v, mask, g):
    alpha = bahdanau_forward(s, H, W_s, W_h, v, mask)[1]
    pre = arguments(s, H, W_s, W_h)
    t, d_pre = np.tanh(pre), np.zeros(pre.shape)
    d_W_s, d_W_h, d_v = np.zeros(W_s.shape), np.zeros(W_h.shape), np.zeros(len(v))
    d_s, d_query = np.zeros(len(s)), np.zeros(len(v))
    d_alpha = np.array([sum(a * b for a, b in zip(h, g)) for h in H])
    mean = sum(a * x for a, x in zip(alpha, d_alpha))
    d_e = np.array([a * (x - mean) for a, x in zip(alpha, d_alpha)])
    d_H = np.array([a * g for a in alpha])
    for j, k in np.ndindex(*pre.shape):
        d_pre[j, k] = d_e[j] * v[k] * (1 - t[j, k] ** 2)
        d_v[k] += d_e[j] * t[j, k]
        d_query[k] += d_pre[j, k]
        d_W_h[k] += d_pre[j, k] * H[j]
        d_H[j] += d_pre[j, k] * W_h[k]
    for k in range(len(v)):
        d_W_s[k] = d_query[k] * s
        d_s += d_query[k] * W_s[k]
    chain = {"alpha": d_alpha, "e": d_e, "pre": d_pre}
    return chain | {"v": d_v, "W_s": d_W_s, "W_h": d_W_h, "s": d_s, "H": d_H}


# THE CHECK


NAMES = "s", "H", "W_s", "W_h", "v"
CHAIN = "alpha", "e", "pre", "v", "W_s", "W_h", "s", "H"  # from the loss backwards
D_S, D_H, D_A = 3, 5, 11
AXES = {
    "s": ("d_s",), "H": ("S", "d_h"), "W_s": ("d_a", "d_s"), "W_h": ("d_a", "d_h"),
    "v": ("d_a",), "alpha": "S", "e": "S", "pre": ("S", "d_a"),
}  # fmt: skip


def draw(rng, S=7, d=None):
    """Return [s, H, W_s, W_h, v], and a mask that is False at two positions.

    d  the size of all widths, if they are equal
    """
    d_s, d_h, d_a = (d, d, d) if d else (D_S, D_H, D_A)
    shapes = (d_s,), (S, d_h), (d_a, d_s), (d_a, d_h), (d_a,)
    mask = np.ones(S, bool)
    mask[[1, -1]] = False
    return [rng.normal(size=shape) for shape in shapes], mask


@shape("a context, a weight for each state, and eight gradients")
def for_each(my, rng):
    answers_pass(my, "E.2")
    inputs, mask = draw(rng)
    c, alpha = my.bahdanau_forward(*inputs, mask)
    my.shape(c, (D_H,), ("d_h",))
    my.shape(alpha, (7,), "S")
    found = my.bahdanau_backward(*inputs, mask, rng.normal(size=D_H))
    listed = set(found) if isinstance(found, dict) else type(found).__name__
    my.holds(
        listed == set(CHAIN),
        "type",
        f"expected a dictionary of {', '.join(CHAIN)}",
        f"found {', '.join(map(str, found)) if isinstance(found, dict) else listed}",
    )
    shapes = dict(zip(NAMES, map(np.shape, inputs)))
    for name, each in (shapes | {"alpha": (7,), "e": (7,), "pre": (7, D_A)}).items():
        shape_of(my, name, found[name], each)


def shape_of(my, name, gradient, expected):
    """Fail unless a gradient has this shape."""
    with result(f"d_{name}"):
        my.shape(gradient, expected, AXES[name])


@numbers("the vectors of §6.2.5, of which the book prints other scores")
def the_worked_example(my, rng):
    """The book gives W_s s and W_h h_j: with identities for W they are s and h_j.

    A fifth position is padding, and the mask is False there.
    """
    projected = [
        [0.4, 0.2, -0.3, 0.6], [-0.2, 0.5, 0.3, -0.1],
        [0.7, -0.3, 0.4, 0.2], [0.1, 0.4, -0.2, 0.5], [0.0, 0.0, 0.0, 0.0],
    ]  # fmt: skip
    s, v = np.array([0.3, -0.1, 0.5, 0.2]), np.array([0.3, 0.5, -0.2, 0.4])
    inputs = s, np.array(projected), np.eye(4), np.eye(4), v
    mask = np.arange(5) < 4
    _, alpha = my.bahdanau_forward(*inputs, mask)
    want = [0.297, 0.213, 0.197, 0.293, 0.0]
    with result("alpha"):
        my.equal(np.round(alpha, 3), want, "S", mask=mask)


@values("weights and context, against loops")
def against_loops(my, rng):
    inputs, mask = draw(rng)
    e = scores(arguments(*inputs[:4]), inputs[-1])
    for may in (np.ones(7, bool), mask):
        found, want = (f(*inputs, may) for f in (my.bahdanau_forward, bahdanau_forward))
        with result("alpha"):
            my.equal(found[1], want[1], "S", wrong_weights(e, may), mask=may)
        with result("c"):
            my.equal(found[0], want[0], ("d_h",), wrong_sums(want[1], inputs[1]))


@laws("6, 12, 24 and 48 states: weights that sum to 1, and are 0 where masked")
def of_any_length(my, rng):
    for S in (6, 12, 24, 48):
        inputs, mask = draw(rng, S)
        alpha = np.asarray(my.bahdanau_forward(*inputs, mask)[1])
        off = abs(sum(alpha.tolist()) - 1)
        my.holds(
            off < 1e-12 and (alpha >= 0).all(),
            "not-normalised",
            "expected weights from 0 up that sum to 1",
            f"found a sum with an error of {off:.3g}, and a weight {alpha.min():.3g}",
        )
        my.holds(
            not alpha[~mask].any(),
            "mask-leak",
            "expected exactly 0 where the mask is False",
            f"found {alpha[~mask].max():.3g}",
        )


@laws("neither the order of the states nor padding changes the context")
def order_and_padding(my, rng):
    (s, H, *others), mask = draw(rng)
    c, alpha = map(np.asarray, my.bahdanau_forward(s, H, *others, mask))
    order = rng.permutation(7)
    moved = my.bahdanau_forward(s, H[order], *others, mask[order])
    alone = my.bahdanau_forward(s, H[mask], *others, np.ones(mask.sum(), bool))
    for (c_2, alpha_2), kept, what in (
        (moved, alpha[order], "states in another order"),
        (alone, alpha[mask], "the allowed states alone"),
    ):
        c_2 = np.asarray(c_2)
        same = np.allclose(c_2, c, atol=1e-12) and np.allclose(alpha_2, kept)
        my.holds(
            same,
            "order",
            f"expected the same context and weights for {what}",
            f"found a context that differs by {np.abs(c_2 - c).max():.3g}",
        )


@gradients("link by link, from the loss backwards")
def link_by_link(my, rng):
    for S, masked, d in ((7, False, 0), (7, True, 0), (11, True, 0), (5, False, 5)):
        inputs, mask = draw(rng, S, d)
        may, g = mask | (not masked), rng.normal(size=d or D_H)
        right = bahdanau_backward(*inputs, may, g)
        yours = my.bahdanau_backward(*inputs, may, g)
        for name in CHAIN:
            shape_of(my, name, yours[name], right[name].shape)
        alpha = bahdanau_forward(*inputs, may)[1]
        wrong = {"e": wrong_softmax_gradients(alpha, right["alpha"], "alpha")}
        # a weight that is always 0 needs no gradient
        for name in CHAIN[0 if may.all() else 1 :]:
            with result(f"d_{name}, the first that is wrong"):
                known = wrong.get(name, ())
                my.equal(yours[name], right[name], AXES[name], known, rtol=1e-5)
            has_all_digits(my, yours[name], right[name], f"d_{name}")


@gradients("of the context, for all five")
def of_the_context(my, rng):
    inputs, mask = draw(rng)
    mask[:] = True

    def attend(s, H, W_s, W_h, v):
        def backward(g):
            found = my.bahdanau_backward(s, H, W_s, W_h, v, mask, g)
            return [found[name] for name in NAMES]

        return my.bahdanau_forward(s, H, W_s, W_h, v, mask)[0], backward

    attend.__name__ = "bahdanau_backward"  # for the report
    my.gradients(attend, inputs)


@edges("scores of 1e4, and a single state")
def far_and_alone(my, rng):
    inputs, mask = draw(rng)
    at_the_limit(inputs, mask)
    found = my.bahdanau_forward(*inputs, mask)[1]
    my.equal(found, bahdanau_forward(*inputs, mask)[1], "S")
    inputs[-1] = 1e4 * inputs[-1]
    e = scores(arguments(*inputs[:4]), inputs[-1])
    lowest = np.isin(e, np.sort(e)[:3])  # the masked scores are thousands above
    for may in (mask, lowest):
        found = my.bahdanau_forward(*inputs, may)[1]
        my.holds(
            np.isfinite(found).all() or may is mask,
            "masked-maximum",
            "expected weights that no masked score has an influence on; the masked "
            "scores here are thousands above the others",
            f"found {np.isnan(found).sum()} of {len(found)} weights NaN",
        )
        my.equal(found, bahdanau_forward(*inputs, may)[1], "S")
    inputs, _ = draw(rng, 2)
    one = inputs[1][:1]
    inputs[1], g = one, rng.normal(size=D_H)
    c, alpha = my.bahdanau_forward(*inputs, np.ones(1, bool))
    my.equal(alpha, [1.0], "S")
    my.equal(c, one[0], ("d_h",))
    found = my.bahdanau_backward(*inputs, np.ones(1, bool), g)
    for name in ("s", "W_s", "W_h", "v"):
        my.holds(
            not np.asarray(found[name]).any(),
            "softmax-nocentre",
            "expected the gradient 0: the weight is 1 for any score",
            f"found d_{name} of up to {np.abs(found[name]).max():.3g}",
        )
    my.equal(found["H"], g[None], "jd")


def at_the_limit(inputs, mask):
    """Change H and v so that exp overflows for one score and not for the next."""
    e = np.where(mask, scores(arguments(*inputs[:4]), inputs[-1]), 0.0)
    top = int(np.abs(e).argmax())
    other = next(j for j in np.flatnonzero(mask) if j != top)
    inputs[1][other] = 1.001 * inputs[1][top]
    e = scores(arguments(*inputs[:4]), inputs[-1])
    limit = math.log(np.finfo(float).max)
    inputs[-1] = inputs[-1] * limit / e[[top, other]].mean()


OF_S, TANH = "of_s + of_h", "sum(a * math.tanh(x) for"
TOP = "max(x for x, may in zip(e, mask) if may)"
TERM, ALPHA = "c += alpha[j] * H[j]", "softmax(e, mask), np"
OF_C = "[a * g for a in alpha]"
SLOPE, PRE_V = "(1 - t[j, k] ** 2)", "d_e[j] * v[k] *"
TO_V, TO_QUERY = "d_v[k] += d_e[j] * t[j, k]", "d_query[k] += d_pre[j, k]"
TO_W_H, TO_H = "d_W_h[k] += d_pre[j, k] * H[j]", "d_H[j] += d_pre[j, k] * W_h[k]"
TO_W_S = "d_W_s[k] = d_query[k] * s"
SIGNS = "Which signs do W_s s, W_h h_j and e have in the formula?"
NO_TANH = "Without tanh the score is affine in h_j. Does your score contain the tanh?"
NO_V = "e_j = v . tanh(…): what is de_j / dtanh?"
NO_SLOPE = (
    "Between e and W_h h_j there is a tanh, and its derivative is a factor of the "
    "gradient."
)
DERIVATIVE = (
    "The derivative of tanh at x is 1 - tanh(x)^2. Did you square x or tanh(x)?"
)
RANGE = (
    "exp(1e4) is larger than any float64. Which number can you subtract from all "
    "scores?"
)
LARGEST = (
    "The largest score is subtracted to keep exp in range. Over which positions may "
    "the maximum be taken, if a masked score is 1000 above all others?"
)
OWN_WEIGHT = "c is not the plain mean of the states: each state has its own weight."
AVERAGED = (
    "A value that is used S times receives S gradients. Are they added or averaged?"
)
EACH = "Row j of dL/dpre belongs to h_j alone."
TWICE = "c contains h_j once, and so does the argument of tanh at j."
VALUES = "The dictionary contains gradients: dL/dalpha, dL/de, dL/dpre."

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("ignores-query", "softmax of v . tanh(W_h h_j)",
     "Which term of the score contains the state of the decoder?", OF_S, "of_h"),
    ("sign", "softmax of v . tanh(W_h h_j - W_s s)", SIGNS, OF_S, "of_h - of_s"),
    ("product", "softmax of v . tanh(W_s s * W_h h_j)", "W_s s and W_h h_j are added.",
     OF_S, "of_s * of_h"),
    ("no-tanh", "softmax of v . (W_s s + W_h h_j)", NO_TANH, TANH, "sum(a * x for"),
    ("relu", "softmax of v . max(0, W_s s + W_h h_j)", "", TANH,
     "sum(a * max(x, 0) for"),
    ("sigmoid", "softmax of v . sigmoid(W_s s + W_h h_j)", "", TANH,
     "sum(a / (1 + math.exp(-x)) for"),
    ("tanh-outside", "softmax of tanh(v . (W_s s + W_h h_j))",
     "tanh bends each of the d_a entries; v comes after it.",
     TANH + " a, x in zip(v, row))", "math.tanh(sum(a * x for a, x in zip(v, row)))"),
    ("no-v", "softmax of the sum of tanh(W_s s + W_h h_j)", NO_V, TANH,
     "sum(math.tanh(x) for"),
    ("absolute", "softmax of |v| . tanh(W_s s + W_h h_j)", "", TANH,
     "sum(abs(a) * math.tanh(x) for"),
    ("scaled", "softmax of e / sqrt(d_a)", "", TANH,
     "sum(a * math.tanh(x) / len(v) ** 0.5 for"),
    ("scaled", "softmax of e / 2", "", TANH, "sum(a * math.tanh(x) / 2 for"),
    ("no-softmax", "the scores e, without the softmax", "", ALPHA, "e, np"),
    ("no-softmax", "the scores e, 0 where masked", "", ALPHA, "e * mask, np"),
    ("overflow", "exp(e) / sum exp(e), too large or too small", RANGE, TOP, "0.0"),
    ("masked-maximum", "exp(e - the largest score, masked or not), divided by its sum",
     LARGEST, TOP, "max(e)"),
    ("complement", "the softmax of the masked scores", "", "if may else 0.0",
     "if not may else 0.0"),
    ("ignores-weights", "the mean of the allowed states", OWN_WEIGHT, TERM,
     "c += mask[j] / sum(mask) * H[j]"),
    ("ignores-weights", "the gradient with g for every state, without its weight alpha",
     OWN_WEIGHT, OF_C, "[g for a in alpha]"),
    ("mask-leak", "the gradient with all positions allowed",
     "exp(0) is 1, so a score of 0 has a weight. Whose exp is 0?", "v, mask)[1]",
     "v, np.ones(len(H), bool))[1]"),
    *(
        ("wrong-derivative", f"the gradient with {text} as the slope of tanh(x)",
         DERIVATIVE, SLOPE, f"({line})")
        for text, line in (
            ("1 - x * x", "1 - pre[j, k] ** 2"), ("1 - tanh(x)", "1 - t[j, k]"),
            ("1 - tanh(tanh(x))^2", "1 - math.tanh(t[j, k]) ** 2"),
            ("1 - tanh(tanh(x))", "1 - math.tanh(t[j, k])"),
            ("tanh(x) (1 - tanh(x))", "t[j, k] * (1 - t[j, k])"),
            ("(1 - tanh(x)^2)^2", f"{SLOPE} ** 2"),
            ("1 + tanh(x)^2", "1 + t[j, k] ** 2"), ("tanh(x)^2", "t[j, k] ** 2"),
        )
    ),
    ("no-slope", "the gradient without the slope of tanh", NO_SLOPE, SLOPE, "1"),
    ("no-v", "the gradient without the factor v", NO_V, PRE_V, "d_e[j] *"),
    ("no-tanh", "sum_j de_j (W_s s + W_h h_j), without tanh", NO_TANH, TO_V,
     "d_v[k] += d_e[j] * pre[j, k]"),
    ("ignores-upstream", "sum_j alpha_j tanh(W_s s + W_h h_j), without g", "", TO_V,
     "d_v[k] += alpha[j] * t[j, k]"),
    ("slope-for-tanh", "the gradient with the slope of tanh in the place of tanh",
     "e_j = v . tanh(…): which vector multiplies v?", TO_V,
     f"d_v[k] += d_e[j] * {SLOPE}"),
    ("of-query", "the sum of dL/dpre_j, the gradient of W_s s",
     "v multiplies the values of tanh: which vector is de_j / dv?", TO_V,
     "d_v[k] += d_pre[j, k]"),
    ("unbroadcast", "the gradient of the last position alone, of a sum over all", "",
     TO_QUERY, "d_query[k] = d_pre[j, k]"),
    ("unbroadcast", "the gradient of the first position alone, of a sum over all", "",
     TO_QUERY, "d_query[k] += d_pre[j, k] * (j == 0)"),
    ("mean-not-sum", "the gradient with a mean over the positions in place of the sum",
     AVERAGED, TO_QUERY, TO_QUERY + " / len(H)"),
    ("no-s", "the gradient without the factor s: the same number in a row",
     "W_s multiplies s: what is d(W_s s)_k / d(W_s)_ki?", TO_W_S,
     "d_W_s[k] = d_query[k]"),
    ("weighted-states", "the gradient with alpha_j h_j in the place of h_j",
     "W_h multiplies h_j itself, without its weight.", TO_W_H, TO_W_H + " * alpha[j]"),
    ("sum-for-each", "the gradient with the sum of all states in the place of h_j",
     EACH, TO_W_H, "d_W_h[k] += d_pre[j, k] * sum(H)"),
    ("sum-for-each", "the gradient with the mean of all states in the place of h_j",
     EACH, TO_W_H, "d_W_h[k] += d_pre[j, k] * sum(H) / len(H)"),
    ("last-term", "the gradient with the last state in the place of h_j",
     "Is each term of the sum added, or the last one kept?", TO_W_H,
     "d_W_h[k] += d_pre[j, k] * H[-1]"),
    ("context-not-states", "the gradient with the context in the place of h_j",
     "W_h multiplies each h_j. Which vector belongs to row j of dL/dpre?", TO_W_H,
     "d_W_h[k] += d_pre[j, k] * (alpha @ H)"),
    ("overwrites", "the gradient of the context alone, without the scores", "", TO_H,
     "d_H[j] += 0.0"),
    ("overwrites", "the gradient of the scores alone, without the context", "", OF_C,
     "[0 * g for a in alpha]"),
    ("minus", "the gradient of the context, minus that of the scores",
     "Which sign does the gradient through the scores have?", TO_H,
     "d_H[j] -= d_pre[j, k] * W_h[k]"),
    ("term-twice", "the gradient with that of the context twice", TWICE, OF_C,
     "[2 * a * g for a in alpha]"),
    ("term-twice", "the gradient with that of the scores twice", TWICE, TO_H,
     TO_H + " * 2"),
    ("sum-for-each", "the gradient with the sum over all positions in each row", EACH,
     TO_H, "d_H += d_pre[j, k] * W_h[k]"),
    ("forward-value", "alpha, not its gradient", VALUES, '"alpha": d_alpha',
     '"alpha": alpha'),
    ("forward-value", "e, not its gradient", VALUES, '"e": d_e', '"e": t @ v'),
    ("forward-value", "the argument of tanh, not its gradient", VALUES, '"pre": d_pre',
     '"pre": pre'),
]  # fmt: skip

HINTS = {
    "bahdanau_forward": [
        "Which score does a masked position need, so that its weight is exactly 0 and "
        "the others sum to 1?",
    ],
    "bahdanau_backward": [
        "The report names the first link that is wrong: what is computed there from "
        "what?",
    ],
    "": [
        "Write the shapes first: H W_h^T is (S, d_a), W_s s is (d_a,), and their sum "
        "is the argument of tanh, one row for each position.",
        "Go backwards one link at a time: from c to alpha (6.1), from alpha to e "
        "(the softmax of E.2), from e to v and tanh, from tanh to its argument. Two "
        "products with a matrix remain.",
        "dL/dalpha_j = h_j . g;  dL/de = alpha (dL/dalpha - sum(alpha dL/dalpha)); "
        "dL/dpre_jk = dL/de_j v_k (1 - tanh^2). The argument of tanh at j contains "
        "W_s s and W_h h_j, and c contains h_j as well.",
    ],
    "not-normalised": ["By which sum does the softmax divide?"],
    "mask-after": [
        "The allowed weights sum to 1. Yours were divided by a sum that contains "
        "masked positions as well.",
    ],
    "unbroadcast": [
        "W_s s is one vector that is used at every position j. What is the backward "
        "of a value that is used S times?",
        "dL/d(W_s s) = sum_j dL/dpre_j.",
        "Sum the gradient of the argument of tanh over its rows, then multiply by W_s.",
    ],
    "overwrites": [
        "In how many places of the formulas does h_j stand?",
        "h_j is in e_j and in c, so its gradient is a sum of two terms.",
    ],
    "softmax-skipped": ["Between the weights and the scores there is a softmax."],
}
