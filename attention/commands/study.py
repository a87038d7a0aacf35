"""A command that trains several models: begun, stopped, gone on with, concluded.

    python -m attention NAME [options] --out DIR
    python -m attention NAME --resume DIR

What the runs are, and what is made of them, a ``Study`` is told by its methods. It sees
to the rest: the folder, the checkpoint, the progress line, Ctrl-C, and the file of
results, {"config", "versions", "runs": [...], ...}.
"""

import abc
import json
import pathlib
import sys

from minigrad import checkpoint

from ..experiments.reversal import describe, versions
from ..files import keep_earlier, make_folder, write_text
from ..progress import Progress
from .options import add_fields, given, load_state

FILES = ("results.json", "state.npz", "*.png")


class Study(abc.ABC):
    """One such command. ``run`` is called with its arguments and gives the exit code.

    name     of the command, and of its folder below runs/
    config   the dataclass of its options, with steps, seeds and plan()
    fields   {field of config: (type, help)}, see ``add_fields``
    quick    the options that --quick stands for, and what to say of it; None: no such
    """

    name, config, fields, quick = "", None, {}, None

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
        """One finished run in one line, after its label."""

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
        out = args.out or pathlib.Path("runs") / self.name
        if args.resume not in (None, True):
            out = args.resume
        try:
            config, data, state = self._begin(args, out)
        except (OSError, ValueError, TypeError) as problem:
            print(f"{self.name}: {problem}", file=sys.stderr)
            return 2
        print(self.opening(config, data))
        try:
            self._carry_on(config, data, state, out)
        except KeyboardInterrupt:
            print(f"Go on with\n  python -m attention {self.name} --resume {out}")
            return 130
        except (FloatingPointError, OSError) as problem:
            print(f"{self.name}: {problem}", file=sys.stderr)
            return 1
        return 0

    def _begin(self, args, out):
        """config, data, state: of a new run, or of the one in ``out``."""
        options = given(args, self.config)
        if args.resume is not None:
            path = out / "state.npz"
            config, state = load_state(path, self.config, options, self.name)
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
        keep_earlier(out, FILES)
        return config, data, {"runs": [], "current": None, "data": checksum}

    def _carry_on(self, config, data, state, out):
        """Make the runs that are not yet made, then the files and the table."""
        runs, current = list(state["runs"]), state["current"]
        always = {"command": self.name, "config": describe(config)}
        always |= {"data": state["data"], "runs": runs}

        def save(now):
            checkpoint.save(out / "state.npz", always | {"current": now})

        save(current)
        for kind, seed in config.plan()[len(runs) :]:
            label = kind if config.seeds == 1 else f"{kind}/{seed}"
            done = current["step"] if current else 0
            progress = Progress(label, config.steps, done)
            one, finished = self.train(
                config, kind, seed, data, current, save, progress
            )
            current = None
            if not finished:
                print(
                    f"stopped {label} at step {one.step} of {config.steps}, and saved."
                )
                raise KeyboardInterrupt
            runs.append(self.result(config, kind, seed, data, one))
            save(None)
            print(f"{label:10s} {self.line(config, runs[-1])}")
        text, more = self.conclude(config, data, runs, out)
        results = {"config": describe(config), "versions": versions(), **more}
        results["runs"] = runs
        write_text(out / "results.json", json.dumps(results, indent=1))
        print(f"\n{text}")
