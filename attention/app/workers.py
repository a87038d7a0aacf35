"""Train several models at once, each in a process of a pool.

A step of a small model is a hundred short loops. Two cores gain little if they share
each loop. If each core trains a model of its own instead, the four models of the
reversal experiment take two thirds of the time. The results are the same for any number
of processes and threads.

Each process saves its own runs. The ``Board`` is a few numbers in shared memory: the
processes write how far they are, the parent writes when to stop.
"""

import contextlib
import multiprocessing
import os
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from .. import kernels
from ..kernels.memory import keep_freed_memory
from ..stopping import end_with_parent, signals_blocked, stop_signals
from ..training import Run
from .machine import set_blas_threads
from .progress_line import Progress


class ProcessLost(OSError):
    """A training process has ended without a result."""


class Board:
    """Numbers in memory that all processes share, for ``n`` runs.

    stop            1: end training between two steps
    running         how many runs are in training
    steps, losses   of each run: the steps taken, and the loss of the last one
    """

    def __init__(self, context, n):
        self.stop, self.running = context.RawValue("b", 0), context.RawValue("i", 0)
        self.steps, self.losses = context.RawArray("d", n), context.RawArray("d", n)


def train_in_processes(study, todo, folder, finished, workers):
    """Train the jobs ``todo`` of a study, several at once.

    finished   called with (job, result) whenever a run ends with a result
    workers    the number of processes

    Returns [(job, step)] of the runs that a signal has stopped, or kept from starting.
    When one run fails, the others are stopped and saved, and its error is raised.
    """
    threads, waiting = kernels.threads(), {}
    context = multiprocessing.get_context("spawn")
    board = Board(context, len(todo))
    for i, job in enumerate(todo):
        board.steps[i] = folder.load(job).get("run", {"step": 0})["step"]
    progress = Progress(f"{workers} runs", study.steps * len(todo))
    task = (study, folder, board, threads)
    queue, stopped = list(enumerate(todo)), []
    with signals_blocked():
        pool = ProcessPoolExecutor(workers, context, _prepare, task)
        starts = [pool.submit(os.getpid) for _ in range(workers)]
    with stop_signals() as stop, contextlib.closing(progress), pool:
        try:
            while (queue and not stop) or waiting:
                # a run starts when the others have taken a step, so that the first one
                # alone compiles the kernels, if they are not in the cache
                compiled = all(board.losses[i] for i, _ in waiting.values())
                if queue and not stop and compiled and len(waiting) < workers:
                    i, job = queue.pop(0)
                    waiting[pool.submit(_train, i, job)] = i, job
                board.running.value = len(waiting)
                for future in wait(waiting, 0.1, FIRST_COMPLETED).done:
                    i, job = waiting.pop(future)
                    result, board.steps[i] = future.result()
                    progress.close()
                    if result is None:
                        stopped.append((job, int(board.steps[i])))
                    else:
                        finished(job, result)
                board.stop.value = bool(stop)
                losses = [board.losses[i] for i, _ in waiting.values()]
                done = int(sum(board.steps))
                if losses and all(losses) and done < progress.total:
                    progress.update(done, sum(losses) / len(losses))
            for start in starts:
                start.result()
        except BrokenProcessPool:
            for process in multiprocessing.active_children():
                process.kill()  # SIGTERM is blocked in them
            raise ProcessLost(
                "A training process has ended unexpectedly; perhaps the memory was "
                f"full. What was saved is good. {folder.how_to_continue()}"
            ) from None
        finally:
            board.stop.value = 1
    return stopped + [(job, int(board.steps[i])) for i, job in queue]


# in the processes

_task = None


def _prepare(*task):
    """Prepare a new process: it ends with its parent, and uses one BLAS thread."""
    global _task
    _task = task
    set_blas_threads(1)
    kernels.backend(kernels.backend())  # by name: small calls are compiled too
    keep_freed_memory()
    end_with_parent()


def _train(i, job):
    """Train one model; return (result or None, step)."""
    study, folder, board, threads = _task
    with stop_signals() as stop:
        progress = _Report(board, i, threads, stop)
        return study.train_and_save(job, folder, progress)


class _Report:
    """The progress line of a process: it writes to the board."""

    def __init__(self, board, i, threads, stop):
        self.board, self.i, self.threads, self.stop = board, i, threads, stop

    def update(self, step, loss):
        board = self.board
        board.steps[self.i], board.losses[self.i] = step, loss
        if board.stop.value and not self.stop:
            self.stop.append("stop")
        at_once = max(board.running.value, 1)
        Run.share_time(at_once)
        kernels.threads(max(self.threads // at_once, 1))
