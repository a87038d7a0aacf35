"""6.5  Bahdanau attention by hand  ●●●○  45 min  needs 6.1, E.2  book §6.2

Compute additive attention and its backward with three arrays of numbers and the chain
rule: one decoder state s attends to S encoder states h_j. Do not use a layer or an
autograd; the softmax and its backward are yours, of E.2.

    e_j   = v . tanh(W_s s + W_h h_j)
    alpha = softmax(e)  over the positions that the mask allows, 0 elsewhere
    c     = sum_j alpha_j h_j

Shapes: s (d_s,), H (S, d_h) with one state in each row, W_s (d_a, d_s), W_h (d_a, d_h),
v (d_a,), mask (S,) bool. True allows a position; at least one position is True.
"""

import numpy as np

from lessons import earlier

softmax = earlier(__file__, "E.2", "softmax")  # y, backward = softmax(x)


def bahdanau_forward(s, H, W_s, W_h, v, mask):
    """Return the context c (d_h,) and the weights alpha (S,)."""
    # BEGIN SOLUTION
    e = np.tanh(H @ W_h.T + W_s @ s) @ v  # (S,)
    alpha, _ = softmax(np.where(mask, e, -np.inf))  # exp(-inf) is 0
    return alpha @ H, alpha
    # END SOLUTION


def bahdanau_backward(s, H, W_s, W_h, v, mask, g):
    """Return the gradients of all inputs and intermediates, from g = dL/dc (d_h,).

    ->  a dictionary of dL/d(...), in the order of the chain rule: "alpha" (S,),
    "e" (S,), "pre" (S, d_a) for the argument of tanh, "v", "W_s", "W_h", "s", "H"
    """
    # BEGIN SOLUTION
    t = np.tanh(H @ W_h.T + W_s @ s)  # (S, d_a)
    alpha, softmax_backward = softmax(np.where(mask, t @ v, -np.inf))
    d_alpha = H @ g
    d_e = softmax_backward(d_alpha)  # 0 where masked, as alpha is
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
        "H": np.outer(alpha, g) + through_scores,  # h_j is in c and in e_j
    }
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "The backward takes the steps of the forward in the opposite order, and each "
    "gradient has the shape of its value. W_s s is one vector that every position "
    "uses, so its gradient is a sum over positions; h_j is used in its score and in "
    "the average, so its two gradients are added."
)

HINTS = {
    "mask-leak": ["exp(0) is 1, so a score of 0 has a weight. Whose exp is 0?"],
    "bahdanau_forward": [
        "Which score does a masked position need, so that its weight is exactly 0 and "
        "the others sum to 1?",
    ],
    "bahdanau_backward": [
        "The report names the first link that is wrong: what is computed there from "
        "what?",
    ],
    "": [
        "Write the shapes first: H W_h^T is (S, d_a), W_s s is (d_a,), and their sum "
        "is the argument of tanh, one row for each position.",
        "Go backwards one link at a time: from c to alpha (6.1), from alpha to e "
        "(the softmax of E.2), from e to v and tanh, from tanh to its argument. Two "
        "products with a matrix remain.",
        "dL/dalpha_j = h_j . g;  dL/de = alpha (dL/dalpha - its mean under alpha); "
        "dL/dpre_jk = dL/de_j v_k (1 - tanh^2). The argument of tanh at j contains "
        "W_s s and W_h h_j, and c contains h_j as well.",
    ],
    "no-tanh": [
        "Without tanh the score is affine in h_j. Does your score contain the tanh?",
    ],
    "not-normalised": ["By which sum does the softmax divide?"],
    "ignores-query": ["Which term of the score contains the state of the decoder?"],
    "mask-after": [
        "The allowed weights sum to 1. Yours were divided by a sum that contains "
        "masked positions as well.",
    ],
    "ignores-weights": [
        "c is not the plain mean of the states: each state has its own weight.",
    ],
    "overflow": [
        "exp(1e4) is larger than any float64. Which number can you subtract from all "
        "scores?",
    ],
    "wrong-derivative": [
        "The derivative of tanh at x is 1 - tanh(x)^2. Did you square x or tanh(x)?",
    ],
    "no-slope": [
        "Between e and W_h h_j there is a tanh, and its derivative is a factor of "
        "the gradient.",
    ],
    "unbroadcast": [
        "W_s s is one vector that is used at every position j. What is the backward "
        "of a value that is used S times?",
        "dL/d(W_s s) = sum_j dL/dpre_j.",
        "Sum the gradient of the argument of tanh over its rows, then multiply by W_s.",
    ],
    "masked-maximum": [
        "The largest score is subtracted to keep exp in range. Over which positions "
        "may the maximum be taken, if a masked score is 1000 above all others?",
    ],
    "mean-not-sum": [
        "A value that is used S times receives S gradients. Are they added or "
        "averaged?",
    ],
    "overwrites": [
        "In how many places of the formulas does h_j stand?",
        "h_j is in e_j and in c, so its gradient is a sum of two terms.",
    ],
    "softmax-skipped": ["Between the weights and the scores there is a softmax."],
}

MUTANTS = [
    ("d_query = d_pre.sum(0)", "d_query = d_pre[-1]", "unbroadcast"),
    ("softmax_backward(d_alpha)", "alpha * (1 - alpha) * d_alpha", "softmax-diagonal"),
    ("softmax_backward(d_alpha)", "alpha * d_alpha", "softmax-nocentre"),
    ("softmax_backward(d_alpha)", "d_alpha", "softmax-skipped"),
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
    ("alpha, _ = softmax(np.where(mask, e, -np.inf))",
     "alpha = np.where(mask, np.exp(e), 0)", "not-normalised"),
    ("alpha, _ = softmax(np.where(mask, e, -np.inf))",
     "z = np.where(mask, np.exp(e), 0)\n    alpha = z / z.sum()", "overflow"),
    ("return alpha @ H, alpha", "return H.mean(0), alpha", "ignores-weights"),
    ("np.where(mask, e, -np.inf)",
     "np.where(mask, e.astype('f4').astype(float), -np.inf)", "float32"),
]  # fmt: skip
