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
    # BEGIN SOLUTION
    z = np.exp((e - e.max(-1, keepdims=True)) / tau)
    return z / z.sum(-1, keepdims=True)
    # END SOLUTION


def entropy(p):
    """Return H = -sum_j p_j ln p_j over the last axis of p (…, n), with 0 ln 0 = 0."""
    # BEGIN SOLUTION
    logs = np.log(np.where(p > 0, p, 1.0))  # ln 1 = 0 replaces ln 0
    return -(p * logs).sum(-1)
    # END SOLUTION


def dH_dtau(e, tau):
    """Return the slope of H(softmax(e / tau)) in tau, for each row of e (…, n).

    If you add one number to all scores, also 1e6, the slope changes by rounding only.
    """
    # BEGIN SOLUTION
    p = softmax_t(e, tau)
    mean = (p * e).sum(-1, keepdims=True)
    variance = (p * (e - mean) ** 2).sum(-1)
    return variance / tau**3
    # END SOLUTION


def sweep(X, taus):
    """Return weights and mean entropies of a self-attention at each temperature.

    The scores are those of 6.8 with scale 1, x_i . x_j, for X (T, d). 6.8 belongs to
    lesson 09; you may write it later, because nothing else of it is needed here.
    ->  weights (n, T, T) and H (n,), the mean over the T queries, for n taus
    """
    # BEGIN SOLUTION
    weights = np.array([softmax_t(X @ X.T, tau) for tau in taus])
    return weights, entropy(weights).mean(-1)
    # END SOLUTION


def draw(fig, taus, weights, H):
    """Draw a heatmap for each temperature, and H against tau, into a matplotlib figure.

    All heatmaps have the limits of colour 0 and 1, and a title that contains tau. The
    panel of the entropy has a label at both axes. ``fig.subplots(2, 3)``, flattened, is
    a list of six panels.
    """
    # BEGIN SOLUTION
    *maps, last = fig.subplots(2, 3).ravel()
    for ax, tau, p in zip(maps, taus, weights):
        ax.imshow(p, vmin=0, vmax=1)
        ax.set(title=f"tau = {tau:g}")
    last.plot(taus, H, "o-")
    last.set(xlabel="tau", ylabel="mean entropy, nats")
    # END SOLUTION


def explanation():
    """Return a string: what happens as tau tends to 0 and to infinity, and what is tau
    used for at inference?

    Write ten words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    # BEGIN SOLUTION
    return (
        "As tau tends to 0 all weight goes to the largest score, equally to tied "
        "ones: hard attention, entropy 0 or the log of the ties. As tau grows the "
        "weights tend to 1/T and the output to the mean, entropy log T. A trained "
        "model was trained at tau = 1, so another tau at inference changes how far it "
        "trusts its scores: sharper copies, softer averages, and both leave what it "
        "has learned."
    )
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "With b = 1 / tau, the entropy has the slope -b Var_p(e) in b, and db / dtau is -1 "
    "/ tau^2; the product is Var_p(e) / tau^3. A variance is never negative, so the "
    "entropy never falls as tau grows."
)

MUTANTS = [
    ("ax.imshow(p, vmin=0, vmax=1)", "ax.imshow(p)", "own-limits"),
    ("ax.imshow(p, vmin", "ax.imshow(p.T, vmin", "transposed"),
    ('ax.set(title=f"tau = {tau:g}")', "pass", "no-title"),
    ("last.plot(taus, H,", "last.plot(H, taus,", "axes-exchanged"),
    ('last.set(xlabel="tau", ', "last.set(", "unlabelled"),
    ("e.max(-1, keepdims=True)) / tau", "e.mean(-1, keepdims=True)) / tau", "nan"),
    ("np.log(np.where(p > 0, p, 1.0))", "np.log(p)", "nan"),
    (
        "return variance / tau**3",
        "H = [entropy(softmax_t(e, tau * (1 + k * 1e-3))) for k in (-2, -1, 1, 2)]\n"
        "    return (8 * (H[2] - H[1]) - H[3] + H[0]) / (12e-3 * tau)",
        "differences",
    ),
]
