"""6.3  What a score costs  ●●○○  25 min  book §6.3

One step of a decoder scores T states h_j (d_h,) against its own state s (d_s,):

    additive   e_j = v . tanh(W_s s + W_h h_j)
    dot        e_j = s . h_j                    where s and h_j have the width d

with W_s (d_a, d_s), W_h (d_a, d_h) and v (d_a,). The chapter states that the time of
both scores is proportional to T d. Count the multiplications of each score and find
out which sizes they depend on; tanh and memory are counted apart. Do not count sums.
"""

from lessons import NotWritten


def mults_additive(T, d_s, d_h, d_a, cached):
    """Return the number of multiplications of the additive scores in one step.

    W_s s is computed once in each step.
    cached  True: all W_h h_j were computed before the first step and are not counted;
            False: all W_h h_j are computed in this step
    """
    raise NotWritten("6.3 mults_additive")


def mults_dot(T, d):
    """Return the number of multiplications of the dot scores H s, with H (T, d)."""
    raise NotWritten("6.3 mults_dot")


def mults_sentence(L, T, d_s, d_h, d_a, cached):
    """Return the number of multiplications for all L steps of a sentence.

    Here the multiplications before the first step count as well.
    """
    raise NotWritten("6.3 mults_sentence")


def tanhs(T, d_a):
    """Return how often tanh is evaluated for the additive scores of one step."""
    raise NotWritten("6.3 tanhs")


def numbers_held(score, T, d):
    """Return how many numbers a step computes and keeps for its backward.

    Count for dot: the scores. Count for additive: W_s s, all W_h h_j (cached or not),
    all values of tanh, and the scores. Do not count the parameters, s and H. All widths
    are d.
    score  "dot" or "additive"
    """
    raise NotWritten("6.3 numbers_held")


def growth(score):
    """Return two exponents (a, b): how the cost of a step grows, if all widths are d.

    score  "dot", "additive" (computes all W_h h_j in each step) or "cached"
    a      if a large T doubles while d is constant, the cost is multiplied by 2^a
    b      if a large d doubles while T is constant, the cost is multiplied by 2^b
    """
    raise NotWritten("6.3 growth")


def explanation():
    """Return a string: with cached keys, the additive score needs T d + d^2
    multiplications and dot needs T d. Why is dot still faster on a GPU?

    Write ten words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    raise NotWritten("6.3 explanation")
