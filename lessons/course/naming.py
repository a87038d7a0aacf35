"""Name a mistake: by the edit of the reference answer that gives the same results.

An edit names the mistake if it returns what the learner's function returned, in every
call of the check and in those of a second draw of its random numbers. First come the
mistakes that the exercise's file names, then identities (``bank``), such as a transpose,
which hold in the same calls where the result is wrong, then edits by rule (``slips``),
of which the shortest sentence counts.
"""

import contextlib
import signal
import threading
import warnings

import numpy as np

from . import bank, slips
from .calls import array_of
from .outcome import CheckFailed
from .read import compiled

SECONDS = 2.0  # of processor time, for the edits of one kind
MEMORY = 2**30  # bytes that an edit may use more than is used
EXACT = 1e-12  # relative; a result is wrong if it differs by more
SAME = 1e-7  # relative; two orders of the same sums differ by less
NUMBERS = 3  # different wrong numbers of an edit by rule; fewer agree by chance
WEAK = "scale", "unbroadcast", "permuted", "block"  # come after edits by rule


class OutOfTime(BaseException):
    """The time is over; not an Exception, which an edit may catch."""


def named(failure, my, second):
    """Return a failure with the name of the mistake, if one is found.

    second   the calls of the same part of the check with other random numbers
    """
    identity = None
    with warnings.catch_warnings(action="ignore"):  # of edits that are no good code
        search = Search(failure, my, second)
        with bounded():
            if found := search.written():
                return with_name(failure, *found)
        if failure.arrays:
            pairs = [failure.arrays, *search.alike(my.last, failure.arrays)]
            identity = bank.identity(pairs, failure.back, my.text)
        if identity and not identity[0].startswith(WEAK):
            return with_name(failure, identity[1], "", identity[0])
        with bounded():
            if found := my.searches and search.by_rule():
                return with_name(failure, *found)
    if identity:
        return with_name(failure, identity[1], "", identity[0])
    return failure


def with_name(failure, sentence, question, tag=None):
    """Return the failure with a sentence below its lines, and the question."""
    if tag is None:  # of an edit
        tag, sentence = sentence, f"yours equals {sentence}"
    found = CheckFailed(tag, *failure.unfolded, sentence, *[question] * bool(question))
    found.arrays, found.back = failure.arrays, failure.back
    return found


class Search:
    """The calls of the function that failed, and which edits repeat their results.

    wrong   those whose result is not that of the reference; calls has them first
    """

    def __init__(self, failure, my, second):
        self.source, self.name, self.wrong, rest = my.source, my.last.name, [], []
        self.parts, self.right = {self.name, *self.source.uses[self.name]}, my.right
        for call in (*my.log, *second):
            # where a result is wrong already, its backward is as well
            if call.name in self.parts and (failure.back or not call.gs):
                is_wrong = not same(call.of_reference(my.right), call.result)
                (self.wrong if is_wrong else rest).append(call)
        self.calls = [*self.wrong, *rest]

    def pairs(self, call):
        """Return {number of a result of a call: (found, right)} of the wrong ones."""
        both = zip(leaves(call.result), leaves(call.of_reference(self.right)))
        return {k: pair for k, pair in enumerate(both) if not same(*pair, EXACT)}

    def alike(self, last, arrays):
        """Return the pairs of all calls for the result of the last one that failed.

        arrays   its pair
        """
        for place, pair in self.pairs(last).items():
            if same(pair, arrays):
                break
        else:
            return []
        kind = last.name, not last.gs
        calls = [call for call in self.calls if (call.name, not call.gs) == kind]
        return [pairs[place] for pairs in map(self.pairs, calls) if place in pairs]

    def written(self):
        """Return (sentence, question) of a mistake that the file names, or None."""
        own = self.source.functions[self.name]
        edits = sorted(
            self.source.slips,
            key=lambda edit: not own.lineno <= edit.line + 1 <= own.end_lineno,
        )
        for edit in edits if self.wrong else ():
            if self.agrees(edit):
                return edit.sentence, self.source.question(edit.line)

    def by_rule(self):
        """Return (sentence, question) of the shortest edit by rule, or None."""
        found = []
        pairs = [pair for call in self.wrong for pair in self.pairs(call).values()]
        if evidence(pairs) >= NUMBERS:
            with contextlib.suppress(OutOfTime):
                for edit in slips.edits(self.source, self.name, self.parts):
                    if self.agrees(edit):
                        found.append(edit)
        if found:
            # a part left out is the plainest; of the others the shortest
            edit = min(found, key=lambda e: ("without" not in e.sentence, len(e.sentence)))
            return edit.sentence, self.source.question(edit.line)

    def agrees(self, edit):
        """Return whether an edited answer returns the learner's results throughout.

        Functions that do not use the edited one return what the reference returns.
        """
        users = self.source.affected(edit.line)
        if not {call.name for call in self.wrong} <= users:
            return False
        names = {"__name__": "edited", "__file__": self.source.path}
        try:
            with np.errstate(all="ignore"):
                exec(compiled(edit.text, "edited"), names)
                return all(
                    same(call.repeat(names), call.result)
                    for call in self.calls
                    if call.name in users
                )
        except Exception:  # another mistake
            return False


