"""The verb ``dev check KIND NAME``: whether a new thing is complete, in one command.

    python -m lessons dev check score rotated

It says which parts are missing, writes the files that are made from others, and runs
the tests of this thing, with their long tail. CONTRIBUTING.md has a recipe for each
kind.
"""

import argparse
import re
import subprocess
import sys

from ..catalogue import LESSONS, ROOT, UsageError, find
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
    "mask": ("tests/attention/masks", *LAWS),
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
    lacks = list(missing(kind, name))
    for line in lacks:
        say(f"missing: {line}")
    if lacks:
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
        files.append(f"tests/attention/app/test_{name}.py")
    if kind == "lesson":
        name = next((LESSONS / "book").glob(f"{name}_*")).name
    command = ["-m", "pytest", "-q", "--deep", "--about", name, *files]
    say(" ".join(["python", *command]))
    return subprocess.run([sys.executable, *command], cwd=ROOT).returncode


def missing(kind, name):
    """Yield a sentence for each part that a new thing of this kind lacks."""
    if kind == "operation":
        yield from _operation(name)
    elif kind == "mask":
        yield from _mask(name)
    elif kind == "command":
        yield from _command(name)
    elif kind == "exercise":
        find(name)  # says which exercises there are
    elif kind == "lesson":
        folders = [f.name for f in (LESSONS / "book").glob(f"{name}_*")]
        if not folders:
            yield f"a folder lessons/book/{name}_WORD with lesson.py"
    else:
        yield from _row(kind, name)


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
    from attention.variants import table
    from attention.variants.row import About

    rows = {
        "score": table.SCORES, "normaliser": table.NORMALIZERS,
        "pattern": table.PATTERNS, "position": table.POSITIONS,
    }.get(kind, table.VARIANTS)  # fmt: skip
    folder = {"position": "positions", "pattern": "masks"}.get(kind, "variants")
    form = {"normaliser": "Normalizer"}.get(kind, kind.capitalize())
    if name not in rows:
        yield f'{form}("{name}", …) in the list ROWS at the foot of its page'
        if not (ROOT / "attention" / folder / f"{name}.py").exists():
            yield f"a page, attention/{folder}/{name.replace('-', '_')}.py"
        return
    try:
        About.of(rows[name])
    except ValueError as error:
        yield f"the cells of the map: {error}"



def _mask(name):
    from attention import masks

    if name not in masks.__all__:
        yield f"{name} in the list __all__ of attention/masks/__init__.py"
    cases = ROOT / "tests/attention/masks/mask_cases.py"
    if not re.search(rf"\b{name}\b", cases.read_text(encoding="utf-8")):
        yield f"a case of {name} in tests/attention/masks/mask_cases.py"


def _command(name):
    from attention.app.arguments import COMMANDS

    if name not in str(COMMANDS):
        yield f"a row of COMMANDS in attention/app/arguments.py, with {name!r}"
    for file in f"attention/app/commands/{name}.py", f"tests/attention/app/test_{name}.py":
        if not (ROOT / file).exists():
            yield file
