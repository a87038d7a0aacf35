"""The verb ``dev new``: write the file of a new exercise, which passes its own audit."""

from ..classroom import journal
from ..classroom.catalogue import (
    LESSONS, UsageError, exercises, lesson_folders, number, read_header,
)  # fmt: skip
from ..classroom.terminal import display_path

TEXT = '''"""{id}  {title}  ●○○○  15 min

What a learner computes, with the formula: y = 2 x.
"""

import numpy as np


def double(x):
    """Return y and its backward.

    x (n,)  ->  y (n,), backward;  backward(g) returns dx
    """
    y = 2 * x  #? A question that helps with any mistake in this line.
    #! y = x**2  | the square of x

    def backward(g):
        return 2 * g  #? What is dy / dx?
        #! return 2 * g * g  | 2 g^2, where g is a factor once

    return y, backward


# ---- THE CHECK: each call my.f(…) is compared with the function f above


def numbers(my, rng):
    """five numbers"""
    my.double(rng.normal(size=5))
    my.holds("double", not my.only.double(np.zeros(3))[0].any(), "0 for zeros", "others")


HINTS = """
double  A hint on this function.
1  The first hint in general.
"""
WHY = """Why a right answer works. The second sentence says more."""
'''


def new(args):
    """Write lessons/exercises/NN_id_title.py."""
    folders = {n for n in map(number, lesson_folders()) if n.isdigit()}
    lesson = args.lesson.zfill(2)
    if lesson not in folders:
        raise UsageError(f"There is no lesson {args.lesson}; expected a number, 09.")
    if args.id in {exercise.id for exercise in exercises()}:
        raise UsageError(f"There is an exercise {args.id}; choose another id.")
    words = "".join(c if c.isalnum() else " " for c in f"{args.id} {args.title}".lower())
    path = LESSONS / "exercises" / f"{lesson}_{'_'.join(words.split())}.py"
    journal.write(path, TEXT.format(id=args.id, title=args.title).encode())
    try:
        read_header(path)
    except UsageError:
        path.unlink()
        raise UsageError(f"{args.id!r} is no id; expected a word and a number, W.1.")
    print(f"wrote {display_path(path)}")
    print(f"next: python -m lessons dev audit {args.id}")
    return 0
