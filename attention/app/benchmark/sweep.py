"""Time and memory of each variant against n, the tokens: one head, forward."""

import statistics

import numpy as np

from minigrad import Tensor, no_grad

from ... import kernels
from ...costs import ledger
from ...costs.trials import BLOCKS, call_of, inputs, options_of
from .timing import as_arrays, nothing_old_collected, peak_memory, rotated, timed

VARIANTS = ("dense", "tiled", "window", "bigbird", "linear", "additive")
LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384)
SHORT, REPEATS = 256, 16  # below n = SHORT a call is too short to be timed alone
FASTER = "linear is faster than dense softmax"
WIDTH = 64
MOST = 1.2e9  # bytes that a variant may be predicted to take


def sweep(quick, say=lambda text: None, lengths=LENGTHS, seconds=None, rounds=None):
    """{variant: {"n", "seconds", "least", "bytes"} or {"missing": why}}: lists.

    A variant stops where the next n would take it more than ``seconds`` a call, or more
    memory than there may be; bigbird begins at the first n of whole blocks. All that
    are left at an n are timed in turn; short calls are several, and told as one.
    """
    rounds = rounds or (3 if quick else 5)
    seconds = seconds or (0.5 if quick else 3.0)
    with nothing_old_collected():
        return _swept(lengths, seconds, rounds, say)


def _swept(lengths, seconds, rounds, say):
    found = {
        name: {"n": [], "seconds": [], "least": [], "bytes": []} for name in VARIANTS
    }
    for n in lengths:
        calls = {}
        for name in VARIANTS:
            record = found[name]
            if name == "bigbird" and n % BLOCKS[0]:
                continue
            if "missing" in record or not _goes_on(name, n, record, seconds):
                continue
            say(f"{name}, n={n}, first call")
            try:
                calls[name] = _call(name, n)
                as_arrays(calls[name]())
            except Exception as problem:
                found[name] = {"missing": f"{type(problem).__name__}: {problem}"}
                calls.pop(name, None)
        times = {name: [] for name in calls}
        repeats = REPEATS if n < SHORT else 1
        for turn in range(rounds):
            for name in rotated(calls, turn):
                say(f"{name}, n={n}")
                run = _repeated(calls[name], repeats)
                times[name].append(timed(run) / repeats)
        for name, call in calls.items():
            found[name]["n"].append(n)
            found[name]["seconds"].append(statistics.median(times[name]))
            found[name]["least"].append(min(times[name]))
            found[name]["bytes"].append(peak_memory(call, traced=True))
    return found


def crossing(found):
    """From which n on linear attention takes less time than dense softmax, or None.

    Between two n that were measured the logarithm of the ratio is taken to be straight
    in the logarithm of n. None if the two were not measured at the same n.
    """
    linear, dense = (
        dict(zip(record.get("n", ()), record.get("seconds", ())))
        for record in (found.get("linear", {}), found.get("dense", {}))
    )
    lengths = sorted(linear.keys() & dense.keys())
    if not lengths:
        return None
    gain = [np.log(dense[n] / linear[n]) for n in lengths]  # > 0: linear is faster
    behind = [i for i, x in enumerate(gain) if x <= 0]
    if not behind:
        return f"{FASTER} from below n = {lengths[0]} on, the smallest measured."
    i = behind[-1]
    if i == len(lengths) - 1:
        return f"linear is not yet faster than dense softmax at n = {lengths[i]}."
    low, high = lengths[i : i + 2]
    part = -gain[i] / (gain[i + 1] - gain[i])  # of the way from low to high
    n = low * (high / low) ** part
    return f"{FASTER} from n = {n:.0f} on, between {low} and {high} as measured."


def _repeated(call, repeats):
    def run():
        for _ in range(repeats):
            call()

    return run


def _goes_on(name, n, record, seconds):
    if ledger(name, L=n, E=WIDTH, **options_of(name)).extra_bytes > MOST:
        return False
    if not record["n"]:
        return True
    power = 2 if name in ("dense", "tiled", "additive") else 1
    return record["least"][-1] * 2**power <= seconds


def _call(name, n):
    sizes = dict(L=n, S=n, E=WIDTH, Ev=WIDTH, A=WIDTH)
    q, k, v, parameters = inputs(name, dtype=np.float32, **sizes)
    q, k, v, *parameters = map(Tensor, (q, k, v, *parameters))
    inner = call_of(name, n, q, k, v, parameters)

    def call():
        with no_grad(), kernels.backend(kernels.backend()):
            found = inner()
        return found[0] if isinstance(found, tuple) else found

    return call


def figure(found, path=None):
    """Draw what ``sweep`` found, time and memory side by side; return the Figure."""
    from ...plotting.figure import new_figure, save

    picture = new_figure((10, 4.8))
    panels = picture.subplots(1, 2)
    drawn = {name: x for name, x in found.items() if x.get("n")}
    for panel, what, label, unit in (
        (panels[0], "seconds", "time of one call (ms)", 1e-3),
        (panels[1], "bytes", "peak memory beyond the inputs (MB)", 1e6),
    ):
        for name, record in drawn.items():
            n, y = np.array(record["n"]), np.array(record[what], float) / unit
            shown = y > 0  # a high-water mark may not have moved
            colour, marker = STYLES[name]
            panel.plot(n[shown], y[shown], color=colour, marker=marker, label=name)
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_xlabel("n, queries and keys")
        panel.set_ylabel(label)
        ticks = sorted({n for record in drawn.values() for n in record["n"]})
        every = 1 + len(ticks) // 9  # else their labels run into one another
        labels = [str(n) if i % every == 0 else "" for i, n in enumerate(ticks)]
        panel.set_xticks(ticks, labels)
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
        _guides(panel, drawn)
    panels[0].set_title("What does a longer sequence cost in time?")
    panels[1].set_title("... and in memory?")
    handles, labels = panels[0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    return save(picture, path)


STYLES = {
    "dense": ("#E69F00", "o"),
    "tiled": ("#CC79A7", "s"),
    "window": ("#009E73", "^"),
    "bigbird": ("#56B4E9", "v"),
    "linear": ("#000000", "D"),
    "additive": ("#0072B2", "x"),
}  # Okabe and Ito's colours


def _guides(panel, drawn):
    """Two faint lines for the eye: what grows with n, and what grows with n^2."""
    lengths = [n for record in drawn.values() for n in record["n"]]
    if not lengths:
        return
    n = np.array([min(lengths), max(lengths)], float)
    low, high = panel.get_ylim()
    for power, name in ((1, "n"), (2, "n²")):
        y = low * 1.6 * (n / n[0]) ** power
        panel.plot(n, y, color="#999999", linewidth=0.8, linestyle=":", zorder=0)
        at = min(n[1], n[0] * (high / low / 2.4) ** (1 / power))
        panel.annotate(
            name,
            (at, low * 1.6 * (at / n[0]) ** power),
            color="#777777",
            xytext=(-4, 4),
            textcoords="offset points",
            ha="right",
        )
    panel.set_ylim(low, high)
