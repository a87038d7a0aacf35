"""What a learner says: predictions, of which the first one counts, and answers in words."""

import ast
import textwrap

import numpy as np

from ..classroom import journal
from ..classroom.catalogue import find


def your_own_words(my, rng):
    """an explanation, in your own words"""
    points = my.right["explanation"]().splitlines()
    self_assessed(my, my.only.explanation(), *points)


def self_assessed(my, text, *points, least=10):
    """Fail unless ``text`` has some words; print a good answer if all else passes."""
    words = text.split() if isinstance(text, str) else []
    my.holds(
        "explanation",
        len(words) >= least,
        f"a string of {least} words or more",
        repr(text),
        "words",
    )
    lines = ["Your words are not graded. Compare; a good answer says:"]
    for number, point in enumerate(points, 1):
        lines.append(textwrap.fill(f"{number}  {point}", 68, subsequent_indent="   "))
    my.after_pass += lines


def locked(my, fits, form=None):
    """Return the learner's first prediction, and store it if it is the first.

    Only a prediction in the learner's own folder is stored, in the journal.
    fits   whether a prediction has the form that the exercise asks for
    form   of a prediction, in words: fail if it has another one
    """
    found, exercise = my.only.prediction(), find(my.id)
    is_right = form is None or fits(found)
    my.holds("prediction", is_right, form, repr(found), "prediction")
    if not fits(found) or my.path != str(exercise.work):
        return found
    stored = [e for e in journal.events(exercise.id) if e["event"] == "prediction"]
    for entry in stored:
        first = ast.literal_eval(entry["prediction"])
        if fits(first):
            if entry["prediction"] != _plain(found):
                print("Your first prediction counts, made before you saw a result:")
                print(f"   {first}")
            return first
    journal.append(exercise.id, "prediction", prediction=_plain(found))
    return found


def _plain(prediction):
    """Return the text of a prediction, which ``ast.literal_eval`` reads."""
    return repr(_without_numpy(prediction))


def _without_numpy(value):
    """Return a prediction with Python's numbers and lists for those of NumPy."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, dict):
        return {key: _without_numpy(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_without_numpy, value))
    return value
