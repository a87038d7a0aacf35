"""A file is there whole, or it is not there: written beside its place, then renamed.

    write_whole("notes.txt", lambda file: file.write(b"..."))
    save_figure(figure, "loss.png")

The bytes go to a file of another name in the same folder, and down to the disk, before
the name that was asked for points to them. At every moment that name has the old file
or the new one, whatever stops the program. A process that is killed while it writes
leaves a ``.file-*.tmp`` behind, which may be deleted.
"""

import contextlib
import errno
import os
import stat


def write_whole(path, write, kind="file"):
    """Call ``write(file)`` with a binary file, which then takes the place of ``path``.

    kind   what is written, in one word, for messages and for the other name

    A file that was there before leaves its permissions to the new one. Through a
    symbolic link, its target is written.

    Raises OSError when the disk refuses, or where ``path`` is a folder, a device or
    anything else that is no file, and what ``write`` raises. ``path`` then is as it
    was.
    """
    path = os.path.realpath(path)  # through a symbolic link, not over it
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, f".{kind}-{os.urandom(8).hex()}.tmp")
    try:
        permissions = _permissions(path)  # before anything is written
        with open(temporary, "xb") as file:
            if permissions is not None:
                with contextlib.suppress(OSError):  # where the disk knows of none
                    os.chmod(temporary, permissions)
            write(file)
            file.flush()
            os.fsync(file.fileno())  # the bytes are down before the name points to them
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            reason = f"The {kind} was not saved: {error.strerror or error}"
            raise OSError(error.errno, reason, path) from error
        raise
    if os.name == "posix":  # the new name, too, is only safe once the folder is down
        with contextlib.suppress(OSError):  # one that cannot be read: the file is there
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def save_figure(figure, path, **options):
    """Save a matplotlib Figure, whole or not at all; its suffix decides the format.

    path      a name, which gets matplotlib's usual suffix (.png) if it has none; or a
              file that is open for writing bytes
    options   of ``savefig``

    Raises as ``write_whole`` does.
    """
    if hasattr(path, "write"):
        figure.savefig(path, **options)
        return
    path, suffix = os.fspath(path), os.path.splitext(path)[1]
    kind = suffix[1:].lower() or figure.canvas.get_default_filetype()
    write_whole(
        path if suffix else f"{path}.{kind}",
        lambda file: figure.savefig(file, format=kind, **options),
        "picture",
    )


def _permissions(path):
    """Those of the file at ``path``, None where there is none yet.

    Raises OSError for what is there and is no file.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "a folder has this name")
    if not stat.S_ISREG(mode):  # a device or a pipe, which would be gone
        raise OSError(
            errno.EINVAL, "what has this name is no file that can be replaced"
        )
    return stat.S_IMODE(mode)
