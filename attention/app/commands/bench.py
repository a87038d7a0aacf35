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
from ..document import print_json
from ..machine import versions
from ..options import wrapped
from ..progress_line import Progress

MISSED = " !"  # after a limit
HEAD = (
    f"{'row':28s}{'compared with':13s}{'ours':>10s}{'theirs':>10s}{'ratio':>8s}"
    f"{'limit':>8s}"
)


def run(args):
    """Print a header, and each row as soon as it is measured; return the exit code.

    With --json, print all measurements at the end.
    """
    packages = versions()
    if not args.no_torch:
        try:
            packages["torch"] = importlib.metadata.version("torch")
        except importlib.metadata.PackageNotFoundError:
            print("bench: No torch here: measuring without it.", file=sys.stderr)
    document = {"versions": packages, "threads": kernels.threads(), "load": load()}
    if not args.json:
        print(about(**document), HEAD, sep="\n", flush=True)
    document["rows"] = {}
    names, printed = args.rows or tuple(rows.ROWS), []
    progress = Progress("rows", len(names))
    for done, name in enumerate(names):
        progress.update(done)
        row = rows.ROWS[name]
        found = found_in(name, row, args.quick, packages)
        progress.close()
        document["rows"][name] = measurements(row, found)
        if not args.json:
            lines = list(table_lines(row, found))
            printed += lines
            print("\n".join(lines), flush=True)
    if args.json:
        print_json(document)
        return 0
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
        except RuntimeError as problem:
            return {"ours": str(problem)}


def measurements(row, found):
    """Return what ``found_in`` found, with the ratios and their limits, for --json."""
    return {
        "title": row.title,
        "measure": row.measure.__name__,
        "sides": found,
        "ratios": {
            side: timing.ratio(found["ours"], theirs)
            for side, theirs in found.items()
            if side != "ours" and not isinstance(theirs, str)
        },
        "limits": row.against,
    }


def table_lines(row, found):
    """Yield a line for each side that ours is compared with: medians and the ratio."""
    others = {side: theirs for side, theirs in found.items() if side != "ours"}
    ours, unit = found["ours"], UNITS.get(row.measure, time_text)
    if isinstance(ours, str):
        yield wrapped(f"{row.title:28s}not measured: {ours}")
        return
    title, median = row.title, unit(statistics.median(ours))
    for name, theirs in others.items() or [("", "nothing to compare with")]:
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
    if row.note and any(row.against[name] is not None for name in others):
        yield f"  {row.note}"


UNITS = {rows.peak_bytes: size, timing.number: "{:.0f}".format}


def time_text(seconds):
    """Format seconds: "1.50 s", or "2.50 ms" for less than a second."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.2f} ms"


def load():
    """Return the mean number of processes that ran in the last minute, or None."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def about(versions, threads, load):
    """Return what the numbers depend on, besides the code, as text."""
    found = ", ".join(f"{name} {version}" for name, version in versions.items())
    load = "" if load is None else f"; load {load:.1f}"
    return wrapped(f"{found}; threads: {threads}{load}")
