"""Several models trained at once, in a process for each processor thread.

A step of one small model is a hundred short loops, which two cores share badly. Two
models on one core each take hardly longer than one: four of the reversal experiment
are made in two thirds of the time. No number depends on it, as none depends on the
number of threads.

    parent                                worker
      ("make", job, state)             ->   a run, from a state or from its beginning
                                       <-   ("at", step, loss)      ten times a second
                                       <-   ("state", state)        what was saved
      ("at once", how many, threads)   ->   its share of the time, and of the cores
      ("stop",)                        ->   it saves
                                       <-   ("made", result), ("stopped", step) or
                                            ("failed", sentence)

The parent alone writes files. A worker whose parent is gone ends by itself.
"""

import contextlib
import multiprocessing
import os
import signal
import time
from multiprocessing import connection

from ... import kernels
from ...seq2seq.training import Run, asked_to_stop
from ..memory import keep_freed_memory
from ..progress import Progress

WORTH = 100  # steps of a run; a process takes about a second to begin


class Failed(Exception):
    """A run that could not be made; says why, in a sentence."""


def pays(steps, runs):
    """Whether to begin processes for so many runs of so many steps."""
    return min(kernels.threads(), runs) > 1 and steps >= WORTH


def make(study, config, todo, keep, made):
    """Make the runs ``todo``; return {(kind, seed): step} of those that were stopped.

    todo   {(kind, seed): state to go on from, or None}
    keep   called with (kind, seed), state whenever a run wants its state saved
    made   called with (kind, seed), result whenever one is finished

    Ctrl-C, or a termination signal, stops them all. Raises Failed when one fails, after
    the others have been stopped.
    """
    threads, waiting, stopped, failures = kernels.threads(), list(todo), {}, []
    at = {job: state["step"] if state else 0 for job, state in todo.items()}
    progress = Progress("", config.steps * len(todo))

    def heard(job, what, news):
        """One run's message; whether the run is over with it."""
        if what == "at":
            at[job] = news
        elif what == "state":
            keep(job, news)
        else:
            progress.close()
        if what == "made":
            at[job] = config.steps
            made(job, news)
        elif what == "stopped":
            stopped[job] = news
        elif what == "failed":
            failures.append(news)
        return what in ("made", "stopped", "failed")

    with asked_to_stop() as stop, contextlib.ExitStack() as stack:
        number = min(threads, len(todo))
        team = [stack.enter_context(Worker(study, config)) for _ in range(number)]
        while True:
            ended = bool(stop or failures)
            busy = [worker for worker in team if worker.job]
            # the first alone compiles the kernels, where they are not yet compiled
            if waiting and not ended and all(w.loss is not None for w in busy):
                idle = next((worker for worker in team if not worker.job), None)
                if idle:
                    idle.begin(waiting[0], todo[waiting.pop(0)])
                    busy.append(idle)
            if not busy:
                break
            for worker in busy:
                if ended:
                    worker.tell("stop")
                else:
                    worker.tell("at once", len(busy), max(1, threads // len(busy)))
            connection.wait([worker.pipe for worker in busy], timeout=0.1)
            for worker in busy:
                worker.hear(heard)
            show(progress, [w for w in busy if w.loss is not None], sum(at.values()))
        progress.close()
    if failures:
        raise Failed(failures[0])
    return stopped


def show(progress, workers, steps):
    """All that are in training on one line: their steps together, their mean loss."""
    if workers:  # none, while the processes start
        names = ", ".join(worker.job[0] for worker in workers)
        progress.label = names if len(names) < 20 else f"{len(workers)} runs"
        progress.update(steps, sum(w.loss for w in workers) / len(workers))


class Worker:
    """The parent's side of one process.

    job    (kind, seed) of the run that it makes, or None
    loss   of the last step of that run that was heard of, or None
    """

    def __init__(self, study, config):
        self.job = self.loss = self.told = None
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(study, config, theirs))
        self.process.start()
        theirs.close()

    def begin(self, job, state):
        self.job = job
        self.tell("make", job, state)

    def tell(self, what, *rest):
        """Say it, once: nothing that was said last is said again."""
        if self.told != (what, *rest):
            self.told = (what, *rest) if what != "make" else None
            with contextlib.suppress(OSError):  # it has ended: see what it said
                self.pipe.send((what, *rest))

    def hear(self, heard):
        """Pass on what has arrived. To end without a word is a failure too."""
        while self.job:
            try:
                if not self.pipe.poll():
                    return
                what, news, *loss = self.pipe.recv()
            except (EOFError, OSError):
                self.process.join()
                what, news, loss = "failed", self.lost(), ()
            self.loss = loss[0] if loss else self.loss
            if heard(self.job, what, news):
                self.job = self.loss = None

    def lost(self):
        kind, seed = self.job
        return (
            f"The process that trained {kind}, seed {seed}, has ended (exit "
            f"{self.process.exitcode}). What was saved is good: go on with --resume."
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.pipe.close()  # which ends the process
        self.process.join()


def work(study, config, pipe):
    """What a process does: one run after the other, until nobody asks for more."""
    with contextlib.suppress(OSError):  # so that Ctrl-C reaches the parent alone
        os.setpgid(0, 0)
    keep_freed_memory()
    reporter, data = Reporter(pipe), None
    with contextlib.suppress(EOFError, OSError):  # the parent is gone
        while True:
            what, *rest = pipe.recv()
            if what != "make":  # it came too late
                continue
            job, state = rest
            try:
                data = data or study.load(config)
                arguments = config, *job, data[0]
                run, finished = study.train(*arguments, state, reporter.save, reporter)
                if finished:
                    pipe.send(("made", study.result(*arguments, run)))
                else:
                    pipe.send(("stopped", run.step))
            except (FloatingPointError, OSError) as problem:
                pipe.send(("failed", str(problem)))


class Reporter:
    """A worker's progress line: it tells the parent, and hears what is asked for."""

    def __init__(self, pipe):
        self.pipe, self.told = pipe, -1.0

    def update(self, step, loss):
        if time.monotonic() - self.told < 0.1:
            return
        self.told = time.monotonic()
        try:
            self.pipe.send(("at", step, loss))
            while self.pipe.poll():
                self.obey(*self.pipe.recv())
        except (EOFError, OSError):  # the parent is gone
            self.obey("stop")

    def obey(self, what, *numbers):
        if what == "at once":
            Run.at_once, threads = numbers
            kernels.threads(threads)
        else:
            signal.raise_signal(signal.SIGTERM)  # which the training loop waits for

    def save(self, state):
        self.pipe.send(("state", state))

    def close(self):
        """As a progress line has it."""
