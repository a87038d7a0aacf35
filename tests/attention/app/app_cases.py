"""Helpers of the tests of the command line."""

import contextlib
import itertools
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys

import pytest

from attention.__main__ import main as program
from attention.app import arguments
from attention.app.experiments import translation
from attention.app.options import given
from attention.seq2seq import translator
from minigrad import checkpoint

ROOT = pathlib.Path(__file__).resolve().parents[3]
TINY_TRANSLATOR = (
    "--pairs 30 --width 6 --embedding 5 --batch 10 --steps 6 --validate-every 2 "
    "--word-dropout 0.3 --sampling 0.9"
).split()
OPTIONS = {  # of a command: as few steps as say something
    "reversal": "--steps 5 --width 4 --scores dot,additive --lengths 3".split(),
    "translate train": TINY_TRANSLATOR,
    "write train": "--steps 4 --width 8 --heads 2 --layers 1 --context 8 --batch 3 "
    f"--validate-every 2 --text {ROOT / 'README.md'}".split(),
    "compare": "--pairs 30 --test 30 --width 6 --embedding 5 --batch 10 --steps 4 "
    "--attentions none,luong --cell lstm --seeds 1".split(),
    "extrapolate": "--steps 5 --length 8 --width 8 --schemes rope,alibi".split(),
}
TRANSLATOR_FILES = {
    "best.safetensors", "state", "results.json", "alignment.png"
}  # fmt: skip
TINY_QUESTIONS = (
    "--pairs 60 --validation 9 --test 20 --width 6 --embedding 5 --batch 20 --steps 3 "
    "--validate-every 2"
).split()


def main(*arguments):
    """Run ``python -m attention ...`` in this process; return the exit code."""
    return program([str(argument) for argument in arguments])


def refused(capsys, *arguments):
    """Return the sentence with which the command refuses its arguments."""
    try:
        code = main(*arguments)
    except SystemExit as stop:  # argparse
        code = stop.code
    error = capsys.readouterr().err
    assert code == 2 and "Traceback" not in error
    return joined(error)


def joined(text):
    """Return sentences as they were before they were wrapped."""
    return " ".join(text.split())


def typed(command):
    """Return the config of a command line of translate train, by its own parser."""
    args = arguments.parser_of("translate train").parse_args(shlex.split(command)[5:])
    return translation.Config(**given(args, translation.Config))


def fits(text, folder=""):
    """Return whether all lines fit on 80 columns, with a short name for the folder."""
    text = text.replace(str(folder), "DIR") if folder else text
    return max(map(len, text.splitlines())) <= 80


def results_of(out):
    """Return what must be equal between two runs: all but their seconds."""
    found = json.loads((out / "results.json").read_text())
    for run in [found, *found.get("runs", ())]:
        run.pop("seconds", None)
    best = out / "best.safetensors"
    if best.exists():
        model = checkpoint.load(best)["model"]
        found["model"] = {name: array.tobytes() for name, array in model.items()}
    return found


def runs_of(out):
    """Return the runs in results.json, without their times."""
    return results_of(out)["runs"]


@contextlib.contextmanager
def stopped_at(call, module, name, number=signal.SIGINT):
    """Inside the block, call number ``call`` of module.name comes with a signal."""
    correct, calls = getattr(module, name), itertools.count()

    def interrupted(*arguments, **options):
        if next(calls) == call:
            os.kill(os.getpid(), number)
        return correct(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, interrupted)
        yield


def scored(out):
    """Return the scores in results.json, and the model of a run with its test set."""
    results = json.loads((out / "results.json").read_text())["test"]
    model = translator.load(out / "best.safetensors")
    data = translation.load(translation.Config(**model.about["config"]))
    return results, model, data.test


def start(*arguments, stdin=None, **environment):
    """Start ``python -m attention ...`` as a process of its own group."""
    defaults = {"ATTENTION_BACKEND": "numpy", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "attention", *map(str, arguments)],
        stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | defaults | environment, start_new_session=True,
    )  # fmt: skip
