"""Switch the recording of operations off: ``no_grad``, for one thread or one task."""

import contextlib
import contextvars
import inspect
from collections.abc import Callable
from typing import Self, TypeVar, overload

F = TypeVar("F", bound=Callable)
# how many blocks of no_grad are open in this thread or task
_open_blocks = contextvars.ContextVar("_open_blocks", default=0)


def is_recording():
    """Return whether operations are recorded in this thread or task."""
    return not _open_blocks.get()


class no_grad(contextlib.ContextDecorator):
    """Compute without recording: ``with no_grad(): ...``, or ``@no_grad``.

    The values are the same. The results have ``requires_grad=False`` and no graph.
    ``no_grad`` acts on the thread or asyncio task that uses it. A new thread starts
    with recording on; a new task starts with the setting of the code that creates it.
    While a generator waits at a ``yield`` inside a block, the block acts on its user.

    Raises TypeError if the function is a generator or asynchronous: it would run after
    the block. Use a block inside it.
    """

    @overload  # for editors: the types of the two ways to call no_grad
    def __new__(cls) -> Self: ...

    @overload
    def __new__(cls, function: F) -> F: ...

    def __new__(cls, function=None):
        block = super().__new__(cls)
        return block if function is None else block(function)

    def __call__(self, function):
        if not callable(function):
            raise TypeError(f"no_grad takes a function or nothing; found {function!r}.")
        kinds = ("isgeneratorfunction", "iscoroutinefunction", "isasyncgenfunction")
        if any(getattr(inspect, is_kind)(function) for is_kind in kinds):
            name = getattr(function, "__name__", function)
            raise TypeError(
                f"no_grad: {name} is a generator or an async function, which runs "
                "after its call has returned. Write `with no_grad():` inside it, "
                "without `yield` in the block."
            )
        return super().__call__(function)

    def __enter__(self):
        _open_blocks.set(_open_blocks.get() + 1)

    def __exit__(self, *exception):
        # an event loop may close an asynchronous generator in another task, with 0
        _open_blocks.set(max(_open_blocks.get() - 1, 0))
