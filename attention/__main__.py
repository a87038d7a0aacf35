"""``python -m attention COMMAND``: the experiments, from the command line."""

import argparse
import os
import signal
import subprocess
import sys

from .app.commands import bench, compare, extrapolate, ledger, reversal, translate
from .app.memory import keep_freed_memory

COMMANDS = {
    "reversal": reversal,
    "translate": translate,
    "compare": compare,
    "extrapolate": extrapolate,
    "ledger": ledger,
    "bench": bench,
}
BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
THREADS = (*BLAS, "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")


def main(argv=None):
    """Run one command; return its exit code: 0 done, 2 wrong usage, 130 stopped.

    1 if whoever reads the output has gone, as in ``python -m attention ledger | head``.
    """
    try:
        try:
            return _run(argv)
        finally:
            sys.stdout.flush()  # here, and not when nobody can catch it any more
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(argv):
    is_program, argv = argv is None, sys.argv[1:] if argv is None else argv
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
    if args.threads is not None and args.threads < 1:
        parser.error(f"--threads is {args.threads}; it must be at least 1.")
    environment = os.environ | _threads(args.threads, COMMANDS[args.command])
    if environment != os.environ:
        # The BLAS reads the number of threads once, when it is loaded; here it is by
        # now. So the program begins again, as the same process where that is possible.
        if is_program and os.name == "posix":
            os.execve(sys.executable, sys.orig_argv, environment)
        if args.threads is not None:
            return _in_another_process(argv, environment)
    keep_freed_memory()
    args.is_program = is_program  # so it may start others of its kind
    try:
        return COMMANDS[args.command].run(args)
    except KeyboardInterrupt:
        print("\nstopped.", file=sys.stderr)
        return 130


def _threads(n, command):
    """What the environment has to say for n threads; None: as many as there are cores.

    A command that trains has its loops on the threads of ``kernels``. Those of the
    BLAS would wait in a busy loop, after each product, on the same cores: a step of the
    reversal experiment took 1.2 times as long with two of them as with one.
    """
    wanted = {} if n is None else dict.fromkeys(THREADS, str(n))
    if getattr(command, "TRAINS", False):
        wanted |= {name: "1" for name in BLAS if n or name not in os.environ}
    return wanted


def _in_another_process(argv, environment):
    """Run the command where NumPy is loaded anew; return its exit code."""
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


if __name__ == "__main__":
    sys.exit(main())
