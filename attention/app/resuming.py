"""Continue a run from what it saved, and check that this is a state of the run."""

import contextlib
from dataclasses import fields

from minigrad import checkpoint

from .options import flag, shown


def folder_of(args):
    """Return the folder of a run: the one of ``--resume DIR``, or ``--out``."""
    return args.out if args.resume in (None, True) else args.resume


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
            "the option out to continue that run, or start another one with --out."
        )
    return before, state


def check_data(state, checksum, path):
    """Raise ValueError unless the data are still those that the run started with."""
    if state.get("data") != checksum:
        raise ValueError(
            f"The data are not those that the run of {path} was started with. Start "
            "another run with --out."
        )


def restore(run, state):
    """Load the saved state of a ``Run``; raise ValueError for one that does not fit."""
    run.load_state_dict(state)
    if not 0 <= run.steps == len(run.losses):
        raise ValueError(f"it has {run.steps} steps and {len(run.losses)} losses")


@contextlib.contextmanager
def explained(path):
    """Raise ValueError, in a sentence, if a state in ``path`` is not as it was saved."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = str(error).rstrip(".").splitlines() or [type(error).__name__]
        raise ValueError(
            f"The run of {path} cannot be continued, as its state does not fit: "
            f"{reason[0]}. Start another run with --out."
        ) from error
