"""The experiments of lesson 13: translators, and a model that writes.

Which model translates best, and where does it look? The record of lesson 13.

    python -m lessons experiment 13

English to German, learned from 2000 pairs of sentences. The arms are a GRU with
additive attention, one with the general score, one without attention, and a
Transformer, of nearly equally many parameters. Three learning rates, five seeds. Some
17 minutes on two cores.

What does a small language model write, at which temperature? A record of lesson 13.

    python -m lessons experiment 13 writing

A Transformer reads 2000 English sentences of the grammar and learns each next word,
with three learning rates and five seeds. Then it writes sentences at several
temperatures. Beside it stands a table of word pairs: how often does which word follow
which? Some five minutes on two cores.
"""

import functools
from types import SimpleNamespace

import numpy as np

import minigrad as mg
from attention.app.experiments import scoring, translation
from attention.decoding.greedy import greedy
from attention.decoding.sampling import sample
from attention.metrics.bleu import corpus_bleu
from attention.tasks.batch import EOS, PAD, SOS
from attention.tasks.batching import Batches, in_order
from attention.tasks.grammar import generate
from attention.tasks.vocabulary import FIRST, Vocabulary
from attention.training import Run
from attention.transformer import (
    DecoderOnly,
    EncoderDecoder,
    EncoderDecoderConfig,
    TransformerConfig,
)
from lessons.classroom.records import one_of
from lessons.classroom.studies import study
from lessons.instrument.fair import Study
from lessons.instrument.translating import Translating, word_by_word
from minigrad import optim


class Transformer(EncoderDecoder):
    """An ``EncoderDecoder`` with the method of a ``Seq2Seq`` that computes its loss."""

    def forced(self, source, target_in, lengths):
        logits = self(source, target_in, lengths)
        return SimpleNamespace(logits=logits, coverages=None)


class Models(Translating):
    """A comparison of translators of the same sentences, by BLEU."""

    name, question = "models", "Which model translates best, and where does it look?"
    measure, resolution, ceiling = "BLEU", 2.0, 100.0
    arms = {
        "GRU": {"attention": "bahdanau"},
        "general": {"attention": "bahdanau", "score": "general"},
        "none": {"attention": "none", "hidden": 90},
        "Transformer": {},
    }
    options = {
        "pairs": 2000, "test": 300, "hidden": 64, "embedding": 32, "dropout": 0.2
    }  # fmt: skip
    blocks = {"width": 76, "heads": 4, "layers": 1, "hidden": 152, "dropout": 0.1}
    rates, every, budget = (1e-3, 3e-3, 9e-3), 200, 1600

    def build(self, arm, rate, seed):
        if arm != "Transformer":
            return super().build(arm, rate, seed)
        words = len(self.data.source), len(self.data.target)
        sizes = EncoderDecoderConfig(
            words[0], target_vocabulary=words[1], **self.blocks
        )
        model = Transformer(sizes, np.random.default_rng(seed))
        run = Run(model, optim.Adam(model.parameters(), lr=rate), clip=1.0)
        run.rng = np.random.default_rng(seed)  # the Transformer has one of its own
        return run

    def scores(self, model, pairs):
        """Return the scores of the translations; a Transformer has BLEU alone."""
        if not isinstance(model, Transformer):
            return super().scores(model, pairs)
        said, wanted = [], [list(pair.target) for pair in pairs]
        for batch in in_order(translation.ids_of(self.data, pairs), 100):
            out = greedy(model, batch.source, batch.lengths, 40)
            said += [self.data.target.decode(row[row > EOS]) for row in out.ids]
        found = {"bleu": {}, "said": said}
        for part, at in scoring.buckets([len(pair.source) for pair in pairs]).items():
            mine, right = ([each[i] for i in at] for each in (said, wanted))
            found["bleu"][part] = corpus_bleu(mine, right)
        return found

    def test(self, arm, model):
        """Return the scores, a translation, and the losses of seen and of unseen."""
        found = self.scores(model, self.data.test)
        said = " ".join(found.pop("said")[0])
        # the mean of all words, in nats
        losses = {
            part: translation.validation_loss(model, in_order(self.data.ids(part), 100))
            for part in ("train", "test")
        }
        return {"figure": self.figure_of(found), **found, "said": said, "loss": losses}


def without_training():
    """Return the reference of "said", and BLEU of a translator without training.

    word by word   for each word in its place, the target word that it was linked with
                   most often
    """
    data = Models().data
    wanted = [list(pair.target) for pair in data.test]
    linked = [(p.source, p.target, p.alignment) for p in data.train]
    words = word_by_word(linked, [pair.source for pair in data.test])
    return {
        "pairs": len(data.train), "sentences": len(wanted),
        "reference": " ".join(wanted[0]), "word by word": corpus_bleu(words, wanted),
    }  # fmt: skip


