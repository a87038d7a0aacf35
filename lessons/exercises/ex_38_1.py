"""38.1  Project the keys first  ●●○○  25 min  book §38.1

The general score of a query s and a key h has a matrix between the two,

    e = s^T W_g h          s (d_s,), W_g (d_s, d_h), h (d_h,)

and is still a dot product: that of s and a projected key h'. The chapter writes the
projection as W_g^T h. Write the sizes under each factor and check that formula.
"""

from lessons import NotWritten
from lessons.classroom.theory import Chain


def project_keys(H, W_g):
    """Return all h'_j, for which s . h'_j is the general score of s and h_j.

    H (T, d_h), one key in each row; W_g (d_s, d_h)  ->  (T, d_s)
    """
    raise NotWritten("38.1 project_keys")


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
    raise NotWritten("38.1 proof")


def mults(B, T_q, T_k, d_s, d_h, precomputed):
    """Return the number of multiplications of all scores of B examples.

    Each example has its own T_q queries and T_k keys; all examples share W_g.
    precomputed  True: each key is projected once; False: W_g h again for each pair
    """
    raise NotWritten("38.1 mults")
