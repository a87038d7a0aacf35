"""Train a translator, translate with it, and score it.

    translate train --task en-de|en-fr|FILE      learn from a grammar, or from a file
    translate run "the cat sleeps ."             one sentence, and where it looked
    translate score                              BLEU by length, alignment error rate

The questions of ``tasks/algorithmic.py`` are translated too, to their answers. There a
word is one character; spaces between them are welcome, and mean nothing.

    translate train --task copy|reversal|sort|addition|recall
    translate run --model DIR "12+345"           the answer, or "1 2 + 3 4 5"
    translate score --model DIR                  answers and characters that are right

``train`` writes into the folder ``--out``; what, stands in ``translate_train.py``.
``run`` and ``score`` read such a folder, or the English-French model that comes with
the package.
"""

import argparse
import pathlib
import sys

from ...seq2seq import translator
from ..experiments import scoring
from ..experiments import translation as experiment
from ..files import make_folder
from ..pretrained import EN_FR
from .options import complain, positive, shown, wrapped
from .translate_train import add_train_arguments, train

TRAINS = True  # see attention/__main__.py
NAME = "translate"


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
        metavar="PNG", help="of where it looked (default: runs/alignment.png)",
    )  # fmt: skip
    score = verbs.add_parser(
        "score", help="BLEU or right answers by length, alignment error rate"
    )
    score.add_argument(
        "--task", default=None, metavar="NAME",
        help="where the file is now that the model learned from, if it was moved",
    )  # fmt: skip
    score.add_argument(
        "--target", default=None, metavar="NAME", help="and that of the targets"
    )
    for verb, beam in (run, 4), (score, 1):
        verb.add_argument(
            "--model", default=None, type=pathlib.Path, metavar="DIR",
            help="of translate train (default: English-French, which comes along)",
        )  # fmt: skip
        verb.add_argument(
            "--beam", type=positive, default=beam, metavar="N",
            help=f"beginnings that go on; 1 is greedy (default: {beam})",
        )  # fmt: skip
    for verb in verbs.choices.values():
        verb.add_argument(
            "--threads", type=int, metavar="N", default=argparse.SUPPRESS,
            help="processor threads to use",
        )  # fmt: skip


def run(args):
    """Do what the verb says; return the exit code."""
    try:
        return VERBS[args.verb](args)
    except FloatingPointError as problem:
        complain(NAME, problem)
        return 1
    except BrokenPipeError:
        raise  # attention/__main__.py ends the program
    except (OSError, ValueError, TypeError) as problem:
        complain(NAME, problem)
        return 2


def translate(args):
    from ...plotting import figure as figures
    from ...plotting import heatmaps as plots

    figures.check_ending("--figure", args.figure)
    model = loaded(args.model)
    if model.model.config.attention != "none":  # before the work, not after it
        make_folder(args.figure.parent, "--figure")
    text, ending = " ".join(args.sentence), model.about.get("ending")
    right = answer_to(model, text)
    if isinstance(ending, str) and model.words(text)[-1:] not in ([], [ending]):
        print(
            f"{ending!r} was put at the end, as in all that the model learned from.",
            file=sys.stderr,
        )
        text += f" {ending}"
    found = model.translate(text, args.beam)
    unit = "symbol" if model.characters else "word"
    for word in found.unknown:
        print(
            f"{word!r} is not in the vocabulary; it is read as <unk>.", file=sys.stderr
        )
    print(found.text)
    if right is not None and found.target != list(right):
        said = (
            f"This is wrong: {right} is right. The model learned from questions with "
            f"--lengths {shown(config_of(model).lengths)}."
        )
        print(wrapped(said), file=sys.stderr)
    if found.weights is None or not len(found.weights):
        none = model.model.config.attention == "none"
        why = "the model has no attention" if none else "nothing was said"
        print(f"no figure: {why}.", file=sys.stderr)
        return 0
    plots.alignment_heatmap(
        found.weights, found.source, found.target, f"Where did each {unit} look?",
        args.figure,
    )  # fmt: skip
    print(f"where each {unit} looked: {args.figure}", file=sys.stderr)
    return 0


def answer_to(model, text):
    """The right answer, where it is known that the model learned from questions.

    Else None.

    Raises ValueError, in a sentence, for what is none of its questions.
    """
    if not model.characters or "config" not in model.about:
        return None
    task = experiment.task_of(config_of(model))
    if task is None:
        return None
    question = "".join(model.words(text))
    right = task.answer(question)
    task.encode(question)
    return right


def config_of(model):
    """The config of the run that a model comes from.

    Raises ValueError, in a sentence, where the model does not say.
    """
    found = model.about.get("config")
    if not isinstance(found, dict) or not isinstance(found.get("task"), str):
        raise ValueError(
            "The model does not say what it was trained with: there is no config with "
            "a task in what it has about itself. Those of translate train have one."
        )
    unknown = [k for k in found if k not in experiment.Config.__dataclass_fields__]
    if unknown:
        raise ValueError(
            f"The model was trained with {', '.join(map(repr, unknown))}, which this "
            "version of the program does not know."
        )
    return experiment.Config(**found)


def score(args):
    model = loaded(args.model)
    config = config_of(model).moved(args.task, args.target)
    data = experiment.load(config)
    if data.checksum != model.about.get("data"):
        raise ValueError(
            f"The {data.what}s of {config.task} are not those that the model was "
            "trained with, so that it may have seen some of the test set."
        )
    name = experiment.name_of(config)
    several = data.what + (" that was" if len(data.test) == 1 else "s that were")
    print(f"{name}, {len(data.test)} {several} not trained on\n")
    print(scoring.table(scoring.score(model, data.test, args.beam)))
    return 0


def loaded(folder):
    """The model of ``translate train`` in a folder, or the one that comes along."""
    if folder is None:
        return translator.load(EN_FR)
    path = folder / "best.npz" if folder.is_dir() else folder
    if not path.exists():
        raise ValueError(
            f"There is no model in {folder}: it has no best.npz. translate train --out "
            f"{folder} makes one."
        )
    return translator.load(path)


VERBS = {"train": train, "run": translate, "score": score}
