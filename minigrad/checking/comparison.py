"""Compare analytic with numeric slopes, and explain where they differ."""

import functools
import itertools
import textwrap

import numpy as np

from .diagnosis import Case, diagnose
from .numeric import EVERY, jacobian, random_directions, slopes
from .verdict import Entry, Finding, Row, describe, label, picture

CLEAR = 1000  # the largest slope must be this many times the noise
# rounding left of slopes that cancel, where the cotangent is 1:
ROUND = 1e-12  # analytic slopes, some units in the last place
FAINT = 1e-9  # numeric slopes, the same divided by a step
DIAGNOSED = 4096  # entries up to which a wrong gradient is measured in every one


class Comparison:
    """Analytic and numeric slopes of one input, side by side."""

    def __init__(self, subject, i, seen, rtol, atol, declared, rng):
        self.f, self.seen, self.i, self.subject = subject.of(i), seen, i, subject
        self.name, self.x = subject.names[i], subject.leaves[i]._data
        self.rtol, self.atol, self.declared = rtol, atol, declared
        self.yours, self.only = seen.gradients[i], None
        large = self.x.size > EVERY
        self.measure(random_directions(self.x, rng) if large else None)

    def measure(self, directions):
        """Take the slopes along ``directions``, or of every entry, and compare."""
        self.slopes = s = slopes(self.f, self.x, self.seen.cotangents, directions)
        self.numeric = s.value
        yours = np.zeros(self.x.shape) if self.yours is None else self.yours
        self.analytic = s.along(yours)
        unit = max(np.abs(c).max(initial=0) for c in self.seen.cotangents)
        slope = max(np.abs(side).max(initial=0) for side in (s.left, s.right))
        is_rounding = s.kink.any() and slope <= FAINT * unit
        if is_rounding:  # corners of the size of rounding: the function is constant
            s.kink[:] = False
        smooth = ~s.kink
        self.scale = np.abs(s.value[smooth]).max(initial=0)
        self.noise = s.bar[smooth].max(initial=0)
        self.signal = self.scale > CLEAR * self.noise and not is_rounding
        if self.signal:
            size = np.maximum(np.abs(self.analytic), np.abs(s.value))
            self.tolerance = np.maximum(
                self.atol * self.scale, np.maximum(self.rtol * size, 10 * s.bar)
            )
        else:  # the true gradient is 0, within the measured noise
            reach = s.reach[smooth].max(initial=0)
            allowed = 10 * self.noise + self.atol * reach + ROUND * unit
            self.tolerance = np.full(len(s.value), allowed)
        with np.errstate(invalid="ignore"):
            right = np.abs(self.analytic - s.value) <= self.tolerance
        self.wrong = smooth & ~(right & np.isfinite(self.analytic))
        if self.declared and self.signal:
            self.wrong |= smooth & (np.abs(s.value) > self.tolerance)

    @property
    def verdict(self):
        if self.wrong.any():
            return "wrong"
        if self.slopes.kink.any():
            return "kink"
        if not self.x.size or not sum(y.size for y in self.seen.y):
            return "empty"
        if self.signal:
            return "ok"
        return "ok, none" if self.declared else "no signal"

    def row(self):
        """Return the line of the table."""
        n, one_by_one = len(self.numeric), self.slopes.directions is None
        what = ("entry" if n == 1 else "entries") if one_by_one else "directions"
        gap = np.abs(self.analytic - self.numeric)[~self.slopes.kink].max(initial=0)
        error = gap / self.scale if self.scale else np.nan
        checked, shape = f"{n} {what}", self.x.shape
        return Row(self.name, shape, checked, self.scale, error, self.verdict)

    def worst(self):
        """Return (error / tolerance, Entry) of the slope with the largest error."""
        smooth = np.flatnonzero(~self.slopes.kink)
        if not len(smooth):
            return None
        with np.errstate(all="ignore"):
            excess = np.abs(self.analytic - self.numeric) / self.tolerance
        excess = np.nan_to_num(excess, nan=0, posinf=np.inf)
        excess[self.wrong & ~np.isfinite(self.analytic)] = np.inf
        excess[self.wrong] += 1  # declared to be 0 and is not, though both agree
        k = smooth[np.argmax(excess[smooth])]
        return float(excess[k]), self.entry(k)

    def entry(self, k):
        """Return slope ``k`` as an ``Entry``."""
        index = None
        if self.slopes.directions is None or self.only is not None:
            k_of_x = k if self.only is None else self.only
            index = tuple(int(i) for i in np.unravel_index(k_of_x, self.x.shape))
        values = self.analytic[k], self.numeric[k], self.slopes.bar[k], self.tolerance[k]
        return Entry(self.name, index, *map(float, values))


