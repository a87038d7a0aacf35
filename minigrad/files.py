"""A file is there whole, or it is not there: written beside its place, then renamed.

    write_whole("loss.png", lambda file: figure.savefig(file), "picture")

The bytes go to a file of another name in the same folder, and down to the disk, before
the name that was asked for points to them. At every moment that name has the old file
or the new one, whatever stops the program. A process that is killed while it writes
leaves a ``.picture-*.tmp`` behind, which may be deleted.
"""

import contextlib
import os


def write_whole(path, write, kind="file"):
    """Call ``write(file)`` with a binary file, which then takes the place of ``path``.

    kind   what is written, in one word, for messages and for the other name

    Raises OSError when the disk refuses, and what ``write`` raises. ``path`` then is as
    it was. Through a symbolic link, its target is written.
    """
    path = os.path.realpath(path)  # through a symbolic link, not over it
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, f".{kind}-{os.urandom(8).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
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
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
