"""A file of a learner, or a solution, made into something that can be checked."""

import importlib
import linecache
import types

from . import stubs
from .mine import Mine


def load(exercise, path, text=None, seed=0):
    """Run the file at ``path``; return a ``Mine``. Raises whatever the file raises.

    From the text, never through a cache of compiled code: what is checked is what is
    there now. ``text`` is given where it is not that of the file (planted mutants).
    """
    # some editors on Windows begin a file with a mark of its encoding: utf-8-sig
    text = path.read_text(encoding="utf-8-sig") if text is None else text
    module = types.ModuleType(exercise.stem)
    module.__file__ = str(path)
    # dataclasses and pickle look a module up by its name: it is not registered, and a
    # learner's file is no place for either
    linecache.cache[str(path)] = (len(text), None, text.splitlines(True), str(path))
    exec(compile(text, str(path), "exec"), module.__dict__)
    expected = stubs.signatures(exercise.solution.read_text(encoding="utf-8"))
    return Mine(exercise.id, module.__dict__, expected, path, seed)


def load_checks(exercise):
    """The module of checks of an exercise."""
    return importlib.import_module(f"lessons.checks.{exercise.stem}")
