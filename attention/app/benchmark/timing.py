"""Compare the results, the time and the memory of several implementations ("sides").

First each side runs once. This compiles it, and its result is compared with that of the
first side; a wrong side is not timed. Then each round times every side once. Each round
starts with a different side, so that other programs on the machine disturb all of them
equally. The first of several short calls is not timed, because it is slowed by the
threads and caches of the side before it.

Other programs change the speed of a processor from one second to the next. The two
sides of a round run at nearly the same time, so both are slowed, and their ratio
changes less than their times: ``ratio`` is the median of the ratios of the rounds.
"""

import contextlib
import gc
import math
import statistics
import time
import tracemalloc
from typing import NamedTuple

import numpy as np

SHORT = 0.05  # seconds: a shorter call is repeated until this much time has passed
TOLERANCE = 1e-3  # of the largest number: float32, summed in another order


class Case(NamedTuple):
    """One task and the sides (implementations) that do it; the first side is ours."""

    sides: dict  # {name: function () -> arrays, or a number to compare with}
    compare: bool = True  # compare the results of the sides
    measure: object = None  # function (side) -> number; None: the seconds of a call


class Missing(Exception):
    """A side cannot run here; the message says why."""


def measure(case, rounds, seconds, least=1):
    """Return {name: [number of each round], or the reason (a str) why there is none}.

    rounds    how often each side is measured, at most
    seconds   a side that has taken this long is not measured again
    least     but each side is measured this often
    """
    with nothing_old_collected():
        found = {
            name: [x] * rounds for name, x in case.sides.items() if not callable(x)
        }
        sides = _working_sides(case, found)
        values, spent = {name: [] for name in sides}, dict.fromkeys(sides, 0.0)
        for turn in range(rounds):
            left = [name for name in sides if turn < least or spent[name] < seconds]
            for name in rotated(left, turn):
                start = time.perf_counter()
                values[name].append(measured(case, sides[name], values[name]))
                spent[name] += time.perf_counter() - start
    found |= values
    return {name: found[name] for name in case.sides}


def measured(case, run, earlier):
    """Measure a side once; ``earlier`` has the results so far."""
    if case.measure is None:
        return _mean_seconds(run, earlier)
    return case.measure(run)


def ratio(ours, theirs):
    """Return the median of ours / theirs over the rounds that measured both."""
    return statistics.median(a / b for a, b in zip(ours, theirs))


@contextlib.contextmanager
def nothing_old_collected():
    """Exclude the objects that already exist from garbage collection."""
    gc.collect()
    frozen = gc.get_freeze_count()
    gc.freeze()
    try:
        yield
    finally:
        if not frozen:
            gc.unfreeze()


def timed(run, clock=time.perf_counter):
    """Return the seconds of one call by this clock, without garbage collections."""
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
    """Return the names, starting with a different one in each turn."""
    names = list(names)
    turn = turn % max(len(names), 1)
    return names[turn:] + names[:turn]


def peak_memory(run):
    """Return the largest number of bytes that one call uses, including its result.

    On Linux this is measured by the resident set, which includes all allocations;
    elsewhere by tracemalloc, which includes those of NumPy.
    """
    gc.collect()
    if _reset_resident_peak():
        before = _resident("VmRSS")
        kept = run()
        peak = _resident("VmHWM")
        del kept
        return max(0, peak - before)
    tracemalloc.start()
    try:
        kept = run()
        peak = tracemalloc.get_traced_memory()[1]
        del kept
        return peak
    finally:
        tracemalloc.stop()


def number(run):
    """Return the number that a side returns, for sides that measure by themselves."""
    return run()


def difference(arrays, others):
    """Return the largest difference, relative to the largest number of each array."""
    if [a.shape for a in arrays] != [b.shape for b in others]:
        return np.inf
    errors = [0.0]
    for a, b in zip(arrays, others):
        if a.size:
            scale = max(np.abs(b).max(), 1e-30)
            errors.append(np.nan_to_num(np.abs(a - b).max() / scale, nan=np.inf))
    return max(errors)


def as_arrays(result):
    """Return a list of arrays, from an array, a Tensor, a torch tensor or several."""
    items = result if isinstance(result, (list, tuple)) else [result]
    arrays = [np.asarray(x.detach() if hasattr(x, "detach") else x) for x in items]
    return [x.astype(float) for x in arrays]


def reason(problem):
    """Return the first line of an exception's message."""
    text = str(problem).strip() or type(problem).__name__
    return text.splitlines()[0][:200]


def _mean_seconds(run, earlier):
    """Return the mean seconds of a call, over so many calls that they take SHORT.

    earlier   the seconds of earlier calls, from which the number of calls is computed;
              without them it is one call
    """
    repeats = math.ceil(SHORT / min(earlier)) if earlier else 1
    if repeats == 1:
        return timed(run)

    def several():
        for _ in range(repeats):
            run()

    run()
    return timed(several) / repeats


def _working_sides(case, found):
    """Call each side once; return those that agree with the first, and fill found."""
    sides, reference = {}, None
    for name, run in case.sides.items():
        if name in found:
            continue
        try:
            result = run()
            if case.compare:
                arrays = as_arrays(result)
                reference = arrays if reference is None else reference
                error = difference(arrays, reference)
                if error > TOLERANCE:
                    raise Missing(f"differs from {next(iter(sides))} by {error:.1e}")
        except Exception as problem:  # a missing package, no compiler, no memory...
            found[name] = reason(problem)
        else:
            sides[name] = run
    return sides


def _reset_resident_peak():
    """Reset the peak of memory that Linux records; return whether that is possible."""
    try:
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except (OSError, AttributeError, ImportError, TypeError):
        return False
    return True


def _resident(field):
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024
