"""What was measured, as a table of 80 columns, and about which machine it was."""

import importlib.metadata
import os
import platform
import textwrap
import time

import numpy as np

from ...costs.table import size
from .sweep import crossing


def matmul_peak(n=1024, rounds=8):
    """GFLOP/s of the best of a few float32 products: the most this machine gives."""
    a, b = np.random.default_rng(0).standard_normal((2, n, n), np.float32)
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        a @ b
        times.append(time.perf_counter() - start)
    return 2 * n**3 / min(times[1:]) / 1e9


def machine(threads, peer):
    """What the numbers depend on beside the code."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": _version("numba"),
        "torch": peer,
        "processor": _processor(),
        "threads": threads,
        "load": load,
    }


def table(bench):
    """All rows, each with its sides and its budgets."""
    about, peak = bench["machine"], bench["matmul_gflops"]
    software = ", ".join(
        f"{x} {about[x]}" for x in ("numpy", "numba", "torch") if about[x]
    )
    lines = [about["processor"], f"{software}; {about['threads']} threads"]
    lines.append(f"float32 products of the BLAS reach {peak:.0f} GFLOP/s")
    if about["load"] is not None and about["load"] > 0.5:
        lines.append(
            f"The machine was busy when this began (load {about['load']:.1f}): noisy."
        )
    for name, record in bench["rows"].items():
        lines += ["", *of_row(name, record, peak)]
    for name, record in bench.get("sweep", {}).items():
        if "missing" in record:
            lines += ["", *_wrapped(f"sweep: no {name}: {record['missing']}")]
    crossed = crossing(bench.get("sweep", {}))
    if crossed:
        lines += ["", *_wrapped(f"sweep: {crossed}")]
    return "\n".join([*lines, "", *verdict(bench)])


def of_row(name, record, peak):
    if "error" in record:
        return [f"{name}: {record['title']}", *_wrapped(f"    {record['error']}")]
    lines = [f"{name}: {record['title']}, {record['shape']}"[:80]]
    first = next((s["median"] for s in record["sides"].values() if "median" in s), None)
    for side, found in record["sides"].items():
        if "missing" in found:
            lines += _wrapped(f"    {side:12s}not available: {found['missing']}")
            continue
        line = f"    {side:12s}{found['median'] * 1e3:9.2f} ms"
        line += f"{found['median'] / first:8.2f}x"
        held = found.get("memory")
        line += f"{'' if held is None else '+' + size(held):>12s}"
        if "gflops" in found:
            part = found["gflops"] / peak
            line += f"{found['gflops']:8.1f} GFLOP/s, {part:4.0%} of peak"
        lines.append(line.rstrip())
    for budget in record["budgets"]:
        value = "   -   " if budget["value"] is None else f"{budget['value']:7.3f}"
        met = {True: "met", False: "MISSED", None: "open"}[budget["met"]]
        text = f"{value} {budget['text']}, at most {budget['limit']:.3g}"
        lines.append(f"    {'budget':12s}{text:46s}{met:>8s}")
    return lines


def verdict(bench):
    """The budgets in one sentence each: met, missed, open."""
    groups = {True: [], False: [], None: []}
    for name, record in bench["rows"].items():
        for budget in record.get("budgets", ()):
            groups[budget["met"]].append(f"{name} ({budget['text']})")
    lines = [f"{len(groups[True])} budgets met."]
    for met, word in ((False, "missed"), (None, "open")):
        if groups[met]:
            lines += _wrapped(f"{len(groups[met])} {word}: {', '.join(groups[met])}.")
    if not bench["finished"]:
        lines.append("The run was stopped before its end.")
    return lines


def _wrapped(text):
    indent = " " * (len(text) - len(text.lstrip()) + 4)
    return textwrap.wrap(text, 80, subsequent_indent=indent, drop_whitespace=True)


def _version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _processor():
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
