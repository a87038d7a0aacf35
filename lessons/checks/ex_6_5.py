"""Check an answer to 6.5."""

import math

import numpy as np

from lessons.checks.attending import wrong_sums
from lessons.checks.attending import wrong_weights as of_scores
from lessons.checks.before import answers_pass
from lessons.checks.measure import has_all_digits
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import result
from lessons.classroom.checking.hypotheses import wrong_softmax_gradients
from lessons.classroom.steps import (
    edges,
    gradients,
    laws,
    numbers,
    shape,
    values,
)

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


def arguments(s, H, W_s, W_h):
    """Return the arguments of tanh (S, d_a), number by number."""
    pre = np.zeros((len(H), len(W_s)))
    for j, h in enumerate(H):
        for k in range(len(W_s)):
            pre[j, k] = sum(a * b for a, b in zip(W_s[k], s))
            pre[j, k] += sum(a * b for a, b in zip(W_h[k], h))
    return pre


def scores(pre, v, bend=math.tanh):
    return np.array([sum(a * bend(x) for a, x in zip(v, row)) for row in pre])


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def softmax(e, mask):
    top = max((x for x, may in zip(e, mask) if may), default=0.0)
    z = np.array([math.exp(x - top) if may else 0.0 for x, may in zip(e, mask)])
    return z / z.sum()


def weights(s, H, W_s, W_h, v, mask):
    return softmax(scores(arguments(s, H, W_s, W_h), v), mask)


def wrong_weights(s, H, W_s, W_h, v, mask):
    """Return the weights of forwards with one mistake: (tag, what, array)."""
    pre, query = arguments(s, H, W_s, W_h), W_s @ s
    blind, minus = (scores(arguments(k * s, H, W_s, W_h), v) for k in (0, -1))
    straight, right = scores(pre, v, bend=float), scores(pre, v)
    e = {
        ("no-tanh", "v . (W_s s + W_h h_j)"): straight,
        ("ignores-query", "v . tanh(W_h h_j)"): blind,
        ("sign", "v . tanh(W_h h_j - W_s s)"): minus,
        ("product", "v . tanh(W_s s * W_h h_j)"): scores((pre - query) * query, v),
        ("relu", "v . max(0, W_s s + W_h h_j)"): scores(pre, v, lambda x: max(x, 0)),
        ("sigmoid", "v . sigmoid(W_s s + W_h h_j)"): scores(pre, v, sigmoid),
        ("tanh-outside", "tanh(v . (W_s s + W_h h_j))"): np.tanh(straight),
        ("no-v", "the sum of tanh(W_s s + W_h h_j)"): scores(pre, np.ones(len(v))),
        ("absolute", "|v| . tanh(W_s s + W_h h_j)"): scores(pre, abs(v)),
        ("scaled", "e / sqrt(d_a)"): right / len(v) ** 0.5,
        ("scaled", "e / 2"): right / 2,
    }
    of_wrong = [(*name, softmax(x, mask)) for name, x in e.items()]
    return [
        *((tag, f"softmax of {text}", alpha) for tag, text, alpha in of_wrong),
        ("no-softmax", "the scores e, without the softmax", right),
        ("no-softmax", "the scores e, 0 where masked", right * mask),
        *of_scores(right, mask),
    ]


