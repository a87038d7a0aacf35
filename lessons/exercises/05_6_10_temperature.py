"""6.10  The temperature of a softmax  ●●○○  25 min  needs 6.1  book §6.5

    p = softmax(e / tau)

A low temperature tau moves the weight to the largest score, a high one makes the
weights equal. Look at the weights of the self-attention of 6.8 at five temperatures.
The entropy H of the weights never falls as tau grows, because its slope is a variance:

    dH/dtau = Var_p(e) / tau^3  >=  0
"""

import numpy as np


def softmax_t(e, tau):
    """Return softmax(e / tau) over the last axis of e (…, n), for any tau > 0."""
    m = e.max(-1, keepdims=True)  #? Each row has its own largest score. What is exp of 710, and of a row that is 1000 below another?
    #! m = e.max()  | exp(e - the largest of all rows), divided by its sum
    #! m = e.mean(-1, keepdims=True)  | the softmax of e, less the mean of each row
    z = np.exp((e - m) / tau)  #? Does the largest weight grow or shrink at a low temperature? Is the largest exponent 0?
    #! z = np.exp(e - m) ** (1 / tau)  | exp(e) to the power 1 / tau, divided by its sum
    return z / z.sum(-1, keepdims=True)  #? Over which axis do the weights of one query sum to 1?
    #! return (z := np.exp(e - m)) / z.sum(-1, keepdims=True) / tau  | softmax(e) / tau


def entropy(p):
    """Return H = -sum_j p_j ln p_j over the last axis of p (…, n), with 0 ln 0 = 0."""
    logs = np.log(np.where(p > 0, p, 1.0))  # ln 1 = 0 replaces ln 0  #? The entropy is in nats: which logarithm is it? What is 0 * -inf?
    #! logs = np.log(p)  | -sum_j p_j ln p_j, which is NaN where p is 0
    #! logs = np.log(p + 0.01)  | -sum_j p_j ln(p_j + 0.01)
    #! logs = np.log(p + 0.001)  | -sum_j p_j ln(p_j + 0.001)
    return -(p * logs).sum(-1)  #? Each term has the weight p_j. The entropy is the sum itself.
    #! return -logs.mean(-1)  | the mean of -ln p_j
    #! return np.log(p.shape[-1]) + (p * logs).sum(-1)  | ln n - H
    #! return 1 - (p * p).sum(-1)  | 1 - sum_j p_j^2
    #! return -(p * logs).min(-1)  | the largest of -p_j ln p_j


def dH_dtau(e, tau):
    """Return the slope of H(softmax(e / tau)) in tau, for each row of e (…, n).

    If you add one number to all scores, also 1e6, the slope changes by rounding only.
    """
    p = softmax_t(e, tau)  #? Which weights does the entropy belong to?
    #! p = softmax_t(e, 1.0)  | Var_p(e) / tau^3 with p = softmax(e)
    #! p = softmax_t(e, 1 / tau)  | Var_p(e) / tau^3 with p = softmax(e tau)
    #! p = softmax_t(e, tau**2)  | Var_p(e) / tau^3 with p = softmax(e / tau^2)
    mean = (p * e).sum(-1, keepdims=True)  #? The mean in a variance under p is taken under p as well, row by row.
    #! mean = e.mean(-1, keepdims=True)  | sum_j p_j (e_j - m)^2 / tau^3, m the plain mean of e
    variance = (p * (e - mean) ** 2).sum(-1)  #? The variance is that of the scores e, with the weights p: a mean of squares.
    #! variance = p.var(-1)  | Var(p) / tau^3
    #! variance = e.var(-1)  | Var(e) / tau^3 under equal weights
    #! variance = (p * e**2).sum(-1) - mean[..., 0] ** 2  | E_p(e^2) - E_p(e)^2, whose digits cancel, / tau^3
    #! variance = (p * e**2).sum(-1) - mean[..., 0]  | (E_p e^2 - E_p e) / tau^3
    #! variance = ((e - mean) ** 2).mean(-1)  | the plain mean of (e_j - m)^2 / tau^3
    #! variance = (p * (e - mean) ** 2).sum(-1) ** 0.5  | the root of Var_p(e), / tau^3
    #= variance = np.einsum("...j,...j", p, np.square(mean - e))
    return variance / tau**3  #? By which power of tau does your slope differ from the right one?
    #! return variance / tau**7  | dH/dtau / tau^4
    #! return variance * tau  | dH/dtau x tau^4


