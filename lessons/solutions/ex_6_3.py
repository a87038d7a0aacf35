"""6.3  What a score costs  ●●○○  25 min  book §6.3

One step of a decoder scores T states h_j (d_h,) against its own state s (d_s,):

    additive   e_j = v . tanh(W_s s + W_h h_j)
    dot        e_j = s . h_j                    where s and h_j have the width d

with W_s (d_a, d_s), W_h (d_a, d_h) and v (d_a,). The chapter states that the time of
both scores is proportional to T d. Count the multiplications of each score and find
out which sizes they depend on; tanh and memory are counted apart. Do not count sums.
"""


def mults_additive(T, d_s, d_h, d_a, cached):
    """Return the number of multiplications of the additive scores in one step.

    W_s s is computed once in each step.
    cached  True: all W_h h_j were computed before the first step and are not counted;
            False: all W_h h_j are computed in this step
    """
    # BEGIN SOLUTION
    keys = 0 if cached else T * d_a * d_h
    return d_a * d_s + keys + T * d_a
    # END SOLUTION


def mults_dot(T, d):
    """Return the number of multiplications of the dot scores H s, with H (T, d)."""
    # BEGIN SOLUTION
    return T * d
    # END SOLUTION


def mults_sentence(L, T, d_s, d_h, d_a, cached):
    """Return the number of multiplications for all L steps of a sentence.

    Here the multiplications before the first step count as well.
    """
    # BEGIN SOLUTION
    before = T * d_a * d_h if cached else 0
    return before + L * mults_additive(T, d_s, d_h, d_a, cached)
    # END SOLUTION


def tanhs(T, d_a):
    """Return how often tanh is evaluated for the additive scores of one step."""
    # BEGIN SOLUTION
    return T * d_a  # an entry of the argument for each state
    # END SOLUTION


def numbers_held(score, T, d):
    """Return how many numbers a step computes and keeps for its backward.

    Count for dot: the scores. Count for additive: W_s s, all W_h h_j (cached or not),
    all values of tanh, and the scores. Do not count the parameters, s and H. All widths
    are d.
    score  "dot" or "additive"
    """
    # BEGIN SOLUTION
    if score == "dot":
        return T
    return d + T * d + T * d + T  # W_s s, all W_h h_j, tanh, scores
    # END SOLUTION


def growth(score):
    """Return two exponents (a, b): how the cost of a step grows, if all widths are d.

    score  "dot", "additive" (computes all W_h h_j in each step) or "cached"
    a      if a large T doubles while d is constant, the cost is multiplied by 2^a
    b      if a large d doubles while T is constant, the cost is multiplied by 2^b
    """
    # BEGIN SOLUTION
    b = {"dot": 1, "additive": 2, "cached": 2}[score]  # W_s s alone is d^2
    return 1, b
    # END SOLUTION


def explanation():
    """Return a string: with cached keys, the additive score needs T d + d^2
    multiplications and dot needs T d. Why is dot still faster on a GPU?

    Write ten words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    # BEGIN SOLUTION
    return (
        "The dot scores of all queries are one matrix product, which reads each "
        "number once and uses it many times, on units that do nothing else. The "
        "additive score makes T d numbers for each query, writes them, reads them for "
        "tanh and again for the product with v: the time is that of the memory, and a "
        "tanh is slower than a product. The exponent of T is the same, the constant "
        "is not."
    )
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "An additive score multiplies a matrix by every key, d_a d_h multiplications for "
    "each, while a dot product takes d. If all keys are projected before the first "
    "step, d_a multiplications for each key remain, beside one W_s s for the step."
)

MUTANTS = [
    ("return T * d_a  #", "return T  #", "no-factor"),
    ("return d + T * d + T * d + T", "return d + T * d + T", "no-term"),
    ("return d + T * d + T * d + T", "return T * d + T * d + T * d + T",
     "extra-factor"),
    ("        return T\n", "        return T + T * d + d\n", "extra-term"),
    ("keys = 0 if cached else T * d_a * d_h", "keys = T * d_a * d_h", "cached"),
    ("keys = 0 if cached else T * d_a * d_h", "keys = 0", "no-term"),
    ("return d_a * d_s + keys", "return T * d_a * d_s + keys", "extra-factor"),
    ("return d_a * d_s + keys", "return keys", "no-term"),
    ("+ T * d_a\n", "+ 0\n", "no-term"),
    ("return d_a * d_s + keys", "return d_a * d_h + keys", "widths"),
    ("else T * d_a * d_h\n", "else T * d_a * d_a\n", "widths"),
    ("return T * d\n", "return 2 * T * d\n", "twice"),
    ("before + L * mults_additive(T, d_s, d_h, d_a, cached)",
     "before + L * mults_additive(T, d_s, d_h, d_a, False)", "extra-term"),
    ("before = T * d_a * d_h if cached else 0", "before = 0", "no-term"),
    ("before + L * mults", "before + mults", "one-step"),
    ('"cached": 2}', '"cached": 1}', "growth"),
    ('"additive": 2,', '"additive": 1,', "growth"),
]  # fmt: skip
