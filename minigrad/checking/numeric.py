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

import functools
from dataclasses import dataclass

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
    is_rough           whether the function is not smooth over the usual step
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
    return Point(f, x, flat(cotangents)[None]).slopes(directions)[0]


def entry_scale(x):
    """Return the largest power of two up to each |x|, which makes x + h exact.

    Entries that are 0 have the scale of the others.
    """
    size = np.abs(x)
    typical = np.median(size[size > 0]) if size.any() else 1.0
    return 2.0 ** np.floor(np.log2(np.where(size > 0, size, typical)))


def _one_by_one(x):
    """Yield the v of ``Point.measure`` for each entry: its scale, and 0 elsewhere."""
    for i, scale in enumerate(entry_scale(x).reshape(-1)):
        v = np.zeros(x.size)
        v[i] = scale
        yield v.reshape(x.shape)


# ---- A first reading can stop here ----

EPSILON = np.finfo(np.float64).eps
DENORMAL = np.finfo(np.float64).smallest_subnormal
SMALLEST_STEP = -8  # the number of the smallest step, some units in the last place of x
MOST_LARGER = 2  # with a step 16^2 times as large, no entry but 0 changes its sign
LARGEST_STEP = 0.05  # relative to the largest |x|, or to 1 if that is larger
PRECISION = 1e-7  # a relative error bar that needs no other step
CLEAR_FACTOR = 100  # a slope larger than 100 error bars is not 0
SMOOTH = 1e-6  # a smooth function deviates less from a cubic, relative to its change
LAST_DIGITS = 1e4 * EPSILON  # a larger relative deviation is more than rounding
MAX_ENTRIES = 400  # each entry of an array of at most this size is measured
DIRECTIONS = 6  # the number of random directions for a larger array


def random_directions(x, rng):
    """Return directions in which all entries of ``x`` move, each by its own scale."""
    signs = rng.choice([-1.0, 1.0], (DIRECTIONS, *x.shape))
    return list(signs * (entry_scale(x) / np.sqrt(max(1, x.size))))


def jacobian(f, x, largest=200_000):
    """Return the numeric Jacobian (all outputs, all inputs), or None if it is large."""
    size = sum(each.size for each in f(x))
    if size * max(size, x.size) > largest:
        return None
    found = Point(f, x, np.eye(size)).slopes()  # row k of J: F is output k
    return np.array([each.value for each in found]).reshape(size, x.size)


def flat(arrays):
    """Return the entries of all arrays in one row."""
    return np.concatenate([np.reshape(a, -1) for a in arrays])


def finite(a):
    """Return ``a`` with 0 for NaN and infinity."""
    return np.where(np.isfinite(a), a, 0)


