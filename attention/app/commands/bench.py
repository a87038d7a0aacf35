"""Measure the engine beside NumPy and torch, and print one table of ratios."""

import importlib.metadata
import os
import pathlib
import sys

HEAD = (
    f"{'row':28s}{'beside':13s}{'ours':>10s}{'theirs':>10s}{'ratio':>8s}{'limit':>8s}"
)


def add_arguments(parser):
    add = parser.add_argument
    add("--quick", action="store_true", help="fewer rounds, smaller peers: a minute")
    add("--rows", default=None, metavar="A,B", help="which rows (default: all)")
    add("--no-torch", action="store_true", help="leave torch out")
    add("--figure", type=pathlib.Path, default=None, metavar="FILE",
        help="draw time and memory against n instead, into FILE")  # fmt: skip


def run(args):
    """Measure and print; return the exit code."""
    from ..benchmark.rows import ROWS

    names = list(ROWS) if args.rows is None else args.rows.split(",")
    wrong = [name for name in names if name not in ROWS]
    if wrong:
        print(
            f"bench: there is no row {', '.join(wrong)!r}; choose from "
            f"{', '.join(ROWS)}.",
            file=sys.stderr,
        )
        return 2
    try:
        if args.figure is not None:
            draw_figure(args)
        else:
            print_rows(args, [ROWS[name] for name in names])
    except KeyboardInterrupt:
        print("stopped.")
        return 130
    except BrokenPipeError:
        raise  # attention/__main__.py ends the program
    except OSError as problem:
        print(f"bench: {problem}", file=sys.stderr)
        return 1
    return 0


def print_rows(args, rows):
    """Print a header, and each row as soon as it is measured."""
    from ... import kernels
    from ..benchmark import timing

    peer = None if args.no_torch else torch_peer(kernels.threads())
    print(about(kernels.threads()), HEAD, sep="\n", flush=True)
    missed = 0
    for row in rows:
        try:
            case = row.make(args.quick, peer)
            found = timing.measure(case, *((5, 0.5, 1) if args.quick else (11, 3.0, 3)))
        except Exception as problem:
            found = {"ours": timing.reason(problem)}
        unit = memory_text if case.measure is timing.peak_memory else time_text
        lines = list(table_lines(row, found, unit))
        missed += sum(line.endswith("missed") for line in lines)
        print("\n".join(lines), flush=True)
    print(f"{missed} limits missed.")


def table_lines(row, found, unit):
    """Yield a line for each side that ours is compared with."""
    ours = found.pop("ours")
    if isinstance(ours, str):
        yield f"{row.title:28s}not measured: {ours}"[:80]
        return
    title = row.title
    for name, theirs in found.items() or [("", "there is nothing beside it")]:
        if isinstance(theirs, str):
            yield f"{title:28s}{name:13s}{unit(ours):>10s}  {theirs}"[:80]
        else:
            ratio, limit = ours / theirs, row.limits.get(name)
            line = f"{title:28s}{name:13s}{unit(ours):>10s}{unit(theirs):>10s}"
            line += f"{ratio:8.3f}"
            if limit is not None:
                line += f"{limit:8.3f}" + ("" if ratio <= limit else " missed")
            yield line
        title = ""


def time_text(seconds):
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.2f} ms"


def memory_text(n):
    from ...costs.table import size

    return size(int(n))


def torch_peer(threads):
    """Return the module of torch's sides; None without torch."""
    from ..benchmark import peer
    from ..benchmark.timing import Missing

    try:
        peer.load(threads)
    except Missing as problem:
        print(f"bench: {problem}: measuring our sides alone.", file=sys.stderr)
        return None
    return peer


def about(threads):
    """Return one line about what the numbers depend on beside the code."""
    versions = []
    for package in ("numpy", "numba", "torch"):
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    load = f"; load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{', '.join(versions)}; {threads} threads{load}"


def draw_figure(args):
    """Measure time and memory against n, draw them, and print the exponents."""
    from ..benchmark import sweep

    found = sweep.sweep(args.quick, say=lambda text: print(text, file=sys.stderr))
    sweep.figure(found, args.figure)
    for name, power in sweep.exponents(found).items():
        print(f"{name:10s} time ~ n ** {power:.2f}")
    print(sweep.crossing(found) or "", f"{args.figure} is written.", sep="\n")
