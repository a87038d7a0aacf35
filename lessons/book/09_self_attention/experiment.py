"""Does "it" find the noun that it means? A record of lesson 09.

    python -m lessons experiment 9

Small models read sentences such as "yesterday the animal did not cross the old street
because it was too tired ." and name the noun that "it" means. Where "it" looks is
measured: in Transformers of two blocks and of one, in one whose answer is read at the
full stop, and before the training. A GRU of equal size answers, too. Three learning
rates, five seeds. Some 5 minutes on two cores.
"""

import functools
from importlib import import_module
from typing import NamedTuple

import numpy as np

import minigrad as mg
from attention.tasks.vocabulary import Vocabulary
from attention.transformer import TransformerConfig
from lessons.classroom.studies import study
from lessons.instrument.fair import Study
from minigrad import nn

Transformer = import_module("lessons.book.10_heads.experiment").Transformer
KINDS = (  # nouns of a kind, and what is said of them and of no other kind
    ("animal dog horse child bird goat", "tired hungry thirsty afraid sleepy ill"),
    ("street river bridge road tunnel path", "wide narrow flooded steep closed muddy"),
    ("car clock radio phone lamp engine", "broken rusty loud electric noisy digital"),
    ("soup bread cake salad stew pie", "salty sweet burnt stale raw sour"),
)
KINDS = [(nouns.split(), adjectives.split()) for nouns, adjectives in KINDS]
VERBS = ("cross", "reach", "like", "find", "notice", "see")
SIZES = {"training": 20_000, "validation": 300, "test": 600}
EXTRA = 3  # of the five words that a sentence may have or not
WIDTH, HEADS = 32, 4
EXAMPLE = "yesterday the animal did not cross the old street because it was too {} ."


def part_of(noun, adjective):
    """Return where this noun and adjective of a kind may be together, by number.

    A sixth of the pairs of a kind is in each of the test and the validation, and
    nowhere else, so a model cannot know them by heart.
    """
    return {0: "test", 3: "validation"}.get((noun + adjective) % 6, "training")


def sentence(rng, part, first):
    """Return the words of a sentence, the noun that is meant, and the other noun.

    first   whether "it" means the first of the two nouns
    """
    kinds, (meant, other) = rng.permutation(len(KINDS))[:2], rng.integers(6, size=2)
    fit = [j for j in range(6) if part_of(meant, j) == part]
    adjective = KINDS[kinds[0]][1][rng.choice(fit)]
    nouns = KINDS[kinds[0]][0][meant], KINDS[kinds[1]][0][other]
    one, two = nouns if first else nouns[::-1]
    text = f"yesterday? the small? {one} did not {rng.choice(VERBS)} the old? {two} "
    text += f"again? because it was too? {adjective} ."
    words = text.split()
    extra = [t for t, word in enumerate(words) if word.endswith("?")]
    left_out = rng.permutation(extra)[EXTRA:]
    words = [word.strip("?") for t, word in enumerate(words) if t not in left_out]
    return words, *nouns


class Sentences(NamedTuple):
    """ids (n, T); of each sentence (n,): the answer and the places of three words."""

    ids: np.ndarray
    it: np.ndarray
    answer: np.ndarray
    meant: np.ndarray
    other: np.ndarray


@functools.cache
def vocabulary():
    """Return all words. Each has an id."""
    text = "yesterday the small did not old again because it was too .".split()
    return Vocabulary.build([text, VERBS, *(words for kind in KINDS for words in kind)])


@functools.cache
def sentences(part):
    """Return ``Sentences``; "it" means each of the two nouns in one half of them."""
    rng = np.random.default_rng([*SIZES].index(part))
    return encoded([sentence(rng, part, k % 2 == 0) for k in range(SIZES[part])])


def examples():
    """Return the sentence of the lesson with each of its two endings."""
    tired, wide = (EXAMPLE.format(adjective).split() for adjective in ("tired", "wide"))
    return encoded([(tired, "animal", "street"), (wide, "street", "animal")])


def encoded(drawn):
    """Return ``Sentences`` of [(words, noun that is meant, other noun)]."""
    ids = np.array([vocabulary().encode(words) for words, *_ in drawn])
    places = [[words.index(w) for w in ("it", *nouns)] for words, *nouns in drawn]
    it, meant, other = np.transpose(places)
    return Sentences(ids, it, ids[np.arange(len(ids)), meant], meant, other)


