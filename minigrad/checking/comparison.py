"""Compare the gradients of a backward with numeric slopes."""

import numpy as np

from .numeric import random_directions, slopes
from .verdict import Entry, Row


class Comparison:
    """The slopes of one input, from the backward (analytic) and measured (numeric).

    A slope is an entry of the gradient, or for a large input the slope along a random
    direction. It is not judged at a kink, or if f is too rough to be measured.

    numeric     the measured slopes, a ``Slopes``
    analytic    the slopes that the backward computed in the usual situation
    wrong       whether each differs by more than the tolerance
    failures    [(situation, Entry), ...]: other situations with a wrong gradient
    """

    def __init__(self, run, i, situations, rtol, atol, no_gradient, rng):
        self.run, self.i, self.rtol, self.atol = run, i, rtol, atol
        self.f = run.function_of(i)
        self.name, self.x = run.names[i], run.leaves[i]._data
        # whether the caller declares that the gradient of this input is 0
        self.is_declared = self.name in no_gradient
        directions = random_directions(self.x, rng)
        self.usual, *others = situations
        self.use(slopes(self.f, self.x, run.cotangents, directions))
        self.failures = []
        for situation in others:
            if i in situation.gradients:
                judged = self._judge(situation)
                if judged[2].any():
                    self.failures.append((situation, self.worst(judged)))

    def use(self, numeric):
        """Judge the usual situation by these measured slopes."""
        self.numeric = numeric
        self.judged = self.analytic, _, self.wrong = self._judge(self.usual)

    def _judge(self, situation):
        """Return (analytic, tolerance, wrong)."""
        numeric = self.numeric
        gradient, slack = situation.gradients[self.i], situation.slack.get(self.i, 0)
        if gradient is None:
            gradient = np.zeros(self.x.shape)
        analytic = numeric.along(gradient.astype(np.float64))
        size = np.fmax(np.abs(analytic), np.abs(numeric.value))
        largest = np.abs(numeric.value[numeric.is_nonzero]).max(initial=0)
        if numeric.directions is not None:
            slack = np.array([slack * np.abs(v).sum() for v in numeric.directions])
        relative = np.maximum(self.atol * largest, self.rtol * size)
        tolerance = np.maximum(relative, 10 * numeric.bar) + slack
        with np.errstate(invalid="ignore"):
            right = np.abs(analytic - numeric.value) <= tolerance
        # NaN and infinity in the gradient are always wrong
        wrong = ~numeric.kink & ~(right & np.isfinite(analytic))
        wrong &= not numeric.is_unmeasurable
        if self.is_declared:
            wrong |= numeric.is_nonzero
        return analytic, tolerance, wrong

    def worst(self, judged=None):
        """Return the ``Entry`` with the largest error relative to its tolerance.

        judged   a result of ``_judge``; None is that of the usual situation
        """
        analytic, tolerance, wrong = judged or self.judged
        smooth = np.flatnonzero(~self.numeric.kink)
        if not len(smooth):
            return None
        with np.errstate(all="ignore"):
            excess = np.abs(analytic - self.numeric.value) / tolerance
        excess = np.nan_to_num(excess, nan=0, posinf=np.inf)
        excess[wrong & ~np.isfinite(analytic)] = np.inf
        excess[wrong] += 1  # also if the slopes are equal, but should be 0
        return self.entry(smooth[np.argmax(excess[smooth])], judged)

    def entry(self, k, judged=None):
        """Return slope ``k`` as an ``Entry``."""
        analytic, tolerance, _ = judged or self.judged
        numeric, index = self.numeric, None
        if numeric.directions is None:
            index = tuple(int(i) for i in np.unravel_index(k, self.x.shape))
        numbers = analytic, numeric.value, numeric.bar, tolerance
        return Entry(self.name, index, *(float(each[k]) for each in numbers))

    @property
    def verdict(self):
        """The last column of the table, such as "ok" or "wrong"."""
        if self.wrong.any():
            return "wrong"
        if self.numeric.kink.any():
            return "kink"
        if self.numeric.is_unmeasurable:
            return "not measured"
        if not self.x.size or not sum(y.size for y in self.run.y):
            return "empty"
        if self.failures:
            return "wrong"
        if self.numeric.is_nonzero.any():
            return "ok"
        return "ok, none" if self.is_declared else "no signal"

    def row(self):
        """Return the line of the table."""
        numeric = self.numeric
        n, one_by_one = len(numeric.value), numeric.directions is None
        what = ("entry" if n == 1 else "entries") if one_by_one else "directions"
        smooth = ~numeric.kink
        largest = np.abs(numeric.value[smooth]).max(initial=0)
        gap = np.abs(self.analytic - numeric.value)[smooth].max(initial=0)
        error = gap / largest if largest else np.nan
        return Row(self.name, self.x.shape, f"{n} {what}", largest, error, self.verdict)
