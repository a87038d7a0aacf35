"""The verb ``dev check KIND NAME``: whether a new thing is complete, in one command.

    python -m lessons dev check score rotated

It says which parts are missing, writes the files that are made from others, and runs
the tests of this thing, with their long tail, and of the budgets of lines.
CONTRIBUTING.md has the recipes.
"""

import argparse
import re
import subprocess
import sys

from ..catalogue import LESSONS, ROOT, UsageError, find, header, lesson_folders
from ..terminal import say

LAWS = ("tests/test_laws.py", "tests/attention/test_definitions.py")
COSTS = "tests/attention/costs"
VARIANT = (*LAWS, COSTS, "tests/ops", "tests/test_types.py")
KINDS = {  # kind -> its tests
    "operation": ("tests/ops", "tests/test_types.py"),
    "variant": VARIANT,
    "score": (*VARIANT, "tests/attention/seq2seq"),
    "normaliser": (*VARIANT, "tests/attention/test_normalize.py"),
    "pattern": VARIANT,
    "mask": ("tests/attention/masks",),  # all of them: a case has a name of its own
    "position": (*LAWS, COSTS, "tests/attention/transformer"),
    "command": ("tests/attention/app/test_main.py",),
    "exercise": ("tests/lessons/test_course.py", "tests/lessons/test_catalogue.py"),
    "lesson": ("tests/lessons/test_book.py", "tests/lessons/test_teaching.py"),
}


def gate(args, weave):
    """Say what is missing, or write and test the new thing; return the exit code.

    weave   writes the page of a lesson
    """
    kind, name = args.kind, args.name
    if not (ROOT / "tests").is_dir():
        raise UsageError(
            f"dev check: found no folder tests in {ROOT}; expected a checkout of the "
            "project. An installed package has no tests."
        )
    lacks = [f"missing: {line}" for line in missing(kind, name)]
    if lacks:
        say("\n".join(lacks))
        return 1
    failed = 0
    if kind == "exercise":
        from ...course.audit import audit

        failed = audit(argparse.Namespace(id=[name]))
    if kind == "lesson":
        failed = weave(argparse.Namespace(lesson=[name], check=False))
    from .tables import sync  # late: it imports the library

    return failed or sync(args) or run_tests(kind, name)


def run_tests(kind, name):
    """Run the tests of a kind, with the parameters that contain the name."""
    files = list(KINDS[kind])
    if kind == "command":
        files.append(f"tests/attention/app/test_{name.split()[0]}.py")
    if kind == "lesson":
        name = next((LESSONS / "book").glob(f"{name}_*")).name
    about = [] if kind == "mask" else ["--about", name]
    budgets = ["tests/test_architecture.py", "-k", "budget"]
    for options in (["--deep", *about, *files], budgets):
        command = ["-m", "pytest", "-q", *options]
        say(" ".join(["python", *command]))
        if code := subprocess.run([sys.executable, *command], cwd=ROOT).returncode:
            return code
    return 0


def missing(kind, name):
    """Return a sentence for each part that a new thing of this kind lacks."""
    own = {"operation": _operation, "mask": _mask, "command": _command}
    own |= {"exercise": _exercise, "lesson": _lesson}
    return own[kind](name) if kind in own else _row(kind, name)


def _operation(name):
    import minigrad
    from minigrad.registry import OPS

    if name not in OPS:
        yield f"@differentiable above a function {name} in minigrad/ops"
    if name not in minigrad.__all__:
        yield f"{name} in the list __all__ of minigrad/ops/__init__.py"
    specs = (ROOT / "tests/ops").glob("*.py")
    if not any(f'"{name}"' in path.read_text(encoding="utf-8") for path in specs):
        yield f'spec("{name}", …) in tests/ops: its definition, and cases'


def _row(kind, name):
    try:
        from attention.variants import row, table
    except (AttributeError, ImportError, ValueError) as error:
        yield f"something without which the pages cannot be read: {error}"
        return
    rows = table.POSITIONS if kind == "position" else table.VARIANTS
    folder = {"position": "positions", "pattern": "masks"}.get(kind, "variants")
    form = {"normaliser": "Normalizer"}.get(kind, kind.capitalize())
    if not isinstance(rows.get(name), getattr(table, form)):
        page = f"attention/{folder}/{name.replace('-', '_')}.py"
        yield f'{form}("{name}", …) in the list ROWS at the foot of its page, {page}'
        return
    about = row.About.of(rows[name])
    text = (ROOT / "attention" / about.file).read_text(encoding="utf-8")
    above = " ".join(text.partition("\nROWS = ")[0].split())  # the row names it anyway
    if about.source != "Own" and about.source not in above:
        yield f"{about.source!r} in the text of {about.file} above its row"


def _mask(name):
    cases = ROOT / "tests/attention/masks/mask_cases.py"
    if not re.search(rf"\b{name}\b", cases.read_text(encoding="utf-8")):
        yield f"a case of {name} in tests/attention/masks/mask_cases.py"


def _command(name):
    from attention.app.arguments import COMMANDS

    if name not in COMMANDS:
        yield f"a row of COMMANDS in attention/app/arguments.py, with {name!r}"
    module = COMMANDS[name].module if name in COMMANDS else name.replace(" ", "_")
    test = f"tests/attention/app/test_{name.split()[0]}"
    for file in f"attention/app/commands/{module}", test:
        if not (ROOT / f"{file}.py").exists():
            yield f"{file}.py"


def _exercise(name):
    try:
        exercise = find(name)
    except UsageError:
        yield f'its file: python -m lessons dev new NN {name} "TITLE" writes it'
        return
    if "Why a right answer works." in exercise.file.read_text(encoding="utf-8"):
        yield f"an exercise in {exercise.file.name}, which is as dev new wrote it"
    if not any(exercise.id in header(f).exercises for f in lesson_folders()):
        yield f'{exercise.id} after "Exercises:" in the lesson {exercise.lesson}'


def _lesson(name):
    if not [*(LESSONS / "book").glob(f"{name}_*")]:
        yield f"a folder lessons/book/{name}_WORD with lesson.py"
