"""Check an answer: each call ``my.f(…)`` is compared with the reference function f.

The functions (my, rng) of an exercise's check run in their order. After a failure the
others still run, so that each function of the answer has at most one report.
"""

import contextlib
import difflib
import functools
import inspect
import linecache
import pathlib
import traceback
import types
import zlib
from dataclasses import dataclass

import numpy as np

from lessons.stubs import NotWritten

from ..classroom.catalogue import LESSONS
from ..classroom.terminal import plain
from . import differences, naming, read
from .calls import Calls, array_of, as_numbers, brief, own_line, parameters, readonly
from .outcome import CheckFailed, Outcome
from .own_work import own_work

CLOSE = 1e-11  # of an entry: a formula has these digits, a difference quotient has not
ROUNDING = 1e-12  # of the largest entry; a tenth of a larger tolerance
TINY = 1e-200  # numbers below are 0
COTANGENTS = 2  # of each backward
NOT_YET = object()


def load(source, path, text=None, seed=0):
    """Run an answer; return its ``My``. Raises what the answer raises.

    text  stands for the text of the file: a mistake that an audit plants
    """
    text = read.text_of(path) if text is None else text
    if not text.strip():
        again = f"python -m lessons undo {source.id} restores the text before; reset "
        raise CheckFailed("empty", "the file is empty", again + "gives a fresh stub")
    return My(source, run(text, str(path)), str(path), text, seed)


def run(text, path):
    """Run a text as a module; return {name: value} of its names."""
    lines = text.splitlines(True)  # for tracebacks
    linecache.cache[path] = (len(text), None, lines, path)
    names = vars(types.ModuleType("answer")) | {"__file__": path}
    exec(read.compiled(text, path), names)
    return names


def outcomes(my, debug=False, skip=()):
    """Run the check of an answer; yield an ``Outcome`` for each function.

    debug   open the debugger at the first failure
    skip    names of functions of the check that do not run
    """
    yield (first := written(my))
    failed = {None: first} if first.result == "failed" else {}
    for step in steps(my) if not failed else ():
        if step.__name__ in skip:
            continue
        outcome = outcome_of(my, step, failed, debug)
        if outcome:
            yield outcome
            if outcome.result == "failed":
                failed[outcome.part] = outcome
                if debug:
                    return


def steps(my):
    """Return the functions (my, rng) of a check, in their order, imported ones last."""
    functions = [f for f in my.right.values() if inspect.isfunction(f)]
    found = [f for f in functions if f.__doc__ and parameters(f) == ["my", "rng"]]
    return sorted(found, key=lambda f: f.__code__.co_filename != my.source.path)


def rng_of(function, seed):
    """Return a generator that depends on the seed and the function's name alone."""
    return np.random.default_rng((seed, zlib.crc32(function.__name__.encode())))


def outcome_of(my, step, failed, debug=False):
    """Run one function of a check; return its ``Outcome``.

    failed  {function of the answer: its first failure}; a second one is None
    """
    title = " ".join(step.__doc__.split())
    try:
        with np.errstate(all="ignore"):
            step(my, rng_of(step, my.seed))
    except NotWritten as error:
        return Outcome(title, "unwritten", lines=[plain(str(error))])
    except CheckFailed as error:
        failure, cause = error, error.__cause__ or error
    except Exception as error:
        failure, cause = unexpected(error, my), error
    else:
        return Outcome(title, "ok")
    part = my.last.name if my.last else None
    if part in failed:
        return None
    uses = sorted(read.uses(my.text).get(part, ()))
    elsewhere = failure.tag in ("check-fault", "stateful", "earlier")
    if not elsewhere and not failed.keys() & {*uses}:
        failure = naming.named(failure, my, second_draw(my, step))
    if debug:
        print("\n".join(failure.lines))
        open_debugger(cause, my)
    return Outcome(title, "failed", failure.tag, failure.lines, part, uses)


