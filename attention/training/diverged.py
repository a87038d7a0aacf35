"""Explain a loss that is NaN, infinite, or cannot be computed."""

import contextlib
import traceback

from .find_nan import find_nan


class Diverged(FloatingPointError):
    """The loss is NaN or infinite, or a layer rejected its input."""


@contextlib.contextmanager
def explained(run, compute, seed, what="loss or its gradient"):
    """Turn a numerical error into ``Diverged``, with its step, batch and layer."""
    try:
        yield
    except FloatingPointError:
        try:
            place = find_nan(run.model, compute)
        except (ArithmeticError, ValueError) as problem:  # a layer raised it
            place = _origin(run.model, problem)
        raise _diverged(run, f"{what} is NaN or infinite", place, seed) from None
    except (ArithmeticError, ValueError) as problem:
        if isinstance(problem, ValueError) and run.steps == 0:
            raise  # at the first step, an argument is wrong
        place = _origin(run.model, problem)
        raise _diverged(run, f"{what} cannot be computed", place, seed) from problem


def _diverged(run, what, place, seed):
    run.optimizer.zero_grad()
    batch = f", batch {run.steps} of seed {seed}" if seed is not None else ""
    checkpoint = "There is no checkpoint yet"
    if run.saved:
        checkpoint = "The last checkpoint was saved before and is good"
    return Diverged(
        f"The {what} at step {run.steps}{batch}: {place} {checkpoint}; a smaller "
        "learning rate usually helps."
    )


def _origin(model, problem):
    """Return the message of an exception, with the innermost layer that raised it."""
    names, layer = {id(module): name for name, module in model.named_modules()}, ""
    for frame, _ in traceback.walk_tb(problem.__traceback__):
        layer = names.get(id(frame.f_locals.get("self")), layer)
    message = str(problem).rstrip(".") or type(problem).__name__
    return f"in layer {layer}, {message}." if layer else f"{message}."
