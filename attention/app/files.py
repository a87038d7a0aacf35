"""Files and folders of a run: written whole, used by one command at a time."""

import contextlib
import os
import pathlib

from minigrad import checkpoint
from minigrad.files import write_whole

from .options import flag, shown

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None


def write_text(path, text):
    """Write ``text`` to ``path`` whole or not at all."""
    write_whole(path, lambda file: file.write(text.encode()))


def keep_earlier(folder, patterns):
    """Move the files of an earlier run in ``folder`` to a new subfolder of it.

    patterns   of the names that the command writes; the user's own files stay

    Prints the subfolder, ``earlier-1`` or the next free number, and returns it; None
    when there was nothing to move.
    """
    found = sorted(path for pattern in patterns for path in folder.glob(pattern))
    if not found:
        return None
    number = 1
    while (folder / f"earlier-{number}").exists():
        number += 1
    subfolder = folder / f"earlier-{number}"
    subfolder.mkdir()
    for path in found:
        path.rename(subfolder / path.name)
    print(f"the files of an earlier run were moved to {subfolder}")
    return subfolder


@contextlib.contextmanager
def locked(folder):
    """Keep other commands from writing to ``folder``; raise ValueError if one does.

    The system releases the lock when the process ends, however it ends.
    """
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(
                    f"Another command is writing to {folder}. Wait until it has ended, "
                    "or choose another folder with --out."
                ) from None
        yield
    finally:
        os.close(descriptor)


def add_folder_options(parser, default):
    """Add ``--out DIR`` and ``--resume [DIR]``."""
    add, folder = parser.add_argument, {"type": pathlib.Path, "metavar": "DIR"}
    text = f"folder of the results (default: {default})"
    add("--out", default=pathlib.Path(default), help=text, **folder)
    text = "continue the run in DIR (default: --out)"
    add("--resume", nargs="?", const=True, help=text, **folder)


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
    before = config(**state["config"])
    now = config(**{**state["config"], **options})
    differing = [
        f"{flag(name)} was {shown(getattr(before, name))}"
        for name in options
        if getattr(before, name) != getattr(now, name)
    ]
    if differing:
        raise ValueError(
            f"The run was started with other options: {'; '.join(differing)}. Leave "
            "the option out to continue that run, or start another one with --out."
        )
    return before, state


def check_data(state, checksum, path):
    """Raise ValueError unless the data are still those that the run started with."""
    if state["data"] != checksum:
        raise ValueError(
            f"The data are not those that the run of {path} was started with. Start "
            "another run with --out."
        )
