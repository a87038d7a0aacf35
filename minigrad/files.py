"""Write files atomically: to another name in the same folder, which is then renamed.

    write_whole("notes.txt", lambda file: file.write(b"..."))

The bytes are on the disk before the name points to them, so at every moment the name
has the whole old file or the whole new one, whatever stops the program. A process that
is killed while it writes leaves a ``.file-*.tmp``, which may be deleted.
"""

import contextlib
import errno
import os
import shutil


def write_whole(path, write, kind="file"):
    """Call ``write(file)`` with a binary file, which then takes the place of ``path``.

    kind   what is written, in one word, for messages and for the temporary name

    The new file has the permissions of the old one. A symbolic link is followed.

    Raises OSError when the file cannot be written or ``path`` is no regular file, and
    any error of ``write``. ``path`` is then unchanged.
    """
    path = os.path.realpath(path)  # through a symbolic link, not over it
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, f".{kind}-{os.urandom(8).hex()}.tmp")
    try:
        exists = os.path.exists(path)
        if exists and not os.path.isfile(path):  # a folder; a device like /dev/null
            raise OSError(errno.EINVAL, "no regular file, but a folder or a device")
        with open(temporary, "xb") as file:
            if exists:
                with contextlib.suppress(OSError):  # a disk without permissions
                    shutil.copymode(path, temporary)
            write(file)
            file.flush()
            os.fsync(file.fileno())  # the bytes reach the disk before the name does
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            reason = f"The {kind} was not saved: {error.strerror or error}"
            raise OSError(error.errno, reason, path) from error
        raise
    if os.name == "posix":  # the new name is safe once the folder is on the disk
        with contextlib.suppress(OSError):  # a folder without read permission
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
