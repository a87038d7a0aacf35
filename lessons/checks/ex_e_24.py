"""Check an answer to E.24."""

import numpy as np

from lessons.checks.measure import exact_gradients
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import several, shape_all
from lessons.classroom.steps import edges, gradients, laws, shape, values

N, D, A = 5, 7, 3

# THE EXERCISE IN LOOPS


def leaky(z):
    return z if z > 0 else 0.2 * z


def gat_scores(h, W, a_1, a_2):
    e = np.zeros((len(h), len(h)))
    for i, j in np.ndindex(*e.shape):
        x_i, x_j = W @ h[i], W @ h[j]
        e[i, j] = leaky(a_1 @ x_i + a_2 @ x_j)
    return e


def preferred(h, W, a_2):
    t = [a_2 @ (W @ h[j]) for j in range(len(h))]
    return t.index(max(t))


def gatv2_scores(h, W_l, W_r, a):
    e, n, size = np.zeros((len(h), len(h))), len(h), len(a)
    x, y = [W_l @ row for row in h], [W_r @ row for row in h]
    z = np.array([[x[i] + y[j] for j in range(n)] for i in range(n)])
    f, slope = np.zeros(z.shape), np.zeros(z.shape)
    for i, j, k in np.ndindex(n, n, size):
        f[i, j, k] = leaky(z[i, j, k])
        slope[i, j, k] = 1.0 if z[i, j, k] > 0 else 0.2
        e[i, j] += a[k] * f[i, j, k]

    def backward(g):
        dx, dy, da = np.zeros((n, size)), np.zeros((n, size)), np.zeros(size)
        for i, j, k in np.ndindex(n, n, size):
            dz = g[i, j] * a[k] * slope[i, j, k]
            dx[i, k] += dz
            dy[j, k] += dz
            da[k] += g[i, j] * f[i, j, k]
        dh = dx @ W_l + dy @ W_r
        dW_l = sum(np.outer(dx[i], h[i]) for i in range(n))
        dW_r = sum(np.outer(dy[j], h[j]) for j in range(n))
        return dh, dW_l, dW_r, da

    return e, backward


def average(e, y, edges):
    out = np.zeros((len(e), y.shape[1]))
    for i in range(len(e)):
        read = [j for j in range(len(e)) if edges[i, j]]
        m = max((e[i, j] for j in read), default=0.0)
        p = {j: np.exp(e[i, j] - m) for j in read}
        for j in read:
            out[i] += p[j] / sum(p.values()) * y[j]
    return out


# THE CHECK


def of_gat(rng, n=N):
    """Return h, W, a_1 and a_2."""
    return [rng.normal(size=size) for size in ((n, D), (A, D), A, A)]


def of_gatv2(rng, n=N):
    """Return h, W_l, W_r and a. No step of the gradient check crosses a z of 0."""
    while True:
        h, W_l, W_r, a = (rng.normal(size=s) for s in ((n, D), (A, D), (A, D), A))
        if (abs((h @ W_l.T)[:, None] + h @ W_r.T) > 0.02).all():
            return h, W_l, W_r, a


def graph(rng, n=N):
    """Return edges (n, n), from each node to itself and, one-way, from 0 to 1."""
    edges = (rng.random((n, n)) < 0.4) | np.eye(n, dtype=bool)
    edges[0, 1], edges[1, 0] = True, False
    return edges


@shape("a score for each pair of nodes, a gradient for each argument")
def for_each_pair(my, rng):
    my.shape(my.gat_scores(*of_gat(rng)), (N, N), "ij")
    e, backward = my.gatv2_scores(*of_gatv2(rng))
    my.shape(e, (N, N), "ij")
    shapes = {"dh": (N, D), "dW_l": (A, D), "dW_r": (A, D), "da": (A,)}
    shape_all(my, backward(rng.normal(size=(N, N))), shapes)
    y = rng.normal(size=(N, A))
    my.shape(my.average(rng.normal(size=(N, N)), y, graph(rng)), (N, A), "iA")