def second_draw(my, step):
    """Return the calls that a function of the check makes with other random numbers."""
    again = my._with(seed=my.seed + 1, compares=False, log=[], kept={})
    again.calls = Calls(my.path, my.calls.own)
    try:
        with np.errstate(all="ignore"), contextlib.redirect_stdout(None):
            step(again, rng_of(step, again.seed))
    except Exception:
        return again.log[:-1]  # the last call has no result
    return again.log


@dataclass
class Made:
    """A call of a function of the answer, with its result; it can be repeated.

    gs      the cotangents, if it calls the backward that the function returned
    wanted  what the reference returns, or the exception that it raises
    """

    name: str
    args: tuple
    options: dict
    gs: tuple | None = None
    result: object = None
    wanted: object = NOT_YET

    def repeat(self, names):
        """Return the result of the same call of another answer."""
        args, options = readonly((self.args, self.options), {})
        result = names[self.name](*args, **options)
        if self.gs is None:
            return with_parameters(as_numbers(result), args)
        return result[-1](*map(readonly, self.gs))

    def of_reference(self, names):
        """Return what the reference returns, computed once."""
        if self.wanted is NOT_YET:
            try:
                with np.errstate(all="ignore"):
                    self.wanted = self.repeat(names)
            except Exception as error:
                self.wanted = error
        return self.wanted


def with_parameters(result, args):
    """Return a result, with those of the models that the call may have moved."""
    found = {}
    for model in args:
        if hasattr(model, "parameters"):
            own = getattr(model, "__dict__", {})
            names = {id(p): name for name, p in own.items()}
            for k, p in enumerate(model.parameters(), 1):
                found[names.get(id(p), f"parameter {k}")] = p.numpy().copy()
    return (result, found) if found else result


