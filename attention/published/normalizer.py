"""Rewrite a text as SentencePiece does before it cuts it: characters, then spaces.

**Characters.** A ``.spm`` file has its rules in compiled form ("nmt_nfkc" is NFKC with
a few rules for spaces and control characters), so no tables of Unicode are needed:

    4 bytes    the length n of the trie, little-endian
    n bytes    a trie of the texts to replace, in units of 32 bits
    the rest   the replacements, each ended by a zero byte

A trie is a tree with a text in each path from the root: an edge is a byte of the text.
Here it is an array of nodes (units). The child for byte c of the node at position p
with offset o is at position p ^ o ^ c, and it exists if the label there is c. A step
thus takes one exclusive or and one comparison.

    bits 0-7    the label, with bit 31 clear
    bit 8       a text ends here, and the child for byte 0 is its value
    bit 9       the offset in bits 10-30 counts in steps of 256
    bit 31      this unit is a value, bits 0-30: where the replacement begins

At each position the longest text in the trie is replaced, and the replacement is not
read again. Other characters stay as they are.

**Spaces.** Runs of spaces become one, spaces at the ends are removed, and one is put in
front, so that a word is the same piece at the beginning and inside. A space is written
as U+2581, which may be part of a piece.

Sources: Kudo and Richardson 2018, section 3.4; Aoe 1989 for the double array; the
layout of the bits is that of darts-clone.
"""

import struct

SPACE = "\u2581"  # a space inside a piece


class CharacterMap:
    """The compiled rules of a ``.spm`` file."""

    def __init__(self, compiled):
        n = int.from_bytes(compiled[:4], "little")
        self.units = struct.unpack(f"<{n // 4}I", compiled[4 : 4 + n])
        self.replacements = compiled[4 + n :]
        if not self.units:
            raise ValueError("the trie of its rules is empty")

    def longest(self, data, i):
        """Return (length, replacement) of the longest rule for data[i:], or None."""
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
                found = n + 1 - i, self._replacement(p)
        return found

    def _replacement(self, p):
        """Return the replacement whose place is the value at position p."""
        value = self.units[p] if p < len(self.units) else 0
        begin = value & 0x7FFFFFFF
        end = self.replacements.find(b"\0", begin)
        if value >> 31 == 0 or end < 0:
            raise ValueError(
                "The SentencePiece model is damaged: a rule that rewrites characters "
                "has no replacement."
            )
        return self.replacements[begin:end]


def _offset(unit):
    return unit >> 10 << ((unit & 512) >> 6)


def replaced(data, rules, kept):
    """Yield a text in parts, each a character or a replacement.

    data    the text in UTF-8
    rules   a CharacterMap, or None to keep characters as they are
    kept    texts in bytes that no rule may change, longest first
    """
    i = 0
    while i < len(data):
        text = next((text for text in kept if data.startswith(text, i)), None)
        rule = rules.longest(data, i) if rules else None
        if text is not None:
            n, part = len(text), text
        elif rule:
            n, part = rule
        else:
            n = _utf8_length(data[i])
            part = data[i : i + n]
        yield part.decode("utf-8", "replace")
        i += n


def without_runs(parts):
    """Return the parts without spaces at the beginning or after a space."""
    kept, after_space = [], True
    for part in parts:
        if after_space:
            part = part.lstrip(" ")
        if part:
            kept.append(part)
            after_space = part.endswith(" ")
    return kept


def _utf8_length(byte):
    """Return the number of bytes of a character in UTF-8, from the first of them."""
    return 1 if byte < 0xC0 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
