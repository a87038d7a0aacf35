"""The multiplications of scores, of L queries and S keys; all widths are d."""

from attention.costs import cost_of


def of_scores(name, L, S, d):
    """Return those of a score by the formula of the library, without the average."""
    return cost_of(name, L=L, S=S, E=d).multiplications - L * S * d


def steps(L, S, d):
    """Return those of additive scores whose keys are projected again for each query."""
    return d * (L * d + L * S * d) + L * S * d


def pairs(L, S, d):
    """Return those of additive scores that project query and key for each pair."""
    return d * (L * S * d + L * S * d) + L * S * d
