"""Which model translates best, and where? The record of lesson 13.

    python -m lessons experiment 13

English to German, four learning rates and five seeds, until a plateau. With 2000
pairs: a GRU with attention and without, and a Transformer, of nearly equally many
parameters. With 500 pairs: one model with each of three scores in Bahdanau's order,
with two of them in Luong's, and without attention. Half an hour on two cores.
"""

from collections import Counter

import numpy as np

import minigrad as mg
from attention.app.experiments import scoring, translation
from attention.decoding.beam import beam_search
from attention.decoding.greedy import greedy
from attention.metrics.bleu import corpus_bleu
from attention.tasks.batch import EOS, PAD
from attention.tasks.batching import in_order
from attention.training import Run
from attention.transformer import EncoderDecoder, EncoderDecoderConfig
from lessons.classroom.studies import study
from lessons.instrument.translating import Translating
from minigrad import optim

ORDERS = {"bahdanau": ("additive", "dot", "general"), "luong": ("additive", "dot")}
BEAMS = (1, 4)


class Sentences(Translating):
    """A comparison of translators of the same sentences, by BLEU."""

    measure, resolution = "BLEU", 1.0
    sizes = {"test": 400, "hidden": 64, "embedding": 32}

    def test(self, arm, model):
        """Return the scores, four translations, and the losses of seen and unseen."""
        found = self.scores(model, self.data.test)
        said = [" ".join(words) for words in found.pop("said")[:4]]
        losses = {part: self.loss(model, part) for part in ("train", "test")}
        return {"figure": self.figure_of(found), **found, "said": said, "loss": losses}

    def loss(self, model, part):
        """Return the mean loss of all words of a part of the data, in nats."""
        return translation.validation_loss(model, in_order(self.data.ids(part), 100))


class Models(Sentences):
    """2000 pairs, and an encoder of two directions."""

    name, question = "2000", "Does a Transformer translate better, with 2000 pairs?"
    arms = {
        "GRU": {"attention": "bahdanau"},
        "none": {"attention": "none", "hidden": 90},
        "Transformer": {},
    }
    options = {**Sentences.sizes, "pairs": 2000, "dropout": 0.2}
    blocks = {"width": 56, "heads": 4, "layers": 2, "hidden": 112, "dropout": 0.1}
    rates, every, budget = (5e-4, 2e-3, 8e-3, 32e-3), 50, 4800

    def build(self, arm, rate, seed):
        if arm != "Transformer":
            return super().build(arm, rate, seed)
        words = len(self.data.source), len(self.data.target)
        sizes = EncoderDecoderConfig(
            words[0], target_vocabulary=words[1], **self.blocks
        )
        model = EncoderDecoder(sizes, np.random.default_rng(seed))
        return Run(model, optim.Adam(model.parameters(), lr=rate), clip=1.0)

    def loss_at(self, arm, run, seed, step):
        if arm != "Transformer":
            return super().loss_at(arm, run, seed, step)
        return loss_of(run.model, run.batches[step])

    def loss(self, model, part):
        if not isinstance(model, EncoderDecoder):
            return super().loss(model, part)
        with mg.no_grad():
            batches = list(in_order(self.data.ids(part), 100))
            losses = [loss_of(model, batch).item() for batch in batches]
        words = [batch.target_lengths.sum() for batch in batches]
        return float(np.average(losses, weights=words))

    def scores(self, model, pairs):
        if not isinstance(model, EncoderDecoder):
            return super().scores(model, pairs)
        said, wanted = [], [list(pair.target) for pair in pairs]
        for batch in in_order(translation.ids_of(self.data, pairs), 100):
            rows = greedy(model, batch.source, batch.lengths, 40).ids
            said += [self.data.target.decode(row[row > EOS]) for row in rows]
        found = {"bleu": {}, "said": said}
        for part, at in scoring.buckets([len(pair.source) for pair in pairs]).items():
            mine, right = ([each[i] for i in at] for each in (said, wanted))
            found["bleu"][part] = corpus_bleu(mine, right)
        return found


class Scores(Sentences):
    """500 pairs, and an encoder of one direction, because dot needs equal widths."""

    name, question = "500", "Which score translates best, with 500 pairs?"
    arms = {
        f"{order}, {score}": {"attention": order, "score": score}
        for order, scores in ORDERS.items()
        for score in scores
    } | {"none": {"attention": "none", "hidden": 84}}
    options = {
        **Sentences.sizes, "pairs": 500, "dropout": 0.3, "bidirectional": False
    }  # fmt: skip
    rates, every = (1e-3, 2.5e-3, 6e-3, 15e-3), 100
    budget = least = 10_000  # a slow rise looks like a plateau in a short curve

    def test(self, arm, model):
        return {**super().test(arm, model), "beams": self.beams(model)}

    def beams(self, model):
        """Return {K: BLEU, and the mean ln P, of what a beam of K finds}."""
        found, wanted = {}, [list(pair.target) for pair in self.data.test]
        for K in BEAMS:
            said, logp = [], []
            for batch in in_order(self.data.ids("test"), 100):
                out = beam_search(model, batch.source, batch.lengths, 40, K)
                said += [self.data.target.decode(row[row > EOS]) for row in out.ids]
                logp += list(out.scores)
            found[str(K)] = {
                "bleu": corpus_bleu(said, wanted), "ln P": float(np.mean(logp))
            }  # fmt: skip
        return found


def loss_of(model, batch):
    """Return the mean cross-entropy of the target words of a Transformer, in nats."""
    logits = model(batch.source, batch.target_in, batch.lengths)
    return mg.cross_entropy(logits, batch.target_out, ignore_index=PAD)


def baselines():
    """Return BLEU of two translators that are not trained, for each number of pairs.

    any            some German sentence of the training, whatever the source is
    word by word   for each word in its place, the target word that it was linked with
                   most often
    """
    found = {}
    for each in (Models(), Scores()):
        wanted = [list(pair.target) for pair in each.data.test]
        some = [list(pair.target) for pair in each.data.train[: len(wanted)]]
        linked = {}
        for pair in each.data.train:
            for t, s in pair.alignment:
                linked.setdefault(pair.source[s], Counter())[pair.target[t]] += 1
        words = [
            [linked[w].most_common(1)[0][0] for w in pair.source if w in linked]
            for pair in each.data.test
        ]
        found[each.name] = {
            "any": corpus_bleu(some, wanted), "word by word": corpus_bleu(words, wanted)
        }  # fmt: skip
    return {"baselines": found}


if __name__ == "__main__":
    study("translation", [Models(), Scores()], baselines)
