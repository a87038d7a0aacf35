"""Train four attention scores to reverse strings, and compare them.

It writes into the folder ``--out``:

    results.json      config, versions, and of each run the losses, accuracies, seconds
    loss.png          the losses           accuracy.png   the accuracies by length
    alignment-*.png   where each score looked while it reversed a word
    state.npz         what ``--resume`` goes on from
"""

import argparse
import json
import pathlib
import sys

from minigrad import checkpoint

from ..experiments import reversal as experiment
from ..files import keep_earlier, make_folder, write_text
from ..progress import Progress

TRAINS = True  # see attention/__main__.py
SUMMARY = ("preset", "decoder_init", "steps", "hidden", "batch", "seed")


def add_arguments(parser):
    given = argparse.SUPPRESS  # absent from the namespace unless the user gave it
    add = parser.add_argument
    add(
        "--preset",
        choices=list(experiment.PRESETS),
        default=given,
        help="masked: padding is not attended to (default); book: as in the chapter",
    )
    add(
        "--decoder-init",
        choices=("zero", "encoder"),
        default=given,
        help="the decoder's first state (default: zero)",
    )
    add(
        "--kinds",
        type=kinds,
        default=given,
        metavar="A,B",
        help="which scores: " + ",".join(experiment.KINDS) + " (default: all)",
    )
    add("--steps", type=positive, default=given, help="training steps (default: 2500)")
    add("--hidden", type=positive, default=given, help="GRU width (default: 96)")
    add("--seed", type=natural, default=given, help="the first seed (default: 1)")
    add("--seeds", type=positive, default=given, help="how many seeds (default: 1)")
    add(
        "--pad-eval",
        type=positive,
        default=given,
        metavar="N",
        help="evaluate on sources padded to N letters (default: unpadded)",
    )
    add(
        "--out",
        type=pathlib.Path,
        default=None,
        metavar="DIR",
        help="where the results go (default: runs/reversal)",
    )
    add("--resume", nargs="?", type=pathlib.Path, const=True, default=None,
        metavar="DIR", help="go on with the run in DIR (default: --out)")  # fmt: skip


def run(args):
    """Run the experiment; return the exit code."""
    out = args.out or pathlib.Path("runs/reversal")
    if args.resume not in (None, True):
        out = args.resume
    options = {
        name: value
        for name, value in vars(args).items()
        if name in experiment.Config.__dataclass_fields__
    }
    try:
        if args.resume is None:
            config, state = experiment.Config(**options), {"runs": [], "current": None}
            make_folder(out)
            keep_earlier(out, ["results.json", "state.npz", "*.png"])
        else:
            config, state = load_state(out, options)
    except (OSError, ValueError) as problem:
        print(f"reversal: {problem}", file=sys.stderr)
        return 2
    print(", ".join(f"{k} {getattr(config, k)}" for k in SUMMARY))
    try:
        carry_on(config, state, out)
    except KeyboardInterrupt:
        print(f"Go on with\n  python -m attention reversal --resume {out}")
        return 130
    except (FloatingPointError, OSError) as problem:
        print(f"reversal: {problem}", file=sys.stderr)
        return 1
    return 0


def load_state(out, options):
    """The config and the state in ``out``; options given now must agree with it."""
    path = out / "state.npz"
    if not path.is_file():
        raise ValueError(
            f"There is nothing to resume in {out}: it has no state.npz. Start the run "
            "without --resume."
        )
    state = checkpoint.load(path)
    if "config" not in state or "runs" not in state:
        raise ValueError(f"{path} is no state of this experiment.")
    config = experiment.Config(**state["config"])
    now = experiment.Config(**{**state["config"], **options})
    differing = [
        f"--{name.replace('_', '-')} was {getattr(config, name)}"
        for name in options
        if getattr(config, name) != getattr(now, name)
    ]
    if differing:
        raise ValueError(
            f"The run in {out} was started otherwise: {'; '.join(differing)}. Leave "
            "the option out to go on with it, or start another run with --out."
        )
    return config, state