class Point:
    """A function f at a point x, with several choices of weights for its outputs.

    weights   (S, outputs), in each row the cotangents of all outputs, flattened
    """

    def __init__(self, f, x, weights):
        self.f, self.x, self.weights = f, x, weights
        self.y = self.outputs(x)
        self.largest_step = LARGEST_STEP * np.abs(x).max(initial=1)
        self._deviations = {}

    def outputs(self, x):
        """Return all outputs of f(x) in one row."""
        return flat(self.f(x))

    def changes(self, step):
        """Return (f(x + step) - f(x), f(x) - f(x - step)), all outputs in one row."""
        up, down = self.outputs(self.x + step), self.outputs(self.x - step)
        pairs = (up, self.y), (self.y, down)
        return [np.where(a == b, 0, a - b) for a, b in pairs]  # inf - inf is 0

    def slopes(self, directions=None):
        """Return the ``Slopes`` for each row of the weights."""
        if directions is None:
            lines = list(zip(_one_by_one(self.x), entry_scale(self.x).reshape(-1)))
        else:
            lines = [(v, 1.0) for v in directions]
        rows = len(self.weights)
        with np.errstate(all="ignore"):
            first = [self.measure(v, unit, 0) for v, unit in lines]
            largest = np.zeros(rows)  # the largest slope that is certainly not 0
            for value, _, _, truncation, rounding, *_ in first:
                size, bar = np.abs(value), truncation + rounding
                largest = np.fmax(largest, np.where(size > 10 * bar, size, 0))
            best = [
                _judged(self._again(*line, m, largest), largest)
                for line, m in zip(lines, first)
            ]
            is_rough = self.is_rough
        table = np.array(best).reshape(len(best), 5, rows)  # (P, 5, S)
        return [
            Slopes(*table[:, :4, s].T, table[:, 4, s] > 0, directions, is_rough)
            for s in range(rows)
        ]

    def measure(self, v, unit, step_number):
        """Measure the slope of F along a direction, with the steps h and h / 2.

        v, unit       v = unit e, and the slope along the direction e is measured. For
                      one entry x_i, e is its unit vector, and unit is a power of two
                      near |x_i|, so that x + h v is exact
        step_number   0 for the usual h = STEP; a larger one for a larger h

        A gradient check uses several F of the same f, one for each row of the weights.
        So each of these results has one entry for each row: the slope; the one-sided
        slopes on the left and on the right; the truncation and the rounding; and the
        gaps between both sides with the step and with its half.
        """
        h = STEP * RATIO**step_number
        sides = []
        for step in (h, h / 2):  # written as h below, for unit 1
            right, left = (self.weights @ change for change in self.changes(step * v))
            # (F(x) - F(x - hv)) / h and (F(x + hv) - F(x)) / h
            sides.append((left / (step * unit), right / (step * unit)))
        wide, narrow = ((left + right) / 2 for left, right in sides)  # D(h), D(h/2)
        # The rounding of F times the weights of the four F in the slope. For unit 1,
        # these are, without signs, 4/(3h) for the two F in narrow, and 1/(6h) for the
        # two in wide. Their sum is 8/(3h) + 1/(3h) = 3/h; 4/h is a bound.
        rounding = 4 * self.rounding(step_number) / (h * unit)
        gaps = (np.abs(right - left) for left, right in sides)
        value, truncation = (4 * narrow - wide) / 3, np.abs(wide - narrow)
        return value, *sides[1], truncation, rounding, *gaps

    def _again(self, v, unit, first, largest):
        """Return [first], or also a measurement with another step if it is imprecise.

        The truncation is proportional to h^2 and the rounding to 1/h. So their sum is
        least near h (rounding / truncation)^(1/3). A truncation below the rounding
        cannot be seen; it is taken to be h^2/8 F', as if F''' were as large as F'.
        """
        rounding = first[4]
        error, _ = _roughness(first, largest)
        size = np.maximum(np.abs(first[0]), largest / 100)
        imprecise = np.flatnonzero(~(error + rounding <= PRECISION * size))
        if not len(imprecise):
            return [first]
        # a row with slopes that are certainly not 0 comes first
        s = max(imprecise, key=lambda s: largest[s] > 0)
        is_larger = rounding[s] > error[s]
        h = STEP * unit
        truncation = h * h / 8 * size[s] if is_larger else error[s]
        steps = np.log(rounding[s] / truncation) / 3 / np.log(RATIO)
        least, most = (1, MOST_LARGER) if is_larger else (SMALLEST_STEP, -1)
        if is_larger and not largest[s]:  # no slope is certainly not 0
            most = 99  # the largest step
        step_number = int(np.clip(np.nan_to_num(np.round(steps)), least, most))
        if not is_larger:
            again = self.measure(v, unit, step_number)
            # otherwise a corner would disappear in rounding errors
            return [first, again] if again[4][s] <= error[s] / 100 else [first]
        for number in range(step_number, 0, -1):
            if STEP * RATIO**number * np.abs(v).max() <= self.largest_step:
                again = self.measure(v, unit, number)
                _, kink = _roughness(again, largest)
                if not kink[s]:  # f is smooth over the larger step
                    again[3][kink] = np.inf  # a corner beside x is not one at x
                    return [first, again]
        return [first]

    @property
    def is_rough(self):
        """Whether an output deviates from a cubic by more than rounding.

        The deviation must be large also in comparison with 1.
        """
        deviation, relative_deviation = self._deviation(0)
        last_digits = LAST_DIGITS * np.maximum(np.abs(self.y), 1)
        return ((deviation > last_digits) & (relative_deviation > SMOOTH)).any()

    def rounding(self, step_number):
        """Return the rounding error of F, (S,), over steps near that of this number."""
        rows = self.weights * self._deviation(step_number)[0]
        largest = np.abs(rows).max(axis=1, initial=0)  # the squares may underflow
        parts = rows / np.where(largest > 0, largest, 1)[:, None]
        return largest * np.sqrt((parts**2).sum(1))

    def _deviation(self, step_number):
        """Return the deviations of the outputs from cubics, in two forms, (outputs,).

        Over small steps a smooth function is nearly a polynomial of degree three. The
        part of its values that no such polynomial explains is rounding. The second form
        is relative to the change of the output: near 1 if f is not smooth, NaN if the
        output is constant.
        """
        if step_number not in self._deviations:
            moves = np.random.default_rng(0).uniform(-1, 1, self.x.shape)
            step = moves * entry_scale(self.x) / np.sqrt(max(1, self.x.size))
            step *= 4 * STEP * RATIO**step_number
            times, without_cubics = _times()
            values = np.array([self.outputs(self.x + t * step) for t in times])
            squares = np.sort((without_cubics @ values) ** 2, axis=0)
            relative = np.sqrt(squares.mean(0)) / np.ptp(values, axis=0)
            # A corner changes at most four of these squares, so the largest four are
            # left out. With rounding alone, the mean of the others is 0.4 of its
            # variance.
            variance = squares[:-4].mean(0) / 0.4
            last_place = np.maximum(EPSILON * np.abs(self.y), DENORMAL)
            errors = finite(np.maximum(finite(np.sqrt(variance)), last_place))
            if step_number > 0:  # larger steps do not make the rounding smaller
                errors = np.maximum(errors, self._deviation(step_number - 1)[0])
            self._deviations[step_number] = errors, relative
        return self._deviations[step_number]


