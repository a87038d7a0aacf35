"""Live source of the library, for a page: its text, and where it stands."""

import importlib
import inspect
import pathlib
import textwrap
from dataclasses import dataclass

from .paths import ROOT
from .percent import LessonError


@dataclass(frozen=True)
class Source:
    """The text of a function or class; lines ``first`` to ``last`` of ``path``."""

    path: str  # from the root of the project, with forward slashes
    first: int
    last: int
    text: str


def source(name, where):
    """The ``Source`` of a dotted name, such as minigrad.ops.activation.tanh.

    An operation that was lifted to tensors is shown as it was written, and so is a
    compiled loop. Raises LessonError, which begins with ``where``.
    """
    thing = _find(name, where)
    thing = inspect.unwrap(getattr(thing, "py_func", thing))  # numba's, functools'
    if not (inspect.isfunction(thing) or inspect.isclass(thing)):
        raise LessonError(
            f"{where}: {name} is a {type(thing).__name__}; a source cell names a "
            "function or a class."
        )
    lines, first = inspect.getsourcelines(thing)
    path = pathlib.Path(inspect.getsourcefile(thing)).resolve()
    if not path.is_relative_to(ROOT):
        raise LessonError(f"{where}: {name} is no part of this project: {path}.")
    text = textwrap.dedent("".join(lines)).rstrip()
    last = first + len(lines) - 1
    return Source(path.relative_to(ROOT).as_posix(), first, last, text)


def _find(name, where):
    """The object of that name, from the longest part of it that is a module."""
    parts = name.split(".")
    for k in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:k])
        try:
            thing = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name and (module + ".").startswith(error.name + "."):
                continue  # this much of the name is no module
            raise
        for n, part in enumerate(parts[k:], k):
            if not hasattr(thing, part):
                raise LessonError(
                    f"{where}: there is no {part} in {'.'.join(parts[:n])}, so "
                    f"`# %% [source] {name}` finds nothing."
                )
            thing = getattr(thing, part)
        return thing
    raise LessonError(
        f"{where}: `# %% [source] {name}` wants a module and a name in it, such as "
        "minigrad.ops.activation.tanh."
    )
