"""Check an answer to E.20."""

import numpy as np

from lessons.checks.measure import exact_gradients, without_loops
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import equal_all, shape_all
from lessons.classroom.steps import edges, gradients, laws, shape, values

V, WORDS = 5, 11
X = np.array([2, 7, 0, 2, 8, 7, 7])  # 2 and 7 occur again, and 7 and 8 are not in V
Y = np.array([2, 7, 0, 4, 8, 2, 1, 7, 3, 0, 2])  # in both, or in one of them
L, S = len(Y), len(X)

# THE EXERCISE IN LOOPS


def softmax(s):
    p = np.exp(s - max(s))
    return p / sum(p)


def sigmoid(r):
    return np.exp(-np.logaddexp(0, -r))


def probabilities(z, e, r, x, words):
    P = np.zeros((len(z), words))
    for i in range(len(z)):
        write, copy = sigmoid(r[i]), sigmoid(-r[i])
        p, a = softmax(z[i]), softmax(e[i])
        for w in range(len(p)):
            P[i, w] = write * p[w]
        for j, w in enumerate(x):
            P[i, w] += copy * a[j]
    return P


def posteriors(z, e, r, x, y):
    pi, rho = np.zeros(len(z)), np.zeros(e.shape)
    for i, right in enumerate(y):
        p_y = sum(softmax(z[i])[right : right + 1])  # 0 from V on
        written = sigmoid(r[i]) * p_y
        copied = sigmoid(-r[i]) * softmax(e[i]) * (x == right)
        total = written + sum(copied)
        pi[i] = written / total
        rho[i] = copied / total
    return pi, rho


def copy_loss(z, e, r, x, y):
    loss, n = np.zeros(len(y)), z.shape[1]
    P = probabilities(z, e, r, x, max(n, *x, 0) + 1)
    for i, right in enumerate(y):
        loss[i] = -np.log(P[i, right])

    def backward(g):
        pi, rho = posteriors(z, e, r, x, y)
        dz, de, dr = np.zeros(z.shape), np.zeros(e.shape), np.zeros(len(r))
        for i, right in enumerate(y):
            p, a, lam = softmax(z[i]), softmax(e[i]), sigmoid(r[i])
            onehot = np.arange(n) == right
            dz[i] = g[i] * pi[i] * (p - onehot)
            de[i] = g[i] * ((1 - pi[i]) * a - rho[i])
            dr[i] = g[i] * (lam - pi[i])
        return dz, de, dr

    return loss, backward


# THE CHECK


def draw(rng, L=L, V=V, S=S):
    return rng.normal(size=(L, V)), rng.normal(size=(L, S)), rng.normal(size=L)


@shape("a distribution for each step, a share for each place")
def for_each_step(my, rng):
    inputs = draw(rng)
    my.shape(my.probabilities(*inputs, X, WORDS), (L, WORDS), "LW")
    shape_all(my, my.posteriors(*inputs, X, Y), {"pi": (L,), "rho": (L, S)})
    loss, backward = my.copy_loss(*inputs, X, Y)
    my.shape(loss, (L,), "L")
    shapes = {"dz": (L, V), "de": (L, S), "dr": (L,)}
    shape_all(my, backward(rng.normal(size=L)), shapes)


def equal_posteriors(my, inputs, x, y):
    pi, rho = posteriors(*inputs, x, y)
    want, axes = {"pi": pi, "rho": rho}, {"pi": "L", "rho": "LS"}
    equal_all(my, my.posteriors(*inputs, x, y), want, axes)


@values("the probabilities of all words, against loops")
def of_all_words(my, rng):
    inputs = *draw(rng), X, WORDS
    my.equal(my.probabilities(*inputs), probabilities(*inputs), "LW")


@values("the two posteriors, against loops")
def of_both_ways(my, rng):
    equal_posteriors(my, draw(rng), X, Y)


@values("the loss, against a loop")
def of_the_right_words(my, rng):
    inputs = *draw(rng), X, Y
    my.equal(my.copy_loss(*inputs)[0], copy_loss(*inputs)[0], "L")


@laws("the example of the text")
def of_the_text(my, rng):
    inputs = np.log([[1.0, 1, 2]]), np.log([[1.0, 2, 1]]), np.log([3.0])
    x, y = np.array([1, 3, 1]), np.array([1])
    with without_loops():
        P = my.probabilities(*inputs, x, 4)
        my.equal(P, [[0.1875, 0.3125, 0.375, 0.125]], "LW")
        found = my.posteriors(*inputs, x, y)
        equal_all(my, found, {"pi": np.array([0.6]), "rho": np.array([[0.2, 0, 0.2]])})


@laws("probabilities sum to 1, and so do the posteriors")
def sums(my, rng):
    inputs = draw(rng)
    my.equal(np.sum(my.probabilities(*inputs, X, WORDS), 1), np.ones(L), "L")
    pi, rho = my.posteriors(*inputs, X, Y)
    my.equal(np.add(pi, np.sum(rho, 1)), np.ones(L), "L")


