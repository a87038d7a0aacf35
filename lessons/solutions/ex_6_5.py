"""6.5  Bahdanau attention by hand  ●●●○  45 min  needs 6.1, E.2  book §6.2

One decoder state s looks at S encoder states h_j. There is no layer here and no
autograd: three arrays of numbers, and the chain rule.

    e_j   = v . tanh(W_s s + W_h h_j)
    alpha = softmax(e)  over the positions that the mask allows, 0 elsewhere
    c     = sum_j alpha_j h_j

Shapes: s (d_s,), H (S, d_h) with a state a row, W_s (d_a, d_s), W_h (d_a, d_h),
v (d_a,), mask (S,) bool, True = may be attended to, True at one position at least.
"""

import numpy as np


def bahdanau_forward(s, H, W_s, W_h, v, mask):
    """c (d_h,), alpha (S,)"""
    # BEGIN SOLUTION
    e = np.tanh(H @ W_h.T + W_s @ s) @ v  # (S,)
    e = np.where(mask, e, -np.inf)
    z = np.exp(e - e.max())
    alpha = z / z.sum()
    return alpha @ H, alpha
    # END SOLUTION


def bahdanau_backward(s, H, W_s, W_h, v, mask, g):
    """The gradient of everything, from g = dL/dc (d_h,).

    ->  a dictionary of dL/d(...), in the order in which they are found: "alpha" (S,),
    "e" (S,), "pre" (S, d_a) of the argument of tanh, then "v", "W_s", "W_h", "s", "H"
    """
    # BEGIN SOLUTION
    t = np.tanh(H @ W_h.T + W_s @ s)  # (S, d_a)
    _, alpha = bahdanau_forward(s, H, W_s, W_h, v, mask)
    d_alpha = H @ g
    d_e = alpha * (d_alpha - alpha @ d_alpha)  # one more here is less elsewhere
    d_pre = np.outer(d_e, v) * (1 - t * t)
    d_query = d_pre.sum(0)  # W_s s was used at every position
    through_scores = d_pre @ W_h
    return {
        "alpha": d_alpha,
        "e": d_e,
        "pre": d_pre,
        "v": d_e @ t,
        "W_s": np.outer(d_query, s),
        "W_h": d_pre.T @ H,
        "s": d_query @ W_s,
        "H": np.outer(alpha, g) + through_scores,  # h_j is read, and scored
    }
    # END SOLUTION


# FOR THE CHECK

HINTS = {
    "": [
        "Write the shapes first: H W_h^T is (S, d_a), W_s s is (d_a,), and the sum of "
        "the two is what tanh takes, a row for each position.",
        "Backwards, one link at a time: c to alpha (6.1), alpha to e (the softmax of "
        "E.2), e to v and to the tanh, the tanh to its argument. From there on it is "
        "two products with a matrix.",
        "dL/dalpha_j = h_j . g;  dL/de = alpha (dL/dalpha - its mean under alpha);  "
        "dL/dpre_jk = dL/de_j v_k (1 - tanh^2). The argument of tanh at j gets W_s s "
        "and W_h h_j, and h_j is also in c.",
    ],
    "no-tanh": ["Without tanh the score is affine in h_j. Is it there, in your score?"],
    "not-normalised": ["What has the softmax to divide by?"],
    "ignores-query": ["Which term of the score knows what the decoder wants?"],
    "not-renormalised": [
        "The allowed weights sum to 1. Yours were divided by a sum over masked "
        "positions as well."
    ],
    "ignores-weights": ["c is not the mean of the states: each has its weight."],
    "overflow": ["exp(1e4) is more than a float64 holds. What may be subtracted?"],
    "wrong-derivative": [
        "The derivative of tanh at x is 1 - tanh(x)^2: which of x and tanh(x) did "
        "you square?"
    ],
    "no-slope": ["On the way from e to W_h h_j there is a tanh, and it has a slope."],
    "unbroadcast": [
        "W_s s is one vector, used at every position j. What is the backward of using "
        "something S times?",
        "dL/d(W_s s) = sum_j dL/dpre_j.",
        "Sum the gradient of tanh's argument over its rows before W_s is met.",
    ],
    "mean-not-sum": ["What is used S times receives S gradients. Are they averaged?"],
    "overwrites": [
        "In how many places of the formulas does h_j stand?",
        "h_j is in e_j and in c: its gradient is a sum of two.",
    ],
    "softmax-skipped": ["Between the weights and the scores there is a softmax."],
}

MUTANTS = [
    ("d_query = d_pre.sum(0)", "d_query = d_pre[-1]", "unbroadcast"),
    (
        "alpha * (d_alpha - alpha @ d_alpha)",
        "alpha * (1 - alpha) * d_alpha",
        "softmax-diagonal",
    ),
    ("(d_alpha - alpha @ d_alpha)", "d_alpha", "softmax-nocentre"),
    ("alpha * (d_alpha - alpha @ d_alpha)", "d_alpha", "softmax-skipped"),
    (
        "(1 - t * t)",
        "(1 - (H @ W_h.T + W_s @ s) ** 2)",
        "wrong-derivative",
    ),
    (" * (1 - t * t)", "", "no-slope"),
    ("np.outer(alpha, g) + through_scores", "np.outer(alpha, g)", "overwrites"),
    ("np.outer(alpha, g) + through_scores", "through_scores", "overwrites"),
    ("np.outer(d_query, s)", "np.outer(s, d_query)", "transpose"),
    ("d_query = d_pre.sum(0)", "d_query = d_pre.mean(0)", "mean-not-sum"),
    (
        "e = np.tanh(H @ W_h.T + W_s @ s) @ v",
        "e = (H @ W_h.T + W_s @ s) @ v",
        "no-tanh",
    ),
    (
        "e = np.tanh(H @ W_h.T + W_s @ s) @ v",
        "e = np.tanh(H @ W_h.T) @ v",
        "ignores-query",
    ),
    ("np.where(mask, e, -np.inf)", "e", "mask-leak"),
    ("np.where(mask, e, -np.inf)", "np.where(mask, -np.inf, e)", "complement"),
    ("alpha = z / z.sum()", "alpha = z", "not-normalised"),
    ("np.exp(e - e.max())", "np.exp(e)", "overflow"),
    ("return alpha @ H, alpha", "return H.mean(0), alpha", "ignores-weights"),
    (
        "    e = np.where(mask, e, -np.inf)",
        "    e = np.where(mask, e.astype('f4').astype(float), -np.inf)",
        "float32",
    ),
]
