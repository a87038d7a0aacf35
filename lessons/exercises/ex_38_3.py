"""38.3  Entropy and width, with 64 keys  ●●○○  25 min  book §38.5

How evenly does a query distribute its weights as the width d of the vectors grows? With
16 keys the chapter finds two things: unscaled scores soon give all weight to one key,
and scaled scores keep the entropy "at log T". With 64 keys it expects the same, but at
smaller widths. Lesson 05 has measured that. Here you make the plot, predict two numbers
that the lesson does not have, and derive the limit for scores of another distribution.

    H = -sum_j p_j ln p_j      p = softmax(e)      e_j = s . h_j, or that / sqrt(d)
"""

import numpy as np

from lessons import NotWritten


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
    raise NotWritten("38.3 prediction")


def entropy(p):
    """Return H in nats over the last axis of p (…, T), with 0 ln 0 = 0."""
    raise NotWritten("38.3 entropy")


def entropy_curve(T, ds, scaled, rng, samples):
    """Return the mean entropy of the weights for each width d in ds: (len(ds),)

    For each d in turn, call ``_scores`` once. The mean is over the ``samples`` queries,
    each with its own weights.
    """
    raise NotWritten("38.3 entropy_curve")


def large_T_entropy(T, a):
    """Return the limit of H for many keys whose scores are uniform from -a to a.

    Sums over many keys become T times expectations. With x for one score, Z = sum_j
    exp(e_j) tends to T E[exp(x)], and sum_j p_j e_j to E[x exp(x)] / E[exp(x)]. Both
    are integrals.
    """
    raise NotWritten("38.3 large_T_entropy")


def draw(fig, T, ds, scaled, unscaled):
    """Draw both curves, mean entropies for each width in ds, into a matplotlib figure.

    One panel: entropy against d, only d on a logarithmic axis, a horizontal line at
    log T, both axes with a label, and a legend. The labels of the curves are "scaled"
    and "unscaled". ``fig.subplots()`` returns the panel.
    """
    raise NotWritten("38.3 draw")
