"""38.3  Entropy and width, with 64 keys  ●●○○  25 min  book §38.5

How evenly does a query distribute its weights as the width d of the vectors grows? With
16 keys the chapter finds two things: unscaled scores soon give all weight to one key,
and scaled scores keep the entropy "at log T". With 64 keys it expects the same, but at
smaller widths. Lesson 05 has measured that. Here you make the plot, predict two numbers
that the lesson does not have, and derive the limit for scores of another distribution.

    H = -sum_j p_j ln p_j      p = softmax(e)      e_j = s . h_j, or that / sqrt(d)
"""

import numpy as np


def _scores(T, d, samples, rng):
    """Return unscaled scores of ``samples`` random queries with T keys each.

    All entries of queries and keys are N(0, 1)  ->  (samples, T)
    """
    rows = []
    for _ in range(samples):
        s, H = rng.normal(size=d), rng.normal(size=(T, d))
        rows.append(H @ s)
    return np.array(rows)


def prediction():
    """Return your prediction, written before you run anything. No answer is wrong.

    "gap"    by how many nats the entropy is below log 64, at d = 64, if the scores are
             multiplied by 2 / sqrt(d), so that their standard deviation is 2
    "half"   the width d at which the unscaled entropy of 1024 keys is half of log 1024
    ->  a dictionary with these two numbers
    """
    return {"gap": 2.0, "half": 7.0}  # variance / 2, and log 1024  #? The docstring gives the two keys, and a number for each.


def entropy(p):
    """Return H in nats over the last axis of p (…, T), with 0 ln 0 = 0."""
    logs = np.log(np.where(p > 0, p, 1.0))  # ln 1 = 0 replaces ln 0  #? The entropy is in nats. Which argument of the logarithm avoids ln 0?
    #! logs = np.log(p)  | -sum_j p_j ln p_j, which is NaN where p is 0
    return -np.sum(p * logs, axis=-1)  #? H = -sum_j p_j ln p_j is a mean of -ln p_j. With which weights, over which axis?


def entropy_curve(T, ds, scaled, rng, samples):
    """Return the mean entropy of the weights for each width d in ds: (len(ds),)

    For each d in turn, call ``_scores`` once. The mean is over the ``samples`` queries,
    each with its own weights.
    """
    curve = []
    for d in ds:
        e = _scores(T, d, samples, rng)  #? _scores takes T first, then d. The same seed must give the same scores.
        #! e = _scores(d, T, samples, rng)  | the curve of _scores(d, T, …)
        #! e = _scores(T, d, samples, np.random.default_rng(0))  | the curve of scores that are not drawn from rng
        if scaled:  #? Which curve has scores divided by sqrt(d): scaled=True, or False?
            #! if not scaled:  | the curves with the scaling where scaled is False
            #! if True:  | the scaled curve, twice
            e = e / np.sqrt(d)  #? The variance of the scores is d. What is their standard deviation?
        m = e.max(axis=-1, keepdims=True)  #? Which m makes all e - m at most 0, and leaves their differences?
        #! m = e.max()  | exp(e - the largest of all scores), divided by its sum
        #! m = 0.0  | exp(e), which overflows, divided by its sum
        #! m = e - np.clip(e, -700, 700)  | the entropy of scores that are clipped
        z = np.exp(e - m)  # (samples, T)
        p = z / z.sum(axis=-1, keepdims=True)  #? The weights of one query sum to 1 over its keys, not over the queries.
        #! p = (z := np.exp(e - e.max(0))) / z.sum(0)  | the curve of weights that sum to one over the queries
        curve.append(entropy(p).mean())  #? One entropy for each query, then the mean over the samples.
        #! curve.append(entropy(p.mean(0)))  | the entropy of the mean weights
        #! curve.append(np.median(entropy(p)))  | the median over the samples
        #! curve.append(entropy(p)[0])  | the entropy of the first query
        #! curve.append(entropy(p).max())  | the largest entropy of a query
    return np.array(curve)


def large_T_entropy(T, a):
    """Return the limit of H for many keys whose scores are uniform from -a to a.

    Sums over many keys become T times expectations. With x for one score, Z = sum_j
    exp(e_j) tends to T E[exp(x)], and sum_j p_j e_j to E[x exp(x)] / E[exp(x)]. Both
    are integrals.
    """
    log_Z = np.log(T) + np.log(np.sinh(a) / a)  # E exp(x) = sinh(a) / a  #? Z is a sum over T keys: T times an expectation. The interval has the length 2 a.
    #! log_Z = np.log(T) + np.log(2 * np.sinh(a) / a)  | expected + ln 2
    #! log_Z = np.log(T) + np.log(np.sinh(a) / a / 2)  | expected - ln 2
    #! log_Z = np.log(T) + np.log(2 * np.sinh(a))  | expected + ln (2 a)
    #! log_Z = np.log(T) + np.log(np.cosh(a) / a)  | the limit with cosh a for sinh a in E[exp(x)]
    # the slope of E exp(x) in a scale of x gives E[x exp(x)]
    mean_score = a / np.tanh(a) - 1  #? sum_j p_j e_j: p_j has a denominator. What does it become for many keys?
    #! mean_score = np.cosh(a) - np.sinh(a) / a  | ln Z - E[x exp(x)], not divided by E[exp(x)]
    return log_Z - mean_score  #? H = ln Z - sum_j p_j e_j, for scores that are uniform, not normal.
    #! return log_Z  | ln Z
    #! return np.log(T)  | log T, the entropy of equal weights
    #! return np.log(T) - a * a / 6  | log T - variance / 2
    #! return np.log(T) - a / 2  | log T - a / 2
    #! return np.log(T) - a * a / 2  | log T - a^2 / 2
    #! return 2 * np.log(T) - log_Z + mean_score  | log T plus what is to be subtracted
    #! return (log_Z - mean_score) / np.log(2)  | expected in bits


