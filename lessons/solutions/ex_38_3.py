"""38.3  Entropy and width, with 64 keys  ●●○○  25 min  book §38.5

How evenly does a query distribute its weights as the width d of the vectors grows? With
16 keys the chapter finds two things: unscaled scores soon give all weight to one key,
and scaled scores keep the entropy "at log T". With 64 keys it expects the same, but
faster. Predict the result, measure it, and derive the limit of the scaled curve.

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

    "gap"    by how many nats the scaled entropy is below log 64, at d = 64
    "faster" 16 or 64: with how many keys has the unscaled entropy lost the larger share
             of its log T at d = 6?
    ->  a dictionary with these two numbers
    """
    # BEGIN SOLUTION
    return {"gap": 0.0, "faster": 64}  # what the chapter expects
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


def large_T_entropy(T, variance):
    """Return the limit of H for many keys whose scores are N(0, variance).

    Sums over many keys become T times expectations. E exp(x) = exp(variance / 2), and
    E[x exp(x)] is variance times that.
    """
    # BEGIN SOLUTION
    # H = ln Z - sum_j p_j e_j, where Z = T E exp(x) and the sum is the variance
    return np.log(T) - variance / 2
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "With many keys, the logarithm of the sum tends to ln T + variance / 2 and the "
    "mean score under the weights to the variance, so H tends to ln T - variance / 2. "
    "Scaling keeps the variance at 1 for every width, which leaves half a nat; without "
    "it, the variance is d."
)

HINTS = {
    "prediction": ["The docstring gives the two keys, and a number for each."],
    "entropy": [
        "Where p is 0 the term is 0: which argument of the logarithm avoids ln 0 "
        "there?",
    ],
    "entropy_curve": [
        "One softmax for each query, one entropy for each query, then the mean.",
    ],
    "large_T_entropy": [
        "H = ln Z - sum_j p_j e_j. What do both terms become for many keys?",
    ],
    "": [
        "A row of _scores belongs to one query: compute softmax and entropy along "
        "it, and the mean over the rows last.",
        "ln p_j = e_j - ln Z, so H = ln Z - sum_j p_j e_j. This also gives the "
        "limit: replace both sums by T times an expectation.",
        "Z tends to T exp(variance / 2), and sum_j p_j e_j tends to E[x exp(x)] / "
        "E[exp(x)], which is the variance. H is ln Z minus that.",
    ],
    "ignores-scaled": ["Only one of the two curves divides. Which argument decides?"],
    "divides-by-d": [
        "The variance of the scores is d. What is their standard deviation?",
    ],
    "multiplies": ["Wide vectors have large scores. Scaling makes them smaller."],
    "mean-weights": [
        "The mean of many sharp distributions is flat. Compute the entropy of each "
        "query first.",
    ],
    "wrong-axis": [
        "The weights of one query sum to 1 over its keys, not over the queries.",
    ],
    "sum": ["Return the mean over the samples."],
    "log2": ["The entropy is in nats: use the natural logarithm."],
    "on-the-line": [
        "Weights that are not all equal have an entropy below log T. By how much?",
    ],
    "half-or-whole": [
        "ln Z adds half a variance, and the mean score subtracts a whole one.",
    ],
    "divided": ["Return the entropy in nats, not its share of log T."],
    "deviation": ["Is it the variance or its square root that is halved?"],
    "nan": ["Where a weight is exactly 0, its logarithm is -inf, and 0 * -inf is NaN."],
}

MUTANTS = [
    ("if scaled:", "if not scaled:", "ignores-scaled"),
    ("if scaled:", "if True:", "ignores-scaled"),
    ("e = e / np.sqrt(d)", "e = e / d", "divides-by-d"),
    ("e = e / np.sqrt(d)", "e = e * np.sqrt(d)", "multiplies"),
    ("entropy(p).mean()", "entropy(p.mean(0))", "mean-weights"),
    ("entropy(p).mean()", "entropy(p).sum()", "sum"),
    ("z.sum(axis=-1, keepdims=True)", "z.sum(axis=0, keepdims=True)", "wrong-axis"),
    ("np.log(np.where(p > 0, p, 1.0))", "np.log(p)", "nan"),
    ("np.log(np.where", "np.log2(np.where", "log2"),
    ("return -np.sum(p * logs, axis=-1)", "return -np.sum(p * logs)", "shape"),
    ("np.log(T) - variance / 2", "np.log(T) + 0 * variance", "on-the-line"),
    ("np.log(T) - variance / 2", "np.log(T) - variance", "half-or-whole"),
    ("np.log(T) - variance / 2", "np.log(T) - np.sqrt(variance) / 2", "deviation"),
]
