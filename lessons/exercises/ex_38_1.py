"""38.1  Project the keys first  ●●○○  25 min  book §38.1

The general score of a query s and a key h puts a matrix between them,

    e = s^T W_g h          s (d_s,), W_g (d_s, d_h), h (d_h,)

and is still a dot product, of s with a projected key h'. The chapter writes the
projection as W_g^T h. Write the sizes under each factor before you believe it.
"""

from lessons import NotWritten
from lessons.classroom.theory import Chain


def project_keys(H, W_g):
    """All h'_j at once, so that e_j = s . h'_j is the general score of s and h_j.

    H (T, d_h), a key in each row; W_g (d_s, d_h)  ->  (T, d_s)
    """
    raise NotWritten("38.1 project_keys")


def proof():
    """Why the score is that dot product: a chain of three expressions or more.

    Each is a function of (s, W_g, h), with a reason; each has to equal the one before.
    Start from the score with its products in the order (s^T W_g) h. Arrive at a dot
    product of s with what ``project_keys`` makes of h alone, the one row h[None, :].

        (
            Chain(lambda s, W_g, h: …, "the general score")
            .then(lambda s, W_g, h: …, "the reason")
            .then(…)
        )
    """
    raise NotWritten("38.1 proof")


def mults(B, T_q, T_k, d_s, d_h, precomputed):
    """How many multiplications all scores of B examples take.

    Each example has T_q queries and T_k keys of its own; W_g is shared.
    precomputed  True: each key is projected once; False: W_g h again for every pair
    """
    raise NotWritten("38.1 mults")
