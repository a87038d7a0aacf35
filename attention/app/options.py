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
import contextlib
import difflib
import math
import sys
import textwrap
from dataclasses import dataclass, field, fields
from typing import Callable


@dataclass(frozen=True)
class Kind:
    """A kind of value.

    metavar    its name in the help text
    expected   what it is, for messages
    read       text -> value
    fits       value -> whether it is one
    names      the names that a value consists of, if they are known
    """

    metavar: str
    expected: str
    read: Callable
    fits: Callable
    names: tuple = ()

    def __call__(self, text):
        """Read a value from the command line; argparse calls this."""
        with contextlib.suppress(ValueError):
            value = self.read(text)
            if self.fits(value):
                return value
        unknown = [word for word in text.split(",") if word not in self.names]
        near = meant(unknown[0], self.names) if unknown else ""
        raise argparse.ArgumentTypeError(
            f"found {text!r}; expected {self.expected}.{near}"
        )


def _whole(least, most=10**18 - 1):  # an int64, also after sums
    expected = f"a whole number from {least} to {most}"
    if most == 10**18 - 1:
        expected = f"a whole number of {least} or more, below 10^18"
    return Kind("N", expected, int, lambda n: isinstance(n, int) and least <= n <= most)


def _real(metavar, expected, fits):
    return Kind(metavar, expected, float, fits)


def names_of(choices, required=()):
    """Return the kind 'a,b': one or more of ``choices``, each once."""

    def fits(names):
        chosen = set(names)
        return len(names) == len(chosen) > 0 and set(required) <= chosen <= set(choices)

    expected = f"one or more of {','.join(choices)}, each once"
    if required:
        expected += f", with {','.join(required)}"
    return Kind(
        "NAME,…", expected, lambda text: tuple(text.split(",")), fits, tuple(choices)
    )


POSITIVE, NATURAL = _whole(1), _whole(0)
SIZE = _whole(1, 8192)  # of something that takes memory: a width, a batch, a length
STEPS = _whole(1, 10**9)  # years of training
TOKENS = _whole(257, 65536)  # of a vocabulary of byte pairs: bytes, and one merge
COUNT = _whole(1, 1000)  # of layers, seeds, threads
ABOVE_ZERO = _real("X", "a number above 0", lambda x: 0 < x < math.inf)
ZERO_OR_MORE = _real("X", "a number of 0 or more", lambda x: 0 <= x < math.inf)
SHARE = _real("P", "a number from 0 to 1", lambda x: 0 <= x <= 1)
BELOW_ONE = _real("P", "a number of 0 or more, below 1", lambda x: 0 <= x < 1)
TEXT = Kind("NAME", "a name", str, lambda value: isinstance(value, str))
SIZES = Kind(
    "N,…", "whole numbers from 1 to 8192, with commas between them",
    lambda text: tuple(map(int, text.split(","))),
    lambda values: len(values) > 0 and all(map(SIZE.fits, values)),
)  # fmt: skip


def option(default, kind, help, typed=None):
    """Return a dataclass field that is a command-line option as well.

    kind    a Kind, a tuple of choices, or bool
    typed   the name of the option, where it is not that of the field
    """
    metadata = {"kind": kind, "help": help, "typed": typed}
    return field(default=default, metadata=metadata)


def check(config):
    """Check all options of a dataclass instance; None is right where it is the default.

    Lists, as JSON has them, become tuples. Raises ValueError, which names the field,
    the value and what was expected.
    """
    for each in fields(config):
        kind, value = each.metadata.get("kind"), getattr(config, each.name)
        if isinstance(value, list):
            value = tuple(value)
            setattr(config, each.name, value)
        if kind is None or (value is None and each.default is None):
            continue
        if kind is bool:
            kind = Kind("", "True or False", bool, lambda x: isinstance(x, bool))
        elif isinstance(kind, tuple):
            kind = Kind("", f"one of {shown(kind)}", str, kind.__contains__)
        try:
            right = kind.fits(value)
        except TypeError:
            right = False
        if not right:
            raise ValueError(
                f"Config: {each.name} is {value!r}; expected {kind.expected}."
            )


def add_options(parser, config):
    """Add an argument for each option of the dataclass ``config``.

    An option that the user does not type is absent from the namespace: a resumed run
    has to tell what was typed from what is only the default.
    """
    for each in fields(config):
        if "kind" not in each.metadata:
            continue
        kind, text = each.metadata["kind"], each.metadata["help"]
        more = {"default": argparse.SUPPRESS, "dest": each.name}
        if kind is bool:
            more["action"] = argparse.BooleanOptionalAction
            text += f" (default: {'yes' if each.default else 'no'})"
        else:
            if each.default is not None and "(default" not in text:
                text += f" (default: {shown(each.default)})"
            is_choice = isinstance(kind, tuple)
            more |= {"choices": kind} if is_choice else {"type": kind}
            more |= {} if is_choice else {"metavar": kind.metavar}
        parser.add_argument(flag(each), help=text, **more)


def given(args, config):
    """Return {name: value} of the options of ``config`` that the user has typed."""
    names = {each.name for each in fields(config)}
    return {name: value for name, value in vars(args).items() if name in names}


def flag(option):
    """Return what the user types for an option: the field data_seed is --data-seed."""
    name = option.metadata.get("typed") or option.name
    return f"--{name.replace('_', '-')}"


def shown(value):
    """Return a value as the user types it: (3, 5) -> 3,5"""
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value


class Parser(argparse.ArgumentParser):
    """A parser that reads whole names of options, and says which word may be meant."""

    def __init__(self, **options):
        super().__init__(allow_abbrev=False, **options)

    def parse_known_args(self, args=None, namespace=None):
        """Return the arguments; of a subcommand too, nothing may be left over."""
        found, left = super().parse_known_args(args, namespace)
        if left:
            word, _, _ = left[0].partition("=")
            options = self._option_string_actions
            self.error(
                f"There is no option {word!r}.{meant(word, options)}"
                if word.startswith("-")
                else f"{word!r} is one argument too many."
            )
        return found, left

    def error(self, message):
        """Print the usage and the message; exit with code 2."""
        self.print_usage(sys.stderr)
        self.exit(2, f"{wrapped(f'{self.prog}: error: {message}')}\n")

    def _check_value(self, action, value):
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += f".{meant(str(value), map(str, action.choices))}"
            raise


def meant(word, known):
    """Return " Did you mean 'train'?" for the nearest known word, or ""."""
    return did_you_mean(map(repr, difflib.get_close_matches(word, known, 1)))


def did_you_mean(names):
    """Return " Did you mean A or B?", or "" without names."""
    names = " or ".join(names)
    return f" Did you mean {names}?" if names else ""


def wrapped(text, width=80):
    """Break ``text`` into lines that fit; a path or a name is never cut."""
    options = {"break_long_words": False, "break_on_hyphens": False}
    lines = text.splitlines() or [""]
    return "\n".join(textwrap.fill(line, width, **options) for line in lines)


def complain(command, problem):
    """Print to stderr what is wrong, in lines of 80 columns where words allow it."""
    print(wrapped(f"{command}: {problem}"), file=sys.stderr)


def utf8(text):
    """Return a text that was typed or read; raise ValueError if it was not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"The text has a byte that is not UTF-8, after {text[: error.start]!r}; "
            "expected UTF-8."
        ) from None
    return text