@values("scores of GAT, against a loop")
def scores_of_gat(my, rng):
    inputs = of_gat(rng)
    my.equal(my.gat_scores(*inputs), gat_scores(*inputs), "ij")


@values("the node that all prefer, against a loop")
def of_all(my, rng):
    for _ in range(5):
        h, W, _, a_2 = of_gat(rng)
        my.equal(my.preferred(h, W, a_2), preferred(h, W, a_2), "")


@values("scores of GATv2, against a loop")
def scores_of_gatv2(my, rng):
    inputs = of_gatv2(rng)
    my.equal(my.gatv2_scores(*inputs)[0], gatv2_scores(*inputs)[0], "ij")


@values("averages of neighbours, against a loop")
def of_neighbours(my, rng):
    e, y, edges = rng.normal(size=(N, N)), rng.normal(size=(N, A)), graph(rng)
    my.equal(my.average(e, y, edges), average(e, y, edges), "iA")


@laws("GAT: every node prefers the same one, for any a_1")
def static(my, rng):
    h, W, _, a_2 = of_gat(rng)
    j = int(my.preferred(h, W, a_2))
    for size in (0.0, 1.0, 100.0):
        e = np.asarray(my.gat_scores(h, W, size * rng.normal(size=A), a_2))
        my.holds(
            (e.argmax(1) == j).all(),
            "not-static",
            f"expected the largest score of each row at {j}",
            f"found it at {e.argmax(1)}",
        )


@laws("GATv2: every node prefers the one that it should")
def each_its_own(my, rng):
    for wanted in ([1, 2, 3, 0], [1, 0], [0, 0, 1, 3], rng.permutation(6)):
        wanted, n, i = np.array(wanted), len(wanted), np.arange(len(wanted))
        found = several(my, my.mended(wanted), ("W_l", "W_r", "a"))
        found, size = [np.asarray(x, float) for x in found], np.size(found[2])
        shape_all(my, found, {"W_l": (size, n), "W_r": (size, n), "a": (size,)})
        e = gatv2_scores(np.eye(n), *found)[0]
        margins = e[i, wanted] - np.where(i == wanted[:, None], -np.inf, e).max(1)
        names = {
            "small-margin": (e.argmax(1) == wanted).all(),
            "static": np.ptp(e.argmax(1)) == 0,
            "transpose": (e.argmax(0) == wanted).all(),
            "sign": (e.argmin(1) == wanted).all(),
            "not-preferred": True,
        }
        my.holds(
            (margins >= 0.5 - 1e-9).all(),
            next(name for name, is_so in names.items() if is_so),
            f"expected the largest scores of the rows at {wanted}, larger by 0.5",
            f"found them at {e.argmax(1)}, and the margins {margins.round(3)}",
            call="mended",
        )


@gradients("of the scores of GATv2")
def of_the_scores(my, rng):
    exact_gradients(my, lambda h, W_l, W_r, a: my.gatv2_scores(h, W_l, W_r, a),
                    gatv2_scores, of_gatv2(rng), rng)  # fmt: skip


@edges("a node without neighbours, and one that reads all")
def without_neighbours(my, rng):
    e, y, edges = rng.normal(size=(N, N)), rng.normal(size=(N, A)), graph(rng)
    edges[2], edges[3], e[2, 3] = False, True, 900.0
    out = my.average(e, y, edges)
    my.holds(
        np.isfinite(out).all(),
        "nan",
        "expected 0 for a node that reads none",
        f"found {np.asarray(out)[2]}",
    )
    my.equal(out, average(e, y, edges), "iA")


@edges("scores of 1000, rows that are 1000 apart, and larger ones without an edge")
def large(my, rng):
    e, y, edges = rng.normal(size=(N, N)), rng.normal(size=(N, A)), graph(rng)
    for far in (1000.0, -1000.0, 1000.0 * np.arange(N)[:, None]):
        shifted = e + far + np.where(edges, 0.0, 800.0)
        my.equal(my.average(shifted, y, edges), average(shifted, y, edges), "iA")


