"""``python -m attention COMMAND``: the experiments, from the command line."""

import argparse
import os
import signal
import subprocess
import sys

import numpy as np

from .commands import reversal

COMMANDS = {"reversal": reversal}
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
           "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS")  # fmt: skip


def main(argv=None):
    """Run one command; return its exit code: 0 done, 2 wrong usage, 130 stopped."""
    argv = sys.argv[1:] if argv is None else argv
    parser = argparse.ArgumentParser(
        prog="python -m attention", description="Experiments on attention."
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        summary = module.__doc__.split("\n")[0]
        sub = subparsers.add_parser(name, help=summary, description=summary)
        module.add_arguments(sub)
        sub.add_argument(
            "--threads", type=int, metavar="N", help="processor threads to use"
        )
    args = parser.parse_args(argv)
    if args.threads is not None:
        if args.threads < 1:
            parser.error(f"--threads is {args.threads}; it must be at least 1.")
        environment = os.environ | {name: str(args.threads) for name in THREADS}
        if environment != os.environ:
            return _in_another_process(argv, environment)
    _keep_freed_memory()
    try:
        return COMMANDS[args.command].run(args)
    except KeyboardInterrupt:
        print("\nstopped.", file=sys.stderr)
        return 130


def _in_another_process(argv, environment):
    """Run the command where NumPy is loaded anew; return its exit code.

    The BLAS reads the number of threads once, when it is loaded; here it is by now.
    """
    command = [sys.executable, "-m", "attention", *argv]
    process = subprocess.Popen(command, env=environment)
    before = signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    try:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:  # Ctrl-C reaches both; the other one saves
                pass
    finally:
        signal.signal(signal.SIGTERM, before)


def _keep_freed_memory():
    """Have the C library keep what NumPy frees, for the next array to take.

    A training step frees the arrays that the next one asks for. Those of more than
    128 kB go back to the system each time and come back page by page, which took a
    quarter of a step. glibc keeps blocks up to the size of the largest one freed so
    far, to a limit of 32 MB; elsewhere this does nothing. The array is never written
    to, so it takes no memory.
    """
    np.empty(2**25 - 2**16, np.uint8)


if __name__ == "__main__":
    sys.exit(main())
