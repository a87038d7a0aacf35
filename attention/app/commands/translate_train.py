"""``translate train``: train a translator, save it, and score it on its test set.

It writes into the folder ``--out``:

    best.npz        the model with the least validation loss, with its vocabularies
    last.npz        what ``--resume`` continues from
    metrics.jsonl   a line for each step and for each validation, as they come
    results.json    config, versions, and the scores on the test set
    alignment.png   the attention weights of one sentence of the test set

It learns from the sentences of a grammar, the questions of a task, or a file.
"""

import json
from dataclasses import asdict

from ...seq2seq import translator
from ...training import stop_signals
from .. import stopping
from ..experiments import scoring
from ..experiments import translation as experiment
from ..files import write_text
from ..machine import backend_for, versions
from ..metrics_file import MetricsFile
from ..options import wrapped
from ..progress_line import Progress
from ..run_folder import RunFolder


def run(args):
    """Train a model and score it; return 0, or raise KeyboardInterrupt when stopped."""
    folder = RunFolder("translate train", args, experiment.Config, "last.npz")
    config = folder.config
    data = experiment.load(config)
    used = folder.used(data.checksum, ("alignment.png",))
    with used, backend_for(config.steps), folder.explained():
        again = folder.how_to_continue()
        state = dict(folder.start["run"]) if folder.start else None
        with stop_signals():  # from here on a signal ends training between two steps
            print(wrapped(opening(config, data)))
            run, finished = learn(config, data, state, folder)
        if not finished:
            raise KeyboardInterrupt(
                f"stopped at step {run.steps} of {config.steps}, and saved.\n{again}"
            )
        with stopping.saying(f"stopped; the trained model is saved.\n{again}"):
            conclude(config, data, run, folder.path)
    return 0


def opening(config, data):
    """Return the lines to print before the training."""
    parts = (
        f"{experiment.name_of(config)}: {len(data.train)} pairs to train on, "
        f"{len(data.validation)} to validate, {len(data.test)} to test"
    )
    sizes = (
        f"vocabularies of {len(data.source)} and {len(data.target)} tokens; attention "
        f"{config.attention}, cell {config.cell}, seed {config.seed}"
    )
    return "\n".join(filter(None, (data.report, parts, sizes)))


def learn(config, data, state, folder):
    """Train and keep all files up to date; return (run, whether it is finished)."""

    def save(state):
        folder.save_first(run=state)

    def keep(run):
        translator.save(folder.path / "best.npz", best_of(config, data, run))

    metrics = MetricsFile(folder.path / "metrics.jsonl", state["step"] if state else 0)
    progress = Progress(config.attention, config.steps)
    try:
        run, finished = experiment.train(
            config, data, state, save, progress, metrics.write, keep
        )
    finally:
        metrics.close()
    if finished:
        save(run.state_dict())
    return run, finished


def best_of(config, data, run):
    """Return the best translator of a run so far, with its origin."""
    about = {
        "config": asdict(config),
        "data": data.checksum,
        "ending": data.ending,
        "step": run.best["step"],
        "validation": run.best["loss"],
        "parameters": run.model.num_parameters(),
        "versions": versions(),
    }
    return experiment.translator_of(config, data, run, about)


def conclude(config, data, run, out):
    """Score the best model on the test set; write and print the results."""
    best = best_of(config, data, run)
    report = scoring.score(best, data.test)
    said = [" ".join(words) for words in report.pop("said")]
    results = {**best.about, "steps": run.steps, "seconds": run.seconds, "test": report}
    write_text(out / "results.json", json.dumps({**results, "said": said}, indent=1))
    written = "best.npz, last.npz, metrics.jsonl, results.json"
    if draw_alignment(config, data, best, out / "alignment.png"):
        written += ", alignment.png"
    print(
        f"\nbest at step {run.best['step']} of {run.steps}, with a validation loss of "
        f"{run.best['loss']:.4g}; {run.seconds:.0f} s\n\n{scoring.table(report)}\n\n"
        f"written to {out}:\n{written}"
    )


def draw_alignment(config, data, model, path):
    """Draw the weights of a test sentence; return False without attention."""
    pair = next((p for p in data.test if len(p.source) >= 8), data.test[0])
    weights = scoring.reference_weights(model, [pair])
    if weights is None:
        return False
    from ...plotting.heatmaps import alignment_heatmap

    title = f"Where does {config.attention} look while it reads the reference?"
    gold = sorted(pair.possible or pair.alignment or ())
    source, target = model.source.marked(pair.source), model.target.marked(pair.target)
    alignment_heatmap(weights[0], source, target, title, path, gold=gold)
    return True
