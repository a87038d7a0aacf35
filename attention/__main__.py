"""``python -m attention COMMAND``: the experiments, from the command line."""

import argparse
import contextlib
import importlib
import os
import signal
import sys
import threading

COMMANDS = {
    "reversal": "train four attention scores to reverse strings",
    "translate": "train a translator, translate with it, and score it",
    "compare": "translate without attention and with it (exercise 6.9)",
    "extrapolate": "train at length n, evaluate at lengths up to 4 n",
    "ledger": "print what each variant of attention costs",
    "bench": "measure the kernels beside NumPy and torch",
}


def main(argv=None):
    """Run one command and return its exit code.

    0   done
    1   the work failed, or the reader of the output has gone (``... | head``)
    2   the arguments are wrong
    130 stopped by Ctrl-C, a termination signal, or the end of the terminal
    """
    is_program = argv is None
    try:
        with _stop_signals():
            try:
                return _run(sys.argv[1:] if is_program else list(argv), is_program)
            finally:
                sys.stdout.flush()  # where a BrokenPipeError can still be caught
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt as stop:
        with contextlib.suppress(OSError):  # the terminal may be closed
            print(f"\n{stop}" if stop.args else "\nstopped.", file=sys.stderr)
        return 130


def _run(argv, is_program):
    parser = argparse.ArgumentParser(
        prog="python -m attention", description="Experiments on attention."
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    module = None
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        if argv[:1] == [name]:  # the other modules are not imported
            module = importlib.import_module(f".app.commands.{name}", __package__)
            module.add_arguments(command)
            add = command.add_argument
            add("--threads", type=int, metavar="N", help="processor threads to use")
    args = parser.parse_args(argv)
    if args.threads is not None and args.threads < 1:
        parser.error(f"--threads is {args.threads}; expected 1 or more.")
    _set_threads(args.threads, is_program and getattr(module, "TRAINS", False))
    from .app.options import complain

    try:
        return module.run(args)
    except (ValueError, TypeError, FileNotFoundError) as problem:
        complain(args.command, problem)
        return 2
    except BrokenPipeError:
        raise
    except (FloatingPointError, OSError) as problem:
        complain(args.command, problem)
        return 1


def _set_threads(n, trains):
    """Set the threads of the kernels and of the BLAS; None: leave them as they are."""
    from . import kernels
    from .app import machine

    if n is not None:
        os.environ["NUMBA_NUM_THREADS"] = str(n)  # numba is not yet imported
        kernels.threads(n)
    if trains:
        machine.keep_freed_memory()
    if trains and (n is not None or "OPENBLAS_NUM_THREADS" not in os.environ):
        machine.set_blas_threads(1)
    elif n is not None:
        machine.set_blas_threads(n)


@contextlib.contextmanager
def _stop_signals():
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt, as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number, frame):
        raise KeyboardInterrupt

    handlers = {signal.SIGTERM: stop}
    if hasattr(signal, "SIGHUP"):  # the training loop handles SIGTERM, so this too
        handlers[signal.SIGHUP] = lambda *_: signal.raise_signal(signal.SIGTERM)
    before = {number: signal.signal(number, f) for number, f in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


if __name__ == "__main__":
    sys.exit(main())
