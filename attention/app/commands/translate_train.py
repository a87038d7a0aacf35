"""``translate train``: its options, its files, and what it prints.

It writes into the folder ``--out``:

    best.npz        the model with the least validation loss, with its vocabularies
    last.npz        what ``--resume`` goes on from
    metrics.jsonl   a line for each step and for each validation, as they come
    results.json    config, versions, and the scores on the test set
    alignment.png   where it looked in one sentence of the test set

What it learns from is a grammar's sentences, the questions of a task, or a file. The
sizes and the seed of the data mean the same for a grammar and for a task.
"""

import json
import pathlib
import shlex

from minigrad import checkpoint

from ...seq2seq import translator
from ...seq2seq.config import CHOICES
from ...seq2seq.training import asked_to_stop
from ..experiments import scoring
from ..experiments import translation as experiment
from ..experiments.reversal import describe, versions
from ..files import keep_earlier, make_folder, write_text
from ..metrics_file import MetricsFile
from ..progress import Progress
from .options import (
    above_zero,
    add_fields,
    below_one,
    complain,
    folder_of,
    given,
    load_state,
    natural,
    positive,
    positives,
    share,
    shown,
    wrapped,
)

NAME = "translate train"
FILES = "best.npz", "last.npz", "metrics.jsonl", "results.json", "alignment.png"


def usual(text, name):
    """The help of an option, with what is usual for sentences and for questions."""
    of_sentences, of_questions = experiment.USUAL[name]
    return f"{text} (default: {of_sentences}; with questions {of_questions})"


LENGTHS = "; ".join(
    f"{name} {shown(kind().lengths)}" for name, kind in experiment.QUESTIONS.items()
)
FIELDS = {
    "task": (
        str,
        f"sentences of a grammar: {', '.join(experiment.GRAMMARS)}; questions: "
        f"{', '.join(experiment.QUESTIONS)}; or a file with source<TAB>target on each "
        "line",
    ),
    "target": (str, "a file of targets, where --task is one of sources, line by line"),
    "lengths": (
        positives,
        "of questions, least and most: letters, digits of a number, pairs of key and "
        f"value (default: {LENGTHS})",
    ),
    "pairs": (positive, usual("sentences or questions to train on", "pairs")),
    "validation": (positive, "sentences or questions to validate on"),
    "test": (positive, "sentences or questions to test on; none is trained on"),
    "data_seed": (natural, "of what is drawn, or of a file's division"),
    "min_count": (positive, "words of sentences that come less often are <unk>"),
    "keep_case": (bool, "of a file: leave capitals as they are"),
    "attention": (CHOICES["attention"], "how the decoder looks back"),
    "score": (CHOICES["score"], "by what (default: additive, or general with luong)"),
    "cell": (CHOICES["cell"], "of encoder and decoder"),
    "layers": (positive, "of encoder, and of decoder"),
    "bidirectional": (bool, "the encoder reads from both ends"),
    "input_feeding": (bool, "luong's output is read at the next step"),
    "coverage": (bool, "the score knows what was looked at before"),
    "local": (("m", "p"), "look at a window only"),
    "window": (natural, "how far it reaches on either side"),
    "embedding": (positive, "width of a word"),
    "hidden": (positive, "width of a state"),
    "dropout": (below_one, usual("in training", "dropout")),
    "steps": (positive, usual("of training, at most", "steps")),
    "batch": (positive, usual("sentences or questions a step", "batch")),
    "lr": (above_zero, usual("learning rate", "lr")),
    "schedule": (experiment.SCHEDULES, "of the learning rate"),
    "warmup": (natural, "steps in which the rate rises"),
    "clip": (above_zero, "largest norm of the gradient"),
    "smoothing": (below_one, "of the labels"),
    "sampling": (share, "scheduled sampling: its own words that it reads at the end"),
    "word_dropout": (below_one, "of source words, read as <unk> in training"),
    "validate_every": (
        positive,
        usual("steps between two validations", "validate_every"),
    ),
    "patience": (positive, "validations without a new least loss that end it"),
    "seed": (natural, "of parameters, batches and dropout"),
}


def add_train_arguments(parser):
    add_fields(parser, experiment.Config(), FIELDS)
    folder = {"type": pathlib.Path, "metavar": "DIR", "default": None}
    add = parser.add_argument
    add("--out", help="where it goes (default: runs/translate)", **folder)
    resume = "go on with the run in DIR (default: --out)"
    add("--resume", nargs="?", const=True, help=resume, **folder)
    add(
        "--export", type=pathlib.Path, default=None, metavar="FILE.safetensors",
        help="write the model there too, in half precision, with a .json of its origin",
    )  # fmt: skip


