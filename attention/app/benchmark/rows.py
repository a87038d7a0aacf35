"""The rows of the benchmark: their inputs, our implementations, and the limits.

A row's function takes (quick, peer) and returns a Case. ``peer`` is the module peer.py,
or None without torch. Quick rows are smaller where the peer takes long.
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import NamedTuple

import numpy as np

import minigrad as mg
from minigrad import nn, optim

from ... import kernels
from ...costs import cost_of
from ...exact.sdpa import scaled_dot_product_attention
from ...scores import tanh_scores
from ...transformer import DecoderOnly, TransformerConfig
from ...variants.decay import decay_attention
from ...variants.delta_rule import delta_rule
from ..experiments import reversal
from ..machine import SHORT_RUN
from .timing import Case, number, peak_memory, timed

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Row(NamedTuple):
    """A row of the table; limits {side: the largest ratio of our time to its time}."""

    title: str
    make: object  # function (quick, peer) -> Case
    limits: dict
    note: str = ""  # if a side with a limit does more work than ours


def additive_case(B, L, S, A):
    """Score all pairs of q (B, L, A) and k (B, S, A), forward and backward."""

    def make(quick, peer):
        q, k, w, g = draw((B, L, A), (B, S, A), (A,), (B, L, S))
        sides = both_backends(our_side(tanh_scores, (q, k, w), g))
        if peer:
            sides |= peer.additive(q, k, w, g, compiled=not quick)
        return Case(sides)

    return make


def attention_case(causal, backward, n=2048, heads=8, E=64):
    """Attend from n tokens to n tokens: forward, or forward and backward."""

    def make(quick, peer):
        *arrays, g = draw(*[(1, heads, n, E)] * 4)
        g = g if backward else None

        def attention(q, k, v):
            return scaled_dot_product_attention(q, k, v, is_causal=causal)

        sides = both_backends(our_side(attention, arrays, g))
        if peer:
            sides |= peer.attention(arrays, g, causal)
        return Case(sides)

    return make


def window_case(quick, peer, n=8192, w=256, E=64):
    """Attend from n tokens to the last w of them, forward and backward."""
    *arrays, g = draw(*[(1, 1 if quick else 8, n, E)] * 4)

    def attention(q, k, v):
        return scaled_dot_product_attention(q, k, v, window_size=(w - 1, 0))

    sides = both_backends(our_side(attention, arrays, g))
    if peer:
        sides |= peer.window(arrays, g, w)
    return Case(sides)


def memory_case(quick, peer, n=8192, E=64):
    """Compare the peak memory of tiled attention with a matrix of scores."""
    run = our_side(scaled_dot_product_attention, draw(*[(1, 1, n, E)] * 3), None)
    sides = {"ours": both_backends(run)["ours"]}
    sides["score matrix"] = cost_of("dense", L=n, E=E).score_bytes
    return Case(sides, measure=peak_memory)


def recurrence_case(backward_of, n=2048):
    """Read n tokens with a state, forward and backward; compare with tiled attention.

    backward_of   a function of n, which returns the call, with the backward
    """

    def make(quick, peer):
        return Case(
            both_backends(backward_of(n)) | {"tiled": tiled_causal(n)}, compare=False
        )

    return make


def crossing_case(backward_of, limit):
    """Find the least n, a power of 2, from which on a state is faster than tiles."""

    def crossing():
        for n in (2**power for power in range(6, 13)):
            sides = backward_of(n), tiled_causal(n)
            for run in sides:
                run()
            times = [[timed(run) for run in sides] for _ in range(5)]
            if np.median([ours / theirs for ours, theirs in times]) < 1:
                return n
        return math.inf

    def make(quick, peer):
        sides = {"ours": both_backends(crossing)["ours"], f"n = {limit}": limit}
        return Case(sides, compare=False, measure=number)

    return make


def decay_backward(n, heads=8, E=64):
    """Return a call of ``decay_attention`` with n tokens, and its backward."""
    *arrays, g = draw(*[(1, heads, n, E)] * 4)
    log_decay = -abs(draw((1, heads, n))[0]) / 16
    return our_side(lambda *x: decay_attention(*x)[0], [*arrays, log_decay], g)


def delta_backward(n, heads=8, E=64):
    """Return a call of ``delta_rule`` with n tokens, and its backward."""
    q, k, v, g = draw(*[(1, heads, n, E)] * 4)
    k /= np.sqrt((k * k).sum(-1, keepdims=True))
    beta = 1 / (1 + np.exp(draw((1, heads, n))[0]))
    return our_side(lambda *x: delta_rule(*x)[0], [q, k, v, beta], g)


def tiled_causal(n, heads=8, E=64):
    """Return a call of tiled causal attention with n tokens, and its backward."""
    *arrays, g = draw(*[(1, heads, n, E)] * 4)

    def attention(q, k, v):
        return scaled_dot_product_attention(q, k, v, is_causal=True, path="tiled")

    return both_backends(our_side(attention, arrays, g))["ours"]


def gru_case(quick, peer, B=64, T=32, hidden=128):
    """Run ``nn.GRU`` over T steps of B examples, forward and backward."""
    layer = nn.GRU(hidden, hidden, rng=np.random.default_rng(0))
    x, h0, g = draw((B, T, hidden), (1, B, hidden), (B, T, hidden))

    def output(x, h0):
        layer.zero_grad()
        return layer(x, h0)[0]

    sides = both_backends(our_side(output, (x, h0), g))
    if peer:
        sides |= peer.gru(x, h0, layer.state_dict(), g)
    return Case(sides)


def gpt_case(B, T, D, heads, layers, V=256):
    """Train a language model for a step: forward, loss, backward, clip, AdamW."""

    def make(quick, peer):
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

        sides = {"ours": both_backends(step)["ours"]}
        if peer:
            sides |= peer.gpt(model, ids)
        return Case(sides)

    return make


def tiny_case(quick, peer, operations=1000):
    """Run a chain of small operations: what one operation costs the engine."""

    def chain(x, y):
        z = x
        for _ in range(operations // 2):
            z = z * 0.99
            z = z + y
        return z

    x, y, g = draw((8,), (8,), (8,))
    sides = {"ours": our_side(chain, (x, y), g)}
    if peer:
        sides["eager"] = peer.side(chain, (x, y), g)
    return Case(sides)


def reversal_case(quick, peer, steps=None):
    """Run the command ``reversal``, which trains a model with each score.

    Its seconds are those that the command reports for the four trainings. It trains
    several models at once, one per thread, unless there are fewer steps than SHORT_RUN;
    the peer trains one after another, with all threads.
    """
    config = reversal.Config(steps=steps or (SHORT_RUN if quick else 300))
    reported = []

    def command():
        with tempfile.TemporaryDirectory() as folder:
            options = f"--steps {config.steps} --threads {kernels.threads()} --out"
            python("-m", "attention", "reversal", *options.split(), f"{folder}/out")
            results = json.loads(pathlib.Path(folder, "out/results.json").read_text())
        reported.append(sum(run["seconds"] for run in results["runs"]))
        return first_losses(run["losses"] for run in results["runs"])

    def seconds(run):
        elapsed = timed(run)
        return reported[-1] if run is command else elapsed

    sides = {"ours": command}
    if peer:
        models = [reversal.build(config, kind, seed=1).model for kind in config.kinds]
        batches = reversal.Batches(
            1, config.batch, config.min_length, config.max_length
        )
        batches = [batches[i] for i in range(config.steps)]
        train = peer.reversal(config, models, batches)
        sides["eager"] = lambda: first_losses(train())
    return Case(sides, measure=seconds)


def first_losses(losses_of_models, n=50):
    """Return the losses to compare; rounding errors make later ones differ."""
    return [loss for losses in losses_of_models for loss in losses[:n]]


def sgd_case(quick, peer, width=1000, batch=64):
    """Train for a step with ``w.data -= lr * w.grad``, and with optim.SGD."""
    (x,) = draw((batch, width))

    def step_of(by_hand):
        layer = nn.Linear(width, width, rng=np.random.default_rng(0))
        optimizer = optim.SGD(layer.parameters(), lr=1e-3)

        def step():
            for parameter in layer.parameters():
                parameter.grad = None
            (layer(x) ** 2).mean().backward()
            if not by_hand:
                return optimizer.step()
            for parameter in layer.parameters():
                parameter.data -= 1e-3 * parameter.grad

        return step

    return Case({"ours": step_of(True), "optim.SGD": step_of(False)}, compare=False)


def import_case(quick, peer):
    """Import both packages: the seconds beyond those of importing NumPy."""

    def seconds(run):
        return timed(run) - timed(lambda: python("-c", "import numpy"))

    sides = {"ours": lambda: python("-c", "import minigrad, attention")}
    return Case(sides | {"0.1 s": 0.1}, compare=False, measure=seconds)


TRANSLATE = "-m", "attention", "translate", "run", "the cat sees the dog ."


def translate_case(quick, peer):
    """Run the command ``translate run`` with the model of the package."""
    return Case({"ours": lambda: python(*TRANSLATE), "1.5 s": 1.5}, compare=False)


def translate_cold_case(quick, peer):
    """Run the same as the first command on a machine: the caches are empty."""

    def cold():
        with tempfile.TemporaryDirectory() as folder:
            names = "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "MPLCONFIGDIR"
            python(*TRANSLATE, **dict.fromkeys(names, folder))

    return Case({"ours": cold, "2 s": 2.0}, compare=False)


ROWS = {
    "reversal": Row("reversal, four scores", reversal_case, {"eager": 1 / 4}),
    "translate": Row("translate, warm", translate_case, {"1.5 s": 1}),
    "translate-cold": Row("translate, cold", translate_cold_case, {"2 s": 1}),
    "additive-128": Row(
        "additive (8, 128, 128, 128)",
        additive_case(8, 128, 128, 128),
        {"eager": 1 / 20, "compiled": 1 / 8},
    ),
    "additive-50": Row(
        "additive (16, 50, 50, 256)",
        additive_case(16, 50, 50, 256),
        {"eager": 1 / 20, "compiled": 1 / 8},
    ),
    "tiled-forward": Row("tiled, forward", attention_case(False, False), {"fused": 1}),
    "tiled": Row("tiled", attention_case(False, True), {"fused": 1}),
    "causal-forward": Row(
        "tiled, causal, forward", attention_case(True, False), {"fused": 1}
    ),
    "causal": Row("tiled, causal", attention_case(True, True), {"fused": 1}),
    "window": Row(
        "sliding window, n = 8192",
        window_case,
        {"fused": 1 / 12},
        "fused: PyTorch computes all pairs, with a mask matrix (n, n)",
    ),
    "decay": Row(
        "decay, n = 2048",
        recurrence_case(decay_backward),
        {"numpy": 1 / 3, "tiled": 1 / 2},
    ),
    "decay-from": Row(
        "decay beats tiles from n on",
        crossing_case(decay_backward, 1024),
        {"n = 1024": 1},
    ),
    "delta": Row(
        "delta rule, n = 2048",
        recurrence_case(delta_backward),
        {"numpy": 1 / 3, "tiled": 1},
    ),
    "delta-from": Row(
        "delta beats tiles from n on",
        crossing_case(delta_backward, 2048),
        {"n = 2048": 1},
    ),
    "memory": Row("tiled, bytes, n = 8192", memory_case, {"score matrix": 0.01}),
    "gru": Row("GRU layer", gru_case, {"eager": 0.6}),
    "gpt-64": Row("GPT (16 x 64), 64, 4, 4", gpt_case(16, 64, 64, 4, 4), {"eager": 1}),
    "gpt-128": Row(
        "GPT (16 x 64), 128, 4, 4", gpt_case(16, 64, 128, 4, 4), {"eager": 1}
    ),
    "gpt-128-6": Row(
        "GPT (8 x 128), 128, 4, 6", gpt_case(8, 128, 128, 4, 6), {"eager": 1}
    ),
    "gpt-192": Row(
        "GPT (12 x 256), 192, 6, 6", gpt_case(12, 256, 192, 6, 6), {"eager": 1}
    ),
    "tiny": Row("1000 tiny operations", tiny_case, {"eager": 0.7}),
    "sgd": Row("SGD step by hand", sgd_case, {"optim.SGD": 1.1}),
    "import": Row("import, beyond numpy", import_case, {"0.1 s": 1}),
}


def our_side(function, arrays, g):
    """Return a function that calls ``function`` and, if there is a g, the backward.

    g   the gradient of the output, or None
    """
    tensors = [mg.Tensor(x, requires_grad=g is not None) for x in arrays]

    def run():
        if g is None:
            with mg.no_grad():
                out = function(*tensors)
            return out[0] if isinstance(out, tuple) else out
        for t in tensors:
            t.grad = None
        out = function(*tensors)
        out.backward(g)
        return [out, *(t.grad for t in tensors)]

    return run


def both_backends(run):
    """Return two sides: with the compiled kernels, and with NumPy alone."""

    def on(backend):
        def side():
            with kernels.backend(backend):
                return run()

        return side

    return {"ours": on("numba"), "numpy": on("numpy")}


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
