"""The process in which an answer runs: ``python -P -m lessons.classroom.child``.

It takes one argument, json with exercise, path, seed, results, limit, verbose and pdb,
and writes a line of json to the file ``results`` after each function of the check: if
the answer never ends, or ends the process, what was found until then is known.
"""

import faulthandler
import importlib
import json
import pathlib
import signal
import sys
import traceback

from . import catalogue

ALONE = 30  # seconds, beyond twice the limit


def main(argument):
    """Check an answer; return the exit code."""
    order = json.loads(argument)
    path = pathlib.Path(order["path"])
    if order.get("limit") and hasattr(signal, "alarm"):
        # should the parent be killed, nobody else is there to end an endless loop
        signal.alarm(int(2 * order["limit"]) + ALONE)
    exercise = catalogue.find(order["exercise"])
    with open(order["results"], "w", encoding="utf-8") as results:

        def tell(**facts):
            results.write(json.dumps(facts, default=str) + "\n")
            results.flush()

        code = check(exercise, path, order, tell)
        faulthandler.cancel_dump_traceback_later()
        numpy = sys.modules.get("numpy")
        version = f"numpy {numpy.__version__}" if numpy else ""
        tell(done=code, files=imported_files(), versions=version)
    return code


def check(exercise, path, order, tell):
    """Load the answer and climb the staircase; ``tell`` of every outcome."""
    if not path.read_bytes().strip():
        lines = [
            "the file is empty",
            f"python -m lessons undo {exercise.id} brings back the text before; reset "
            "gives a fresh stub",
        ]
        empty = {"step": "written", "title": "the file", "result": "failed"}
        tell(outcome=empty | {"tag": "empty", "lines": lines})
        return 1
    try:
        # numpy and the engine are loaded here, and not before there is someone to ask
        loading = importlib.import_module(f"{__package__}.loading")
        staircase = importlib.import_module(f"{__package__}.staircase")
        checks = loading.load_checks(exercise)
    except Exception as error:
        tell(broken=f"the check cannot be loaded: {type(error).__name__}: {error}")
        return 1
    if order.get("stack"):  # where it is, shortly before the time is over
        stack = open(order["stack"], "w", encoding="utf-8")
        faulthandler.dump_traceback_later(0.8 * order["limit"], file=stack)
    tell(ready=True)
    try:
        mine = loading.load(exercise, path, seed=order["seed"])
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        unwritten = type(error).__name__ == "NotWritten"
        failed = {"step": "written", "title": "the file"}
        if unwritten:
            tell(outcome=failed | {"result": "unwritten", "lines": [str(error)]})
            return 3
        lines = _of_import(error, path, exercise)
        tag = "syntax" if isinstance(error, SyntaxError) else "raises"
        tell(outcome=failed | {"result": "failed", "tag": tag, "lines": lines})
        return 1
    outcomes = []
    for outcome in staircase.climb(
        checks, mine, order["seed"], order.get("pdb", False)
    ):
        tell(outcome=outcome.as_dict())
        outcomes.append(outcome)
    return staircase.verdict(outcomes)


def imported_files():
    """The files of the house that were loaded: what a watcher has to look at."""
    found = []
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in ("minigrad", "attention", "lessons"):
            file = getattr(module, "__file__", None)
            if file and "classroom" not in name:
                found.append(file)
    return found


def _of_import(error, path, exercise):
    """Lines that say why a file could not be run."""
    if isinstance(error, SyntaxError):
        where = f"line {error.lineno}:  {(error.text or '').strip()}"
        return [f"the file is not Python yet: {error.msg}", where]
    if isinstance(error, UnicodeDecodeError):
        return ["the file is not text in UTF-8", str(error)]
    if isinstance(error, SystemExit):
        return [f"the file ends the program, by SystemExit({error}), when it is loaded"]
    where = [
        f"line {frame.lineno}:  {frame.line}"
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path)
    ][-1:]
    return [f"{type(error).__name__}: {error}, when the file is loaded", *where]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
