"""Check an answer to E.10."""

import numpy as np

from lessons.checks.measure import has_all_digits
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import equal_all
from lessons.classroom.steps import edges, gradients, laws, numbers, shape, values

# THE EXERCISE IN LOOPS


def split(x, H):
    """Head h has the columns from h E on."""
    n, E = len(x), x.shape[1] // H
    heads = np.zeros((H, n, E))
    for h in range(H):
        heads[h] = x[:, h * E : h * E + E]
    return heads


def join(x):
    H, n, E = x.shape
    rows = np.zeros((n, H * E))
    for h in range(H):
        rows[:, h * E : h * E + E] = x[h]
    return rows


def attention(q, k, v):
    """One query of one head after the other"""
    scale = q.shape[-1] ** -0.5
    s, p = np.zeros((2, *q.shape[:2], k.shape[1]))
    o = np.zeros(q.shape)
    for h, i in np.ndindex(*q.shape[:2]):
        s[h, i] = scale * (k[h] @ q[h, i])
        p[h, i] = np.exp(s[h, i]) / np.exp(s[h, i]).sum()
        o[h, i] = p[h, i] @ v[h]

    def backward(g):
        dq, dk, dv = np.zeros(q.shape), np.zeros(k.shape), np.zeros(v.shape)
        for h, i in np.ndindex(*q.shape[:2]):
            p_i, dp = p[h, i], v[h] @ g[h, i]
            ds = p_i * (dp - p_i @ dp)
            dq[h, i] = scale * ds @ k[h]
            dk[h] += scale * np.outer(ds, q[h, i])
            dv[h] += np.outer(p_i, g[h, i])
        return dq, dk, dv

    return o, backward


def multihead(X, Y, W_q, W_k, W_v, W_o, H):
    """One row of X, and then of Y, after the other"""
    of_heads = [split(x @ W.T, H) for x, W in ((X, W_q), (Y, W_k), (Y, W_v))]
    o, of_attention = attention(*of_heads)
    O = join(o)

    def backward(g):
        dO = split(g @ W_o, H)
        dQ, dK, dV = (join(d) for d in of_attention(dO))
        dX, dY = np.zeros(X.shape), np.zeros(Y.shape)
        dW_q, dW_k, dW_v, dW_o = np.zeros((4, *W_o.shape))
        for i in range(len(X)):
            dX[i] = dQ[i] @ W_q
            dW_q += np.outer(dQ[i], X[i])
            dW_o += np.outer(g[i], O[i])
        for j in range(len(Y)):
            dY[j] = dK[j] @ W_k + dV[j] @ W_v
            dW_k += np.outer(dK[j], Y[j])
            dW_v += np.outer(dV[j], Y[j])
        return dX, dY, dW_q, dW_k, dW_v, dW_o

    return O @ W_o.T, backward


# THE CHECK

NAMES = "X", "Y", "W_q", "W_k", "W_v", "W_o"


def draw(rng, L=3, S=4, D=6):
    """Return X (L, D), Y (S, D) and four weights (D, D)."""
    weights = rng.normal(size=(4, D, D)) / 2
    return [rng.normal(size=(L, D)), rng.normal(size=(S, D)), *weights]


def compare(my, mine, right, inputs, rng):
    """Fail unless the gradients of an operation are right, to the last digits."""
    y, backward = mine(*inputs.values())
    g = rng.normal(size=np.shape(y))
    found, want = backward(g), right(*inputs.values())[1](g)
    want = dict(zip([f"d_{name}" for name in inputs], want))
    equal_all(my, found, want, rtol=1e-5, atol=1e-6)
    for each, (name, gradient) in zip(found, want.items()):
        has_all_digits(my, each, gradient, name)
    my.gradients(mine, [*inputs.values()], [*inputs])


@shape("heads, and their rows")
def for_each(my, rng):
    x = rng.normal(size=(5, 21))
    my.shape(my.split(x, 3), (3, 5, 7), "HnE")
    my.shape(my.join(rng.normal(size=(3, 5, 7))), (5, 21), "nD")


@numbers("two heads of 0, 1, 2, 3 and 4, 5, 6, 7")
def two_heads(my, rng):
    x = np.arange(8.0).reshape(2, 4)
    want = [[[0.0, 1.0], [4.0, 5.0]], [[2.0, 3.0], [6.0, 7.0]]]
    my.equal(my.split(x, 2), want, "HnE")
    my.equal(my.join(np.array(want)), x, "nD")


