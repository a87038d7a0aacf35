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
    # BEGIN SOLUTION
    return H @ W_g.T  # row j is W_g h_j
    # END SOLUTION


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
    # BEGIN SOLUTION
    return (
        Chain(lambda s, W_g, h: (s @ W_g) @ h, "the general score")
        .then(lambda s, W_g, h: s @ (W_g @ h), "products may be taken in any order")
        .then(lambda s, W_g, h: s @ project_keys(h[None, :], W_g)[0], "one row, h'")
    )
    # END SOLUTION


def mults(B, T_q, T_k, d_s, d_h, precomputed):
    """Return the number of multiplications of all scores of B examples.

    Each example has its own T_q queries and T_k keys; all examples share W_g.
    precomputed  True: each key is projected once; False: W_g h again for each pair
    """
    # BEGIN SOLUTION
    projected = T_k if precomputed else T_q * T_k
    return B * (projected * d_s * d_h + T_q * T_k * d_s)
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "s^T (W_g h) and (s^T W_g) h are the same number, because a product of matrices "
    "may be bracketed anywhere; so the projected key is W_g h. It does not contain s, "
    "so it is computed once for each key and serves every query."
)

MUTANTS = [
    ("H @ W_g.T", "H @ W_g", "axes"),
    ("H @ W_g.T", "W_g @ H.T", "transpose"),
    ("return H @ W_g.T", "return (1 + 1e-8) * H @ W_g.T", "nearly"),
    ("return H @ W_g.T", "return H @ __import__('numpy').linalg.pinv(W_g)", "inverse"),
    ("H @ W_g.T", "H[:, : len(W_g)]", "ignores-W"),
    ("s @ (W_g @ h), ", "s @ (W_g @ h) + s[0], ", "false-link"),
    ("s @ (W_g @ h), ", "s @ (W_g.T @ h), ", "link-raises"),
    ("(s @ W_g) @ h, ", "2 * ((s @ W_g) @ h), ", "starts-elsewhere"),
    ("s @ project_keys(h[None, :], W_g)[0]", "(W_g @ h) @ s", "arrives-elsewhere"),
    ("T_k if precomputed else T_q * T_k", "T_q * T_k", "extra-factor"),
    ("T_k if precomputed else T_q * T_k", "T_k", "no-factor"),
    (" + T_q * T_k * d_s", "", "no-term"),
    ("T_q * T_k * d_s)", "T_q * T_k * d_h)", "widths"),
    ("return B * (", "return (", "one-example"),
]
