"""Train each positional scheme at length n, and ask it at lengths up to 4 n.

It writes into the folder ``--out``:

    results.json        config, versions, and of each run losses, accuracies, seconds
    extrapolation.png   the accuracies by length        loss.png   the training losses
    state.npz           what ``--resume`` goes on from
"""

import argparse
import json
import pathlib
import sys

from minigrad import checkpoint

from ..experiments import extrapolation as experiment
from ..files import keep_earlier, make_folder, write_text
from ..progress import Progress
from .reversal import natural, positive

TRAINS = True  # see attention/__main__.py
SUMMARY = ("length", "steps", "width", "layers", "batch", "seed")
FILES = ("results.json", "state.npz", "extrapolation.png", "loss.png")


def add_arguments(parser):
    given = argparse.SUPPRESS  # absent from the namespace unless the user gave it
    add = parser.add_argument
    add(
        "--schemes",
        type=schemes,
        default=given,
        metavar="A,B",
        help="out of " + ",".join(experiment.TRAINED) + " (default: the five with a "
        "place in the notes' table)",
    )
    add("--length", type=positive, default=given, help="n, trained on (default: 32)")
    add("--steps", type=positive, default=given, help="training steps (default: 2000)")
    add("--width", type=positive, default=given, help="of the models (default: 32)")
    add("--seed", type=natural, default=given, help="the first seed (default: 1)")
    add("--seeds", type=positive, default=given, help="how many seeds (default: 1)")
    add("--quick", action="store_true", help="40 steps: to see what it writes")
    add(
        "--out",
        type=pathlib.Path,
        default=None,
        metavar="DIR",
        help="where the results go (default: runs/extrapolate)",
    )
    add("--resume", nargs="?", type=pathlib.Path, const=True, default=None,
        metavar="DIR", help="go on with the run in DIR (default: --out)")  # fmt: skip


def run(args):
    """Run the experiment; return the exit code."""
    out = args.out or pathlib.Path("runs/extrapolate")
    if args.resume not in (None, True):
        out = args.resume
    fields = experiment.Config.__dataclass_fields__
    options = {name: value for name, value in vars(args).items() if name in fields}
    try:
        if args.resume is None:
            options = (experiment.QUICK if args.quick else {}) | options
            config, state = experiment.Config(**options), {"runs": [], "current": None}
            make_folder(out)
            keep_earlier(out, FILES)
        else:
            config, state = load_state(out, options)
    except (OSError, ValueError) as problem:
        print(f"extrapolate: {problem}", file=sys.stderr)
        return 2
    print(", ".join(f"{k} {getattr(config, k)}" for k in SUMMARY))
    try:
        carry_on(config, state, out)
    except KeyboardInterrupt:
        print(f"Go on with\n  python -m attention extrapolate --resume {out}")
        return 130
    except (FloatingPointError, OSError) as problem:
        print(f"extrapolate: {problem}", file=sys.stderr)
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
    if not {"config", "runs", "current"} <= set(state) or (
        set(state["config"]) != set(experiment.Config.__dataclass_fields__)
    ):
        raise ValueError(f"{path} is no state of this experiment.")
    config = experiment.Config(**state["config"])
    differing = [
        f"--{name} was {getattr(config, name)}"
        for name, value in options.items()
        if getattr(config, name) != value
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
    for scheme, seed in config.plan()[len(runs) :]:
        one, finished = experiment.train(
            config,
            scheme,
            seed,
            state=current,
            save=save,
            progress=lambda scheme, seed, done: Progress(scheme, config.steps, done),
        )
        current = None
        if not finished:
            print(f"stopped {scheme} at step {one.step} of {config.steps}, and saved.")
            raise KeyboardInterrupt
        runs.append(
            {
                "scheme": scheme,
                "seed": seed,
                "losses": one.losses,
                **experiment.evaluate(config, scheme, one.model),
                "seconds": one.seconds,
                "parameters": one.model.num_parameters(),
            }
        )
        save(None)
        print(line_of(runs[-1]))
    results = {"config": described, "versions": experiment.versions(), "runs": runs}
    write_text(out / "results.json", json.dumps(results, indent=1))
    draw(config, runs, out)
    print("\n" + table(config, runs))
    print(f"\nresults.json, extrapolation.png, loss.png: in {out}")


def line_of(run):
    """One finished run in one line."""
    reached = run["accuracy"][run["scheme"]]
    found = "  ".join(f"{n}: {a:.2f}" for n, a in reached.items())
    return f"{run['scheme']:10s} right at {found}  {run['seconds']:.0f} s"


def table(config, runs):
    """Accuracy by length, a row for each scheme, means over the seeds, as text."""
    n = config.length
    head = "".join(f"{f'L={length}':>9s}" for length in config.lengths)
    times = "".join(f"{f'{factor:g} n':>9s}" for factor in config.factors)
    lines = [
        f"values right among the last {n // 2} tokens, trained on up to n = {n};",
        f"by chance: {1 / experiment.Bindings().values:.3f}; means over the seeds",
        "",
        f"{'scheme':12s}{head}",
        f"{'':12s}{times}",
    ]
    for row in config.rows:
        cells = "".join(
            f"{experiment.mean_over_seeds(runs, 'accuracy', row, length):9.3f}"
            for length in config.lengths
        )
        lines.append(f"{row:12s}{cells}")
    return "\n".join(lines)


def draw(config, runs, out):
    """The figures: accuracy against length, and the losses of the first seed."""
    from ..curves import loss_curves
    from ..figures import new_figure, save

    first = {run["scheme"]: run["losses"] for run in reversed(runs)}
    loss_curves(
        {name: first[name] for name in config.schemes},
        path=out / "loss.png",
        title="Which positions are learnt fastest?",
        ylabel="training loss (nats a value)",
    )
    figure = new_figure((8, 4.5))
    panel = figure.subplots()
    for place, row in enumerate(config.rows):
        mean = [
            experiment.mean_over_seeds(runs, "accuracy", row, length)
            for length in config.lengths
        ]
        style = dict(color=f"C{place % 10}", marker="osv^D"[place % 5], markersize=5)
        panel.plot(config.lengths, mean, ("-", "--")["+" in row], label=row, **style)
    chance = 1 / experiment.Bindings().values
    panel.axhline(chance, color="0.6", linewidth=0.8, label="by chance")
    panel.axvline(config.length, color="0.6", linewidth=0.8, linestyle=":")
    panel.set_xticks(config.lengths)
    panel.set_ylim(0, 1.03)
    panel.set_xlabel(f"sequence length (trained on up to {config.length}, dotted)")
    panel.set_ylabel("right values among the last tokens")
    panel.set_title("Which positions carry on beyond the trained length?")
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="y", color="0.9", linewidth=0.8)
    panel.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, out / "extrapolation.png")


def schemes(text):
    """'rope,alibi' -> ('rope', 'alibi')"""
    names = tuple(name for name in text.split(",") if name)
    wrong = [name for name in names if name not in experiment.TRAINED]
    if wrong or not names or len(set(names)) < len(names):
        raise argparse.ArgumentTypeError(
            f"{text!r} should be different names out of {','.join(experiment.TRAINED)}"
        )
    return names
