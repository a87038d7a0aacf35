"""38.1  Project the keys first  ●●○○  25 min  book §38.1

The general score of a query s and a key h has a matrix between the two,

    e = s^T W_g h          s (d_s,), W_g (d_s, d_h), h (d_h,)

and is still a dot product: that of s and a projected key h'. The chapter writes the
projection as W_g^T h. Write the sizes under each factor and check that formula.
"""

from lessons.classroom.theory import Chain


def project_keys(H, W_g):
    """Return all h'_j, for which s . h'_j is the general score of s and h_j.

    H (T, d_h), one key in each row; W_g (d_s, d_h)  ->  (T, d_s)
    """
    return H @ W_g.T  #? The rows of H have d_h entries: which axis of W_g has that size?
    #! return H @ __import__("numpy").linalg.pinv(W_g)  | H times the pseudo-inverse of W_g: transposed is not inverse
    #= return (W_g @ H.T).T


def proof():
    """Return three or more expressions that show that s . h'_j is the general score.

    Each expression is a function of (s, W_g, h) with a reason, and equals the
    expression before it. Begin with the score, computed as (s^T W_g) h. End with the
    dot product of s and the result of ``project_keys`` for the one row h[None, :].

        (
            Chain(lambda s, W_g, h: …, "the general score")
            .then(lambda s, W_g, h: …, "the reason")
            .then(…)
        )
    """
    return (  #? s^T (W_g h) and (s^T W_g) h are the same number. Which does each link compute?
        Chain(lambda s, W_g, h: (s @ W_g) @ h, "the general score")
        .then(lambda s, W_g, h: s @ (W_g @ h), "products may be taken in any order")
        .then(lambda s, W_g, h: s @ project_keys(h[None, :], W_g)[0], "one row, h'")
    )


def mults(B, T_q, T_k, d_s, d_h, precomputed):
    """Return the number of multiplications of all scores of B examples.

    Each example has its own T_q queries and T_k keys; all examples share W_g.
    precomputed  True: each key is projected once; False: W_g h again for each pair
    """
    projected = T_k if precomputed else T_q * T_k  #? How many keys are projected, if each is projected once?
    projections = projected * d_s * d_h  #? How many multiplications takes W_g h, for one key?
    #! projections = 2 * projected * d_s * d_h  | the number with the additions of the projections
    scores = T_q * T_k * d_s  #? How many pairs are there, and how wide is a projected key?
    return B * (projections + scores)  #? Every example has its own keys. Are the two counts added?
    #! return B * projections * scores  | the product of both numbers, not their sum
    #! return B * T_k * d_s * d_h * scores  | the product of both numbers, not their sum
    #! return projections + B * scores  | the number with the keys of one example projected for all
    #! return 2 * B * (projections + scores)  | the number with as many additions


# ---- THE CHECK: each call my.f(…) is compared with the function f above

import numpy as np

from lessons.classroom.theory import check_chain, holds, in_symbols, rationals

SIZES = ((1, 1, 5, 3, 7), (3, 5, 7, 2, 11), (2, 3, 1, 5, 3), (1, 7, 5, 11, 3))


def projections(my, rng):
    """keys as wide as the query, and keys of other widths"""
    for T, d_s, d_h in ((5, 3, 3), (3, 3, 3), (5, 3, 7), (2, 5, 3), (1, 1, 1)):
        my.project_keys(rng.normal(size=(T, d_h)), rng.normal(size=(d_s, d_h)))


def multiplications(my, rng):
    """multiplications, precomputed and not"""
    for sizes in (*SIZES, (1, 1, 1, 1, 1), (1, 10**6, 5, 3, 7)):
        for precomputed in (True, False):
            my.mults(*sizes, precomputed)


def the_chain(my, rng):
    """the chain of equalities, at rational numbers"""

    def draw():
        shapes = (3,), (3, 5), (5,)
        return [np.array(rationals(rng, np.prod(n)), object).reshape(n) for n in shapes]

    ends = lambda s, W, h: (s @ W) @ h, lambda s, W, h: s @ (W @ h)
    links, (s, W, h) = check_chain(my, my.only.proof(), *ends, draw), draw()
    n = products_with_h(links[0], s, W, h)
    expected = "(s^T W_g) h first: one product for each entry of h"
    found = f"{n} products with the {len(h)} entries of h"
    holds(my, n in (None, len(h)), "starts-elsewhere", expected, found)
    expected = "a call of project_keys in the last expression"
    holds(my, calls_project_keys(links[-1]), "arrives-elsewhere", expected, "none")
    middle = [f for f in links[1:-1] if not calls_project_keys(f)]
    expected = "an expression between the two ends that multiplies h by W_g before s"
    found = "s^T W_g as a factor of h in all of them"
    is_step = any(products_with_h(f, s, W, h) != len(h) for f in middle)
    holds(my, is_step, "no-step", expected, found)


def products_with_h(link, *arguments):
    """Return how often the entries of h are factors; None if that cannot be traced.

    (s W) h multiplies each entry of h once, and s (W h) once for each row of W.
    """
    traced = in_symbols(link, arguments)
    return traced and "".join(traced[1]).count("x2[")


def calls_project_keys(link):
    return "project_keys" in getattr(getattr(link, "__code__", None), "co_names", ())


HINTS = """
project_keys  h' = W_g h for one key. H has the keys as rows, and the result as well.
proof  Each link moves one pair of brackets, or names one product; + 0 and * 1 are no
   step. Write the size of each factor of an expression beside it.
mults  How many keys are projected, and how many pairs are scored: for one example, and
   for B?
1  Write (d_s) (d_s, d_h) (d_h) under s^T W_g h. Where can you place parentheses, and
   what is the size of the product inside them?
2  h' = W_g h has d_s entries. With the keys as rows of H, entry i of row j is
   sum_k W_g[i, k] H[j, k], a sum over the columns of both.
3  Multiply the keys by the transposed matrix. A projection takes d_s d_h
   multiplications, a dot product takes d_s. Count how often each is computed.
"""
WHY = """s^T (W_g h) and (s^T W_g) h are the same number, because a product of matrices
may be bracketed anywhere; so the projected key is W_g h. It does not contain s, so it
is computed once for each key and serves every query."""