class My:
    """The functions of an answer.

    my.f(…)         the learner's f, compared with the reference f: the result and, if
                    it is (array, backward), the gradients for random cotangents; the
                    parameters of a model that is an argument, after the call
    my.only.f(…)    the learner's f, not compared
    my.near(1e-6)   the same, compared with another relative tolerance
    my.holds(…)     a law of a function holds
    my.made["f"]    the learner's f itself, to measure what it costs
    """

    def __init__(self, source, made, path, text, seed=0):
        self.source, self.made, self.path, self.text = source, made, path, text
        whole = source.answer + source.below[source.answer.count("\n") :]
        self.right = run(whole, source.path)
        self.seed, self.compares, self.close = seed, True, CLOSE
        self.calls = Calls(path, self.right.get("OWN_STATE", {}))
        self.log, self.kept = [], {}
        self.searches = True  # also edits by rule, for a name of a mistake
        self.compared = {}  # found and expected, of the comparison that failed last
        self.after_pass = []  # lines to print when the whole check has passed

    @property
    def id(self):
        """The exercise's id."""
        return self.source.id

    @property
    def last(self):
        """The call that was made last, or None."""
        return self.log[-1] if self.log else None

    def last_call(self):
        """Return [the last call as text], also of one that has not returned; or []."""
        return self.calls.log[-1:]

    @property
    def only(self):
        """The same answer, whose results are not compared."""
        return self._with(compares=False)

    def near(self, close):
        """Return the same answer, compared with another relative tolerance."""
        return self._with(close=close)

    def _with(self, **changed):
        """Return the same answer, with the same log, compared in another way."""
        other = object.__new__(My)
        vars(other).update(vars(self), **changed)
        return other

    def __getattr__(self, name):
        if name.startswith("__") or name not in self.source.functions:
            raise AttributeError(f"{self.source.id} has no function {name}")
        return functools.partial(self._call, name)

    def _call(self, name, /, *args, **options):
        """Call the learner's function, compare the result, and return it."""
        call = Made(name, *readonly((args, options), {}))
        got = self._run(call, self.calls.wrap(name, self.made[name]), *args, **options)
        want = None
        if self.compares:
            want, moved = call.repeat(self.right), {}
            call.wanted = want
            if (whole := with_parameters(got, args)) is not got:
                want, moved = want
            self._equal(got, want, self.source.results(name))
            for parameter, array in moved.items():
                self._equal(whole[1][parameter], array, (), f"the new {parameter}")
        pair = isinstance(got, tuple) and len(got) > 1 and callable(got[-1])
        if pair and (want is None or isinstance(want, tuple)):
            self._backward(call, got, want)
        return as_arrays(got)

    def _run(self, call, function, *args, **options):
        """Run a function of the answer, and note the call with its result."""
        self.log.append(call)
        result = function(*args, **options)
        call.result = with_parameters(readonly(as_numbers(result), {}), args)
        return result

    def _backward(self, call, got, want):
        """Compare the gradients for a cotangent, those for it again, and for another.

        Last comes the backward of an earlier call, which the calls since must not
        change.
        """
        *y, backward = got
        rng = np.random.default_rng(self.seed)
        drawn = [tuple(rng.normal(size=np.shape(a)) for a in y) for _ in range(COTANGENTS)]
        earlier = self.kept.get(call.name)
        if want is not None:
            self.kept[call.name] = self, call, backward, want, drawn[0]
        self._gradients(call, backward, want, drawn[0])
        try:
            self._gradients(call, backward, want, drawn[0])
        except CheckFailed as failure:
            words = "yours is right at first, and wrong when backward(g) is called again"
            raise naming.with_name(failure, words, "", "stateful") from None
        for gs in drawn[1:]:
            self._gradients(call, backward, want, gs)
        if earlier:  # with its own tolerance
            compared, *rest = earlier
            compared._gradients(*rest)

    def _gradients(self, call, backward, want, gs):
        back = Made(call.name, call.args, call.options, gs)
        found = self._run(back, backward, *gs)
        if self.compares:
            try:
                back.wanted = want[-1](*gs)
                self._equal(found, back.wanted, self.source.gradients(call.name))
            except CheckFailed as failure:
                failure.back = True
                raise

    def holds(self, name, truth, expected, found, tag="law"):
        """Fail with two sentences unless a law of a function of the answer holds.

        tag   the name of the mistake, if the sentences name it
        """
        if self.compares and not truth:
            calls = [c for c in self.log if c.name == name and not c.gs]
            self.log.append(calls[-1] if calls else Made(name, (), {}))
            texts = [text for text in self.calls.log if text.startswith(f"{name}(")]
            lines = f"expected {expected}", f"found {found}"
            raise CheckFailed(tag, *(texts[-1:] or [name]), *lines)

    def save_case(self, path):
        """Write the arrays of the last failure: arguments, found, expected."""
        names = [a.arg for a in self.source.functions[self.last.name].args.args]
        case = dict(zip(names, self.last.args)) | self.compared
        case |= {"g" * k: g for k, g in enumerate(self.last.gs or (), 1)}
        arrays = {key: np.asarray(a) for key, a in case.items() if not callable(a)}
        arrays = {key: a for key, a in arrays.items() if a.dtype.kind in "biufcU"}
        if arrays:
            np.savez(path, **arrays)

    def _equal(self, got, want, names=(), label=""):
        """Fail unless a result of the last call is right: type, shape, dtype, values.

        names   [(name, axes)] of the results, as the docstring has them
        label   the name of the part that is compared
        """
        if isinstance(want, tuple) and len(want) == 1:  # (dx,) is dx
            want = want[0]
            if isinstance(got, (tuple, list)) and len(got) == 1 and np.ndim(want):
                got = got[0] if np.ndim(got[0]) == np.ndim(want) else got
        if callable(want):
            if not callable(got):
                self._fail("no-backward", "expected a function, the backward", got)
        elif isinstance(want, dict):
            if not isinstance(got, dict) or got.keys() != want.keys():
                self._fail("type", f"expected a dict with the keys {list(want)}", got)
            for key in want:
                self._equal(got[key], want[key], (), repr(key))
        elif isinstance(want, (tuple, list)) and array_of(want) is None or (
            isinstance(want, tuple) and len(want) > 1
        ):
            self._equal_each(got, want, names)
        elif (expected := array_of(want)) is not None:
            name, axes = names[0] if len(names) == 1 else ("", ())
            self._equal_arrays(got, expected, label or name, axes)
        elif got != want:
            self._fail("value", f"expected {brief(want)}", got)

    def _equal_each(self, got, want, names):
        """Compare several results one by one."""
        if not isinstance(got, (tuple, list, np.ndarray)) or len(got) != len(want):
            if len(want) == 2 and callable(want[1]):
                self._fail("no-backward", "expected (array, backward)", got)
            of = f": {', '.join(n for n, _ in names)}" if len(names) == len(want) else ""
            count = len(got) if isinstance(got, (tuple, list)) else brief(got)
            self._fail("results", f"expected {len(want)} results{of}", str(count))
        arrays = [w for w in want if not callable(w)]
        given = names if len(names) == len(arrays) else [("", ())] * len(want)
        for k, (a, b) in enumerate(zip(got, want)):
            name, axes = given[k] if k < len(given) else ("", ())
            label = name or (f"result {k + 1}" if len(arrays) > 1 else "")
            self._equal(a, b, [(label, axes)], label)

    def _equal_arrays(self, got, want, label, axes):
        """Compare an array, a number, or a list of rows."""
        array = array_of(got)
        if isinstance(got, list) and not got and want.shape[:1] == (0,):
            array = np.zeros(want.shape, want.dtype)  # no rows
        if array is None:
            tag = "none" if got is None else "type"
            self._fail(tag, "expected an array", got, label)
        if not isinstance(got, np.ndarray) and array.dtype.kind in "iu":
            array = array.astype(float) if want.dtype.kind == "f" else array
        if array.ndim == 0 and array.dtype.kind == "f" and want.dtype.kind in "iu":
            array = array.astype(int) if array == np.round(array) else array
        axes = axes if len(axes) == want.ndim else None
        if array.shape != want.shape:
            lines = differences.shapes(array, want.shape, axes)
            raise self._failure("shape", label, lines, array, want)
        if array.dtype.kind != want.dtype.kind:
            line = f"expected numbers of type {want.dtype}"
            self._fail("dtype", line, str(array.dtype), label)
        if array.dtype.itemsize < want.dtype.itemsize and want.dtype.kind == "f":
            line = "expected float64, as the inputs are"
            self._fail("float32", line, str(array.dtype), label)
        if want.dtype.kind == "f":
            size = np.abs(want[np.isfinite(want)]).max(initial=0)
            least = max(0.1 * self.close, ROUNDING) * size + TINY
            right = np.isclose(array, want, self.close, least, equal_nan=True)
        else:
            right = array == want
        if not right.all():
            lines = differences.differences(array, want, right, axes)
            raise self._failure("unknown", label, lines, array, want)

    def _failure(self, tag, label, lines, *arrays):
        """Return the failure of the last call."""
        call = self.calls.log[-1]
        where = f"{label}, in the result of" if label else ""
        failure = CheckFailed(tag, *filter(None, [where]), call, *lines)
        failure.arrays = arrays or None
        self.compared.clear()
        self.compared.update(zip(("found", "expected"), arrays))
        return failure

    def _fail(self, tag, expected, found, label=""):
        found = found if isinstance(found, str) else brief(found)
        if found == "None":
            found = "None: nothing is returned"
        raise self._failure(tag, label, [expected, f"found {found}"])


