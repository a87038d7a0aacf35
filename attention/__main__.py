"""``python -m attention COMMAND``: the experiments, from the command line."""

import contextlib
import os
import sys

from .stopping import handled


def main(argv=None):
    """Run one command and return its exit code.

    0   done
    1   the work failed, or the reader of the output has gone (``... | head``)
    2   an argument, or a file or package that the command needs, is wrong or missing
    130 stopped by Ctrl-C, a termination signal, or the closing of the terminal
    """
    is_program = argv is None
    with handled(is_program):
        if is_program:
            _make_streams_usable()
            os.environ["MPLBACKEND"] = "agg"  # write figures to files
        try:
            try:
                return _run(sys.argv[1:] if is_program else list(argv), is_program)
            finally:
                sys.stdout.flush()  # where an OSError can still be caught
        except KeyboardInterrupt as stop:
            _print_error(f"\n{stop}" if stop.args else "\nstopped.")
            return 130
        except OSError as problem:  # the reader has gone, or the disk is full
            if not isinstance(problem, BrokenPipeError):
                _print_error(f"The output cannot be written: {problem.strerror}.")
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1


def _run(argv, is_program):
    from .app.arguments import COMMANDS, parser_of
    from .app.options import complain

    if argv == ["--version"]:
        from minigrad import __version__

        print(f"minigrad-attention {__version__}")
        return 0
    if argv and argv[0].startswith("--completion"):
        return _show_completion(argv)
    name = next((n for n in COMMANDS if argv[: len(n.split())] == n.split()), None)
    if name is None:
        return _show_commands(COMMANDS, argv)
    command, arguments = COMMANDS[name], argv[len(name.split()) :]
    args = parser_of(name).parse_args(arguments)
    try:
        _set_threads(args.threads, is_program and command.runs_models)
        return _module(command).run(args)
    except (ValueError, TypeError, FileNotFoundError, FileExistsError,
            IsADirectoryError, NotADirectoryError, ImportError) as problem:  # fmt: skip
        complain(name, _in_words(problem, args))
        return 2
    except MemoryError as problem:
        reason = (str(problem).splitlines() or ["memory is full"])[0]
        complain(name, f"The memory is too small for these sizes: {reason}.")
        return 1
    except (FloatingPointError, OSError) as problem:
        if getattr(problem, "strerror", None) and not problem.filename:
            raise  # of the output
        complain(name, _in_words(problem, args))
        return 1


def _in_words(problem, args):
    """Return the text of an error; for a file's error, add the path and an option."""
    if not getattr(problem, "filename", None):
        return problem
    options = "figure", "out", "html", "heads"
    chosen = [option for option in options if getattr(args, option, None)]
    advice = f" Choose another place with --{chosen[0]}." if chosen else ""
    return f"{problem.strerror}: {problem.filename}.{advice}"


def _show_completion(argv):
    from .app.arguments import COMMANDS, parser_of
    from .app.completion import SHELLS, script
    from .app.options import Parser

    parser = Parser(prog="python -m attention")
    parser.add_argument("--completion", choices=SHELLS)
    parser.parse_args(argv)
    print(script("attention", {name: parser_of(name) for name in COMMANDS}, {}), end="")
    return 0


def _show_commands(commands, argv):
    """Print the commands, or those that begin with the word that was typed."""
    from .app.options import meant, wrapped

    chosen = [name for name in commands if name.split()[:1] == argv[:1]]
    known = argv[:1] if chosen else []
    unknown = argv[len(known) :][:1]
    if unknown and unknown[0] not in ("-h", "--help"):
        typed, words = " ".join(known + unknown), [n.split()[0] for n in commands]
        expected, kind = chosen or list(dict.fromkeys(words)), "command"
        if typed.startswith("-"):
            expected, kind = ["--help", "--version", "--completion"], "option"
        text = f"There is no {kind} {typed!r}; expected {', '.join(expected)}."
        _print_error(wrapped(text + meant(typed, expected)))
        return 2
    print("usage: python -m attention COMMAND [ARGUMENT ...]\n")
    for name in chosen or commands:
        print(f"  {name:17s}{commands[name].summary}")
    print("\npython -m attention COMMAND --help lists the options of a command;")
    print("python -m attention --version shows the version;")
    print('eval "$(python -m attention --completion bash)" completes words at TAB.')
    return 0 if "-h" in argv or "--help" in argv else 2


def _module(command):
    from importlib import import_module

    return import_module(f".app.commands.{command.module}", __package__)


def _set_threads(n, runs_models):
    """Set the threads of the kernels to ``n``, or leave their number if n is None.

    A command that runs models uses one thread of the BLAS (unless OPENBLAS_NUM_THREADS
    is set and ``--threads`` is not) and keeps freed memory.
    """
    if n is None and not runs_models:
        return
    from . import kernels
    from .app import machine
    from .kernels.memory import keep_freed_memory

    if n is not None:
        os.environ["NUMBA_NUM_THREADS"] = str(n)  # numba is not yet imported
        kernels.threads(n)
    if runs_models:
        kernels.threads()  # OMP_NUM_THREADS may be wrong
        keep_freed_memory()
    if runs_models and (n is not None or "OPENBLAS_NUM_THREADS" not in os.environ):
        machine.set_blas_threads(1)
    elif n is not None:
        machine.set_blas_threads(n)


def _make_streams_usable():
    """Replace closed streams; write what an encoding lacks as an escape sequence."""
    stack = contextlib.ExitStack()  # never closed: the streams serve to the end
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.reconfigure(errors="backslashreplace")
    if sys.stdin is not None:
        sys.stdin.reconfigure(errors="surrogateescape")  # as in sys.argv
    if sys.stdout is None:
        stack.enter_context(contextlib.redirect_stdout(open(os.devnull, "w")))
    if sys.stderr is None:
        stack.enter_context(contextlib.redirect_stderr(open(os.devnull, "w")))


def _print_error(text):
    with contextlib.suppress(OSError):  # the terminal may be closed
        print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
