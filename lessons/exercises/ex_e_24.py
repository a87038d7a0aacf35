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

from lessons import NotWritten


def gat_scores(h, W, a_1, a_2):
    """Return e (n, n) of GAT.   h (n, D), W (A, D), a_1 and a_2 (A,)"""
    raise NotWritten("E.24 gat_scores")


def preferred(h, W, a_2):
    """Return the number j whose e_ij of GAT is the largest of each row i, for any a_1."""
    raise NotWritten("E.24 preferred")


def gatv2_scores(h, W_l, W_r, a):
    """Return e (n, n) of GATv2, and its backward.   h (n, D), W_l and W_r (A, D), a (A,)

    ->  e, backward;  backward(g) returns (dh, dW_l, dW_r, da) for g = dL/de
    """
    raise NotWritten("E.24 gatv2_scores")

    def backward(g):
        raise NotWritten("E.24 gatv2_scores")

    raise NotWritten("E.24 gatv2_scores")
    return e, backward


def mended(wanted):
    """Return W_l (A, n), W_r (A, n) and a (A,) of GATv2, with an A of your choice.

    h is the identity matrix: node i has the one-hot row i. In row i of e the entry at
    wanted[i] is to be larger than all others, by 0.5 or more.

    wanted  (n,) numbers of nodes; some may occur several times, and others never
    """
    raise NotWritten("E.24 mended")


def average(e, y, edges):
    """Return the averages (n, A) of the rows y (n, A) of all neighbours.

    e (n, n) scores, edges (n, n) bool, True at (i, j) if node i reads node j

    A node that reads none gets 0.
    """
    raise NotWritten("E.24 average")