def evidence(pairs):
    """Return how many different wrong numbers there are in [(found, right)]."""
    numbers = set()
    for a, b in pairs:
        if a.shape == b.shape and a.dtype.kind == b.dtype.kind == "f":
            off = ~np.isclose(a, b) & np.isfinite(a)
            numbers |= {*np.round(a[off], 12).tolist()}
        elif a.shape == b.shape:
            numbers |= {(len(numbers), k) for k in range((a != b).sum())}
        else:
            numbers |= {*a[np.isfinite(a)].tolist()} if a.dtype.kind == "f" else {1}
    return len(numbers)


def leaves(value):
    """Return the arrays of a result; [] for an object without arrays."""
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value, key=str)]
    elif not isinstance(value, tuple) and (array := array_of(value)) is not None:
        return [array]
    if isinstance(value, (tuple, list)):
        return [leaf for each in value for leaf in leaves(each)]
    return [np.asarray(value)] if isinstance(value, str) else []


def same(a, b, close=SAME):
    """Return whether two results are equal: numbers, arrays, collections of them."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, Exception) or isinstance(b, Exception):
        return type(a) is type(b)
    if callable(a) or callable(b):
        return callable(a) and callable(b)
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    try:
        a, b = np.asarray(a, float), np.asarray(b, float)
    except (TypeError, ValueError):  # of text, and of other objects
        return type(a) is type(b) and np.array_equal(a, b)
    if a.shape != b.shape:
        return False
    size = np.abs(b[np.isfinite(b)]).max(initial=0)
    return bool(np.allclose(a, b, close, close * size, equal_nan=True))


@contextlib.contextmanager
def bounded():
    """End the block without an error when its time is over; limit its memory too."""
    with contextlib.suppress(OutOfTime), limited(SECONDS), less_memory():
        yield


@contextlib.contextmanager
def less_memory():
    """Let an edit that needs gigabytes raise MemoryError, where it can be limited."""
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[5]) * resource.getpagesize()
    except (ImportError, OSError):
        yield
        return
    before, most = resource.getrlimit(resource.RLIMIT_DATA)
    known = [n for n in (before, used + MEMORY) if n != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(known), most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, most))


@contextlib.contextmanager
def limited(seconds):
    """Raise OutOfTime in the block after this processor time, where possible."""
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        raise OutOfTime  # nothing would stop an edited loop that does not end

    def stop(*_):
        raise OutOfTime

    if of_check := signal.getitimer(signal.ITIMER_PROF)[0]:  # the runner's limit
        seconds = min(seconds, of_check / 2)
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
