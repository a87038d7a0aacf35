"""Check whether a backward is right, by finite differences.

    >>> x = np.random.default_rng(0).normal(size=(3, 5))
    >>> gradcheck(minigrad.softmax, [x]).ok
    True

A gradient check draws random weights c from N(0, 1), called the cotangent. The weighted
sum of the outputs is one number, F(x) = sum_i c_i f(x)_i, and the backward computes
dF/dx from c. Four values of F measure one entry of dF/dx, two for each of two steps h.
With the unit vector v of that entry,

    dF/dx . v  =  (F(x + h v) - F(x - h v)) / 2h  +  an error that shrinks with h^2

``checking/run.py`` runs forward and backward, and checks rules, such as that the inputs
do not change. ``checking/numeric.py`` computes this slope and its error bar, which
estimates the error of the measurement; ``checking/comparison.py`` compares it with the
entry from the backward. ``checking/situations.py`` repeats the backward with other
inputs and outputs, such as float32 inputs or an unused output; these gradients must be
right too.

c must not be all ones. For example, the outputs of a softmax sum to 1 for every x, so
the true gradient of their sum is 0, and a backward that returns 0 would pass. If the
true gradient is 0, the check raises VacuousCheckError.
"""

import contextlib
import functools

import numpy as np

from .arguments import number, whole
from .checking.comparison import Comparison
from .checking.explanation import (
    explain_kink,
    explain_rough,
    explain_rules,
    explain_wrong,
    vacuous_message,
)
from .checking.hypotheses import fits_float32
from .checking.run import RuleBroken, Run
from .checking.situations import situations
from .checking.verdict import (
    Finding,
    GradcheckError,
    GradcheckResult,
    Row,
    VacuousCheckError,
    label,
)
from .nn import Module
from .tensor import Tensor


def gradcheck(fn, inputs, *, seed=0, rtol=1e-6, atol=1e-8, no_gradient=(), names=None):
    """Check dF/dx for each float array among ``inputs``; return a ``GradcheckResult``.

    fn           called with a float64 tensor for each float array, and with the other
                 inputs (integers, booleans, numbers, None) as they are; returns a
                 tensor or a tuple of tensors
    inputs       arrays or Tensors; arrays inside a tuple or list are checked too
    seed         for the cotangent c and the random directions
    rtol, atol   an entry a of the backward is right if
                 |a - n| <= max(atol m, rtol |a|, rtol |n|, 10 b)
                 where n is the measured entry, b its error bar, and m the largest |n|
                 of that input among the slopes that are certainly not 0
    no_gradient  the inputs whose gradient must be 0, as the table calls them: 0, 1,
                 ..., "0[1]" for an array in a list, or their ``names``
    names        of the inputs, for the table and the messages, instead of 0, 1, ...

    ``result.ok`` is False if an entry is wrong, in the usual situation or in another,
    if the backward breaks a rule, if f has a kink, where it is not differentiable, or
    if f changes too much over every step to be measured.
    The message names the entry or the rule, and the mistake if it is a known one. In an
    array of more than 400 entries, the check compares dF/dx . v for random directions v
    instead of single entries.

    Raises VacuousCheckError if the true gradient of an input is 0 and ``no_gradient``
    does not name the input; GradcheckError if there is nothing to check.
    """
    run = Run()
    if not callable(fn):
        raise TypeError(
            f"gradcheck: fn is of type {type(fn).__name__}; expected a function of "
            "tensors, such as minigrad.tanh."
        )
    is_one = isinstance(inputs, (np.ndarray, Tensor, int, float))
    inputs = [inputs] if is_one else list(inputs)
    names = names or [str(k) for k in range(len(inputs))]
    if len(names) < len(inputs):
        raise ValueError(
            f"gradcheck: names has {len(names)} entries; expected {len(inputs)}, one "
            "for each input."
        )
    arguments = list(map(run.with_leaves, inputs, names))
    run.call = lambda: fn(*arguments)
    return _check(run, None, seed, rtol, atol, no_gradient)


