"""Answers to exercises with one thing wrong, for the tests of the course."""

from lessons.classroom import catalogue
from lessons.course import check

TANH = "return g * (1 - y * y)"
LINES = {
    "wrong": "return g * (1 - x * x)",
    "raises": "return g * (1 - z)",
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


def handed_in(id, old="", new=""):
    """Write an answer into the learner's folder; return its ``My``."""
    exercise = catalogue.find(id)
    exercise.work.write_text(answer(id, old, new), encoding="utf-8")
    return check.load(exercise.parts, exercise.work)


def spoilt(how):
    """Return the reference answer to E.2 with another line in the backward of tanh."""
    return answer(old=TANH, new=LINES[how])
