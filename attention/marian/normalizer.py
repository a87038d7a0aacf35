"""How SentencePiece rewrites a text before it cuts it: characters, then spaces.

**Characters.** A ``.spm`` file carries its rules compiled, so that nobody who reads it
needs Unicode's tables ("nmt_nfkc" is NFKC with a few rules for spaces and controls):

    4 bytes    the length n of the trie, little-endian
    n bytes    a trie of what is replaced, as units of 32 bits
    the rest   what it is replaced by, each text ended by a zero byte

The trie is a double array. A unit stands for a node and says where its children are:
the child for byte c of the node with offset o at place p is at p ^ o ^ c, and is really
there if its label is c. So a step is one exclusive or and one comparison.

    bits 0-7    label, with bit 31 clear
    bit 8       a text ends here, and the child for byte 0 is its value
    bit 9       the offset in bits 10-30 counts in steps of 256
    bit 31      this unit is a value, bits 0-30: where the replacement begins

From each place the longest text that the trie has is replaced, and the result is not
looked at again; what it has not stays as it is.

**Spaces.** Runs of spaces become one, those at the ends vanish, one is put in front
(so that a word is the same piece at the beginning and inside), and each is written as
U+2581, which a piece may contain.

Sources: Kudo and Richardson 2018, section 3.2; Aoe 1989 for the double array; the
layout of the bits is that of darts-clone.
"""

import struct

SPACE = "\u2581"  # as pieces write it
VALUE = 0x7FFFFFFF


class CharacterMap:
    """The compiled rules of a ``.spm``: ``longest(data, i)`` looks one up.

    Raises ValueError for bytes that cannot be such rules.
    """

    def __init__(self, compiled):
        if len(compiled) < 4:
            raise ValueError("its character map has fewer than 4 bytes")
        n = int.from_bytes(compiled[:4], "little")
        if not n or n % 4 or n > len(compiled) - 4:
            raise ValueError(
                f"its character map announces a trie of {n} bytes, and "
                f"{len(compiled) - 4} follow"
            )
        self.units = struct.unpack(f"<{n // 4}I", compiled[4 : 4 + n])
        self.texts = compiled[4 + n :]

    def longest(self, data, i):
        """(bytes consumed, replacement) of the longest rule for data[i:], or None."""
        units, found = self.units, None
        p = _offset(units[0])
        for n in range(i, len(data)):
            c = data[n]
            p ^= c
            if p >= len(units) or units[p] & 0x800000FF != c:
                break
            unit = units[p]
            p ^= _offset(unit)
            if unit >> 8 & 1:
                found = n + 1 - i, self._text(p)
        return found

    def _text(self, p):
        if p < len(self.units):
            begin = self.units[p] & VALUE
            end = self.texts.find(b"\0", begin)
            if end >= 0:
                return self.texts[begin:end]
        raise ValueError(
            "SentencePiece: the character map points outside itself; the .spm file is "
            "damaged."
        )


def _offset(unit):
    return unit >> 10 << ((unit & 512) >> 6)


class Normalizer:
    """Text into the text that is cut.

    rules          a CharacterMap, or None to leave characters as they are
    in_front       put a space in front
    at_end         put a space at the end
    remove_extra   drop spaces at the ends, and all but one of a run
    escape         write a space as U+2581
    kept           texts in bytes that no rule may touch, longest first
    """

    def __init__(self, rules, in_front, at_end, remove_extra, escape, kept=()):
        self.rules, self.kept = rules, kept
        self.in_front, self.at_end = in_front, at_end
        self.remove_extra, self.escape = remove_extra, escape

    def __call__(self, text):
        parts = list(self._replaced(text.encode("utf-8")))
        if all(part == " " for part in parts) and (self.remove_extra or not parts):
            return ""
        if self.remove_extra:
            parts = _without_runs(parts)
        space = SPACE if self.escape else " "
        front, end = " " * self.in_front, space * self.at_end
        normal = (front + "".join(parts)).replace(" ", space)
        if self.remove_extra:
            normal = normal.rstrip(space)
        return normal + end

    def _replaced(self, data):
        """The text in parts, each a character or a rule's replacement."""
        i = 0
        while i < len(data):
            kept = next((k for k in self.kept if data.startswith(k, i)), None)
            found = self.rules.longest(data, i) if self.rules else None
            if kept is not None:
                n, part = len(kept), kept
            elif found:
                n, part = found
            else:
                n = _width(data[i])
                part = data[i : i + n]
            yield part.decode("utf-8", "replace")
            i += n


def _without_runs(parts):
    """The parts without the spaces that follow a space or stand at the beginning."""
    kept, after_space = [], True
    for part in parts:
        if after_space:
            part = part.lstrip(" ")
        if part:
            kept.append(part)
            after_space = part.endswith(" ")
    return kept


def _width(byte):
    """How many bytes a character has in UTF-8, by the first of them."""
    return 1 if byte < 0xC0 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
