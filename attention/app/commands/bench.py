"""Compare the speed of the engine with NumPy and torch; print one table of ratios."""

import importlib.metadata
import os
import statistics
import sys

from ... import kernels
from ...costs.table import size
from ..benchmark import peer as torch_sides
from ..benchmark import rows as measured
from ..benchmark import timing
from ..benchmark.processes import isolated
from ..machine import versions
from ..options import wrapped
from ..progress_line import Progress

MISSED = " !"  # after a limit
HEAD = (
    f"{'row':28s}{'compared with':13s}{'ours':>10s}{'theirs':>10s}{'ratio':>8s}"
    f"{'limit':>8s}"
)


def run(args):
    """Print a header, and each row as soon as it is measured; return the exit code."""
    peer = None if args.no_torch else torch_peer(kernels.threads())
    print(about(peer, kernels.threads()), HEAD, sep="\n", flush=True)
    names, printed = args.rows or tuple(measured.ROWS), []
    progress = Progress("rows", len(names))
    for done, name in enumerate(names):
        progress.update(done)
        row, unit = measured.ROWS[name], time_text
        try:
            case = row.make(args.quick, peer)
            unit = UNITS.get(case.measure, time_text)
            rounds = (5, 0.5, 1) if args.quick else (31, 3.0, 7)
            with isolated(name, case, args.quick) as sides:
                found = timing.measure(sides, *rounds)
        except Exception as problem:
            found = {"ours": timing.reason(problem)}
        lines = list(table_lines(row, found, unit))
        printed += lines
        progress.close()
        print("\n".join(lines), flush=True)
    missed = sum(line.endswith(MISSED) for line in printed)
    print(f"Limits missed ({MISSED.strip()}): {missed}. A ratio is a median of rounds.")
    return 0


def table_lines(row, found, unit):
    """Yield a line for each side that ours is compared with: medians and the ratio."""
    ours = found.pop("ours")
    if isinstance(ours, str):
        yield wrapped(f"{row.title:28s}not measured: {ours}")
        return
    title, median = row.title, unit(statistics.median(ours))
    for name, theirs in found.items() or [("", "nothing to compare with")]:
        if isinstance(theirs, str):
            yield wrapped(f"{title:28s}{name:13s}{median:>10s}  {theirs}")
        else:
            ratio, limit = timing.ratio(ours, theirs), row.limits.get(name)
            line = f"{title:28s}{name:13s}{median:>10s}"
            line += f"{unit(statistics.median(theirs)):>10s}{ratio:8.3f}"
            if limit is not None:
                line += f"{limit:8.3f}" + ("" if ratio <= limit else MISSED)
            yield line
        title = ""
    if row.note and row.limits.keys() & found.keys():
        yield f"  {row.note}"


UNITS = {timing.peak_memory: size, timing.number: "{:.0f}".format}


def time_text(seconds):
    """Format seconds: "1.50 s", or "2.50 ms" for less than a second."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.2f} ms"


def torch_peer(threads):
    """Return the module of torch's sides; None without torch."""
    try:
        torch_sides.load(threads)
    except timing.Missing as problem:
        print(f"bench: {problem}: measuring without torch.", file=sys.stderr)
        return None
    return torch_sides


def about(peer, threads):
    """Return what the numbers depend on, besides the code, as text."""
    packages = versions()
    if peer is not None:
        packages["torch"] = importlib.metadata.version("torch")
    load = f"; load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    found = ", ".join(f"{name} {version}" for name, version in packages.items())
    return wrapped(f"{found}; threads: {threads}{load}")
