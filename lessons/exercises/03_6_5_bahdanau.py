"""6.5  Bahdanau attention by hand  ●●●○  45 min  needs 6.1, E.2  book §6.2

Compute additive attention and its backward with NumPy arrays and the chain rule: one
decoder state s attends to S encoder states h_j. Do not use a layer or an autograd; the
softmax and its backward are yours, of E.2. ``python -m lessons experiment 6.5`` then
trains a model with your functions, which learns to reverse strings.

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
    """Return the context and the weights  ->  c (d_h,), alpha (S,)"""
    pre = H @ W_h.T + W_s @ s  # (S, d_a)  #? Which term of the score contains the state of the decoder, and with which sign?
    #! pre = (H @ W_h.T) * (W_s @ s)  | softmax of v . tanh(W_s s * W_h h_j)
    e = np.tanh(pre) @ v  #? tanh bends each of the d_a entries; v comes after it.
    #! e = np.maximum(pre, 0) @ v  | softmax of v . max(0, W_s s + W_h h_j)
    #! e = 1 / (1 + np.exp(-pre)) @ v  | softmax of v . sigmoid(W_s s + W_h h_j)
    #! e = np.tanh(pre @ v)  | softmax of tanh(v . (W_s s + W_h h_j))
    #! e = np.tanh(pre).sum(1)  | softmax of the sum of tanh(W_s s + W_h h_j)
    #! e = np.tanh(pre) @ abs(v)  | softmax of |v| . tanh(W_s s + W_h h_j)
    #! e = np.tanh(pre) @ v / np.sqrt(len(v))  | softmax of e / sqrt(d_a)
    #! e = np.tanh(pre) @ v / 2  | softmax of e / 2
    alpha, _ = softmax(np.where(mask, e, -np.inf))  # exp(-inf) is 0  #? exp(0) is 1, so a score of 0 has a weight. Whose exp is 0? And over which positions is the maximum taken?
    #! alpha, _ = e, None  | the scores e, without the softmax
    #! alpha, _ = e * mask, None  | the scores e, 0 where masked
    #! alpha = np.where(mask, np.exp(e), 0)  | exp(e), not divided by its sum
    #! alpha = softmax(e)[0] * mask  | the softmax of all scores, times the mask
    #! alpha, _ = softmax(np.where(mask, e, 0.0))  | the softmax of scores that are 0 where masked
    #! alpha, _ = softmax(np.where(mask, e, -1.0))  | the softmax of scores that are -1 where masked
    #! alpha, _ = softmax(np.where(mask, e, -10.0))  | the softmax of scores that are -10 where masked
    #! alpha, _ = softmax(np.where(mask, -np.inf, e))  | the softmax of the masked scores
    return alpha @ H, alpha  #? c is not the plain mean of the states: each state has its own weight.


def bahdanau_backward(s, H, W_s, W_h, v, mask, g):
    """Return the gradients of all inputs and intermediates, from g = dL/dc (d_h,).

    ->  a dictionary of dL/d(...), in the order of the chain rule: "alpha" (S,),
    "e" (S,), "pre" (S, d_a) for the argument of tanh, "v", "W_s", "W_h", "s", "H"
    """
    pre = H @ W_h.T + W_s @ s  # (S, d_a)
    t = np.tanh(pre)
    alpha, softmax_backward = softmax(np.where(mask, t @ v, -np.inf))  #? exp(0) is 1, so a score of 0 has a weight. Whose exp is 0?
    d_alpha = H @ g  #? c = sum_j alpha_j h_j: what is the gradient of alpha_j?
    d_e = softmax_backward(d_alpha)  # 0 where masked, as alpha is  #? Between the weights and the scores there is a softmax. What is its backward?
    #! d_e = alpha * (1 - alpha) * d_alpha  | alpha (1 - alpha) dL/dalpha, the diagonal
    #! d_e = alpha * d_alpha  | alpha dL/dalpha, without - alpha sum(alpha dL/dalpha)
    #! d_e = d_alpha - alpha @ d_alpha  | dL/dalpha - sum(alpha dL/dalpha), without the factor alpha
    #! d_e = alpha * d_alpha - alpha @ d_alpha  | alpha dL/dalpha - sum(alpha dL/dalpha), without alpha in the second term
    #! d_e = alpha * (d_alpha + alpha @ d_alpha)  | alpha (dL/dalpha + sum(alpha dL/dalpha)), with + for -
    #! d_e = alpha * (d_alpha - d_alpha.sum())  | alpha (dL/dalpha - sum(dL/dalpha)), without alpha in the sum
    #! d_e = alpha * (d_alpha - d_alpha.mean())  | alpha (dL/dalpha - mean(dL/dalpha)), the mean without weights
    slope = 1 - t * t  #? Between e and W_h h_j there is a tanh, with the derivative 1 - tanh(x)^2. Is it there, and what is squared?
    #! slope = 1 - pre * pre  | the gradient with 1 - x * x as the slope of tanh(x)
    #! slope = 1 - np.tanh(t) ** 2  | the gradient with 1 - tanh(tanh(x))^2 as the slope of tanh(x)
    #! slope = 1 - np.tanh(t)  | the gradient with 1 - tanh(tanh(x)) as the slope of tanh(x)
    #! slope = t * (1 - t)  | the gradient with tanh(x) (1 - tanh(x)) as the slope of tanh(x)
    #! slope = t * t  | the gradient with tanh(x)^2 as the slope of tanh(x)
    d_pre = np.outer(d_e, v) * slope  #? e_j = v . tanh(…): what is de_j / dtanh?
    #! d_pre = d_e[:, None] * slope  | the gradient without the factor v
    d_v = d_e @ t  #? e_j = v . tanh(…): which vector multiplies v, and whose gradient is multiplied?
    d_query = d_pre.sum(0)  # W_s s was used at every position  #? W_s s is one vector that S positions use. What is the gradient of a value that is used S times?
    #! d_query = d_pre[-1]  | the gradient of the last position alone, of a sum over all
    #! d_query = d_pre[0]  | the gradient of the first position alone, of a sum over all
    d_W_s = np.outer(d_query, s)  #? W_s multiplies s: what is d(W_s s)_k / d(W_s)_ki?
    #! d_W_s = np.outer(d_query, np.ones(len(s)))  | the gradient without the factor s: the same number in a row
    d_W_h = d_pre.T @ H  #? W_h multiplies each h_j itself: which vector belongs to row j of dL/dpre?
    #! d_W_h = d_pre.T @ (alpha[:, None] * H)  | the gradient with alpha_j h_j in the place of h_j
    #! d_W_h = np.outer(d_query, H.sum(0))  | the gradient with the sum of all states in the place of h_j
    #! d_W_h = np.outer(d_query, H.mean(0))  | the gradient with the mean of all states in the place of h_j
    #! d_W_h = np.outer(d_query, H[-1])  | the gradient with the last state in the place of h_j
    #! d_W_h = np.outer(d_query, alpha @ H)  | the gradient with the context in the place of h_j
    d_s = d_query @ W_s
    through_scores = d_pre @ W_h  #? Row j of dL/dpre belongs to h_j alone.
    through_context = np.outer(alpha, g)  #? c contains h_j once, with the weight alpha_j.
    d_H = through_context + through_scores  # h_j is in c and in e_j  #? In how many places of the formulas does h_j stand?
    #! d_H = 2 * through_context + through_scores  | the gradient with that of the context twice
    #! d_H = through_context + 2 * through_scores  | the gradient with that of the scores twice
    chain = {"alpha": d_alpha, "e": d_e, "pre": d_pre}  #? The dictionary contains gradients: dL/dalpha, dL/de, dL/dpre.
    #! chain = {"alpha": d_alpha, "e": t @ v, "pre": d_pre}  | e, not its gradient
    return chain | {"v": d_v, "W_s": d_W_s, "W_h": d_W_h, "s": d_s, "H": d_H}


# ---- THE CHECK: each call my.f(…) is compared with the function f above

from lessons.course.before import answers_pass
from lessons.course.training import experiment  # noqa: F401


def draw(my, rng, S, d_s=3, d_h=5, d_a=11):
    """Return [s, H, W_s, W_h, v], a mask that is False at two positions, and g.

    Masked states are orthogonal to g: so the gradient of their weights is 0.
    """
    answers_pass(my, "E.2")
    shapes = (d_s,), (S, d_h), (d_a, d_s), (d_a, d_h), (d_a,), (d_h,)
    *inputs, g = (rng.normal(size=shape) for shape in shapes)
    mask = np.ones(S, bool)
    mask[[1, -1]] = False
    H = inputs[1]
    H[~mask] -= np.outer(H[~mask] @ g / (g @ g), g)
    return inputs, mask, g


def context_and_gradients(my, rng):
    """context and weights, all allowed and masked, and the gradients link by link"""
    for S, *widths in ((7,), (12,), (48,), (5, 5, 5, 5)):
        inputs, mask, g = draw(my, rng, S, *widths)
        for allowed in (np.ones(S, bool), mask):
            my.bahdanau_forward(*inputs, allowed)
            my.bahdanau_backward(*inputs, allowed, g)


def far_and_alone(my, rng):
    """scores of 1e4, masked scores thousands above the others, and a single state"""
    (s, H, W_s, W_h, v), mask, g = draw(my, rng, 7)
    for v in (1e4 * v, -1e4 * v):
        e = np.tanh(H @ W_h.T + W_s @ s) @ v
        lowest = np.isin(e, np.sort(e)[:3])
        my.bahdanau_forward(s, H, W_s, W_h, v, mask)
        my.bahdanau_forward(s, H, W_s, W_h, v, lowest)
    alone = s, H[:1], W_s, W_h, v, mask[:1]
    my.bahdanau_forward(*alone)
    my.bahdanau_backward(*alone, g)


HINTS = """
1  Write the shapes first: H W_h^T is (S, d_a), W_s s is (d_a,), and their sum is the
   argument of tanh, one row for each position.
2  Go backwards link by link: from c to alpha (6.1), from alpha to e (the softmax of
   E.2), from e to v and tanh, and to the argument of tanh. Two products remain.
3  dL/dalpha_j = h_j . g;  dL/de = alpha (dL/dalpha - sum(alpha dL/dalpha)); dL/dpre_jk
   = dL/de_j v_k (1 - tanh^2). The argument of tanh at j contains W_s s and W_h h_j, and
   c contains h_j as well.
"""
WHY = """The backward takes the steps of the forward in the opposite order. W_s s is one
vector that every position uses, so its gradient is a sum over positions; h_j is used in
its score and in the average, so its two gradients are added."""
