"""``python -m lessons``: the verbs, and what they end with.

Exit codes: 0 passed or done, 1 failed, 2 wrong usage, 3 not written yet, 4 out of time.
"""

import argparse
import importlib
import os
import subprocess
import sys

from . import checking, overview, shelf, working
from .catalogue import UsageError, exercises, find
from .paths import shown
from .runner import FAILED, USAGE, within
from .screen import prepare, say, whole, width

WOVEN = {
    "read": "where the page of a lesson is, and what is in it",
    "run": "run a lesson: what it prints, and its figures",
    "figures": "make the figures again; --check compares their data",
    "weave": "make the pages again; --check compares them",
}


def main(argv=None):
    """Do what the command line says; return the exit code."""
    prepare()
    argv = sys.argv[1:] if argv is None else list(argv)
    try:
        if argv and argv[0] in WOVEN and not {"-h", "--help"} & set(argv):
            code = _woven(argv[0], argv[1:])
        else:
            args = _parser(argv).parse_args(argv)
            code = args.do(args)
        sys.stdout.flush()  # a reader who has left is noticed here, and not later
        return code
    except UsageError as error:
        say(str(error), file=sys.stderr)
        return USAGE
    except BrokenPipeError:  # python -m lessons list | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        named = f"{error.strerror}: {error.filename}" if error.filename else error
        say(whole(named), file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("\nstopped.", file=sys.stderr)
        return 130


def _woven(verb, args):
    """Hand over to the weaver, which is loaded for this alone."""
    name = f"{__package__}.weave"
    try:
        weave = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise UsageError(f"{verb}: the weaver of pages is not there yet.") from None
    return weave.main(verb, args)


class _Parser(argparse.ArgumentParser):
    """Help of at most 80 columns; what is wrong is a sentence, and not the usage."""

    def __init__(self, **options):
        def formatter(prog):
            return argparse.HelpFormatter(prog, width=width())

        super().__init__(formatter_class=formatter, **options)

    def error(self, message):
        verb = self.prog.rpartition(" ")[2]
        where = f"{verb}: " if verb != "lessons" else ""
        raise UsageError(f"{where}{message}. {self.prog} --help shows how it is meant.")


def _parser(argv):
    parser = _Parser(
        prog="python -m lessons",
        description="The course: lessons to read and run, exercises to fill.",
    )
    parser.set_defaults(do=lambda args: overview.status())
    verbs = parser.add_subparsers(metavar="VERB", title="verbs")

    def verb(name, text, do, id="one"):
        sub = verbs.add_parser(name, help=text, description=text)
        sub.set_defaults(do=do)
        if id != "none":
            count = {"one": None, "last": "?"}[id]
            sub.add_argument(
                "id", nargs=count, metavar="ID", help="such as 38.5 or E.2"
            )
        return sub

    _add_lessons(verb)
    verb(
        "status",
        "where you are, and the next step",
        lambda a: overview.status(),
        "none",
    )
    verb("list", "all lessons and exercises", lambda a: overview.list_all(), "none")
    verb("start", "copy a stub to your folder", lambda a: working.start(find(a.id)))
    _add_check(verb)
    sub = verb("watch", "check after every change", _watch, "last")
    sub.add_argument("--seed", type=int, default=0, metavar="N")
    verb("hint", "the next hint", lambda a: working.hint(_one(a)), "last")
    sub = verb("solution", "yours and the reference, side by side", _solution)
    sub.add_argument("--peek", action="store_true", help="before it has passed")
    verb("reset", "a fresh stub; yours is kept", lambda a: working.reset(find(a.id)))
    sub = verb("undo", "the text before the present one", _undo)
    sub.add_argument("--to", metavar="HASH", help="a text of the history")
    verb("history", "what has happened", lambda a: working.history(_one(a)), "last")
    sub = verb(
        "experiment", "the expensive part of an exercise or a lesson", _experiment
    )
    sub.add_argument("--impl", choices=("work", "solution"), default="work")
    sub.add_argument("--seed", type=int, default=0, metavar="N")
    sub.add_argument("--weights", metavar="DIR", help="a Marian model's files, for 6.7")
    verb("doctor", "what this machine has", _doctor, "none")
    sub = verb("dev", "for authors: sync the stubs, audit the checks", _dev, "none")
    sub.add_argument("what", choices=("sync", "audit"), metavar="sync|audit")
    sub.add_argument("id", nargs="*", metavar="ID", default=[])
    verb = next((a for a in argv if not a.startswith("-")), None)
    if verb and verb not in verbs.choices:
        there = ", ".join(verbs.choices)
        raise UsageError(f"There is no verb {verb!r}. There are {there}.")
    return parser


def _add_lessons(verb):
    """The weaver's verbs: for the help alone, they are handed over before."""
    for name, text in WOVEN.items():
        sub = verb(name, text, None, "none")
        what = "5, 38.3 or scaling; without it, all of them"
        sub.add_argument("lesson", nargs="*", metavar="LESSON", help=what)
        if name in ("figures", "weave"):
            sub.add_argument(
                "--check", action="store_true", help="compare, write nothing"
            )


def _add_check(verb):
    sub = verb(
        "check", "check your file; without an ID, the last edited", _check, "last"
    )
    sub.add_argument("--all", action="store_true", help="everything you have started")
    sub.add_argument(
        "-v", "--verbose", action="store_true", help="every function of it"
    )
    sub.add_argument("--pdb", action="store_true", help="the debugger, where it fails")
    sub.add_argument("--seed", type=int, default=0, metavar="N", help="other numbers")
    sub.add_argument("--json", action="store_true", help="one line for a program")


def _check(args):
    options = {"seed": abs(args.seed), "verbose": args.verbose, "json": args.json}
    if args.all:
        if args.id or args.pdb:
            raise UsageError("check --all takes neither an ID nor --pdb.")
        return checking.check_all(**options)
    return checking.check(find(args.id) if args.id else None, pdb=args.pdb, **options)


def _watch(args):
    return checking.watch(find(args.id) if args.id else None, seed=abs(args.seed))


def _solution(args):
    return working.solution(find(args.id), args.peek)


def _undo(args):
    return working.undo(find(args.id), args.to)


def _experiment(args):
    try:
        exercise = find(args.id)
    except UsageError as error:
        return _of_a_lesson(args, error)
    if args.weights is not None:
        if exercise.id != "6.7" or not os.path.isdir(args.weights):
            raise UsageError(
                "--weights DIR is a folder with a published model, for experiment 6.7."
            )
        os.environ["LESSONS_WEIGHTS"] = os.path.abspath(args.weights)
    with within(exercise):  # before numpy is loaded, which reads it once
        records = importlib.import_module(f"{__package__}.records")
        return records.experiment(exercise, args.impl, abs(args.seed))


def _of_a_lesson(args, error):
    """``experiment 11``: the script that makes the record of a lesson."""
    try:
        found = shelf.meant(args.id)
    except UsageError:
        raise error from None
    if (args.impl, args.seed, args.weights) != ("work", 0, None):
        raise UsageError("The experiment of a lesson takes no options.")
    scripts = [s for s in (f / "experiment.py" for f in found) if s.exists()]
    if len(scripts) != 1:
        every = [f for f in shelf.folders() if (f / "experiment.py").exists()]
        raise UsageError(
            f"{args.id} is no lesson with an experiment. Those that have one: "
            f"{', '.join(map(shelf.number, every))}."
        )
    say(whole(f"python {shown(scripts[0])}"))
    return min(subprocess.run([sys.executable, scripts[0]]).returncode, FAILED)


def _doctor(args):
    return importlib.import_module(f"{__package__}.doctor").doctor()


def _dev(args):
    authors = importlib.import_module(f"{__package__}.authors")
    chosen = [find(id) for id in args.id] or exercises()
    return authors.sync(chosen) if args.what == "sync" else authors.run_audit(chosen)


def _one(args):
    """The exercise that is named, or the one that was edited last."""
    exercise = find(args.id) if args.id else overview.latest()
    if exercise is None:
        raise UsageError(
            "Nothing is started yet. python -m lessons list shows what is."
        )
    return exercise
