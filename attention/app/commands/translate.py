"""Translate a sentence, or answer a question; with --figure, draw the alignment.

    translate run "the cat sleeps ."
    translate run --figure cat.png "the cat sleeps ."
    translate run --html cat.html "the cat sleeps ."
    translate run --model DIR "12+345"           "1 2 + 3 4 5" is the same question
    translate run - < sentences.txt              a sentence on each line
    translate run --json - < sentences.txt       with words, weights, unknown words

In a question each character is a word; spaces between them are ignored. ``DIR`` is the
folder of a ``translate train``; without it the English-French model of the package
translates.
"""

import sys
from dataclasses import fields

from ... import kernels
from ...plotting.figure import check_ending
from ...seq2seq import translator
from ...seq2seq.translator import Translation
from ...tasks.words import without_format
from ..document import print_results
from ..experiments import translation as experiment
from ..files import free_path, make_folder
from ..options import meant, shown, utf8, wrapped
from ..pretrained import EN_FR
from ..run_folder import existing
from ..weights_page import check_page, write_alignment
from .experiment import BEST

BLANK = Translation([], [], None, [])  # of an empty line


def run(args):
    """Translate the sentence, or each line of stdin; return the exit code."""
    if args.figure is not None:
        check_ending("--figure", args.figure)
    check_page(args.html)
    model = load_model(args.model)
    if args.sentence == ["-"]:
        lines = (without_format(line).strip() for line in sys.stdin or ())
        # line n of the output translates line n of the input
        results = (translate(model, x, args) if x else show(BLANK, args) for x in lines)
        print_results(results, True, args.json)
    else:
        results = (translate(model, text, args) for text in [" ".join(args.sentence)])
        print_results(results, False, args.json)
    return 0


def translate(model, text, args):
    """Translate a sentence, print the result and draw its alignment; return it."""
    text, ending = utf8(text), model.about.get("ending")
    answer = answer_to(model, text)
    if ending and model.words(text)[-1:] not in ([], [ending]):
        note(f"{ending!r} was added at the end: all training sentences end with it.")
        text += f" {ending}"
    with kernels.backend("numpy"):  # compiling takes longer than a sentence
        found = model.translate(text, args.beam)
    for word in found.unknown:
        near = meant(word, model.source.words)
        note(f"{word!r} is not in the vocabulary; it is read as <unk>.{near}")
    result = show(found, args)
    if answer is not None and found.target != list(answer):
        note(
            f"This is wrong: {answer} is right. The model learned from questions with "
            f"--lengths {shown(config_of(model).lengths)}."
        )
    if args.figure is not None or args.html is not None:
        draw(model, found, args)
    return result


def show(found, args):
    """Print a ``Translation`` as text, unless --json does; return it as a dict."""
    if not args.json:
        print(found.text, flush=True)
    names = "text", "source", "target", "weights", "unknown"
    return {name: getattr(found, name) for name in names}


def draw(model, found, args):
    """Draw the weights of a ``Translation`` in new files; earlier ones stay."""
    unit = "symbol" if model.characters else "word"
    if found.weights is None or not len(found.weights):
        no_attention = found.weights is None
        why = "the model has no attention" if no_attention else "the output is empty"
        note(f"nothing is drawn: {why}.")
        return
    source = model.source.marked(found.source)
    if args.html is not None:
        write_alignment(found, source, unit, args.html)
    if args.figure is None:
        return
    from ...plotting.heatmaps import alignment_heatmap

    make_folder("--figure", args.figure, args.figure.parent)
    path, title = free_path(args.figure), f"Where did each {unit} look?"
    alignment_heatmap(found.weights, source, found.target, title, path)
    print(f"attention weights of each {unit}: {path}", file=sys.stderr)


def note(text):
    """Print a note on the standard error, apart from the translations."""
    print(wrapped(text), file=sys.stderr)


def answer_to(model, text):
    """Return the right answer where the model learned from questions, else None.

    Raises ValueError for a text that is not such a question.
    """
    if not model.characters:
        return None
    task = experiment.task_of(config_of(model))
    question = "".join(model.words(text))
    answer = task.answer(question)
    task.symbols.encode(question)  # raises ValueError for an unknown character
    return answer


def config_of(model):
    """Return the config of the run that a model comes from.

    Options of an earlier version of the program, which this one lacks, are left out.
    """
    names = {field.name for field in fields(experiment.Config)}
    found = model.about.get("config")
    if not isinstance(found, dict):
        raise ValueError(
            "The model's file has no config of a training; expected a model that "
            "translate train wrote."
        )
    return experiment.Config(**{k: v for k, v in found.items() if k in names})


def load_model(folder):
    """Load the model of ``translate train`` in a folder, or the one of the package."""
    if folder is None:
        return translator.load(EN_FR)
    path = existing(folder / BEST) if folder.is_dir() else folder
    if not path.exists():
        raise ValueError(
            f"There is no model {path}; expected a folder that `python -m attention "
            "translate train` wrote."
        )
    return translator.load(path)
