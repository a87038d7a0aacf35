"""The folder of a run: new or resumed, used by one command at a time, saved whole.

A command that trains opens its folder, saves into it, and can be stopped:

    folder = RunFolder("reversal", args, Config, "state/config.npz")
    data, checksum = load(folder.config)
    with folder.used(checksum, figures), folder.explained():
        state = folder.load(("dot", 0))     # {} before the first save
        ...
        folder.save(("dot", 0), {"run": ...})
"""

import contextlib
import os
import re
import shlex
import sys
from dataclasses import asdict, fields
from pathlib import Path

from minigrad import checkpoint

from .files import free_path, make_folder
from .options import flag, given, shown, wrapped

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None

# of every command that trains: a folder with one of them holds a run
RUN_FILES = "results.json", "state", "best.npz", "last.npz", "metrics.jsonl"

# the errors of a state that was changed
DAMAGED = LookupError, TypeError, ValueError, AttributeError, OverflowError


class States:
    """A folder with the state of each job, a tuple such as (kind, seed).

    command   what a user types to continue
    """

    def __init__(self, folder, command):
        self.folder, self.command = folder, command

    def save(self, job, state):
        """Save the state of a job."""
        self.folder.mkdir(parents=True, exist_ok=True)
        checkpoint.save(self._path_of(job), state)

    def load(self, job):
        """Return what ``save`` has saved, or {} before and for a damaged file."""
        path = self._path_of(job)
        try:
            return checkpoint.load(path) if path.exists() else {}
        except checkpoint.CheckpointError as error:
            path.replace(path.with_suffix(".damaged"))
            text = f"{error} It is kept as {path.stem}.damaged; its run starts again."
            print(wrapped(text), file=sys.stderr)
            return {}

    def _path_of(self, job):
        return self.folder / ("-".join(map(str, job)).replace("/", "_") + ".npz")

    def how_to_continue(self):
        """Return the sentence that ends a stopped run."""
        return f"Continue with\n  {self.command}"


class RunFolder(States):
    """The folder of a run, of ``--out`` or of ``--resume``.

    command   the name of the command
    args      what the user typed: ``out``, ``resume``, and the options of ``config``
    config    the dataclass of the options; afterwards ``self.config`` is the run's
    first     the file in the folder from which a run is resumed: config and checksum

    path      of the folder; a new run may get another one when it is used
    start     the contents of ``first`` in a resumed run, None in a new one
    """

    def __init__(self, command, args, config, first):
        self.command, self.path, self.first = command, args.out, Path(first)
        self.start, options = None, given(args, config)
        if args.resume is None:
            self.config = config(**options)
            return
        self.path = args.resume
        if args.resume is True:
            self.path = last_folder(args.out, self.first.parts[0])
            if self.path != args.out:
                print(f"continuing {self.path}, the last run")
        self.config = self._resumed(config, options)

    def _resumed(self, config, options):
        """Load ``start``; return its config, which typed options must not change."""
        path = self.path / self.first
        if not path.is_file():
            raise ValueError(
                f"There is nothing to resume: {path} does not exist. Start the run "
                "without --resume."
            )
        try:
            self.start = checkpoint.load(path)
        except checkpoint.CheckpointError as error:
            text = f"{error} Start another run without --resume."
            raise ValueError(text) from error
        with self.explained(self.first):
            before = config(**self.start["config"])
        now = config(**{**self.start["config"], **options})
        differing = [
            f"{flag(each)} was {shown(getattr(before, each.name))}"
            for each in fields(config)
            if each.name in options
            and getattr(before, each.name) != getattr(now, each.name)
        ]
        if differing:
            raise ValueError(
                f"The run was started with other options: {'; '.join(differing)}. "
                "Leave options out to continue that run, or start another one without "
                "--resume."
            )
        return before

    @contextlib.contextmanager
    def used(self, checksum, figures):
        """Make the folder of a new run, or check the data of a resumed one; lock it.

        checksum   of the data
        figures    patterns of the names of the pictures that the command draws
        """
        self.checksum = checksum
        if self.start is None:
            self.path = new_folder(self.path, figures)
        elif self.start.get("data") != checksum:
            raise ValueError(
                f"The data are not those that the run of {self.path / self.first} was "
                "started with. Start another run without --resume."
            )
        with locked(self.path):
            yield

    @contextlib.contextmanager
    def explained(self, name=None):
        """Turn an error of a resumed run into a sentence: its state may be the cause.

        A state that was changed may fail where it is loaded or much later.
        """
        try:
            yield
        except DAMAGED as error:
            if self.start is None:
                raise
            reason = str(error).rstrip(".").splitlines() or [type(error).__name__]
            raise ValueError(
                f"The run of {self.path / (name or self.first.parts[0])} cannot be "
                f"continued: {reason[0]}. If its saved state was changed, start "
                "another run without --resume."
            ) from error

    def save_first(self, **more):
        """Save what a run is resumed from: its config, the checksum, and ``more``."""
        path = self.path / self.first
        path.parent.mkdir(exist_ok=True)
        state = {"config": asdict(self.config), "data": self.checksum, **more}
        checkpoint.save(path, state)

    @property
    def folder(self):
        """The folder of the states, that of ``first``."""
        return self.path / self.first.parent

    def how_to_continue(self):
        """Return the sentence that ends a stopped run, with the command to type."""
        folder = shlex.quote(str(self.path))
        return f"Continue with\n  python -m attention {self.command} --resume {folder}"


def new_folder(folder, figures):
    """Make and return the folder of a new run: ``folder``, or the next free name.

    figures   patterns of the names of the pictures that the command draws

    If ``folder`` holds a run, or one of the pictures, the new run gets a folder of its
    own: runs/reversal-2, runs/reversal-3, … Its name is then printed.
    """
    if any(any(folder.glob(pattern)) for pattern in (*RUN_FILES, *figures)):
        earlier, folder = folder, free_path(folder)
        print(f"{earlier} holds an earlier run;\nthis run writes to {folder}")
    make_folder("--out", folder, folder)
    return folder


def last_folder(folder, state):
    """Return the folder of the last run of ``folder``, ``folder``-2, …

    state   the file or folder in it that each save replaces: the last one saved counts
    """
    name = re.compile(re.escape(folder.name) + r"(-\d+)?")
    states = folder.parent.glob(f"*/{state}")
    saved = [path for path in states if name.fullmatch(path.parent.name)]
    last = max(saved, key=lambda path: path.stat().st_mtime_ns, default=folder / state)
    return last.parent


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
                    f"Another command is writing to {folder}. Wait until it has ended."
                ) from None
        yield
    finally:
        os.close(descriptor)


def restore(run, state):
    """Load the saved state of a ``Run``; raise ValueError for one that does not fit."""
    run.load_state_dict(state)
    if not 0 <= run.steps == len(run.losses):
        raise ValueError(f"it has {run.steps} steps and {len(run.losses)} losses")
