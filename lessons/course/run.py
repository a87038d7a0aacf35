"""Run an answer in a process of its own, with limits of time and memory.

Whatever the learner's file does (an endless loop, a megabyte of prints, os._exit), the
result is a ``Report``. Both sides are here: ``run`` starts the process, which calls
``child``. The child writes a line of json to the file ``results`` after each function
of the check, so that the results until then are known however it ends.

Only the child imports NumPy and the engine.
"""

import contextlib
import faulthandler
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass, field

from ..classroom.catalogue import ROOT, UsageError, find
from ..classroom.terminal import plain
from . import stubs

SECONDS = 10  # of processor time for a check, unless it states TIME_LIMIT = …
# an answer that waits, or a busy machine, may take so many times the limit; where no
# signal says that the processor time is over, the limit is of the time that passes
PATIENCE = 5 if hasattr(signal, "setitimer") else 1
LOADING = 30  # seconds that loading the library may take, on a busy machine
SPARE = 30  # further seconds, after which the child ends by itself
LONGEST = 86400  # seconds, of LESSONS_TIMEOUT
MEMORY = 2 * 2**30  # bytes of data that an answer may use
FILE = 2**27  # bytes that it may print, or write to one file
PRINTED = 2000  # bytes of an answer's prints that are kept
PASSED, FAILED, USAGE, UNWRITTEN, TIMEOUT = range(5)
PROGRAM = "import sys; from lessons.course import run; sys.exit(run.child())"


@dataclass
class Report:
    """The result of a check.

    code      0 passed, 1 failed, 3 not written yet, 4 out of time
    outcomes  a dictionary for each function of the check, see ``outcome.Outcome``
    printed   the start of what the answer printed; more: how many characters follow
    ending    a sentence, if the process did not end by itself
    seed      of the random numbers
    done      whether the check came to its end
    saved     the names of the arrays that were saved, of the first failure
    """

    code: int = FAILED
    outcomes: list = field(default_factory=list)
    printed: str = ""
    more: int = 0
    ending: str = ""
    seed: int = 0
    done: bool = True
    saved: list = field(default_factory=list)

    @property
    def failures(self):
        """The failed outcomes; first those with a known mistake or place.

        A function that calls another one that failed as well comes after it.
        """
        failed = [o for o in self.outcomes if o["result"] == "failed"]
        # no name, or not that of a mistake; a long run comes after all that is quick
        weak = {"unknown": 2, "nearly": 1, "no-long-run": 3, "old-record": 3}

        def rank(o):
            weakness = weak.get(o["tag"], 0)
            return weakness == 3, may_follow(o, failed), weakness

        return sorted(failed, key=rank)

    @property
    def tag(self):
        """The name of the mistake, or None."""
        if self.failures:
            return self.failures[0]["tag"]
        if self.code == FAILED and not self.done:
            return "exits"
        return "timeout" if self.code == TIMEOUT else None


def may_follow(outcome, others):
    """Return whether the function that failed calls one that failed in ``others``."""
    return any(other.get("part") in outcome.get("uses", ()) for other in others)


def time_limit(exercise):
    """Return the seconds for a check: LESSONS_TIMEOUT, or the check's TIME_LIMIT."""
    return chosen_limit() or float(_setting(exercise, "TIME_LIMIT") or SECONDS)


def chosen_limit():
    """Return LESSONS_TIMEOUT in seconds; None if it is not set. Raises UsageError."""
    chosen = os.environ.get("LESSONS_TIMEOUT")
    if not chosen:
        return None
    with contextlib.suppress(ValueError):
        if 0 < (seconds := float(chosen)) <= LONGEST:
            return seconds
    raise UsageError(
        f"LESSONS_TIMEOUT is {chosen!r}; expected a number of seconds, more than 0 and "
        f"at most {LONGEST}."
    )


