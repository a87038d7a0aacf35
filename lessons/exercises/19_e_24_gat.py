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
    x = h @ W.T  # (n, A)
    z = (x @ a_1)[:, None] + x @ a_2  #? Row i is the node that reads, column j the one that is read: which has a_1?
    return np.where(z > 0, z, 0.2 * z)  #? f(-1) = -0.2. In GAT f is applied to one number: to which sum?
    #= return np.maximum(z, 0.2 * z)
    #! return np.where(z > 0, z, 0.01 * z)  | the scores of GAT with 0.01 z for 0.2 z
    #! s, t = x @ a_1, x @ a_2; return np.maximum(s, 0.2 * s)[:, None] + np.maximum(t, 0.2 * t)  | f(a_1 . W h_i) + f(a_2 . W h_j)


def preferred(h, W, a_2):
    """Return the number j whose e_ij of GAT is the largest of each row i, for any a_1."""
    return np.argmax(h @ W.T @ a_2)  #? e_ij = f(s_i + t_j), and f grows: which part of it depends on j?
    #! return np.argmax(np.abs(h @ W.T @ a_2))  | the node with the largest |a_2 . W h_j|
    #! return np.argmax((h @ W.T).sum(1))  | the node with the largest sum of W h_j, without a_2


def gatv2_scores(h, W_l, W_r, a):
    """Return e (n, n) of GATv2, and its backward.   h (n, D), W_l and W_r (A, D), a (A,)
    ->  e, backward;  backward(g) returns (dh, dW_l, dW_r, da) for g = dL/de
    """
    x, y = h @ W_l.T, h @ W_r.T  #? Which matrix belongs to the node that reads, and which to the one that is read?
    z = x[:, None] + y  #? Row i is the node that reads, column j the one that is read: in which rows is x_i?
    f = np.where(z > 0, z, 0.2 * z)  #? In GATv2 f is applied to A numbers, before the product with a. What is f(-1)?
    #! f = np.maximum(z, 0.0)  | the scores of GATv2 with 0 for 0.2 z
    #! f = np.where(z > 0, z, 0.01 * z)  | the scores of GATv2 with 0.01 z for 0.2 z
    #! f = np.where((z @ a > 0)[..., None], z, 0.2 * z)  | f(a . (W_l h_i + W_r h_j)), the order of GAT

    def backward(g):
        slope = np.where(z > 0, 1.0, 0.2)  #? f is applied to z: what is f'(z) above 0, and below?
        #! slope = np.where(z > 0, 1.0, 0.0)  | the gradients with the derivative 0 below 0
        #! slope = np.where(z > 0, 1.0, 0.01)  | the gradients with the derivative 0.01 below 0
        #! slope = np.where(e[..., None] > 0, 1.0, 0.2)  | the gradients with f' of the score e for f' of z
        dz = g[..., None] * a * slope  #? dz_ij = g_ij a f'(z_ij). Which of these factors are missing?
        dx, dy = dz.sum(1), dz.sum(0)  #? x_i = W_l h_i is in all of row i, and y_j in all of column j.
        dh = dx @ W_l + dy @ W_r  #? How often is h_i used: as the node that reads, and as which other?
        return dh, dx.T @ h, dy.T @ h, np.tensordot(g, f)  #? e is linear in a: what is de_ij / da?

    e = f @ a  #? a has one entry for each of the A numbers: what is summed?
    return e, backward


def mended(wanted):
    """Return W_l (A, n), W_r (A, n) and a (A,) of GATv2, with an A of your choice.

    h is the identity matrix: node i has the one-hot row i. In row i of e the entry at
    wanted[i] is to be larger than all others, by 0.5 or more.
    wanted  (n,) numbers of nodes; some may occur several times, and others never
    """
    n = len(wanted)
    # x_i + y_j is 1 in entry j if j is wanted[i], and nowhere above 0 otherwise
    W_l = -1.0 + (np.arange(n)[:, None] == wanted)  #? How large is f(x + 1) - f(x) for x = 0, and for x = -1?
    return W_l, np.eye(n), np.ones(n)  #? If no sum x + y crosses 0, or if A is 1, GATv2 is as static as GAT.


