"""Hints: on the mistake that the last check named, on the function, and in general.

An exercise's own hints stand in HINTS of its file, under the name of a function, or ""
for the general ones. Here is one for each mistake that the engine
knows. The journal says which were shown; after the last hint, the first one is shown
again.
"""

from .. import journal

FOR_KNOWN_MISTAKES = {
    "none": "Does every path through the function return a value?",
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
        "Write the result with its indices, in the order of the task. Which indices of "
        "a product are summed, and which remain?"
    ),
    "scale": (
        "Every entry is off by one factor. A sign, a mean where a sum belongs, or a "
        "1 / sqrt(d) that is missing or doubled?"
    ),
    "stateful": "A value is kept from one call to the next, or drawn at random.",
    "block": "All other entries are right. What is special about the named part?",
    "mutates-input": (
        "Take a copy before changing an array, a list or a dict in place. np.broadcast_to "
        "and .diagonal return views that cannot be written to."
    ),
    "float32": "Keep the dtype of the inputs; they are float64 in a check.",
    "nearly": (
        "Where are digits lost: in a difference of nearly equal numbers, or because a "
        "small term is left out?"
    ),
    "reversed": "In which direction does the index run?",
    "epsilon": (
        "A small number was added. Add it only where a divisor or the argument of a "
        "logarithm can be 0. Elsewhere it makes right numbers wrong."
    ),
    "complement": "True means: may attend.",
    "shape": "Write the shape of each intermediate at the end of its line.",
    "no-keepdims": (
        "A sum, a mean or a maximum removes its axis. keepdims=True keeps it, with "
        "length 1."
    ),
    "dtype": "Which operation gives the numbers this dtype?",
    "recursion": (
        "Python allows about a thousand nested calls. Does the recursion end?"
    ),
    "timeout": "Which loop does not end, or has far more turns than it needs?",
    "exits": "Which call ends the whole program, or needs more memory than there is?",
    "memory": "A check may use 2 GiB. Which array is that large? Print its shape.",
    "patches": (
        "The check uses the same module. Write your own function under your own name; "
        "leave the module as it is."
    ),
    "differences": (
        "A difference quotient has about 10 digits, a formula 15. Derive the formula; "
        "differences are for checking it."
    ),
    "type": "Return an array, or a list of rows of equal lengths.",
    "syntax": "Python names the line; the mistake may be on the line before it.",
}


def next_hint(exercise):
    """Return (text, what it is, whether it was shown before); None without hints.

    A text that stands in two lists is shown once. Hints on a diagnosis that comes back
    come back as well. When all have been shown, they start again.
    """
    log = journal.events(exercise.id)
    checks = [k for k, entry in enumerate(log) if entry["event"] == "check"]
    tag = log[checks[-1]]["diag"] or "" if checks else ""
    part = log[checks[-1]].get("part") or "" if checks else ""
    since = max((k for k in checks if (log[k]["diag"] or "") != tag), default=-1)
    hints = _all_hints(exercise, tag, part)
    if not hints:
        return None
    own = {tag, tag.split(":")[0]} - {""}  # the keys of hints on the last diagnosis
    shown = [
        _text(exercise, *entry["hint"])
        for k, entry in enumerate(log)
        if entry["event"] == "hint" and (k > since or entry["hint"][0] not in own)
    ]
    texts = [text for _, _, text, _ in hints]
    fresh = [n for n, text in enumerate(texts) if text not in shown]
    last = texts.index(shown[-1]) if shown and shown[-1] in texts else -1
    n = fresh[0] if fresh else (last + 1) % len(hints)
    key, level, text, what = hints[n]
    journal.append(exercise.id, "hint", hint=[key, level])
    return text, what, not fresh


def own_hints(exercise):
    """Return {name of a function, or "": hints} of an exercise."""
    return exercise.parts.hints


def hint_in_words(exercise, key, level):
    """Return a hint that was shown: its number and, if it still exists, its text."""
    number, text = f"{key} {level + 1}".strip(), _text(exercise, key, level)
    return f"{number}: {text}" if text else number


def _all_hints(exercise, tag, part):
    """Return [(key, level, text, what it is)], in the order of giving.

    First those for the mistake ``tag``, or for its kind, scale for scale:1/3; then
    those for the function ``part``, then the general ones.
    """
    kinds = [key for key in (tag, tag.split(":")[0]) if key and _texts(exercise, key)]
    keys = [*kinds[:1], *[part] * (part not in kinds and bool(part)), ""]
    found = []
    for key in keys:
        texts = _texts(exercise, key)
        about = f", on the mistake that was found, {tag}" if key else ""
        about = f", on {part}" if key and key == part else about
        for level, text in enumerate(texts):
            if text not in [hint[2] for hint in found]:
                found.append((key, level, text, f"{level + 1} of {len(texts)}{about}"))
    return found


def _text(exercise, key, level):
    """Return the text of a hint; "" if it no longer exists."""
    return dict(enumerate(_texts(exercise, key))).get(level, "")


def _texts(exercise, key):
    """Return the hints under a key: the exercise's own, or the one for all."""
    known = [FOR_KNOWN_MISTAKES[key]] if key in FOR_KNOWN_MISTAKES else []
    return own_hints(exercise).get(key) or known