@gradients("of the loss")
def of_the_loss(my, rng):
    def of_words(copy_loss, y):
        return lambda z, e, r: copy_loss(z, e, r, X, y)

    for *sizes, y in ((5, V, S, Y[:5]), (2, 7, 7, np.array([2, 7]))):
        mine, right = (of_words(f, y) for f in (my.copy_loss, copy_loss))
        exact_gradients(my, mine, right, draw(rng, *sizes), rng)


@edges("r = 50 and r = -50, and scores of 1000")
def far_from_zero(my, rng):
    """A model that is sure to write, and a word that it has to copy; and the reverse."""
    for r, right in ((50.0, 8), (-50.0, 4), (50.0, 2), (-50.0, 2)):
        (z, e, _), y = draw(rng, 3), np.full(3, right)
        inputs = z + 1000, e - 1000, np.full(3, r)
        P, want = (f(*inputs, X, WORDS) for f in (my.probabilities, probabilities))
        my.equal(np.asarray(P)[:, right], want[:, right], "L")
        equal_posteriors(my, inputs, X, y)
        loss, backward = my.copy_loss(*inputs, X, y)
        want, of_right = copy_loss(*inputs, X, y)
        my.equal(loss, want, "L")
        want = dict(zip(("dz", "de", "dr"), of_right(g := rng.normal(size=3))))
        equal_all(my, backward(g), want, size=1.0)


@edges("a source of one word, three times")
def one_source_word(my, rng):
    for word, words in ((1, 4), (12, 13)):
        inputs = *draw(rng, 2, 4, 3), np.full(3, word)
        P = probabilities(*inputs, words)
        my.equal(my.probabilities(*inputs, words), P, "LW")
        y = np.array([word, 0])
        equal_posteriors(my, inputs[:3], inputs[3], y)
        my.equal(my.copy_loss(*inputs, y)[0], copy_loss(*inputs, y)[0], "L")


