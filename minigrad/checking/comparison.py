"""Compare the gradients of a backward with numeric slopes."""

import numpy as np

from .numeric import Point, directions_for, flat
from .verdict import Entry, Row


class Judgement:
    """The slopes of one input in one situation, and which of them are wrong.

    A slope is an entry of the gradient, or for a large input the slope along a random
    direction. It is not judged at a kink, or if f is too rough to be measured.

    numeric     the measured slopes, a ``Slopes``
    analytic    the slopes that the backward computed
    tolerance   how far they may differ
    wrong       whether each differs by more
    """

    def __init__(self, situation, numeric, i, shape, options):
        self.situation, self.numeric = situation, numeric
        gradient = situation.gradients[i]
        gradient = np.zeros(shape) if gradient is None else gradient.astype(np.float64)
        self.analytic = numeric.along(gradient)
        size = np.fmax(np.abs(self.analytic), np.abs(numeric.value))
        largest = np.abs(numeric.value[numeric.is_nonzero]).max(initial=0)
        slack = situation.slack[i]  # the rounding error of the gradient
        if numeric.directions is not None:
            slack = np.array([slack * np.abs(v).sum() for v in numeric.directions])
        relative = np.maximum(options.atol * largest, options.rtol * size)
        self.tolerance = np.maximum(relative, 10 * numeric.bar) + slack
        with np.errstate(invalid="ignore"):
            right = np.abs(self.analytic - numeric.value) <= self.tolerance
        # NaN and infinity in the gradient are always wrong
        self.wrong = ~numeric.kink & ~(right & np.isfinite(self.analytic))
        self.wrong &= not numeric.is_unmeasurable

    def worst(self):
        """Return the number of the slope with the largest error / tolerance."""
        smooth = np.flatnonzero(~self.numeric.kink)
        if not len(smooth):
            return None
        with np.errstate(all="ignore"):
            excess = np.abs(self.analytic - self.numeric.value) / self.tolerance
        excess = np.nan_to_num(excess, nan=0, posinf=np.inf)
        excess[self.wrong & ~np.isfinite(self.analytic)] = np.inf
        excess[self.wrong] += 1  # also if the slopes are equal, but should be 0
        return smooth[np.argmax(excess[smooth])]


# ---- A first reading can stop here ----


class Comparison:
    """The slopes of one input, from the backward (analytic) and measured (numeric).

    usual      the ``Judgement`` of the usual situation
    failures   [(situation, Entry), ...]: other situations with a wrong gradient
    signal     whether some slope of some situation is different from 0
    """

    def __init__(self, subject, i, run, situations, options, rng):
        self.subject, self.i, self.run = subject, i, run
        self.options, self.situations = options, situations
        self.f = subject.function_of(i)
        self.point = None  # that of the usual situation, after ``measure``
        self.name, self.x = subject.names[i], subject.leaves[i]._data
        self.only_entry = None  # the one entry that was measured, after a refinement
        rows = {id(s.cotangents): flat(s.cotangents) for s in situations}
        point = Point(self.f, self.x, np.array([*rows.values()]))
        measured = point.slopes(directions_for(self.x, rng))
        self.signal = any(numeric.is_nonzero.any() for numeric in measured)
        measured = dict(zip(rows, measured))
        self.usual, *others = (
            self._judge(s, measured[id(s.cotangents)])
            for s in situations
            if i in s.gradients
        )
        self.failures = [
            (each.situation, self.entry(each.worst(), each))
            for each in others
            if each.wrong.any()
        ]

    def measure(self, directions):
        """Measure the usual slopes again, along ``directions`` or of every entry."""
        if self.point is None:
            self.point = Point(self.f, self.x, flat(self.run.cotangents)[None])
        numeric = self.point.slopes(directions)[0]
        self.usual = self._judge(self.situations[0], numeric)

    def _judge(self, situation, numeric):
        judgement = Judgement(situation, numeric, self.i, self.x.shape, self.options)
        if self.is_declared:
            judgement.wrong |= numeric.is_nonzero
        return judgement

    @property
    def is_declared(self):
        """Whether the caller declares that the gradient of this input is 0."""
        return self.name in self.options.no_gradient

    @property
    def verdict(self):
        """The last column of the table, such as "ok" or "wrong"."""
        if self.usual.wrong.any():
            return "wrong"
        if self.usual.numeric.kink.any():
            return "kink"
        if self.usual.numeric.is_unmeasurable:
            return "not measured"
        if not self.x.size or not sum(y.size for y in self.run.y):
            return "empty"
        if self.failures:
            return "wrong"
        if self.signal:
            return "ok"
        return "ok, none" if self.is_declared else "no signal"

    def row(self):
        """Return the line of the table."""
        numeric = self.usual.numeric
        n, one_by_one = len(numeric.value), numeric.directions is None
        what = ("entry" if n == 1 else "entries") if one_by_one else "directions"
        smooth = ~numeric.kink
        largest = np.abs(numeric.value[smooth]).max(initial=0)
        gap = np.abs(self.usual.analytic - numeric.value)[smooth].max(initial=0)
        error = gap / largest if largest else np.nan
        return Row(self.name, self.x.shape, f"{n} {what}", largest, error, self.verdict)

    def worst(self):
        """Return the ``Entry`` with the largest error relative to its tolerance."""
        k = self.usual.worst()
        return None if k is None else self.entry(k)

    def entry(self, k, judgement=None):
        """Return slope ``k`` as an ``Entry``."""
        j, index = judgement or self.usual, None
        if j.numeric.directions is None or self.only_entry is not None:
            k_of_x = k if self.only_entry is None else self.only_entry
            index = tuple(int(i) for i in np.unravel_index(k_of_x, self.x.shape))
        numbers = j.analytic, j.numeric.value, j.numeric.bar, j.tolerance
        return Entry(self.name, index, *(float(each[k]) for each in numbers))
