"""Numeric options of all commands: a wrong number is one sentence and exit code 2."""

import argparse
import math

import pytest

from attention import kernels
from attention.__main__ import main
from attention.app.arguments import COMMANDS, parser_of
from attention.app.options import Kind
from lessons import cli
from lessons.classroom.catalogue import UsageError

REQUIRED = {"translate run": ["a"], "write run": ["--model", "a"]}
NUMBERS = "0", "-1", str(10**18), "nan", "inf", "x", "1e400"


def options_of(parser):
    """Yield (verbs, action) for each option with a value that is not a path or text."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb, sub in action.choices.items():
                yield from ((f"{verb} {v}", a) for v, a in options_of(sub))
        elif action.type is int or isinstance(action.type, Kind):
            yield "", action


ATTENTION = [
    (name, action.option_strings[0], action.type)
    for name in COMMANDS for _, action in options_of(parser_of(name))
    if action.type.metavar != "NAME"
]  # fmt: skip
LESSONS = [
    (verb.split(), action.option_strings[0])
    for verb, action in options_of(cli._parser())
]


def largest(value):
    """Return the largest number of an option's value."""
    return max(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize("text", NUMBERS)
@pytest.mark.parametrize("name, option, kind", ATTENTION)
def test_an_option_of_a_command(name, option, kind, text, capsys):
    arguments = [f"{option}={text}"] + REQUIRED.get(name, [])
    try:
        args = parser_of(name).parse_args(arguments)
    except SystemExit as end:
        error = " ".join(capsys.readouterr().err.split())
        assert end.code == 2 and f"{option}: found {text!r}; expected " in error
    else:  # the number is right for this option: it is finite
        value = getattr(args, option[2:].replace("-", "_"), None)
        value = 0 if value is None else largest(value)
        assert kind.fits(value if not isinstance(value, str) else kind.read(text))
        assert isinstance(value, str) or math.isfinite(value)


@pytest.mark.parametrize("text", NUMBERS)
@pytest.mark.parametrize("verb, option", LESSONS)
def test_an_option_of_a_verb(verb, option, text):
    arguments = [*verb, f"{option}={text}"]
    arguments += ["E.2"] * (verb[0] in ("experiment", "grade"))
    try:
        args = cli._parser().parse_args(arguments)
    except UsageError as error:
        assert f"argument {option}: invalid int value: {text!r}. " in str(error)
        assert text in ("nan", "inf", "x", "1e400")
    else:
        assert getattr(args, option[2:]) == int(text)


@pytest.mark.parametrize("text", NUMBERS)
def test_the_number_of_threads(text, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    monkeypatch.setattr(kernels.choice._Chosen, "threads", None)
    expected = f"OMP_NUM_THREADS is {text!r}; expected a whole number from 1 to 1000."
    with pytest.raises(ValueError, match=expected):
        kernels.threads()


@pytest.mark.parametrize("text", NUMBERS)
def test_the_backend(text, monkeypatch, capsys):
    monkeypatch.setenv("ATTENTION_BACKEND", text)
    monkeypatch.setattr(kernels.choice._Chosen, "backend", None)
    assert main(["ledger", "--tokens", "64"]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert error.startswith(f"ledger: ATTENTION_BACKEND: there is no backend {text!r}; ")
