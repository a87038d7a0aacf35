"""Words as token ids: which words a model knows.

PAD 0, SOS 1, EOS 2, UNK 3, then the words, the most frequent first and the equally
frequent in the order of their characters' code points. So the same sentences make the
same ids, in whatever order they come.
"""

from collections import Counter

import numpy as np

from ..checks import whole
from .batch import EOS, PAD, SOS

UNK = 3
SPECIAL = ("<pad>", "<sos>", "<eos>", "<unk>")  # how they are written, at their ids
FORMAT = "words"  # what a state calls itself


class Vocabulary:
    """Words, each with an id, from 4 on.

    words   strings, each once

    ``build`` counts the words of sentences; ``from_state`` reads a checkpoint.
    """

    def __init__(self, words):
        if isinstance(words, str):
            raise TypeError(
                "Vocabulary: words is one string; expected a list of words. tokenize "
                "makes one of a text."
            )
        self._words = list(SPECIAL)
        self._ids = {}
        for word in words:
            if not isinstance(word, str):
                raise TypeError(f"Vocabulary: {word!r} is no word; expected a str.")
            if word in SPECIAL or word in self._ids:
                why = "has an id of its own" if word in SPECIAL else "stands twice"
                raise ValueError(
                    f"Vocabulary: {word!r} {why}; expected each word once."
                )
            self._ids[word] = len(self._words)
            self._words.append(word)

    @classmethod
    def build(cls, sentences, min_count=1, max_size=None):
        """The vocabulary of ``sentences``, each a list of words.

        min_count   words that occur less often are left out, and become <unk>
        max_size    the most ids there may be, the four special ones among them

        A word that is written as a special one is, <unk> for instance, is left out.
        Raises TypeError and ValueError for sentences that are no lists of words, and
        where no word is left.
        """
        min_count = whole("Vocabulary.build", "min_count", min_count, 1)
        if isinstance(sentences, str):
            raise TypeError(
                "Vocabulary.build: sentences is one string; expected a list of "
                "sentences, each a list of words."
            )
        counts = Counter()
        for i, sentence in enumerate(sentences):
            counts.update(_checked_words(f"Vocabulary.build: sentence {i}", sentence))
        found = [
            word for word, n in counts.items() if n >= min_count and word not in SPECIAL
        ]
        if not found:
            most = max(counts.values(), default=0)
            raise ValueError(
                f"Vocabulary.build: no word occurs {min_count} times or more; the most "
                f"frequent one occurs {most} times."
            )
        found.sort(key=lambda word: (-counts[word], word))
        if max_size is not None:
            least = len(SPECIAL) + 1  # one word
            max_size = whole("Vocabulary.build", "max_size", max_size, least)
            found = found[: max_size - len(SPECIAL)]
        return cls(found)

    def __len__(self):
        """How many ids there are, the special ones among them."""
        return len(self._words)

    def __contains__(self, word):
        return word in self._ids

    def __eq__(self, other):
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self._words == other._words

    def __repr__(self):
        first = " ".join(self.words[:5])
        return f"Vocabulary({len(self)} ids: {first}{' …' * (len(self.words) > 5)})"

    @property
    def words(self):
        """The words in the order of their ids, without the special ones."""
        return self._words[len(SPECIAL) :]

    def encode(self, sentence):
        """The ids of a list of words, int64, with neither SOS nor EOS.

        A word that is not known is UNK. So is a text's own "<pad>", which is no PAD.
        """
        sentence = _checked_words("Vocabulary.encode: the sentence", sentence)
        return np.array([self._ids.get(word, UNK) for word in sentence], np.int64)

    def decode(self, ids):
        """The words of ``ids`` up to the first EOS; PAD and SOS are left out.

        Raises ValueError for an id that is none, and TypeError for what is no id.
        """
        ids = np.asarray(ids)
        if ids.size and (ids.dtype.kind not in "iu" or ids.ndim != 1):
            raise TypeError(
                f"Vocabulary.decode: ids are {ids.dtype} of shape {ids.shape}; "
                "expected whole numbers of shape (T,), one sentence."
            )
        words = []
        for i in ids.tolist():
            if i == EOS:
                break
            if not 0 <= i < len(self):
                raise ValueError(
                    f"Vocabulary.decode: {i} is no id; expected 0 to {len(self) - 1}."
                )
            if i not in (PAD, SOS):
                words.append(self._words[i])
        return words

    def unknown(self, sentences):
        """The share of all words of ``sentences`` that become <unk>, from 0 to 1."""
        ids = [self.encode(sentence) for sentence in sentences]
        total = sum(map(len, ids))
        return sum(int((i == UNK).sum()) for i in ids) / total if total else 0.0

    def state_dict(self):
        """What ``from_state`` makes this vocabulary of: strings and lists alone."""
        return {"format": FORMAT, "words": self.words}

    @classmethod
    def from_state(cls, state):
        """The vocabulary that ``state_dict`` describes."""
        if not isinstance(state, dict) or not isinstance(state.get("words"), list):
            raise ValueError(
                "Vocabulary.from_state: this is no state of a vocabulary; expected "
                "what state_dict returned, a dict with a list of words."
            )
        if state.get("format") != FORMAT:
            raise ValueError(
                "Vocabulary.from_state: the state's format is "
                f"{state.get('format')!r}; expected {FORMAT!r}."
            )
        return cls(state["words"])


def _checked_words(which, sentence):
    """A list of strings, from anything that holds them but a string."""
    if isinstance(sentence, str) or not hasattr(sentence, "__iter__"):
        raise TypeError(
            f"{which} is {sentence!r}; expected a list of words. tokenize makes one of "
            "a text."
        )
    words = list(sentence)
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"{which} holds {word!r}; expected words, each a str.")
    return words
