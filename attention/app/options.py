"""Options of a command: fields of a dataclass, checked by argparse and by Python alike.

    @dataclass
    class Config:
        steps: int = option(2500, POSITIVE, "training steps")

        def __post_init__(self):
            check(self)

    add_options(parser, Config)                  adds --steps N
    config = Config(**given(args, Config))       only what the user has typed
"""

import argparse
import math
import operator
import sys
import textwrap
from dataclasses import asdict, dataclass, field, fields
from typing import Callable


@dataclass(frozen=True)
class Kind:
    """A kind of value.

    metavar    its name in the help text
    expected   what it is, for messages
    read       text -> value
    convert    a value given in Python -> value
    fits       value -> whether it is in range
    """

    metavar: str
    expected: str
    read: Callable
    convert: Callable
    fits: Callable

    def __call__(self, text):
        """Read a value from the command line; argparse calls this."""
        try:
            return self.validated(text, self.read)
        except (ValueError, TypeError):
            message = f"{text!r} is not {self.expected}"
            raise argparse.ArgumentTypeError(message) from None

    def validated(self, value, convert=None):
        """Convert ``value``; raise ValueError or TypeError where it does not fit."""
        value = (convert or self.convert)(value)
        if not self.fits(value):
            raise ValueError
        return value


def _whole(least, metavar="N"):
    expected = f"a whole number of {least} or more"
    return Kind(metavar, expected, int, operator.index, lambda n: n >= least)


def _real(metavar, expected, fits):
    return Kind(metavar, expected, float, float, fits)


def names_of(choices, required=()):
    """Return the kind 'a,b': different names out of ``choices``."""

    def fits(names):
        chosen = set(names)
        return len(names) == len(chosen) > 0 and set(required) <= chosen <= set(choices)

    expected = f"different names out of {','.join(choices)}"
    if required:
        expected += f", with {','.join(required)} among them"
    return Kind("A,B", expected, _split, tuple, fits)


def _split(text):
    return tuple(name for name in text.split(",") if name)


def _text(value):
    if not isinstance(value, str):
        raise TypeError
    return value


POSITIVE, NATURAL = _whole(1), _whole(0)
ABOVE_ZERO = _real("X", "a number above 0", lambda x: 0 < x < math.inf)
SHARE = _real("P", "a number from 0 to 1", lambda x: 0 <= x <= 1)
BELOW_ONE = _real("P", "a number from 0 to 1, without 1", lambda x: 0 <= x < 1)
TEXT = Kind("NAME", "a name", str, _text, lambda text: True)
POSITIVES = Kind(
    "N,N", "whole numbers of 1 or more, with commas between them",
    lambda text: tuple(map(int, text.split(","))),
    lambda values: tuple(map(operator.index, values)),
    lambda values: len(values) > 0 and min(values) > 0,
)  # fmt: skip


def option(default, kind, help):
    """Return a dataclass field that is a command-line option as well.

    kind   a Kind, a tuple of choices, or bool
    """
    return field(default=default, metadata={"kind": kind, "help": help})


def check(config):
    """Convert and check all options of a dataclass instance; a default may be None.

    Raises ValueError, which names the field, the value and what was expected.
    """
    for each in fields(config):
        kind, value = each.metadata.get("kind"), getattr(config, each.name)
        if kind is None or (value is None and each.default is None):
            continue
        expected = "True or False" if kind is bool else f"one of {shown(kind)}"
        try:
            if isinstance(kind, Kind):
                expected = kind.expected
                setattr(config, each.name, kind.validated(value))
            elif value not in ((True, False) if kind is bool else kind):
                raise ValueError
        except (ValueError, TypeError, OverflowError):
            raise ValueError(
                f"Config: {each.name} is {value!r}; expected {expected}."
            ) from None


def add_options(parser, config):
    """Add ``--name`` for each option of the dataclass ``config``.

    An option that the user does not type is absent from the namespace: a resumed run
    has to tell what was typed from what is only the default.
    """
    for each in fields(config):
        if "kind" not in each.metadata:
            continue
        kind, text = each.metadata["kind"], each.metadata["help"]
        more = {"default": argparse.SUPPRESS}
        if kind is bool:
            more["action"] = argparse.BooleanOptionalAction
            text += " (the default)" if each.default else ""
        else:
            if each.default is not None and "(default" not in text:
                text += f" (default: {shown(each.default)})"
            is_choice = isinstance(kind, tuple)
            more |= {"choices": kind} if is_choice else {"type": kind}
            more |= {} if is_choice else {"metavar": kind.metavar}
        parser.add_argument(flag(each.name), help=text, **more)


def given(args, config):
    """Return {name: value} of the options of ``config`` that the user has typed."""
    names = {each.name for each in fields(config)}
    return {name: value for name, value in vars(args).items() if name in names}


def flag(name):
    """data_seed -> --data-seed"""
    return f"--{name.replace('_', '-')}"


def shown(value):
    """Return a value as the user types it: (3, 5) -> 3,5"""
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value


def described(config):
    """Return the config as a dict that JSON can hold."""
    return {
        k: list(v) if isinstance(v, tuple) else v for k, v in asdict(config).items()
    }


def wrapped(text, width=80):
    """Break ``text`` into lines that fit; a path or a name is never cut."""
    options = {"break_long_words": False, "break_on_hyphens": False}
    lines = text.splitlines() or [""]
    return "\n".join(textwrap.fill(line, width, **options) for line in lines)


def complain(command, problem):
    """Print to stderr what is wrong, in lines of 80 columns at most."""
    print(wrapped(f"{command}: {problem}"), file=sys.stderr)
