"""When does a claim hold? A claim is a range, a measurement is an interval.

    verdict(above(0), over_seeds([.02, .03, .01]))      "holds"

    holds       the whole interval lies in the range, and would if as many steps again
                changed the measurement as much as the second half of the steps did
    no          the whole interval lies outside, and would
    near        it lies outside, by no more than the margin of the range
    unfinished  it lies inside or outside, but as many steps again could change that
    undecided   the interval contains an end of the range, or a difference is too small
                to count, or all runs are at 1.00: more seeds, or a harder task, could
                change it
"""

import functools
import math
from dataclasses import dataclass, replace

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

    def places(self, low, high):
        """Return where an interval lies: "inside", "outside", "near" or "" (across)."""
        if self.low <= low and high <= self.high:
            return "inside"
        if high < self.low - self.margin or low > self.high + self.margin:
            return "outside"
        is_number = not math.isnan(low) and not math.isnan(high)
        return "near" if self.margin and is_number else ""


@dataclass(frozen=True)
class Measured:
    """A number, the interval in which it lies, and what it rests on.

    added        what the second half of the training steps added to the number
    down, up     by how much as many steps again could lower and raise it: the ends of
                 the interval of ``added``, where they are below and above 0
    steps        after how many steps it was measured, if nobody measured what more add
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
    added: float | None = None
    down: float = 0.0
    up: float = 0.0


def verdict(claimed, found):
    """Compare the interval of a measurement with the range of a claim."""
    if found.words == CEILING or too_small(claimed, found):
        return "undecided"
    now = claimed.places(found.low, found.high)
    later = claimed.places(found.low - found.down, found.high + found.up)
    if now in ("inside", "outside") and later != now:
        return "unfinished"
    if now == "outside" and found.steps is not None:
        return "unfinished"
    return {"inside": "holds", "outside": "no", "near": "near"}.get(now, "undecided")


def too_small(claimed, found):
    """Return whether only the resolution keeps a claim with one end from a verdict."""
    ends = [end for end in (claimed.low, claimed.high) if math.isfinite(end)]
    if len(ends) != 1 or found.low <= ends[0] <= found.high:
        return False
    return abs(found.value - ends[0]) <= found.resolution


def written(found, digits=2, sign="+"):
    """Return "+0.03 [+0.01, +0.05], 5 seeds".

    sign   "" for a number that is no difference
    """
    if found.words == CEILING:
        return CEILING
    numbers = found.value, found.low, found.high
    value, low, high = (f"{x:{sign}.{digits}f}" for x in numbers)
    after = f", after {found.steps} steps" if found.steps else ""
    return f"{value} [{low}, {high}], {found.rests_on}{after}"


def judged(says, claimed, found, word=None):
    """Return a claim in words, its verdict and the measurement, as two or three lines.

    The third says what the second half of the steps added to the number.

    word   the verdict, if it rests on more than this measurement
    """
    measured = written(found, 3)
    if found.words != CEILING:
        if too_small(claimed, found):
            measured += f"; up to {found.resolution:g} counts as 0"
        if found.added is not None:
            measured += f"\n    {found.added:+.3f} of it by the second half of the steps"
    return f"{says}: {word or verdict(claimed, found)}\n    {measured}"


def between(low, high):
    """Return the range from ``low`` to ``high``."""
    return Range(low, high)


def above(low):
    """Return the range of all numbers above ``low``; no difference is not above 0."""
    return Range(math.nextafter(low, math.inf), math.inf)


def below(high):
    """Return the range of all numbers below ``high``."""
    return Range(-math.inf, math.nextafter(high, -math.inf))


def over_seeds(values, words="", steps=None, resolution=0.0, half=None):
    """Return the mean over trained models, with Student's interval.

    half   the same figures after half of the steps
    """
    values = np.asarray(values, float)
    n, mean = len(values), values.mean()
    low, high = _interval(values, 0.975)
    rests_on = f"{n} seed{'s' * (n > 1)}"
    later = {}
    if half is not None:
        added = values - np.asarray(half, float)
        least, most = _interval(added, 0.95) if n > 1 else (added[0], added[0])
        later = {"added": added.mean(), "down": max(-least, 0.0), "up": max(most, 0.0)}
    return Measured(
        mean, low, high, "trained", rests_on, words, steps, resolution, **later
    )


def _interval(values, part):
    """Return the ends of Student's interval of a mean, of this part on each side."""
    n, mean = len(values), values.mean()
    half = math.inf if n == 1 else student(n, part) * values.std(ddof=1) / n**0.5
    return mean - half, mean + half


def paired(x, y, resolution=0.0, halves=None):
    """Return the mean of x minus y, seed by seed, and whether the task can tell.

    halves   x and y after half of the steps

    Runs in two groups have no mean that describes them. Then the interval contains the
    difference of each run of one arm from each of the other.
    """
    solved = all((np.round(figures, 2) == 1).all() for figures in (x, y))
    words = CEILING if solved else ""
    half = None if halves is None else np.subtract(*halves)
    found = over_seeds(np.subtract(x, y), words, resolution=resolution, half=half)
    counted = [counts(figures, resolution) for figures in (x, y)]
    if not any(counted):
        return found
    ends = {"low": np.min(x) - np.max(y), "high": np.max(x) - np.min(y)}
    groups = " against ".join(c or f"{np.mean(f):.2f}" for c, f in zip(counted, (x, y)))
    return replace(found, **ends, rests_on=f"{found.rests_on}, {groups}")


def counts(values, resolution=0.0):
    """Return "3 at 0.97 and 2 at 0.78" if the values are in two groups, or "".

    They are, if the gap between the groups is more than twice as wide as each of them,
    and than five times the resolution.
    """
    x = np.sort(np.asarray(values, float))
    if len(x) < 3 or not np.isfinite(x).all():
        return ""
    i = int(np.diff(x).argmax()) + 1
    lower, upper = x[:i], x[i:]
    widest = max(np.ptp(lower), np.ptp(upper))
    if upper[0] - lower[-1] <= max(2 * widest, 5 * resolution, 0.01):
        return ""
    return " and ".join(f"{len(g)} at {g.mean():.2f}" for g in (upper, lower))


def smallest(values, cells=1):
    """Return the smallest mean difference that such values could show.

    A larger one has a p-value below 0.05 / cells, where so many are looked at.
    """
    n, spread = len(values), np.std(values, ddof=1)
    return student(n, 1 - 0.025 / cells) * spread / n**0.5


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
