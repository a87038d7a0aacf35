"""Save and load nested dicts of arrays, numbers and strings, never with pickle.

    save("run.safetensors", {"model": model.state_dict(), "step": 400})
    state = load("run.safetensors")

A file has a header in JSON and then the bytes of all arrays
(``minigrad/safetensors.py``). An array is named by the keys that lead to it, joined
with ".". All else is stored in one piece of JSON, which also marks where the arrays
belong:

    {"a": {"W": array([1., 2.])}, "step": 400}
        array    a.W
        JSON     {"a": {"W": {"@array": "a.W"}}, "step": 400}

A loaded state equals the saved one: values, shapes and dtypes to the last bit, large
integers, NaN and infinities. Tuples become lists, NumPy's scalars Python's.

Writing is atomic (``minigrad/files.py``): at every moment a whole file exists, the old
or the new one. A process that is killed while it writes leaves ``.checkpoint-*.tmp``,
which may be deleted.

``load`` also reads a ``.npz`` file, a zip of ``.npy`` files: those of earlier versions,
and what ``numpy.savez`` writes.
"""

import io
import json
import math
import os
import zipfile
from typing import Any

import numpy as np
from numpy.lib import format as npy

from . import safetensors
from .bounds import open_file, parse_json
from .files import write_whole

STRUCTURE = "minigrad.json"  # the name of the JSON beside the arrays


class CheckpointError(ValueError):
    """A file cannot be loaded, or its name has an unknown suffix."""


def save(path: Any, state: dict[str, Any]):
    """Write ``state`` to ``path``, a .safetensors file, which is replaced.

    state   a dict with strings for keys; as values arrays of numbers, int, float, bool,
            None, str, and lists and dicts of these

    Raises TypeError for anything else in ``state``; CheckpointError for another suffix;
    ValueError if the state without its arrays needs more than the 8 MB that ``load``
    accepts; OSError if the file cannot be written. ``path`` is then unchanged.
    """
    if isinstance(path, dict):
        raise TypeError("save(): path is a dict; expected save(path, state).")
    _check_suffix(path, ".safetensors")
    if not isinstance(state, dict):
        raise TypeError(f"save() needs a dict; found {type(state).__name__}.")
    arrays = {}
    try:
        structure = json.dumps(_take_out(state, arrays, ()))
    except RecursionError:
        raise TypeError(
            "save(): the state is nested too deeply, or contains itself."
        ) from None
    metadata = {STRUCTURE: structure}
    write_whole(
        path, lambda file: safetensors.write(file, arrays, metadata), "checkpoint"
    )


