"""Measure time and memory of each variant against n, the tokens.

One head of width 64, forward, float32. A variant is not run with an n that would take
too much time or too much memory.
"""

import statistics

from minigrad import no_grad

from ...costs import cost_of
from ...costs.table import BLOCK, LONG
from ...costs.trials import call_of
from .timing import nothing_old_collected, peak_memory, rotated, timed

VARIANTS = (*LONG, "additive")
LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384)
WIDTH = 64
SHORT, REPEATS = 256, 16  # below n = SHORT, REPEATS calls are timed together
MOST_BYTES = 1.2e9  # a variant that is predicted to hold more is not run


def sweep(rounds, say, lengths=LENGTHS, seconds=3.0):
    """Return {variant: {"n", "seconds", "least", "bytes"}}, lists.

    rounds    how often each call is timed; "seconds" is the median, "least" the minimum
    say       called with a sentence before each n
    seconds   that one call may take
    """
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


def _can_go_on(name, n, record, seconds):
    """Return whether a variant may run with n tokens, after what ``record`` holds."""
    if name == "bigbird" and n % BLOCK:
        return False
    if cost_of(name, L=n, E=WIDTH).extra_bytes > MOST_BYTES:
        return False
    if not record["n"]:
        return True
    power = 2 if name in ("dense", "tiled", "additive") else 1
    return record["least"][-1] * (n / record["n"][-1]) ** power <= seconds


def _repeated_call(name, n):
    call = call_of(name, n, WIDTH)

    def run():
        with no_grad():
            for _ in range(_repeats(n)):
                call()

    return run


def _repeats(n):
    return REPEATS if n < SHORT else 1
