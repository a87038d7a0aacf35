"""Check gradients against finite differences: is this backward right?

    >>> x = np.random.default_rng(0).normal(size=(3, 5))
    >>> gradcheck(minigrad.softmax, [x]).ok
    True

A gradient check draws random weights c from N(0, 1), called the cotangent, and adds the
outputs to one number: F(x) = sum_i c_i f(x)_i. The backward of c computes dF/dx. Two
values of F measure one entry of the same vector, with the unit vector v of that entry:

    dF/dx . v  =  (F(x + h v) - F(x - h v)) / 2h  +  an error that shrinks with h^2

``minigrad.checking.numeric`` computes this at two steps h, whose difference is the
error bar. The check compares each entry with the backward's.

c must not be all ones. For example, the outputs of a softmax sum to 1 for every x, so
the true gradient of their sum is 0, and a backward that returns 0 would pass. If the
true gradient is 0, the check raises VacuousCheckError.
"""

import numpy as np

from .checking.behaviour import observe
from .checking.comparison import Comparison, explain, explain_shape
from .checking.hypotheses import is_single
from .checking.subject import Subject
from .checking.verdict import (
    Finding,
    GradcheckError,
    GradcheckResult,
    Row,
    VacuousCheckError,
    label,
    place,
)
from .tensor import Tensor


def gradcheck(fn, inputs, *, seed=0, rtol=1e-6, atol=1e-8, no_gradient=(), names=None):
    """Check dF/dx for each float array among ``inputs``; return a ``GradcheckResult``.

    fn           called with a float64 tensor for each float array, and with the other
                 inputs (integers, booleans, numbers, None) as they are; returns a
                 tensor or a tuple of tensors
    inputs       arrays or Tensors; arrays inside a tuple or list are checked too
    seed         for the cotangent c and the random directions
    rtol, atol   an entry a of the backward is wrong if it differs from the measured
                 entry n, with error bar b, by more than
                 max(atol * largest |n| of that input, rtol * max(|a|, |n|), 10 b)
    no_gradient  the numbers (0, 1, ...) of inputs whose gradient must be 0, or their
                 names
    names        of the inputs, for the table and the messages, instead of 0, 1, ...

    ``result.ok`` is False if an entry is wrong; the message names the entry, and the
    mistake if it is a known one. It is also False if the backward breaks a rule of
    ``minigrad.checking.behaviour``, for example if it changes an input, and at a kink,
    where f is not differentiable. In an array of more than 400 entries, the check
    compares dF/dx . v for random directions v instead of single entries.

    Raises VacuousCheckError if the true gradient of an input is 0 and ``no_gradient``
    does not name the input; GradcheckError if there is nothing to check.
    """
    subject = Subject()
    inputs = [inputs] if isinstance(inputs, (np.ndarray, Tensor)) else list(inputs)
    names = names or [str(k) for k in range(len(inputs))]
    arguments = list(map(subject.with_leaves, inputs, names))
    subject.call = lambda: fn(*arguments)
    return _check(subject, None, seed, rtol, atol, no_gradient)


