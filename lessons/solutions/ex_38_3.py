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
    # BEGIN SOLUTION
    return {"gap": 2.0, "half": 7.0}  # variance / 2, and log 1024
    # END SOLUTION


def entropy(p):
    """Return H in nats over the last axis of p (…, T), with 0 ln 0 = 0."""
    # BEGIN SOLUTION
    logs = np.log(np.where(p > 0, p, 1.0))  # ln 1 = 0 replaces ln 0
    return -np.sum(p * logs, axis=-1)
    # END SOLUTION


def entropy_curve(T, ds, scaled, rng, samples):
    """Return the mean entropy of the weights for each width d in ds: (len(ds),)

    For each d in turn, call ``_scores`` once. The mean is over the ``samples`` queries,
    each with its own weights.
    """
    # BEGIN SOLUTION
    curve = []
    for d in ds:
        e = _scores(T, d, samples, rng)
        if scaled:
            e = e / np.sqrt(d)
        z = np.exp(e - e.max(axis=-1, keepdims=True))  # (samples, T)
        p = z / z.sum(axis=-1, keepdims=True)
        curve.append(entropy(p).mean())
    return np.array(curve)
    # END SOLUTION


def large_T_entropy(T, a):
    """Return the limit of H for many keys whose scores are uniform from -a to a.

    Sums over many keys become T times expectations. With x for one score, Z = sum_j
    exp(e_j) tends to T E[exp(x)], and sum_j p_j e_j to E[x exp(x)] / E[exp(x)]. Both
    are integrals.
    """
    # BEGIN SOLUTION
    # E exp(x) = sinh(a) / a, and its slope in a scale of x gives E[x exp(x)]
    log_Z = np.log(T) + np.log(np.sinh(a) / a)
    mean_score = a / np.tanh(a) - 1
    return log_Z - mean_score
    # END SOLUTION


def draw(fig, T, ds, scaled, unscaled):
    """Draw both curves, mean entropies for each width in ds, into a matplotlib figure.

    One panel: entropy against d, only d on a logarithmic axis, a horizontal line at
    log T, both axes with a label, and a legend. The labels of the curves are "scaled"
    and "unscaled". ``fig.subplots()`` returns the panel.
    """
    # BEGIN SOLUTION
    ax = fig.subplots()
    ax.semilogx(ds, scaled, "o-", label="scaled")
    ax.semilogx(ds, unscaled, "s--", label="unscaled")
    ax.axhline(np.log(T), color="0.5", label=f"log {T}, equal weights")
    ax.set(xlabel="width d", ylabel="entropy, nats")
    ax.legend()
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "With many keys a sum over the keys becomes T times an expected value, so H tends "
    "to ln T minus a number that depends on the distribution of the scores alone. "
    "Scaling keeps this distribution, and with it the gap, the same for every width; "
    "without it, the variance is d."
)

MUTANTS = [
    ("np.log(np.where(p > 0, p, 1.0))", "np.log(p)", "nan"),
    ("return -np.sum(p * logs, axis=-1)", "return -np.sum(p * logs)", "shape"),
    ("    ax.axhline(np.log(T), color", "    ax.axhline(T, color", "no-level"),
    ('scaled, "o-", label="scaled"', 'unscaled, "o-", label="scaled"', "curves"),
    ('scaled, "o-", label="scaled"', 'scaled, "o-", label="unscaled"', "exchanged"),
    ('ax.semilogx(ds, scaled, "o-", label="scaled")\n    ax.semilogx(',
     'ax.plot(ds, scaled, "o-", label="scaled")\n    ax.plot(', "linear-axis"),
    ('ax.set(xlabel="width d", ', "ax.set(", "unlabelled"),
    ("    ax.legend()\n", "", "unlabelled"),
]  # fmt: skip
