"""Compare and time several implementations ("sides"), each in a process of its own.

In one process the threads of several libraries disturb each other: those that have
nothing to do wait in a busy loop, on the cores that the next side needs.

First each process calls its side once. This compiles it, and its result is compared
with that of the first side; a wrong side is not timed. Then each round measures every
side once. Each round starts with a different side, so that other programs on the
machine disturb all of them equally.

Other programs change the speed of a processor from one second to the next. The two
sides of a round run at nearly the same time, so both are slowed, and their ratio
changes less than their times: ``ratio`` is the median of the ratios of the rounds.
"""

import contextlib
import gc
import math
import multiprocessing
import statistics
import time

import numpy as np

from ... import kernels
from ...stopping import end_with_parent, signals_blocked

PAUSE = 0.05  # seconds, until the threads of the other processes sleep
SHORT = 0.05  # seconds: a shorter call is repeated until this much time has passed
TOLERANCE = 1e-3  # of the largest number: float32, summed in another order


class Side:
    """A side in a process of its own.

    make      a function of a module, without arguments; it returns the side: a function
              to be measured, or a number to compare with
    measure   a function (side) -> number
    """

    def __init__(self, make, measure):
        context = multiprocessing.get_context("spawn")  # a new process, not a copy
        self._pipe, end = context.Pipe()
        arguments = end, make, measure, kernels.threads()
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        with signals_blocked():
            self._process.start()
        end.close()  # so that receiving raises EOFError when the process ends

    def answer(self):
        """Return the arrays of the first call, or None; after it, a number each time.

        Raises RuntimeError with the reason if there is none.
        """
        with contextlib.suppress(OSError):  # it has ended, perhaps with a reason
            self._pipe.send(None)
        try:
            answer = self._pipe.recv()
        except (EOFError, OSError):
            answer = RuntimeError("its process has ended")
        if isinstance(answer, RuntimeError):
            raise answer
        return answer

    def close(self):
        """End the process."""
        self._pipe.close()  # the process receives EOFError, and ends
        self._process.join()


def _serve(pipe, make, measure, threads):
    """Answer a ``Side``, until it is closed or something is wrong."""
    end_with_parent(others=True)
    try:
        kernels.threads(threads)
        side = make()
        pipe.recv()
        is_compared = callable(side) and measure is not number
        pipe.send(as_arrays(side()) if is_compared else None)
        while True:
            pipe.recv()
            time.sleep(PAUSE)
            pipe.send(measure(side) if callable(side) else side)
    except EOFError:
        return
    except Exception as problem:  # a missing package, no compiler, no memory...
        pipe.send(RuntimeError(reason(problem)))


def measured(sides, most, least, seconds):
    """Return {name: [number of each round], or the reason (a str) why there is none}.

    sides     {name: ``Side``}
    most      how often each side is measured at most
    least     and at least, even if it takes longer than ``seconds`` for each side
    """
    found, reference = {}, None
    for name, side in sides.items():
        try:
            arrays = side.answer()
        except RuntimeError as problem:
            found[name] = str(problem)
            if len(found) == 1:  # there is nothing to compare with the others
                return found
            continue
        found[name] = []
        if arrays is not None:
            reference = arrays if reference is None else reference
            error = difference(arrays, reference)
            if error > TOLERANCE:
                found[name] = f"differs from {next(iter(sides))} by {error:.1e}"
    working = [name for name in sides if found[name] == []]
    end = time.perf_counter() + seconds * len(working)
    for turn in range(most):
        if turn >= least and time.perf_counter() > end:
            break
        for name in rotated(working, turn):
            found[name].append(sides[name].answer())
    return found


def ratio(ours, theirs):
    """Return the median of ours / theirs over the rounds."""
    return statistics.median(a / b for a, b in zip(ours, theirs))


def rotated(names, turn):
    """Return the names, starting with a different one in each turn."""
    names = list(names)
    turn = turn % max(len(names), 1)
    return names[turn:] + names[:turn]


# what is measured


def seconds(run):
    """Return the mean seconds of a call, over enough calls to take SHORT seconds.

    The first of several short calls does not count: it is slowed by the threads and
    caches of the side before it.
    """
    once = timed(run)
    repeats = math.ceil(SHORT / max(once, 1e-6))
    if repeats == 1:
        return once

    def several():
        for _ in range(repeats):
            run()

    return timed(several) / repeats


def number(run):
    """Return the number that a side returns, for sides that measure by themselves."""
    return run()


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


# results


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
    """Return the arrays of a list of Tensors, of torch or ours; None for None."""
    if result is None:
        return None
    arrays = [np.asarray(x.detach() if hasattr(x, "detach") else x) for x in result]
    return [x.astype(float) for x in arrays]


def reason(problem):
    """Return the first line of an exception's message."""
    text = str(problem).strip() or type(problem).__name__
    return text.splitlines()[0][:200]
