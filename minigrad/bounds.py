"""Check the sizes that a file states, before memory is allocated for them.

A file may claim any size in a few bytes. A reader compares every size that the file
states with the bytes that the file has, and parses no more JSON than ``PARSED_BYTES``.
"""

import json
import os

PARSED_BYTES = 2**23  # parsed JSON takes up to 25 times the memory of its text


class FileError(ValueError):
    """A file is damaged, or has a form that this program does not read."""


def open_file(path):
    """Open a file for reading bytes.

    Raises FileError if it is a pipe, a device or a folder.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise FileError(f"{path} is a folder, a pipe or a device; expected a file.")
    return open(path, "rb")


def read_for_parsing(path, most=PARSED_BYTES):
    """Return the bytes of a file that a reader parses; at most ``most``."""
    with open_file(path) as file:
        require_parsable(os.fstat(file.fileno()).st_size, path, most)
        return file.read()


def require_parsable(size, name, most=PARSED_BYTES):
    """Raise FileError unless ``size`` bytes are few enough to be parsed."""
    if size > most:
        raise FileError(f"{name} has {size} bytes; expected at most {most}.")


def parse_json(data, name, most=PARSED_BYTES):
    """Parse JSON, bytes or text, and return its value; ``name`` is for the message."""
    require_parsable(len(data), name, most)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{name} is not JSON: {error}.") from None