def load(path: Any) -> dict[str, Any]:
    """Return the state that ``save`` wrote to ``path``.

    From a file of another program, return {name: array}.

    Raises FileNotFoundError when there is no such file; CheckpointError, with the
    reason, when it is truncated, damaged or no checkpoint. The whole file is checked
    before anything is returned, and nothing in it is executed.
    """
    suffix = _check_suffix(path, ".safetensors", ".npz")
    read = _read_npz if suffix == ".npz" else _read_safetensors
    try:
        file = open_file(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no checkpoint at {path}.") from None
    except ValueError as error:
        raise CheckpointError(str(error)) from None
    with file:
        try:
            size = os.fstat(file.fileno()).st_size
            arrays, structure = read(file, size)
            if structure is None:
                return arrays
            state = _put_back(parse_json(structure, f"its {STRUCTURE}"), arrays)
            if arrays:
                raise ValueError(f"nothing refers to its array {min(arrays)!r}")
            if type(state) is not dict:
                raise ValueError(f"its {STRUCTURE} does not hold a dict")
            return state
        except Exception as error:  # a damaged file can make a parser raise anything
            reason = str(error).rstrip(".") or type(error).__name__
            raise CheckpointError(f"{path} cannot be loaded: {reason}.") from error


def _take_out(value, arrays, place):
    """Return ``value`` as JSON can hold it; add its arrays to ``arrays`` by name."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        name = ".".join(map(str, place))
        # {"a.b": x, "a": {"b": y}} gives a.b twice
        while name in arrays or name == safetensors.METADATA:
            name += "'"
        arrays[name] = value
        return {"@array": name}
    if isinstance(value, (list, tuple)):
        return [_take_out(v, arrays, (*place, i)) for i, v in enumerate(value)]
    where = "state" + "".join(f"[{key!r}]" for key in place)
    if not isinstance(value, dict):
        kind = type(value).__name__
        if isinstance(value, np.ndarray):
            kind = f"{kind} of {value.dtype}"
        raise TypeError(
            f"save() cannot write {where}, a {kind}: a checkpoint holds arrays of "
            "numbers, numbers, strings, None, and lists and dicts of these."
        )
    tree = {}
    for key, v in value.items():
        if type(key) is not str:
            raise TypeError(f"save() needs strings as keys; {where} has {key!r}.")
        # "@" stands in front of a key that could be taken for the mark "@array"
        escaped = "@" + key if key.startswith("@") else key
        tree[escaped] = _take_out(v, arrays, (*place, key))
    return tree


def _put_back(tree, arrays):
    """Invert ``_take_out``; remove the arrays that are used from ``arrays``."""
    if isinstance(tree, list):
        return [_put_back(each, arrays) for each in tree]
    if not isinstance(tree, dict):
        return tree
    if "@array" in tree:
        if tree["@array"] not in arrays:
            raise ValueError(f"its array {tree['@array']!r} is missing")
        return arrays.pop(tree["@array"])
    return {key.removeprefix("@"): _put_back(v, arrays) for key, v in tree.items()}


def _check_suffix(path, *suffixes):
    """Return the suffix of a path if it is one of these."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in suffixes:
        raise CheckpointError(
            f"{path}: the suffix must be {' or '.join(suffixes)}, the format."
        )
    return suffix


def _read_safetensors(file, size):
    arrays, metadata = safetensors.read(file, size)
    if STRUCTURE in metadata and safetensors.CHECKSUM not in metadata:
        raise ValueError("its checksum is missing")
    return arrays, metadata.get(STRUCTURE)


# by version of the format .npy. Version 3 is for arrays with named fields, not numbers
NPY_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def _read_npz(file, size):
    arrays, structure = {}, None
    if not zipfile.is_zipfile(file):  # its list of contents stands at its end
        raise ValueError("it is cut short, or never was a .npz file")
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise ValueError(
                "its entries are compressed; numpy.load reads such a file, and "
                "numpy.savez writes it without compression"
            )
        if not entries or sum(entry.file_size for entry in entries) > size:
            raise ValueError("its list of contents is damaged")
        for entry in entries:
            content = archive.read(entry)
            name = entry.filename.removesuffix(".npy")
            if entry.filename == STRUCTURE:
                structure = content
            elif name == entry.filename:
                raise ValueError(f"its entry {name!r} is not an array")
            elif name in arrays:
                raise ValueError(f"it has two entries named {name!r}")
            else:
                arrays[name] = _parse_npy(content, name)
    return arrays, structure


def _parse_npy(content, name):
    """Return the array in the bytes of a ``.npy`` file."""
    file = io.BytesIO(content)
    try:
        read_header = NPY_HEADERS[npy.read_magic(file)]
        shape, in_columns, dtype = read_header(file)
    except Exception as error:  # NumPy's messages recommend its unsafe options
        raise ValueError(f"its array {name!r} has no valid header") from error
    if dtype.kind not in "biufc":
        raise ValueError(f"its array {name!r} holds {dtype}, not numbers")
    start = file.tell()
    if math.prod(shape) * dtype.itemsize != len(content) - start:
        raise ValueError(
            f"its array {name!r} has {len(content) - start} bytes, too few or too many "
            f"for {dtype} {shape}"
        )
    array = np.frombuffer(content, dtype, offset=start)
    return array.reshape(shape, order="F" if in_columns else "C").copy("C")