@values("split, join and the output")
def the_output(my, rng):
    for size in ((5, 21), (3, 9)):  # also as many rows as heads, and as entries
        x = rng.normal(size=size)
        heads = split(x, 3)
        my.equal(my.split(x, 3), heads, "HnE")
        my.equal(my.join(heads), x, "nD")
    arguments = *draw(rng, 5, 7), 2
    my.equal(my.multihead(*arguments)[0], multihead(*arguments)[0], "LD")


@gradients("of a head")
def of_a_head(my, rng):
    for H, L, S, E in ((2, 3, 4, 5), (3, 3, 3, 3)):  # also with equal sizes
        arrays = [rng.normal(size=(H, n, E)) for n in (L, S, S)]
        compare(my, my.attention, attention, dict(zip("qkv", arrays)), rng)


@gradients("of all heads and all weights, with 2 heads and with 3")
def of_all(my, rng):
    for H, *sizes in ((2, 3, 5, 4), (3, 3, 3, 3)):  # also with equal sizes

        def mine(X, Y, W_q, W_k, W_v, W_o):
            return my.multihead(X, Y, W_q, W_k, W_v, W_o, H)

        def right(*arrays):
            return multihead(*arrays, H)

        compare(my, mine, right, dict(zip(NAMES, draw(rng, *sizes))), rng)


@gradients("of self-attention: dX and dY stay apart where X is Y")
def of_itself(my, rng):
    X, _, *weights = draw(rng)
    X.flags.writeable = False  # such an array is passed as it is: X is Y
    arguments, g = (X, X, *weights, 2), rng.normal(size=X.shape)
    want = dict(zip(("d_X", "d_Y"), multihead(*arguments)[1](g)))
    equal_all(my, my.multihead(*arguments)[1](g)[:2], want)


@laws("heads are independent of each other")
def independent(my, rng):
    q, k, v = (rng.normal(size=(3, n, 5)) for n in (2, 7, 7))
    o, backward = my.attention(q, k, v)
    g = np.zeros_like(o)
    g[1] = rng.normal(size=o[1].shape)
    for name, found in zip(("dq", "dk", "dv"), backward(g)):
        others = np.abs(np.asarray(found)[[0, 2]]).max()
        my.holds(
            others == 0,
            "heads-coupled",
            f"expected {name} = 0 for the heads 0 and 2, as g is 0 there",
            f"found up to {others:.3g}",
        )


@edges("one head, one key, and as many heads as entries")
def few(my, rng):
    x = rng.normal(size=(5, 6))
    my.equal(my.split(x, 1), x[None], "HnE")
    my.equal(my.split(x, 6), x.T[:, :, None], "HnE")
    q, k, v = (rng.normal(size=(2, n, 5)) for n in (3, 1, 1))
    o, backward = my.attention(q, k, v)
    g = rng.normal(size=np.shape(o))
    dq, dk, dv = backward(g)
    my.equal(dv, g.sum(1, keepdims=True), "HSE")
    largest = max(np.abs(dq).max(), np.abs(dk).max())
    my.holds(
        largest < 1e-12,
        "no-centre",
        "expected dq = dk = 0: a single key has the weight 1 for any score",
        f"found up to {largest:.3g}",
    )


