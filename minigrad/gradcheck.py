"""Check gradients against finite differences: is this backward right?

    >>> x = np.random.default_rng(0).normal(size=(3, 5))
    >>> gradcheck(minigrad.softmax, [x]).ok
    True

With a random cotangent c, drawn from N(0, 1), and F = sum c f(x), the backward computes
dF/dx, and so do finite differences (``minigrad.checking.numeric``). c is never all
ones: the outputs of a softmax sum to 1 for every x, so the true gradient of that sum is
0, and a backward that returns 0 would pass. A check that could not have failed raises
VacuousCheckError.
"""

import numpy as np

from .checking.behaviour import observe
from .checking.comparison import Comparison, explain, explain_shape
from .checking.hypotheses import is_single
from .checking.subject import Subject
from .checking.verdict import (
    GradcheckError,
    GradcheckResult,
    Row,
    VacuousCheckError,
    label,
    place,
)
from .tensor import Tensor


def gradcheck(fn, inputs, *, seed=0, rtol=1e-6, atol=1e-8, no_gradient=()):
    """Check dF/dx for each float array among ``inputs``; return a ``GradcheckResult``.

    fn           called with a float64 tensor for each float array, and with the other
                 inputs (integers, booleans, numbers, None) as they are; returns a
                 tensor, or several
    inputs       arrays or Tensors; a tuple or list among them stands for several
    seed         for the cotangent and for directions
    rtol, atol   a slope a, whose numeric value is n +- b, is wrong when |a - n| exceeds
                 max(atol * largest |n| of that input, rtol * max(|a|, |n|), 10 b)
    no_gradient  the inputs (0, 1, ...) whose true gradient is 0, which is then checked

    The result is false when a gradient is wrong; its message names the entry and, where
    one fits, the known mistake. It is also false when backward breaks a law
    (``minigrad.checking.behaviour``), and at a kink, where no gradient is right. An
    array of more than 400 entries is checked along random directions, in which all
    entries move.

    Raises VacuousCheckError when the true gradient of an input is 0 and the input is
    not named in ``no_gradient``; GradcheckError when there is nothing to check.
    """
    subject = Subject()
    inputs = [inputs] if isinstance(inputs, (np.ndarray, Tensor)) else list(inputs)
    arguments = subject.with_leaves(inputs)
    subject.call = lambda: fn(*arguments)
    return _check(subject, None, seed, rtol, atol, no_gradient)


def gradcheck_module(module, *inputs, seed=0, rtol=1e-6, atol=1e-8, no_gradient=()):
    """Check every parameter of ``module``, and every float array among ``inputs``.

    As ``gradcheck``, in evaluation mode (no dropout) and with the parameters in
    float64; afterwards the module is unchanged. In the table and in ``no_gradient``,
    parameters have their names and inputs their numbers.
    """
    subject = Subject()
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            subject.leaves.append(parameter)
            subject.names.append(name)
    arguments = subject.with_leaves(list(inputs))
    subject.call = lambda: module(*arguments)
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        op = type(module).__name__
        return _check(subject, op, seed, rtol, atol, no_gradient)
    finally:
        for part, training in modes:
            part.training = training


def _check(subject, op, seed, rtol, atol, no_gradient):
    if isinstance(no_gradient, (int, str)):
        no_gradient = (no_gradient,)
    declared = {str(name) for name in no_gradient}
    _refuse_uncheckable(subject, declared)
    rng = np.random.default_rng(seed)
    points = [leaf._data.astype(np.float64) for leaf in subject.leaves]
    with subject.holding(points):
        seen = observe(subject, points, rng)
        result = GradcheckResult(op or _title(seen))
        if seen.broken:
            _report_broken(result, subject, seen)
            return result
        compared = [
            Comparison(subject, i, seen, rtol, atol, name in declared, rng)
            for i, name in enumerate(subject.names)
        ]
        result.rows = [each.row() for each in compared]
        worst = [each.worst() for each in compared if each.worst()]
        result.worst = max(worst, key=lambda pair: pair[0], default=(0, None))[1]
        # a gradient of 0 is all rounding: laws about its values say nothing
        seen.laws = [
            law for law in seen.laws if law[2] is None or compared[law[2]].signal
        ]
        too_coarse = any(map(is_single, seen.y)) and not any(map(is_single, points))
        _conclude(result, compared, seen.laws, too_coarse)
    return result


