"""Write the message of a failed gradient check."""

import functools
import textwrap

import numpy as np

from .diagnosis import Case, diagnose
from .numeric import flat, jacobian, slopes
from .verdict import Finding, describe, label, picture, place

MAX_DIAGNOSED = 4096  # the size of the largest array whose mistake is looked for


def explain_wrong(result, c):
    """Write into ``result`` which entry is wrong, and which known mistake it equals.

    c   the ``Comparison`` of the input
    """
    measured = c.numeric
    if measured.directions is not None and c.x.size <= MAX_DIAGNOSED:
        c.use(slopes(c.f, c.x, c.run.cotangents))
        if not c.wrong.any():  # many small errors, each within its tolerance
            c.use(measured)
    result.worst = c.worst()
    result.also = c.run.findings
    lines = [describe(result.op, result.worst)]
    if not np.isfinite(result.worst.analytic) and np.isinf(flat(c.run.y)).any():
        lines.append("The output is infinite: if it overflows, check smaller inputs.")
    if c.numeric.directions is not None:
        result.cause = Finding("unknown", "no known pattern")
        lines.append(f"not diagnosed: {c.x.size} entries; check a smaller input")
    else:
        wrong = result.wrong = c.wrong.reshape(c.x.shape)
        lines.append(f"{wrong.sum()} of {wrong.size} entries differ")
        if c.is_declared and c.numeric.is_nonzero.any():
            sentence = f"no_gradient names {label(c.name)}; the measured one is not 0"
            result.cause = Finding("declared", sentence)
            lines.append(sentence)
        else:
            result.cause = diagnose(_case(c))
            tag, sentence = result.cause
            lines.append(textwrap.fill(f"{sentence}  [{tag}]", 79))
        drawn = picture(wrong)
        if drawn:
            lines.append(f"{drawn}\n    (# differs; the last axis runs to the right)")
    lines += [f"also: {rule.sentence}" for rule in result.also]
    result.message = "\n".join(lines)


def explain_kink(result, c):
    """Report an entry at which the function has a corner or a jump."""
    k = int(np.argmax(c.numeric.kink))
    result.worst = c.entry(k)
    result.cause = Finding("kink", f"{place(result.op, result.worst)}: a kink")
    result.message = (
        f"{result.cause.sentence}\n"
        f"    slope on the left   {c.numeric.left[k]:+.6g}\n"
        f"    slope on the right  {c.numeric.right[k]:+.6g}\n"
        "No gradient is right there. Check at a point where the function is smooth."
    )


def explain_rough(result, c):
    """Report an input whose slopes no step can measure."""
    k = int(np.argmin(c.numeric.bar))
    result.worst = c.entry(k)
    result.cause = Finding("rough", f"{result.op}, {label(c.name)}: not measured")
    result.message = (
        f"{result.cause.sentence}\n"
        f"    numeric  {c.numeric.value[k]:+.1e} ± {c.numeric.bar[k]:.0e} at best\n"
        "The gradient cannot be measured at this point: the outputs change too much\n"
        "over every step. Check at another point, or the parts of the function."
    )


def explain_rules(result, findings, comparisons=()):
    """Report broken rules, and the situations in which the gradient is wrong."""
    failures = [(c.name, *failure) for c in comparisons for failure in c.failures]
    found = findings + [
        Finding(situation.tag, situation.sentence.replace("{}", name))
        for name, situation, _ in failures
    ]
    result.cause, *result.also = found
    lines = [f"{result.op}: {rule.sentence}" for rule in found]
    if failures:
        result.worst = failures[0][2]
        lines.insert(len(findings) + 1, describe(result.op, result.worst))
    result.message = "\n".join(lines)


def vacuous_message(result, c):
    """Return why the check could not have failed."""
    name = c.name if c.name.isdigit() else repr(c.name)
    largest = np.abs(c.numeric.value).max(initial=0)
    bar = c.numeric.bar.max()
    return (
        f"gradcheck of {result.op}: this check could not have failed. The true "
        f"gradient of {label(c.name)}, shape {c.x.shape}, is 0 as far as can be "
        f"measured (largest slope {largest:.0e}, error bar {bar:.0e}): a "
        "backward that returns nothing would pass. Check at another point, or return "
        "the outputs themselves in place of their sum. If the gradient should be 0, "
        f"pass no_gradient=({name},).\n\n{result.table()}"
    )


def _case(c):
    """Return the ``Case`` of a wrong gradient, for the hypotheses."""
    run, single = c.run, len(c.run.y) == 1
    is_repeatable = not {"accumulates", "stateful"} & {f.tag for f in run.findings}

    def gradient(cotangent):
        ends = np.cumsum([each.size for each in run.y])[:-1]
        parts = np.split(cotangent.reshape(-1), ends)
        shaped = [part.reshape(each.shape) for part, each in zip(parts, run.y)]
        outputs = run.outputs_now()
        run.call_at(run.earlier_inputs)
        return run.gradients_of(outputs, shaped)[c.i]

    def measured_at(arrays):
        with run.with_data(arrays), np.errstate(all="ignore"):
            found = slopes(c.f, arrays[c.i], run.cotangents)
        return found.value.reshape(c.x.shape)

    def transposed(k):
        other = list(run.points)
        other[k] = other[k].swapaxes(-1, -2).copy()
        return measured_at(other)

    numeric = np.where(c.numeric.kink, c.analytic, c.numeric.value)
    return Case(
        yours=run.gradients[c.i],
        numeric=numeric.reshape(c.x.shape),
        x=c.x,
        y=run.y[0] if single else None,
        cotangent=run.cotangents[0] if single else flat(run.cotangents),
        jacobian=functools.cache(lambda: jacobian(c.f, c.x)),
        vjp=gradient if is_repeatable else None,
        earlier=lambda: run.earlier_inputs and measured_at(run.earlier_inputs),
        transposed={
            label(name): functools.partial(transposed, k)
            for k, (name, x) in enumerate(zip(run.names, run.points))
            if k != c.i and x.ndim > 1 and x.shape[-1] == x.shape[-2]
        },
    )
