"""Compare the speed of the engine with NumPy and torch; print one table of ratios."""

import importlib.metadata
import os
import statistics
import sys
from contextlib import ExitStack, closing
from functools import partial

from ... import kernels
from ...costs.table import size
from ..benchmark import rows, timing
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
    packages = versions()
    if not args.no_torch:
        try:
            packages["torch"] = importlib.metadata.version("torch")
        except importlib.metadata.PackageNotFoundError:
            print("bench: No torch here: measuring without it.", file=sys.stderr)
    print(about(packages, kernels.threads()), HEAD, sep="\n", flush=True)
    names, printed = args.rows or tuple(rows.ROWS), []
    progress = Progress("rows", len(names))
    for done, name in enumerate(names):
        progress.update(done)
        row = rows.ROWS[name]
        lines = list(table_lines(row, found_in(name, row, args.quick, packages)))
        printed += lines
        progress.close()
        print("\n".join(lines), flush=True)
    missed = sum(line.endswith(MISSED) for line in printed)
    print(f"Limits missed ({MISSED.strip()}): {missed}. A ratio is a median of rounds.")
    return 0


def found_in(name, row, quick, packages):
    """Measure a row: {side: [number of each round], or why there is none}."""
    sides, left_out = {}, {}
    rounds = {"most": 5, "least": 1, "seconds": 0.5}
    if not quick:
        rounds = {"most": 31, "least": 7, "seconds": 3.0}
    with ExitStack() as processes:
        for side in ("ours", *row.against):
            if side in rows.TORCH and "torch" not in packages:
                continue
            if side == "compiled" and quick:
                left_out[side] = "left out by --quick"
                continue
            make = partial(rows.side_of, name, side, quick)
            sides[side] = timing.Side(make, row.measure)
            processes.enter_context(closing(sides[side]))
        try:
            return timing.measured(sides, **rounds) | left_out
        except timing.Missing as problem:
            return {"ours": str(problem)}


def table_lines(row, found):
    """Yield a line for each side that ours is compared with: medians and the ratio."""
    ours, unit = found.pop("ours"), UNITS.get(row.measure, time_text)
    if isinstance(ours, str):
        yield wrapped(f"{row.title:28s}not measured: {ours}")
        return
    title, median = row.title, unit(statistics.median(ours))
    for name, theirs in found.items() or [("", "nothing to compare with")]:
        if isinstance(theirs, str):
            yield wrapped(f"{title:28s}{name:13s}{median:>10s}  {theirs}")
        else:
            ratio, limit = timing.ratio(ours, theirs), row.against[name]
            line = f"{title:28s}{name:13s}{median:>10s}"
            line += f"{unit(statistics.median(theirs)):>10s}{ratio:8.3f}"
            if limit is not None:
                line += f"{limit:8.3f}" + ("" if ratio <= limit else MISSED)
            yield line
        title = ""
    if row.note and any(row.against[name] is not None for name in found):
        yield f"  {row.note}"


UNITS = {timing.peak_memory: size, timing.number: "{:.0f}".format}


def time_text(seconds):
    """Format seconds: "1.50 s", or "2.50 ms" for less than a second."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.2f} ms"


def about(packages, threads):
    """Return what the numbers depend on, besides the code, as text."""
    load = f"; load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    found = ", ".join(f"{name} {version}" for name, version in packages.items())
    return wrapped(f"{found}; threads: {threads}{load}")
