"""``my`` in a check: the functions of an answer, and comparisons with what is right."""

import contextlib
import difflib
import functools
import importlib
import inspect
import linecache
import re
import types

import numpy as np

from .. import stubs
from ..steps import CheckFailed, Outcome
from . import diagnose, hypotheses
from .calls import (
    Call,
    Calls,
    array_of_rows,
    brief,
    call_text,
    own_line,
    parameters,
    readonly,
)

SUMS = (
    "sum-over-everything",
    "sum-over-axis",
    "mean-over-everything",
    "mean-over-axis",
    "plain-mean",
    "plain-sum",
)


def load(exercise, path, text=None, seed=0):
    """Run the file at ``path``; return its ``Harness``. Raises what the file raises.

    text  replaces the text of the file: a planted mistake
    """
    text = stubs.text_of(path) if text is None else text
    module = types.ModuleType(exercise.stem)
    module.__file__ = str(path)
    # compiled from the text, not imported: no stale bytecode; tracebacks need linecache
    linecache.cache[str(path)] = (len(text), None, text.splitlines(True), str(path))
    exec(compile(text, str(path), "exec"), module.__dict__)
    signatures = stubs.signatures(exercise.source.read_text(encoding="utf-8"))
    return Harness(exercise.id, module.__dict__, signatures, path, seed)


def cannot_load(error, path):
    """Return the ``CheckFailed`` for an exception that ``load`` raised."""
    if isinstance(error, SyntaxError):
        lines = [f"the file is not Python yet: {error.msg}"]
        if error.lineno:  # Python gives no line for a NUL byte
            lines.append(f"line {error.lineno}:  {(error.text or '').strip()}")
        return CheckFailed("syntax", *lines)
    said = f"{type(error).__name__}: {error}".removesuffix(": ")
    where = own_line(error, path)
    return CheckFailed("raises", f"{said}, when the file is loaded", *where)


def load_checks(exercise):
    """Return the module of checks of an exercise."""
    return importlib.import_module(f"lessons.checks.{exercise.stem}")


def _with_arrays(op):
    """Return ``op`` with lists as arrays and pairs: [y, backward], [[1.0, 2.0], …].

    Inputs of an exercise are float64, also where a gradient check tries float32.
    """

    def in_float64(x):
        is_float = isinstance(x, np.ndarray) and x.dtype.kind == "f"
        return x.astype(float, copy=False) if is_float else x

    def convert(result):
        is_plain = isinstance(result, (list, int, float))
        if isinstance(result, tuple):  # a vector, not several arrays
            is_plain = not any(map(np.ndim, result))
        rows = array_of_rows(result) if is_plain else None
        return result if rows is None else rows

    @functools.wraps(op)
    def wrapper(*inputs):
        returned = op(*map(in_float64, inputs))
        pair = isinstance(returned, (tuple, list)) and len(returned) == 2
        if not pair or not callable(returned[1]):
            return returned
        y, backward = returned

        def as_arrays(g):
            found = backward(g)
            rows = isinstance(found, np.ndarray) and found.shape[:1] == (len(inputs),)
            if len(inputs) > 1 and (rows or isinstance(found, (tuple, list))):
                return tuple(map(convert, found))
            if isinstance(found, (tuple, list)) and len(found) == 1:
                rows = array_of_rows(found)  # (dx,), or one row of numbers
                if rows is not None and rows.shape != np.shape(inputs[0]):
                    return found[0]
            return convert(found)

        return convert(y), as_arrays

    return wrapper