def backward_by_loop(
    inputs, mask, g, softmax=None, slope="tanh", query="sum", H="2", keys="states"
):
    """Return all gradients; each option adds one mistake.

    softmax  a place in the list of ``wrong_softmax_gradients``
    """
    s, states, W_s, W_h, v = inputs
    S, pre = len(states), arguments(s, states, W_s, W_h)
    t, alpha = np.tanh(pre), weights(*inputs, mask)
    d = {"alpha": np.array([sum(a * b for a, b in zip(h, g)) for h in states])}
    J = np.array([[a * ((i == j) - b) for j, b in enumerate(alpha)]
                  for i, a in enumerate(alpha)])  # fmt: skip
    d["e"] = sum(d["alpha"][i] * J[i] for i in range(S))
    if softmax is not None:
        d["e"] = wrong_softmax_gradients(alpha, d["alpha"], "alpha")[softmax][2]
    bent = {"tanh": 1 - t**2, "argument": 1 - pre**2, "once": 1 - t,
            "twice": 1 - np.tanh(t) ** 2, "none": np.ones_like(t),
            "no-v": (1 - t**2) / v, "plus": 1 + t**2, "square": t**2,
            "logistic": t * (1 - t), "squared": (1 - t**2) ** 2,
            "tanh-of-tanh": 1 - np.tanh(t)}[slope]  # fmt: skip
    d["pre"] = np.array([d["e"][j] * v * bent[j] for j in range(S)])
    d["v"] = sum(d["e"][j] * t[j] for j in range(S))
    used = {"sum": range(S), "last": [S - 1], "first": [0], "mean": range(S)}[query]
    reached = sum(d["pre"][j] for j in used) / (S if query == "mean" else 1)
    d["W_s"] = np.array([x * s for x in reached])
    c = sum(a * h for a, h in zip(alpha, states))
    rows = {"states": states, "context": [c] * S, "weighted": alpha[:, None] * states,
            "sum": [states.sum(0)] * S, "mean": [states.mean(0)] * S,
            "last": [states[-1]] * S}[keys]  # fmt: skip
    d["W_h"] = sum(np.array([x * rows[j] for x in d["pre"][j]]) for j in range(S))
    d["s"] = sum(x * row for x, row in zip(reached, W_s))
    read = np.array([a * g for a in alpha])
    scored = np.array([sum(x * row for x, row in zip(p, W_h)) for p in d["pre"]])
    d["H"] = {"2": read + scored, "read": read, "scored": scored,
              "unweighted": g + scored, "minus": read - scored,
              "read-twice": 2 * read + scored, "scored-twice": read + 2 * scored,
              "summed": read + scored.sum(0)}[H]  # fmt: skip
    return d


KNOWN = [  # (tag, what, option, the gradients that it changes)
    *((tag, f"with {text} as that of the scores, g = dL/dalpha", {"softmax": k}, NAMES)
      for k, (tag, text, _) in enumerate(
          wrong_softmax_gradients(np.ones(2), np.ones(2), "alpha"))),
    ("wrong-derivative", "with 1 - x * x as the slope of tanh(x)",
     {"slope": "argument"}, NAMES[:4]),
    ("wrong-derivative", "with 1 - tanh(x) as the slope of tanh(x)",
     {"slope": "once"}, NAMES[:4]),
    ("wrong-derivative", "with 1 - tanh(tanh(x))^2 as the slope of tanh(x)",
     {"slope": "twice"}, NAMES[:4]),
    ("wrong-derivative", "with 1 - tanh(tanh(x)) as the slope of tanh(x)",
     {"slope": "tanh-of-tanh"}, NAMES[:4]),
    ("wrong-derivative", "with tanh(x) (1 - tanh(x)) as the slope of tanh(x)",
     {"slope": "logistic"}, NAMES[:4]),
    ("wrong-derivative", "with the slope of tanh squared",
     {"slope": "squared"}, NAMES[:4]),
    # not s and W_s: the sum over j of dL/de_j is 0, so theirs is only negative
    ("wrong-derivative", "with 1 + tanh(x)^2 as the slope of tanh(x)",
     {"slope": "plus"}, ("H", "W_h")),
    ("wrong-derivative", "with tanh(x)^2 as the slope of tanh(x)",
     {"slope": "square"}, ("H", "W_h")),
    ("no-slope", "without the slope of tanh", {"slope": "none"}, NAMES[:4]),
    ("unbroadcast", "of the last position alone, of a sum over all",
     {"query": "last"}, ("s", "W_s")),
    ("unbroadcast", "of the first position alone, of a sum over all",
     {"query": "first"}, ("s", "W_s")),
    ("mean-not-sum", "with a mean over the positions in place of the sum",
     {"query": "mean"}, ("s", "W_s")),
    ("overwrites", "of the context alone, without the scores", {"H": "read"}, ("H",)),
    ("overwrites", "of the scores alone, without the context", {"H": "scored"}, ("H",)),
    ("ignores-weights", "with g for every state, without its weight alpha",
     {"H": "unweighted"}, ("H",)),
    ("minus", "of the context, minus that of the scores", {"H": "minus"}, ("H",)),
    ("term-twice", "with that of the context twice", {"H": "read-twice"}, ("H",)),
    ("term-twice", "with that of the scores twice", {"H": "scored-twice"}, ("H",)),
    ("sum-for-each", "with the sum over all positions in each row",
     {"H": "summed"}, ("H",)),
    ("weighted-states", "with alpha_j h_j in the place of h_j",
     {"keys": "weighted"}, ("W_h",)),
    ("sum-for-each", "with the sum of all states in the place of h_j",
     {"keys": "sum"}, ("W_h",)),
    ("sum-for-each", "with the mean of all states in the place of h_j",
     {"keys": "mean"}, ("W_h",)),
    ("last-term", "with the last state in the place of h_j",
     {"keys": "last"}, ("W_h",)),
    ("context-not-states", "with the context in the place of h_j",
     {"keys": "context"}, ("W_h",)),
    ("no-v", "without the factor v", {"slope": "no-v"}, NAMES[:4]),
]  # fmt: skip