def draw(fig, T, ds, scaled, unscaled):
    """Draw both curves, mean entropies for each width in ds, into a matplotlib figure.

    One panel: entropy against d, only d on a logarithmic axis, a horizontal line at
    log T, both axes with a label, and a legend. The labels of the curves are "scaled"
    and "unscaled". ``fig.subplots()`` returns the panel.
    """
    ax = fig.subplots()
    ax.semilogx(ds, scaled, "o-", label="scaled")  #? Which label belongs to which curve? Widths need a logarithmic axis.
    ax.semilogx(ds, unscaled, "s--", label="unscaled")  #? What does each label say?
    ax.axhline(np.log(T), color="0.5", label=f"log {T}, equal weights")  #? Draw log T as well: the entropy of equal weights.
    ax.set(xlabel="width d", ylabel="entropy, nats")  #? A reader needs to know what each axis is.
    ax.legend()  #? A reader needs to know what each curve is.


# ---- THE CHECK: each call my.f(…) is compared with the function f above

import math

from lessons.course import pictures
from lessons.course.words import locked

EPSILON = 1e-10  # so that log(p + 1e-12) is near enough


def known_entropies(my, rng):
    """entropies of random weights, and of weights of 0"""
    zeros = [[1.0, 0.0, 0.0], [0.5, 0.0, 0.5]]
    for p in (rng.dirichlet(np.ones(7), (3, 5)), np.array(zeros)):
        my.near(EPSILON).entropy(p)


def both_curves(my, rng):
    """both curves, of 7 and of 11 queries, and of scores whose exp overflows"""
    for wanted in (True, False):
        my.near(EPSILON).entropy_curve(7, (3, 5, 17), wanted, rng, 11)
        my.near(EPSILON).entropy_curve(7, (5, 7, 11), wanted, rng, 7)
    for samples in (1, 5):
        my.near(EPSILON).entropy_curve(7, (3, 5), False, Steps(rng), samples)


def the_limit(my, rng):
    """the limit for many keys"""
    for T, a in ((64, 1.5), (4096, 3.0), (64, 0.3), (10**6, 1.0)):
        my.large_T_entropy(T, a)


def predicted(my, rng):
    """your prediction and the measurement"""
    first = locked(my, is_prediction, '{"gap": a number, "half": a number}')
    z = np.exp(2 * _scores(64, 64, 400, rng) / 8)
    gap = math.log(64) - entropy(z / z.sum(-1, keepdims=True)).mean()
    ds = np.arange(2, 31, 4)
    left = np.asarray(my.only.entropy_curve(1024, ds, False, rng, 60)) / math.log(1024)
    half = np.interp(-0.5, -left, ds)
    print(f"deviation 2: predicted {first['gap']:g} nats below log 64, found {gap:.2f}")
    guess = first["half"]
    print(f"half of log 1024 is left: predicted d = {guess:g}, found {half:.0f}")


def the_plot(my, rng):
    """the plot"""
    T, ds = 7, 2 ** np.arange(9)
    scaled, unscaled = (entropy_curve(64, ds, kind, rng, 20) for kind in (True, False))
    fig = pictures.drawn(my, "draw", (6, 3.6), T, ds, scaled, unscaled)
    pictures.has_level(fig, math.log(T), f"log {T} = {math.log(T):.4g}")
    for y, what, words in (
        (scaled, "scaled", "(?<!un)(?<!not )scaled"),
        (unscaled, "unscaled", "unscaled|not scaled"),
    ):
        pictures.has_curve(fig, ds, y, f"the {what} entropies against ds", words)
    names = r"\bd\b|width|dim", r"entrop|nat|\bH\b"
    pictures.is_labelled(fig, *names, ("log", "linear"))
    pictures.keep(my, fig)


class Steps:
    """A generator of 0 and 30: scores are 0, 900, 1800, …, and several are equal."""

    def __init__(self, rng):
        self.rng = rng

    def normal(self, loc=0.0, scale=1.0, size=None):
        return loc + scale * 30.0 * self.rng.integers(0, 2, size)


def is_prediction(found):
    both = isinstance(found, dict) and set(found) == {"gap", "half"}
    return both and all(np.ndim(v) == 0 and np.isreal(v) for v in found.values())


HINTS = """
1  ln p_j = e_j - ln Z, so H = ln Z - sum_j p_j e_j. This also gives the limit: replace
   both sums by T times an expectation.
2  The density of x is 1 / (2 a). E[exp(x)] is sinh(a) / a, and E[x exp(x)] is
   cosh(a) - sinh(a) / a; divide the second by the first.
"""
WHY = """With many keys a sum over the keys becomes T times an expected value, so H tends
to ln T minus a number that depends on the distribution of the scores alone. Scaling
keeps this distribution, and with it the gap, the same for every width; without it, the
variance is d."""
