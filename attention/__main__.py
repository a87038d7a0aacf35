"""``python -m attention COMMAND``: the experiments, from the command line."""

import argparse
import os
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
        _restart_with(args.threads, argv)
    _keep_freed_memory()
    try:
        return COMMANDS[args.command].run(args)
    except KeyboardInterrupt:
        print("\nstopped.", file=sys.stderr)
        return 130


def _restart_with(threads, argv):
    """Start anew with the thread counts in the environment, unless they are there.

    NumPy's BLAS reads them once, when it is loaded; by now it is.
    """
    wanted = {name: str(threads) for name in THREADS}
    if all(os.environ.get(name) == value for name, value in wanted.items()):
        return
    os.environ.update(wanted)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "attention", *argv])


def _keep_freed_memory():
    """Have the C library keep what NumPy frees, for the next array to take.

    A training step frees the arrays that the next one asks for. Those of more than
    128 kB go back to the system each time and come back page by page, which took a
    quarter of a step. glibc keeps blocks up to the size of the largest one freed so far,
    to a limit of 32 MB; elsewhere this does nothing. The array is never written to, so
    it takes no memory.
    """
    np.empty(2**25 - 2**16, np.uint8)


if __name__ == "__main__":
    sys.exit(main())