def known(inputs, mask):
    """Return wrong gradients: {name: [(tag, what, function of g)]}."""
    wrong = {name: [] for name in NAMES}
    for tag, what, option, changed in KNOWN:
        for name in changed:

            def make(g, name=name, option=option):
                return backward_by_loop(inputs, mask, g, **option)[name]

            wrong[name].append((tag, f"the gradient {what}", make))

    def right(g):
        return backward_by_loop(inputs, mask, g)

    pre, text = arguments(*inputs[:4]), "sum_j de_j (W_s s + W_h h_j), without tanh"
    no_tanh = "no-tanh", text, lambda g: backward_by_loop(inputs, mask, g)["e"] @ pre
    text = "the gradient with the slope of tanh in the place of tanh"
    wrong["v"] += [
        no_tanh,
        ("slope-for-tanh", text, lambda g: right(g)["e"] @ (1 - np.tanh(pre) ** 2)),
    ]
    text = "the sum of dL/dpre_j, the gradient of W_s s"
    wrong["v"].append(("of-query", text, lambda g: right(g)["pre"].sum(0)))
    text = "the gradient without the factor s: the same number in a row"
    ones = np.ones(inputs[2].shape)
    no_s = "no-s", text, lambda g: right(g)["pre"].sum(0)[:, None] * ones
    wrong["W_s"].append(no_s)
    return wrong


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
    wrong = [(t, w, np.round(a, 3)) for t, w, a in wrong_weights(*inputs, mask)]
    want = [0.297, 0.213, 0.197, 0.293, 0.0]
    with result("alpha"):
        my.equal(np.round(alpha, 3), want, "S", wrong, mask=mask)


@values("weights and context, against loops")
def against_loops(my, rng):
    inputs, mask = draw(rng)
    H = inputs[1]
    for may in (np.ones(7, bool), mask):
        c, alpha = my.bahdanau_forward(*inputs, may)
        want = weights(*inputs, may)
        with result("alpha"):
            my.equal(alpha, want, "S", wrong_weights(*inputs, may), mask=may)
        text = "the mean of the allowed states"
        wrong = [*wrong_sums(want, H), ("ignores-weights", text, H[may].mean(0))]
        with result("c"):
            my.equal(c, sum(a * h for a, h in zip(want, H)), ("d_h",), wrong)


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
    my.gradients(attend, inputs, variants=known(inputs, mask))


@gradients("link by link, from the loss backwards")
def link_by_link(my, rng):
    for S, masked, d in ((7, False, 0), (7, True, 0), (11, True, 0), (5, False, 5)):
        inputs, mask = draw(rng, S, d)
        may, g = mask | (not masked), rng.normal(size=D_H)
        right = backward_by_loop(inputs, may, g)
        yours = my.bahdanau_backward(*inputs, may, g)
        for name in ("alpha", "e", "pre", *NAMES):
            shape_of(my, name, yours[name], right[name].shape)
        if not may.all():  # a weight that is always 0 needs no gradient
            right = {name: right[name] for name in CHAIN[1:]}
        chain = {name: right[name] for name in CHAIN if name in right}
        pre = arguments(*inputs[:4])
        forward = weights(*inputs, may), scores(pre, inputs[-1]), pre
        text = "the forward's value, not its gradient"
        known = {n: [("forward-value", text, x)] for n, x in zip(CHAIN, forward)}
        of_all = backward_by_loop(inputs, np.ones(S, bool), g)
        known["e"] += [
            ("mask-leak", "the gradient with all positions allowed", of_all["e"]),
            ("softmax-skipped", "dL/dalpha", of_all["alpha"]),
        ]
        text = "dL/de_j v, without the slope of tanh"
        known["pre"].append(("no-slope", text, right["e"][:, None] * inputs[-1]))
        my.first_wrong(yours, chain, AXES, known)
        for name in chain:
            has_all_digits(my, yours[name], right[name], f"d_{name}")