def gradcheck_module(module, *inputs, seed=0, rtol=1e-6, atol=1e-8, no_gradient=()):
    """Check every parameter of ``module``, and every float array among ``inputs``.

    It works like ``gradcheck``, with the module in evaluation mode (no dropout) and its
    parameters in float64; afterwards the module is unchanged. The table and
    ``no_gradient`` identify parameters by name and inputs by number.
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
    """Run the backward, measure its entries, compare; return the result."""
    if isinstance(no_gradient, (int, str)):
        no_gradient = (no_gradient,)
    expected_zero = {str(name) for name in no_gradient}
    _check_inputs(subject, expected_zero)
    rng = np.random.default_rng(seed)
    points = [leaf._data.astype(np.float64) for leaf in subject.leaves]
    with subject.holding(points):
        observation = observe(subject, points, rng)
        result = GradcheckResult(op or _title(observation))
        if observation.broken:
            _report_broken(result, subject, observation)
            return result
        comparisons = [
            Comparison(subject, i, observation, rtol, atol, name in expected_zero, rng)
            for i, name in enumerate(subject.names)
        ]
        result.rows = [comparison.row() for comparison in comparisons]
        result.worst = _largest_error(comparisons)
        # If the true gradient is 0, the computed one holds rounding errors only: rules
        # about its values are skipped.
        laws = [
            (tag, sentence)
            for tag, sentence, i in observation.laws
            if i is None or comparisons[i].signal
        ]
        is_coarse = any(map(is_single, observation.y)) and not any(
            map(is_single, points)
        )
        _conclude(result, comparisons, laws, is_coarse)
    return result


def _largest_error(comparisons):
    """Return the entry with the largest error of all inputs, or None."""
    pairs = [comparison.worst() for comparison in comparisons]
    pairs = [pair for pair in pairs if pair]
    return max(pairs, key=lambda pair: pair[0], default=(0, None))[1]


def _conclude(result, comparisons, laws, is_coarse):
    """Write the first failure into ``result``; raise if nothing could have failed.

    The order is that of what a reader should mend first: a wrong entry, then what makes
    entries hard to measure (float32, a kink), then broken rules.

    laws        (tag, sentence) of the rules that the backward breaks
    is_coarse   whether the output has the precision of float32 only
    """
    wrong = [each for each in comparisons if each.wrong.any()]
    kinks = [each for each in comparisons if each.slopes.kink.any()]
    zero_gradients = [each for each in comparisons if each.verdict == "no signal"]
    if wrong:
        explain(result, wrong[0])
    elif is_coarse and (kinks or zero_gradients):
        result.tag = "float32"
        result.message = (
            f"{result.op}: every entry of the output is a float32 number, too "
            "coarse for finite differences"
        )
    elif kinks:
        _report_kink(result, kinks[0])
    elif laws:
        result.cause, *result.also = [Finding(*law) for law in laws]
        result.tag = result.cause.tag
        result.message = "\n".join(f"{result.op}: {law[1]}" for law in laws)
    elif zero_gradients:
        raise VacuousCheckError(_vacuous_message(result, zero_gradients[0]))


def _check_inputs(subject, expected_zero):
    """Raise GradcheckError unless there are finite float inputs to check."""
    if not subject.leaves:
        raise GradcheckError(
            "gradcheck: there is no array of floats among the inputs, so there is no "
            "gradient to check."
        )
    unknown = ", ".join(sorted(expected_zero - set(subject.names)))
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


def _title(observation):
    """Return the name of the operation, or of the graph of operations."""
    if observation.size <= 1:
        return observation.op
    return f"a graph of {observation.size} operations that ends in {observation.op}"


def _report_broken(result, subject, observation):
    """Report an exception of the call or of backward; nothing was compared."""
    for name, leaf in zip(subject.names, subject.leaves):
        row = Row(name, leaf.shape, "nothing", np.nan, np.nan, "not checked")
        result.rows.append(row)
    result.cause = Finding(*observation.broken[0])
    result.tag, sentence = result.cause
    result.message = f"{result.op}: {sentence}"
    if observation.misshapen is not None:
        explain_shape(result, subject, observation)


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


def _vacuous_message(result, comparison):
    c = comparison
    name = c.name if c.name.isdigit() else repr(c.name)
    return (
        f"gradcheck of {result.op}: this check could not have failed. The true "
        f"gradient of {label(c.name)}, shape {c.x.shape}, is 0 as far as can "
        f"be measured (largest slope {c.scale:.0e}, noise {c.noise:.0e}): a "
        "backward that returns nothing would pass. Check at another point, or return "
        "the outputs themselves in place of their sum. Where 0 is what the gradient "
        f"should be, pass no_gradient=({name},).\n\n{result.table()}"
    )
