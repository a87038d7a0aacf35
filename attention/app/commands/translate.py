"""Train a translator, translate with it, and score it.

    translate train --task en-de|en-fr|FILE      learn from a grammar, or from a file
    translate run "the cat sleeps ."             one sentence, and its alignment
    translate score                              BLEU by length, alignment error rate

The questions of ``tasks/algorithmic.py`` are translated too, to their answers. Each of
their characters is a word; spaces between them may be typed, and are ignored.

    translate train --task copy|reversal|sort|addition|recall
    translate run --model DIR "12+345"           the answer, or "1 2 + 3 4 5"
    translate score --model DIR                  right answers, and right characters

``train`` writes its files into the folder ``--out`` (see ``translate_train.py``).
``run`` and ``score`` read such a folder, or the English-French model of the package.
"""

import argparse
import pathlib
import sys
from dataclasses import fields

from ... import kernels
from ...seq2seq import translator
from ..experiments import scoring
from ..experiments import translation as experiment
from ..options import POSITIVE, shown, wrapped
from ..pretrained import EN_FR
from .translate_train import add_train_arguments, train

TRAINS = True  # see attention/__main__.py


def add_arguments(parser):
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    add_train_arguments(
        verbs.add_parser(
            "train", help="learn to translate, or to answer",
            usage="%(prog)s [--task NAME] [OPTION ...]",
        )
    )  # fmt: skip
    run = verbs.add_parser("run", help="translate a sentence, or answer a question")
    run.add_argument(
        "sentence", nargs="+", help="with its full stop, if it has one; or a question"
    )
    run.add_argument(
        "--figure", type=pathlib.Path, default=pathlib.Path("runs/alignment.png"),
        metavar="PNG", help="the attention weights (default: runs/alignment.png)",
    )  # fmt: skip
    score = verbs.add_parser(
        "score", help="BLEU or right answers by length, alignment error rate"
    )
    for verb, beam in (run, 4), (score, 1):
        verb.add_argument(
            "--model", type=pathlib.Path, metavar="DIR",
            help="of translate train (default: the English-French model)",
        )  # fmt: skip
        verb.add_argument(
            "--beam", type=POSITIVE, default=beam, metavar="N",
            help=f"partial translations kept; 1 is greedy (default: {beam})",
        )  # fmt: skip
    for verb in verbs.choices.values():
        verb.add_argument(
            "--threads", type=int, metavar="N", default=argparse.SUPPRESS,
            help="processor threads to use",
        )  # fmt: skip


def run(args):
    """Run the verb; return the exit code."""
    return {"train": train, "run": translate, "score": score}[args.verb](args)


def translate(args):
    from ...plotting.figure import check_ending

    check_ending("--figure", args.figure)
    model = load_model(args.model)
    has_attention = model.model.config.attention != "none"
    if has_attention:  # an error is better before the work than after it
        args.figure.parent.mkdir(parents=True, exist_ok=True)
    text, ending = " ".join(args.sentence), model.about.get("ending")
    answer = answer_to(model, text)
    if ending and model.words(text)[-1:] not in ([], [ending]):
        note(f"{ending!r} was added at the end, as in all training sentences.")
        text += f" {ending}"
    with kernels.backend("numpy"):  # compiling takes longer than a sentence
        found = model.translate(text, args.beam)
    for word in found.unknown:
        note(f"{word!r} is not in the vocabulary; it is read as <unk>.")
    print(found.text, flush=True)
    if answer is not None and found.target != list(answer):
        note(
            f"This is wrong: {answer} is right. The model learned from questions with "
            f"--lengths {shown(config_of(model).lengths)}."
        )
    if found.weights is None or not len(found.weights):
        why = "the output is empty" if has_attention else "the model has no attention"
        note(f"no figure: {why}.")
        return 0
    from ...plotting.heatmaps import alignment_heatmap

    unit = "symbol" if model.characters else "word"
    title = f"Where did each {unit} look?"
    alignment_heatmap(found.weights, found.source, found.target, title, args.figure)
    print(f"attention weights of each {unit}: {args.figure}", file=sys.stderr)
    return 0


def note(text):
    print(wrapped(text), file=sys.stderr)


def answer_to(model, text):
    """Return the right answer where the model learned from questions, else None.

    Raises ValueError, in a sentence, for a text that is not such a question.
    """
    if not model.characters:
        return None
    task = experiment.task_of(config_of(model))
    question = "".join(model.words(text))
    answer = task.answer(question)
    task.encode(question)
    return answer


def config_of(model):
    """Return the config of the run that a model comes from.

    Options of an earlier version of the program, which this one lacks, are left out.
    """
    names = {field.name for field in fields(experiment.Config)}
    found = model.about["config"]
    return experiment.Config(**{k: v for k, v in found.items() if k in names})


def score(args):
    model = load_model(args.model)
    config = config_of(model)
    data = experiment.load(config)
    if data.checksum != model.about.get("data"):
        raise ValueError(
            f"The {data.what}s of {config.task} are not those that the model was "
            "trained with; it may have been trained on some of the test set."
        )
    n = len(data.test)
    print(f"{experiment.name_of(config)}: {n} test {data.what}{'s' * (n > 1)}\n")
    print(scoring.table(scoring.score(model, data.test, args.beam)))
    return 0


def load_model(folder):
    """Load the model of ``translate train`` in a folder, or the one of the package."""
    if folder is None:
        return translator.load(EN_FR)
    path = folder / "best.npz" if folder.is_dir() else folder
    if not path.exists():
        raise ValueError(
            f"There is no model in {folder}: it has no best.npz. translate train --out "
            f"{folder} trains one."
        )
    return translator.load(path)
