"""Measure gradients by finite differences, each with an error bar.

For a function f of an array x, and weights c for its outputs, let F(x) = sum c f(x).
Its slope along v is measured with two steps, and the h^2 term of the error cancelled:

    D(h) = (F(x + h v) - F(x - h v)) / 2h         = <grad F, v> + O(h^2)
    (4 D(h/2) - D(h)) / 3                         = <grad F, v> + O(h^4)

|D(h) - D(h/2)|, and what rounding does to the difference, are the error bar. The
differences are taken output by output before they are weighed and summed, so that
outputs that do not depend on v add no noise.
"""

import warnings
from dataclasses import dataclass

import numpy as np

EPSILON = np.finfo(np.float64).eps
STEP = EPSILON ** (1 / 3)  # where the truncation h^2 and the rounding eps/h balance
EVERY = 400  # up to so many entries are measured one by one
DIRECTIONS = 6  # of larger arrays, slopes along so many random directions
TINY = 1e-20  # the imaginary step; its square vanishes beside 1


@dataclass
class Slopes:
    """Numeric slopes of one array: of its entries, or along directions.

    value        (P,)  the slopes
    bar          (P,)  how far off they may be
    left, right  (P,)  the one-sided slopes, which differ at a corner
    reach        (P,)  sum |c df|: what the slope would be if nothing cancelled
    kink         (P,)  whether the function has a corner or a jump there
    directions         None, or the (P,) arrays of x's shape along which was measured
    """

    value: np.ndarray
    bar: np.ndarray
    left: np.ndarray
    right: np.ndarray
    reach: np.ndarray
    kink: np.ndarray
    directions: list | None = None

    def along(self, gradient):
        """Return the slopes that ``gradient`` predicts."""
        if self.directions is None:
            return gradient.reshape(-1)
        return np.array([(gradient * v).sum() for v in self.directions])


def slopes(f, x, cotangents, directions=None):
    """Measure dF/dx, F = sum over outputs of (cotangent * output).sum().

    f            array -> tuple of float arrays, the outputs
    x            float64 array of finite numbers
    cotangents   one array for each output
    directions   arrays of x's shape to measure along; None: every entry by itself
    """
    with np.errstate(all="ignore"):
        point = _Point(f, x, cotangents)
        if directions is None:
            probes = [_Probe(point, step) for step in _one_by_one(x)]
        else:
            probes = [_Probe(point, _shared(x, v)) for v in directions]
        kinks = _judge(point, probes)
        return Slopes(
            *(
                np.array([getattr(p, name) for p in probes], float)
                for name in ("value", "bar", "left", "right", "reach")
            ),
            kink=kinks,
            directions=None if directions is None else [p.along for p in probes],
        )


def random_directions(x, rng):
    """Return directions in which all entries of ``x`` move together."""
    return rng.choice([-1.0, 1.0], (DIRECTIONS, *x.shape))


def jacobian(f, x, largest=200_000):
    """Return the numeric Jacobian (all outputs, all inputs), or None if it is large."""
    size = sum(each.size for each in f(x))
    if size * x.size > largest:
        return None
    columns = np.empty((x.size, size))
    with np.errstate(all="ignore"):
        for column, step in zip(columns, _one_by_one(x)):
            coarse, fine = (
                np.concatenate([d.reshape(-1) for d in _difference(f, x, s)[0]])
                for s in (step, step / 2)
            )
            column[:] = (4 * fine - coarse) / 3
    return columns.T


