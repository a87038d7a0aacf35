"""Hints: first those for the mistake that was measured last, then the general ones.

An exercise's own come from HINTS in its solution; for the mistakes of the bank there is
one here. What has been shown is in the journal; after the last, they begin again.
"""

from . import journal, stubs

OF_THE_BANK = {
    "none": "Is anything returned on every path through the function?",
    "zero": "Nothing arrives. Which line was to put numbers there, and does it run?",
    "nan": (
        "Where can inf come from: exp of a large number, log(0), x / 0? And NaN: "
        "-inf - (-inf), inf / inf, 0 * inf, 0 / 0? Look at large numbers, and at an "
        "empty row."
    ),
    "unbroadcast": (
        "One number, or one row, was used in several places. The backward of a "
        "broadcast is a sum over the places where it was used."
    ),
    "transpose": (
        "Write the result with its indices, in the order that is asked for. Of a "
        "product, which are summed, and which remain?"
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
    "mutates-input": (
        "Take a copy before changing an array, a list or a dict in place."
    ),
    "read-only": (
        "np.broadcast_to and .diagonal return views that cannot be written to. Take a "
        "copy of it first, or np.fill_diagonal."
    ),
    "float32": "Keep the dtype of the inputs; they are float64 in a check.",
    "nearly": (
        "Where are digits lost: in a difference of numbers that are nearly equal, or "
        "where something small is left out?"
    ),
    "complement": "True means: may attend.",
    "shape": "Write the shape of each intermediate at the end of its line.",
    "dtype": "Which operation makes the numbers of this kind?",
    "raises": "The line is in the report. Print the shapes just before it.",
    "recursion": (
        "Python calls functions inside functions about a thousand deep. Does the "
        "recursion end?"
    ),
    "timeout": "Which loop waits for something that never comes?",
    "exits": "Which call ends the whole program, or takes all the memory there is?",
    "missing": "Checks call the functions by the names of the stub.",
    "signature": "Checks call the functions with the parameters of the stub.",
}


def next_hint(exercise):
    """(text, what it is, whether it was shown before); None where there is no hint.

    What was shown on a diagnosis counts for as long as that is the diagnosis: when it
    returns, so do its hints. When all have been shown, they go round.
    """
    rungs, log = list(ladder(exercise)), journal.events(exercise.id)
    if not rungs:
        return None
    tag, since = last_diagnosis(exercise), -1
    for k, entry in enumerate(log):
        if entry["event"] == "check" and (entry.get("diag") or "") != tag:
            since = k
    places = {rung[:2]: n for n, rung in enumerate(rungs)}
    shown = [
        places[tuple(e["hint"])]
        for k, e in enumerate(log)
        if tuple(e.get("hint", ())) in places and (k > since or not e["hint"][0])
    ]
    fresh = [n for n in range(len(rungs)) if n not in shown]
    key, level, text, what = rungs[fresh[0] if fresh else (shown[-1] + 1) % len(rungs)]
    journal.append(exercise.id, "hint", hint=[key, level])
    return text, what, not fresh


def ladder(exercise):
    """(key, level, text, what) of all hints, in the order in which they are given."""
    tag = last_diagnosis(exercise)
    for key in dict.fromkeys((tag, tag.split(":")[0])):
        texts = _texts(exercise, key) if key else []
        for level, text in enumerate(texts):
            place = f"{level + 1} of {len(texts)}"
            yield key, level, text, f"{place}, on what was measured, {tag}"
        if texts:
            break
    general = _texts(exercise, "")
    for level, text in enumerate(general):
        yield "", level, text, f"{level + 1} of {len(general)}"


def described(exercise, key, level):
    """A hint that was shown, for the history: its place, and its text as it is now."""
    texts = _texts(exercise, key)
    place = f"{key} {level + 1}".strip()
    if level >= len(texts):  # the exercise has been edited since
        return place
    return f"{place} of {len(texts)}: {texts[level]}"


def _texts(exercise, key):
    """The hints under a key: the exercise's own, or that of the bank."""
    own = stubs.author_part(exercise.solution.read_text(encoding="utf-8"))
    bank = [OF_THE_BANK[key]] if key in OF_THE_BANK else []
    return own.get("HINTS", {}).get(key) or bank


def last_diagnosis(exercise):
    """The tag of the last check that failed, '' if there is none or it passed since."""
    for entry in reversed(journal.events(exercise.id)):
        if entry["event"] == "check":
            return entry.get("diag") or ""
    return ""
