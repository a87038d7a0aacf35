"""One row: its sides compared, then timed in turn, and their memory looked at.

A benchmark of wrong numbers is worth nothing, so all sides give their results first,
which also compiles what is to be compiled. The timed calls are interleaved: round after
round, each side once, from another one each time, so that whatever else the machine
does falls on all of them alike. A short call follows another one of its own side: so
soon after another program it would wait for that one's threads and caches. What is
reported is the median.
"""

import contextlib
import gc
import statistics
import time
import tracemalloc
from typing import NamedTuple

import numpy as np

SHORT = 0.05  # seconds of a call that is made once more, before the timed one
TOLERANCE = 1e-3  # of the largest number: float32, summed in another order


class Case(NamedTuple):
    """What a row measures: one piece of work, and who does it."""

    shape: str
    sides: dict  # {name: function () -> arrays, or a list of them}
    flops: int | None = None  # floating-point operations of one call, where it counts
    compare: bool = True
    memory: bool = True
    facts: dict = {}  # whatever else the row's budgets ask for


class Missing(Exception):
    """A side that cannot run here; says why."""


def measure(
    case, rounds, seconds, least=3, clock=time.perf_counter, say=lambda text: None
):
    """Time every side of a case: {side: {"seconds": [...], "median", ...}}.

    rounds    how often each side is timed
    seconds   that a side may take in all, first call aside: a slow one is timed less
              often, but ``least`` times

    A side that fails, or gives other numbers than the first one, has {"missing": why}.
    """
    with nothing_old_collected():
        return _measured(case, rounds, seconds, least, clock, say)


@contextlib.contextmanager
def nothing_old_collected():
    """Within it, a collection looks through what has come since: torch is large."""
    gc.collect()
    frozen = gc.get_freeze_count()
    gc.freeze()
    try:
        yield
    finally:
        if not frozen:
            gc.unfreeze()


def timed(run, clock=time.perf_counter):
    """The seconds of one call; the garbage of earlier ones is collected before."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        start = clock()
        run()
        return clock() - start
    finally:
        if enabled:
            gc.enable()


def rotated(names, turn):
    """The names from another one each turn: whoever comes first gains nothing by it."""
    names = list(names)
    turn = turn % max(len(names), 1)
    return names[turn:] + names[:turn]


def _measured(case, rounds, seconds, least, clock, say):
    sides, found = _compared(case, say)
    spent = dict.fromkeys(sides, 0.0)
    for turn in range(rounds):
        order = [n for n in sides if turn < least or spent[n] < seconds]
        for name in rotated(order, turn):
            say(name)
            if min(found[name]["seconds"], default=SHORT) < SHORT:
                sides[name]()
            took = timed(sides[name], clock)
            spent[name] += took
            found[name]["seconds"].append(took)
    for name, run in sides.items():
        found[name]["median"] = statistics.median(found[name]["seconds"])
        if case.memory:
            say(f"{name}, memory")
            found[name]["memory"] = peak_memory(run, traced=name in ("numba", "numpy"))
        if case.flops:
            found[name]["gflops"] = case.flops / found[name]["median"] / 1e9
    return found


def _compared(case, say):
    """The sides that run and agree with the first of them, and what is said of all."""
    sides, found, reference, first = {}, {}, None, None
    for name, run in case.sides.items():
        say(f"{name}, first call")
        try:
            result = as_arrays(run())
            if case.compare and reference is not None:
                error = difference(result, reference)
                if error > TOLERANCE:
                    raise Missing(f"differs from {first} by {error:.1e}, not timed")
        except KeyboardInterrupt:
            raise
        except Exception as problem:  # a missing package, no compiler, no memory...
            found[name] = {"missing": reason(problem)}
            continue
        if reference is None:
            reference, first = result, name
        sides[name], found[name] = run, {"seconds": []}
    return sides, found


def difference(arrays, others):
    """The largest difference, as a part of the largest number of each array."""
    if len(arrays) != len(others) or any(
        a.shape != b.shape for a, b in zip(arrays, others)
    ):
        return np.inf
    worst = 0.0
    for a, b in zip(arrays, others):
        if a.size:
            a, b = a.astype(float), b.astype(float)
            error = np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)
            worst = max(worst, np.inf if np.isnan(error) else error)
    return worst


def as_arrays(result):
    """One array, Tensor or torch tensor, or a list of them, as a list of arrays."""
    items = result if isinstance(result, (list, tuple)) else [result]
    return [np.asarray(x.detach() if hasattr(x, "detach") else x) for x in items]


def reason(problem):
    """The first line of an exception, in a few words."""
    text = str(problem).strip() or type(problem).__name__
    return text.splitlines()[0][:200]


def peak_memory(run, traced):
    """Bytes beyond what was there before, at the widest point of one call.

    On Linux the largest resident set, which is the whole truth for whoever allocates;
    elsewhere what NumPy tells tracemalloc, for our sides (``traced``), or None.
    """
    gc.collect()
    if _reset_resident_peak():
        before = _status("VmRSS")
        kept = run()
        peak = _status("VmHWM")
        del kept
        return max(0, peak - before)
    if not traced:
        return None
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = run()
        peak = tracemalloc.get_traced_memory()[1]
        del kept
        return peak - before
    finally:
        tracemalloc.stop()


def _reset_resident_peak():
    """Give back what is free, and start the high-water mark anew; False: we cannot."""
    try:
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except (OSError, AttributeError, ImportError, TypeError):
        return False
    return True


def _status(field):
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return 0
