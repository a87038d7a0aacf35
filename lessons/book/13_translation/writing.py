"""What does a small language model write, at which temperature? A record of lesson 13.

    python -m lessons experiment 13 writing

A Transformer reads 4000 English sentences of the grammar and learns each next word,
with four learning rates and five seeds, until it writes as well as it can. Then it
writes sentences at several temperatures. Beside it stands a table of word pairs: how
often does which word follow which? Three minutes on two cores.
"""

import functools

import numpy as np

import minigrad as mg
from attention.decoding.sampling import sample
from attention.tasks.batch import PAD, SOS
from attention.tasks.batching import Batches
from attention.tasks.grammar import generate
from attention.tasks.vocabulary import FIRST, Vocabulary
from attention.transformer import DecoderOnly, TransformerConfig
from lessons.classroom.studies import study
from lessons.instrument.fair import Study

READ, ALL, WRITTEN = 4000, 30_000, 400
TEMPERATURES = (0.3, 0.7, 1.0, 1.5)


class Writing(Study):
    """A language model; the figure is the share of right sentences that it writes."""

    name, question = "model", "How many sentences of a language model are right?"
    measure, resolution = "share of right sentences at temperature 1", 0.02
    arms, rates = ("Transformer",), (1e-3, 3e-3, 9e-3, 27e-3)
    budget = least = 4000  # the figure pauses at 1200 steps, and rises again
    every = 80

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
        """Return shares of sentences: right, read in training, new, different.

        A sentence is right if the grammar has all its runs of four words. It is new if
        it is right and was not read.
        """
        read = set(map(tuple, self.corpus[:READ]))
        right = [runs_of_four(words) <= self.known for words in said]
        copied = [tuple(words) in read for words in said]
        return {
            "right": float(np.mean(right)), "copied": float(np.mean(copied)),
            "new": float(np.mean([a and not b for a, b in zip(right, copied)])),
            "different": len(set(map(tuple, said))) / len(said),
            "words": float(np.mean([len(words) for words in said])),
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


def baselines():
    """Return what the grammar itself writes, and what a table of word pairs does."""
    task, pairs = Writing(), []
    for seed in task.seeds:
        said = chained(task.corpus[:READ], np.random.default_rng([seed, 2]))
        pairs.append(task.judged(said) | {"said": [" ".join(w) for w in said[:2]]})
    return {
        "grammar": task.judged(sentences()[:WRITTEN]), "pairs": pairs,
        "read": READ, "all": len(task.corpus), "written": WRITTEN,
        "words": len(task.vocabulary),
    }  # fmt: skip


if __name__ == "__main__":
    study("writing", [Writing()], baselines)
