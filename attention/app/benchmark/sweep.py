"""Measure time and memory of each variant against n, the tokens; draw a figure.

One head of width 64, forward, float32. A variant stops where the next n would take too
long, or more memory than there may be.
"""

import itertools
import statistics

import numpy as np

from minigrad import Tensor, no_grad

from ...costs import cost_of
from ...costs.trials import OPTIONS, call_of, inputs
from .timing import nothing_old_collected, peak_memory, rotated, timed

VARIANTS = ("dense", "tiled", "window", "bigbird", "linear", "additive")
LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384)
WIDTH = 64
BLOCK = OPTIONS["bigbird"]["blocks"][0]
SHORT, REPEATS = 256, 16  # below n = SHORT, so many calls are timed together
MOST_BYTES = 1.2e9  # that a variant may be predicted to hold
STYLES = {  # Okabe and Ito's colours, which colour-blind readers can tell apart
    "dense": ("#E69F00", "o"),
    "tiled": ("#CC79A7", "s"),
    "window": ("#009E73", "^"),
    "bigbird": ("#56B4E9", "v"),
    "linear": ("#000000", "D"),
    "additive": ("#0072B2", "x"),
}


def sweep(quick, say=lambda text: None, lengths=LENGTHS, seconds=None, rounds=None):
    """Return {variant: {"n", "seconds", "least", "bytes"}}, lists.

    seconds   that one call may take
    rounds    how often each call is timed; "seconds" is the median, "least" the minimum
    """
    rounds = rounds or (3 if quick else 5)
    seconds = seconds or (0.5 if quick else 3.0)
    keys = "n", "seconds", "least", "bytes"
    found = {name: {key: [] for key in keys} for name in VARIANTS}
    with nothing_old_collected():
        for n in lengths:
            say(f"n = {n}")
            names = [x for x in VARIANTS if _can_go_on(x, n, found[x], seconds)]
            calls = {name: _repeated_call(name, n) for name in names}
            times = {name: [] for name in names}
            for call in calls.values():
                call()  # compiles what has to be compiled
            for turn in range(rounds):
                for name in rotated(calls, turn):
                    times[name].append(timed(calls[name]) / _repeats(n))
            for name, taken in times.items():
                row = n, statistics.median(taken), min(taken), peak_memory(calls[name])
                for key, value in zip(keys, row):
                    found[name][key].append(value)
    return found


def exponents(found):
    """Return the power of n that each variant's times follow, from n = 512 on."""
    powers = {}
    for name, record in found.items():
        points = [(n, t) for n, t in zip(record["n"], record["seconds"]) if n >= 512]
        if len(points) > 1:
            log_n, log_t = np.log(points).T
            powers[name] = float(np.polyfit(log_n, log_t, 1)[0])
    return powers


def crossing(found):
    """Say from which n on linear attention is faster than dense; None if unknown.

    Between two measured n, the logarithm of the ratio of times is taken to be straight
    in the logarithm of n.
    """
    linear, dense = (
        dict(zip(found[name]["n"], found[name]["seconds"]))
        for name in ("linear", "dense")
    )
    lengths = sorted(linear.keys() & dense.keys())
    gains = [np.log(dense[n] / linear[n]) for n in lengths]  # > 0: linear is faster
    if not lengths or gains[-1] <= 0:
        return None
    for low, high in reversed(list(itertools.pairwise(range(len(lengths))))):
        if gains[low] <= 0:
            part = gains[low] / (gains[low] - gains[high])
            n = lengths[low] * (lengths[high] / lengths[low]) ** part
            return f"linear is faster than dense from n = {n:.0f} on"
    return f"linear is faster than dense from below n = {lengths[0]} on"


def figure(found, path=None):
    """Draw what ``sweep`` found on logarithmic axes; return the Figure."""
    from ...plotting.figure import new_figure, save

    picture = new_figure((10, 4.8))
    panels, powers = picture.subplots(1, 2), exponents(found)
    for panel, key, label, unit in (
        (panels[0], "seconds", "time of one call (ms)", 1e-3),
        (panels[1], "bytes", "peak memory beside the inputs (MB)", 1e6),
    ):
        for name, record in found.items():
            n, y = np.array(record["n"]), np.array(record[key], float) / unit
            colour, marker = STYLES[name]
            label_of = f"{name}, n^{powers[name]:.2f}" if name in powers else name
            shown = y > 0
            panel.plot(n[shown], y[shown], color=colour, marker=marker, label=label_of)
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_xlabel("n, queries and keys")
        panel.set_ylabel(label)
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_title("What does a longer sequence cost in time?")
    panels[1].set_title("... and in memory?")
    handles, labels = panels[0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return save(picture, path)


def _can_go_on(name, n, record, seconds):
    """Whether a variant may be run with n tokens, after what ``record`` holds."""
    if name == "bigbird" and n % BLOCK:
        return False
    if cost_of(name, L=n, E=WIDTH, **OPTIONS.get(name, {})).extra_bytes > MOST_BYTES:
        return False
    if not record["n"]:
        return True
    power = 2 if name in ("dense", "tiled", "additive") else 1
    return record["least"][-1] * (n / record["n"][-1]) ** power <= seconds


def _repeated_call(name, n):
    q, k, v, parameters = inputs(
        name, L=n, S=n, E=WIDTH, Ev=WIDTH, A=WIDTH, dtype=np.float32
    )
    call = call_of(name, *map(Tensor, (q, k, v)), list(map(Tensor, parameters)))

    def run():
        with no_grad():
            for _ in range(_repeats(n)):
                call()

    return run


def _repeats(n):
    return REPEATS if n < SHORT else 1
