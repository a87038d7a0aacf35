"""6.3  What a score costs  ●●○○  25 min  book §6.3

One step of a decoder scores T states h_j (d_h,) against its own state s (d_s,):

    additive   e_j = v . tanh(W_s s + W_h h_j)
    dot        e_j = s . h_j                    of one width d

with W_s (d_a, d_s), W_h (d_a, d_h) and v (d_a,). The chapter says that both take time
proportional to T d. Count the multiplications of each, and see on what that depends.
tanh and sums are not counted.
"""


def mults_additive(T, d_s, d_h, d_a, cached):
    """Multiplications of the additive scores of one step.

    W_s s is computed once for the step.
    cached  True: the W_h h_j were computed before the first step, and are not counted;
            False: each is computed in this step
    """
    # BEGIN SOLUTION
    keys = 0 if cached else T * d_a * d_h
    return d_a * d_s + keys + T * d_a
    # END SOLUTION


def mults_dot(T, d):
    """Multiplications of the dot scores of one step: H s, of H (T, d)."""
    # BEGIN SOLUTION
    return T * d
    # END SOLUTION


def mults_sentence(L, T, d_s, d_h, d_a, cached):
    """Multiplications of the additive scores of a whole sentence of L steps.

    Now what is computed before the first step is counted as well.
    """
    # BEGIN SOLUTION
    before = T * d_a * d_h if cached else 0
    return before + L * mults_additive(T, d_s, d_h, d_a, cached)
    # END SOLUTION


def growth(score):
    """How the cost of one step grows, all widths being d: two exponents (a, b).

    score  "dot", "additive", which computes the W_h h_j in each step, or "cached"
    a      a large T doubled, d as it is: the cost grows to 2^a of what it was
    b      a large d doubled, T as it is: to 2^b
    """
    # BEGIN SOLUTION
    b = {"dot": 1, "additive": 2, "cached": 2}[score]  # W_s s alone is d^2
    return 1, b
    # END SOLUTION


# FOR THE CHECK

HINTS = {
    "": [
        "A matrix (m, n) times a vector takes m n multiplications, one for each entry. "
        "Which of the three products of the additive score happen once a step, and "
        "which once for each state?",
        "For a sentence: what does not depend on the step, then L times the cost of "
        "a step. For the growth: of a sum only the term that grows fastest counts.",
        "W_s s: d_a d_s, once. W_h h_j: d_a d_h, T times, or not at all in this step. "
        "The product with v: d_a, T times.",
    ],
    "cached": [
        "What is left to multiply in this step if all W_h h_j are there already?"
    ],
    "query-per-key": ["s is the same for all T states of a step."],
    "no-query": ["The state of the decoder is new in each step, and so is W_s s."],
    "no-v": ["The product with v is taken for each state, after the tanh."],
    "widths": ["W_s has the columns of s, and W_h those of the h_j."],
    "with-average": ["Scores alone are counted, not what is done with them."],
    "recomputed": ["What was cached is computed once for the sentence."],
    "not-counted": ["Before the first step is also work, once for the sentence."],
    "one-step": ["There are L steps."],
    "growth": ["Double one size in your own formulas, and look at the ratio."],
}

MUTANTS = [
    ("keys = 0 if cached else T * d_a * d_h", "keys = T * d_a * d_h", "cached"),
    ("keys = 0 if cached else T * d_a * d_h", "keys = 0", "cached"),
    ("return d_a * d_s + keys", "return T * d_a * d_s + keys", "query-per-key"),
    ("return d_a * d_s + keys", "return keys", "no-query"),
    ("+ T * d_a\n", "+ 0\n", "no-v"),
    ("return d_a * d_s + keys", "return d_a * d_h + keys", "widths"),
    ("else T * d_a * d_h\n", "else T * d_a * d_a\n", "widths"),
    ("return T * d\n", "return 2 * T * d\n", "with-average"),
    ("before + L * mults_additive(T, d_s, d_h, d_a, cached)",
     "before + L * mults_additive(T, d_s, d_h, d_a, False)", "recomputed"),
    ("before = T * d_a * d_h if cached else 0", "before = 0", "not-counted"),
    ("before + L * mults", "before + mults", "one-step"),
    ('"cached": 2}', '"cached": 1}', "growth"),
    ('"additive": 2,', '"additive": 1,', "growth"),
]  # fmt: skip