E_GAT = "e[i, j] = leaky(a_1 @ x_i + a_2 @ x_j)"
LARGEST = "return t.index(max(t))"
KEY = "t = [a_2 @ (W @ h[j]) for j in range(len(h))]"
Z = "z = np.array([[x[i] + y[j] for j in range(n)] for i in range(n)])"
F = "f[i, j, k] = leaky(z[i, j, k])"
SLOPE = "slope[i, j, k] = 1.0 if z[i, j, k] > 0 else 0.2"
DZ = "dz = g[i, j] * a[k] * slope[i, j, k]"
DX, DY = "dx[i, k] += dz", "dy[j, k] += dz"
DA = "da[k] += g[i, j] * f[i, j, k]"
DH = "dh = dx @ W_l + dy @ W_r"
READ = "read = [j for j in range(len(e)) if edges[i, j]]"
M = "m = max((e[i, j] for j in read), default=0.0)"
OUT = "out[i] += p[j] / sum(p.values()) * y[j]"
ROW = "Row i is the node that reads, and column j the one that is read."
LEAKY = "f(z) = z above 0, and 0.2 z below: f(-1) = -0.2."
ONCE = "In GAT f is applied to one number, the whole sum."
BEFORE = "In GATv2 f is applied to A numbers, before the product with a."
GROWS = "e_ij = f(s_i + t_j), and f grows: which part of it depends on j?"
USED = "Every h_i is used twice, as the node that reads and as one that is read."
CHAIN = "dz_ij = g_ij a f'(z_ij). Which of these factors are missing?"
SUMS = "x_i = W_l h_i is in all of row i, and y_j in all of column j."
NEIGHBOURS = "The weights of the nodes that i reads are a softmax of their scores."

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("transpose", "e_ji of GAT, with i and j exchanged", ROW, E_GAT,
     "e[i, j] = leaky(a_1 @ x_j + a_2 @ x_i)"),
    ("no-leaky", "the scores of GAT without f", LEAKY, E_GAT,
     "e[i, j] = a_1 @ x_i + a_2 @ x_j"),
    ("leaky-each", "f(a_1 . W h_i) + f(a_2 . W h_j)", ONCE, E_GAT,
     "e[i, j] = leaky(a_1 @ x_i) + leaky(a_2 @ x_j)"),
    ("relu", "the scores of GAT with 0 for 0.2 z", LEAKY, E_GAT,
     "e[i, j] = max(a_1 @ x_i + a_2 @ x_j, 0.0)"),
    ("slope", "the scores of GAT with 0.01 z for 0.2 z", LEAKY, E_GAT,
     "e[i, j] = max(a_1 @ x_i + a_2 @ x_j, 0.01 * (a_1 @ x_i + a_2 @ x_j))"),
    ("sign", "the node that all like least", GROWS, LARGEST, "return t.index(min(t))"),
    ("no-a", "the node with the largest sum of W h_j, without a_2", GROWS, KEY,
     "t = [sum(W @ h[j]) for j in range(len(h))]"),
    ("one-matrix", "the scores of GATv2 with W_l for both nodes",
     "W_l belongs to the node that reads, and W_r to the one that is read.", Z,
     "z = np.array([[x[i] + x[j] for j in range(n)] for i in range(n)])"),
    ("transpose", "e_ji of GATv2, with i and j exchanged", ROW, Z,
     "z = np.array([[x[j] + y[i] for j in range(n)] for i in range(n)])"),
    ("no-leaky", "the scores of GATv2 without f", LEAKY, F, "f[i, j, k] = z[i, j, k]"),
    ("other-order", "f(a . (W_l h_i + W_r h_j)), the order of GAT", BEFORE, F,
     "f[i, j, k] = z[i, j, k] * (1.0 if a @ z[i, j] > 0 else 0.2)"),
    ("relu", "the scores of GATv2 with 0 for 0.2 z", LEAKY, F,
     "f[i, j, k] = max(z[i, j, k], 0.0)"),
    ("slope", "the scores of GATv2 with 0.01 z for 0.2 z", LEAKY, F,
     "f[i, j, k] = max(z[i, j, k], 0.01 * z[i, j, k])"),
    ("no-slope", "the gradients without f'", CHAIN, SLOPE, "slope[i, j, k] = 1.0"),
    ("relu", "the gradients with the derivative 0 below 0", LEAKY, SLOPE,
     "slope[i, j, k] = 1.0 * (z[i, j, k] > 0)"),
    ("slope", "the gradients with the derivative 0.01 below 0", LEAKY, SLOPE,
     "slope[i, j, k] = 1.0 if z[i, j, k] > 0 else 0.01"),
    ("slope-of-score", "the gradients with f' of the score e for f' of z", BEFORE, DZ,
     "dz = g[i, j] * a[k] * (1.0 if e[i, j] > 0 else 0.2)"),
    ("no-a", "the gradients without a", CHAIN, DZ, "dz = g[i, j] * slope[i, j, k]"),
    ("exchanged", "dx_i and dy_j summed over the wrong axes", SUMS,
     f"{DX}\n            {DY}", "dx[j, k] += dz\n            dy[i, k] += dz"),
    ("one-use", "dh of the node that reads alone", USED, DH, "dh = dx @ W_l"),
    ("derivative", "da with f'(z) for f(z)", "e is linear in a: de_ij / da = f(z_ij).",
     DA, "da[k] += g[i, j] * slope[i, j, k]"),
    ("transpose", "averages of the nodes that read node i", ROW, READ,
     "read = [j for j in range(len(e)) if edges[j, i]]"),
    ("no-graph", "averages of all nodes", NEIGHBOURS, READ, "read = range(len(e))"),
    ("masked-zero", "averages in which scores without an edge are 0",
     "exp(0) is 1: a node that is not read has the score -inf.", READ,
     "read, e = range(len(e)), np.where(edges, e, 0.0)"),
    ("plain-mean", "means of the neighbours, without the scores", NEIGHBOURS, OUT,
     "out[i] += y[j] / len(read)"),
    ("mask-after", "softmax over all nodes, then 0 without an edge", NEIGHBOURS, OUT,
     "out[i] += np.exp(e[i, j]) / sum(np.exp(e[i])) * y[j]"),
    ("whole-maximum", "exp(e - m) with the largest score of all rows",
     "Each row has its own largest score.", M, "m = np.max(e[edges])"),
    ("overflow", "exp(e), which is too large for e = 1000",
     "Subtract the largest score of a row first.", M, "m = 0.0"),
]  # fmt: skip