class Harness:
    """The learner's functions, and the comparisons of a check.

    my.f(…)                   the learner's f
    my.equal(got, want)       the values are equal; else: which entry, which mistake
    my.shape(got, shape)      the shape and dtype are right
    my.holds(truth, tag, …)   a law holds; else the sentences are the report
    my.gradients(op, inputs)  a backward agrees with finite differences
    """

    def __init__(self, id, namespace, signatures, path, seed=0):
        self._id, self._namespace, self._path = id, namespace, str(path)
        self._signatures, self._seed, self._calls = signatures, seed, Calls(path)
        self._comparisons = 0  # how many were made
        self._searched = 0.0  # seconds, for a mistake that nobody wrote down
        self.after_pass = []  # lines to print when the whole check has passed

    def __getattr__(self, name):
        if name.startswith("__") or name not in self._namespace:
            raise AttributeError(f"{self._id} has no {name}")
        value = self._namespace[name]
        if callable(value):
            value = self._calls.wrap(name, value)
            setattr(self, name, value)  # wrapped once: a gradient check calls it often
        return value

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
        call=None,
    ):
        """Fail unless ``got`` equals ``want`` in shape, dtype and value.

        axes        the letters of the axes, "ts", for the report; or {"d": (3, 5)}, if
                    an axis has other coordinates than 0, 1, 2
        variants    (tag, text, array): wrong answers that have a name; the text ends
                    the sentence "yours equals …"
        rtol, atol  allow |got - want| <= atol * max|want| + rtol * |want|
        size        the size of the added numbers, where max|want| would be too small
        mask        of want's shape, False where a masked entry must have no weight
        call        the text of the call for the report, if ``got`` is not its result
        """
        __tracebackhide__ = True
        want, variants = np.asarray(want), list(variants)  # they are read twice
        made = self._calls.of(got) or (Call(call) if call else self._last)
        self._calls.failed, call = made, call or made.text
        array = self._array(got, call, want.dtype)
        made.compared = {"found": array, "expected": want}
        with self._comparing(array):
            if array.shape != want.shape:
                tag, sentence = self._diagnose(got, array, want, variants, None, made)
                known = "unbroadcast", "transpose", *SUMS, *(v[0] for v in variants)
                if tag not in known:
                    tag, sentence = "shape", ""
                lines = diagnose.shapes(array, want.shape, axes)
                raise CheckFailed(tag, call, *lines, *filter(None, [sentence]))
            self._check_dtype(array, want.dtype, call, made)
            if want.dtype.kind == "f":
                size = np.abs(want[np.isfinite(want)]).max(initial=size)
                right = np.isclose(array, want, rtol, atol * size, equal_nan=True)
            else:
                right = array == want
            if right.all():
                self._calls.failed, made.compared = None, {}
                return
            tag, sentence = self._diagnose(got, array, want, variants, mask, made)
            lines = diagnose.differences(array, want, right, axes)
            raise CheckFailed(tag, call, *lines, f"{sentence}  [{tag}]")

    def shape(self, got, shape, axes=None, dtype=np.float64):
        """Fail unless ``got`` is an array of this shape and dtype."""
        __tracebackhide__ = True
        made = self._calls.failed = self._calls.of(got) or self._last
        call = made.text
        array = self._array(got, call, np.dtype(dtype))
        with self._comparing(array):
            if array.shape != tuple(shape):
                backwards = array.ndim > 1 and array.shape == tuple(shape)[::-1]
                tag = "transpose" if backwards else "shape"
                raise CheckFailed(tag, call, *diagnose.shapes(array, shape, axes))
            self._check_dtype(array, np.dtype(dtype), call, made)
        self._calls.failed = None

    def holds(self, truth, tag, *sentences, call=None):
        """Fail with ``tag`` and the sentences, expected first, unless ``truth``.

        call  the call that the report shows: the name of a function, for its latest
              call, or a text; without it, the last call of all
        """
        __tracebackhide__ = True
        if isinstance(truth, str):  # the form of lessons/course: a function, its law
            call, truth = truth, tag
            tag, *sentences = sentences[2:] or ("law",), *sentences[:2]
            tag = tag[0]
            sentences = [f"expected {sentences[0]}", f"found {sentences[1]}"]
        if isinstance(truth, np.ndarray) and truth.size != 1:
            # the learner returned it, in the place of one truth
            text = "expected one True or False", f"found {brief(truth)}"
            raise CheckFailed("type", *self.last_call(call), *text)
        with self._comparing(bool(truth), *sentences):
            if not truth:
                raise CheckFailed(tag, *self.last_call(call), *sentences)

    def last_call(self, of=None):
        """Return [the last call as text], of one function or of all; [] if none.

        A call that has not returned yet, or that raised, counts as well.
        """
        calls = [call.text for call in self._calls.log]
        if of is None:
            return calls[-1:]
        return [call for call in calls if call.startswith(f"{of}(")][-1:] or [of]

    def gradients(self, op, inputs, names=None, no_gradient=(), **known):
        """Fail unless the backward of ``op`` is right at ``inputs``.

        op           a learner's function, my.tanh, or one made of several: arrays
                     -> (array, backward), backward(g) -> a gradient for each input
        names        of the inputs, for the report; without it, the parameters of op
        no_gradient  numbers of the inputs whose true gradient is 0
        variants     {name: [(tag, text, function of g)]}: wrong gradients with a name
        blocks       {name: {"r": index}}: named parts of an input, such as GRU gates
        """
        __tracebackhide__ = True
        names = names or list(inspect.signature(op).parameters)
        code = getattr(op, "__code__", None)  # the learner's function that op calls
        own = [name for name in code.co_names if name in self._signatures] if code else []
        name = getattr(op, "__name__", "op")
        name = name if name in self._signatures or not own else own[0]
        text = call_text(name, names, inputs)
        call = Call(text, dict(zip(names, inputs)))
        self._calls.log.append(call)
        op = _with_arrays(op)
        op.__name__ = name
        with self._comparing(*self._try_backward(op, inputs, text)):
            self._check_gradients(op, inputs, names, no_gradient, call, known)

    def _check_gradients(self, op, inputs, names, no_gradient, call, known):
        found = diagnose.of_gradients(
            op, inputs, names, self._seed, no_gradient, case=call.compared, **known
        )
        self._calls.failed = call if found else None
        if found:
            raise CheckFailed(found[0], call.text, found[1])

    @contextlib.contextmanager
    def _comparing(self, *results):
        """Count a comparison; a failure in the block notes its place and results."""
        __tracebackhide__ = True
        self._comparisons += 1
        self._arrive(results)
        try:
            yield
        except CheckFailed as failure:
            failure.place = self._comparisons, results
            raise

    @property
    def calls(self):
        """The ``Calls`` of the answer."""
        return self._calls

    # the names that the new checks use (lessons/course)
    id = property(lambda self: self._id)
    path = property(lambda self: self._path)
    made = property(lambda self: self._namespace)
    only = property(lambda self: self)

    def _arrive(self, results):
        """Do nothing; a replay ends here (twins.py)."""

    @property
    def _last(self):
        """The last call."""
        return self._calls.log[-1] if self._calls.log else Call(self._id)

    def _part(self, lines):
        """Return the function that a report is about: the first whose call it shows."""
        calls = [*lines, *self.last_call()]
        named = re.findall(r"(\w+)\(", " ".join(calls))
        return next((name for name in named if name in self._signatures), None)

    def _uses(self):
        """Return {function of the answer: the others that it calls}."""
        return stubs.uses("".join(linecache.getlines(self._path)))

    def _let_own(self, parameters):
        """Let functions change these arguments: {name of a function: parameters}."""
        self._calls.own = parameters

    def save_case(self, path):
        """Write the arrays of the last failure: arguments, found, expected."""
        call, self._calls.failed = self._calls.failed or self._last, None
        case = call.given | call.compared
        arrays = {key: np.asarray(a) for key, a in case.items()}
        arrays = {key: a for key, a in arrays.items() if a.dtype.kind in "biufcU"}
        if arrays:
            np.savez(path, **arrays)

    def written(self):
        """Return the outcome of the step "written": functions and their parameters."""
        for name, expected in self._signatures.items():
            value = self._namespace.get(name)
            if not callable(value):
                if name in self._namespace:  # local_mask = 3, below the function
                    lines = [f"{name} is not a function: it is {brief(value)}"]
                else:
                    lines = [f"MISSING FUNCTION -> {name}({', '.join(expected)})"]
                    near = difflib.get_close_matches(name, self._own_functions(), 1)
                    lines += [f"did you rename it? There is {n}" for n in near]
                return Outcome("written", "functions", "failed", "missing", lines)
            found = parameters(value)
            if found is not None and found != expected:
                lines = [
                    f"{name} has other parameters",
                    f"expected  {name}({', '.join(expected)})",
                    f"found     {name}({', '.join(found)})",
                ]
                return Outcome("written", "functions", "failed", "signature", lines)
        return Outcome("written", "functions", "ok")

    def _diagnose(self, got, array, want, variants, mask, call):
        """Return (tag, sentence) for a result of a call that is wrong."""
        tag, sentence = diagnose.of_values(
            array,
            want,
            variants,
            mask,
            widths={a.shape[-1] for a in call.given.values() if a.ndim},
            arguments=call.given,
            text="".join(linecache.getlines(self._path)),
        )
        is_named = tag in [known[0] for known in variants]
        if not is_named and hypotheses.is_evidence(want, call.given):
            if swapped := call.swapped(got, want):
                return "swapped", swapped
        return tag, sentence

    def _own_functions(self):
        names = self._namespace.items()
        return [name for name, f in names if callable(f) and not name.startswith("_")]

    def _try_backward(self, op, inputs, call):
        """Run ``op`` once, so that an exception shows before the gradients do.

        Return its gradients for a fixed g, () if it has several outputs.
        """
        returned = op(*map(readonly, inputs))
        pair = isinstance(returned, tuple) and len(returned) == 2
        if not pair or not callable(returned[1]):
            found = type(returned).__name__
            text = f"expected (array, backward), found {found}"
            raise CheckFailed("no-backward", call, text)
        y, backward = returned
        if not isinstance(y, tuple):
            self._array(y, call)
            g = np.random.default_rng(self._seed).normal(size=np.shape(y))
            found = backward(g)
            names = list(inspect.signature(op).parameters)
            count = len(found) if isinstance(found, tuple) else 1
            if count != len(inputs):
                expected = f"{len(inputs)} gradient{'s' * (len(inputs) > 1)}"
                of = f": of {', '.join(names)}" if len(names) == len(inputs) else ""
                text = f"expected {expected}{of}", f"found {count}"
                raise CheckFailed("results", f"backward of {call}", *text)
            if isinstance(found, tuple):
                if exchanged := diagnose.exchanged(op, inputs, names, g, found):
                    raise CheckFailed("swapped", f"backward of {call}", exchanged)
            return found if isinstance(found, tuple) else (found,)
        return ()

    def _array(self, got, call, expected=None):
        """Return ``got`` as an array: an array, a number, or a list of rows."""
        __tracebackhide__ = True
        array = None
        if isinstance(got, (bool, int, float, np.generic, np.ndarray)):
            array = np.asarray(got)
        elif isinstance(got, (list, tuple)):
            array = array_of_rows(got)
        if array is None:
            found = "None: nothing is returned" if got is None else type(got).__name__
            tag = "none" if got is None else "type"
            raise CheckFailed(tag, call, f"expected an array, found {found}")
        if not isinstance(got, np.ndarray) and array.dtype.kind == "i":
            if expected is not None and expected.kind == "f":
                array = array.astype(float)  # [1, 0] and 1 have no dtype of their own
        return array

    def _check_dtype(self, array, expected, call, made):
        """Fail unless a result of the call ``made`` has the expected kind of number."""
        __tracebackhide__ = True
        found = array.dtype
        if expected.kind == "f" and found.kind == "f" and found.itemsize < 8:
            if any(a.dtype == float for a in made.given.values()):
                text = f"the numbers are {found}, expected float64"
                raise CheckFailed("float32", call, f"{text}: the inputs were float64")
        if array.ndim == 0 and found.kind == "f" and expected.kind in "iu":
            if float(array).is_integer():
                return  # 2130.0 is a whole number, too
            lines = "expected an int", f"found {array.item()}, a float"
            raise CheckFailed("float", call, *lines)
        if found.kind != expected.kind and {found.kind, expected.kind} != {"i", "u"}:
            text = f"expected an array of {expected}, found {found}"
            raise CheckFailed("dtype", call, text)
