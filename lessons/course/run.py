"""Run an answer in a process of its own, with limits of time and memory.

Whatever the learner's file does (an endless loop, a megabyte of prints, os._exit), the
result is a ``Report``. Both sides are here: ``run`` starts the process, which calls
``child``. The child writes a line of json to the file ``results`` after each function
of the check, so that the results until then are known however it ends.

Only the child imports NumPy and the engine.
"""

import contextlib
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

from ..classroom.catalogue import ROOT, find
from .read import unwritten_functions

SECONDS = 10  # of processor time for a check, unless it states TIME_LIMIT = …
# an answer that waits, or a busy machine, may take so many times the limit; where no
# signal says that the processor time is over, the limit is of the time that passes
PATIENCE = 5 if hasattr(signal, "setitimer") else 1
LOADING = 30  # seconds that loading the library may take, on a busy machine
SPARE = 30  # further seconds, after which the child ends by itself
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
    def unwritten(self):
        """The parts that are not written yet, each once: "E.2 softmax"."""
        todo = [o["lines"][0] for o in self.outcomes if o["result"] == "unwritten"]
        return [*dict.fromkeys(todo)]

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
    def causes(self):
        """The failures that do not follow, perhaps, from one before them."""
        failed = self.failures
        return [o for k, o in enumerate(failed) if not may_follow(o, failed[:k])]

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
    """Return the seconds for a check, of which its file may say TIME_LIMIT = …"""
    found = re.search(r"^TIME_LIMIT = (\S+)", exercise.parts.below, re.MULTILINE)
    return float(found[1]) if found else SECONDS


def run(exercise, path, seed=0, limit=None, save=None, cwd=None):
    """Check the answer at ``path``; return a ``Report``.

    save    a file for the arrays of the report's first failure
    cwd     the folder in which the answer runs, and which holds all that it writes;
            without it, the current folder, and the learner's
    """
    limit = time_limit(exercise) if limit is None else limit
    with tempfile.TemporaryDirectory(prefix="lessons-") as temporary:
        names = "results", "place", "printed", "cases"
        results, place, printed, cases = (pathlib.Path(temporary) / n for n in names)
        stops = {"limit": limit, "place": str(place)}
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
                env=environment() | own,
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
            report.ending = _out_of_time(place, limit, waited)
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
        subprocess.run(command, env=environment())
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


def environment():
    """Return the variables of the process: where the project is, one BLAS thread."""
    env = found_here()
    env["PYTHONUTF8"] = "1"
    env.setdefault("OPENBLAS_NUM_THREADS", "1")
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


def _out_of_time(place, limit, waited):
    """Return where the answer was when its time ran out."""
    said = f"out of time after {limit:g} s"
    if waited:
        said = f"out of time after {PATIENCE * limit:g} s, with less than {limit:g} s "
        said += "of computing"
    with contextlib.suppress(OSError, ValueError):
        facts = json.loads(place.read_text(encoding="utf-8"))
        if facts["call"]:
            said += f"; in {facts['call']}"
        said += f"; at {facts['where']}:  {facts['line']}"
    return said


def _how_it_ended(code):
    if code < 0:
        return f"the process was ended by signal {-code}, {signal.strsignal(-code)}"
    return f"the answer ended the process itself, with code {code}"


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
        write(done=code)
    return code


def check(exercise, path, order, write):
    """Load the answer and run the check; ``write`` each outcome; return the code."""
    try:
        from . import check as course
        from .slow import Watch

        source = exercise.parts
    except Exception as error:
        write(broken=f"the check cannot be loaded: {type(error).__name__}: {error}")
        return FAILED
    watch = None
    if order.get("place"):
        watch = Watch(path, order["limit"], pathlib.Path(order["place"]), PATIENCE)
        if PATIENCE > 1:
            signal.setitimer(signal.ITIMER_PROF, order["limit"])
    write(ready=True)
    try:
        my = course.load(source, path, seed=order["seed"])
    except (Exception, SystemExit) as error:
        my, outcomes, todo = None, [course.not_loaded(error, path)], []
    else:
        outcomes = course.outcomes(my, order.get("pdb", False))
        # a function of the check stops at the first unwritten part: here all are named
        todo = [f"{source.id} {n}" for n in unwritten_functions(my.text)]
    if watch and my:
        watch.calls = my.calls
    results, number = set(), 0
    for outcome in outcomes:
        results.add(outcome.result)
        if outcome.result == "unwritten":
            todo += outcome.lines
            continue
        if outcome.result == "failed" and my and my.last and order.get("cases"):
            my.save_case(pathlib.Path(order["cases"]) / f"{number}.npz")
        write(outcome=outcome.as_dict())
        number += 1
    code = FAILED if "failed" in results else UNWRITTEN if "unwritten" in results else 0
    for line in my.after_pass if code == PASSED else ():
        print(line)
    for part in dict.fromkeys(todo) if code else ():  # a right answer needs no more
        unwritten = course.Outcome("written: functions", "unwritten", lines=[part])
        write(outcome=unwritten.as_dict())
    return code


def _limit_memory_and_files():
    """Let more raise MemoryError or OSError, where the system can limit it."""
    with contextlib.suppress(ImportError):
        import resource

        limits = ((resource.RLIMIT_DATA, MEMORY), (resource.RLIMIT_FSIZE, FILE))
        for what, size in limits:
            with contextlib.suppress(ValueError, OSError):  # there is a lower limit
                resource.setrlimit(what, (size, resource.getrlimit(what)[1]))