READ, ALL, WRITTEN = 2000, 30_000, 400
TEMPERATURES = (0.3, 0.7, 1.0, 1.5)


class Writing(Study):
    """A language model; the figure is the share of right sentences that it writes."""

    name, question = "model", "How many sentences of a language model are right?"
    measure, resolution = "share of right sentences at temperature 1", 0.02
    arms, rates = ("Transformer",), (1e-3, 3e-3, 9e-3)
    budget, every = 2000, 200

    @functools.cached_property
    def corpus(self):
        """All sentences of the grammar; the model reads the first READ of them."""
        return sentences()[WRITTEN:]

    @functools.cached_property
    def known(self):
        return set().union(*map(runs_of_four, self.corpus))

    @functools.cached_property
    def vocabulary(self):
        return Vocabulary.build(self.corpus[:READ], 1)

    def batches(self, seed):
        """Batches of [(source, target)], with a source of one word that is not read."""
        ids = [([FIRST], self.vocabulary.encode(w)) for w in self.corpus[:READ]]
        return Batches(ids, 50, seed)

    def model(self, arm, rng):
        sizes = TransformerConfig(len(self.vocabulary), width=48, heads=4, layers=2)
        return DecoderOnly(sizes, rng)

    def loss_at(self, arm, run, seed, step):
        batch = run.batches[step]
        logits = run.model(batch.target_in)
        return mg.cross_entropy(logits, batch.target_out, ignore_index=PAD)

    def validate(self, arm, model):
        return self.judged(self.write(model, 1.0, 1))["right"]

    def watch(self, arm, model):
        """Return the share of sentences that are right and were not read."""
        return {"new": self.judged(self.write(model, 1.0, 1))["new"]}

    def test(self, arm, model):
        """Return {"figure", "by temperature": {temperature: what it writes}}."""
        found = {}
        for temperature in TEMPERATURES:
            said = self.write(model, temperature, 2)
            first = [" ".join(words) for words in said[:4]]
            found[str(temperature)] = {**self.judged(said), "said": first}
        return {"figure": found["1.0"]["right"], "by temperature": found}

    def write(self, model, temperature, seed):
        prompt, rng = np.full((WRITTEN, 1), SOS), np.random.default_rng([3, seed])
        found = sample(model, prompt, None, 30, temperature=temperature, rng=rng)
        return [self.vocabulary.decode(row[row >= FIRST]) for row in found.ids]

    def judged(self, said):
        """Return shares of sentences: right, new, different.

        A sentence is right if the grammar has all its runs of four words. It is new if
        it is right and was not read.
        """
        read = set(map(tuple, self.corpus[:READ]))
        right = [runs_of_four(words) <= self.known for words in said]
        copied = [tuple(words) in read for words in said]
        return {
            "right": float(np.mean(right)),
            "new": float(np.mean([a and not b for a, b in zip(right, copied)])),
            "different": len(set(map(tuple, said))) / len(said),
        }  # fmt: skip


@functools.cache
def sentences():
    """Return sentences of the grammar: WRITTEN to compare with, then the corpus."""
    return [pair.source for pair in generate("english-german", ALL, seed=5)]


def runs_of_four(words):
    words = ("(", *words, ")")  # the beginning and the end count
    return set(zip(words, words[1:], words[2:], words[3:]))


def chained(sentences, rng):
    """Sentences of a table of word pairs: each word is drawn by the word before it."""
    after = {}
    for words in sentences:
        for a, b in zip(("(", *words), (*words, ")")):
            after.setdefault(a, []).append(b)
    found = []
    for _ in range(WRITTEN):
        words = ["("]
        while words[-1] != ")" and len(words) < 30:
            words.append(after[words[-1]][rng.integers(len(after[words[-1]]))])
        found.append(words[1:-1] if words[-1] == ")" else words[1:])
    return found


def written_without():
    """Return what the grammar itself writes, and what a table of word pairs does."""
    task, pairs = Writing(), []
    for seed in task.seeds:
        said = chained(task.corpus[:READ], np.random.default_rng([seed, 2]))
        pairs.append(task.judged(said) | {"said": [" ".join(w) for w in said[:2]]})
    return {
        "grammar": task.judged(sentences()[:WRITTEN]), "pairs": pairs, "read": READ
    }  # fmt: skip


if __name__ == "__main__":
    one_of(
        experiment=lambda: study("translation", [Models()], without_training),
        writing=lambda: study("writing", [Writing()], written_without),
    )