@edges("scores of 1e4, and a single state")
def far_and_alone(my, rng):
    inputs, mask = draw(rng)
    z = np.exp(np.where(mask, at_the_limit(inputs, mask), -np.inf))
    naive = [("overflow", "exp(e) / sum exp(e), too large or too small", z / z.sum())]
    found = my.bahdanau_forward(*inputs, mask)[1]
    my.equal(found, weights(*inputs, mask), "S", naive)
    inputs[-1] = 1e4 * inputs[-1]
    e = scores(arguments(*inputs[:4]), inputs[-1])
    lowest = np.isin(e, np.sort(e)[:3])  # the masked scores are thousands above
    for may in (mask, lowest):
        z = np.where(may, np.exp(e - e.max()), 0.0)
        above = "exp(e - the largest score, masked or not), divided by its sum"
        masked = [("masked-maximum", above, z / z.sum()), ("masked-maximum", above, z)]
        found = my.bahdanau_forward(*inputs, may)[1]
        my.holds(
            np.isfinite(found).all() or may is mask,
            "masked-maximum",
            "expected weights that no masked score has an influence on; the masked "
            "scores here are thousands above the others",
            f"found {np.isnan(found).sum()} of {len(found)} weights NaN",
        )
        my.equal(found, weights(*inputs, may), "S", masked)
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
    """Change H and v so that exp of one score overflows and exp of the next does not.

    Return the scores.
    """
    e = np.where(mask, scores(arguments(*inputs[:4]), inputs[-1]), 0.0)
    top = int(np.abs(e).argmax())
    other = next(j for j in np.flatnonzero(mask) if j != top)
    inputs[1][other] = 1.001 * inputs[1][top]
    e = scores(arguments(*inputs[:4]), inputs[-1])
    limit = math.log(np.finfo(float).max)
    inputs[-1] = inputs[-1] * limit / e[[top, other]].mean()
    return scores(arguments(*inputs[:4]), inputs[-1])


HINTS = {
    "mask-leak": ["exp(0) is 1, so a score of 0 has a weight. Whose exp is 0?"],
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
    "no-tanh": [
        "Without tanh the score is affine in h_j. Does your score contain the tanh?",
    ],
    "minus": ["Which sign does the gradient through the scores have?"],
    "sign": ["Which signs do W_s s, W_h h_j and e have in the formula?"],
    "product": ["W_s s and W_h h_j are added."],
    "tanh-outside": ["tanh bends each of the d_a entries; v comes after it."],
    "term-twice": ["c contains h_j once, and so does the argument of tanh at j."],
    "sum-for-each": ["Row j of dL/dpre belongs to h_j alone."],
    "weighted-states": ["W_h multiplies h_j itself, without its weight."],
    "last-term": ["Is each term of the sum added, or the last one kept?"],
    "of-query": ["v multiplies the values of tanh: which vector is de_j / dv?"],
    "no-s": ["W_s multiplies s: what is d(W_s s)_k / d(W_s)_ki?"],
    "slope-for-tanh": ["e_j = v . tanh(…): which vector multiplies v?"],
    "no-v": ["e_j = v . tanh(…): what is de_j / dtanh?"],
    "forward-value": ["The dictionary contains gradients: dL/dalpha, dL/de, dL/dpre."],
    "not-normalised": ["By which sum does the softmax divide?"],
    "ignores-query": ["Which term of the score contains the state of the decoder?"],
    "mask-after": [
        "The allowed weights sum to 1. Yours were divided by a sum that contains "
        "masked positions as well.",
    ],
    "ignores-weights": [
        "c is not the plain mean of the states: each state has its own weight.",
    ],
    "overflow": [
        "exp(1e4) is larger than any float64. Which number can you subtract from all "
        "scores?",
    ],
    "wrong-derivative": [
        "The derivative of tanh at x is 1 - tanh(x)^2. Did you square x or tanh(x)?",
    ],
    "no-slope": [
        "Between e and W_h h_j there is a tanh, and its derivative is a factor of "
        "the gradient.",
    ],
    "unbroadcast": [
        "W_s s is one vector that is used at every position j. What is the backward "
        "of a value that is used S times?",
        "dL/d(W_s s) = sum_j dL/dpre_j.",
        "Sum the gradient of the argument of tanh over its rows, then multiply by W_s.",
    ],
    "masked-maximum": [
        "The largest score is subtracted to keep exp in range. Over which positions "
        "may the maximum be taken, if a masked score is 1000 above all others?",
    ],
    "mean-not-sum": [
        "A value that is used S times receives S gradients. Are they added or "
        "averaged?",
    ],
    "overwrites": [
        "In how many places of the formulas does h_j stand?",
        "h_j is in e_j and in c, so its gradient is a sum of two terms.",
    ],
    "softmax-skipped": ["Between the weights and the scores there is a softmax."],
    "context-not-states": [
        "W_h multiplies each h_j. Which vector belongs to row j of dL/dpre?",
    ],
}