def as_arrays(value):
    """Return a result for the laws of a check: lists of rows are arrays.

    An array of shape () is a number.
    """
    if isinstance(value, tuple):
        return tuple(map(as_arrays, value))
    array = array_of(value) if isinstance(value, (list, np.ndarray)) else None
    return value if array is None else array[()]


def written(my):
    """Return the outcome of the first test: the functions exist, and are own work."""
    place = "written: functions", "failed"
    for name, function in my.source.functions.items():
        if name[0] == "_" and name not in my.made:
            continue  # a given helper, which an answer may do without
        expected = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        value = my.made.get(name)
        if not callable(value):
            lines = [f"MISSING FUNCTION -> {name}({', '.join(expected)})"]
            if name in my.made:
                lines = [f"{name} is not a function: it is {plain(brief(value))}"]
            own = [n for n, f in my.made.items() if callable(f) and n[0] != "_"]
            near = difflib.get_close_matches(name, own, 1)
            lines += [f"did you rename it? There is {n}" for n in near if n != name]
            return Outcome(*place, "missing", lines)
        found = parameters(value)
        if found is not None and found != expected:
            lines = [
                f"{name} has other parameters",
                f"expected  {name}({', '.join(expected)})",
                f"found     {name}({', '.join(found)})",
            ]
            return Outcome(*place, "signature", lines)
    try:
        own_work(my)
    except CheckFailed as failure:
        title = "written: the answer is your own work"
        return Outcome(title, "failed", failure.tag, failure.lines)
    return Outcome("written", "ok")


