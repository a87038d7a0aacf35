"""Read and write the safetensors format: https://github.com/huggingface/safetensors

    8 bytes       the length n of the header, little-endian
    n bytes       the header, JSON: {name: {"dtype", "shape", "data_offsets"}, ...}, and
                  under "__metadata__" a dict of strings
    the rest      the arrays, little-endian, row by row, one after the other; offsets
                  count from here, and leave neither gap nor overlap

Sizes are stated twice, so that a damaged file is recognized before memory is allocated.
The format has no checksum; ``write`` adds one to the metadata, over the header and the
arrays, and ``read`` compares it. A file without a checksum is read as well.
"""

import json
import math
import zlib

import numpy as np

METADATA = "__metadata__"
CHECKSUM = "minigrad.crc32"

NUMBERS = {"F": "248", "I": "1248", "U": "1248"}  # kind: bytes of an item
DTYPES = {
    f"{kind}{8 * int(n)}": np.dtype(f"<{kind.lower()}{n}")
    for kind, sizes in NUMBERS.items()
    for n in sizes
} | {"BOOL": np.dtype("?")}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
BFLOAT16 = "BF16"  # the upper half of a float32; NumPy has no such dtype


def write(file, arrays, metadata):
    """Write {name: array} and the strings in ``metadata`` to a file open for writing.

    Raises TypeError for an array whose dtype the format does not have.
    """
    little = {name: _little_endian(name, array) for name, array in arrays.items()}
    # the widest items first, so that every array begins at a multiple of its item size
    little = dict(sorted(little.items(), key=lambda item: -item[1].itemsize))
    header, end = {METADATA: dict(metadata)}, 0
    for name, array in little.items():
        begin, end = end, end + array.nbytes
        header[name] = {
            "dtype": NAMES[array.dtype],
            "shape": array.shape,
            "data_offsets": [begin, end],
        }
    header[METADATA][CHECKSUM] = _checksum(header, little.values())
    text = json.dumps(header).encode("ascii")
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for array in little.values():
        file.write(array.data)


def read(file, size):
    """Return ({name: array}, metadata) of a file open for reading, of ``size`` bytes.

    bfloat16 becomes float32, exactly. Raises ValueError for a header that is not JSON
    or is incomplete, an unknown dtype, sizes that contradict each other, arrays that
    overlap, and a checksum that does not match.
    """
    header, start = _read_header(file, size)
    metadata = header.pop(METADATA, {})
    if not _is_dict_of(metadata, str):
        raise ValueError(f"its {METADATA} is not a dict of strings")
    parts = {name: _validated_entry(name, entry) for name, entry in header.items()}
    end = 0
    for name, (_, _, span) in sorted(parts.items(), key=lambda part: part[1][2]):
        if span[0] != end:
            raise ValueError(
                f"its array {name!r} begins at byte {span[0]}, where byte {end} is due"
            )
        end = span[1]
    if end != size - start:
        raise ValueError(
            f"it holds {size - start} bytes of arrays, where {end} are due"
        )
    arrays = {
        name: _read_array(file, start + span[0], dtype, shape)
        for name, (dtype, shape, span) in parts.items()
    }
    if CHECKSUM in metadata:
        unsigned = {k: text for k, text in metadata.items() if k != CHECKSUM}
        header = {METADATA: unsigned, **header}
        if metadata[CHECKSUM] != _checksum(header, arrays.values()):
            raise ValueError("its checksum does not match: the file is damaged")
    return {
        name: _native(array, header[name]["dtype"]) for name, array in arrays.items()
    }, metadata


def _read_header(file, size):
    """Return the header, and where the arrays start."""
    if size < 8:
        raise ValueError(f"it has {size} bytes, too few for a header")
    length = int.from_bytes(file.read(8), "little")
    if length > size - 8:
        raise ValueError(
            f"its first 8 bytes announce a header of {length} bytes, and the file has "
            f"{size} (it is truncated, or not a safetensors file)"
        )
    try:
        header = json.loads(file.read(length))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"its header is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise ValueError(f"its header is a {type(header).__name__}, not a dict")
    return header, 8 + length


def _validated_entry(name, entry):
    """Return (dtype, shape, (begin, end)) of an array, as the header describes it."""
    if not isinstance(entry, dict) or {"dtype", "shape", "data_offsets"} - set(entry):
        raise ValueError(f"its array {name!r} lacks a dtype, shape or data_offsets")
    shape, span, dtype = entry["shape"], entry["data_offsets"], entry["dtype"]
    if not _is_sizes(shape):
        raise ValueError(f"its array {name!r} has the shape {shape}")
    if not _is_sizes(span) or len(span) != 2 or span[0] > span[1]:
        raise ValueError(f"its array {name!r} has the data_offsets {span}")
    if not isinstance(dtype, str) or dtype not in (*DTYPES, BFLOAT16):
        raise ValueError(
            f"its array {name!r} has the dtype {dtype!r}, unknown to NumPy"
        )
    stored = DTYPES["U16" if dtype == BFLOAT16 else dtype]
    needed = math.prod(shape) * stored.itemsize
    if needed != span[1] - span[0]:
        raise ValueError(
            f"its array {name!r} has {span[1] - span[0]} bytes, where {dtype} {shape} "
            f"needs {needed}"
        )
    return stored, tuple(shape), tuple(span)


def _read_array(file, position, dtype, shape):
    array = np.empty(shape, dtype)
    file.seek(position)
    if file.readinto(array.reshape(-1).view(np.uint8)) != array.nbytes:
        raise ValueError("it became shorter while it was read")
    return array


def _native(array, name):
    """Return an array of the file with NumPy's dtype and this machine's byte order."""
    if name == BFLOAT16:
        wide = np.left_shift(array, 16, dtype=np.uint32)
        return np.asarray(wide).view(np.float32)
    if name == "BOOL":  # any byte but 0 is True
        return np.asarray(array.view(np.uint8) != 0)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _little_endian(name, array):
    dtype = array.dtype.newbyteorder("<")
    if dtype not in NAMES:
        raise TypeError(
            f"A .safetensors file cannot hold {array.dtype}, the dtype of {name!r}; "
            "save to .npz, or convert it."
        )
    return np.asarray(array, dtype, order="C")


def _checksum(header, arrays):
    """Return the CRC-32 of the header, with sorted keys, and of the arrays."""
    crc = zlib.crc32(json.dumps(header, sort_keys=True).encode("ascii"))
    for array in arrays:
        crc = zlib.crc32(array, crc)
    return f"{crc:08x}"


def _is_dict_of(value, kind):
    return isinstance(value, dict) and all(type(v) is kind for v in value.values())


def _is_sizes(value):
    return isinstance(value, list) and all(type(n) is int and n >= 0 for n in value)
