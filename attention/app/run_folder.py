"""The folder of a run: new or resumed, used by one command at a time, saved whole.

A command that trains opens its folder, saves into it, and can be stopped:

    folder = RunFolder("reversal", args, Config)
    data = load(folder.config)
    with folder.used(data.checksum, figures), folder.explained():
        state = folder.load(("dot", 0))     # {} before the first save
        ...
        folder.save(("dot", 0), {"run": ...})

States are .safetensors files. Those of an earlier version, .npz, are read as well.
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

# what a run is resumed from; an earlier version had the second, and ``translate train``
# the third, which held the state of its run as well
STARTS = "state/config.safetensors", "state/config.npz", "last.npz"

# of every command that trains: a folder with one of them holds a run
RUN_FILES = "results.json", "state", "best.safetensors", "best.npz", "last.npz"

# the errors of a state that was changed
DAMAGED = LookupError, TypeError, ValueError, AttributeError, OverflowError


class States:
    """A folder with the state of each job, a tuple such as (kind, seed).

    command   what a user types to continue
    """

    def __init__(self, folder, command):
        self.folder, self.command = Path(folder), command

    def save(self, job, state):
        """Save the state of a job."""
        self.folder.mkdir(parents=True, exist_ok=True)
        checkpoint.save(self._path_of(job), state)

    def load(self, job):
        """Return what ``save`` has saved, or {} before and for a damaged file."""
        path = existing(self._path_of(job))
        try:
            return checkpoint.load(path) if path.exists() else {}
        except checkpoint.CheckpointError as error:
            path.replace(path.with_suffix(".damaged"))
            text = f"{error} It is kept as {path.stem}.damaged; its run starts again."
            print(wrapped(text), file=sys.stderr)
            return {}

    def _path_of(self, job):
        name = "-".join(map(str, job)).replace("/", "_")
        return self.folder / f"{name}.safetensors"

    def how_to_continue(self):
        """Return the sentence that ends a stopped run."""
        return f"Continue with\n  {self.command}"


class RunFolder(States):
    """The folder of a run, of ``--out`` or of ``--resume``.

    name     of the command
    args     what the user typed: ``out``, ``resume``, and the options of ``Config``
    Config   the dataclass of the options; ``config`` is that of the run

    path     of the folder; a new run may get another one when it is used
    start    what a resumed run was started with, {"config", "data"}; None in a new one
    """

    def __init__(self, name, args, Config):
        self.name, self.path, self.start = name, args.out, None
        options = given(args, Config)
        if args.resume is None:
            self.config = Config(**options)
            return
        self.path = args.resume
        if args.resume is True:
            self.path = last_folder(args.out)
            if self.path != args.out:
                print(f"continuing {self.path}, the last run")
        self.config = self._resumed(Config, options)

    @property
    def first(self):
        """The file that a run is resumed from."""
        there = [self.path / name for name in STARTS if (self.path / name).is_file()]
        return (there or [self.path / STARTS[0]])[0]

    @property
    def folder(self):
        """The folder of the states."""
        return self.path / "state"

    def load(self, job):
        """Return the saved state of a job, or {}."""
        old = self.start or {}
        state = super().load(job)
        if "scheme" in state.get("result", ()):  # of an earlier version, too
            state["result"]["kind"] = state["result"].pop("scheme")
        return state or ({"run": old["run"]} if "run" in old else {})

    def _resumed(self, Config, options):
        """Load ``start``; return its config, which typed options must not change."""
        path = self.first
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
        with self.explained():
            config = self.start["config"]
            if "schemes" in config:  # of an earlier version of ``extrapolate``
                config["kinds"] = config.pop("schemes")
            names = {each.name for each in fields(Config)}
            typed = {  # without options of an earlier version that nobody typed
                name: value
                for name, value in config.items()
                if name in names or value is not None
            }
            before = Config(**typed)
        now = Config(**{**typed, **options})
        differing = [
            f"{flag(each)} was {shown(getattr(before, each.name))}"
            for each in fields(Config)
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
        if self.start is None:
            self.path = new_folder(self.path, figures)
        elif self.start.get("data") != checksum:
            raise ValueError(
                f"The data are not those that the run of {self.first} was started "
                "with. Start another run without --resume."
            )
        with locked(self.path):
            if self.start is None:
                self.folder.mkdir(exist_ok=True)
                start = {"config": asdict(self.config), "data": checksum}
                checkpoint.save(self.path / STARTS[0], start)
            yield

    @contextlib.contextmanager
    def explained(self):
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
                f"The run of {self.first} cannot be continued: {reason[0]}. If its "
                "saved state was changed, start another run without --resume."
            ) from error

    def how_to_continue(self):
        """Return the sentence that ends a stopped run, with the command to type."""
        folder = shlex.quote(str(self.path))
        return f"Continue with\n  python -m attention {self.name} --resume {folder}"


def existing(path):
    """Return a path, or that of an earlier version: .npz instead of .safetensors."""
    earlier = path.with_suffix(".npz")
    return earlier if earlier.exists() and not path.exists() else path


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


def last_folder(folder):
    """Return the folder of the last run of ``folder``, ``folder``-2, …

    Each save replaces a file in its folder of states, or last.npz in earlier versions.
    """
    name = re.compile(re.escape(folder.name) + r"(-\d+)?")
    saved = [
        path
        for state in ("state", "last.npz")
        for path in folder.parent.glob(f"*/{state}")
        if name.fullmatch(path.parent.name)
    ]
    if not saved:
        return folder
    return max(saved, key=lambda path: path.stat().st_mtime_ns).parent


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
