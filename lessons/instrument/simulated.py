"""How often is a verdict wrong? Studies of two arms whose curves are known.

The figure of an arm after n steps, in units of the budget, is one of three curves

    exponential   top - (top - start) exp(-n / tau)
    power         top - (top - start) (1 + n / tau)^-0.7
    late          start + (top - start) / (1 + exp(-10 (n - tau)))

whose constants are drawn for each study. A seed has its own top and tau, and each test
has an error. A verdict is wrong if it says "holds" of a claim that is false, or "no" of
one that is true, for the mean over 200 seeds after twice as many steps.
"""

import numpy as np

from .verdict import above, between, paired, verdict

CLAIMS = {"ahead": above(0), "within .02": between(-0.02, 0.02)}
START, RESOLUTION = 0.1, 0.01


def error_rates(studies=1000, seeds=5, looks_back=True):
    """Return {claim: {verdict: share of the studies, "wrong": of those decided}}.

    looks_back   whether the verdict knows the figures after half of the steps
    """
    rng, kept = np.random.default_rng(0), {claim: [] for claim in CLAIMS}
    for _ in range(studies):
        draw = arms(rng)
        half, end, truth = measured(draw, rng, seeds)
        found = paired(
            *end, resolution=RESOLUTION, halves=half if looks_back else None
        )
        for claim, claimed in CLAIMS.items():
            is_true = claimed.low <= truth <= claimed.high
            kept[claim].append((verdict(claimed, found), is_true))
    return {claim: summary(pairs) for claim, pairs in kept.items()}


def summary(pairs):
    """Return the shares of the verdicts, and how many of "holds" and "no" are wrong."""
    words = [word for word, _ in pairs]
    wrong = sum((w, true) in (("holds", False), ("no", True)) for w, true in pairs)
    shares = {
        word: words.count(word) / len(words)
        for word in ("holds", "no", "undecided", "unfinished")
    }
    decided = words.count("holds") + words.count("no")
    return shares | {"wrong": wrong / max(decided, 1)}


def arms(rng):
    """Draw the constants of two arms: (curve, tops, taus, spreads over seeds)."""
    tops = rng.uniform(0.3, 1, 2)
    kind = rng.random()
    if kind < 0.4:
        tops[1] = tops[0]  # as good in the end
    elif kind < 0.7:
        tops[1] = np.clip(tops[0] + rng.uniform(-0.08, 0.08), 0, 1)
    taus = np.exp(rng.uniform(np.log(0.05), np.log(1.5), 2))
    spreads = rng.choice([0.002, 0.01, 0.03]), rng.choice([0.05, 0.3])
    return rng.choice(["exponential", "power", "late"]), tops, taus, spreads


def measured(draw, rng, seeds):
    """Return the figures of both arms at half, at the end, and the true difference."""
    curve, tops, taus, (of_top, of_tau) = draw

    def constants(n):
        top = np.clip(tops[:, None] + rng.normal(0, of_top, (2, n)), 0, 1)
        return top, taus[:, None] * np.exp(rng.normal(0, of_tau, (2, n)))

    few, error = constants(seeds), rng.choice([0.003, 0.01])
    half, end = (
        np.clip(figure(curve, n, *few) + rng.normal(0, error, (2, seeds)), 0, 1)
        for n in (0.5, 1.0)
    )
    many = figure(curve, 2.0, *constants(200)).mean(1)
    return half, end, many[0] - many[1]


def figure(curve, n, top, tau):
    """Return the figure after n budgets."""
    if curve == "late":
        return START + (top - START) / (1 + np.exp(-10 * (n - tau)))
    left = np.exp(-n / tau) if curve == "exponential" else (1 + n / tau) ** -0.7
    return top - (top - START) * left
