"""6.1  Uniform attention is the mean  ●○○○  15 min  book §6.2

With equal weights, attention returns the mean of the states. Which scores give equal
weights? And which gradient does each state receive from such attention?

    alpha = softmax(e)          c = sum_j alpha_j h_j
"""

import numpy as np


def weights(e):
    """Return alpha = softmax(e) for the scores e (T,), also for very large scores."""
    z = np.exp(e - e.max())  #? exp(1e4) is inf. Which change of the scores leaves a softmax as it is?
    #! z = np.exp(e)  | exp(e) / sum exp(e)
    #! z = np.exp(e - e.mean())  | exp(e - mean e) / its sum
    return z / z.sum()  #? To which number do the weights of a softmax sum?
    #! return np.exp(e)  | exp(e), not divided by its sum


def context(alpha, H):
    """Return c = sum_j alpha_j h_j.

    alpha (T,), H (T, d) with one state in each row  ->  c (d,)
    """
    return alpha @ H  #? Each state has its own weight: which one has h_0, and how many terms are there?
    #! return H.sum(0)  | the sum of the states
    #! return alpha @ H / alpha.sum()  | the sum of alpha_j h_j, divided by the sum of alpha
    #! return H[np.argmax(alpha)]  | the state of the largest weight
    #! return alpha[:-1] @ H[:-1]  | the sum without its last term
    #! return alpha[-1] * H[-1]  | the last term of the sum, alone
    #! return alpha[0] * H[0]  | the first term of the sum, alone
    #! return alpha[::-1] @ H  | the sum with the weights reversed
    #= return (alpha[:, None] * H).sum(0)


def context_backward(alpha, H, g):
    """Return the gradients of the weights and of the states, from g = dL/dc (d,).

    ->  d_alpha (T,), d_H (T, d)
    """
    d_alpha = H @ g  #? It goes from g = dL/dc to the weights. Is the softmax between the two?
    #! d_alpha = alpha * (H @ g - alpha @ H @ g)  | the gradient of the scores, not of the weights
    #! d_alpha = alpha * (1 - alpha) * (H @ g)  | alpha (1 - alpha) times the gradient of the weights
    #! d_alpha = alpha * (H @ g)  | alpha times the gradient of the weights
    d_H = np.outer(alpha, g)  #? How much of h_j is in c?
    #! d_H = np.outer(alpha**2, g)  | the gradient of the states with alpha squared
    #= d_H = alpha[:, None] * g
    return d_alpha, d_H


def is_uniform(e):
    """Return whether softmax(e) has equal weights, in exact arithmetic."""
    return bool(np.all(e == e[0]))  #? Which numbers are exact: the scores, or their weights and mean?
    #! return bool(np.all(e == 0))  | whether all scores are 0
    #! return bool(np.any(e == e[0]))  | whether any score equals the first
    #! return bool(np.all(np.diff(e) >= 0))  | whether no score is below the one before
    #! return bool(np.allclose(e, e[0]))  | whether the scores are nearly equal: np.allclose has a tolerance
    #! return bool(np.all(abs(e - e[0]) < 1e-8))  | whether the scores differ by less than 1e-8
    #! return bool(np.all(abs(e - e[0]) < 1e-12))  | whether the scores differ by less than 1e-12
    #! return bool(np.all(abs(e - e[0]) < 1e-300))  | whether the scores differ by less than 1e-300
    #! return bool(np.all(weights(e) == 1 / len(e)))  | whether the rounded weights are equal
    #! return bool(e.mean() == e[0])  | whether the first score is the mean
    #! return bool(np.all(e == e.mean()))  | whether all scores are the mean, which is rounded
    #= return len(set(e)) == 1


def explanation():
    """Return a string: why do equal weights serve most tasks badly, and what do they
    say about the scores e_j?

    Write ten words or more; they are not graded. The check then prints a good answer.
    """
    return (  #? Which word of the source can the decoder ask for, if every step has this mean?
        "the context is the same vector at every step i: none can ask for another "
        "word\n"
        "what a mean loses: which word, in which order; rare words beside many others\n"
        "e_ij = a constant for this i, so the score does not use h_j; it need not be "
        "0, and the constant may differ between the steps\n"
        "where it is right: before training, for a sum such as counting, or if nothing "
        "in the source matters for this word"
    )


# ---- THE CHECK: each call my.f(…) is compared with the function f above

from lessons.course.words import your_own_words  # noqa: F401


def of_seven(my, rng):
    """weights and contexts of seven states"""
    e, H = rng.normal(size=7), rng.normal(size=(7, 5))
    my.weights(e)
    my.context(np.full(7, 1 / 7), rng.integers(-50, 50, (7, 3)).astype(float))
    for alpha in (weights(e), rng.random(7)):  # also if the sum of alpha is not 1
        my.context(alpha, H)
    my.context(rng.random(5), rng.normal(size=(5, 5)))


def gradients(my, rng):
    """the gradients of a context, for the weights and the states"""
    for T, d in ((7, 5), (5, 5), (1, 3)):
        alpha, H = weights(rng.normal(size=T)), rng.normal(size=(T, d))
        my.context_backward(alpha, H, rng.normal(size=d))
    my.context_backward(rng.random(7), rng.normal(size=(7, 3)), rng.normal(size=3))


def if_and_only_if(my, rng):
    """uniform if and only if all scores are equal"""
    cases = [(np.full(7, c), f"seven scores of {c:g}") for c in (0, 5, -1e4, 1e4, 0.1)]
    for e in ([0, 1, 2], [2, 1, 0], [1, 0, 2], [0, -3, 3]):  # the first may be the mean
        cases.append((np.array(e, float), f"scores of {e}"))
    for c, gap in ((1, 1), (1e4, 1e-3), (1, 1e-9), (1, 2**-50), (0, 1e-20), (0, 5e-324)):
        e = np.full(7, float(c))
        e[3] += gap  # the last two give equal weights in float64
        cases.append((e, f"one score is larger by {gap:.3g}, the others are {c:g}"))
    for e, what in cases:
        found, right = my.only.is_uniform(e), is_uniform(e)
        is_right = np.ndim(found) == 0 and found == right
        my.holds("is_uniform", is_right, f"{right}: {what}", repr(found))


def large_scores(my, rng):
    """scores of 700 and 2000, equal and unequal, and a single state"""
    equal = [1e4] * 7, [-1e4] * 7
    for e in ([705, 708, 712], [0, 0, 2000], [0, -2000, -2000], [3], *equal):
        my.weights(np.array(e, float))  # exp(712) is inf


HINTS = """
weights  By hand: the weights of the scores 1000 and 1001. Which exponents do you need?
context  Sum over j, the axis of the states; which axis remains?
context_backward  c_k = sum_j alpha_j h_jk. Differentiate by alpha_j, then by h_jk.
is_uniform  Scores of 1, 0, 2 have the mean 1, which is the first of them. Are their
   weights equal? And nearly equal scores give weights that are nearly equal.
1  Adding one number to all scores changes no weight: one of them keeps exp in range.
2  c is a sum of rows, each multiplied by a number: a vector times a matrix.
3  dc_k / dh_jk = alpha_j, and dc_k / dalpha_j = h_jk. Equal weights mean exp(e_i) =
   exp(e_j) for all i and j. What does that mean for the scores?
"""
WHY = """A softmax ignores a number that is added to all scores, and gives equal scores
equal weights; different scores have different exponentials. The context is linear in
the states, so each state receives its weight times g."""