def _check(run, title, seed, rtol, atol, no_gradient):
    """Run the backward, measure its entries, compare; return the result.

    run   the call that is checked, and its leaves: the tensors with a gradient
    """
    whole("gradcheck", "seed", seed)
    number("gradcheck", "rtol", rtol, least=0)
    number("gradcheck", "atol", atol, least=0)
    if isinstance(no_gradient, (int, str)):
        no_gradient = (no_gradient,)
    no_gradient = {str(name) for name in no_gradient}
    _check_inputs(run, no_gradient)
    rng = np.random.default_rng(seed)
    run.points = [leaf._data.astype(np.float64) for leaf in run.leaves]
    with run.with_data(run.points):
        try:
            run.observe(rng)  # runs the backward, and checks the rules
        except RuleBroken as broken:
            result = GradcheckResult(title or _title(run))
            result.rows = list(map(_row_not_checked, run.names, run.points))
            explain_rules(result, [*broken.args])
            return result
        result = GradcheckResult(title or _title(run))
        every = list(situations(run, rng))
        # A Comparison measures the slopes of one leaf, and marks the entries of the
        # backward's gradient that differ from them by more than the tolerance.
        comparisons = [
            Comparison(run, i, every, rtol, atol, no_gradient, rng)
            for i in range(len(run.points))
        ]
        result.rows = [comparison.row() for comparison in comparisons]
        entries = [entry for entry in (c.worst() for c in comparisons) if entry]
        result.worst = max(entries, key=lambda entry: entry.ratio, default=None)
        _conclude(result, comparisons, run)
    return result


# ---- A first reading can stop here ----


def gradcheck_module(module, *inputs, seed=0, rtol=1e-6, atol=1e-8, no_gradient=()):
    """Check every parameter of ``module``, and every float array among ``inputs``.

    Parameters that require no gradient are not checked. It works like ``gradcheck``,
    with the module in evaluation mode (no dropout) and these parameters in float64;
    afterwards the module is unchanged. If its outputs are the same in training mode,
    its gradients must be the same too. The table and ``no_gradient`` identify
    parameters by name and inputs by number.
    """
    if not isinstance(module, Module):
        raise TypeError(
            f"gradcheck_module: module is of type {type(module).__name__}; expected a "
            "Module. For a function, write gradcheck(function, inputs)."
        )
    run = Run()
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            run.leaves.append(parameter)
            run.names.append(name)
    arguments = run.with_leaves(list(inputs))
    run.call = lambda: module(*arguments)
    run.training = functools.partial(_mode, module, True)
    with _mode(module, False):
        title = type(module).__name__
        return _check(run, title, seed, rtol, atol, no_gradient)


@contextlib.contextmanager
def _mode(module, training):
    """Switch the module to training or evaluation, and back afterwards."""
    before = [(part, part.training) for part in module.modules()]
    module.train(training)
    try:
        yield
    finally:
        for part, mode in before:
            part.training = mode


def _row_not_checked(name, point):
    return Row(name, point.shape, "nothing", np.nan, np.nan, "not checked")


def _conclude(result, comparisons, run):
    """Write the first failure into ``result``; raise if a true gradient is 0.

    A user should first correct a wrong entry in the usual situation, then the cause of
    imprecise measurements (float32, a kink, a rough function), then the rest. This is
    the order here.
    """
    wrong = [c for c in comparisons if c.wrong.any()]
    kinks = [c for c in comparisons if c.numeric.kink.any()]
    rough = [c for c in comparisons if c.verdict == "not measured"]
    without_signal = [c for c in comparisons if c.verdict == "no signal"]
    if wrong:
        explain_wrong(result, wrong[0])
    elif any(map(fits_float32, run.y)) and not any(map(fits_float32, run.points)):
        what = "every entry of the output is a float32 number, too coarse for"
        explain_rules(result, [Finding("float32", f"{what} finite differences")])
    elif kinks:
        explain_kink(result, kinks[0])
    elif rough:
        explain_rough(result, rough[0])
    elif run.findings or any(c.failures for c in comparisons):
        explain_rules(result, run.findings, comparisons)
    elif without_signal:
        raise VacuousCheckError(vacuous_message(result, without_signal[0]))


def _check_inputs(run, no_gradient):
    """Raise GradcheckError unless there are finite float inputs to check."""
    if not run.leaves:
        raise GradcheckError(
            "gradcheck: found no array of floats among the inputs; expected one."
        )
    unknown = ", ".join(sorted(no_gradient - set(run.names)))
    if unknown:
        raise GradcheckError(
            f"gradcheck: no_gradient names {unknown}; the inputs with a gradient are "
            f"{', '.join(run.names)}."
        )
    for name, leaf in zip(run.names, run.leaves):
        bad = leaf._data[~np.isfinite(leaf._data)]
        if bad.size:
            raise GradcheckError(
                f"gradcheck: {label(name)} holds {bad[0]}; expected finite numbers. "
                "Keep constants inside the function: lambda x: f(x, mask)."
            )


def _title(run):
    """Return the name of the operation, or of the graph of operations."""
    if run.size <= 1:
        return run.op or "a function without operations"
    return f"a graph of {run.size} operations that ends in {run.op}"
