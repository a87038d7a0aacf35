"""Switch the recording of operations off: ``no_grad``, for one thread or one task."""

import contextlib
import contextvars
import inspect
from collections.abc import Callable
from typing import TypeVar, overload

F = TypeVar("F", bound=Callable)
RUN_LATER = (  # the kinds of functions whose call returns before their code runs
    inspect.isgeneratorfunction,
    inspect.iscoroutinefunction,
    inspect.isasyncgenfunction,
)
# the open blocks of this thread or task, also those that were open when it began
_blocks = contextvars.ContextVar("_blocks", default=())


@overload  # for editors: the types of the two ways to call no_grad
def no_grad() -> "_NoGrad": ...


@overload
def no_grad(function: F) -> F: ...


def no_grad(function=None):
    """Compute without recording: ``with no_grad(): ...``, or ``@no_grad``.

    The values are the same. The results have ``requires_grad=False`` and no graph.
    ``no_grad`` acts on the thread or asyncio task that uses it. A new thread starts
    with recording on; a new task starts with the setting of the code that creates it.

    A block in a generator stays open while the generator waits at a ``yield``. So it
    also acts on the code that uses the generator, until the generator is closed. An
    asynchronous generator that is left by ``break`` is closed at the next ``await``.

    Raises TypeError if the function is a generator or asynchronous: it would run after
    the block. Use a block inside it.
    """
    if function is None:
        return _NoGrad()
    if not callable(function):
        raise TypeError(f"no_grad takes a function or nothing; found {function!r}.")
    return _NoGrad()(function)


def is_recording():
    """Return whether operations are recorded in this thread or task."""
    for block in _blocks.get():
        if not block.closed_elsewhere:
            return False
    return True


class _NoGrad(contextlib.ContextDecorator):
    """The ``no_grad`` blocks that one object begins; they may be nested.

    Blocks may end in another order than the reverse: those of two generators do. And a
    block may end in another thread or task than it began in: so does the block of an
    asynchronous generator that the event loop closes. There the ContextVar has another
    value, so the block is marked. Otherwise it is not marked: a task that began inside
    the block continues without recording.
    """

    def __init__(self):
        self.blocks = []

    def __call__(self, function):
        if any(is_kind(function) for is_kind in RUN_LATER):
            name = getattr(function, "__name__", function)
            raise TypeError(
                f"no_grad: {name} is a generator or an async function, which runs "
                "after its call has returned. Write `with no_grad():` inside it, "
                "without `yield` in the block."
            )
        return super().__call__(function)

    def __enter__(self):
        block = _Block()
        self.blocks.append(block)
        block.token = _blocks.set((*_other_blocks(), block))
        return self

    def __exit__(self, *exception):
        here = [block for block in _blocks.get() if block in self.blocks]
        block = (here or self.blocks)[-1]
        self.blocks.remove(block)
        others = _other_blocks(block)
        try:
            _blocks.reset(block.token)  # ValueError in another thread or task
            _blocks.set(others)
        except ValueError:
            block.closed_elsewhere = True


class _Block:
    token = None  # of the ContextVar, which accepts it in the same thread or task only
    closed_elsewhere = False


def _other_blocks(closed=None):
    return tuple(
        block
        for block in _blocks.get()
        if block is not closed and not block.closed_elsewhere
    )