WAYS = "write, copy = sigmoid(r[i]), sigmoid(-r[i])"
BOTH = "p, a = softmax(z[i]), softmax(e[i])\n        for w"
WRITE, COPY = "P[i, w] = write * p[w]", "P[i, w] += copy * a[j]"
P_Y = "p_y = sum(softmax(z[i])[right : right + 1])"
WRITTEN = "written = sigmoid(r[i]) * p_y"
COPIED = "copied = sigmoid(-r[i]) * softmax(e[i]) * (x == right)"
PI, RHO = "pi[i] = written / total", "rho[i] = copied / total"
LOSS = "loss[i] = -np.log(P[i, right])"
DZ = "dz[i] = g[i] * pi[i] * (p - onehot)"
DE = "de[i] = g[i] * ((1 - pi[i]) * a - rho[i])"
DR = "dr[i] = g[i] * (lam - pi[i])"
ADDS_ONCE = "P[:, x] += … adds once to each word. A loop over j adds for each place."
BEFORE = "lambda is the probability before y is known, and pi the one after."
MIX = "lambda and 1 - lambda are the probabilities of the two ways; they sum to 1."
PROBABILITIES = "What is mixed are probabilities, so logits and scores come first."
LAST = "1 - lambda is 0 in float64 for r = 50. It is also sigmoid(-r)."
BAYES = "P(written | y) = P(written and y) / P(y)."
JOINT = "Divide by P(y): the posteriors of both ways sum to 1."
OWN = "A place j with x_j other than y cannot be where y came from."
SHARE = "How much of the loss depends on z, if y was copied with probability 1 - pi?"
SOFT = "de_j = a_j (da_j - sum_n a_n da_n), with da_j = -rho_j / a_j."
GATE = "d lambda / dr = lambda (1 - lambda), and P(y) is linear in lambda."

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("last-place", "P in which each word is copied from its last place alone",
     ADDS_ONCE, COPY, "P[i, w] = (write * p[w] if w < len(p) else 0) + copy * a[j]"),
    ("overwritten", "P in which copying replaces writing, and the earlier places",
     ADDS_ONCE, COPY, "P[i, w] = copy * a[j]"),
    ("sign", "lambda and 1 - lambda exchanged in P", MIX, WAYS,
     "copy, write = sigmoid(r[i]), sigmoid(-r[i])"),
    ("no-gate", "both ways added, without lambda", MIX, WAYS, "write, copy = 1.0, 1.0"),
    ("no-sigmoid", "r for lambda", "lambda = sigmoid(r)", WAYS,
     "write, copy = r[i], 1 - r[i]"),
    ("scores", "the scores e for the weights a in P", PROBABILITIES, BOTH,
     "p, a = softmax(z[i]), e[i]\n        for w"),
    ("rounded", "P with 1 - lambda, which is rounded", LAST, WAYS,
     "write, copy = sigmoid(r[i]), 1 - sigmoid(r[i])"),
    ("prior", "lambda for pi", BEFORE, PI, "pi[i] = sigmoid(r[i])"),
    ("joint", "pi not divided by P(y)", JOINT, PI, "pi[i] = written"),
    ("joint", "rho not divided by P(y)", JOINT, RHO, "rho[i] = copied"),
    ("decided", "1 for pi if y is in the vocabulary",
     "A word of the vocabulary may be copied as well.", PI, "pi[i] = p_y > 0"),
    ("no-gate", "posteriors of two equally probable ways, without lambda", BAYES,
     f"{WRITTEN}\n        {COPIED}",
     "written = p_y\n        copied = softmax(e[i]) * (x == right)"),
    ("sign", "posteriors with lambda and 1 - lambda exchanged", MIX,
     f"{WRITTEN}\n        {COPIED}", "written = sigmoid(-r[i]) * p_y\n        "
     "copied = sigmoid(r[i]) * softmax(e[i]) * (x == right)"),
    ("copied-alone", "rho that sums to 1: given that y was copied",
     "It is not known that y was copied. pi + sum rho = 1.", RHO,
     "rho[i] = copied / (sum(copied) or 1)"),
    ("other-words", "rho without [x_j = y]", OWN, RHO,
     "rho[i] = sigmoid(-r[i]) * softmax(e[i]) / total"),
    ("other-words", "(1 - pi) a for rho, shared by all places", OWN, RHO,
     "rho[i] = sum(copied) / total * softmax(e[i])"),
    ("last-word", "the last word of the vocabulary for words from V on",
     "A word that the vocabulary lacks cannot be written: pi is 0.", P_Y,
     "p_y = softmax(z[i])[min(right, z.shape[1] - 1)]"),
    ("rounded", "posteriors with 1 - lambda, which is rounded", LAST, COPIED,
     "copied = (1 - sigmoid(r[i])) * softmax(e[i]) * (x == right)"),
    ("sign", "ln P(y), without the sign", "", LOSS, "loss[i] = np.log(P[i, right])"),
    ("epsilon", "-ln (P(y) + 1e-12)", "P(y) may be as small as e^-50.", LOSS,
     "loss[i] = -np.log(P[i, right] + 1e-12)"),
    ("prior", "lambda for pi in dz", SHARE, DZ, "dz[i] = g[i] * lam * (p - onehot)"),
    ("no-share", "softmax(z) - onehot(y) for dz, without pi", SHARE, DZ,
     "dz[i] = g[i] * (p - onehot)"),
    ("share-of-one", "softmax(z) - pi onehot(y) for dz", SHARE, DZ,
     "dz[i] = g[i] * (p - pi[i] * onehot)"),
    ("diagonal", "-pi (1 - p) onehot(y) for dz, the diagonal alone",
     "Each logit is in the denominator of softmax(z)_y.", DZ,
     "dz[i] = g[i] * pi[i] * (p - 1) * onehot"),
    ("no-share", "a - rho for de, without 1 - pi", SOFT, DE,
     "de[i] = g[i] * (a - rho[i])"),
    ("prior", "(1 - lambda) a - rho for de", SOFT, DE,
     "de[i] = g[i] * ((1 - lam) * a - rho[i])"),
    ("no-centre", "-rho for de, without the softmax's centre", SOFT, DE,
     "de[i] = -g[i] * rho[i]"),
    ("of-the-weights", "-rho / a, the gradient by a, for de", SOFT, DE,
     "de[i] = -g[i] * rho[i] / a"),
    ("other-words", "(1 - pi) (a - [x_j = y]) for de, without the shares of places",
     "Two places of y have different weights.", DE,
     "de[i] = g[i] * (1 - pi[i]) * (a - (x == right))"),
    ("sign", "pi - lambda for dr", "The loss is -ln P(y).", DR,
     "dr[i] = g[i] * (pi[i] - lam)"),
    ("other-way", "the gradient as if y was written, lambda - 1, for dr", GATE, DR,
     "dr[i] = g[i] * (lam - 1)"),
    ("slope-twice", "lambda (1 - lambda) (lambda - pi) for dr",
     "The derivative of the sigmoid is in lambda - pi already.", DR,
     "dr[i] = g[i] * lam * (1 - lam) * (lam - pi[i])"),
    ("no-slope", "the gradient by lambda for dr, without lambda (1 - lambda)", GATE, DR,
     "dr[i] = g[i] * (lam - pi[i]) / (lam * (1 - lam))"),
]  # fmt: skip

HINTS = {
    "probabilities": ["Begin with zeros (L, words), and add both parts."],
    "posteriors": [
        "The summands of P(y) are the probabilities of all ways to y. What is the "
        "share of each?",
    ],
    "copy_loss": [
        "Write the loss as -ln (lambda p_y + (1 - lambda) c), and differentiate by "
        "p_y, c and lambda. Then put in pi and rho.",
    ],
    "": [
        "y == np.arange(V) has True nowhere if y is V or more, so no case is special.",
        "-ln P(y) changes by -dP / P. Each summand of P(y), divided by P(y), is pi or "
        "a rho_j: d ln p_y / dz = onehot(y) - p, so dz = -pi (onehot(y) - p).",
        "dz = pi (softmax(z) - onehot(y)), de = (1 - pi) a - rho, dr = lambda - pi, "
        "each times g.",
    ],
}
