"""A command that trains several models: begun, stopped, gone on with, concluded.

    python -m attention NAME [options] --out DIR
    python -m attention NAME --resume DIR

What the runs are, and what is made of them, a ``Study`` is told by its methods. It sees
to the rest: the folder, the checkpoint, the progress line, Ctrl-C, and the file of
results, {"config", "versions", "runs": [...], ...}.
"""

import abc
import functools
import json
import pathlib

from minigrad import checkpoint

from ...seq2seq.training import asked_to_stop
from ..experiments.reversal import describe, versions
from ..files import keep_earlier, make_folder, write_text
from ..progress import Progress
from . import side_by_side
from .options import add_fields, complain, folder_of, given, load_state

FILES = ("results.json", "state.npz")  # beside those of ``Study.files``


class Study(abc.ABC):
    """One such command. ``run`` is called with its arguments and gives the exit code.

    name     of the command, and of its folder below runs/
    config   the dataclass of its options, with steps, seeds and plan()
    fields   {field of config: (type, help)}, see ``add_fields``
    files    the names, or patterns of names, of the figures that it writes
    quick    the options that --quick stands for, and what to say of it; None: no such
    """

    name, config, fields, files, quick = "", None, {}, (), None

    def load(self, config):
        """(what all runs share, a checksum of it)"""
        return None, None

    @abc.abstractmethod
    def opening(self, config, data):
        """What is printed before the first run."""

    @abc.abstractmethod
    def train(self, config, kind, seed, data, state, save, progress):
        """Train one model; return (Run, whether it was finished)."""

    @abc.abstractmethod
    def result(self, config, kind, seed, data, run):
        """What there is to keep of a finished run, as plain numbers and strings."""

    @abc.abstractmethod
    def line(self, config, result):
        """One finished run in one line, or as few as it takes, after its label."""

    @abc.abstractmethod
    def conclude(self, config, data, runs, out):
        """Draw, and return what is printed at the end; and more for results.json."""

    def add_arguments(self, parser):
        """The options of the command, for argparse."""
        add_fields(parser, self.config(), self.fields)
        add, folder = parser.add_argument, {"type": pathlib.Path, "metavar": "DIR"}
        if self.quick:
            add("--quick", action="store_true", help=self.quick[1])
        add("--out", help=f"where it goes (default: runs/{self.name})", **folder)
        text = "go on with the run in DIR (default: --out)"
        add("--resume", nargs="?", const=True, help=text, **folder)

    def asked(self, args):
        """The config of a new run."""
        quick = self.quick[0] if getattr(args, "quick", False) else {}
        return self.config(**{**quick, **given(args, self.config)})

    def run(self, args):
        """Run the command; return its exit code: 0 done, 1 failed, 2 usage, 130."""
        try:
            out = folder_of(args, f"runs/{self.name}")
            config, data, state = self._begin(args, out)
        except (OSError, ValueError, TypeError) as problem:
            complain(self.name, problem)
            return 2
        several = getattr(args, "is_program", False)  # not inside of another
        try:
            print(self.opening(config, data))
            self._carry_on(config, data, state, out, several)
        except KeyboardInterrupt:
            if not (out / "state.npz").exists():
                print("stopped: nothing was trained yet.")
                return 130
            print(f"Go on with\n  python -m attention {self.name} --resume {out}")
            return 130
        except (FloatingPointError, OSError, side_by_side.Failed) as problem:
            complain(self.name, problem)
            return 1
        return 0

    def _begin(self, args, out):
        """config, data, state: of a new run, or of the one in ``out``."""
        options = given(args, self.config)
        if args.resume is not None:
            path = out / "state.npz"
            config, state = load_state(path, self.config, options, self.name)
            if not isinstance(state["runs"], dict):
                raise ValueError(f"{path} is of an earlier version of this program.")
            data, checksum = self.load(config)
            if checksum != state["data"]:
                raise ValueError(
                    f"The data are not those that the run in {out} was started with. "
                    "Start another run with --out."
                )
            return config, data, state
        config = self.asked(args)
        data, checksum = self.load(config)
        make_folder(out)
        keep_earlier(out, (*FILES, *self.files))
        return config, data, {"runs": {}, "current": {}, "data": checksum}

    def _carry_on(self, config, data, state, out, several):
        """Make the runs that are not yet made, then the files and the table."""
        runs, current = dict(state["runs"]), dict(state["current"])
        names = {job: f"{job[0]}-{job[1]}" for job in config.plan()}
        always = {"command": self.name, "config": describe(config)}
        always |= {"data": state["data"], "runs": runs, "current": current}

        def keep(job, now):
            """Of a run that goes on: its state; of one that is made: None."""
            current.pop(names[job], None)
            if now is not None:
                current[names[job]] = now
            checkpoint.save(out / "state.npz", always)

        def made(job, result):
            runs[names[job]] = result
            keep(job, None)
            lines = self.line(config, result).replace("\n", "\n" + " " * 11)
            print(f"{self.label(config, job):10s} {lines}")

        checkpoint.save(out / "state.npz", always)
        todo = {
            job: current.get(name) for job, name in names.items() if name not in runs
        }
        if several and side_by_side.pays(config.steps, len(todo)):
            stopped = side_by_side.make(self, config, todo, keep, made)
        else:
            stopped = self.one_by_one(config, data, todo, keep, made)
        for job, step in stopped.items():
            label = self.label(config, job)
            print(f"stopped {label} at step {step} of {config.steps}, and saved.")
        if stopped:
            raise KeyboardInterrupt
        runs = [runs[name] for name in names.values()]
        text, more = self.conclude(config, data, runs, out)
        results = {"config": describe(config), "versions": versions(), **more}
        results["runs"] = runs
        write_text(out / "results.json", json.dumps(results, indent=1))
        print(f"\n{text}")

    def label(self, config, job):
        """What a run is called where it is printed."""
        return job[0] if config.seeds == 1 else f"{job[0]}/{job[1]}"

    def one_by_one(self, config, data, todo, keep, made):
        """Make the runs ``todo`` as ``side_by_side.make`` does, in this process."""
        for job, state in todo.items():
            progress = Progress(self.label(config, job), config.steps)
            save = functools.partial(keep, job)
            with asked_to_stop():  # as soon as it is built, it can be saved
                run, finished = self.train(config, *job, data, state, save, progress)
            if not finished:
                return {job: run.step}
            made(job, self.result(config, *job, data, run))
        return {}
