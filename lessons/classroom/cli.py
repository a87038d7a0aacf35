"""``python -m lessons``: the verbs and their exit codes.

Exit codes: 0 passed or done, 1 failed, 2 wrong usage, 3 not written yet, 4 out of time.
"""

import argparse
import importlib
import os
import sys

from . import overview, verbs
from .catalogue import UsageError, exercises, find
from .runner import FAILED, USAGE
from .terminal import prepare, say, unbroken, width


def main(argv=None):
    """Run a command line; return the exit code."""
    prepare()
    try:
        args = _parser().parse_args(argv)
        code = args.run(args)
        sys.stdout.flush()  # so that a closed pipe is noticed here
        return code
    except UsageError as error:
        say(str(error), file=sys.stderr)
        return USAGE
    except BrokenPipeError:  # python -m lessons list | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except OSError as error:
        text = f"{error.strerror}: {error.filename}" if error.filename else error
        say(unbroken(text), file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("\nstopped.", file=sys.stderr)
        return 130


class _Parser(argparse.ArgumentParser):
    """A parser whose help fits 80 columns and whose errors are one sentence."""

    def __init__(self, **options):
        def formatter(prog):
            return argparse.HelpFormatter(prog, width=width())

        super().__init__(formatter_class=formatter, **options)

    def error(self, message):
        raise UsageError(f"{message}. See {self.prog} --help.")


def _parser():
    parser = _Parser(
        prog="python -m lessons",
        description="The course: lessons to read and run, exercises to solve.",
    )
    parser.set_defaults(run=lambda args: overview.status())
    group = parser.add_subparsers(metavar="VERB", title="verbs")

    def verb(name, text, run, id=None, to=group):
        sub = to.add_parser(name, help=text, description=text)
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
        text = "a number, a section or a word: 5, 38.3, scaling; without it, all"
        sub.add_argument("lesson", nargs="*", metavar="LESSON", help=text)

    verb("status", "your progress and the next step", lambda a: overview.status())
    verb("list", "all lessons and exercises", lambda a: overview.list_all())
    lessons(verb("read", "show the page of a lesson", _late("weave", "read")))
    lessons(verb("run", "run the script of a lesson", _late("weave", "run")))
    verb("start", "copy a stub to your folder", _named(verbs.start), "required")
    sub = verb("check", "check your answer", _check, "optional")
    sub.add_argument("--all", action="store_true", help="check all started answers")
    text = "list every function of the check"
    sub.add_argument("-v", "--verbose", action="store_true", help=text)
    sub.add_argument("--pdb", action="store_true", help="open pdb at the failure")
    sub.add_argument("--json", action="store_true", help="print one line of json")
    seed(sub)
    seed(verb("watch", "check after every change", _watch, "optional"))
    verb("hint", "the next hint", _latest(verbs.hint), "optional")
    sub = verb("solution", "compare with the reference", _solution, "required")
    sub.add_argument("--peek", action="store_true", help="even before you have passed")
    verb("reset", "a fresh stub", _named(verbs.reset), "required")
    sub = verb("undo", "restore your text before this one", _undo, "required")
    sub.add_argument("--to", metavar="HASH", help="a text of the history")
    verb("history", "what you did so far", _latest(verbs.history), "optional")
    text = "run the long part of an exercise or lesson and record it"
    sub = verb("experiment", text, _late("records", "experiment"), "required")
    sub.add_argument("--impl", choices=("work", "solution"), default="work")
    sub.add_argument(
        "--weights", metavar="DIR", help="files of a Marian model, for 6.7"
    )
    seed(sub)
    verb("doctor", "what this machine has", lambda a: overview.doctor())
    dev = verb("dev", "for authors", None).add_subparsers(metavar="VERB", required=True)
    for name, text in (("sync", "write the stubs"), ("audit", "test the checks")):
        sub = verb(name, text, _dev(name), to=dev)
        sub.add_argument("id", nargs="*", metavar="ID", help="without it, all")
    sub = verb("weave", "write the pages of lessons", _late("weave", "weave"), to=dev)
    lessons(sub)
    sub.add_argument("--check", action="store_true", help="compare, write nothing")
    return parser


def _late(module, function):
    """Return a verb whose module is imported when it runs, because it is slow."""

    def run(args):
        late = importlib.import_module(f"{__package__}.{module}")
        return getattr(late, function)(args)

    return run


def _named(action):
    """Return a verb about the exercise that the command line names."""
    return lambda args: action(find(args.id))


def _latest(action):
    """Return a verb about the named exercise, or else the one that was edited last."""
    return lambda args: action(_one(args))


def _check(args):
    options = {"seed": abs(args.seed), "verbose": args.verbose, "json": args.json}
    if not args.all:
        return verbs.check(_one(args), pdb=args.pdb, **options)
    if args.id or args.pdb:
        raise UsageError("check --all takes neither an ID nor --pdb.")
    return verbs.check_all(**options)


def _watch(args):
    return verbs.watch(_one(args), seed=abs(args.seed))


def _solution(args):
    return verbs.solution(find(args.id), args.peek)


def _undo(args):
    return verbs.undo(find(args.id), args.to)


def _dev(name):
    def run(args):
        authors = importlib.import_module(f"{__package__}.authors")
        chosen = [find(id) for id in args.id] or exercises()
        return getattr(authors, name)(chosen)

    return run


def _one(args):
    """Return the named exercise, or the one that was edited last."""
    return find(args.id) if args.id else verbs.latest()
