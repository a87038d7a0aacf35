"""Run each side of a row in a process of its own.

In one process the threads of several libraries disturb each other: those that have
nothing to do wait in a busy loop, on the cores that the next side needs.
"""

import contextlib
import multiprocessing
import time

from ... import kernels
from ..stopping import end_with_parent
from . import peer, rows, timing

PAUSE = 0.05  # seconds, until the threads of the other processes sleep


@contextlib.contextmanager
def isolated(row, case, quick):
    """Yield the case of the row with this name, with each side in a process.

    A side that is a number stays one. At the end, the processes end.
    """
    calls = [name for name, run in case.sides.items() if callable(run)]
    processes = {name: Side(row, name, quick) for name in calls}
    try:
        yield case._replace(sides=case.sides | processes, measure=Side.measure)
    finally:
        for side in processes.values():
            side.close()


class Side:
    """A side that runs in a process of its own: call it, or measure it."""

    def __init__(self, row, name, quick):
        context = multiprocessing.get_context("spawn")  # a new process, not a copy
        self._pipe, end = context.Pipe()
        arguments = end, row, name, quick, kernels.threads()
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        end.close()  # so that receiving raises EOFError when the process ends

    def __call__(self):
        return self._answer("run")

    def measure(self):
        """Return the time or the memory of one call, measured in the process."""
        return self._answer("measure")

    def close(self):
        """End the process."""
        self._pipe.close()  # the process receives EOFError, and ends
        self._process.join()

    def _answer(self, question):
        try:
            self._pipe.send(question)
            done, value = self._pipe.recv()
        except (EOFError, BrokenPipeError):
            raise timing.Missing("its process has ended") from None
        if not done:
            raise timing.Missing(value)
        return value


def _serve(pipe, row, name, quick, threads):
    """Answer the questions of a ``Side``, until it is closed."""
    case = problem = None
    end_with_parent(others=True)
    try:
        kernels.threads(threads)
        case = rows.ROWS[row].make(quick, None)
        if name not in case.sides:  # only now: torch starts threads of its own
            peer.load(threads)
            case = rows.ROWS[row].make(quick, peer)
    except Exception as error:
        problem = timing.reason(error)
    values = []
    while True:
        try:
            question = pipe.recv()
        except EOFError:
            return
        try:
            if problem is not None:
                raise timing.Missing(problem)
            if question == "run":
                result = case.sides[name]()
                pipe.send((True, timing.as_arrays(result) if case.compare else None))
                continue
            time.sleep(PAUSE)
            values.append(timing.measured(case, case.sides[name], values))
            pipe.send((True, values[-1]))
        except Exception as error:
            pipe.send((False, timing.reason(error)))