def _conclude(result, compared, laws, too_coarse):
    """Write the first failure into ``result``; raise if nothing could have failed.

    laws         (tag, sentence, leaf) of the laws that the backward breaks
    too_coarse   whether the output has the precision of float32 only
    """
    wrong = [each for each in compared if each.wrong.any()]
    kinks = [each for each in compared if each.slopes.kink.any()]
    silent = [each for each in compared if each.verdict == "no signal"]
    if wrong:
        explain(result, wrong[0])
    elif too_coarse and (kinks or silent):
        result.tag = "float32"
        result.message = (
            f"{result.op}: every entry of the output is a float32 number, too "
            "coarse for finite differences"
        )
    elif kinks:
        _report_kink(result, kinks[0])
    elif laws:
        result.tag = laws[0][0]
        result.message = "\n".join(f"{result.op}: {law[1]}" for law in laws)
    elif silent:
        raise VacuousCheckError(_vacuous(result, silent[0]))


def _refuse_uncheckable(subject, declared):
    if not subject.leaves:
        raise GradcheckError(
            "gradcheck: there is no array of floats among the inputs, so there is no "
            "gradient to check."
        )
    unknown = ", ".join(sorted(declared - set(subject.names)))
    if unknown:
        raise GradcheckError(
            f"gradcheck: no_gradient names {unknown}; the inputs with a gradient are "
            f"{', '.join(subject.names)}."
        )
    for name, leaf in zip(subject.names, subject.leaves):
        bad = leaf._data[~np.isfinite(leaf._data)]
        if bad.size:
            raise GradcheckError(
                f"gradcheck: {label(name)} holds {bad[0]}, which no small step moves. "
                "Keep constants inside the function: lambda x: f(x, mask)."
            )


def _title(seen):
    if seen.size <= 1:
        return seen.op
    return f"a graph of {seen.size} operations that ends in {seen.op}"


def _report_broken(result, subject, seen):
    """Report a call or backward that does not work, so that nothing was compared."""
    for name, leaf in zip(subject.names, subject.leaves):
        row = Row(name, leaf.shape, "nothing", np.nan, np.nan, "not checked")
        result.rows.append(row)
    result.tag, what = seen.broken[0]
    result.message = f"{result.op}: {what}"
    if seen.misshapen is not None:
        explain_shape(result, subject, seen)


def _report_kink(result, comparison):
    c = comparison
    k = int(np.argmax(c.slopes.kink))
    result.tag, result.worst = "kink", c.entry(k)
    result.message = (
        f"{place(result.op, result.worst)}: a kink\n"
        f"    slope on the left   {c.slopes.left[k]:+.6g}\n"
        f"    slope on the right  {c.slopes.right[k]:+.6g}\n"
        "No gradient is right there. Check at a point where the function is smooth."
    )


def _vacuous(result, silent):
    name = silent.name if silent.name.isdigit() else repr(silent.name)
    return (
        f"gradcheck of {result.op}: this check could not have failed. The true "
        f"gradient of {label(silent.name)}, shape {silent.x.shape}, is 0 as far as can "
        f"be measured (largest slope {silent.scale:.0e}, noise {silent.noise:.0e}): a "
        "backward that returns nothing would pass. Check at another point, or return "
        "the outputs themselves in place of their sum. Where 0 is what the gradient "
        f"should be, say no_gradient=({name},).\n\n{result.table()}"
    )
