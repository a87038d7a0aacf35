"""Answers to exercises with one thing wrong, for the tests of the course."""

import types

import pytest

from lessons.classroom import catalogue

TANH = "return g * (1 - y * y)"
LINES = {
    "wrong": "return g * (1 - x * x)",
    "raises": "return g * (1 - z)",
    "float32": "return (g * (1 - y * y)).astype(np.float32)",
    "mutates": "g *= 1 - y * y; return g",
    "loops": "\n        while True: pass",
    "prints": 'print("x" * 10**6); return g * (1 - y * y)',
    "shouts": 'raise ValueError("\\x1b[31mred\\a" + "x" * 10**6)',
    "fills": "return g * np.ones(10**9)[0]",
    "exits": "import os; os._exit(0)",
}


def answer(id="E.2", old="", new=""):
    """Return the reference answer to an exercise, with ``old`` replaced by ``new``."""
    text = catalogue.find(id).answer_text
    assert old in text
    return text.replace(old, new)


def sampled(cases, names):
    """Return the cases as parameters of a test; without --deep, every eighth runs."""
    return [
        pytest.param(*case, id=name, marks=[pytest.mark.deep] if k % 8 else [])
        for k, (case, name) in enumerate(zip(cases, names, strict=True))
    ]


def checks_of(*functions):
    """Return a module of checks with these functions."""
    module = types.ModuleType("checks")
    vars(module).update({f.__name__: f for f in functions})
    return module


def spoilt(how):
    """Return the reference answer to E.2 with another line in the backward of tanh."""
    return answer(old=TANH, new=LINES[how])
