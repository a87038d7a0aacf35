"""JSON in the folder of a published model, and names of weights.

The weights themselves are read by weights.py.
"""

from minigrad.bounds import PARSED_BYTES, FileError, parse_json, read_for_parsing


def read_json(path, most=PARSED_BYTES):
    """Return the dict in a file of JSON, of at most ``most`` bytes."""
    entries = parse_json(read_for_parsing(path, most), path, most)
    if not isinstance(entries, dict):
        raise FileError(f"{path} holds a {type(entries).__name__}; expected a dict.")
    return entries


def renamed(arrays, parts):
    """Return the arrays under our names; parts are {part of a name: our part}."""
    state = {}
    for name, array in arrays.items():
        for theirs, ours in parts.items():
            name = name.replace(theirs, ours)
        state[name] = array
    return state
