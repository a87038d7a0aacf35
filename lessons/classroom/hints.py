"""Hints: first those for the mistake that was measured last, then the general ones.

An exercise's own come from HINTS in its solution; for the mistakes of the bank there is
one here. What has been shown is in the journal.
"""

from . import journal, stubs

OF_THE_BANK = {
    "none": "Is anything returned on every path through the function?",
    "zero": "Nothing arrives. Which line was to put numbers there, and does it run?",
    "nan": "Where can -inf - (-inf), 0 / 0 or log(0) come from? Look at an empty row.",
    "unbroadcast": (
        "One number, or one row, was used in several places. The backward of a "
        "broadcast is a sum over the places where it was used."
    ),
    "transpose": (
        "Write the product with its indices. Which of them are summed? Which remain, "
        "and in which order?"
    ),
    "scale": (
        "Every entry is off by one factor. A sign, a mean where a sum belongs, or a "
        "1 / sqrt(d) that is missing or there twice?"
    ),
    "ignores-upstream": "The chain rule multiplies by the gradient that comes in.",
    "not-linear": "A backward is linear in g: twice the g, twice the gradient.",
    "accumulates": "Something is kept from one call to the next.",
    "stateful": "Something is kept from one call to the next, or drawn at random.",
    "softmax-diagonal": (
        "Each weight depends on every score: dp_i/de_j is not 0 where i and j differ."
    ),
    "softmax-nocentre": (
        "Raising one score lowers the other weights. Which term of the gradient says "
        "so?"
    ),
    "wrong-axis": "Over which axis do the weights of one query sum to 1?",
    "overwrites": "A value that is used twice receives the sum of two gradients.",
    "mask-leak": "What is masked has no influence, so its gradient is 0.",
    "stale-cache": "What the backward uses was saved by another call.",
    "block": "All else is right. What is special about the part that is named?",
    "mutates-input": "Take a copy before changing an array in place.",
    "float32": "Keep the dtype of the inputs; they are float64 in a check.",
    "complement": "True means: may attend.",
    "shape": "Write the shape of each intermediate at the end of its line.",
    "dtype": "Which operation makes the numbers of this kind?",
    "raises": "The line is in the report. Print the shapes just before it.",
    "timeout": "Which loop waits for something that never comes?",
    "missing": "Checks call the functions by the names of the stub.",
    "signature": "Checks call the functions with the parameters of the stub.",
}


def next_hint(exercise):
    """(text, what it is) of the next hint that was not shown; None after the last."""
    shown = {tuple(e["hint"]) for e in journal.events(exercise.id) if "hint" in e}
    for key, level, text, what in ladder(exercise):
        if (key, level) not in shown:
            journal.append(exercise.id, "hint", hint=[key, level])
            return text, what
    return None


def ladder(exercise):
    """(key, level, text, what) of all hints, in the order in which they are given."""
    own = stubs.author_part(exercise.solution.read_text(encoding="utf-8"))
    own = own.get("HINTS", {})
    tag = last_diagnosis(exercise)
    for key in dict.fromkeys((tag, tag.split(":")[0])):
        texts = (
            own.get(key) or [OF_THE_BANK[key]] if key in OF_THE_BANK else own.get(key)
        )
        if key and texts:
            for level, text in enumerate(texts):
                yield key, level, text, f"on what was measured, {tag}"
            break
    general = own.get("", [])
    for level, text in enumerate(general):
        yield "", level, text, f"{level + 1} of {len(general)}"


def last_diagnosis(exercise):
    """The tag of the last check that failed, '' if there is none or it passed since."""
    for entry in reversed(journal.events(exercise.id)):
        if entry["event"] == "check":
            return entry.get("diag") or ""
    return ""
