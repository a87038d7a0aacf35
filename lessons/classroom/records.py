"""Long experiments: run once, recorded with what one needs to run them again."""

import importlib
import importlib.metadata
import json
import platform
import time

from . import stubs
from .catalogue import UsageError
from .fingerprint import fingerprint
from .loading import load, load_checks
from .paths import LESSONS, shown, work_folder
from .screen import say


def experiment(exercise, impl, seed):
    """Run ``experiment(my, seed=…)`` of a check and write what it returns, as json.

    Beside a learner's own record goes its figure, where the check has a ``picture``.
    """
    checks = load_checks(exercise)
    if not hasattr(checks, "experiment"):
        raise UsageError(f"{exercise.id} has no experiment.")
    path = exercise.work if impl == "work" else exercise.solution
    if not path.exists():
        raise UsageError(
            f"{exercise.id} is not started: python -m lessons start {exercise.id}, or "
            "--impl solution."
        )
    begun = time.perf_counter()
    result = checks.experiment(load(exercise, path, seed=seed), seed=seed)
    record = {
        "exercise": exercise.id,
        "impl": impl,
        "seed": seed,
        "seconds": round(time.perf_counter() - begun, 1),
        "code": code_hash(exercise, path),
        "versions": {
            "python": platform.python_version(),
            "numpy": importlib.metadata.version("numpy"),
        },
        "machine": platform.machine(),
        "result": result,
    }
    folder = LESSONS if impl == "solution" else work_folder()
    target = folder / "records" / f"{exercise.stem}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    importlib.import_module("attention.app.files").write_text(target, text)  # late: heavy
    say(f"recorded in {shown(target)}, {record['seconds']} s")
    if impl == "work" and hasattr(checks, "picture"):
        _draw(checks, result, target.with_suffix(".svg"))
    return 0


def _draw(checks, result, path):
    """Write the figure of a record, ``picture(result)`` of a check, beside it."""
    try:
        figures = importlib.import_module(f"{__package__}.figures")
        svg = figures.rendered(checks.picture, result)
    except ImportError as error:  # matplotlib may be missing; the record is there
        say(f"no figure: {error}")
        return
    importlib.import_module("attention.app.files").write_text(path, svg.decode())
    say(f"drawn in {shown(path)}")


def read_record(exercise, impl="solution"):
    """The record of an experiment as a dictionary; None if there is none."""
    folder = LESSONS if impl == "solution" else work_folder()
    try:
        text = (folder / "records" / f"{exercise.stem}.json").read_text(
            encoding="utf-8"
        )
    except OSError:
        return None
    return json.loads(text)


def code_hash(exercise, path):
    """What was run: a fingerprint of the answer and of the check's ``experiment``.

    The parts of a check that the experiment does not use may change, and so may what
    stands below the answer, hints and planted mistakes: neither has made the record.
    """
    answer = stubs.exercise_part(path.read_text(encoding="utf-8-sig"))
    check = exercise.check.read_text(encoding="utf-8")
    return fingerprint(answer, check, root="experiment")