class _Point:
    """A function at a point: its outputs there, and the rounding error of each."""

    def __init__(self, f, x, cotangents):
        self.f, self.x, self.cotangents = f, x, cotangents
        self.y = f(x)
        # Over very small steps a smooth function is a straight line; second differences
        # show what the rounding inside f adds to it.
        nearby = [self.y, *(f(x + k * _step(x) / 4096) for k in range(1, 6))]
        self.noise = []
        for output, y in zip(zip(*nearby), self.y):
            bends = np.diff(np.stack(output), 2, axis=0)
            rough = np.sqrt((bends**2).mean(0) / 6)  # 1 + 4 + 1 errors in each
            rough = np.maximum(rough, np.median(rough) if rough.size else 0)
            self.noise.append(_finite(np.maximum(rough, EPSILON * np.abs(y))))

    def weigh(self, changes):
        """Return sum c df over all outputs."""
        return sum((c * d).sum() for c, d in zip(self.cotangents, changes))

    def noise_of(self, up, down):
        """Return the rounding in F from the outputs that a step has changed.

        They are rounded one by one: the errors add up as random steps do.
        """
        moved = [
            (c * n)[(a != y) | (b != y)]
            for c, n, a, b, y in zip(self.cotangents, self.noise, up, down, self.y)
        ]
        return 4 * np.sqrt(sum((m**2).sum() for m in moved))

    def complex_step(self, v):
        """Return (slope, bar) from f(x + i t v) = f(x) + i t f'(x) v: no subtraction.

        Right only where f is analytic, so the caller compares it with a difference.
        None where f does not take complex numbers, or returns other values for them.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # when imaginary parts are dropped
                z = self.f(self.x + 1j * TINY * v)
        except Exception:
            return None
        for a, b in zip(z, self.y):
            if a.dtype.kind != "c" or not np.allclose(a.real, b, 1e-9, 1e-9):
                return None
        terms = [c * a.imag / TINY for c, a in zip(self.cotangents, z)]
        slope = sum(t.sum() for t in terms)
        bar = 16 * EPSILON * sum(np.abs(t).sum() for t in terms)
        return (slope, bar) if np.isfinite(slope) else None


class _Probe:
    """One slope, measured with the step ``v`` and half of it."""

    def __init__(self, point, v):
        self._measure(point, v)
        if not np.isfinite(self.value + self.bar):
            # the step left the domain, as at log(1e-7): one relative to x does not
            v = np.sign(v) * np.minimum(np.abs(v), STEP * np.abs(point.x))
            self._measure(point, v)

    def _measure(self, point, v):
        measured = []
        for step in (v, v / 2):
            change, along, (up, down, length) = _difference(point.f, point.x, step)
            right = point.weigh(map(_minus, up, point.y)) * (2 / length)
            left = point.weigh(map(_minus, point.y, down)) * (2 / length)
            noise = point.noise_of(up, down)
            measured.append((point.weigh(change), along, abs(right - left), noise))
        (coarse, v1, gap1, noise1), (fine, v2, gap2, noise2) = measured
        self.value, self.along = (4 * fine - coarse) / 3, (4 * v2 - v1) / 3
        self.left, self.right, self.gaps = left, right, (gap1, gap2)
        self.reach = sum(np.abs(c * d).sum() for c, d in zip(point.cotangents, change))
        self.noise = max(noise1, noise2)
        self.rounding = self.noise / length
        self.truncation = abs(coarse - fine)
        self.bar = self.truncation + self.rounding


def _judge(point, probes):
    """Return which slopes lie at a kink; measure imprecise ones by a complex step."""
    finite = np.array([np.isfinite(p.value + p.bar) for p in probes], bool)
    kinks = ~finite
    scale = max((abs(p.value) for p, ok in zip(probes, finite) if ok), default=0)
    analytic = True
    for i in np.flatnonzero(finite):
        p = probes[i]
        size = max(abs(p.value), scale / 100)
        clear = max(1e-4 * size, 100 * p.rounding)
        # the one-sided slopes approach each other as h f'', but not at a corner
        if p.gaps[1] > max(clear, 0.7 * p.gaps[0]):
            kinks[i] = True
        elif 10 * p.bar > max(1e-6 * abs(p.value), 1e-8 * scale):
            better = point.complex_step(p.along) if analytic else None
            analytic = better is not None
            agrees = analytic and abs(better[0] - p.value) <= 10 * p.bar
            if agrees and p.truncation <= 100 * clear:
                # inside f, slopes as large as its values may have cancelled
                p.value, p.bar = better[0], better[1] + p.noise
            else:
                kinks[i] = p.truncation > clear
    return kinks


def _difference(f, x, step):
    """Return (f(x + step) - f(x - step)) / length, direction, (f up, f down, length).

    The direction is the move that the floating-point numbers really made, scaled to a
    largest entry of 1: where one entry moves, it is exactly 1 there.
    """
    up, down = x + step, x - step
    moved = up - down
    length = np.abs(moved).max()
    high, low = f(up), f(down)
    change = [_minus(a, b) / length for a, b in zip(high, low)]
    return change, moved / length, (high, low, length)


def _minus(a, b):
    """Return a - b, where equal infinities differ by 0."""
    return np.where(a == b, 0, a - b)


def _finite(a):
    return np.where(np.isfinite(a), a, 0)


def _step(x):
    return STEP * np.maximum(1, np.abs(x))


def _one_by_one(x):
    """Yield the steps that move one entry each."""
    for i, h in enumerate(_step(x).reshape(-1)):
        step = np.zeros(x.size)
        step[i] = h
        yield step.reshape(x.shape)


def _shared(x, v):
    """Return a step along ``v`` of h / sqrt(n) for each of the n entries that move.

    It moves F about as far as h in one entry, and takes hardly any across a corner.
    """
    return v * _step(x) / np.sqrt(np.count_nonzero(v))
