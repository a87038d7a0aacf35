"""E.24  GAT's flaw, shown and mended  ●●●○  40 min  needs E.2

Each node i of a graph averages its neighbours j, with the weights softmax(e_i). GAT and
its successor GATv2 compute the scores with two operations in another order:

    GAT      e_ij = f(a_1 . W h_i + a_2 . W h_j)
    GATv2    e_ij = a . f(W_l h_i + W_r h_j)         f(z) = z above 0, and 0.2 z below

GAT has a flaw: f only grows, so in a complete graph all nodes prefer the same node,
whatever the parameters are. Show it: find this node without a_1. Then give GATv2
parameters with which each node prefers the one that it should, and derive its backward.
"""

import numpy as np


def gat_scores(h, W, a_1, a_2):
    """Return e (n, n) of GAT.   h (n, D), W (A, D), a_1 and a_2 (A,)"""
    # BEGIN SOLUTION
    x = h @ W.T  # (n, A)
    z = (x @ a_1)[:, None] + x @ a_2
    return np.where(z > 0, z, 0.2 * z)
    # END SOLUTION


def preferred(h, W, a_2):
    """Return the number j whose e_ij of GAT is the largest of each row i, for any a_1."""
    # BEGIN SOLUTION
    return np.argmax(h @ W.T @ a_2)
    # END SOLUTION


def gatv2_scores(h, W_l, W_r, a):
    """Return e (n, n) of GATv2, and its backward.   h (n, D), W_l and W_r (A, D), a (A,)

    ->  e, backward;  backward(g) returns (dh, dW_l, dW_r, da) for g = dL/de
    """
    # BEGIN SOLUTION
    z = (h @ W_l.T)[:, None] + h @ W_r.T  # (n, n, A)
    f = np.where(z > 0, z, 0.2 * z)
    # END SOLUTION

    def backward(g):
        # BEGIN SOLUTION
        dz = g[..., None] * a * np.where(z > 0, 1.0, 0.2)
        dx, dy = dz.sum(1), dz.sum(0)  # x_i is in row i, y_j in column j
        return dx @ W_l + dy @ W_r, dx.T @ h, dy.T @ h, np.tensordot(g, f)
        # END SOLUTION

    # BEGIN SOLUTION
    e = f @ a
    # END SOLUTION
    return e, backward


def mended(wanted):
    """Return W_l (A, n), W_r (A, n) and a (A,) of GATv2, with an A of your choice.

    h is the identity matrix: node i has the one-hot row i. In row i of e the entry at
    wanted[i] is to be larger than all others, by 0.5 or more.

    wanted  (n,) numbers of nodes; some may occur several times, and others never
    """
    # BEGIN SOLUTION
    n = len(wanted)
    W_l = -1.0 + (np.arange(n)[:, None] == wanted)  # 0 at (wanted[i], i), else -1
    return W_l, np.eye(n), np.ones(n)
    # END SOLUTION


def average(e, y, edges):
    """Return the averages (n, A) of the rows y (n, A) of all neighbours.

    e (n, n) scores, edges (n, n) bool, True at (i, j) if node i reads node j

    A node that reads none gets 0.
    """
    # BEGIN SOLUTION
    e = np.where(edges, e, -np.inf)
    m = e.max(1, keepdims=True)
    p = np.exp(e - np.where(edges.any(1, keepdims=True), m, 0.0))
    total = p.sum(1, keepdims=True)
    return p @ y / np.where(total > 0, total, 1.0)
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "In GAT the node i only adds a number to a_2 . W h_j before f, and f keeps the "
    "order. In GATv2 f comes before the sum over A, so i decides for each of the A "
    "entries whether what y_j adds counts fully, or for 0.2 of it."
)

MUTANTS = [
    ("return W_l, np.eye(n), np.ones(n)", "return W_l, np.eye(n), -np.ones(n)", "sign"),
    ("(np.arange(n)[:, None] == wanted)  #", "(np.arange(n) == wanted[:, None])  #",
     "transpose"),
    ("return W_l, np.eye(n), np.ones(n)", "return W_l[:1], np.eye(n)[:1], np.ones(1)",
     "static"),
    ("return W_l, np.eye(n), np.ones(n)", "return W_l, np.eye(n), 0.1 * np.ones(n)",
     "small-margin"),
    ("return W_l, np.eye(n), np.ones(n)", "return W_l, np.eye(n)[::-1], np.ones(n)",
     "not-preferred"),
]  # fmt: skip

EQUIVALENT = {"z > 0 -> z >= 0": "f(0) is 0, and f has no derivative at 0"}
