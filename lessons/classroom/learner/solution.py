"""The verb ``solution``: each function of an answer beside that of the reference.

unbroadcast
  yours
    return g
  the reference
    extra = g.ndim - len(shape)
    …
"""

import ast
import textwrap

from ...course.read import text_of
from ...course.run import UNWRITTEN
from .. import journal
from ..catalogue import UsageError, find
from ..terminal import display_path, paint, say, without_breaks
from . import progress


def solution(args):
    """Print an answer and the reference; before the exercise has passed: ``--peek``."""
    exercise = find(args.id)
    if exercise.is_withheld:
        raise UsageError(
            f"The reference answer to {exercise.id} is withheld in this course."
        )
    passed = progress.exercise_state(exercise, journal.events(exercise.id)) == "passed"
    if not (passed or args.peek):
        say(
            f"{exercise.id} has not passed yet. "
            f"python -m lessons hint {exercise.id} gives a hint; "
            f"python -m lessons solution {exercise.id} --peek shows an answer."
        )
        return UNWRITTEN
    journal.append(exercise.id, "peek", passed=passed)
    reference = functions(exercise.answer_text)
    given = functions(exercise.stub_text)
    to_write = [name for name in reference if reference[name] != given.get(name)]
    yours = {}
    if exercise.work.exists():
        say(f"yours: {without_breaks(display_path(exercise.work))}")
        yours = _yours(exercise, given, to_write)
    for name in to_write:
        _print_pair(name, yours.get(name), reference[name])
    for name in yours.keys() - reference.keys():
        print(f"\n{name}")
        _print_code("yours only", yours[name], "red")
    return 0


def functions(text):
    """Return {name: its code, without the docstring} of each top-level function."""
    lines, found = text.splitlines(), {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            has_text = ast.get_docstring(node) is not None and len(node.body) > 1
            first = node.body[0].end_lineno if has_text else node.body[0].lineno - 1
            code = "\n".join(lines[first : node.end_lineno])
            found[node.name] = textwrap.dedent(code).strip("\n")
    return found


def _yours(exercise, given, to_write):
    """Return the learner's functions that matter: those to write, and own ones."""
    try:
        found = functions(text_of(exercise.work))
    except (SyntaxError, ValueError):  # not Python yet: the whole text
        text = exercise.work.read_text(encoding="utf-8-sig", errors="replace")
        return {"the file": text.strip("\n")}
    return {n: code for n, code in found.items() if n in to_write or n not in given}


def _print_pair(name, yours, reference):
    print(f"\n{name}")
    if yours == reference:
        _print_code("yours, and the reference", yours, "green")
        return
    if yours is not None:
        _print_code("yours", yours, "red")
    _print_code("the reference", reference, "green")


def _print_code(head, code, colour):
    print(f"  {paint(head, colour)}")
    print(textwrap.indent(code, "    "))
