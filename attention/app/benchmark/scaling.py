"""Measure how a kernel's time grows with each size: tokens n, width d, examples B.

    found = scaling(say=print)
    found["n"]["tiled"]        ([256, 512, 1024, 2048], [seconds, ...])
    exponent(*found["n"]["tiled"])     the p of  time = c n^p

One size varies, and the others keep the values of ``BASE``. Forward, float32.
"""

import math
import time

import numpy as np

from minigrad import Tensor, no_grad

from ... import kernels
from ...exact.sdpa import dense_attention, tiled_attention
from ...plotting.figure import new_figure, save
from ...plotting.palette import looks
from ...scores import tanh_scores
from ...variants.linear import linear_attention
from .timing import nothing_old_collected, rotated

WINDOW = 64
SHORT = 2e-3  # seconds: a shorter call is repeated
BASE = {"n": 512, "d": 64, "B": 1, "heads": 1}
SIZES = {
    "n": (256, 512, 1024, 2048),
    "d": (16, 32, 64, 128),
    "B": (1, 2, 4, 8),
    "heads": (1, 2, 4, 8),
}
QUICK_BASE = BASE | {"n": 256}
QUICK_SIZES = {"n": (64, 128, 256, 512)} | {
    name: sizes[:3] for name, sizes in SIZES.items() if name != "n"
}
LABELS = {"n": "tokens n", "d": "width d", "B": "examples B", "heads": "heads"}
KERNELS = ("additive", "dense", "tiled", "window", "linear")


def scaling(quick=False, say=lambda text: None):
    """Return {size: {kernel: (values, seconds)}}; ``say`` is called before each size.

    The seconds are processor time, the least of the rounds.
    """
    base, all_sizes = (QUICK_BASE, QUICK_SIZES) if quick else (BASE, SIZES)
    rounds, found = 3 if quick else 5, {}
    with nothing_old_collected(), kernels.backend(kernels.backend()), no_grad():
        for size, values in all_sizes.items():
            say(f"time against {LABELS[size]}")
            found[size] = {name: (list(values), []) for name in KERNELS}
            for value in values:
                calls = _calls(**base | {size: value})
                repeats = {name: _repeats(call) for name, call in calls.items()}
                times = {name: [] for name in calls}
                for turn in range(rounds):
                    for name in rotated(calls, turn):
                        times[name].append(_seconds(calls[name], repeats[name]))
                for name, taken in times.items():
                    found[size][name][1].append(min(taken))
    return found


def exponent(values, seconds):
    """Return the slope of log(seconds) over log(values), of the three largest values.

    At small sizes, what every call costs hides the time of its work.
    """
    x, y = np.log(values[-3:]), np.log(seconds[-3:])
    return float(np.polyfit(x, y, 1)[0])


def draw(found, quick=False, path=None):
    """Draw a panel for each size, log-log, with the exponents in its legend."""
    figure = new_figure((13, 7.5))
    base, look = QUICK_BASE if quick else BASE, looks(KERNELS)
    for panel, (size, lines) in zip(figure.subplots(2, 2).flat, found.items()):
        for name, (values, seconds) in lines.items():
            label = f"{name}: time ~ {size}^{exponent(values, seconds):.2f}"
            milliseconds = [1e3 * s for s in seconds]
            panel.plot(values, milliseconds, label=label, **look[name])
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_xticks(values, values)
        panel.set_xlabel(LABELS[size])
        panel.set_ylabel("processor time a call, ms")
        others = ", ".join(f"{k} = {x}" for k, x in base.items() if k != size)
        panel.set_title(others, fontsize="medium")
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(color="0.9", linewidth=0.8)
        panel.legend(
            frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5)
        )
    figure.suptitle("How does the time of attention grow with its sizes?")
    figure.supxlabel(
        f"forward, float32, {kernels.backend()}, threads: {kernels.threads()}; window: "
        f"{WINDOW} keys a query; additive: the scores alone;\n"
        "exponents are fitted to the three largest values",
        fontsize="small",
    )
    return save(figure, path)


def _calls(n, d, B, heads):
    """Return {kernel: a call on random inputs (B, heads, n, d)}."""
    rng = np.random.default_rng(0)
    q, k, v = (
        Tensor(rng.standard_normal((B, heads, n, d), np.float32)) for _ in range(3)
    )
    rows = [Tensor(x.data.reshape(B * heads, n, d)) for x in (q, k)]
    w = Tensor(rng.standard_normal(d, np.float32))
    return {
        "dense": lambda: dense_attention(q, k, v),
        "tiled": lambda: tiled_attention(q, k, v),
        "window": lambda: tiled_attention(q, k, v, window_size=(WINDOW - 1, 0)),
        "linear": lambda: linear_attention(q, k, v),
        "additive": lambda: tanh_scores(*rows, w),
    }


def _repeats(call):
    """Return how often to repeat a call so that the clock can measure it."""
    call()  # compiles what has to be compiled
    return max(1, math.ceil(SHORT / max(_seconds(call, 1), 1e-6)))


def _seconds(call, times):
    """Return the processor time of a call; that of other programs does not count."""
    start = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - start) / times
