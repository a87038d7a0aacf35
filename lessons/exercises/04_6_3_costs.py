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
    query = d_a * d_s  #? How many rows and columns has W_s, and how often is W_s s computed?
    #! query = T * d_a * d_s  | the number with W_s s for each state
    keys = 0 if cached else T * d_a * d_h  #? Which products W_h h_j remain if all are known before?
    #! keys = 0 if cached else T * (d_a + d_h)  | the number with T (d_a + d_h) for W_h h_j
    products = T * d_a  #? How many entries has v, and with how many states is it multiplied?
    #! products = T * d_a + T * d_h  | the number with the context as well
    #! products = T * d_a + T * d_a  | the number with tanh as well
    return query + keys + products  #? Which of the three products is computed once in a step?


def mults_dot(T, d):
    """Return the number of multiplications of the dot scores H s, with H (T, d)."""
    return T * d  #? How many entries has each state, and which operations count?
    #! return 2 * T * d  | twice the number: the sums, or the average of the states, count as well
    #! return T * (2 * d - 1)  | the number with the sums


def mults_sentence(L, T, d_s, d_h, d_a, cached):
    """Return the number of multiplications for all L steps of a sentence.

    Here the multiplications before the first step count as well.
    """
    before = T * d_a * d_h if cached else 0  #? Which products stand before the loop over the steps?
    return before + L * mults_additive(T, d_s, d_h, d_a, cached)  #? How many steps has a sentence?
    #! return before + L * mults_additive(T, d_s, d_h, d_a, False)  | the number with W_h h_j in each step
    #! return before + (L - 1) * mults_additive(T, d_s, d_h, d_a, cached)  | the number for L - 1 steps


def tanhs(T, d_a):
    """Return how often tanh is evaluated for the additive scores of one step."""
    return T * d_a  #? How many entries has the argument of tanh, and for how many states?
    #! return T * d_a + d_a  | the number with W_s s as well
    #! return T * (d_a + 1)  | the number with one tanh more for each state
    #! return T * (d_a - 1)  | the number with d_a - 1 in the place of d_a


def numbers_held(score, T, d):
    """Return how many numbers a step computes and keeps for its backward.

    Count for dot: the scores. Count for additive: W_s s, all W_h h_j (cached or not),
    all values of tanh, and the scores. Do not count the parameters, s and H. All widths
    are d.
    score  "dot" or "additive"
    """
    if score == "dot":
        return T  #? A dot score has no tanh and no projections: what is left?
        #! return T + T * d + d  | the number with s and H as well
        #! return T * d  | the number of the products s_k h_jk
        #! return 2 * T * d + T + d  | the number for the additive score
    query, keys, tanh, scores = d, T * d, T * d, T  #? How many entries has each of the four results?
    #! query, keys, tanh, scores = d * d, T * d, T * d, T  | the number with d^2, the multiplications of W_s s
    #! query, keys, tanh, scores = 2 * d, 2 * T * d, T * d, T  | the number with s and H as well
    #! query, keys, tanh, scores = d, T * d, 2 * T * d, T  | the number with the arguments of tanh as well
    return query + keys + tanh + scores


def growth(score):
    """Return two exponents (a, b): how the cost of a step grows, if all widths are d.

    score  "dot", "additive" (computes all W_h h_j in each step) or "cached"
    a      if a large T doubles while d is constant, the cost is multiplied by 2^a
    b      if a large d doubles while T is constant, the cost is multiplied by 2^b
    """
    b = {"dot": 1, "additive": 2, "cached": 2}[score]  #? Which term of your sum grows fastest with d?
    #! b = {"dot": 1, "additive": 2, "cached": 1}[score]  | exponents that ignore W_s s where the keys are cached
    #! b = {"dot": 1, "additive": 1, "cached": 1}[score]  | exponents that ignore the products with matrices
    #! b = {"dot": 1, "additive": 1, "cached": 2}[score]  | exponents of "additive" and "cached" exchanged
    #! b = {"dot": 2, "additive": 2, "cached": 2}[score]  | an exponent of 2 for d in all three scores
    return 1, b


def explanation():
    """Return a string: with cached keys, the additive score needs T d + d^2
    multiplications and dot needs T d. Why is dot still faster on a GPU?

    Write ten words or more; they are not graded. The check then prints a good answer.
    """
    return (  #? How many numbers stand between two operations, and how often is each used?
        "dot: all scores are one product of matrices, for which a GPU is built\n"
        "additive: T d_a numbers for each query stand between two steps; they pass "
        "through the memory, and each is used once\n"
        "tanh takes more time than a multiplication, and special units compute it\n"
        "Theta(T d) hides the constant, and holds for additive only with cached keys; "
        "6.6 measures the factor on your machine"
    )


# ---- THE CHECK: each call my.f(…) is compared with the function f above

from lessons.course.words import your_own_words  # noqa: F401

SIZES = (4, 7, 5, 11), (7, 11, 3, 5), (3, 5, 13, 2), (13, 2, 5, 3), (1, 7, 3, 5)


def one_step(my, rng):
    """one step, and a sentence, that compute all W_h h_j or have them already"""
    for sizes in SIZES:  # T, d_s, d_h, d_a
        my.mults_additive(*sizes, False)
        my.mults_additive(*sizes, True)
    for L, *sizes in ((3, 5, 3, 7, 11), (7, 3, 5, 2, 13)):
        for cached in (True, False):
            my.mults_sentence(L, *sizes, cached)


def tanh_and_memory(my, rng):
    """dot scores, values of tanh, numbers that a step keeps, and how costs grow"""
    for sizes in ((5, 3), (7, 11), (1, 13), (3, 2)):
        my.mults_dot(*sizes)
        my.tanhs(*sizes)
        my.numbers_held("additive", *sizes)
        my.numbers_held("dot", *sizes)
    for score in ("dot", "additive", "cached"):
        my.growth(score)


HINTS = """
1  A matrix (m, n) times a vector takes m n multiplications: n for each entry of the
   result. Which of the three products of the additive score are computed once in a
   step, and which once for each state?
2  For a sentence: add the work that does not depend on the step and L times the cost
   of a step. For the growth: only the term of a sum that grows fastest counts.
"""
WHY = """An additive score multiplies a matrix by every key, d_a d_h multiplications for
each, while a dot product takes d. If all keys are projected before the first step, d_a
multiplications for each key remain, beside one W_s s for the step."""
