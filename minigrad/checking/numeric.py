"""Measure gradients by finite differences, each with an error bar.

For a function f of an array x, and weights c for its outputs, let F(x) = sum c f(x).
Its slope along a direction v is measured with two steps, h and h/2. In a combination
of both, the errors in h^2 cancel:

    D(h) = (F(x + h v) - F(x - h v)) / 2h         = <grad F, v> + O(h^2)
    (4 D(h/2) - D(h)) / 3                         = <grad F, v> + O(h^4)

The error bar is the sum of two errors: the truncation, |D(h) - D(h/2)|, and the
rounding of f, divided by h. A larger step reduces the rounding, a smaller one the
truncation. If the bar is too large, the slope is measured once more, with the step at
which both errors are expected to be equal.

The code computes f(x + h v) - f(x) for each output first, and then the weighted sum of
these differences. So outputs that do not change add no error to the sum.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

STEP = 2.0**-15  # h^2/8 F''', the truncation, and 4 eps/h F, the rounding: near 1e-10
RATIO = 16  # between one step and the next


@dataclass
class Slopes:
    """P numeric slopes of one array x: of its entries, or along directions.

    value        (P,)  the slopes
    bar          (P,)  their error bars
    left, right  (P,)  the one-sided slopes, which differ at a corner
    kink         (P,)  whether the function has a corner or a jump there
    directions         None, or P arrays of the shape of x: the directions
    is_rough           whether all error bars are so large that f cannot be smooth
    """

    value: np.ndarray
    bar: np.ndarray
    left: np.ndarray
    right: np.ndarray
    kink: np.ndarray
    directions: list | None = None
    is_rough: bool = False

    def along(self, gradient):
        """Return the slopes that ``gradient`` predicts."""
        if self.directions is None:
            return gradient.reshape(-1)
        return np.array([(gradient * v).sum() for v in self.directions])

    @property
    def is_nonzero(self):
        """Whether each slope is certainly different from 0, (P,)."""
        return ~self.kink & (np.abs(self.value) > CLEAR_FACTOR * self.bar)

    @property
    def is_unmeasurable(self):
        """Whether the function is so rough that no slope is certainly not 0."""
        is_clear = self.kink | self.is_nonzero | (self.bar == 0)
        return self.is_rough and not is_clear.any()


def slopes(f, x, cotangents, directions=None):
    """Measure dF/dx, F = sum over outputs of (cotangent * output).sum().

    f            array -> tuple of float arrays, the outputs
    x            float64 array of finite numbers
    cotangents   one array for each output
    directions   arrays of x's shape to measure along; None: every entry by itself
    """
    return Point(f, x, flat(cotangents)).slopes(directions)


def entry_scale(x):
    """Return the largest power of two up to each |x|, which makes x + h exact.

    Entries that are 0 have the scale of the others.
    """
    size = np.abs(x)
    typical = np.median(size[size > 0]) if size.any() else 1.0
    return 2.0 ** np.floor(np.log2(np.where(size > 0, size, typical)))


def _one_by_one(x):
    """Yield (v, unit) of ``Point.measure`` for each entry: v is 0 elsewhere."""
    for i, scale in enumerate(entry_scale(x).reshape(-1)):
        v = np.zeros(x.size)
        v[i] = scale
        yield v.reshape(x.shape), scale


# ---- A first reading can stop here ----

EPSILON = np.finfo(np.float64).eps
DENORMAL = np.finfo(np.float64).smallest_subnormal
SMALLEST_STEP = -8  # the number of the smallest step, some units in the last place of x
MOST_LARGER = 2  # with a step 16^2 times as large, no entry but 0 changes its sign
LARGEST_STEP = 0.05  # relative to the largest |x|, or to 1 if that is larger
PRECISION = 1e-7  # a relative error bar that needs no other step
CLEAR_FACTOR = 100  # a slope larger than 100 error bars is not 0
ROUGH = 1e-6  # the least error bar of a smooth F is smaller, relative to F / |x|
MAX_ENTRIES = 400  # each entry of an array of at most this size is measured
DIRECTIONS = 6  # the number of random directions for a larger array


def random_directions(x, rng):
    """Return directions in which all entries of ``x`` move, each by its own scale.

    Return None for an array of at most MAX_ENTRIES, each of which is measured.
    """
    if x.size <= MAX_ENTRIES:
        return None
    signs = rng.choice([-1.0, 1.0], (DIRECTIONS, *x.shape))
    return list(signs * (entry_scale(x) / np.sqrt(max(1, x.size))))


def jacobian(f, x, largest=200_000):
    """Return the numeric Jacobian (all outputs, all inputs), or None if it is large."""
    size = sum(each.size for each in f(x))
    if size * max(size, x.size) > largest:
        return None
    point, columns = Point(f, x, np.zeros(size)), np.zeros((x.size, size))
    for k, (v, unit) in enumerate(_one_by_one(x)):
        wide, narrow = (sum(point.sides(v, unit, h)) / 2 for h in (STEP, STEP / 2))
        columns[k] = (4 * narrow - wide) / 3
    return columns.T


def flat(arrays):
    """Return the entries of all arrays in one row."""
    return np.concatenate([np.reshape(a, -1) for a in arrays])


def finite(a):
    """Return ``a`` with 0 for NaN and infinity."""
    return np.where(np.isfinite(a), a, 0)


class Measurement(NamedTuple):
    """A slope of F, measured with the steps h and h / 2.

    value         the slope
    left, right   the slopes on each side, with the step h / 2
    truncation    the first part of the error bar, |D(h) - D(h/2)|
    rounding      the second part
    wide, narrow  |right - left| with the step h, and with h / 2
    """

    value: float
    left: float
    right: float
    truncation: float
    rounding: float
    wide: float
    narrow: float

    def error(self, largest):
        """Return the error of a finite step, and whether it is a kink.

        largest   the largest slope of the same x that is certainly not 0

        The slopes on the two sides differ by about h f'' where f is smooth, so half the
        step gives half the difference. At a corner the difference stays.
        """
        size = np.maximum(np.abs(self.value), largest / 100)
        visible = np.maximum(1e-4 * size, 100 * self.rounding)
        is_corner = self.narrow > np.maximum(visible, 0.7 * self.wide)
        is_jump = self.truncation > np.maximum(0.01 * size, 100 * self.rounding)
        error = self.truncation + (self.narrow if is_corner else 0)
        if not np.isfinite(error + self.value):
            return np.inf, True
        return error, is_corner or is_jump


class Point:
    """A function f at a point x, and the weights of its outputs in F.

    weights   (outputs,): the cotangents of all outputs in one row
    """

    def __init__(self, f, x, weights):
        self.f, self.x, self.weights = f, x, weights
        self.y = self.outputs(x)
        self.largest_step = LARGEST_STEP * np.abs(x).max(initial=1)
        self._deviations = {}

    def outputs(self, x):
        """Return all outputs of f(x) in one row."""
        return flat(self.f(x))

    def sides(self, v, unit, h):
        """Return the slopes (f(x) - f(x - h v)) / h and (f(x + h v) - f(x)) / h.

        v, unit   v = unit e, and the slopes along the direction e are returned. For one
                  entry x_i, e is its unit vector, and unit is a power of two near
                  |x_i|, so that x + h v is exact
        """
        up, down = self.outputs(self.x + h * v), self.outputs(self.x - h * v)
        pairs = (self.y, down), (up, self.y)
        changes = [np.where(a == b, 0, a - b) for a, b in pairs]  # inf - inf is 0
        return [change / (h * unit) for change in changes]

    def slopes(self, directions=None):
        """Return the ``Slopes`` of F."""
        if directions is None:
            lines = list(_one_by_one(self.x))
        else:
            lines = [(v, 1.0) for v in directions]
        with np.errstate(all="ignore"):
            first = [self.measure(v, unit, 0) for v, unit in lines]
            # the slopes that are certainly not 0
            clear = [m for m in first if abs(m.value) > 10 * (m.truncation + m.rounding)]
            largest = max((abs(m.value) for m in clear), default=0.0)
            best = [
                _best([m, *self._again(v, unit, m, largest)], largest)
                for (v, unit), m in zip(lines, first)
            ]
        value, bar, left, right, kink = np.array(best, float).reshape(-1, 5).T
        size = max(1, np.abs(finite(self.weights * self.y)).sum())
        least = min(bar * [unit for _, unit in lines], default=0)
        is_rough = least > ROUGH * size
        return Slopes(value, bar, left, right, kink > 0, directions, is_rough)

    def measure(self, v, unit, step_number):
        """Measure the slope of F along a direction, with the steps h and h / 2.

        step_number   0 for the usual h = STEP; a larger one for a larger h
        """
        h = STEP * RATIO**step_number
        wide, narrow = (
            [self.weights @ side for side in self.sides(v, unit, step)]
            for step in (h, h / 2)
        )
        D, D_half = sum(wide) / 2, sum(narrow) / 2
        # The rounding of F times the weights of the four F in the slope. For unit 1,
        # these are, without signs, 4/(3h) for the two F in D_half, and 1/(6h) for the
        # two in D. Their sum is 8/(3h) + 1/(3h) = 3/h; 4/h is a bound.
        rounding = 4 * self.rounding(step_number) / (h * unit)
        gaps = (np.abs(right - left) for left, right in (wide, narrow))
        return Measurement(
            (4 * D_half - D) / 3, *narrow, np.abs(D - D_half), rounding, *gaps
        )

    def _again(self, v, unit, first, largest):
        """Return a list of one measurement with another step, if ``first`` is imprecise.

        The truncation is proportional to h^2 and the rounding to 1/h. So their sum is
        least near h (rounding / truncation)^(1/3). A truncation below the rounding
        cannot be seen; it is taken to be h^2/8 F', as if F''' were as large as F'.
        """
        error, rounding = first.error(largest)[0], first.rounding
        size = np.maximum(np.abs(first.value), largest / 100)
        if error + rounding <= PRECISION * size:
            return []
        is_larger = rounding > error
        truncation = (STEP * unit) ** 2 / 8 * size if is_larger else error
        steps = np.log(np.divide(rounding, truncation)) / 3 / np.log(RATIO)
        least, most = (1, MOST_LARGER) if is_larger else (SMALLEST_STEP, -1)
        if is_larger and not largest:  # no slope is certainly not 0
            most = 99  # the largest step
        step_number = int(np.clip(np.nan_to_num(np.round(steps)), least, most))
        while STEP * RATIO**step_number * np.abs(v).max() > self.largest_step:
            step_number -= 1
        again = self.measure(v, unit, step_number)
        # over a larger step f must be smooth; with a smaller one, a corner must not
        # disappear in rounding errors
        is_useful = not again.error(largest)[1]
        if not is_larger:
            is_useful = again.rounding <= error / 100
        return [again] if is_useful else []

    def rounding(self, step_number):
        """Return the rounding error of F over steps near that of this number."""
        parts = self.weights * self._deviation(step_number)
        largest = np.abs(parts).max(initial=0)  # the squares may underflow
        return largest * np.linalg.norm(parts / largest) if largest else 0.0

    def _deviation(self, step_number):
        """Return the rounding errors of the outputs, (outputs,).

        Over small steps a smooth function is nearly a polynomial of degree three, whose
        fourth differences are 0. So those of f, at 17 points along a random direction,
        are differences of rounding errors: a_0 - 4 a_1 + 6 a_2 - 4 a_3 + a_4, and their
        variance is 1 + 16 + 36 + 16 + 1 = 70 times that of an error.
        """
        if step_number not in self._deviations:
            moves = np.random.default_rng(0).uniform(-1, 1, self.x.shape)
            step = moves * entry_scale(self.x) / np.sqrt(max(1, self.x.size))
            step *= 4 * STEP * RATIO**step_number
            values = np.array([self.outputs(self.x + t * step) for t in range(1, 18)])
            squares = np.sort(np.diff(values, 4, axis=0) ** 2 / 70, axis=0)
            # A corner changes at most four of these squares, so the largest four are
            # left out. With rounding alone, the mean of the others is 0.4 of the
            # variance.
            variance = squares[:-4].mean(0) / 0.4
            last_place = np.maximum(EPSILON * np.abs(self.y), DENORMAL)
            errors = finite(np.maximum(finite(np.sqrt(variance)), last_place))
            if step_number > 0:  # larger steps do not make the rounding smaller
                errors = np.maximum(errors, self._deviation(step_number - 1))
            self._deviations[step_number] = errors
        return self._deviations[step_number]


def _best(measurements, largest):
    """Return (value, bar, left, right, kink) of the one with the smallest error bar."""
    errors, kinks = zip(*(m.error(largest) for m in measurements))
    bars = [error + m.rounding for error, m in zip(errors, measurements)]
    bars = [bar if np.isfinite(bar) else np.inf for bar in bars]
    k = int(np.argmin(bars))
    best, bar = measurements[k], bars[k]
    # If the bars of two steps do not overlap, or if the value is 0 (f may be a step
    # function), the error bar is the distance to the other value.
    for other, other_bar in zip(measurements, bars):
        distance = np.abs(other.value - best.value)
        if distance > 10 * (bars[k] + other_bar) or best.value == 0:
            bar = np.fmax(bar, distance)
    return best.value, bar, best.left, best.right, kinks[k]
