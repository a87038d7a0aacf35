"""Measure time and memory of each variant against n, the tokens.

One head of width 64, forward, float32, one thread. The clock is that of the processor:
the time in which other programs run is not counted. A variant is not run with an n that
would take too much time or too much memory.
"""

import contextlib
import gc
import math
import time

from attention.app.benchmark.timing import rotated, timed
from attention.costs.table import BLOCK, LONG
from attention.costs.trials import call_of, peak_bytes
from minigrad import no_grad

VARIANTS = (*LONG, "additive")
WIDTH = 64
SHORT = 0.02  # seconds: shorter calls are timed together, until so much has passed
MOST_BYTES = 1.2e9  # a variant that would hold more is not run


def sweep(rounds, lengths, seconds=3.0, variants=VARIANTS):
    """Return {variant: {"n", "least", "bytes"}}, lists.

    rounds    how often each call is timed; "least" is the least time, in seconds
    seconds   that one call may take
    """
    keys = "n", "least", "bytes"
    found = {name: {key: [] for key in keys} for name in variants}
    with nothing_old_collected(), no_grad():
        for n in lengths:
            names = [x for x in variants if _can_go_on(x, n, found[x], seconds)]
            calls = {name: call_of(name, n, n, WIDTH) for name in names}
            for name, taken in in_turns(calls, rounds).items():
                for key, value in zip(keys, (n, min(taken), peak_bytes(calls[name]))):
                    found[name][key].append(value)
    return found


@contextlib.contextmanager
def nothing_old_collected():
    """Exclude the objects that exist from garbage collection: it would take time."""
    gc.collect()
    frozen = gc.get_freeze_count()
    gc.freeze()
    try:
        yield
    finally:
        if not frozen:
            gc.unfreeze()


def in_turns(calls, rounds):
    """Return the processor seconds of each call in each round: {name: list}.

    calls   {name: a function without arguments}; in each round all have a turn
    """
    repeats = {}
    for name, call in calls.items():
        call()  # compiles what has to be compiled
        repeats[name] = math.ceil(SHORT / max(timed(call, time.process_time), 1e-6))
    taken = {name: [] for name in calls}
    for turn in range(rounds):
        for name in rotated(calls, turn):

            def several(call=calls[name], k=repeats[name]):
                for _ in range(k):
                    call()

            took = timed(several, time.process_time)
            taken[name].append(took / repeats[name])
    return taken


def _can_go_on(name, n, record, seconds):
    """Return whether a variant may run with n tokens, after what ``record`` holds."""
    if name == "bigbird" and n % BLOCK:
        return False
    if not record["n"]:
        return True
    power = 2 if name in ("dense", "tiled", "additive") else 1
    growth = (n / record["n"][-1]) ** power
    taken, held = record["least"][-1] * growth, record["bytes"][-1] * growth
    return taken <= seconds and held <= MOST_BYTES
