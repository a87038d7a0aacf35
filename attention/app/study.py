"""A study: models in training that are saved as they go, stopped and resumed.

The commands that train and the studies of the lessons are subclasses of ``Study``. A
job is a tuple that names one model, such as ("dot", 1): a kind and a seed. The saved
state of a job is {"run": state, …} in training, and {"result": …} after it.
"""

import abc
import contextlib

from ..stopping import stop_signals
from .options import wrapped
from .progress_line import Progress
from .workers import train_in_processes


class Study(abc.ABC):
    """Models in training, one for each job.

    steps   the largest number of steps of a run
    """

    steps = 0

    @abc.abstractmethod
    def train(self, job, saved, save, progress):
        """Train one model by ``fit``; return (Run, whether it was finished).

        saved   the saved state of the job: {"run": state, …}, or {}
        save    a function (state of the Run, **more), which saves it
        """

    @abc.abstractmethod
    def result(self, job, run):
        """Return what to keep of a finished run, as plain numbers and strings."""

    @abc.abstractmethod
    def line(self, job, result):
        """Return a line or a few that sum up a finished run; "" prints none."""

    def label(self, job):
        """Return the printed name of a run."""
        return job[0]

    def train_all(self, jobs, folder, workers=1, log=print):
        """Train each job that is not finished; return all results.

        folder    a ``States``: where runs are saved, and found again
        workers   how many runs may be trained at the same time, in processes

        Raises KeyboardInterrupt if it was stopped. What was trained is saved.
        """
        states = {job: folder.load(job) for job in jobs}
        todo = [job for job in jobs if "result" not in states[job]]

        def finished(job, result):
            states[job] = {"result": result}
            if line := self.line(job, result):
                log(line)

        workers = min(workers, len(todo))
        train = train_in_processes if workers > 1 else train_in_turn
        with stop_signals():  # from here on a signal ends training between two steps
            stopped = train(self, todo, folder, finished, workers)
        if stopped:
            begun = [f"{self.label(job)} at step {n}" for job, n in stopped if n]
            text = "stopped; what was trained is saved."
            if begun:
                text = f"stopped {', '.join(begun)} of {self.steps}, and saved."
            raise KeyboardInterrupt(f"{wrapped(text)}\n{folder.how_to_continue()}")
        return [states[job]["result"] for job in jobs]

    def train_and_save(self, job, folder, progress):
        """Train one model, from its saved state if there is one; return (result, step).

        The result is None if training was stopped.
        """

        def save(state, **more):
            folder.save(job, {"run": state, **more})

        run, is_finished = self.train(job, folder.load(job), save, progress)
        if not is_finished:
            return None, run.steps
        result = self.result(job, run)
        folder.save(job, {"result": result})
        return result, run.steps


def train_in_turn(study, jobs, folder, finished, workers=1):
    """Train the jobs; return [(job, step)] of the one that was stopped."""
    for job in jobs:
        with contextlib.closing(Progress(study.label(job), study.steps)) as progress:
            result, step = study.train_and_save(job, folder, progress)
        if result is None:
            return [(job, step)]
        finished(job, result)
    return []