HINTS = {
    "gat_scores": ["Two columns s = x a_1 and t = x a_2 are enough: e = f(s_i + t_j)."],
    "preferred": ["What of e_ij depends on j, and does f change its order?"],
    "gatv2_scores": ["(h W_l^T)[:, None] + h W_r^T has the shape (n, n, A)."],
    "mended": [
        "Take A = n, W_r = I and a = 1: then y_j has a single 1, in entry j. How large "
        "is f(x + 1) - f(x) for x = 0, and for x = -1?",
    ],
    "average": ["Set scores without an edge to -inf before the softmax of each row."],
    "": [
        "f(x + 1) - f(x) is 1 for x = 0, and 0.2 for x = -1. A GATv2 uses this step.",
        "dx_i = sum_j dz_ij and dy_j = sum_i dz_ij, with dz_ij = g_ij a f'(z_ij). Then "
        "x = h W_l^T gives dh and dW_l, and y gives the others.",
        "mended: W_l is 0 at (wanted[i], i) and -1 elsewhere, W_r = I, a = 1. So x_i + "
        "y_j is 1 at wanted[i] if j is wanted[i], and nowhere above 0 otherwise.",
    ],
    "static": [
        "If no sum x + y crosses 0, or if A is 1, GATv2 is as static as GAT.",
    ],
    "nan": ["A row of -inf has no largest score, and the sum of its exp is 0."],
}