def run(exercise, path, seed=0, limit=None, save=None, cwd=None):
    """Check the answer at ``path``; return a ``Report``.

    save    a file for the arrays of the report's first failure
    cwd     the folder in which the answer runs, and which holds all that it writes;
            without it, the current folder, and the learner's
    """
    limit = time_limit(exercise) if limit is None else limit
    with tempfile.TemporaryDirectory(prefix="lessons-") as temporary:
        names = "results", "stack", "place", "printed"
        results, stack, place, printed = (pathlib.Path(temporary) / n for n in names)
        stops = {"limit": limit, "stack": str(stack), "place": str(place)}
        cases = pathlib.Path(temporary) / "cases"
        own = {}
        if cwd:  # with its journal, and the journal's second copy
            own = {"LESSONS_WORK": str(cwd), "XDG_STATE_HOME": f"{cwd}/.state"}
        if save:
            cases.mkdir()
            stops["cases"] = str(cases)
        with open(printed, "wb") as file:
            process = subprocess.Popen(
                _command(exercise, path, seed, results, **stops),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env=environment(exercise) | own,
                start_new_session=os.name == "posix",
            )
        try:
            in_time = _wait(process, results, PATIENCE * limit)
        finally:
            kill(process)
        report = _read(results, Report(seed=seed, done=False))
        with open(printed, "rb") as file:
            start = file.read(PRINTED)
        report.printed = start.decode("utf-8", "replace")
        report.more = printed.stat().st_size - len(start)
        by_timer = PATIENCE > 1 and process.returncode == -signal.SIGPROF
        if by_timer or not in_time:
            report.code = TIMEOUT
            waited = PATIENCE > 1 and not by_timer
            report.ending = _out_of_time(place, stack, path, limit, waited)
        elif not report.done or process.returncode != report.code:
            report.code, report.done = FAILED, False
            report.ending = _how_it_ended(process.returncode)
        if save and report.failures:
            number = report.outcomes.index(report.failures[0])
            case = cases / f"{number}.npz"
            if case.exists():
                shutil.copyfile(case, save)
                with zipfile.ZipFile(case) as file:
                    report.saved = [n.removesuffix(".npy") for n in file.namelist()]
        return report


def debug(exercise, path, seed=0):
    """Check in the foreground, without a limit, for --pdb; return a ``Report``."""
    with tempfile.TemporaryDirectory(prefix="lessons-") as folder:
        results = pathlib.Path(folder) / "results"
        command = _command(exercise, path, seed, results, pdb=True)
        subprocess.run(command, env=environment(exercise))
        return _read(results, Report())


def kill(process):
    """Kill a process and all that it has started."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # its own group only
    elif process.poll() is None:
        with contextlib.suppress(OSError):  # Windows has the command
            command = "taskkill", "/T", "/F", "/PID", str(process.pid)
            subprocess.run(command, capture_output=True)
        process.kill()
    process.wait()


def found_here():
    """Return the variables of a process that imports the packages of this project."""
    env = dict(os.environ)
    others = env.get("PYTHONPATH")
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), others)))
    return env


def environment(exercise):
    """Return the variables of the process: where the project is, one BLAS thread."""
    env = found_here()
    env["PYTHONUTF8"] = "1"
    env.setdefault("OPENBLAS_NUM_THREADS", "1")
    if not _setting(exercise, "NEEDS_NUMBA"):
        env["ATTENTION_BACKEND"] = "numpy"  # importing numba takes half a second
    return env


def _command(exercise, path, seed, results, **options):
    order = {"exercise": exercise.id, "path": str(path), "seed": seed}
    order |= {"results": str(results)} | options
    # -P: a numpy.py in the learner's folder never replaces the library
    return [sys.executable, "-P", "-c", PROGRAM, json.dumps(order)]


def _wait(process, results, limit):
    """Wait for the end of a process; return False if its time runs out.

    The clock starts with the first line of the results, when the library is loaded.
    """
    ready, end = False, time.monotonic() + limit + LOADING
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
            return True
        now = time.monotonic()
        if not ready and results.exists() and results.stat().st_size:
            ready, end = True, now + limit
        if now > end:
            return False


def _read(results, report):
    """Add what the process has written, line by line, to a report; return it."""
    text = results.read_text(encoding="utf-8") if results.exists() else ""
    for line in text.splitlines():
        with contextlib.suppress(ValueError):  # a line that was being written
            facts = json.loads(line)
            if "outcome" in facts:
                report.outcomes.append(facts["outcome"])
            if "done" in facts:
                report.code, report.done = facts["done"], True
            report.ending = facts.get("broken", report.ending)
    return report


def _out_of_time(place, stack, path, limit, waited):
    """Return where the answer was when its time ran out."""
    said = f"out of time after {limit:g} s"
    if waited:
        said = f"out of time after {PATIENCE * limit:g} s, with less than {limit:g} s "
        said += "of computing"
    with contextlib.suppress(OSError, ValueError):
        facts = json.loads(place.read_text(encoding="utf-8"))
        if facts["call"]:
            said += f"; in {facts['call']}"
        return f"{said}; at {facts['where']}:  {facts['line']}"
    # no thread of Python could run: the system's own stack is left
    where = _last_line(stack, path)
    return said + (f"; at {where}" if where else "")


def _last_line(stack, path):
    """Return where in the learner's file the process was, from its saved stack."""
    if not stack.exists():
        return None
    # faulthandler writes ASCII
    name = str(path).encode("ascii", "backslashreplace").decode()
    pattern = rf'File "{re.escape(name)}", line (\d+) in (\S+)'
    found = re.search(pattern, stack.read_text(encoding="utf-8", errors="replace"))
    return f"{found[2]}, line {found[1]}" if found else None


