"""Find out where a slow answer is, and how much of its loops is done.

A thread looks at the answer twice before its time runs out. If the counted loops that
it is in have moved on between the two, their rate says how long the call would take.
Time is processor time; if an answer waits, it is the time that passes, divided by
``patience``.
"""

import ast
import itertools
import json
import linecache
import math
import sys
import threading
import time

import numpy as np

LOOKS = 0.4, 0.8  # of the time limit
CALLS = {"range": range, "len": len, "min": min, "max": max}
ATTRIBUTES = {"shape", "size", "ndim", "T"}
EXPRESSION = (
    ast.Name,
    ast.Constant,
    ast.BinOp,
    ast.UnaryOp,
    ast.Call,
    ast.Attribute,
    ast.Subscript,
    ast.operator,
    ast.unaryop,
    ast.expr_context,
)


class Watch:
    """Looks at an answer, from a thread; writes what it saw as json to a file.

    calls  the ``Calls`` of the answer, once it is loaded
    """

    def __init__(self, path, limit, file, patience):
        self.path, self.limit, self.file, self.calls = str(path), limit, file, None
        self._main, self._patience = threading.get_ident(), patience
        self._start = time.monotonic(), time.process_time()
        self._tree, self._before = None, None
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self):
        for part in LOOKS:
            while (left := part * self.limit - self._spent()) > 0:
                time.sleep(max(left, 0.01))
            facts = self._facts(self._spent())
            if facts:
                self.file.write_text(json.dumps(facts), encoding="utf-8")

    def _spent(self):
        """Return the seconds of the limit that are spent, also by waiting."""
        passed, computed = time.monotonic(), time.process_time()
        return max((passed - self._start[0]) / self._patience, computed - self._start[1])

    def _facts(self, now):
        """Return {"where", "line", "call", "expected"}; the last two may be None."""
        frames = list(_frames(sys._current_frames().get(self._main), self.path))
        if not frames:
            return None
        call = next(reversed(self.calls.running), None) if self.calls else None
        done, expected = self._done(frames), None
        if self._before and done is not None and self._before[1] is call is not None:
            then, _, done_then = self._before
            if done_then is not None and done > done_then:
                rate = (done - done_then) / (now - then)
                expected = now + (1 - done) / rate
        self._before = now, call, done
        frame, number = frames[-1]
        return {
            "where": f"{frame.f_code.co_name}, line {number}",
            "line": linecache.getline(self.path, number).strip(),
            "call": call and call.text,
            "expected": expected,
        }

    def _done(self, frames):
        """Return the part of the loops that is done, from 0 to 1, or None."""
        try:
            self._tree = self._tree or ast.parse("".join(linecache.getlines(self.path)))
            counts = [
                count for frame, line in frames for count in self._counts(frame, line)
            ]
        except Exception:  # a loop over something else, a file that has changed
            return None
        part = 0.0
        for done, size in reversed(list(itertools.takewhile(bool, counts))):
            part = (done + part) / size
        return part if counts and counts[0] else None

    def _counts(self, frame, line):
        """Yield (turns done, turns in all) of each loop, or None if unknown."""
        for node in ast.walk(self._tree):
            inside = isinstance(node, (ast.For, ast.While)) and (
                node.body[0].lineno <= line <= node.body[-1].end_lineno
            )
            first = frame.f_code.co_firstlineno
            if inside and (first <= node.lineno or frame.f_code.co_name == "<module>"):
                yield _count(node, frame) if isinstance(node, ast.For) else None


def _frames(frame, path):
    """Return [(frame, line)] of the answer's own code, the outermost first."""
    found = []
    while frame is not None:
        if frame.f_code.co_filename == path:
            found.append((frame, frame.f_lineno))
        frame = frame.f_back
    return found[::-1]


def _count(loop, frame):
    """Return (turns done, turns in all) of ``for i in range(…)``, or None."""
    target, turns = loop.target, loop.iter
    if isinstance(turns, ast.Call) and getattr(turns.func, "id", "") == "enumerate":
        target, size = target.elts[0], len(_value(turns.args[0], frame))
        return frame.f_locals[target.id], size
    if isinstance(turns, ast.Call) and getattr(turns.func, "attr", "") == "ndindex":
        shape = [_value(each, frame) for each in turns.args]
        shape = shape[0] if isinstance(shape[0], tuple) else tuple(shape)
        index = frame.f_locals[target.id]
        return int(np.ravel_multi_index(index, shape)), math.prod(shape)
    is_range = isinstance(turns, ast.Call) and isinstance(target, ast.Name)
    if not is_range or getattr(turns.func, "id", "") not in ("range", "reversed"):
        return None
    is_reversed = turns.func.id == "reversed"
    values = _value(turns.args[0] if is_reversed else turns, frame)
    done = values.index(frame.f_locals[target.id])
    return len(values) - 1 - done if is_reversed else done, len(values)


def _value(node, frame):
    """Evaluate an expression of sizes: n, len(q), q.shape[0] // 2."""
    for part in ast.walk(node):
        known = isinstance(part, EXPRESSION)
        if isinstance(part, ast.Attribute):
            known = part.attr in ATTRIBUTES
        if isinstance(part, ast.Call):
            known = getattr(part.func, "id", "") in CALLS
        if not known:
            raise ValueError("not a size")
    code = compile(ast.Expression(node), "<size>", "eval")
    names = {**frame.f_globals, **frame.f_locals, **CALLS, "__builtins__": {}}
    return eval(code, names)
