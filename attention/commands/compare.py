"""Translate without attention and with it: the bottleneck of exercise 6.9.

It writes into the folder ``--out``:

    results.json    config, versions, each run with its translations, and the summary
    compare.png     BLEU by the length of the source, with intervals
    state.npz       what ``--resume`` goes on from
"""

import argparse
import json
import pathlib
import sys
import textwrap

from minigrad import checkpoint

from ..experiments import compare as experiment
from ..experiments import translation
from ..experiments.reversal import describe, versions
from ..files import keep_earlier, make_folder, write_text
from ..progress import Progress
from .options import above_zero, add_fields, given, load_state, natural, positive, share

TRAINS = True  # see attention/__main__.py
NAME = "compare"
FIELDS = {
    "task": (str, "en-de, en-fr, or a file with source<TAB>target on each line"),
    "pairs": (positive, "sentences of the grammar to train on"),
    "test": (positive, "sentences of the grammar to test on"),
    "cell": (("gru", "lstm"), "of encoder and decoder"),
    "hidden": (positive, "width of a state"),
    "embedding": (positive, "width of a word"),
    "dropout": (share, "in training"),
    "steps": (positive, "of training, at most"),
    "batch": (positive, "sentences a step"),
    "lr": (above_zero, "learning rate"),
    "seed": (natural, "the first seed"),
    "seeds": (positive, "how many seeds"),
}


def add_arguments(parser):
    add_fields(parser, experiment.Config(), FIELDS)
    add = parser.add_argument
    add(
        "--kinds", type=kinds, default=argparse.SUPPRESS, metavar="A,B",
        help=f"none and others (default: {','.join(experiment.KINDS)})",
    )  # fmt: skip
    add("--quick", action="store_true", help="one seed, smaller models: under a minute")
    folder = {"type": pathlib.Path, "metavar": "DIR", "default": None}
    add("--out", help="where the results go (default: runs/compare)", **folder)
    resume = "go on with the run in DIR (default: --out)"
    add("--resume", nargs="?", const=True, help=resume, **folder)


def run(args):
    """Run the experiment; return the exit code."""
    out = args.out or pathlib.Path("runs/compare")
    if args.resume not in (None, True):
        out = args.resume
    options = given(args, experiment.Config)
    if args.quick:
        options = {**experiment.QUICK, **options}
    try:
        if args.resume is None:
            config = experiment.Config(**options)
            data = translation.load(config.translation("none", config.seed))
            state = {"runs": [], "current": None}
            make_folder(out)
            keep_earlier(out, ["results.json", "state.npz", "*.png"])
        else:
            config, state = load_state(
                out / "state.npz", experiment.Config, options, NAME
            )
            data = translation.load(config.translation("none", config.seed))
            if data.checksum != state["data"]:
                raise ValueError(
                    f"The sentences of {config.task} are not those that the run in "
                    f"{out} was started with. Start another run with --out."
                )
    except (OSError, ValueError, TypeError) as problem:
        print(f"{NAME}: {problem}", file=sys.stderr)
        return 2
    print(
        f"{config.task}: {len(data.train)} pairs to train on, {len(data.test)} to test;"
        f" hidden {config.hidden},\n{config.steps} steps, seeds {config.seed} to "
        f"{config.seed + config.seeds - 1}"
    )
    try:
        carry_on(config, data, state, out)
    except KeyboardInterrupt:
        print(f"Go on with\n  python -m attention compare --resume {out}")
        return 130
    except (FloatingPointError, OSError) as problem:
        print(f"{NAME}: {problem}", file=sys.stderr)
        return 1
    return 0


def carry_on(config, data, state, out):
    """Make the runs that are not yet made, then the files and the table."""
    described, runs, current = describe(config), state["runs"], state["current"]

    def save(now):
        whole = {"config": described, "data": data.checksum}
        whole |= {"command": NAME, "runs": runs, "current": now}
        checkpoint.save(out / "state.npz", whole)

    for kind, seed in config.plan()[len(runs) :]:
        label = kind if config.seeds == 1 else f"{kind}/{seed}"
        progress = Progress(label, config.steps, current["step"] if current else 0)
        one, finished = experiment.train(
            config, kind, seed, data, current, save, progress
        )
        current = None
        if not finished:
            print(f"stopped {label} at step {one.step} of {config.steps}, and saved.")
            raise KeyboardInterrupt
        runs.append(experiment.result(config, kind, seed, data, one))
        save(None)
        print(line_of(label, runs[-1]))
    found = experiment.summary(config, runs, data)
    results = {"config": described, "versions": versions(), "summary": found}
    write_text(out / "results.json", json.dumps({**results, "runs": runs}, indent=1))
    from ..experiments.compare_figure import bleu_by_length

    bleu_by_length(found, out / "compare.png", config.seeds)
    print(
        f"\nby the words of the source, means over the seeds and 95 % intervals, of"
        f"\n{config.resamples} resamplings of sentences and seeds\n"
    )
    print(experiment.table(found, config.kinds))
    print("\n" + textwrap.fill(found["statement"], 80))
    if config.seeds < 3:
        print("\nFewer than 3 seeds: this is a look, and no result.")
    print(f"\nresults.json, compare.png: in {out}")


def line_of(label, run):
    """One finished run in one line."""
    lengths = [name for name in run["bleu"] if name != "all"][:3]
    reached = "  ".join(f"{n}: {run['bleu'][n]:.1f}" for n in lengths)
    return (
        f"{label:10s} BLEU at {reached}  best at step {run['best_step']}  "
        f"{run['seconds']:.0f} s"
    )


def kinds(text):
    """'none,luong' -> ('none', 'luong')"""
    names = tuple(name for name in text.split(",") if name)
    wrong = [name for name in names if name not in experiment.KINDS]
    if wrong or "none" not in names or len(set(names)) < max(len(names), 2):
        raise argparse.ArgumentTypeError(
            f"{text!r} should be none and others, out of {','.join(experiment.KINDS)}"
        )
    return names