def carry_on(config, state, out):
    """Make the runs that are not yet made, then the files and the table."""
    described = experiment.describe(config)

    def save(current):
        checkpoint.save(
            out / "state.npz", {"config": described, "runs": runs, "current": current}
        )

    runs, current = list(state["runs"]), state["current"]
    save(current)
    for kind, seed in config.plan()[len(runs) :]:
        one, finished = experiment.train(
            config,
            kind,
            seed,
            state=current,
            save=save,
            progress=lambda kind, seed, done: Progress(
                label_of(config, kind, seed), config.steps, done
            ),
        )
        current = None
        if not finished:
            print(f"stopped {kind} at step {one.step} of {config.steps}, and saved.")
            raise KeyboardInterrupt
        runs.append(
            {
                "kind": kind,
                "seed": seed,
                "losses": one.losses,
                **experiment.evaluate(config, one.model),
                "seconds": one.seconds,
                "parameters": one.model.num_parameters(),
                "alignment": experiment.alignment(one.model),
            }
        )
        save(None)
        print(line_of(config, runs[-1]))
    results = {"config": described, "versions": experiment.versions(), "runs": runs}
    write_text(out / "results.json", json.dumps(results, indent=1))
    draw(config, runs, out)
    print("\n" + table(config, runs))
    print(f"\nresults.json, loss.png, accuracy.png, alignment-*.png: in {out}")


def label_of(config, kind, seed):
    """What a run is called in the progress line."""
    return kind if config.seeds == 1 else f"{kind}/{seed}"


def line_of(config, run):
    """One finished run in one line."""
    reached = "  ".join(f"{n}: {a:.3f}" for n, a in run["accuracy"].items())
    label = label_of(config, run["kind"], run["seed"])
    return (
        f"{label:9s} loss {run['losses'][-1]:.4f}  "
        f"accuracy at {reached}  {run['seconds']:.0f} s"
    )


def table(config, runs):
    """Accuracy and exact match by length, means over the seeds, as text."""
    padded = f" (sources padded to {config.pad_eval})" if config.pad_eval else ""
    head = "".join(f"{'L=' + str(n):>8s}" for n in config.lengths)
    lines = [
        f"letters right, the ones before given{padded}, and whole strings right by",
        "greedy decoding; means over the seeds",
        "",
        f"{'score':9s}{head}   {head}",
    ]
    for kind in config.kinds:
        cells = ""
        for what in ("accuracy", "exact_match"):
            for n in config.lengths:
                cells += f"{experiment.mean_by_kind(runs, what, n)[kind]:8.3f}"
            cells += "   "
        lines.append(f"{kind:9s}{cells}".rstrip())
    return "\n".join(lines)


def draw(config, runs, out):
    """The figures: losses, accuracies, and one alignment a score, of its first seed."""
    from .. import curves, plots

    first = {run["kind"]: run for run in reversed(runs)}
    curves.loss_curves(
        {kind: first[kind]["losses"] for kind in config.kinds}, path=out / "loss.png"
    )
    curves.accuracy_bars(
        {
            kind: {
                n: experiment.mean_by_kind(runs, "accuracy", n)[kind]
                for n in config.lengths
            }
            for kind in config.kinds
        },
        path=out / "accuracy.png",
    )
    for kind in config.kinds:
        seen = first[kind]["alignment"]
        plots.alignment_heatmap(
            seen["weights"],
            seen["source"],
            seen["target"],
            title=f"Where does {kind} look, reversing a word?",
            path=out / f"alignment-{kind}.png",
            gold=[(t, len(seen["source"]) - 1 - t) for t in range(len(seen["target"]))],
        )


def kinds(text):
    """'dot,scaled' -> ('dot', 'scaled')"""
    names = tuple(name for name in text.split(",") if name)
    wrong = [name for name in names if name not in experiment.KINDS]
    if wrong or not names or len(set(names)) < len(names):
        raise argparse.ArgumentTypeError(
            f"{text!r} should be different names out of {','.join(experiment.KINDS)}"
        )
    return names


def positive(text):
    return _integer(text, 1)


def natural(text):
    return _integer(text, 0)


def _integer(text, least):
    try:
        value = int(text)
    except ValueError:
        value = None
    if value is None or value < least:
        raise argparse.ArgumentTypeError(f"{text!r} should be a number from {least} up")
    return value