def explain(result, comparison):
    """Write into ``result`` which entry is wrong, and which known mistake it equals."""
    c, result.tag = comparison, "unknown"
    if c.slopes.directions is not None:
        _refine(c)
    result.worst = c.worst()[1]
    lines = [describe(result.op, result.worst)]
    if c.slopes.directions is not None:
        lines.append(f"not diagnosed: {c.x.size} entries; check a smaller input")
    else:
        result.wrong = c.wrong.reshape(c.x.shape)
        lines.append(f"{c.wrong.sum()} of {c.wrong.size} entries differ")
        if c.declared and c.signal:
            sentence = f"no_gradient declares {label(c.name)} 0; numeric is not"
            result.cause = Finding("declared", sentence)
            lines.append(sentence)
        else:
            result.cause = diagnose(_case(c))
            lines.append(_named(result.cause))
        result.tag = result.cause.tag
        drawn = picture(result.wrong)
        if drawn:
            lines.append(f"{drawn}\n    (# differs; the last axis runs to the right)")
    if c.seen.laws:
        if result.tag == "unknown":
            result.tag = c.seen.laws[0][0]
        result.also = [Finding(tag, sentence) for tag, sentence, _ in c.seen.laws]
        lines += [f"also: {law.sentence}" for law in result.also]
    result.message = "\n".join(lines)


def explain_shape(result, subject, seen):
    """Name the mistake of a gradient that does not fit its input."""
    i, yours = seen.misshapen
    x = subject.leaves[i]._data
    if x.size <= DIAGNOSED:
        numeric = slopes(subject.of(i), x, seen.cotangents).value.reshape(x.shape)
        found = diagnose(Case(yours, numeric))
        if found.tag != "unknown":
            result.tag, result.cause = found.tag, found
            result.message += "\n" + _named(found)


def _named(found):
    return textwrap.fill(f"{found.sentence}  [{found.tag}]", 79)


def _case(c):
    """Return all that the hypotheses can use about a wrong gradient."""
    seen, f, single = c.seen, c.f, len(c.seen.y) == 1
    y, cotangent = seen.y[0], seen.cotangents[0]
    if not single:
        y = None
        cotangent = np.concatenate([each.reshape(-1) for each in seen.cotangents])

    def vjp(cotangent):
        if single:
            return seen.vjp([cotangent])[c.i]
        ends = np.cumsum([each.size for each in seen.y])[:-1]
        parts = [
            part.reshape(each.shape)
            for part, each in zip(np.split(cotangent, ends), seen.y)
        ]
        return seen.vjp(parts)[c.i]

    def earlier():
        if seen.earlier is None:
            return None
        with c.subject.holding(seen.earlier):
            x = seen.earlier[c.i]
            return slopes(f, x, seen.cotangents).value.reshape(x.shape)

    numeric = np.where(c.slopes.kink, c.analytic, c.numeric).reshape(c.x.shape)
    return Case(
        yours=c.yours,
        numeric=numeric,
        x=c.x,
        y=y,
        cotangent=cotangent,
        jacobian=functools.cache(lambda: jacobian(f, c.x)),
        vjp=vjp,
        again=lambda: seen.again[c.i],
        earlier=earlier,
        variants=[*_other_axes(c), *_transposed(c)] if single else [],
    )


def _other_axes(c):
    """Yield the operation along other axes, if input and output have one shape."""
    x, y, cotangent = c.x, c.seen.y[0], c.seen.cotangents[0]
    if y.shape != x.shape:
        return
    for i, j in itertools.combinations(range(x.ndim), 2):

        def exchanged(i=i, j=j):
            swapped = x.swapaxes(i, j).copy()
            try:
                found = slopes(c.f, swapped, [cotangent.swapaxes(i, j)]).value
            except Exception:  # the other inputs do not fit those axes
                return None
            return found.reshape(swapped.shape).swapaxes(i, j)

        yield (
            "wrong-axis",
            f"yours equals the numeric gradient of the operation with axes {i} and {j} "
            "exchanged, input and output",
            exchanged,
        )


def _transposed(c):
    """Yield the operation with another, square input transposed."""
    held = [leaf._data for leaf in c.subject.leaves]
    for k, other in enumerate(held):
        if k == c.i or other.ndim < 2 or other.shape[-1] != other.shape[-2]:
            continue

        def transposed(k=k, other=other):
            arrays = [*held[:k], other.swapaxes(-1, -2).copy(), *held[k + 1 :]]
            with c.subject.holding(arrays):
                return slopes(c.f, c.x, c.seen.cotangents).value.reshape(c.x.shape)

        yield (
            "transpose",
            f"yours equals the numeric gradient with input {k} transposed",
            transposed,
        )


def _refine(c):
    """Find the wrong entries of a wrong direction: measure all, or halve."""
    directions = [np.sign(v) for v in c.slopes.directions]
    if c.x.size <= DIAGNOSED:
        c.measure(None)
    else:
        entries, signs = np.arange(c.x.size), directions[0].reshape(-1)
        while len(entries) > 1:
            half = entries[: len(entries) // 2]
            c.measure([_only(half, signs, c.x.shape)])
            entries = half if c.wrong.any() else entries[len(half) :]
        c.measure([_only(entries, np.ones(c.x.size), c.x.shape)])
        c.only = entries[0]
    if not c.wrong.any():  # many small errors, each within its tolerance
        c.measure(directions)
        c.only = None


def _only(entries, signs, shape):
    direction = np.zeros(len(signs))
    direction[entries] = signs[entries]
    return direction.reshape(shape)