@functools.cache  # made at the first call: importing numpy.random takes time
def _times():
    """Return the t at which f(x + t step) is evaluated, and a matrix without cubics.

    The distances of the t are unequal: if f had jumps at equal distances, points at
    equal distances could miss them. The matrix maps the values of polynomials of degree
    three to 0. Each row combines the values at five neighbouring times, as a divided
    difference does; its norm is 1.
    """
    times = np.arange(1, 18) + np.random.default_rng(0).uniform(-0.3, 0.3, 17)
    rows = np.zeros((len(times) - 4, len(times)))
    for k, row in enumerate(rows):
        t = times[k : k + 5]
        weights = 1 / np.prod(t[:, None] - t + np.eye(5), axis=1)
        row[k : k + 5] = weights / np.linalg.norm(weights)
    return times, rows


def _roughness(measured, largest):
    """Return (error, kink): the error of a finite step, and whether it is a kink.

    The slopes on the two sides differ by about h f'' where f is smooth, so half the
    step gives half the difference. At a corner the difference stays.
    """
    value, _, _, truncation, rounding, wide, narrow = measured
    size = np.maximum(np.abs(value), largest / 100)
    visible = np.maximum(1e-4 * size, 100 * rounding)
    corner = np.where(narrow > np.maximum(visible, 0.7 * wide), narrow, 0)
    jump = truncation > np.maximum(0.01 * size, 100 * rounding)
    error = truncation + corner
    is_finite = np.isfinite(error + value)
    return np.where(is_finite, error, np.inf), (corner > 0) | jump | ~is_finite


def _judged(measurements, largest):
    """Return (value, bar, left, right, kink), each (S,), with the smallest bar."""
    errors, kinks = map(np.array, zip(*(_roughness(m, largest) for m in measurements)))
    values, left, right, _, rounding, *_ = map(np.array, zip(*measurements))
    bars = errors + rounding  # (one or two measurements, S)
    bars = np.where(np.isfinite(bars), bars, np.inf)
    best = bars.argmin(0), np.arange(len(largest))
    value, bar = values[best], bars[best]
    # If the bars of two steps do not overlap, or if the value is 0 (f may be a step
    # function), the error bar is the distance to the other value.
    distances = np.abs(values - value)
    is_doubtful = (distances > 10 * (bar + bars)) | (value == 0)
    bar = np.maximum(bar, np.fmax.reduce(np.where(is_doubtful, distances, 0)))
    return value, bar, left[best], right[best], kinks[best]
