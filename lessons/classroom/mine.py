"""``my`` in a check: the learner's functions, called with care, and what is expected.

A call hands over copies that cannot be written to, and turns whatever is raised into a
sentence with the learner's own line. What it returns is remembered together with the
call, so that a report can say which call it was.
"""

import inspect
import traceback

import numpy as np

from lessons import NotWritten

from . import blame, diagnose, show
from .failure import CheckFailed
from .handed import first_changed, sealed
from .staircase import Outcome

NO_RESULT = object()  # of a call that is under way, or has raised


class Mine:
    """What a learner wrote.

    my.f(…)                   the learner's f
    my.equal(got, want)       equal values; else: which entry, and which mistake
    my.shape(got, shape)      shape and dtype alone
    my.holds(truth, tag, …)   a law; the sentences are the report if it does not hold
    my.gradients(op, inputs)  a backward, against finite differences
    """

    def __init__(self, id, namespace, signatures, path, seed=0):
        self._id, self._namespace, self._path = id, namespace, str(path)
        self._signatures, self._seed = signatures, seed
        self._calls = []  # (result, description) at begin and end, the latest last
        self._widths = {}  # description -> the last axes of the arrays handed over

    def __getattr__(self, name):
        if name.startswith("__") or name not in self._namespace:
            raise AttributeError(f"{self._id} has no {name}")
        value = self._namespace[name]
        return self._careful(name, value) if callable(value) else value

    def equal(
        self,
        got,
        want,
        axes=None,
        variants=(),
        rtol=1e-9,
        atol=1e-12,
        mask=None,
        size=0.0,
    ):
        """Fail unless ``got`` is ``want``, in shape, dtype and value.

        axes      the letters of the axes, "ts", for the report
        variants  (tag, what, array) of wrong answers that have a name; ``what`` ends
                  the sentence "yours equals …"
        rtol, atol  |got - want| may be atol * max|want| + rtol * |want|
        size      at least so large are the numbers that were added: for max|want|
        mask      of want's shape, False where what is masked must have no weight
        """
        __tracebackhide__ = True
        want, variants = np.asarray(want), list(variants)  # they are read twice
        call = self._call_of(got)
        array = self._array(got, call)
        if array.shape != want.shape:
            tag, sentence = diagnose.of_values(array, want, variants)
            if tag not in ("unbroadcast", "transpose", *(v[0] for v in variants)):
                tag, sentence = "shape", ""
            raise CheckFailed(
                tag,
                call,
                *show.shapes(array, want.shape, axes),
                *filter(None, [sentence]),
            )
        self._dtype(array, want, call)
        if want.dtype.kind == "f":
            size = np.abs(want[np.isfinite(want)]).max(initial=size)
            right = np.isclose(array, want, rtol, atol * size, equal_nan=True)
        else:
            right = array == want
        if right.all():
            return
        widths = self._widths.get(call, ())
        tag, sentence = diagnose.of_values(array, want, variants, mask, widths)
        raise CheckFailed(
            tag,
            call,
            *show.differences(array, want, right, axes),
            f"{sentence}  [{tag}]",
        )

    def shape(self, got, shape, axes=None, dtype=np.float64):
        """Fail unless ``got`` is an array of this shape and dtype."""
        __tracebackhide__ = True
        call = self._call_of(got)
        array = self._array(got, call)
        if array.shape != tuple(shape):
            backwards = array.ndim > 1 and array.shape == tuple(shape)[::-1]
            tag = "transpose" if backwards else "shape"
            raise CheckFailed(tag, call, *show.shapes(array, shape, axes))
        self._dtype(array, np.empty(0, dtype), call)

    def holds(self, truth, tag, *sentences, call=None):
        """Fail with ``tag`` and the sentences, expected first, unless ``truth``.

        call  the call that the report shows: the name of a function, for its latest,
              or a text of its own; the last call of all if left out
        """
        __tracebackhide__ = True
        if not truth:
            raise CheckFailed(tag, *self.last_call(call), *sentences)

    def last_call(self, of=None):
        """[the last call, as text], of one function or of all; empty if there is none.

        A call that is under way, or that has raised, is the last one as well.
        """
        calls = [call for _, call in self._calls]
        if of is None:
            return calls[-1:]
        return [call for call in calls if call.startswith(f"{of}(")][-1:] or [of]

    def gradients(self, op, inputs, names=None, no_gradient=(), **known):
        """Fail unless the backward of ``op`` is right at ``inputs``.

        op           a function of the learner, my.tanh, or one made of several: arrays
                     -> (array, backward), backward(g) -> a gradient for each input
        names        of the inputs, for the report; its parameters' if left out
        no_gradient  numbers of the inputs whose true gradient is 0
        variants     {name: [(tag, what, function of g)]}, wrong gradients with a name
        blocks       {name: {"r": index}}, parts of an input with a name: gates of a GRU
        """
        __tracebackhide__ = True
        names = names or list(inspect.signature(op).parameters)
        title = getattr(op, "__name__", "op")
        call = show.call(title, names, inputs)
        self._calls.append((NO_RESULT, call))
        self._try_backward(op, inputs, call)
        found = diagnose.of_gradients(op, inputs, names, self._seed, no_gradient)
        if found:
            named = diagnose.of_backward(op, inputs, names, self._seed, **known)
            tag, text = found
            if named:
                k, tag, sentence = named
                about = op, inputs, names, self._seed, no_gradient, k
                text = diagnose.of_gradients(*about)[1]
                text = diagnose.with_sentence(text, sentence)
            raise CheckFailed(tag, call, text)

    def first_wrong(self, yours, right):
        """Fail unless a chain of gradients, {name: array} from the loss on, is right.

        The report names the first that is wrong, and the one before it, which agrees.
        """
        __tracebackhide__ = True
        found = diagnose.first_wrong(yours, right)
        if found:
            name, sentence = found
            try:
                self.equal(yours[name], right[name], rtol=1e-7)
            except CheckFailed as failure:
                raise CheckFailed(failure.tag, *failure.lines, sentence) from None

    def written(self):
        """The outcome of the step "written": every function there, as it was."""
        for name, expected in self._signatures.items():
            value = self._namespace.get(name)
            if not callable(value):
                lines = [f"MISSING FUNCTION -> {name}({', '.join(expected)})"]
                if name in self._namespace:  # local_mask = 3, below the function
                    lines = [f"{name} is no function: it is {show.brief(value)}"]
                else:
                    lines += show.did_you_rename(name, self._namespace)
                return Outcome("written", "functions", "failed", "missing", lines)
            found = show.parameters(value)
            if found is not None and found != expected:
                lines = [
                    f"{name} takes other arguments",
                    f"expected  {name}({', '.join(expected)})",
                    f"found     {name}({', '.join(found)})",
                ]
                return Outcome("written", "functions", "failed", "signature", lines)
        return Outcome("written", "functions", "ok")

    def _careful(self, name, function, of=""):
        def careful(*args, **options):
            __tracebackhide__ = True
            names = show.parameters(function) or []
            call = show.call(name, names, args, options) + of
            given = [*args, *options.values()]
            self._widths[call] = {a.shape[-1] for a in given if _has_axes(a)}
            args = [sealed(a) for a in args]
            options = {key: sealed(a) for key, a in options.items()}
            before = [sealed(a) for a in (*args, *options.values())]
            self._calls.append((NO_RESULT, call))  # under way
            result = NO_RESULT
            try:
                result = self._guard(call, function, *args, **options)
            finally:
                self._calls.append((result, call))
            names = [*names[: len(args)], *options]
            which = first_changed(names, before, [*args, *options.values()])
            if which:
                said = f"changes {which}, which was given to it"
                raise CheckFailed("mutates-input", call, said)
            if isinstance(result, tuple):  # (array, backward): that one too
                result = tuple(
                    self._careful(show.inner(r), r, f" of {call}") if callable(r) else r
                    for r in result
                )
                self._calls[-1] = result, call
            return result

        careful.__name__ = name
        careful.__signature__ = inspect.signature(function)
        return careful

    def _guard(self, call, function, *args, **options):
        """Call ``function``; what it raises becomes a sentence."""
        __tracebackhide__ = True
        try:
            return function(*args, **options)
        except (NotWritten, CheckFailed):
            raise
        except SystemExit as error:
            text = f"the program was told to stop, by SystemExit({error})"
            raise CheckFailed("raises", call, text) from None
        except Exception as error:
            where = [
                f"line {frame.lineno}:  {frame.line}"
                for frame in traceback.extract_tb(error.__traceback__)
                if frame.filename == self._path
            ][-1:]
            text = f"{type(error).__name__}: {error}"
            if isinstance(error, ValueError) and "read-only" in str(error):
                given = blame.is_given(error, self._path)
                tag = "read-only" if given is False else "mutates-input"
                text = "an array that it was given" if given else "a read-only array"
                raise CheckFailed(tag, call, f"writes into {text}", *where) from error
            tag = "recursion" if isinstance(error, RecursionError) else "raises"
            raise CheckFailed(tag, call, text, *where) from error

    def _try_backward(self, op, inputs, call):
        """Run once: what is unwritten, or raises, shows here and not in the middle."""
        returned = op(*map(sealed, inputs))
        pair = isinstance(returned, tuple) and len(returned) == 2
        if not pair or not callable(returned[1]):
            found = type(returned).__name__
            text = f"expected (array, backward), found {found}"
            raise CheckFailed("no-backward", call, text)
        y, backward = returned
        if not isinstance(y, tuple):
            self._array(y, call)
            c = np.random.default_rng(self._seed).normal(size=np.shape(y))
            backward(c)

    def _call_of(self, got):
        """The call that returned ``got``; the last one, if none did."""
        for result, call in reversed(self._calls):
            if result is got or (isinstance(result, tuple) and _among(got, result)):
                return call
        return self._calls[-1][1] if self._calls else self._id

    def _array(self, got, call):
        __tracebackhide__ = True
        number = isinstance(got, (bool, int, float, np.generic))
        if not number and not isinstance(got, np.ndarray):
            found = "None: nothing is returned" if got is None else type(got).__name__
            tag = "none" if got is None else "type"
            raise CheckFailed(tag, call, f"expected an array, found {found}")
        return np.asarray(got)

    def _dtype(self, array, want, call):
        __tracebackhide__ = True
        kind, found = want.dtype.kind, array.dtype
        if kind == "f" and found.kind == "f" and found.itemsize < 8:
            text = f"the numbers are {found}, expected float64: the inputs were float64"
            raise CheckFailed("float32", call, text)
        if found.kind != kind and {found.kind, kind} != {"i", "u"}:
            text = f"expected an array of {want.dtype}, found {found}"
            raise CheckFailed("dtype", call, text)


def _has_axes(value):
    return isinstance(value, np.ndarray) and value.ndim > 0


def _among(got, results):
    return any(got is each for each in results)
