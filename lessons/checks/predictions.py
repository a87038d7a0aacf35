"""Predictions are locked before their result is shown: the first one counts."""

import ast

from lessons.classroom import journal
from lessons.classroom.catalogue import find


def locked(my, fits):
    """Return the learner's first prediction, and store it if it is the first.

    Only a prediction in the learner's own folder is stored, in the journal.
    fits   whether a prediction has the form that the exercise asks for
    """
    found, exercise = my.prediction(), find(my._id)
    if not fits(found) or my._path != str(exercise.work):
        return found
    stored = [e for e in journal.events(exercise.id) if e["event"] == "prediction"]
    for entry in stored:
        first = ast.literal_eval(entry["prediction"])
        if fits(first):
            if first != found:
                print("Your first prediction counts, made before you saw a result:")
                print(f"   {first}")
            return first
    journal.append(exercise.id, "prediction", prediction=_plain(found))
    return found


def _plain(prediction):
    """Return the text of a prediction, which ``ast.literal_eval`` reads."""
    text = repr(prediction)
    ast.literal_eval(text)
    return text