def average(e, y, edges):
    """Return the averages (n, A) of the rows y (n, A) of all neighbours.

    e (n, n) scores, edges (n, n) bool, True at (i, j) if node i reads node j. A node
    that reads none gets 0.
    """
    seen = np.where(edges, e, -np.inf)  #? exp(0) is 1: which score has a node that is not read?
    #! seen = np.where(edges.T, e, -np.inf)  | averages of the nodes that read node i
    #! seen = np.where(edges, e, 0.0)  | averages in which scores without an edge are 0
    m = seen.max(1, keepdims=True)  #? Subtract the largest score of a row first: of all nodes, or of those that it reads?
    #! m = seen.max()  | exp(e - m) with the largest score of all rows
    p = np.exp(seen - np.where(m > -np.inf, m, 0.0))  #? A row of -inf has no largest score, and what is the sum of its exp?
    #! p = 1.0 * edges  | means of the neighbours, without the scores
    total = p.sum(1, keepdims=True)  #? The weights of the nodes that i reads are a softmax of their scores: over which nodes is the sum?
    #! total = np.exp(e - m).sum(1, keepdims=True)  | softmax over all nodes, then 0 without an edge
    return p @ y / np.where(total > 0, total, 1.0)  #? What is 0 / 0, for a node that reads none?


# ---- THE CHECK: each call my.f(…) is compared with the function f above


def draw(rng, n, D, A):
    """Return h (n, D), W_l and W_r (A, D), a and a_2 (A,)."""
    return [rng.normal(size=size) for size in ((n, D), (A, D), (A, D), A, A)]


def graph(rng, n, A):
    """Return e, y and edges, from each node to itself and, one-way, from 0 to 1."""
    edges = (rng.random((n, n)) < 0.4) | np.eye(n, dtype=bool)
    edges[0, 1], edges[1, 0] = True, False
    return rng.normal(size=(n, n)), rng.normal(size=(n, A)), edges


def scores_and_averages(my, rng):
    """scores of GAT and of GATv2, the node that all prefer, and averages of neighbours"""
    for sizes in ((5, 7, 3), (5, 5, 5), (3, 3, 3), (6, 2, 3), (7, 5, 2)):
        h, W_l, W_r, a, a_2 = draw(rng, *sizes)
        my.gat_scores(h, W_l, a, a_2)
        my.gatv2_scores(h, W_l, W_r, a)
        my.preferred(h, W_l, a_2)
    for A in (3, 5):
        my.average(*graph(rng, 5, A))


def each_its_own(my, rng):
    """GATv2: every node prefers the one that it should"""
    for wanted in ([1, 2, 3, 0], [1, 0], [0, 0, 1, 3], rng.permutation(6)):
        wanted, n, i = np.array(wanted), len(wanted), np.arange(len(wanted))
        found = [np.asarray(x, float) for x in my.only.mended(wanted)]
        shapes, A = [x.shape for x in found], found[-1].size
        text = f"W_l, W_r and a of the shapes {[(A, n), (A, n), (A,)]}"
        my.holds("mended", shapes == [(A, n), (A, n), (A,)], text, f"{shapes}", "shape")
        e = gatv2_scores(np.eye(n), *found)[0]
        margins = e[i, wanted] - np.where(i == wanted[:, None], -np.inf, e).max(1)
        name = "small-margin" if (e.argmax(1) == wanted).all() else "not-preferred"
        name = "static" if np.ptp(e.argmax(1)) == 0 else name
        text = f"the largest scores of the rows at {wanted}, larger by 0.5"
        where = f"them at {e.argmax(1)}, and the margins {margins.round(3)}"
        my.holds("mended", (margins >= 0.5 - 1e-9).all(), text, where, name)


def ends(my, rng):
    """a node without neighbours, one that reads all, and large scores"""
    e, y, edges = graph(rng, 5, 3)
    for far in (1000.0, -1000.0, 1000.0 * np.arange(5)[:, None]):
        my.average(e + far + np.where(edges, 0.0, 800.0), y, edges)
    edges[2], edges[3], e[2, 3] = False, True, 900.0
    my.average(e, y, edges)


HINTS = """
1  f(x + 1) - f(x) is 1 for x = 0, and 0.2 for x = -1. A GATv2 uses this step.
2  dx_i = sum_j dz_ij and dy_j = sum_i dz_ij, with dz_ij = g_ij a f'(z_ij). Then
   x = h W_l^T gives dh and dW_l, and y gives the others.
3  mended: W_l is 0 at (wanted[i], i) and -1 elsewhere, W_r = I, a = 1.
"""
WHY = """In GAT the node i only adds a number to a_2 . W h_j before f, and f keeps the
order. In GATv2 f comes before the sum over A, so i decides for each of the A entries
whether what y_j adds counts fully, or for 0.2 of it."""
