"""Write the message of a failed gradient check."""

import functools
import itertools
import textwrap

import numpy as np

from .behaviour import vjp
from .diagnosis import Case, diagnose
from .numeric import flat, jacobian, slopes
from .verdict import Finding, describe, label, picture, place

DIAGNOSED = 4096  # entries up to which a wrong gradient is measured in every one


def explain_wrong(result, comparison):
    """Write into ``result`` which entry is wrong, and which known mistake it equals."""
    c = comparison
    if c.usual.numeric.directions is not None:
        _refine(c)
    result.worst = c.worst()
    result.also = c.seen.laws
    lines = [describe(result.op, result.worst)]
    if c.usual.numeric.directions is not None:
        result.cause = Finding("unknown", "no known pattern")
        lines.append(f"not diagnosed: {c.x.size} entries; check a smaller input")
    else:
        wrong = result.wrong = c.usual.wrong.reshape(c.x.shape)
        lines.append(f"{wrong.sum()} of {wrong.size} entries differ")
        if c.is_declared and c.usual.numeric.clear.any():
            sentence = f"no_gradient declares {label(c.name)} 0; numeric is not"
            result.cause = Finding("declared", sentence)
            lines.append(sentence)
        else:
            result.cause = diagnose(_case(c))
            lines.append(_named(result.cause))
        drawn = picture(wrong)
        if drawn:
            lines.append(f"{drawn}\n    (# differs; the last axis runs to the right)")
    result.tag = result.cause.tag
    if result.tag == "unknown" and result.also:
        result.tag = result.also[0].tag
    lines += [f"also: {law.sentence}" for law in result.also]
    result.message = "\n".join(lines)


def explain_kink(result, comparison):
    """Report an entry at which the function has a corner or a jump."""
    numeric = comparison.usual.numeric
    k = int(np.argmax(numeric.kink))
    result.tag, result.worst = "kink", comparison.entry(k)
    result.message = (
        f"{place(result.op, result.worst)}: a kink\n"
        f"    slope on the left   {numeric.left[k]:+.6g}\n"
        f"    slope on the right  {numeric.right[k]:+.6g}\n"
        "No gradient is right there. Check at a point where the function is smooth."
    )


def explain_failures(result, laws, comparisons):
    """Report broken rules, and the situations in which the gradient is wrong."""
    failures = [(c, *failure) for c in comparisons for failure in c.failures]
    found = laws + [
        Finding(situation.tag, situation.sentence.replace("{}", c.name))
        for c, situation, _ in failures
    ]
    result.cause, *result.also = found
    result.tag = result.cause.tag
    lines = [f"{result.op}: {law.sentence}" for law in found]
    if failures:
        result.worst = failures[0][2]
        lines.insert(len(laws) + 1, describe(result.op, result.worst))
    result.message = "\n".join(lines)


def explain_broken(result, subject, seen):
    """Report a rule after which nothing could be compared, such as an exception."""
    result.cause = seen.broken[0]
    result.message = f"{result.op}: {result.cause.sentence}"
    if seen.misshapen is not None:
        i, yours = seen.misshapen
        x = subject.leaves[i]._data
        if x.size <= DIAGNOSED:
            numeric = slopes(subject.of(i), x, seen.cotangents).value.reshape(x.shape)
            found = diagnose(Case(yours, numeric))
            if found.tag != "unknown":
                result.cause = found
                result.message += "\n" + _named(found)
    result.tag = result.cause.tag


def vacuous_message(result, comparison):
    """Return why the check could not have failed."""
    c, numeric = comparison, comparison.usual.numeric
    name = c.name if c.name.isdigit() else repr(c.name)
    largest = np.abs(numeric.value).max(initial=0)
    return (
        f"gradcheck of {result.op}: this check could not have failed. The true "
        f"gradient of {label(c.name)}, shape {c.x.shape}, is 0 as far as can be "
        f"measured (largest slope {largest:.0e}, error bar {numeric.bar.max():.0e}): a "
        "backward that returns nothing would pass. Check at another point, or return "
        "the outputs themselves in place of their sum. Where 0 is what the gradient "
        f"should be, pass no_gradient=({name},).\n\n{result.table()}"
    )


def _named(found):
    return textwrap.fill(f"{found.sentence}  [{found.tag}]", 79)


def _case(c):
    """Return all that the hypotheses can use about a wrong gradient."""
    seen, f, single = c.seen, c.f, len(c.seen.y) == 1
    y = seen.y[0] if single else None
    cotangent = seen.cotangents[0] if single else flat(seen.cotangents)

    def gradient(cotangent):
        ends = np.cumsum([each.size for each in seen.y])[:-1]
        parts = np.split(cotangent.reshape(-1), ends)
        shaped = [part.reshape(each.shape) for part, each in zip(parts, seen.y)]
        return vjp(c.subject, seen, shaped)[c.i]

    def earlier():
        if seen.earlier is None:
            return None
        with c.subject.holding(seen.earlier):
            x = seen.earlier[c.i]
            return slopes(f, x, seen.cotangents).value.reshape(x.shape)

    usual = c.usual
    numeric = np.where(usual.numeric.kink, usual.analytic, usual.numeric.value)
    return Case(
        yours=seen.gradients[c.i],
        numeric=numeric.reshape(c.x.shape),
        x=c.x,
        y=y,
        cotangent=cotangent,
        jacobian=functools.cache(lambda: jacobian(f, c.x)),
        vjp=gradient,
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
    directions = c.usual.numeric.directions
    if c.x.size <= DIAGNOSED:
        c.measure(None)
    else:
        entries = np.arange(c.x.size)
        while len(entries) > 1:
            half = entries[: len(entries) // 2]
            c.measure([_only(half, directions[0])])
            entries = half if c.usual.wrong.any() else entries[len(half) :]
        c.measure([_only(entries, np.ones(c.x.shape))])
        c.only = entries[0]
    if not c.usual.wrong.any():  # many small errors, each within its tolerance
        c.measure(directions)
        c.only = None


def _only(entries, direction):
    """Return ``direction`` with 0 in all but some entries."""
    chosen = np.zeros(direction.size)
    chosen[entries] = direction.reshape(-1)[entries]
    return chosen.reshape(direction.shape)
