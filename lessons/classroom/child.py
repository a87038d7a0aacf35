"""The process in which an answer runs: ``python -P -m lessons.classroom.child``.

Its argument is json: exercise, path, seed, results, and limit and stack, or pdb. It
writes a line of json to the file ``results`` after each function of the check, so that
the results until then are known if the answer never ends or ends the process.
"""

import faulthandler
import importlib
import json
import pathlib
import signal
import sys

from . import catalogue, stubs

SPARE = 30  # seconds beyond twice the limit, after which the process ends by itself


def main(argument):
    """Check an answer; return the exit code."""
    order = json.loads(argument)
    limit = order.get("limit")
    if limit and hasattr(signal, "alarm"):
        signal.alarm(int(2 * limit) + SPARE)  # in case the parent was killed
    exercise, path = catalogue.find(order["exercise"]), pathlib.Path(order["path"])
    with open(order["results"], "w", encoding="utf-8") as results:

        def write(**facts):
            results.write(json.dumps(facts, default=str) + "\n")
            results.flush()

        code = check(exercise, path, order, write)
        faulthandler.cancel_dump_traceback_later()
        numpy = sys.modules.get("numpy")
        version = f"numpy {numpy.__version__}" if numpy else ""
        write(done=code, files=imported_files(), versions=version)
    return code


def check(exercise, path, order, write):
    """Load the answer and run the check; ``write`` each outcome; return the code."""
    part = {"step": "written", "title": "the file", "result": "failed"}
    if not path.read_bytes().strip():
        lines = [
            "the file is empty",
            f"python -m lessons undo {exercise.id} restores the text before; reset "
            "gives a fresh stub",
        ]
        write(outcome=part | {"tag": "empty", "lines": lines})
        return 1
    try:
        # imported here, because NumPy and the engine take a while
        harness = importlib.import_module(f"{__package__}.harness")
        steps = importlib.import_module(f"{__package__}.steps")
        checks = harness.load_checks(exercise)
    except Exception as error:
        write(broken=f"the check cannot be loaded: {type(error).__name__}: {error}")
        return 1
    if order.get("stack"):  # save the stack shortly before the time runs out
        stack = open(order["stack"], "w", encoding="utf-8")
        faulthandler.dump_traceback_later(0.8 * order["limit"], file=stack)
    write(ready=True)
    try:
        my = harness.load(exercise, path, seed=order["seed"])
    except (Exception, SystemExit) as error:
        if type(error).__name__ == "NotWritten":
            write(outcome=part | {"result": "unwritten", "lines": [str(error)]})
            return 3
        if isinstance(error, SyntaxError):
            tag, lines = "syntax", _syntax_error(error)
        else:
            said = f"{type(error).__name__}: {error}".removesuffix(": ")
            lines = [f"{said}, when the file is loaded", *harness.own_line(error, path)]
            tag = "raises"
        write(outcome=part | {"tag": tag, "lines": lines})
        return 1
    outcomes, waiting = [], _unwritten_parts(exercise, path)
    for outcome in steps.run_steps(checks, my, order["seed"], order.get("pdb", False)):
        while waiting and outcome.result == "unwritten":
            write(outcome=waiting.pop(0))
        write(outcome=outcome.as_dict())
        outcomes.append(outcome)
    code = steps.exit_code(outcomes)
    for part in waiting if code else ():  # a right answer needs no more parts
        write(outcome=part)
    return code


def imported_files():
    """Return the project's imported files, which ``watch`` looks at."""
    files = []
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in ("minigrad", "attention", "lessons"):
            file = getattr(module, "__file__", None)
            if file and "classroom" not in name:
                files.append(file)
    return files


def _unwritten_parts(exercise, path):
    """Return an outcome for each part that is not written yet, in the file's order.

    A function of the check stops at the first such part and never names the others.
    """
    part = {"step": "written", "title": "functions", "result": "unwritten", "tag": None}
    return [
        part | {"lines": [f"{exercise.id} {name}"]}
        for name in stubs.unwritten(path.read_text(encoding="utf-8-sig"))
    ]


def _syntax_error(error):
    """Return lines that say what is wrong, and where."""
    lines = [f"the file is not Python yet: {error.msg}"]
    if error.lineno:  # Python gives no line for a NUL byte
        lines.append(f"line {error.lineno}:  {(error.text or '').strip()}")
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
