"""Continue a run from what it saved, and check that the command fits this run."""

import contextlib
import shlex
from dataclasses import fields

from minigrad import checkpoint

from .files import last_folder
from .options import flag, shown


def folder_to_resume(args, state):
    """Return the folder of ``--resume DIR``, or that of the last run of ``--out``.

    state   the name of the file or folder in DIR that each save replaces
    """
    if args.resume is not True:
        return args.resume
    folder = last_folder(args.out, state)
    if folder != args.out:
        print(f"continuing {folder}, the last run")
    return folder


def how_to_continue(command, folder):
    """Return the sentence that ends a stopped run, with the command to type."""
    typed = f"python -m attention {command} --resume {shlex.quote(str(folder))}"
    return f"Continue with\n  {typed}"


def load_run(path, config, options):
    """Return (config, checkpoint) of the run saved at ``path``.

    options   {name: value} typed with ``--resume``; they must be those of the run

    Raises ValueError when there is no such run, or when the options differ.
    """
    if not path.is_file():
        raise ValueError(
            f"There is nothing to resume: {path} does not exist. Start the run without "
            "--resume."
        )
    state = checkpoint.load(path)
    with explained(path):
        before = config(**state["config"])
    now = config(**{**state["config"], **options})
    differing = [
        f"{flag(each)} was {shown(getattr(before, each.name))}"
        for each in fields(config)
        if each.name in options
        and getattr(before, each.name) != getattr(now, each.name)
    ]
    if differing:
        raise ValueError(
            f"The run was started with other options: {'; '.join(differing)}. Leave "
            "options out to continue that run, or start another one without --resume."
        )
    return before, state


def check_data(state, checksum, path):
    """Raise ValueError unless the data are still those that the run started with."""
    if state.get("data") != checksum:
        raise ValueError(
            f"The data are not those that the run of {path} was started with. Start "
            "another run without --resume."
        )


def restore(run, state):
    """Load the saved state of a ``Run``; raise ValueError for one that does not fit."""
    run.load_state_dict(state)
    if not 0 <= run.steps == len(run.losses):
        raise ValueError(f"it has {run.steps} steps and {len(run.losses)} losses")


@contextlib.contextmanager
def explained(path):
    """Turn an error of a resumed run into a sentence: its state may be the cause.

    A state in ``path`` that was changed may fail where it is loaded or much later.
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = str(error).rstrip(".").splitlines() or [type(error).__name__]
        raise ValueError(
            f"The run of {path} cannot be continued: {reason[0]}. If its saved state "
            "was changed, start another run without --resume."
        ) from error
