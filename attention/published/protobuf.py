"""Read the wire format of protocol buffers.

A message is a sequence of fields, and a field is a key and a value. The key is a
varint, 8 times the number of the field plus the encoding of its value:

    0   varint: 7 bits a byte, the lowest first, the top bit set while more follow
    1   8 bytes                     5   4 bytes
    2   a varint n, and n bytes: text, or another message

The file holds no names and no types: the program that reads it knows what field 2
means. Fields may come in any order, and may be absent. Of a repeated field the last
value counts, or all values if the field is a list.

Source: https://protobuf.dev/programming-guides/encoding/
"""

FIXED = {1: 8, 5: 4}  # bytes


def read_fields(message):
    """Return [(number, value)] of a message: varints as int, other values as bytes.

    Raises ValueError for bytes that are not a message.
    """
    if isinstance(message, int):
        raise ValueError(f"found the int {message}; expected a message")
    fields, i = [], 0
    while i < len(message):
        key, i = _varint(message, i)
        number, encoding = key >> 3, key & 7
        if encoding == 0:
            value, i = _varint(message, i)
        else:
            if encoding not in (2, *FIXED):
                raise ValueError(f"field {number} has the unknown encoding {encoding}")
            n, i = _varint(message, i) if encoding == 2 else (FIXED[encoding], i)
            value = message[i : i + n]
            if len(value) < n:
                raise ValueError(f"field {number} has {len(value)} of {n} bytes")
            i += n
        fields.append((number, value))
    return fields


def _varint(message, i):
    """Return the number that begins at byte i, and the position after it."""
    number = shift = 0
    for i in range(i, len(message)):
        number |= (message[i] & 127) << shift
        if message[i] < 128:
            return number, i + 1
        shift += 7
        if shift > 63:
            raise ValueError("a number has more than 64 bits")
    raise ValueError("the message ends inside a number")
