"""Options: one definition, checked by argparse and by Python."""

import argparse
from dataclasses import dataclass

import pytest

from attention.app import options
from attention.app.options import check, given, option


@dataclass
class Config:
    steps: int = option(5, options.POSITIVE, "training steps")
    seed: int = option(1, options.NATURAL, "the first seed")
    lr: float = option(0.1, options.ABOVE_ZERO, "learning rate")
    dropout: float | None = option(None, options.BELOW_ONE, "(default: by task)")
    sampling: float = option(0.0, options.SHARE, "share")
    lengths: tuple = option((3, 5), options.SIZES, "lengths")
    kinds: tuple = option(("a", "b"), options.names_of("abc", "a"), "", typed="names")
    cell: str = option("gru", ("gru", "lstm"), "cell")
    keep_case: bool = option(False, bool, "keep capitals")
    task: str = option("en-de", options.TEXT, "task")
    hidden: int = 7  # not an option

    def __post_init__(self):
        check(self)


def parsed(*arguments):
    parser = argparse.ArgumentParser()
    options.add_options(parser, Config)
    return given(parser.parse_args(arguments), Config)


def test_only_what_was_typed_is_given():
    assert parsed() == {}
    typed = parsed("--steps", "7", "--lengths", "2,8", "--names", "c,a", "--keep-case")
    assert typed == {
        "steps": 7, "lengths": (2, 8), "kinds": ("c", "a"), "keep_case": True
    }  # fmt: skip
    assert Config(**typed).steps == 7 and Config(**typed).lr == 0.1
    assert Config(lengths=[2], kinds=["a"]).lengths == (2,)  # as JSON has them


@pytest.mark.parametrize(
    "name, text, value, expected",
    [
        ("steps", "x", 2.5, "a whole number of 1 or more"),
        ("seed", "7" * 30, 10**400, "a whole number of 0 or more, below 10^18"),
        ("lr", "nan", float("inf"), "a number above 0"),
        ("dropout", "1", 1, "a number of 0 or more, below 1"),
        ("sampling", "2", "x", "a number from 0 to 1"),
        ("lengths", "3,x", (), "whole numbers from 1 to 8192"),
        ("kinds", "a,a", ("b",), "one or more of a,b,c, each once, with a"),
        ("cell", "rnn", 3, "gru"),
        ("task", None, 3, "a name"),
        ("keep_case", None, 1.5, "True or False"),
    ],
)
def test_a_wrong_value_is_named(name, text, value, expected, capsys):
    with pytest.raises(ValueError) as error:
        Config(**{name: value})
    assert f"Config: {name} is {value!r}; expected " in str(error.value)
    assert expected in str(error.value)
    if text is not None:
        flag = "--names" if name == "kinds" else f"--{name}"
        with pytest.raises(SystemExit):
            parsed(flag, text)
        error = capsys.readouterr().err
        assert expected in error and repr(text) in error and flag in error


def test_lines_are_wrapped_and_names_are_not_cut():
    path = "/a-folder/" + "x" * 90
    text = f"a word {'more ' * 20}and {path}\n  second"
    lines = options.wrapped(text).split("\n")
    assert path in lines and lines[-1] == "  second"
    assert max(len(line) for line in lines if line != path) <= 80