def sweep(X, taus):
    """Return weights and mean entropies of a self-attention at each temperature.

    The scores are those of 6.8 with scale 1, x_i . x_j, for X (T, d). 6.8 belongs to
    lesson 09; you may write it later, because nothing else of it is needed here.
    ->  weights (n, T, T) and H (n,), the mean over the T queries, for n taus
    """
    e = X @ X.T  #? The scores are x_i . x_j, whatever the lengths of the rows are, divided by tau alone.
    #! e = X @ X.T / X.shape[1] ** 0.5  | the softmax of the scores / sqrt(d)
    #! e = X @ X.T / X.shape[1]  | the softmax of the scores / d
    #! e = X @ X.T / 4  | the softmax of the scores / 4
    #! e = (U := X / np.linalg.norm(X, axis=1, keepdims=True)) @ U.T  | the softmax of cosines / tau
    weights = np.array([softmax_t(e, tau) for tau in taus])  #? Row k belongs to taus[k], in the order of the argument. Which way does a low temperature go?
    #! weights = np.array([softmax_t(e, tau) for tau in (0.1, 0.5, 1, 2, 5)])  | the weights at 0.1, 0.5, 1, 2 and 5
    #! weights = np.array([softmax_t(e, 1 / tau) for tau in taus])  | the softmax of scores * tau
    #! weights = np.array([softmax_t(e, tau**2) for tau in taus])  | the softmax of scores / tau^2
    H = entropy(weights).mean(-1)  #? H is the mean over the queries of the entropy of each, in nats.
    #! H = entropy(weights.mean(1))  | the entropy of the mean weights
    #! H = entropy(weights)[:, 0]  | the entropy of the first query
    #! H = entropy(weights)[:, -1]  | the entropy of the last query
    #! H = entropy(weights).max(-1)  | the largest entropy
    #! H = np.median(entropy(weights), -1)  | the median entropy
    return weights, H


def draw(fig, taus, weights, H):
    """Draw a heatmap for each temperature, and H against tau, into a matplotlib figure.

    All heatmaps have the limits of colour 0 and 1, and a title that contains tau. The
    panel of the entropy has a label at both axes. ``fig.subplots(2, 3)``, flattened, is
    a list of six panels.
    """
    *maps, last = fig.subplots(2, 3).ravel()
    for ax, tau, p in zip(maps, taus, weights):  #? Which heatmap is of which temperature?
        ax.imshow(p, vmin=0, vmax=1)  #? Row i of the image is row i of the weights. A colour must mean the same weight at every temperature.
        ax.set(title=f"tau = {tau:g}")  #? Which heatmap is of which temperature?
    last.plot(taus, H, "o-")  #? The curve has H on the vertical axis and tau on the other.
    last.set(xlabel="tau", ylabel="mean entropy, nats")  #? A reader needs to know what each axis is.


def explanation():
    """Return a string: what happens as tau tends to 0 and to infinity, and what is tau
    used for at inference?

    Write ten words or more; they are not graded. The check then prints a good answer.
    """
    return (  #? What do the weights, the entropy and the output tend to?
        "tau to 0: the largest score takes all, ties share equally, H tends to 0 or "
        "to the logarithm of the ties; no gradient is left\n"
        "tau to infinity: weights 1 / T, H = log T, the output is the mean of the "
        "values\n"
        "at inference: a lower tau makes a soft model decide, a higher one makes it "
        "hedge; for the words of a language model it is the sampling temperature\n"
        "tau is one factor for all scores, as 1 / sqrt(d) is, and the model was "
        "trained with one of them"
    )


