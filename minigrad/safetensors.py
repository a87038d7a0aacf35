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

from .bounds import parse_json, require_parsable

METADATA = "__metadata__"
CHECKSUM = "minigrad.crc32"
FIELDS = "dtype", "shape", "data_offsets"  # of each array in the header

NUMBERS = {"F": "248", "I": "1248", "U": "1248"}  # kind: bytes of an item
DTYPES = {
    f"{kind}{8 * int(n)}": np.dtype(f"<{kind.lower()}{n}")
    for kind, sizes in NUMBERS.items()
    for n in sizes
} | {"BOOL": np.dtype("?")}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
BFLOAT16 = "BF16"  # the upper half of a float32; NumPy has no such dtype
STORED = DTYPES | {BFLOAT16: np.dtype("<u2")}  # dtypes of the bytes


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
    require_parsable(len(text), "The header of a .safetensors file")
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for array in little.values():
        file.write(array.data)


def read(file, size):
    """Return ({name: array}, metadata) of a file open for reading, of ``size`` bytes.

    bfloat16 becomes float32, exactly. Raises ValueError for a header that
    ``read_header`` rejects, and a checksum that does not match.
    """
    header, metadata, start = read_header(file, size)
    arrays = {
        name: _read_array(
            file,
            start + entry["data_offsets"][0],
            STORED[entry["dtype"]],
            entry["shape"],
        )
        for name, entry in header.items()
    }
    if CHECKSUM in metadata:
        unsigned = {k: text for k, text in metadata.items() if k != CHECKSUM}
        signed = {METADATA: unsigned, **header}
        if metadata[CHECKSUM] != _checksum(signed, arrays.values()):
            raise ValueError("its checksum does not match: the file is damaged")
    return {
        name: native(array, header[name]["dtype"]) for name, array in arrays.items()
    }, metadata


def read_header(file, size):
    """Return the checked header {name: entry}, the metadata, and where arrays begin.

    Nothing is allocated for an array. Raises ValueError for a header that is not JSON
    or is incomplete, sizes that contradict each other or the ``size`` of the file in
    bytes, and arrays that overlap or leave a gap.
    """
    length = int.from_bytes(file.read(8), "little")
    start = 8 + length
    if start > size:
        raise ValueError(
            f"its first 8 bytes announce a header of {length} bytes, and the file has "
            f"{size} (it is truncated, or not a safetensors file)"
        )
    require_parsable(length, "its header")
    header = parse_json(file.read(length), "its header")
    if not isinstance(header, dict):
        raise ValueError("its header is not a dict")
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict):
        raise ValueError(f"its {METADATA} is not a dict")
    for name, entry in header.items():
        _check_entry(name, entry)
    end = 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, stop = entry["data_offsets"]
        if begin != end or stop > size - start:
            raise ValueError(
                f"its array {name!r} lies at bytes {begin} to {stop}; expected a begin "
                f"at {end}, and the file has {size - start} bytes of arrays"
            )
        if math.prod(entry["shape"]) * STORED[entry["dtype"]].itemsize != stop - begin:
            raise ValueError(
                f"its array {name!r} has {stop - begin} bytes, too few or too many for "
                f"{entry['dtype']} {entry['shape']}"
            )
        end = stop
    if end != size - start:
        raise ValueError(
            f"it has {size - start} bytes of arrays; its header describes {end}"
        )
    return header, metadata, start


def _check_entry(name, entry):
    """Raise ValueError unless an entry of the header has a dtype, a shape and a place.

    Of an array without numbers, NumPy limits the product of the other sizes.
    """
    for field in FIELDS:
        if not isinstance(entry, dict) or field not in entry:
            raise ValueError(f"its array {name!r} has no {field}")
    code, shape, offsets = (entry[field] for field in FIELDS)
    if not isinstance(code, str) or code not in STORED:
        raise ValueError(
            f"its array {name!r} has the dtype {code!r}; expected one of "
            f"{', '.join(STORED)}"
        )
    for field, numbers in ("shape", shape), ("data_offsets", offsets):
        is_list = isinstance(numbers, list)
        if not is_list or any(type(n) is not int or n < 0 for n in numbers):
            raise ValueError(
                f"its array {name!r} has {field} {numbers!r}; expected whole numbers, "
                "0 or more"
            )
    is_large = 0 in shape and math.prod(n for n in shape if n) >= 2**60
    if len(offsets) != 2 or len(shape) > 32 or is_large:
        raise ValueError(
            f"its array {name!r} has shape {shape} and data_offsets {offsets}; "
            "expected at most 32 sizes with a product below 2^60, and two offsets"
        )


def _read_array(file, position, dtype, shape):
    array = np.empty(shape, dtype)
    file.seek(position)
    if file.readinto(array.reshape(-1).view(np.uint8)) != array.nbytes:
        raise ValueError("it became shorter while it was read")
    return array


def native(array, code):
    """Return an array of the file with NumPy's dtype and this machine's byte order.

    code   the name of its dtype in the header
    """
    if code == BFLOAT16:
        wide = np.left_shift(array, 16, dtype=np.uint32)
        return np.asarray(wide).view(np.float32)
    if code == "BOOL":  # any byte but 0 is True
        return np.asarray(array.view(np.uint8) != 0)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _little_endian(name, array):
    dtype = array.dtype.newbyteorder("<")
    if dtype not in NAMES:
        raise TypeError(
            f"A .safetensors file cannot hold {array.dtype}, the dtype of {name!r}; "
            "convert it."
        )
    return np.asarray(array, dtype, order="C")


def _checksum(header, arrays):
    """Return the CRC-32 of the header, with sorted keys, and of the arrays."""
    crc = zlib.crc32(json.dumps(header, sort_keys=True).encode("ascii"))
    for array in arrays:
        crc = zlib.crc32(array, crc)
    return f"{crc:08x}"
