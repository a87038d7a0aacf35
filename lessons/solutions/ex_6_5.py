"""6.5  Bahdanau attention by hand  ●●●○  45 min  needs 6.1, E.2  book §6.2

Compute additive attention and its backward with NumPy arrays and the chain rule: one
decoder state s attends to S encoder states h_j. Do not use a layer or an autograd; the
softmax and its backward are yours, of E.2.

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

MUTANTS = [
    ("softmax_backward(d_alpha)", "alpha * (1 - alpha) * d_alpha", "softmax-diagonal"),
    ("softmax_backward(d_alpha)", "alpha * d_alpha", "softmax-nocentre"),
    ("softmax_backward(d_alpha)", "d_alpha", "softmax-skipped"),
    ("np.outer(d_query, s)", "np.outer(s, d_query)", "transpose"),
    ("np.where(mask, e, -np.inf)", "e", "mask-leak"),
    ("alpha, _ = softmax(np.where(mask, e, -np.inf))",
     "alpha = np.where(mask, np.exp(e), 0)", "not-normalised"),
    ("np.where(mask, e, -np.inf)",
     "np.where(mask, e.astype('f4').astype(float), -np.inf)", "float32"),
]  # fmt: skip
