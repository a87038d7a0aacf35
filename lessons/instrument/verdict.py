"""When does a claim hold? A claim is a range, a measurement is an interval.

    verdict(above(0), over_seeds([.02, .03, .01]))      "holds"

    holds       the whole interval lies in the range. If training ended before a
                plateau, "after N steps" beside the number says of which models
    no          the whole interval lies outside, and all models were trained long enough
    near        it lies outside, by no more than the margin of the range
    unfinished  it lies outside, but a run had no plateau: more steps could change it
    undecided   the interval contains an end of the range, or a difference is too small
                to count, or all runs are at 1.00: more seeds, or a harder task, could
                change it
"""

import functools
import math
from dataclasses import dataclass

import numpy as np

Z = 1.96  # 95 of 100 normal numbers lie within 1.96 standard deviations
CEILING = "all runs at 1.00: the task cannot tell"


@dataclass(frozen=True)
class Range:
    """What a text claims of a number: it lies from ``low`` to ``high``.

    A number that misses by no more than ``margin`` is "near".
    """

    low: float
    high: float
    margin: float = 0.0


@dataclass(frozen=True)
class Measured:
    """A number, the interval in which it lies, and what it rests on.

    steps        after how many steps it was measured, if the figure of a model still
                 moved then; None if all models had reached their plateaus
    resolution   "ahead" and "behind" need a larger difference than this
    """

    value: float
    low: float
    high: float
    kind: str = "computed"  # or "drawn", "trained", "timed"
    rests_on: str = ""
    words: str = ""  # shown in place of the number
    steps: int | None = None
    resolution: float = 0.0


def verdict(claimed, found):
    """Compare the interval of a measurement with the range of a claim."""
    if found.words == CEILING or too_small(claimed, found):
        return "undecided"
    if claimed.low <= found.low and found.high <= claimed.high:
        return "holds"
    below, above = claimed.low - claimed.margin, claimed.high + claimed.margin
    outside = found.high < below or found.low > above
    if outside:
        return "no" if found.steps is None else "unfinished"
    inside = found.high >= below and found.low <= above  # neither, for NaN
    return "near" if claimed.margin and inside else "undecided"


def too_small(claimed, found):
    """Return whether only the resolution keeps a claim with one end from a verdict."""
    ends = [end for end in (claimed.low, claimed.high) if math.isfinite(end)]
    if len(ends) != 1 or found.low <= ends[0] <= found.high:
        return False
    return abs(found.value - ends[0]) <= found.resolution


def written(found, digits=2, sign="+"):
    """Return "+0.03 [+0.01, +0.05], 5 seeds", and after how many steps.

    sign   "" for a number that is no difference
    """
    if found.words == CEILING:
        return CEILING
    numbers = found.value, found.low, found.high
    value, low, high = (f"{x:{sign}.{digits}f}" for x in numbers)
    after = f", after {found.steps} steps" if found.steps else ""
    return f"{value} [{low}, {high}], {found.rests_on}{after}"


def judged(says, claimed, found):
    """Return a claim in words, its verdict and the measurement, as two lines."""
    measured = written(found, 3)
    if too_small(claimed, found) and found.words != CEILING:
        measured += f"; up to {found.resolution:g} counts as 0"
    return f"{says}: {verdict(claimed, found)}\n    {measured}"


def between(low, high):
    """Return the range from ``low`` to ``high``."""
    return Range(low, high)


def above(low):
    """Return the range of all numbers above ``low``; no difference is not above 0."""
    return Range(math.nextafter(low, math.inf), math.inf)


def below(high):
    """Return the range of all numbers below ``high``."""
    return Range(-math.inf, math.nextafter(high, -math.inf))


def over_seeds(values, words="", steps=None, resolution=0.0):
    """Return the mean over trained models, with Student's interval."""
    values = np.asarray(values, float)
    n, mean = len(values), values.mean()
    half = math.inf if n == 1 else student(n) * values.std(ddof=1) / n**0.5
    rests_on = f"{n} seed{'s' * (n > 1)}"
    ends = mean - half, mean + half
    return Measured(mean, *ends, "trained", rests_on, words, steps, resolution)


def paired(x, y, steps=None, resolution=0.0):
    """Return the mean of x minus y, seed by seed, and whether the task can tell."""
    solved = all((np.round(figures, 2) == 1).all() for figures in (x, y))
    words = CEILING if solved else ""
    return over_seeds(np.subtract(x, y), words, steps, resolution)


def share(k, n, of="seeds", kind="trained"):
    """Return the share k / n, with Wilson's interval."""
    middle = (k + Z**2 / 2) / (n + Z**2)
    half = Z * (k * (n - k) / n + Z**2 / 4) ** 0.5 / (n + Z**2)
    low, high = max(middle - half, 0.0), min(middle + half, 1.0)
    return Measured(k / n, low, high, kind, f"{k} of {n} {of}")


@functools.cache
def student(n, part=0.975):
    """Return the factor t by which n values of unknown spread widen an interval.

    part   how much of Student's distribution lies below t: 0.975 for a 95 % interval

    Student's density with x = sqrt(n - 1) tan(a) is cos(a)^(n - 2), up to a factor.
    """
    a = np.linspace(-np.pi / 2, np.pi / 2, 200_001)
    mass = np.cumsum(np.cos(a) ** (n - 2))
    return math.sqrt(n - 1) * math.tan(a[np.searchsorted(mass, part * mass[-1])])


def p_value(values, band=0.0):
    """Return the p-value of Student's test that the mean is at most ``band`` from 0."""
    values = np.asarray(values, float)
    n, spread, beyond = len(values), values.std(ddof=1), abs(values.mean()) - band
    if spread == 0:
        return float(beyond <= 0)

    def mass(start):  # of Student's density from ``start`` on, see ``student``
        a = np.linspace(start, np.pi / 2, 100_001)
        return (np.cos(a).clip(0) ** (n - 2)).mean() * (np.pi / 2 - start)

    t = beyond * math.sqrt(n) / spread
    return min(1.0, 2 * mass(math.atan(t / math.sqrt(n - 1))) / mass(-np.pi / 2))


def discoveries(p, rate=0.05):
    """Return which of n p-values count, so that about ``rate`` of these are false.

    Benjamini and Hochberg 1995: in order, p_1 to p_k with the largest k for which
    p_k <= rate k / n. The tests should be independent, or depend positively.
    """
    p = np.asarray(p)
    ordered = np.sort(p)
    small = ordered <= rate * np.arange(1, len(p) + 1) / len(p)
    return p <= ordered[small].max(initial=-1.0)
