"""Token ids of words (``Vocabulary``) and of single characters (``Symbols``).

    Vocabulary    PAD 0, SOS 1, EOS 2, UNK 3, then the words, the most frequent first;
                  words of equal frequency in the order of their code points
    Symbols       PAD 0, SOS 1, EOS 2, then the characters of an alphabet

The ids do not depend on the order of the sentences.
"""

from collections import Counter

import numpy as np

from minigrad.arguments import whole

from .batch import EOS, PAD, SOS

UNK = 3
SPECIAL = ("<pad>", "<sos>", "<eos>", "<unk>")  # the words of the ids 0 to 3
FORMAT = "words"  # of a Vocabulary's state
FIRST = 3  # the id of the first character of Symbols


class Vocabulary:
    """A map from words to ids. The first word has the id 4.

    words   strings, each once

    ``build`` counts the words of sentences; ``from_state`` reads a checkpoint.
    """

    def __init__(self, words):
        words = _word_list("Vocabulary: words", words)
        for word, count in Counter([*SPECIAL, *words]).items():
            if count > 1:
                why = "is a special word" if word in SPECIAL else "occurs twice"
                raise ValueError(
                    f"Vocabulary: {word!r} {why}; expected each word once."
                )
        self._words = [*SPECIAL, *words]
        self._ids = {word: len(SPECIAL) + i for i, word in enumerate(words)}

    @classmethod
    def build(cls, sentences, min_count=1):
        """Return the vocabulary of ``sentences``, each a list of words.

        min_count   words that occur less often are left out and become <unk>

        A word that equals a special token, such as <unk>, is left out.
        """
        name = "Vocabulary.build"
        min_count = whole(name, "min_count", min_count, 1)
        if isinstance(sentences, str):
            raise TypeError(
                f"{name}: sentences is one string; expected a list of sentences, each "
                "a list of words."
            )
        counts = Counter()
        for i, sentence in enumerate(sentences):
            counts.update(_word_list(f"{name}: sentence {i}", sentence))
        words = [w for w, n in counts.items() if n >= min_count and w not in SPECIAL]
        if not words:
            raise ValueError(
                f"{name}: no word occurs {min_count} times or more; the most frequent "
                f"one occurs {max(counts.values(), default=0)} times."
            )
        words.sort(key=lambda word: (-counts[word], word))
        return cls(words)

    def __len__(self):
        """Return the number of ids, the special ones included."""
        return len(self._words)

    def __contains__(self, word):
        return word in self._ids

    def marked(self, words):
        """Return the words for a figure; "xyz <unk>" is a word without an id."""
        return [w if w in self else f"{w} {SPECIAL[UNK]}" for w in words]

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
        """Return the ids of a list of words, int64, without SOS and EOS.

        An unknown word becomes UNK; so does the word "<pad>".
        """
        sentence = _word_list("Vocabulary.encode: sentence", sentence)
        return np.array([self._ids.get(word, UNK) for word in sentence], np.int64)

    def decode(self, ids):
        """Return the words of ``ids`` up to the first EOS, without PAD and SOS."""
        words = []
        for i in ids:
            if i == EOS:
                break
            if not 0 <= i < len(self):
                raise ValueError(
                    f"Vocabulary.decode: ids holds {i}; expected 0 to {len(self) - 1}."
                )
            if i not in (PAD, SOS):
                words.append(self._words[i])
        return words

    def state_dict(self):
        """Return the state, of strings and lists, that ``from_state`` reads."""
        return {"format": FORMAT, "words": self.words}

    @classmethod
    def from_state(cls, state):
        """Return the vocabulary that ``state_dict`` describes."""
        format = state.get("format") if isinstance(state, dict) else None
        if format != FORMAT or not isinstance(state.get("words"), list):
            raise ValueError(
                f"Vocabulary.from_state: found the format {format!r}; expected what "
                f"state_dict returned, with format {FORMAT!r} and a list of words."
            )
        return cls(state["words"])


class Symbols:
    """An alphabet of single characters.

    characters    "abc…", each once
    description   the alphabet in messages, "a to z"; None lists the characters
    """

    def __init__(self, characters, description=None):
        self.characters = characters
        self.description = description or " ".join(characters)
        self._ids = {c: FIRST + i for i, c in enumerate(characters)}

    def __len__(self):
        """Return the number of ids, PAD, SOS and EOS included."""
        return FIRST + len(self.characters)

    def encode(self, text):
        """Return the ids of the characters of ``text``, int64."""
        for i, c in enumerate(text):
            if c not in self._ids:
                raise ValueError(
                    f"{c!r} at place {i} of {text!r} is not one of {self.description}."
                )
        return np.array([self._ids[c] for c in text], dtype=np.int64)

    def decode(self, ids):
        """Return the characters of ``ids`` up to the first EOS, without PAD and SOS."""
        characters = []
        for i in ids:
            if i == EOS:
                break
            if i >= FIRST:
                characters.append(self.characters[int(i) - FIRST])
        return "".join(characters)


def _word_list(name, words):
    """Return ``words`` as a list of strings; raise TypeError for a single string."""
    if isinstance(words, str) or not hasattr(words, "__iter__"):
        raise TypeError(
            f"{name} is {words!r}; expected a list of words, such as tokenize(text) "
            "returns."
        )
    words = list(words)
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"{name} holds {word!r}; expected words, each a str.")
    return words