def not_loaded(error, path):
    """Return the outcome of an answer of which ``load`` raised an exception."""
    title, failure = "written: the file", error
    if isinstance(error, NotWritten):
        return Outcome(title, "unwritten", lines=[plain(str(error))])
    if isinstance(error, SyntaxError):
        lines = [f"the file is not Python yet: {error.msg}"]
        if error.lineno:  # Python gives no line for a NUL byte
            lines.append(f"line {error.lineno}:  {(error.text or '').strip()}")
        failure = CheckFailed("syntax", *lines)
    elif not isinstance(error, CheckFailed):
        said = f"{type(error).__name__}: {error}".removesuffix(": ")
        where = own_line(error, path)
        failure = CheckFailed("raises", f"{said}, when the file is loaded", *where)
    return Outcome(title, "failed", failure.tag, failure.lines)


def unexpected(error, my):
    """Return the failure for an exception that no function of the answer raised.

    If the machinery of the course raised it, the answer is not at fault. Otherwise the
    check cannot use a result of the answer: it expects a pair, for example.
    """
    said = f"{type(error).__name__}: {error}".removesuffix(": ")
    frame = traceback.extract_tb(error.__traceback__)[-1]
    call = my.last_call()
    if pathlib.Path(frame.filename).is_relative_to(LESSONS / "course"):
        text = "the check itself failed; your answer may be right"
        where = f"{pathlib.Path(frame.filename).name}, line {frame.lineno}:  {frame.line}"
        return CheckFailed("check-fault", text, said, where)
    where = "at this line of the check:" if frame.filename != my.path else (
        f"line {frame.lineno}:")
    return CheckFailed("raises", *call, said, f"{where}  {frame.line}")


def open_debugger(error, my):
    """Open pdb in the learner's frame that raised, or call the wrong function again."""
    import pdb

    frames = []
    while (tb := frames[-1].tb_next if frames else error.__traceback__):
        frames.append(tb)
    own = [tb for tb in frames if tb.tb_frame.f_code.co_filename == my.path]
    if own:
        own[-1].tb_next = None
        return pdb.post_mortem(error.__traceback__)
    if my.last:
        print(f"once more, from its first line: {my.calls.log[-1]}")
        function, call = my.made[my.last.name], my.last
        args, options = readonly((call.args, call.options), {})
        with contextlib.suppress(Exception):
            if call.gs is not None:
                function, args = function(*args, **options)[-1], readonly(call.gs)
                options = {}
            pdb.runcall(function, *args, **options)
