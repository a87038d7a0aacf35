"""Characters as token ids, for tasks over a small alphabet.

PAD 0, SOS 1, EOS 2, then the characters of the alphabet in their order, from 3 on.
"""

import numpy as np

from .batch import EOS

FIRST = 3  # the id of the first character


class Symbols:
    """An alphabet of single characters.

    characters   "abc…", each once
    named        how a message calls them, "a to z"; by default they are listed
    """

    def __init__(self, characters, named=None):
        self.characters, self.named = characters, named or " ".join(characters)
        self._ids = {c: FIRST + i for i, c in enumerate(characters)}

    def __len__(self):
        """How many ids there are, PAD, SOS and EOS among them."""
        return FIRST + len(self.characters)

    def encode(self, text):
        """The ids of the characters of ``text``.

        Raises ValueError for a character outside the alphabet, by name and place.
        """
        for i, c in enumerate(text):
            if c not in self._ids:
                raise ValueError(
                    f"{c!r} at place {i} of {text!r} is not one of {self.named}."
                )
        return np.array([self._ids[c] for c in text], dtype=np.int64)

    def decode(self, ids):
        """The characters of ``ids`` up to the first EOS; PAD and SOS are left out."""
        read = []
        for i in ids:
            if i == EOS:
                break
            if i >= FIRST:
                read.append(self.characters[int(i) - FIRST])
        return "".join(read)