HEAD = "heads[h] = x[:, h * E : h * E + E]"
ROWS = "rows[:, h * E : h * E + E] = x[h]"
SCALE = "scale = q.shape[-1] ** -0.5"
D_P = "p[h, i], v[h] @ g[h, i]"
D_S = "ds = p_i * (dp - p_i @ dp)"
D_O = "dO = split(g @ W_o, H)"
D_X = "dX[i] = dQ[i] @ W_q"
D_Y = "dY[j] = dK[j] @ W_k + dV[j] @ W_v"
OUTER = "(g[i], O[i])"
OWN = "Each head has its own entries, weights and gradients."
BESIDE = "Head h has the entries h E, …, h E + E - 1, side by side."
WIDTH = "q . k of one head is a sum of E terms."
CENTRE = "If one score of a row rises, the other weights of the row fall."
TURNED = "Q = X W_q^T. Write dX with indices: over which index of W_q is the sum?"
SKIPPED = "Q = X W_q^T: what is dQ/dX?"
USES = "Y is used for the keys and for the values."
INPUT = "Which array does W_o multiply?"
WHOSE = "Which weights multiply X, and which multiply Y?"
ADDS_UP = "dX is the gradient of X as the queries, dY that of Y as keys and values."

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("heads-mixed", "the entries divided into heads row after row",
     "Head 0 has the first E entries of every row. Does yours?", HEAD,
     "heads[h] = x.reshape(H, n, E)[h]"),
    ("interleaved", "every H-th entry, from entry h on", BESIDE, HEAD,
     "heads[h] = x[:, h::H]"),
    ("one-head", "head 0 in the place of every head", OWN, HEAD, "heads[h] = x[:, :E]"),
    ("join", "the entries in memory order, divided into rows",
     "join is the inverse of split: one after the other changes nothing.", ROWS,
     "rows[:] = x.reshape(n, H * E)"),
    ("interleaved", "entry 0 of every head, then entry 1 of every head, …", BESIDE,
     ROWS, "rows[:, h::H] = x[h]"),
    ("one-head", "head 0 in the place of every head", OWN, ROWS,
     ROWS.replace("x[h]", "x[0]")),
    ("unscaled", "the output with scores q . k", "", SCALE, "scale = 1"),
    ("scaled-by-d", "the output with scores / d", "", SCALE,
     SCALE.replace("0.5", "1.0")),
    ("multiplied", "the output with scores * sqrt(d)", "", SCALE,
     SCALE.replace("-0.5", "0.5")),
    ("scaled-by-length", "the output with scores / sqrt(S), the number of keys", WIDTH,
     SCALE, "scale = k.shape[1] ** -0.5"),
    ("scaled-by-length", "the output with scores / sqrt(L), the number of queries",
     WIDTH, SCALE, "scale = q.shape[1] ** -0.5"),
    ("model-width", "the output with scores / sqrt(D), the width of all heads", WIDTH,
     SCALE, "scale = (len(q) * q.shape[-1]) ** -0.5"),
    ("no-centre", "the gradient with ds = p dp, without - p sum(p dp)", CENTRE, D_S,
     "ds = p_i * dp"),
    ("softmax-diagonal", "the gradient with ds = p (1 - p) dp, the diagonal", CENTRE,
     D_S, "ds = p_i * (1 - p_i) * dp"),
    ("softmax-skipped", "the gradient with ds = dp - sum(p dp), without the factor p",
     "", D_S, "ds = dp - p_i @ dp"),
    ("softmax-skipped", "the gradient with ds = dp", "", D_S, "ds = dp"),
    ("softmax-skipped",
     "the gradient with ds = dp - p sum(p dp), without p in the first term", "", D_S,
     "ds = dp - p_i * (p_i @ dp)"),
    ("one-factor",
     "the gradient with ds = p dp - sum(p dp), without p in the second term", "", D_S,
     "ds = p_i * dp - p_i @ dp"),
    ("unweighted-sum", "the gradient with ds = p (dp - sum(dp)), without p in the sum",
     "", D_S, "ds = p_i * (dp - dp.sum())"),
    ("mean-of-g", "the gradient with ds = p (dp - mean(dp)), the mean without weights",
     "", D_S, "ds = p_i * (dp - dp.mean())"),
    ("mean", "the gradient with ds = p (dp - mean(p dp)), a mean in place of the sum",
     "", D_S, "ds = p_i * (dp - (p_i * dp).mean())"),
    ("plus", "the gradient with ds = p (dp + sum(p dp)), with + for -", "", D_S,
     D_S.replace("-", "+")),
    ("sum-over-everything", "the gradient with one sum(p dp) over all rows", "", D_S,
     "ds = p_i * (dp - (p * (g @ v.swapaxes(1, 2))).sum())"),
    ("wrong-axis", "the gradient with sum(p dp) over axis -2", "", D_S,
     "ds = p_i * (dp - (p[h] * (g[h] @ v[h].T)).sum(0))"),
    ("k-for-v", "the gradient with dp = g k^T for g v^T",
     "o = p v: what is the gradient of p?", D_P, D_P.replace("v[h]", "k[h]")),
    ("one-head", "the gradient with the weights of head 0", OWN, D_P,
     D_P.replace("p[h, i]", "p[0, i]")),
    ("one-head", "the gradient with the weights of head 0", OWN, "np.outer(p_i",
     "np.outer(p[0, i]"),
    ("scores-for-p", "the gradient with the scores in place of the weights",
     "o = p v: which factor has v?", "np.outer(p_i", "np.outer(s[h, i]"),
    ("heads-mixed", "the gradient with g W_o, divided into heads row after row",
     "reshape(H, n, E) gives head 0 the first rows, not the first columns.", D_O,
     "dO = (g @ W_o).reshape(H, len(g), -1)"),
    ("no-W_o", "the gradient with g for g W_o", "Z = O W_o^T: what is dZ/dO?", D_O,
     "dO = split(g, H)"),
    ("W_o-turned", "the gradient with g W_o^T for g W_o",
     "Z = O W_o^T. Write it with indices: over which index of W_o is the sum with g?",
     D_O, D_O.replace("W_o", "W_o.T")),
    ("one-head", "the gradient through head 0 alone", OWN, D_O,
     D_O + " * (np.arange(H) == 0)[:, None, None]"),
    ("one-head", "the gradient with that of head 0 for every head", OWN, "(join(d) for",
     "(np.tile(d[0], H) for"),
    ("one-head", "the gradient of X through head 0 alone", OWN, D_X,
     "n = len(W_q) // H\n            dX[i] = dQ[i, :n] @ W_q[:n]"),
    ("weight-turned", "the gradient with W_q^T for W_q", TURNED, D_X, D_X + ".T"),
    ("weight-turned", "the gradient with W_k^T for W_k", TURNED, D_Y,
     D_Y.replace("W_k", "W_k.T")),
    ("weight-turned", "the gradient with W_v^T for W_v", TURNED, D_Y, D_Y + ".T"),
    ("weight-turned", "the gradient with W_k^T and W_v^T", TURNED, D_Y,
     D_Y.replace("W_k", "W_k.T") + ".T"),
    ("exchanged", "the gradient with W_k for W_q", WHOSE, D_X,
     D_X.replace("W_q", "W_k")),
    ("exchanged", "the gradient with W_v for W_k, W_k for W_v", WHOSE, D_Y,
     "dY[j] = dK[j] @ W_v + dV[j] @ W_k"),
    ("minus", "the gradient with - dV W_v for + dV W_v",
     "Y has two uses: what happens to the gradients of two uses?", D_Y,
     D_Y.replace("+", "-")),
    ("weight-skipped", "the gradient with dQ alone, without W_q", SKIPPED, D_X,
     "dX[i] = dQ[i]"),
    ("weight-skipped", "the gradient with dK + dV, without W_k and W_v", SKIPPED, D_Y,
     "dY[j] = dK[j] + dV[j]"),
    ("one-use", "the gradient through the keys alone", USES, D_Y,
     "dY[j] = dK[j] @ W_k"),
    ("one-use", "the gradient through the values alone", USES, D_Y,
     "dY[j] = dV[j] @ W_v"),
    ("adds-up", "dX + dY, because X is Y", ADDS_UP, D_X,
     D_X + " + (dK[i] @ W_k + dV[i] @ W_v if X is Y else 0)"),
    ("adds-up", "dX + dY, because X is Y", ADDS_UP, D_Y,
     D_Y + " + (dX[j] if X is Y else 0)"),
    ("exchanged", "the gradient of W_q with Y for X", WHOSE, "(dQ[i], X[i])",
     "(dQ[i], (Y if X.shape == Y.shape else X)[i])"),
    ("exchanged", "the gradient of W_k with X for Y", WHOSE, "(dK[j], Y[j])",
     "(dK[j], (X if X.shape == Y.shape else Y)[j])"),
    ("exchanged", "the gradient of W_v with X for Y", WHOSE, "(dV[j], Y[j])",
     "(dV[j], (X if X.shape == Y.shape else Y)[j])"),
    ("wrong-input", "g^T X, with the input X for the output O of the heads", INPUT,
     OUTER, "(g[i], X[i])"),
    ("wrong-input", "g^T Z, with Z = O W_o^T for O", INPUT, OUTER,
     "(g[i], W_o @ O[i])"),
    ("wrong-input", "(g W_o)^T O, with g W_o for g", INPUT, OUTER,
     "(g[i] @ W_o, O[i])"),
]  # fmt: skip

HINTS = {
    "split": [
        "Number the entries of two rows, and write down which of them head 0 has.",
    ],
    "attention": [
        "o is a product, p a softmax, s a product. Which gradient does each step need?",
    ],
    "multihead": [
        "From Z back: W_o, the heads, the three projections; Y is used twice.",
    ],
    "": [
        "reshape reads numbers in the order of memory. Which axis can you divide in "
        "two without moving a number, and which axes do you exchange then?",
        "For y = x W^T, the gradient of x is g W and that of W is g^T x. Backwards: "
        "W_o, split, the heads, join, the three projections. In a head: v, p, s, "
        "then q and k, and the scale is a factor of both.",
        "split: (n, H, E), then transpose to (H, n, E); join undoes the two in the "
        "other order. ds = p (dp - sum(p dp) over the keys), dq = scale ds @ k and dk "
        "= scale ds^T @ q. In multihead dO = g @ W_o, split; join dq, dk, dv; dY is "
        "dk @ W_k plus dv @ W_v.",
    ],
    "heads-coupled": ["Each head has gradients of its own. Which sum runs over all?"],
    "differences": [
        "A difference quotient loses digits. Each gradient here has a formula.",
    ],
}
