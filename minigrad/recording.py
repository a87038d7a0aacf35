"""Switch the recording of operations off: ``no_grad``, for one thread or one task."""

import contextlib
import contextvars
from collections.abc import Callable
from typing import TypeVar, overload

F = TypeVar("F", bound=Callable)
_no_grad_depth = contextvars.ContextVar("_no_grad_depth", default=0)


@overload  # for editors: the types of the two ways to call no_grad
def no_grad() -> "_NoGrad": ...


@overload
def no_grad(function: F) -> F: ...


def no_grad(function=None):
    """Compute without recording: ``with no_grad(): ...``, or ``@no_grad``.

    The values are the same. The results have ``requires_grad=False`` and no graph.
    ``no_grad`` acts on the thread or asyncio task that uses it. A new thread starts
    with recording on; a new task starts with the setting of the code that creates it.
    """
    if function is None:
        return _NoGrad()
    if not callable(function):
        raise TypeError(f"no_grad takes a function or nothing; found {function!r}.")
    return _NoGrad()(function)


def is_recording():
    """Return whether operations are recorded in this thread or task."""
    return _no_grad_depth.get() == 0


class _NoGrad(contextlib.ContextDecorator):
    """Count the nested ``no_grad`` blocks of this thread or task."""

    def __enter__(self):
        _no_grad_depth.set(_no_grad_depth.get() + 1)
        return self

    def __exit__(self, *exception):
        _no_grad_depth.set(_no_grad_depth.get() - 1)
