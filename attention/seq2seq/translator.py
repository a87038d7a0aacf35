"""A model with its two vocabularies: from a sentence to a sentence, and to a file.

    translator = load("runs/translate/best.npz")
    found = translator.translate("the black cat sleeps .")
    found.text, found.weights

A file holds all of it: what the model is made of, its words, its parameters, and where
it comes from. In half precision it takes half the room; parameters of about 1 are then
off by 2^-11 at most, and it is for ``about`` to say what that does to the scores.
"""

from dataclasses import dataclass, field

import numpy as np

from minigrad import checkpoint

from ..tasks.vocabulary import Vocabulary
from ..tasks.words import detokenize, tokenize
from .beam import beam_search
from .config import Seq2SeqConfig
from .decoding import greedy
from .model import Seq2Seq

FORMAT = "translator"
PARTS = {  # of a state, and what each has to be
    "config": dict, "source": dict, "target": dict, "model": dict, "about": dict,
    "lower": bool, "characters": bool,
}  # fmt: skip


@dataclass
class Translation:
    """One sentence, translated."""

    source: list  # words, as they were read
    target: list  # words
    weights: np.ndarray | None  # (T, S): where each word looked; None without attention
    unknown: list  # those of source that are not in the vocabulary, each once
    between: str | None = None  # two words of the text; None: a space where English has

    @property
    def text(self):
        if self.between is not None:
            return self.between.join(self.target)
        return detokenize(self.target)


@dataclass
class Translator:
    """A Seq2Seq, the Vocabulary of either side, and how a text becomes words.

    lower        all in lower case
    about        a dict: where it comes from
    characters   each is a word of its own, and spaces are none, as in questions of
                 ``tasks/questions.py``
    """

    model: Seq2Seq
    source: Vocabulary
    target: Vocabulary
    lower: bool = True
    about: dict = field(default_factory=dict)
    characters: bool = False

    def words(self, text):
        """The words of a sentence as the vocabulary has them.

        "woman's" is cut into two where only these are known, not the whole.
        """
        if self.characters:
            return list("".join((text.lower() if self.lower else text).split()))
        found = []
        for word in tokenize(text.replace(" 's", "'s"), self.lower):
            stem = word[:-2]
            cut = word.endswith("'s") and word not in self.source
            known = cut and stem in self.source and "'s" in self.source
            found += [stem, "'s"] if known else [word]
        return found

    def translate(self, text, beam=4, max_length=None):
        """The translation of one sentence, a string: a ``Translation``.

        beam         beginnings that go on; 1 is greedy
        max_length   of the target; None: twice the source's and ten

        Where each character is a word, the text has spaces if the question has.

        Raises ValueError for a text without words.
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
        """[(ids without EOS, weights (T, S) or None)] of a list of ids of sources."""
        found = []
        for start in range(0, len(sources), size):
            batch = sources[start : start + size]
            lengths = np.array([len(ids) for ids in batch])
            wide = np.zeros((len(batch), lengths.max()), np.int64)
            for row, ids in zip(wide, batch):
                row[: len(ids)] = ids
            longest = max_length or 2 * int(lengths.max()) + 10
            if beam == 1:
                said = greedy(self.model, wide, lengths, longest)
            else:
                said = beam_search(self.model, wide, lengths, longest, beam)
            for b, ids in enumerate(said.ids):
                ids = np.array([i for i in ids[: said.lengths[b]] if i > 2], np.int64)
                weights = said.weights
                if weights is not None:
                    weights = weights[b, : len(ids), : lengths[b]]
                found.append((ids, weights))
        return found

    def state_dict(self, half=False):
        """All of it, for a checkpoint; half: parameters as float16."""
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
        """The translator that ``state_dict`` describes, in evaluation mode."""
        if not isinstance(state, dict) or state.get("format") != FORMAT:
            raise ValueError("This is no checkpoint of a translator.")
        state = {"characters": False, **state}  # older ones do not say
        for name, kind in PARTS.items():
            if name not in state:
                raise ValueError(
                    f"This checkpoint of a translator is incomplete: it has no {name}."
                )
            if type(state[name]) is not kind:
                raise ValueError(
                    f"In this checkpoint of a translator, {name} is {state[name]!r:.40}"
                    f"; expected a {kind.__name__}."
                )
        config = Seq2SeqConfig.from_dict(state["config"])
        model = Seq2Seq(config, np.random.default_rng(0))  # to be overwritten
        model.load_state_dict(state["model"])
        source, target = (Vocabulary.from_state(state[k]) for k in ("source", "target"))
        for side, size in (
            (source, config.source_vocabulary), (target, config.target_vocabulary)
        ):  # fmt: skip
            if len(side) != size:
                raise ValueError(
                    f"This checkpoint of a translator has {len(side)} words where its "
                    f"model has {size}."
                )
        rest = state["lower"], state["about"], state["characters"]
        return cls(model.eval(), source, target, *rest)


def save(path, translator, half=False):
    """Write a translator to ``path``, .npz or .safetensors, whole or not at all."""
    checkpoint.save(path, translator.state_dict(half))


def load(path):
    """The translator that ``save`` wrote.

    Raises FileNotFoundError and ValueError, each in a sentence.
    """
    state = checkpoint.load(path)
    try:
        return Translator.from_state(state)
    except (ValueError, KeyError, TypeError) as problem:
        raise ValueError(f"{path} cannot be used: {problem}") from None
