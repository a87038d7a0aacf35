"""Name a mistake by the line of the exercise in loops that makes the same mistake.

A check may define the functions of its exercise once, in plain loops, between two marks:

    # THE EXERCISE IN LOOPS

    def scores(q, k):
        return np.array([[sum(a * b for a, b in zip(row, key)) for key in k] for row in q])

    # THE CHECK

This twin gives what is right. It may lack functions, such as one that draws; a function
of the check that calls one of these says nothing about an edit. ``SPOILED`` is a list of
edits of its lines:

    (name, sentence, hint, old, new)

If a comparison of the check fails, the same function of the check runs again for each
edit, with the same random numbers and the edited twin as the answer. If it fails at the
same comparison with the same results, the edit is the mistake: "yours equals" and its
sentence. It also has to come to the results of the answer in the other comparisons of
that function, with other random numbers: for D = 3, D / 2 is 1.5. If edits agree under
different names, those of the function that the report is about count; otherwise there
is no name.
"""

import contextlib
import functools
import io
import pathlib
import re
import zlib

import numpy as np

from .. import stubs
from ..steps import CheckFailed
from .harness import Harness

BEGIN, END = "# THE EXERCISE IN LOOPS\n", "# THE CHECK\n"
HEAD = "import math\n\nimport numpy as np\n\n\n"
CLOSE = 1e-9  # relative; two orders of the same sums differ by less


class PlainHarness(Harness):
    """Other functions in the place of the answer: no diagnosis, no gradient check."""

    def __init__(self, my, namespace, seed):
        super().__init__(my._id, namespace, my._signatures, my._path, seed)
        self._let_own(my._calls.own)

    def _diagnose(self, *_):
        return "unknown", ""

    def _check_gradients(self, *_, **__):
        pass


class Lacking(Exception):
    """A replay came to a function that the twin lacks."""


class Differs(Exception):
    """A replay came to its comparison with other results than the answer."""


class Replay(PlainHarness):
    """A spoiled twin in the place of the answer, which failed at ``place``.

    Gradients before that comparison are taken to be right.

    place   (number of the comparison, its results)
    """

    def __init__(self, my, text, place):
        super().__init__(my, functions_of(text), my._seed)
        self._end, self._results = place

    def __getattr__(self, name):
        if name in self._signatures and name not in self._namespace:
            raise Lacking(name)
        return super().__getattr__(name)

    def _arrive(self, results):
        if self._comparisons == self._end and not same(results, self._results):
            raise Differs

    def _check_gradients(self, *args):
        if self._comparisons == self._end:
            Harness._check_gradients(self, *args)


class Recorder(PlainHarness):
    """The results of all comparisons of numbers: {number: (part, results)}."""

    def __init__(self, my, namespace):
        super().__init__(my, namespace, my._seed + 1)
        self.results = {}

    @contextlib.contextmanager
    def _comparing(self, *results):
        with contextlib.suppress(CheckFailed), super()._comparing(*results):
            yield

    def _arrive(self, results):  # a truth has too few digits to tell mistakes apart
        if not any(isinstance(r, (str, bool)) for r in results):
            self.results[self._comparisons] = self._part([]), results


def name_of(failure, function, my, rng_of, passed):
    """Return (name, sentence) of the edit that makes the same mistake, or None.

    failure    a ``CheckFailed`` of a comparison
    function   of the check
    rng_of     (function) -> its generator of random numbers, at the start
    passed     the functions of the check that the answer has passed; so does the edit
    """
    text, part = text_of(function.__globals__), my._part(failure.lines)
    found, of_part, learners = {}, {}, None
    for name, sentence, _, old, new in function.__globals__.get("SPOILED", ()):
        twin = spoiled(text, old, new)
        if not fails_alike(twin, my, function, rng_of, failure.place):
            continue
        learners = learners or second_draw(my, my._namespace, function)
        again = second_draw(my, functions_of(twin), function)
        if _agree(again, learners, failure.place[0]):
            if all(passes(twin, my, f, rng_of) for f in passed):
                found.setdefault(name, sentence)
                if _function_at(text, old) == part:
                    of_part.setdefault(name, sentence)
    found = of_part if len(found) > 1 else found
    return next(iter(found.items())) if len(found) == 1 else None


def fails_alike(twin, my, function, rng_of, place):
    """Return whether a twin fails at the same comparison, with the same results."""
    return _failed_at(twin, my, function, rng_of, place) == place[0]


def passes(twin, my, function, rng_of):
    """Return whether a twin passes a function of the check, but for its gradients."""
    return _failed_at(twin, my, function, rng_of, (None, ())) is None


def _failed_at(twin, my, function, rng_of, place):
    """Return the number of the comparison that fails; None if the function passes."""
    try:
        with np.errstate(all="ignore"):
            function(Replay(my, twin, place), rng_of(function))
    except CheckFailed as failure:
        return failure.place[0] if failure.place else 0
    except Lacking:
        return None
    except Exception:  # another mistake, which fails before or in another way
        return 0
    return None


def second_draw(my, namespace, function):
    """Return {number of a comparison: (part, results)}, with other random numbers."""
    recorder, name = Recorder(my, namespace), function.__name__
    rng = np.random.default_rng((my._seed, 1, zlib.crc32(name.encode())))
    with contextlib.suppress(Exception), np.errstate(all="ignore"), silent():
        function(recorder, rng)
    return recorder.results


def _agree(found, expected, end):
    """Return whether the comparisons agree that concern the part of number ``end``."""
    if end not in expected:  # a law, or the answer raised before
        return True
    part = expected[end][0]
    return all(
        same(found[n][1], results)
        for n, (of, results) in expected.items()
        if of == part and n in found
    )


def silent():
    """Keep what the answer prints once more out of the report."""
    return contextlib.redirect_stdout(io.StringIO())


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


def functions_of(text):
    """Return the functions of a twin: {name: function}."""
    namespace = {}
    exec(_compiled(text), namespace)
    return namespace


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
