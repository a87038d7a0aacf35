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

from . import catalogue, stubs

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
        if isinstance(error, KeyboardInterrupt) and order.get("pdb"):
            raise  # Ctrl-C: only then does a terminal reach this process
        unwritten = type(error).__name__ == "NotWritten"
        failed = {"step": "written", "title": "the file"}
        if unwritten:
            tell(outcome=failed | {"result": "unwritten", "lines": [str(error)]})
            return 3
        lines = _of_import(error, path, exercise)
        tag = "syntax" if isinstance(error, SyntaxError) else "raises"
        tell(outcome=failed | {"result": "failed", "tag": tag, "lines": lines})
        return 1
    outcomes, debug = [], order.get("pdb", False)
    waiting = _waiting(exercise, path)
    try:
        for outcome in staircase.climb(checks, mine, order["seed"], debug):
            while waiting and outcome.result == "unwritten":
                tell(outcome=waiting.pop(0))
            tell(outcome=outcome.as_dict())
            outcomes.append(outcome)
    except BaseException as error:  # KeyboardInterrupt, raised by the answer
        if debug:
            raise
        tell(outcome=_of_raising(error, checks, mine, path))
        return 1
    code = staircase.verdict(outcomes)
    for part in waiting if code else ():  # a right answer has what is needed
        tell(outcome=part)
    return code


def _waiting(exercise, path):
    """An outcome for each part that is not written yet, in the order of the file.

    A function of the check ends at the first such part, and never names the others.
    """
    part = {"step": "written", "title": "functions", "result": "unwritten", "tag": None}
    return [
        part | {"lines": [f"{exercise.id} {name}"]}
        for name in stubs.unwritten(path.read_text(encoding="utf-8-sig"))
    ]


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
        said = [f"the file is not Python yet: {error.msg}"]
        if error.lineno is None:  # a NUL byte, of which Python says no line
            return said + _nul(path)
        return [*said, f"line {error.lineno}:  {(error.text or '').strip()}"]
    if isinstance(error, UnicodeDecodeError):
        return ["the file is not text in UTF-8", str(error)]
    if isinstance(error, SystemExit):
        return [f"the file ends the program, by SystemExit({error}), when it is loaded"]
    said = f"{type(error).__name__}: {error}".removesuffix(": ")
    return [f"{said}, when the file is loaded", *_line(error, path)]


def _nul(path):
    """[which line a NUL byte is in], where there is one."""
    before, nul, _ = path.read_bytes().partition(b"\0")
    line = before.count(b"\n") + 1
    return [f"line {line} has a NUL byte in it"] if nul else []


def _of_raising(error, checks, mine, path):
    """The outcome of a function of the check that an answer has left like this."""
    frames = traceback.extract_tb(error.__traceback__)
    called = [
        getattr(checks, f.name, None) for f in frames if f.filename == checks.__file__
    ]
    of = next((function for function in called if hasattr(function, "step")), None)
    step, title = (of.step, of.title) if of else ("values", "the check")
    said = f"{type(error).__name__}: {error}".removesuffix(": ")
    notes = getattr(error, "__notes__", [])
    lines = [*mine.last_call(), said, *notes, *_line(error, path)]
    failed = {"step": step, "title": title, "result": "failed", "tag": "raises"}
    return failed | {"lines": lines}


def _line(error, path):
    """[the last line of the learner's file that an error came through]."""
    return [
        f"line {frame.lineno}:  {frame.line}"
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path)
    ][-1:]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
