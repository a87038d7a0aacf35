"""The base class of the commands that train and can be resumed.

    python -m attention NAME [options] --out DIR
    python -m attention NAME --resume DIR

A subclass of ``Experiment`` says what the runs are and what to conclude from them. This
file does the rest: the folder, and the results:

    results.json    {"config", "versions", "runs": [...], ...}
    state/          what --resume continues from: the config, and a file for each run
"""

import json
from dataclasses import asdict

from ... import kernels
from ...stopping import saying
from ..files import write_text
from ..machine import SHORT_RUN, backend_for, versions
from ..run_folder import RunFolder
from ..study import Study

BEST = "best.safetensors"


class Experiment(Study):
    """One such command: a study with options.

    name      of the command
    Config    the dataclass of its options, with steps, kinds, seed and seeds
    figures   patterns of the names of its pictures
    module    of experiments/, with ``train`` and ``evaluate``

    config    the options of this run
    data      what all runs share, or None
    out       the folder of the run
    """

    name, Config, figures, module = "", None, (), None

    def __init__(self, config, out=None):
        self.config, self.out = config, out
        self.data = self.load()

    def load(self):
        """Return the data that all runs share; they have a checksum."""

    def opening(self):
        """Return the lines to print before the first run."""
        raise NotImplementedError

    def train(self, job, saved, save, progress):
        """Train a model of a kind."""
        state = saved.get("run")
        return self.module.train(self.config, *job, state, save, progress)

    def result(self, job, run):
        """Return losses, what the evaluation found, seconds and parameters."""
        kind, seed = job
        return {
            "kind": kind,
            "seed": seed,
            "losses": run.losses,
            **self.module.evaluate(self.config, run.model),
            "seconds": run.seconds,
            "parameters": run.model.num_parameters(),
        }

    def found(self, result):
        """Return the lines that sum up a run, without its name."""
        raise NotImplementedError

    def conclude(self, runs):
        """Draw the figures; return the text to print, and more for results.json."""
        raise NotImplementedError

    @classmethod
    def run(cls, args):
        """Run the command; return 0, or raise KeyboardInterrupt when stopped."""
        folder = RunFolder(cls.name, args, cls.Config)
        study = cls(folder.config)
        checksum = study.data and study.data.checksum
        with folder.used(checksum, cls.figures), backend_for(study.steps):
            study.out = folder.path
            text = f"stopped; what was trained is saved.\n{folder.how_to_continue()}"
            with saying(text), folder.explained():
                print(study.opening())
                at_once = kernels.threads() if study.steps >= SHORT_RUN else 1
                runs = study.train_all(study.jobs, folder, at_once)
                text, more = study.conclude(runs)
                results = json.dumps(study.results(runs, more), indent=1)
                write_text(folder.path / "results.json", results)
                print(f"\n{text}")
        return 0

    @property
    def steps(self):
        """The largest number of steps of a run."""
        return self.config.steps

    @property
    def jobs(self):
        """The runs, in order: every kind with every seed."""
        seeds = range(self.config.seed, self.config.seed + self.config.seeds)
        return [(kind, seed) for seed in seeds for kind in self.config.kinds]

    def results(self, runs, more):
        """Return what results.json holds."""
        shared = {"config": asdict(self.config), "versions": versions(), **more}
        return shared | {"runs": runs}

    def line(self, job, result):
        """Return what was found in a run, below its name."""
        label = f"{self.label(job):10s} "
        lines = self.found(result).splitlines()
        return label + ("\n" + " " * len(label)).join(lines)

    def label(self, job):
        """Return the printed name of a run."""
        return job[0] if self.config.seeds == 1 else f"{job[0]}/{job[1]}"


class OneRun(Experiment):
    """A command that trains one model and saves the best one as ``BEST``."""

    def keep(self, run):
        """Save the best model of a run so far, with its ``origin``; return it."""
        raise NotImplementedError

    def examine(self, best, run):
        """Return what else to keep of the best model."""
        raise NotImplementedError

    def origin(self, run, **found):
        """Return what the file of the best model says of it."""
        return {
            "config": asdict(self.config),
            "data": self.data.checksum,
            "step": run.best["step"],
            "parameters": run.model.num_parameters(),
            "versions": versions(),
            **found,
        }

    def result(self, job, run):
        """Return the numbers of the best model and of its training."""
        best = self.keep(run)  # a run of an earlier version has none of this format
        return {
            **best.about,
            "steps": run.steps,
            "seconds": run.seconds,
            "losses": run.losses,
            "validations": run.validations,
            **self.examine(best, run),
        }

    def label(self, job):
        """Return the kind of the model."""
        return job[0]

    def line(self, job, result):
        """Print nothing: ``conclude`` says it all."""
        return ""

    def results(self, runs, more):
        """Return what results.json holds: the only run."""
        return runs[0]
