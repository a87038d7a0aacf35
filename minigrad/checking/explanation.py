"""Write the message of a failed gradient check."""

import functools
import itertools
import textwrap

import numpy as np

from .behaviour import vjp
from .diagnosis import Case, diagnose
from .numeric import flat, jacobian, slopes
from .verdict import Finding, describe, label, picture, place

MAX_DIAGNOSED = 4096  # the size of the largest array whose mistake is looked for


def explain_wrong(result, comparison):
    """Write into ``result`` which entry is wrong, and which known mistake it equals."""
    c = comparison
    if c.usual.numeric.directions is not None:
        _refine(c)
    result.worst = c.worst()
    result.also = c.run.findings
    lines = [describe(result.op, result.worst)]
    if c.usual.numeric.directions is not None:
        result.cause = Finding("unknown", "no known pattern")
        lines.append(f"not diagnosed: {c.x.size} entries; check a smaller input")
    else:
        wrong = result.wrong = c.usual.wrong.reshape(c.x.shape)
        lines.append(f"{wrong.sum()} of {wrong.size} entries differ")
        if c.is_declared and c.usual.numeric.is_nonzero.any():
            sentence = f"no_gradient names {label(c.name)}; the measured one is not 0"
            result.cause = Finding("declared", sentence)
            lines.append(sentence)
        else:
            result.cause = diagnose(_case(c))
            lines.append(_cause_line(result.cause))
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


def explain_rough(result, comparison):
    """Report an input whose slopes no step can measure."""
    c, numeric = comparison, comparison.usual.numeric
    k = int(np.argmin(numeric.bar))
    result.tag, result.worst = "rough", c.entry(k)
    result.message = (
        f"{result.op}, {label(c.name)}: not measured\n"
        f"    numeric  {numeric.value[k]:+.1e} ± {numeric.bar[k]:.0e} at best\n"
        "The gradient cannot be measured at this point: the outputs change too much\n"
        "over every step. Check at another point, or the parts of the function."
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


def explain_broken(result, subject, run):
    """Report why nothing could be compared, such as an exception."""
    result.cause = run.fatal_findings[0]
    result.message = f"{result.op}: {result.cause.sentence}"
    if run.wrong_shape is not None:
        i, yours = run.wrong_shape
        x = subject.leaves[i]._data
        if x.size <= MAX_DIAGNOSED:
            numeric = slopes(subject.function_of(i), x, run.cotangents)
            found = diagnose(Case(yours, numeric.value.reshape(x.shape)))
            if found.tag != "unknown":
                result.cause = found
                result.message += "\n" + _cause_line(found)
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
        "the outputs themselves in place of their sum. If the gradient should be 0, "
        f"pass no_gradient=({name},).\n\n{result.table()}"
    )


def _cause_line(found):
    return textwrap.fill(f"{found.sentence}  [{found.tag}]", 79)


def _case(c):
    """Return the ``Case`` of a wrong gradient, for the hypotheses."""
    run, f, single = c.run, c.f, len(c.run.y) == 1
    y = run.y[0] if single else None
    cotangent = run.cotangents[0] if single else flat(run.cotangents)

    def gradient(cotangent):
        ends = np.cumsum([each.size for each in run.y])[:-1]
        parts = np.split(cotangent.reshape(-1), ends)
        shaped = [part.reshape(each.shape) for part, each in zip(parts, run.y)]
        return vjp(c.subject, run, shaped)[c.i]

    def earlier():
        if run.earlier_inputs is None:
            return None
        with c.subject.with_data(run.earlier_inputs), np.errstate(all="ignore"):
            x = run.earlier_inputs[c.i]
            return slopes(f, x, run.cotangents).value.reshape(x.shape)

    usual = c.usual
    numeric = np.where(usual.numeric.kink, usual.analytic, usual.numeric.value)
    return Case(
        yours=run.gradients[c.i],
        numeric=numeric.reshape(c.x.shape),
        x=c.x,
        y=y,
        cotangent=cotangent,
        jacobian=functools.cache(lambda: jacobian(f, c.x)),
        vjp=gradient,
        again=lambda: run.second_gradients[c.i],
        earlier=earlier,
        variants=[*_other_axes(c), *_transposed(c)] if single else [],
    )


def _other_axes(c):
    """Yield variants with two axes exchanged, if input and output have one shape."""
    x, y, cotangent = c.x, c.run.y[0], c.run.cotangents[0]
    if y.shape != x.shape:
        return
    for i, j in itertools.combinations(range(x.ndim), 2):

        def exchanged_gradient(i=i, j=j):
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
            exchanged_gradient,
        )


def _transposed(c):
    """Yield variants in which another input, which is square, is transposed."""
    data = [leaf._data for leaf in c.subject.leaves]
    for k, other in enumerate(data):
        if k == c.i or other.ndim < 2 or other.shape[-1] != other.shape[-2]:
            continue

        def transposed(k=k, other=other):
            arrays = [*data[:k], other.swapaxes(-1, -2).copy(), *data[k + 1 :]]
            with c.subject.with_data(arrays):
                numeric = slopes(c.f, c.x, c.run.cotangents)
            return numeric.value.reshape(c.x.shape)

        name = label(c.subject.names[k])
        yield (
            "transpose",
            f"yours equals the numeric gradient with {name} transposed",
            transposed,
        )


def _refine(c):
    """Find the wrong entries of a wrong direction.

    A small array is measured entry by entry. In a large array, bisection finds one
    wrong entry.
    """
    directions = c.usual.numeric.directions
    if c.x.size <= MAX_DIAGNOSED:
        c.measure(None)
    else:
        entries = np.arange(c.x.size)
        while len(entries) > 1:
            half = entries[: len(entries) // 2]
            c.measure([_restrict(half, directions[0])])
            entries = half if c.usual.wrong.any() else entries[len(half) :]
        c.measure([_restrict(entries, np.ones(c.x.shape))])
        c.only_entry = entries[0]
    if not c.usual.wrong.any():  # many small errors, each within its tolerance
        c.measure(directions)
        c.only_entry = None


def _restrict(entries, direction):
    """Return ``direction`` with 0 in all other entries."""
    chosen = np.zeros(direction.size)
    chosen[entries] = direction.reshape(-1)[entries]
    return chosen.reshape(direction.shape)