class Reader(Transformer):
    """A Transformer: ids (B, T), places of "it" (B,)  ->  logits of the noun (B, V)

    Its attentions may have a mask (B, 1, T, T), True = may attend.
    """

    mask = None
    later = False  # whether the answer is read at the full stop

    def forward(self, ids, it):
        place = ids.shape[1] - 1 if self.later else it
        return super().forward(ids)[np.arange(len(it)), place]

    def attend(self, attention, x):
        if self.mask is None:
            return super().attend(attention, x)
        return attention(x, mask=self.mask)


class Recurrent(nn.Module):
    """Two layers of GRUs, in both directions, with the arguments of ``Reader``."""

    def __init__(self, width, rng):
        V = len(vocabulary())
        self.embedding = nn.Embedding(V, width, rng=rng)
        options = {"num_layers": 2, "bidirectional": True, "rng": rng}
        self.gru = nn.GRU(width, width // 2, **options)
        self.output = nn.Linear(width, V, rng=rng)

    def forward(self, ids, it):
        h, _ = self.gru(self.embedding(ids))
        return self.output(h)[np.arange(len(it)), it]


class Pronouns(Study):
    """Transformers and a GRU name the noun that "it" means."""

    name, question = "models", 'Does "it" find the noun that it means?'
    measure = "share of right nouns, with pairs of noun and adjective that are new"
    arms = ("two blocks", "one block", "read later", "GRU")
    rates, budget, every = (1e-3, 2e-3, 4e-3), 1600, 100
    chance = 1 / sum(len(nouns) for nouns, _ in KINDS)
    trivial = 1 / 2  # one of the two nouns of the sentence

    def model(self, arm, rng):
        if arm == "GRU":
            return Recurrent(50, rng)  # as many parameters as two blocks
        layers = 1 if arm == "one block" else 2
        config = TransformerConfig(
            len(vocabulary()), width=WIDTH, heads=HEADS, layers=layers
        )
        model = Reader(config, rng=rng)
        model.later = arm == "read later"
        return model

    def draw(self, n, *key):
        rows = np.random.default_rng(key).integers(SIZES["training"], size=n)
        return [x[rows] for x in sentences("training")[:3]]

    @functools.cached_property
    def held(self):
        return [sentences(part)[:3] for part in ("validation", "test")]

    def test(self, arm, model):
        """Return the share of right nouns; of a Transformer also where "it" looks."""
        found = super().test(arm, model)
        if arm == "GRU":
            return found
        hidden = {noun: self.without(model, noun) for noun in ("meant", "other")}
        return found | {"looks": looks(model), "hidden": hidden}

    def without(self, model, noun):
        """Return the figure if "it" may not attend to one of the two nouns.

        The noun, "meant" or "other", is hidden from "it" in all blocks and heads, and
        from no other word.
        """
        batch = sentences("test")
        n, T = batch.ids.shape
        model.mask = np.ones((n, 1, T, T), bool)
        model.mask[np.arange(n), 0, batch.it, getattr(batch, noun)] = False
        share = self.figure(model, *self.held[1])
        model.mask = None
        return share


def weights_of_it(model, batch):
    """Return the weights of "it", (blocks, heads, n, T)."""
    model(batch.ids, batch.it)
    rows = np.arange(len(batch.it))
    return np.stack([p[rows, :, batch.it].swapaxes(0, 1) for p in model.weights])


def weights_on(model, part):
    """Return the mean weights of "it" on the two nouns, (blocks, heads) each."""
    batch = sentences(part)
    p, rows = weights_of_it(model, batch), np.arange(len(batch.it))
    return [p[:, :, rows, noun].mean(-1) for noun in (batch.meant, batch.other)]


def looks(model):
    """Return the mean weight of "it" on each noun in the test, and in the examples.

    They are those of one head: in the sentences for validation it has the largest
    weight on the noun that is meant, minus that on the other noun.
    """
    meant, other = weights_on(model, "validation")
    head = np.unravel_index((meant - other).argmax(), meant.shape)
    meant, other = (float(p[head]) for p in weights_on(model, "test"))
    by_hand = weights_of_it(model, examples())[head]  # (2, T)
    in_examples = by_hand.astype(float).round(4).tolist()
    return {"meant": meant, "other": other, "examples": in_examples}


def before_training():
    """Return the example, and where "it" looks in each model before its training."""
    c, rngs = Pronouns(), map(np.random.default_rng, Pronouns.seeds)
    with mg.no_grad():
        untrained = [looks(c.model("two blocks", rng).eval()) for rng in rngs]
    return {"example": EXAMPLE, "untrained": untrained}


if __name__ == "__main__":
    study("pronouns", [Pronouns()], before_training)
