"""Read a GGUF file: a model's settings, its tokens and its weights in one file.

    4 bytes      "GGUF"
    u32          the version, 2 or 3
    u64, u64     the number of tensors, and the number of entries of the metadata
    metadata     for each entry: its key, a string; its type, u32; its value
    tensors      for each: its name, a string; the number of its sizes, u32; its sizes,
                 u64 each; its type, u32; the offset of its bytes, u64
    zeros        to the next multiple of ``general.alignment``, 32 if there is no entry
    data         the bytes of all tensors; offsets count from here

Numbers are little-endian. A string is its length in bytes, u64, and its UTF-8. An array
in the metadata is the type of its items, u32, their number, u64, and the items. The
first size of a tensor is that of its rows; in NumPy it is the last one.

The file is mapped into memory (weights.py). Before something is read, its size is
compared with the bytes that are left, so a length of 2^60 is a sentence and allocates
nothing.

Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import struct

import numpy as np

from minigrad.bounds import FileError, open_file

from .blocks import SIZE, bytes_of, stored_tensor
from .weights import mapped

NUMBERS = {  # type of a value: its dtype
    0: "u1", 1: "i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "?",
    10: "<u8", 11: "<i8", 12: "<f8",
}  # fmt: skip
STRING, ARRAY = 8, 9
KINDS = {0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 8: "Q8_0", 30: "BF16"}
OTHER_KINDS = {  # for the message
    6: "Q5_0", 7: "Q5_1", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K",
}  # fmt: skip
ENTRY, TENSOR = 8 + 4 + 1, 8 + 4 + 8 + 4 + 8  # bytes of the shortest of each


def read_gguf(path):
    """Return (metadata, {name: StoredTensor}) of a file.

    metadata   {key: a number, bool, str, an array of numbers or a list of str}

    Raises FileError if the file is damaged, truncated, or of another type.
    """
    with open_file(path) as file:
        if file.read(4) != b"GGUF":
            raise FileError(
                f"{path} does not begin with GGUF; expected a GGUF file, or a folder "
                "with config.json and model.safetensors."
            )
        data = mapped(file)
    cursor = Cursor(path, data)
    cursor.take(4, "the mark")
    version = cursor.number("<u4", "the version")
    if version not in (2, 3):
        raise cursor.error(4, f"found version {version}; expected 2 or 3")
    tensor_count = cursor.count(TENSOR, "the number of tensors")
    entry_count = cursor.count(ENTRY, "the number of entries")
    metadata = {}
    for _ in range(entry_count):
        begin, key = cursor.position, cursor.string("a key")
        if key in metadata:
            raise cursor.error(begin, f"found the key {key!r} again")
        metadata[key] = _value(cursor, key)
    alignment = metadata.get("general.alignment", 32)
    if type(alignment) is not int or alignment < 1:
        raise cursor.error(begin, f"found general.alignment {alignment!r}")
    described = [_described_tensor(cursor) for _ in range(tensor_count)]
    start = -(-cursor.position // alignment) * alignment  # rounded up
    tensors, end = {}, start
    for name, kind, shape, offset in sorted(described, key=lambda each: each[3]):
        begin, nbytes = start + offset, bytes_of(kind, shape)
        what = f"the tensor {name!r}, {kind} {shape},"
        if nbytes is None:
            raise cursor.error(begin, f"{what} has rows of no whole blocks of {SIZE}")
        if name in tensors:
            raise cursor.error(begin, f"{what} has the name of another one")
        if offset % alignment or begin < end or nbytes > len(data) - begin:
            raise cursor.error(
                begin,
                f"{what} has {nbytes} bytes; expected a begin at {end} or later, a "
                f"multiple of {alignment} after {start}, and an end at {len(data)} or "
                "earlier, where the file ends",
            )
        end = begin + nbytes
        tensors[name] = stored_tensor(kind, shape, data[begin:end])
    return metadata, {name: tensors[name] for name, *_ in described}


class Cursor:
    """Read values one after the other from the bytes of a file.

    position   where the next value begins
    """

    def __init__(self, path, data):
        self.path, self.data, self.position = path, memoryview(data), 0

    def error(self, position, reason):
        """Return the FileError for a reason, at a position."""
        return FileError(f"{self.path}: at byte {position}: {reason}.")

    def take(self, n, what):
        """Return the next n bytes, those of ``what``."""
        begin, left = self.position, len(self.data) - self.position
        if n > left:
            raise self.error(begin, f"{what} needs {n} bytes; the file has {left} more")
        self.position += n
        return self.data[begin : begin + n]

    def number(self, dtype, what):
        """Return the next number, as Python's int, float or bool."""
        dtype = np.dtype(dtype)
        return np.frombuffer(self.take(dtype.itemsize, what), dtype)[0].item()

    def count(self, least, what):
        """Return the next u64, a number of things of at least ``least`` bytes each."""
        begin, n = self.position, self.number("<u8", what)
        left = len(self.data) - self.position
        if n > left // least:
            raise self.error(begin, f"{what} is {n}; the file has {left} bytes more")
        return n

    def string(self, what):
        """Return the next string."""
        begin = self.position
        (n,) = struct.unpack("<Q", self.take(8, what))
        try:
            return str(self.take(n, what), "utf-8")
        except UnicodeDecodeError:
            raise self.error(begin, f"{what} is not UTF-8") from None


def _value(cursor, key):
    """Return the next value of the metadata, with its type in front."""
    what, begin = f"the value of {key!r}", cursor.position
    kind = cursor.number("<u4", what)
    if kind in NUMBERS:
        return cursor.number(NUMBERS[kind], what)
    if kind == STRING:
        return cursor.string(what)
    if kind == ARRAY:
        kind = cursor.number("<u4", what)
        if kind == STRING:
            return [cursor.string(what) for _ in range(cursor.count(8, what))]
        if kind in NUMBERS:
            dtype = np.dtype(NUMBERS[kind])
            n = cursor.count(dtype.itemsize, what)
            return np.frombuffer(cursor.take(n * dtype.itemsize, what), dtype)
        what += ", an array,"
    raise cursor.error(begin, f"{what} has the type {kind}; expected 0 to 12")


def _described_tensor(cursor):
    """Return (name, kind, shape, offset) of the next tensor."""
    begin, name = cursor.position, cursor.string("the name of a tensor")
    what = f"the tensor {name!r}"
    axes = cursor.number("<u4", what)
    if axes > 4:
        raise cursor.error(begin, f"{what} has {axes} sizes; expected at most 4")
    sizes = [cursor.number("<u8", what) for _ in range(axes)]
    if 0 in sizes:
        raise cursor.error(begin, f"{what} has sizes {sizes}; expected 1 or more")
    code, offset = cursor.number("<u4", what), cursor.number("<u8", what)
    if code not in KINDS:
        found = OTHER_KINDS.get(code, f"number {code}")
        expected = ", ".join(KINDS.values())
        raise cursor.error(
            begin, f"{what} has the type {found}; expected one of {expected}"
        )
    return name, KINDS[code], tuple(reversed(sizes)), offset
