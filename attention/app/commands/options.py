"""Options that several commands share: numbers with limits, and what a run is made of.

An option that the user does not give is absent from the namespace, so that a resumed
run can tell what was asked for now from what is only the default.
"""

import argparse
import pathlib
import sys
import textwrap

from minigrad import checkpoint

PLACES = ("task", "target")  # where a file is: it may be elsewhere when one goes on


def add_fields(parser, config, fields):
    """Add ``--name`` for each field of the dataclass instance ``config``.

    fields   {name: (type or tuple of choices or bool, help)}; the default that the help
             names is that of ``config``
    """
    for name, (kind, text) in fields.items():
        default = getattr(config, name)
        shown = (
            "" if "(default" in text or default is None else f" (default: {default})"
        )
        options = {"default": argparse.SUPPRESS, "help": text + shown}
        if kind is bool:
            options["action"] = argparse.BooleanOptionalAction
            options["help"] = text + (" (the default)" if default else "")
        elif isinstance(kind, tuple):
            options["choices"] = kind
        else:
            options |= {"type": kind, "metavar": KINDS.get(kind, "A,B")}
        parser.add_argument(f"--{name.replace('_', '-')}", **options)


def complain(command, problem):
    """Print to stderr what is wrong, in lines of 80 columns at most."""
    print(wrapped(f"{command}: {problem}"), file=sys.stderr)


def wrapped(text, width=80):
    """``text`` in lines that fit; a path or a name is never cut."""
    options = {"break_long_words": False, "break_on_hyphens": False}
    lines = text.splitlines() or [""]
    return "\n".join(textwrap.fill(line, width, **options) for line in lines)


def given(args, config):
    """{name: value} of the fields of a config class that the user has set."""
    names = config.__dataclass_fields__
    return {name: value for name, value in vars(args).items() if name in names}


def folder_of(args, default):
    """Where a run is: --out, or what --resume names, or the default.

    Raises ValueError when both are given, and differ.
    """
    named = [p for p in (args.out, args.resume) if p not in (None, True)]
    if len(set(named)) > 1:
        raise ValueError(
            f"--resume {args.resume} goes on there; leave out --out {args.out}."
        )
    return named[0] if named else pathlib.Path(default)


def shown(value):
    """A value as it is written on the command line."""
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value


def load_state(path, config, options, command):
    """(config, state) of the checkpoint at ``path``; what is given now must agree.

    But for a file's place, in a config that has ``moved``: whether its lines are the
    same, a checksum tells the caller.

    Raises ValueError, in a sentence.
    """
    if not path.is_file():
        raise ValueError(
            f"There is nothing to resume in {path.parent}: it has no {path.name}. "
            "Start the run without --resume."
        )
    state = checkpoint.load(path)
    if state.get("command") != command:
        raise ValueError(f"{path} is no state of {command}.")
    before = config(**state["config"])
    names = PLACES if hasattr(config, "moved") else ()
    places = {name: options[name] for name in names if name in options}
    options = {name: options[name] for name in options if name not in places}
    now = config(**{**state["config"], **options})
    differing = [
        f"--{name.replace('_', '-')} was {shown(getattr(before, name))}"
        for name in options
        if getattr(before, name) != getattr(now, name)
    ]
    try:
        before = before.moved(**places) if places else before
    except ValueError:
        differing += [
            f"--{name} was {getattr(before, name)}"
            for name in places
            if getattr(before, name) not in (None, places[name])
        ]
        differing = differing or ["--target was not given"]
    if differing:
        raise ValueError(
            f"The run in {path.parent} was started otherwise: {'; '.join(differing)}. "
            "Leave the option out to go on with it, or start another run with --out."
        )
    return before, state


def positive(text):
    """A whole number from 1 up."""
    return _number(text, int, lambda n: n >= 1, "a number from 1 up")


def natural(text):
    """A whole number from 0 up."""
    return _number(text, int, lambda n: n >= 0, "a number from 0 up")


def above_zero(text):
    """A number above 0."""
    return _number(text, float, lambda x: 0 < x < float("inf"), "a number above 0")


def names_of(choices):
    """The type of an option 'a,b': some of the ``choices``, none of them twice."""

    def names(text):
        found = tuple(name for name in text.split(",") if name)
        if not found or not set(found) <= set(choices) or len(set(found)) < len(found):
            raise argparse.ArgumentTypeError(
                f"{text!r} should be different names out of {','.join(choices)}"
            )
        return found

    return names


def positives(text):
    """'3,5,7' -> (3, 5, 7)"""
    return tuple(map(positive, text.split(",")))


def share(text):
    """A number from 0 to 1."""
    return _number(text, float, lambda x: 0 <= x <= 1, "a number from 0 to 1")


def below_one(text):
    """A number from 0 up to 1, without 1: of nothing, nothing could be learned."""
    expected = "a number from 0 to 1, 1 left out"
    return _number(text, float, lambda x: 0 <= x < 1, expected)


def _number(text, kind, fits, expected):
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not fits(value):
        raise argparse.ArgumentTypeError(f"{text!r} should be {expected}")
    return value


KINDS = {
    positive: "N",
    positives: "N,N",
    natural: "N",
    above_zero: "X",
    share: "P",
    below_one: "P",
    str: "NAME",
}
