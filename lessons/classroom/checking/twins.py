"""Name a mistake by the line of the exercise in loops that makes the same mistake.

A check may define the functions of its exercise once, in plain loops, between two marks:

    # THE EXERCISE IN LOOPS

    def scores(q, k):
        return np.array([[sum(a * b for a, b in zip(row, key)) for key in k] for row in q])

    # THE CHECK

This twin gives what is right. ``SPOILED`` is a list of edits of its lines:

    (name, sentence, hint, old, new)

If a comparison of the check fails, the same function of the check runs again for each
edit, with the same random numbers and the edited twin as the answer. If it comes to the
same comparison with the same results, the edit is the mistake: "yours equals" and its
sentence. If edits agree under different names, those of the function that the report is
about count; otherwise there is no name.
"""

import functools
import pathlib
import re

import numpy as np

from .. import stubs
from .harness import Harness

BEGIN, END = "# THE EXERCISE IN LOOPS\n", "# THE CHECK\n"
HEAD = "import math\n\nimport numpy as np\n\n\n"
CLOSE = 1e-9  # relative; two orders of the same sums differ by less


class Arrived(Exception):
    """A replay came to its comparison, with these results."""

    def __init__(self, results):
        self.results = results


class Replay(Harness):
    """A spoiled twin in the place of the answer, up to the comparison number ``end``.

    Gradients before that comparison are taken to be right.
    """

    def __init__(self, my, text, end):
        namespace = {}
        exec(_compiled(text), namespace)
        super().__init__(my._id, namespace, my._signatures, my._path, my._seed)
        self._let_own(my._calls.own)
        self._end = end

    def _arrive(self, results):
        if self._comparisons == self._end:
            raise Arrived(results)

    def _diagnose(self, *_):
        return "unknown", ""  # it stops here in any case

    def _check_gradients(self, *_, **__):
        pass


def name_of(failure, function, my, rng_of, passed):
    """Return (name, sentence) of the edit that makes the same mistake, or None.

    failure    a ``CheckFailed`` of a comparison
    function   of the check
    rng_of     (function) -> its generator of random numbers, at the start
    passed     the functions of the check that the answer has passed; so does the edit
    """
    text = text_of(function.__globals__)
    (end, results), part = failure.place, my._part(failure.lines)
    found, of_part = {}, {}
    for name, sentence, _, old, new in function.__globals__.get("SPOILED", ()):
        twin = spoiled(text, old, new)
        reached = replay(twin, my, function, rng_of, end)
        if reached and same(reached, results):
            if not any(replay(twin, my, f, rng_of) is None for f in passed):
                found.setdefault(name, sentence)
                if _function_at(text, old) == part:
                    of_part.setdefault(name, sentence)
    found = of_part if len(found) > 1 else found
    return next(iter(found.items())) if len(found) == 1 else None


def replay(twin, my, function, rng_of, end=0):
    """Return the results that a twin has at comparison ``end``; None if it fails before.

    end   0: the function runs to its end, and the result is ()
    """
    try:
        with np.errstate(all="ignore"):
            function(Replay(my, twin, end), rng_of(function))
    except Arrived as arrival:
        return arrival.results
    except Exception:  # another mistake, which fails before or in another way
        return None
    return ()


def text_of(check):
    """Return the text of the twin in the module of a check, or None if it has none.

    check   the names of the module
    """
    if "__file__" not in check:
        return None
    text = pathlib.Path(check["__file__"]).read_text(encoding="utf-8")
    _, begin, rest = text.partition(BEGIN)
    return HEAD + rest.partition(END)[0].strip() + "\n" if begin else None


def spoiled(text, old, new):
    """Return the twin with one edit. Raises StubError unless ``old`` occurs once."""
    if text.count(old) != 1:
        raise stubs.StubError(
            f"SPOILED: {old!r} occurs {text.count(old)} times in the exercise in "
            "loops; expected 1"
        )
    return text.replace(old, new)


@functools.cache  # an audit runs each edit for each other one
def _compiled(text):
    return compile(text, "the exercise in loops", "exec")


def _function_at(text, line):
    """Return the function of the twin in which a line stands."""
    return re.findall(r"^def (\w+)", text[: text.index(line)], re.MULTILINE)[-1]


def same(found, expected):
    """Return whether two comparisons have the same results: arrays, or sentences."""
    return len(found) == len(expected) and all(map(_is_equal, found, expected))


def _is_equal(a, b):
    if isinstance(a, str) or isinstance(b, str):
        return isinstance(a, str) and isinstance(b, str) and a == b
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        return False
    size = np.abs(a[np.isfinite(a)]).max(initial=0)
    return np.allclose(a, b, rtol=CLOSE, atol=CLOSE * size, equal_nan=True)
