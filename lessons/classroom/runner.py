"""Run an answer in a process of its own, for as long as it may take and no longer.

An endless loop, a megabyte of prints, os._exit: whatever is in the learner's file, what
comes back is a ``Report``. Only the standard library is loaded here.
"""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field

from .paths import ROOT

SECONDS = 10  # that a check may take, unless it says TIME_LIMIT = …
LOADING = 30  # seconds that the library may take until then, on a busy machine
PRINTED = 2000  # characters of what an answer prints, that are kept
PASSED, FAILED, USAGE, UNWRITTEN, TIMEOUT = range(5)
UNKNOWN = "no known pattern  [unknown]"


@dataclass
class Report:
    """What a check has found.

    code      0 passed, 1 failed, 3 not written yet, 4 out of time
    outcomes  a dictionary for each function of the check, see ``staircase.Outcome``
    printed   the beginning of what the answer printed;  more, how many characters more
    ending    a sentence, when the process did not end by itself
    files     what the answer and the check have imported of the house
    seed      of the numbers;  versions, what they were computed with
    done      whether the check came to its end
    """

    code: int = FAILED
    outcomes: list = field(default_factory=list)
    printed: str = ""
    more: int = 0
    ending: str = ""
    files: list = field(default_factory=list)
    seed: int = 0
    versions: str = ""
    done: bool = True

    @property
    def failures(self):
        """What has failed; first, what a pattern or a place is known of."""
        failed = [o for o in self.outcomes if o["result"] == "failed"]
        return sorted(failed, key=lambda o: (o["tag"] == "unknown", not telling(o)))

    @property
    def tag(self):
        """The mistake that was named, or None."""
        if self.failures:
            return self.failures[0]["tag"]
        if not self.done and self.code == FAILED:
            return "exits"
        return "timeout" if self.code == TIMEOUT else None


def telling(outcome):
    """Whether a failure says more than which entry is wrong."""
    if outcome["tag"] != "unknown":
        return True
    return not (outcome["lines"] and outcome["lines"][-1].endswith(UNKNOWN))


def time_limit(exercise):
    """How many seconds a check may take: LESSONS_TIMEOUT, TIME_LIMIT of the check."""
    chosen = os.environ.get("LESSONS_TIMEOUT", "")
    with contextlib.suppress(ValueError):
        return max(0.1, float(chosen))
    return float(_setting(exercise, "TIME_LIMIT") or SECONDS)


def run(exercise, path, seed=0, limit=None):
    """Check the answer at ``path``; return a ``Report``."""
    limit = time_limit(exercise) if limit is None else limit
    with tempfile.TemporaryDirectory(prefix="lessons-") as folder:
        results, stack = (pathlib.Path(folder) / n for n in ("results", "stack"))
        order = _order(exercise, path, seed, results, limit, stack=str(stack))
        process = subprocess.Popen(
            command(order),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(exercise),
            start_new_session=os.name == "posix",
        )
        printed = _Printed(process.stdout)
        try:
            late = not _ends(process, results, limit)
        finally:
            _end(process)
            printed.join()
        report = Report(seed=seed, printed=printed.text, more=printed.more, done=False)
        _read(results, report)
        if late:
            report.code = TIMEOUT
            report.ending = f"no end after {limit:g} s, the time limit"
            where = _last_line(stack, path)
            report.ending += f"; it was in {where}" if where else ""
        elif not report.done or process.returncode != report.code:
            report.done = False
            report.code = FAILED
            report.ending = _how_it_ended(process.returncode)
        return report


def debug(exercise, path, seed=0):
    """The same in the foreground, without a limit: for --pdb. Returns a Report."""
    with tempfile.TemporaryDirectory(prefix="lessons-") as folder:
        results = pathlib.Path(folder) / "results"
        order = _order(exercise, path, seed, results, 0, pdb=True)
        subprocess.run(command(order), env=environment(exercise))
        return _read(results, Report())


def command(order):
    """-P: a file in the learner's folder never stands in for one of the library."""
    return [sys.executable, "-P", "-m", "lessons.classroom.child", json.dumps(order)]


def environment(exercise):
    """The variables of the process: where the house is, few threads, no colours."""
    env = dict(os.environ)
    others = env.get("PYTHONPATH")
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), others)))
    env["PYTHONUTF8"] = "1"
    env.setdefault("OPENBLAS_NUM_THREADS", "1")
    if not _setting(exercise, "NEEDS_NUMBA"):
        env["ATTENTION_BACKEND"] = "numpy"  # half a second that no one waits for
    return env


@contextlib.contextmanager
def within(exercise):
    """The same variables for this process, inside the block: for an experiment."""
    before = dict(os.environ)
    os.environ.update(environment(exercise))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class _Printed(threading.Thread):
    """Keeps the beginning of what a process prints, and counts the rest."""

    def __init__(self, pipe):
        super().__init__(daemon=True)
        self.pipe, self.kept, self.size = pipe, b"", 0
        self.start()

    def run(self):
        with contextlib.suppress(OSError, ValueError):
            while chunk := self.pipe.read1(65536):
                self.size += len(chunk)
                if len(self.kept) < PRINTED:
                    self.kept += chunk[: PRINTED - len(self.kept)]

    def join(self):
        super().join(2.0)  # a grandchild may hold the pipe open
        self.text = self.kept.decode("utf-8", "replace")
        self.more = self.size - len(self.kept)


def _order(exercise, path, seed, results, limit, **more):
    order = {"exercise": exercise.id, "path": str(path), "seed": seed, "limit": limit}
    return order | {"results": str(results)} | more


def _ends(process, results, limit):
    """Wait for the end of a process; False when its time is over.

    Loading the library is no fault of the answer: the clock starts with the first line
    of the results, which says that all is ready.
    """
    ready, over = False, time.monotonic() + limit + LOADING
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
            return True
        now = time.monotonic()
        if not ready and results.exists() and results.stat().st_size:
            ready, over = True, now + limit
        if now > over:
            return False


def _end(process):
    """End the process and what it has started: its own group, and nothing else."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif process.poll() is None:
        process.kill()
    process.wait()


def _read(results, report):
    with contextlib.suppress(OSError):
        for line in results.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):
                facts = json.loads(line)
                if "outcome" in facts:
                    report.outcomes.append(facts["outcome"])
                report.code = facts.get("done", report.code)
                report.done = report.done or "done" in facts
                report.files = facts.get("files", report.files)
                report.ending = facts.get("broken", report.ending)
                report.versions = facts.get("versions", report.versions)
    return report


def _last_line(stack, path):
    """Where in the learner's file the process was, from its stack."""
    with contextlib.suppress(OSError):
        text = stack.read_text(encoding="utf-8", errors="replace")
        # it is written in ASCII, and without asking for memory
        name = str(path).encode("ascii", "backslashreplace").decode()
        pattern = rf'File "{re.escape(name)}", line (\d+) in (\S+)'
        found = re.search(pattern, text)
        if found:
            return f"{found[2]}, line {found[1]}"
    return None


def _how_it_ended(code):
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"the process was ended by {signal.Signals(-code).name}"
    return f"the answer ended the process itself, with code {code}"


def _setting(exercise, name):
    """A number that a check gives at its top, read without loading it."""
    with contextlib.suppress(OSError):
        text = exercise.check.read_text(encoding="utf-8")
        found = re.search(rf"^{name} = (\S+)", text, re.MULTILINE)
        return found[1] if found else None
