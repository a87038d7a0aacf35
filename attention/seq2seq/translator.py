"""A translator: a model and its two vocabularies, saved in one file.

    translator = load("runs/translate/best.safetensors")
    found = translator.translate("the black cat sleeps .")
    found.text, found.weights

The file holds the config, the words, the parameters, and their origin. In half
precision it has half the size; a parameter between 1 and 2 then changes by 2^-11 at
most. ``about`` may say how this changes the scores.
"""

from dataclasses import dataclass, field

import numpy as np

from minigrad import checkpoint

from ..decoding.beam import beam_search
from ..decoding.greedy import greedy
from ..tasks.batch import pad
from ..tasks.vocabulary import FIRST, Vocabulary
from ..tasks.words import detokenize, tokenize, without_format
from .config import Seq2SeqConfig
from .model import Seq2Seq

FORMAT = "translator"
PARTS = {  # of a state, with their types
    "config": dict, "source": dict, "target": dict, "model": dict, "about": dict,
    "lower": bool, "characters": bool,
}  # fmt: skip


@dataclass
class Translation:
    """One sentence, translated."""

    source: list  # words, as they were read
    target: list  # words
    weights: np.ndarray | None  # (T, S), None without attention
    unknown: list  # words of source outside the vocabulary, each once
    between: str | None = None  # between two words; None: a space where English has it

    @property
    def text(self):
        """The translation as a string."""
        if self.between is not None:
            return self.between.join(self.target)
        return detokenize(self.target)


@dataclass
class Translator:
    """A Seq2Seq, the Vocabulary of either side, and the rules that split a text.

    lower        True: all in lower case
    about        a dict: the origin of the model
    characters   True: each character but spaces is a word, as in the questions of
                 ``tasks/questions.py``
    """

    model: Seq2Seq
    source: Vocabulary
    target: Vocabulary
    lower: bool = True
    about: dict = field(default_factory=dict)
    characters: bool = False

    def words(self, text):
        """Return the words of a sentence in the form of the vocabulary.

        "woman's" becomes two words if the vocabulary has "woman" and "'s", but not
        "woman's".
        """
        text = without_format(text)
        if self.characters:
            return list("".join((text.lower() if self.lower else text).split()))
        found = []
        for word in tokenize(text.replace(" 's", "'s"), self.lower):
            stem = word[:-2]
            cut = word.endswith("'s") and word not in self.source
            known = cut and stem in self.source and "'s" in self.source
            found += [stem, "'s"] if known else [word]
        return found

    def translate(self, text, beam=1, max_length=None):
        """Return the ``Translation`` of one sentence, a string.

        beam         the number of prefixes of the beam search; 1 is greedy
        max_length   the largest number of tokens of the translation, with EOS; None:
                     10 more than twice the length of the source

        If each character is a word, a question with spaces between all characters gets
        an answer with spaces.
        """
        words = self.words(text)
        if not words:
            raise ValueError("There is no word to translate in this sentence.")
        ids, weights = self.decode([self.source.encode(words)], beam, max_length)[0]
        unknown = [w for w in dict.fromkeys(words) if w not in self.source]
        between = None
        if self.characters:
            between = " " * (len(text.split()) == len(words) > 1)
        return Translation(words, self.target.decode(ids), weights, unknown, between)

    def decode(self, sources, beam=1, max_length=None, size=100):
        """Return [(ids without EOS, weights (T, S) or None)] for a list of sources."""
        found = []
        for start in range(0, len(sources), size):
            batch, lengths = pad(sources[start : start + size])
            longest = max_length or 2 * int(lengths.max()) + 10
            if beam == 1:
                decoded = greedy(self.model, batch, lengths, longest)
            else:
                decoded = beam_search(self.model, batch, lengths, longest, beam)
            for b, row in enumerate(decoded.ids):
                ids = np.array([i for i in row if i >= FIRST], np.int64)
                weights = decoded.weights
                if weights is not None:
                    weights = weights[b, : len(ids), : lengths[b]]
                found.append((ids, weights))
        return found

    def state_dict(self, half=False):
        """Return everything, for a checkpoint; half: parameters as float16."""
        parameters = self.model.state_dict()
        if half:
            parameters = {k: v.astype(np.float16) for k, v in parameters.items()}
        return {
            "format": FORMAT,
            "config": self.model.config.to_dict(),
            "source": self.source.state_dict(),
            "target": self.target.state_dict(),
            "lower": self.lower,
            "about": self.about,
            "characters": self.characters,
            "model": parameters,
        }

    @classmethod
    def from_state(cls, state):
        """Return the translator that ``state_dict`` describes, in evaluation mode."""
        if not isinstance(state, dict) or state.get("format") != FORMAT:
            raise ValueError("This is no checkpoint of a translator.")
        state = {"characters": False, **state}  # older checkpoints lack it
        for name, kind in PARTS.items():
            if type(state.get(name)) is not kind:
                raise ValueError(
                    f"In this checkpoint of a translator, {name} is "
                    f"{state.get(name)!r:.40}; expected a {kind.__name__}."
                )
        config = Seq2SeqConfig.from_dict(state["config"])
        _check_size(config, state["model"])
        model = Seq2Seq(config, np.random.default_rng(0))  # overwritten below
        model.load_state_dict(state["model"])
        source, target = (Vocabulary.from_state(state[k]) for k in ("source", "target"))
        sizes = config.source_vocabulary, config.target_vocabulary
        if (len(source), len(target)) != sizes:
            raise ValueError(
                f"This checkpoint of a translator has {len(source)} and {len(target)} "
                f"words where its model has {sizes[0]} and {sizes[1]}."
            )
        options = {name: state[name] for name in ("lower", "about", "characters")}
        return cls(model.eval(), source, target, **options)


def save(path, translator, half=False):
    """Write a translator to ``path``, a .safetensors file."""
    checkpoint.save(path, translator.state_dict(half))


def load(path):
    """Return the translator that ``save`` wrote."""
    state = checkpoint.load(path)
    try:
        return Translator.from_state(state)
    except (ValueError, KeyError, TypeError) as problem:
        raise ValueError(f"{path} cannot be used: {problem}") from None


def _check_size(config, arrays):
    """Raise ValueError if the model of a config has more parameters than its file.

    Called before the model is built, this saves the memory for a wrong config.
    """
    words = config.source_vocabulary + config.target_vocabulary
    fewest = words * config.embedding + 6 * config.layers * config.hidden**2
    found = sum(np.size(array) for array in arrays.values())
    if found < fewest:
        raise ValueError(
            f"its config needs at least {fewest} parameters; found {found}."
        )
