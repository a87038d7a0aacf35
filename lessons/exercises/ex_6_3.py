"""6.3  What a score costs  ●●○○  25 min  book §6.3

One step of a decoder scores T states h_j (d_h,) against its own state s (d_s,):

    additive   e_j = v . tanh(W_s s + W_h h_j)
    dot        e_j = s . h_j                    of one width d

with W_s (d_a, d_s), W_h (d_a, d_h) and v (d_a,). The chapter says that both take time
proportional to T d. Count the multiplications of each, and see on what that depends.
tanh and sums are not counted.
"""

from lessons import NotWritten


def mults_additive(T, d_s, d_h, d_a, cached):
    """Multiplications of the additive scores of one step.

    W_s s is computed once for the step.
    cached  True: the W_h h_j were computed before the first step, and are not counted;
            False: each is computed in this step
    """
    raise NotWritten("6.3 mults_additive")


def mults_dot(T, d):
    """Multiplications of the dot scores of one step: H s, of H (T, d)."""
    raise NotWritten("6.3 mults_dot")


def mults_sentence(L, T, d_s, d_h, d_a, cached):
    """Multiplications of the additive scores of a whole sentence of L steps.

    Now what is computed before the first step is counted as well.
    """
    raise NotWritten("6.3 mults_sentence")


def growth(score):
    """How the cost of one step grows, all widths being d: two exponents (a, b).

    score  "dot", "additive", which computes the W_h h_j in each step, or "cached"
    a      a large T doubled, d as it is: the cost grows to 2^a of what it was
    b      a large d doubled, T as it is: to 2^b
    """
    raise NotWritten("6.3 growth")