def _how_it_ended(code):
    if code < 0:
        return f"the process was ended by signal {-code}, {signal.strsignal(-code)}"
    return f"the answer ended the process itself, with code {code}"


def _setting(exercise, name):
    """Return a setting of a check, read without running it."""
    found = re.search(rf"^{name} = (\S+)", exercise.parts.below, re.MULTILINE)
    return found[1] if found else None


# the child


def child():
    """Check the answer that the last argument describes, in json; return the code."""
    order = json.loads(sys.argv[-1])
    if "limit" in order:
        _limit_memory_and_files()
        if hasattr(signal, "alarm"):  # in case the parent was killed
            signal.alarm(int(PATIENCE * order["limit"]) + LOADING + SPARE)
    exercise, path = find(order["exercise"]), pathlib.Path(order["path"])
    with open(order["results"], "w", encoding="utf-8") as results:

        def write(**facts):
            results.write(json.dumps(facts, default=str) + "\n")
            results.flush()

        code = check(exercise, path, order, write)
        faulthandler.cancel_dump_traceback_later()
        write(done=code)
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
        return FAILED
    try:
        from . import check as course

        source = exercise.parts
    except Exception as error:
        write(broken=f"the check cannot be loaded: {type(error).__name__}: {error}")
        return FAILED
    watch = None
    if order.get("place"):
        from . import slow

        watch = slow.Watch(
            path, order["limit"], pathlib.Path(order["place"]), PATIENCE
        )
    write(ready=True)
    if order.get("stack"):  # save the stack when the time runs out, or shortly before
        stack = open(order["stack"], "w", encoding="utf-8")
        if PATIENCE > 1:
            faulthandler.register(signal.SIGPROF, stack, chain=True)
            signal.setitimer(signal.ITIMER_PROF, order["limit"])
        else:
            faulthandler.dump_traceback_later(0.8 * order["limit"], file=stack)
    try:
        my = course.load(source, path, seed=order["seed"])
        if watch:
            watch.calls = my.calls
    except (Exception, SystemExit) as error:
        if type(error).__name__ == "NotWritten":
            lines = [plain(str(error))]
            write(outcome=part | {"result": "unwritten", "lines": lines})
            return UNWRITTEN
        failure = course.cannot_load(error, path)
        write(outcome=part | {"tag": failure.tag, "lines": failure.lines})
        return FAILED
    # a function of the check stops at the first unwritten part: here all are named
    todo = {"step": "written", "title": "functions", "result": "unwritten", "tag": None}
    names = stubs.unwritten_functions(stubs.text_of(path))
    waiting = [todo | {"lines": [f"{exercise.id} {name}"]} for name in names]
    outcomes, written = [], 0
    for outcome in course.outcomes(my, order.get("pdb", False)):
        while waiting and outcome.result == "unwritten":
            write(outcome=waiting.pop(0))
            written += 1
        if order.get("cases") and outcome.result == "failed":
            my.save_case(pathlib.Path(order["cases"]) / f"{written}.npz")
        write(outcome=outcome.as_dict())
        written += 1
        outcomes.append(outcome)
    results = {outcome.result for outcome in outcomes}
    code = FAILED if "failed" in results else UNWRITTEN if "unwritten" in results else 0
    for line in my.after_pass if code == PASSED else ():
        print(line)
    for part in waiting if code else ():  # a right answer needs no more parts
        write(outcome=part)
    return code


def _limit_memory_and_files():
    """Let more raise MemoryError or OSError, where the system can limit it."""
    with contextlib.suppress(ImportError):
        import resource

        limits = ((resource.RLIMIT_DATA, MEMORY), (resource.RLIMIT_FSIZE, FILE))
        for what, size in limits:
            with contextlib.suppress(ValueError, OSError):  # there is a lower limit
                resource.setrlimit(what, (size, resource.getrlimit(what)[1]))
