"""38.1  Project the keys first  ●●○○  25 min  book §38.1

The general score of a query s and a key h puts a matrix between them,

    e = s^T W_g h          s (d_s,), W_g (d_s, d_h), h (d_h,)

and is still a dot product, of s with a projected key h'. The chapter writes the
projection as W_g^T h. Write the sizes under each factor before you believe it.
"""

from lessons.classroom.theory import Chain


def project_keys(H, W_g):
    """All h'_j at once, so that e_j = s . h'_j is the general score of s and h_j.

    H (T, d_h), a key in each row; W_g (d_s, d_h)  ->  (T, d_s)
    """
    # BEGIN SOLUTION
    return H @ W_g.T  # row j is W_g h_j
    # END SOLUTION


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
    # BEGIN SOLUTION
    return (
        Chain(lambda s, W_g, h: (s @ W_g) @ h, "the general score")
        .then(lambda s, W_g, h: s @ (W_g @ h), "products may be taken in any order")
        .then(lambda s, W_g, h: s @ project_keys(h[None, :], W_g)[0], "one row, h'")
    )
    # END SOLUTION


def mults(B, T_q, T_k, d_s, d_h, precomputed):
    """How many multiplications all scores of B examples take.

    Each example has T_q queries and T_k keys of its own; W_g is shared.
    precomputed  True: each key is projected once; False: W_g h again for every pair
    """
    # BEGIN SOLUTION
    projected = T_k if precomputed else T_q * T_k
    return B * (projected * d_s * d_h + T_q * T_k * d_s)
    # END SOLUTION


# FOR THE CHECK

HINTS = {
    "": [
        "Write (d_s) (d_s, d_h) (d_h) under s^T W_g h. Where may a bracket go, and "
        "what size has the product inside it?",
        "h' = W_g h has d_s entries. With the keys as rows of H, entry i of row j is "
        "sum_k W_g[i, k] H[j, k], over the columns of both.",
        "The keys multiply the transposed matrix from the left. A projection takes "
        "d_s d_h multiplications, a dot product d_s; count how often each happens.",
    ],
    "axes": [
        "The two sizes that do not meet are in the report. The rows of H have d_h "
        "entries: which axis of W_g do they have to meet?",
    ],
    "false-link": ["The report names the link whose value changes. What moved there?"],
    "chain-repeats": ["Two neighbours are the same text: each step changes something."],
    "chain": ["What is returned begins with Chain( and goes on with .then(."],
    "link-raises": ["Write the size of each factor of that expression next to it."],
    "inverse": [
        "A transposed matrix is not an inverse. Which of them is in the score?"
    ],
    "starts-elsewhere": ["The bracket of the first expression is around s^T W_g."],
    "arrives-elsewhere": ["The last expression calls project_keys."],
    "too-short": ["Between the two ends belongs the step that moves the bracket."],
    "not-precomputed": ["A key has the same projection for every query that asks."],
    "no-dot-product": ["After the projection each pair still takes a dot product."],
    "one-example": ["Other examples have other keys."],
    "wrong-width": ["A projected key has as many entries as the query it is to meet."],
}

MUTANTS = [
    ("H @ W_g.T", "H @ W_g", "axes"),
    ("H @ W_g.T", "W_g @ H.T", "transpose"),
    ("return H @ W_g.T", "return (1 + 1e-8) * H @ W_g.T", "float32"),
    ("return H @ W_g.T", "return H @ __import__('numpy').linalg.pinv(W_g)", "inverse"),
    ("H @ W_g.T", "H[:, : len(W_g)]", "ignores-W"),
    ("s @ (W_g @ h), ", "s @ (W_g @ h) + s[0], ", "false-link"),
    ("s @ (W_g @ h), ", "s @ (W_g.T @ h), ", "link-raises"),
    ("(s @ W_g) @ h, ", "2 * ((s @ W_g) @ h), ", "starts-elsewhere"),
    ("s @ project_keys(h[None, :], W_g)[0]", "(W_g @ h) @ s", "arrives-elsewhere"),
    ("T_k if precomputed else T_q * T_k", "T_q * T_k", "not-precomputed"),
    ("T_k if precomputed else T_q * T_k", "T_k", "not-per-pair"),
    (" + T_q * T_k * d_s", "", "no-dot-product"),
    ("T_q * T_k * d_s)", "T_q * T_k * d_h)", "wrong-width"),
    ("return B * (", "return (", "one-example"),
]
