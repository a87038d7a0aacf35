"""The base class of the commands that train several models and can be resumed.

    python -m attention NAME [options] --out DIR
    python -m attention NAME --resume DIR

A subclass of ``Study`` says what the runs are and what to conclude from them. This file
does the rest: the folder, the checkpoints, Ctrl-C, and the results:

    results.json    {"config", "versions", "runs": [...], ...}
    state/          what --resume continues from: config.npz, and a file for each run,
                    which holds {"run": state} in training and {"result": ...} after it
"""

import abc
import json
from dataclasses import asdict

from ... import kernels
from ...training import stop_signals
from .. import stopping
from ..files import write_text
from ..machine import SHORT_RUN, backend_for, versions
from ..options import wrapped
from ..progress_line import Progress
from ..run_folder import RunFolder
from ..workers import train_in_processes


class Study(abc.ABC):
    """One such command. It trains a model for each job.

    name     of the command
    config   the dataclass of its options, with steps, seeds and plan(), which returns
             the jobs: pairs (kind, seed)
    files    patterns of the names of its figures
    """

    name, config, files = "", None, ()

    def load(self, config):
        """Return (data that all runs share, a checksum of it)."""
        return None, None

    @abc.abstractmethod
    def opening(self, config, data):
        """Return the lines to print before the first run."""

    @abc.abstractmethod
    def train(self, config, kind, seed, data, state, save, progress):
        """Train one model; return (Run, whether it was finished)."""

    @abc.abstractmethod
    def result(self, config, kind, seed, data, run):
        """Return what to keep of a finished run, as plain numbers and strings."""

    @abc.abstractmethod
    def line(self, config, result):
        """Return a line or a few that sum up a finished run."""

    @abc.abstractmethod
    def conclude(self, config, data, runs, out):
        """Draw the figures; return the table to print, and more for results.json."""

    def run(self, args):
        """Run the command; return 0, or raise KeyboardInterrupt when stopped."""
        folder = RunFolder(self.name, args, self.config, "state/config.npz")
        config = folder.config
        data, checksum = self.load(config)
        with folder.used(checksum, self.files), backend_for(config.steps):
            if folder.start is None:
                folder.save_first()
            text = f"stopped; what was trained is saved.\n{folder.how_to_continue()}"
            with stopping.saying(text):
                print(self.opening(config, data))
                with folder.explained():
                    self._train_and_conclude(config, data, folder)
        return 0

    def _train_and_conclude(self, config, data, folder):
        states = {job: folder.load(job) for job in config.plan()}
        todo = [job for job in states if "result" not in states[job]]

        def finished(job, result):
            states[job] = {"result": result}
            label = f"{self.label(config, job):10s} "
            lines = self.line(config, result).splitlines()
            print(label + ("\n" + " " * len(label)).join(lines))

        with stop_signals():  # from here on a signal ends training between two steps
            if min(kernels.threads(), len(todo)) > 1 and config.steps >= SHORT_RUN:
                stopped = train_in_processes(self, config, data, todo, folder, finished)
            else:
                stopped = self._train_in_turn(config, data, todo, folder, finished)
        if stopped:
            steps = [
                f"{self.label(config, job)} {f'at step {n}' if n else 'not started'}"
                for job, n in stopped
            ]
            text = f"stopped {', '.join(steps)} of {config.steps}, and saved."
            raise KeyboardInterrupt(f"{wrapped(text)}\n{folder.how_to_continue()}")
        runs = [states[job]["result"] for job in config.plan()]
        text, more = self.conclude(config, data, runs, folder.path)
        results = {"config": asdict(config), "versions": versions(), **more}
        written = json.dumps(results | {"runs": runs}, indent=1)
        write_text(folder.path / "results.json", written)
        print(f"\n{text}")

    def _train_in_turn(self, config, data, todo, folder, finished):
        """Train the jobs ``todo``; return [(job, step)] of the one that was stopped."""
        for job in todo:
            progress = Progress(self.label(config, job), config.steps)
            result, step = self.train_and_save(config, job, data, folder, progress)
            if result is None:
                return [(job, step)]
            finished(job, result)
        return []

    def train_and_save(self, config, job, data, folder, progress):
        """Train one model, from its checkpoint if there is one; return (result, step).

        The result is None if training was stopped.
        """
        state = folder.load(job).get("run")

        def save(state):
            folder.save(job, {"run": state})

        run, is_finished = self.train(config, *job, data, state, save, progress)
        if not is_finished:
            return None, run.steps
        result = self.result(config, *job, data, run)
        folder.save(job, {"result": result})
        return result, run.steps

    def label(self, config, job):
        """Return the printed name of a run."""
        return job[0] if config.seeds == 1 else f"{job[0]}/{job[1]}"