def train(args):
    out = folder_of(args, "runs/translate")
    check_export(args.export, out)
    options = given(args, experiment.Config)
    if args.resume is None:
        config, state = experiment.Config(**options), {"run": None}
        data = experiment.load(config)
    else:
        config, state = load_state(out / "last.npz", experiment.Config, options, NAME)
        data = experiment.load(config)
        if data.checksum != state["data"]:
            raise ValueError(
                f"The {data.what}s of {config.task} are not those that the run in "
                f"{out} was started with. Start another run with --out."
            )
    if args.export is not None:  # before the work, not after it
        make_folder(args.export.parent, "--export")
    if args.resume is None:
        make_folder(out)
        keep_earlier(out, FILES)
    said = (
        f"{experiment.name_of(config)}: {len(data.train)} pairs to train on, "
        f"{len(data.validation)} to validate, {len(data.test)} to test"
    )
    sizes = (
        f"{len(data.source)} and {len(data.target)} {data.unit}s; attention "
        f"{config.attention}, cell {config.cell}, seed {config.seed}"
    )
    try:
        with asked_to_stop():  # from here on, whatever comes finds something to save
            print(wrapped("\n".join(filter(None, (data.report, said, sizes)))))
            one, finished = learn(config, data, state["run"], out)
        if finished:
            conclude(config, data, one, out, args.export)
            return 0
    except BrokenPipeError:
        raise  # attention/__main__.py ends the program
    except OSError as problem:  # a full disk, and what was there before is there still
        complain(NAME, problem)
        return 1
    print(
        f"stopped at step {one.step} of {config.steps}, and saved. Go on with\n"
        f"  python -m attention translate train --resume {out}"
    )
    return 130


def check_export(path, out):
    """ValueError unless ``--export`` is None, or a name that is free of a run's."""
    if path is None:
        return
    if path.suffix != ".safetensors":
        raise ValueError(f"--export is {path}; expected a name.safetensors.")
    for written in path, path.with_suffix(".json"):
        if written.is_dir():
            raise ValueError(
                f"--export is {path}, and {written} is a folder; expected a name that "
                "is free."
            )
        if written.resolve() in [(out / name).resolve() for name in FILES]:
            raise ValueError(
                f"--export is {path}, with a {written.name} beside it, which is the "
                f"name of a file of the run in {out}; expected another name."
            )


def learn(config, data, state, out):
    """Train with all files kept up to date; return (run, whether it is finished)."""
    described, step = describe(config), 0 if state is None else state["step"]

    def save(now):
        whole = {"config": described, "data": data.checksum, "run": now}
        checkpoint.save(out / "last.npz", {"command": NAME, **whole})

    def keep(run):
        translator.save(out / "best.npz", best_of(config, data, run))

    metrics = MetricsFile(out / "metrics.jsonl", step)
    progress = Progress(config.attention, config.steps)
    try:
        one, finished = experiment.train(
            config, data, state, save, progress, metrics.write, keep
        )
    finally:
        metrics.close()
    if finished:
        save(one.state_dict())
    return one, finished


def best_of(config, data, run):
    """The best translator of a run so far, with what there is to say about it."""
    about = {
        "config": describe(config),
        "data": data.checksum,
        "ending": data.ending,
        "step": run.best["step"],
        "validation": run.best["loss"],
        "parameters": run.model.num_parameters(),
        "versions": versions(),
    }
    return experiment.translator_of(config, data, run, about)


def conclude(config, data, run, out, export):
    """Score the best model on the test set; write and print what came out."""
    best = best_of(config, data, run)
    report = scoring.score(best, data.test)
    said = [" ".join(words) for words in report.pop("said")]
    results = {**best.about, "steps": run.step, "seconds": run.seconds, "test": report}
    write_text(out / "results.json", json.dumps({**results, "said": said}, indent=1))
    pair = next((p for p in data.test if len(p.source) >= 8), data.test[0])
    weights = scoring.looked_at(best, [pair])
    written = "best.npz, last.npz, metrics.jsonl, results.json"
    if weights is not None:
        from ...plotting import heatmaps as plots

        plots.alignment_heatmap(
            weights[0], pair.source, pair.target,
            f"Where does {config.attention} look, told each {data.unit}?",
            out / "alignment.png", gold=sorted(pair.possible or pair.alignment or ()),
        )  # fmt: skip
        written += ", alignment.png"
    print(
        f"\nbest at step {run.best['step']} of {run.step}, with a validation loss of "
        f"{run.best['loss']:.4g}; {run.seconds:.0f} s\n\n{scoring.table(report)}\n\n"
        f"{written}:\nin {out}"
    )
    if export is not None:
        print(f"{export}: {export_half(best, data, export, config)} bytes")


def export_half(best, data, path, config):
    """Write a model in half precision, and beside it where it comes from."""
    make_folder(path.parent, "--export")
    translator.save(path, best, half=True)
    halved = scoring.score(translator.load(path), data.test)
    halved.pop("said")
    origin = {
        "command": f"{command_of(config)} --export {path.name}",
        **best.about,
        "precision": "float16",
        "bytes": path.stat().st_size,
        "test": halved,
    }
    write_text(path.with_suffix(".json"), json.dumps(origin, indent=1) + "\n")
    return origin["bytes"]


def command_of(config):
    """The command that makes this run anew: its seed, and what is not the default."""
    words = ["python -m attention translate train"]
    # what is usual depends on these two
    default = experiment.Config(task=config.task, attention=config.attention)
    for name in FIELDS:
        value, omitted = getattr(config, name), getattr(default, name)
        if name in ("task", "attention"):
            omitted = getattr(experiment.Config(), name)
        option = name.replace("_", "-")
        if value != omitted and isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        elif value != omitted or name == "seed":
            words.append(f"--{option} {shlex.quote(str(shown(value)))}")
    return " ".join(words)