# ---- THE CHECK: each call my.f(…) is compared with the function f above

from lessons.course import pictures
from lessons.course.words import your_own_words  # noqa: F401

TEMPERATURES = (0.1, 0.5, 1.0, 2.0, 5.0)
OTHERS = (3.0, 0.2, 0.7, 8.0, 1.5)  # neither the chapter's, nor in order
EPSILON = 1e-10  # so that log(p + 1e-12) is near enough


def at_five_temperatures(my, rng):
    """softmax_t and entropy, at five temperatures, and of weights that are 0"""
    my.near(EPSILON).entropy(rng.dirichlet(np.full(5, 4.0), 7))  # none is near 0
    for shape in ((3, 5), (5, 5), (2, 3, 5)):
        e = rng.normal(size=shape)
        for tau in TEMPERATURES:
            my.softmax_t(e, tau)
        my.near(EPSILON).entropy(np.array([softmax_t(e, tau) for tau in TEMPERATURES]))
    my.near(EPSILON).entropy(np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]))


def the_slope(my, rng):
    """the slope of the entropy, with the digits that a formula has, also near 1e6"""
    e = rng.normal(size=(3, 5))
    for tau in (0.7, 2.0, 5.0):  # no small power of the first is a round number
        my.near(1e-12).dH_dtau(e, tau)
    for tau in (0.5, 2.0):
        my.near(1e-8).dH_dtau(e + 1e6, tau)


def far_apart(my, rng):
    """large scores, and rows that are far apart"""
    for tau, scores in (
        (1.0, [705.0, 708.0, 712.0]),  # exp of the last is inf
        (400.0, [0.0, -700.0, -800.0]),  # exp of the last is 0, and so is its power
        # less the largest of all, exp of the first row has few digits left
        (1.0, [[0.0, 1.0], [742.0, 743.0]]),
        (1e-3, [[1e3, -1e3, 0.0], [1e3, 1e3, 0.0]]),  # a tie
    ):
        my.softmax_t(np.array(scores), tau)


def of_self_attention(my, rng):
    """weights and mean entropies at five temperatures"""
    my.near(EPSILON).sweep(0.7 * rng.normal(size=(7, 5)), OTHERS)


def five_heatmaps(my, rng):
    """five heatmaps and the curve of the entropy"""
    for taus in (sorted(OTHERS), TEMPERATURES):
        weights, H = sweep(rng.normal(size=(8, 16)), taus)
        fig = pictures.drawn(my, "draw", (9, 5.6), taus, weights, H)
        for tau, p in zip(taus, weights):
            text = f"the weights at tau = {tau:g}"
            limits, title = pictures.has_image(fig, p, text)
            text = "colours from 0 to 1 for every heatmap", f"{limits} at tau = {tau:g}"
            my.holds("draw", limits == (0, 1), *text, "own-limits")
            text = f"{tau:g} in the title of its heatmap", repr(title)
            my.holds("draw", f"{tau:g}" in title, *text, "no-title")
        pictures.has_curve(fig, taus, H, "the mean entropy against tau")
        pictures.is_labelled(fig, "tau|τ|temp", r"entrop|nat|\bH\b")
    pictures.keep(my, fig)


HINTS = """
1  Divide by tau first, then do what a stable softmax does.
2  0 ln 0 is 0, but np.log(0) is -inf and 0 * -inf is NaN: do not take the log of 0.
3  The mean of e under p is sum_j p_j e_j; the variance is the mean of (e - mean)^2.
"""
WHY = """With b = 1 / tau, the entropy has the slope -b Var_p(e) in b, and db / dtau is
-1 / tau^2; the product is Var_p(e) / tau^3. A variance is never negative, so the
entropy never falls as tau grows."""
