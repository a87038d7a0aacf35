"""The wire format of protocol buffers, as much of it as a file to be read needs.

A message is a row of fields, and a field is a key and a value. The key is a varint,
8 times the field's number plus the way its value is written:

    0   varint: 7 bits a byte, the lowest first, the top bit set while more follow
    1   8 bytes                     5   4 bytes
    2   a varint n, and n bytes: text, or a message within

Names and types are not in the file: who reads it knows what field 2 means. Fields may
come in any order, again (the last one counts, or all of a list), or not at all.
Source: https://protobuf.dev/programming-guides/encoding/
"""

import struct

FIXED = {1: 8, 5: 4}  # bytes
LONGEST_VARINT = 10  # bytes, 64 bits


def fields(message):
    """[(number, value)] of a message in bytes: a varint is an int, the rest are bytes.

    Nothing is allocated but slices of the message, so that no length can ask for more
    than the file has. Raises ValueError with what is wrong.
    """
    found, i = [], 0
    while i < len(message):
        key, i = _varint(message, i)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise ValueError(f"it has a field of number 0 before byte {i}")
        if kind == 0:
            value, i = _varint(message, i)
            found.append((number, value))
            continue
        if kind == 2:
            n, i = _varint(message, i)
        elif kind in FIXED:
            n = FIXED[kind]
        else:
            raise ValueError(f"it has a field of the unknown kind {kind} at byte {i}")
        if n > len(message) - i:
            raise ValueError(
                f"its field {number} announces {n} bytes, and {len(message) - i} follow"
            )
        found.append((number, message[i : i + n]))
        i += n
    return found


def as_bytes(value, what):
    if not isinstance(value, bytes):
        raise ValueError(f"its {what} is a number; expected bytes")
    return value


def as_text(value, what):
    try:
        return as_bytes(value, what).decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"its {what} is not UTF-8") from None


def as_int(value, what):
    """A varint as the signed 64-bit number that enums and int32 fields are."""
    if not isinstance(value, int):
        raise ValueError(f"its {what} has {len(value)} bytes; expected a varint")
    return value - (1 << 64) if value >> 63 else value


def as_float(value, what):
    if not isinstance(value, bytes) or len(value) != 4:
        raise ValueError(f"its {what} is not a float of 4 bytes")
    return struct.unpack("<f", value)[0]


def _varint(message, i):
    """(the number, where the next byte is)."""
    number = 0
    for n, byte in enumerate(message[i : i + LONGEST_VARINT]):
        number |= (byte & 127) << 7 * n
        if byte < 128:
            return number & ((1 << 64) - 1), i + n + 1
    if len(message) - i < LONGEST_VARINT:
        raise ValueError(f"it ends inside the number at byte {i}")
    raise ValueError(f"its number at byte {i} has more than {LONGEST_VARINT} bytes")
