"""Rows that are more than a call of one function: imports, threads in turn, growth."""

import os
import pathlib
import subprocess
import sys

import numpy as np

from ... import kernels
from ...kernels import additive
from .sides import both, draw, of_ours, windowed
from .timing import Case

ROOT = pathlib.Path(__file__).resolve().parents[2]
FORBIDDEN = {"numba", "matplotlib", "torch"}


def tiny(operations):
    """A chain of so many multiplications and additions, for Tensors of any engine."""

    def run(x, y):
        z = x
        for _ in range(operations // 2):
            z = z * 0.99
            z = z + y
        return z

    return run


def import_case(quick, peer):
    """A new Python, once with NumPy alone and once with both packages as well."""

    # bytecode is kept, as it is for every user: else each import would compile anew
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def python(code):
        command = [sys.executable, "-c", code]
        done = subprocess.run(
            command, cwd=ROOT, env=env, capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])
        return done.stdout.split()

    ours = "import numpy, minigrad, attention"
    loaded = python(f"import sys; {ours}; print(*sys.modules)")
    sides = {
        "numpy alone": lambda: python("import numpy"),
        "all three": lambda: python(ours),
    }
    facts = {"loaded": sorted(FORBIDDEN & set(loaded))}
    return Case("a new process", sides, compare=False, memory=False, facts=facts)


def alternation_case(quick, peer, times=20):
    """A product of the BLAS and a kernel's loop, alone and in turn."""
    a, b, q, k, w = draw((256, 256), (256, 256), (4, 64, 64), (4, 64, 64), (64,))

    def product():
        for _ in range(times):
            a @ b

    def loop():
        with kernels.backend("numba"):
            for _ in range(times):
                additive.forward(q, k, w)

    def in_turn():
        with kernels.backend("numba"):
            for _ in range(times):
                a @ b
                additive.forward(q, k, w)

    sides = {"product": product, "kernel": loop, "in turn": in_turn}
    return Case(f"{times} of each", sides, compare=False, memory=False)


def growth_case(quick, peer, w=256, E=64, lengths=None):
    """The window's time at three lengths; its exponent is a slope of logarithms."""
    lengths = lengths or ((1024, 2048, 4096) if quick else (2048, 4096, 8192))
    sides = {}
    for n in lengths:
        q, k, v, g = draw(*[(1, 2, n, E)] * 4)
        sides[f"n={n}"] = both(of_ours(windowed(w), (q, k, v), g))["numba"]
    facts = {"lengths": list(lengths)}
    return Case(f"H=2 w={w} d={E}", sides, compare=False, memory=False, facts=facts)


def exponent(lengths, seconds):
    """The power of n that the times grow with, by least squares on logarithms."""
    return float(np.polyfit(np.log(lengths), np.log(seconds), 1)[0])
