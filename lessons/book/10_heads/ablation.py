"""What do the heads of a language model look at, and which of them matter?

    python lessons/book/10_heads/ablation.py

A model of four blocks with four heads learns to continue sentences of the course's
English grammar, with six seeds and the best of three learning rates, until it has
learned what it can. Then each head is removed in turn, by a zero in W_o in place of its
columns, and the loss is measured again. A record of lesson 10; some 4 minutes on two
cores.
"""

import collections
import functools
import os
import pathlib
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # each process; NumPy reads this once
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from importlib import import_module

import numpy as np

import minigrad as mg
from attention.app.experiments.fair import Comparison
from attention.exact.multihead import heads
from attention.metrics import attention_entropy, self_attention_pattern
from attention.tasks.batch import EOS, PAD, SOS
from attention.tasks.batching import pad
from attention.tasks.grammar import generate
from attention.tasks.vocabulary import Vocabulary
from attention.training import Run
from attention.transformer import TransformerConfig
from lessons.classroom.studies import study

Transformer = import_module("lessons.book.10_heads.small").Transformer
LAYERS, HEADS, WIDTH = 4, 4, 64
SENTENCES, TEST = 20_000, 200
EXAMPLE = "if the small children have visited us , he can play ."


@functools.cache
def corpus():
    """Return ids (n, T), padded, to test, to validate and to train; and the words."""
    sentences = [pair.source for pair in generate("english-german", SENTENCES)]
    words = Vocabulary.build([list(each) for each in sentences])
    rows = [[SOS, *words.encode(each), EOS] for each in sentences]
    parts = rows[:TEST], rows[TEST : 2 * TEST], rows[2 * TEST :]
    return *(pad(part)[0] for part in parts), words


def loss_of(model, ids):
    """Return the mean cross-entropy of each next word; padding does not count."""
    return mg.cross_entropy(model(ids[:, :-1]), ids[:, 1:], ignore_index=PAD)


def counted_loss(after):
    """Return the loss of a table of probabilities, counted in the training sentences.

    after   the number of words before the next word that the table knows: 0 or 1
    """
    test, _, train, words = corpus()
    n = len(words)
    counts = np.full((n, n), 0.1)  # [word, next word]
    np.add.at(counts, (train[:, :-1], train[:, 1:]), 1)
    counts[:, PAD] = 0
    if after == 0:
        counts = counts[SOS + 1 :].sum(0) * np.ones((n, 1))
    p = counts / counts.sum(1, keepdims=True)
    x, y = test[:, :-1], test[:, 1:]
    return float(-np.log(p[x, y][y != PAD]).mean())


class Sentences(Comparison):
    """One arm: what its heads do."""

    name, question = "models", "What do the heads of a language model look at?"
    measure = "minus the mean loss of a next word"
    arms, rates = ("whole",), (1e-3, 2e-3, 4e-3)
    seeds = (1, 2, 3, 4, 5, 6)
    every, budget = 50, 2000

    @functools.cached_property
    def chance(self):
        """The figure of a model that takes all words for equally frequent."""
        return -float(np.log(len(corpus()[-1])))

    @functools.cached_property
    def trivial(self):
        """The figure of a table that knows which word follows which, and how often."""
        return -counted_loss(after=1)

    def model(self, seed):
        """Return a model before its training."""
        words = corpus()[-1]
        config = TransformerConfig(len(words), width=WIDTH, heads=HEADS, layers=LAYERS)
        model = Transformer(config, causal=True, rng=np.random.default_rng(seed))
        model.seed = seed
        return model

    def build(self, arm, rate, seed):
        model = self.model(seed)
        return Run(model, mg.optim.Adam(model.parameters(), lr=rate))

    def loss_at(self, arm, run, seed, step):
        _, _, train, _ = corpus()
        batch = train[np.random.default_rng([seed, step]).integers(len(train), size=32)]
        longest = (batch != PAD).sum(1).max()
        return loss_of(run.model, batch[:, :longest])

    def validate(self, arm, model):
        with mg.no_grad():
            return -loss_of(model, corpus()[1]).item()

    def test(self, arm, model):
        """Return the loss and what each head does; the first seed's on a sentence."""
        ids, *_, words = corpus()
        with mg.no_grad():
            loss = loss_of(model, ids).item()
            seen, size = looks(model, ids), sizes(model)
            without = removed(model, ids)
            found = {"figure": -loss, "heads": seen}
            for head, length, each in zip(seen, size.ravel(), without.ravel()):
                head |= {"size": float(length), "rise": float(each - loss)}
            if model.seed == self.seeds[0]:
                model(np.array([[SOS, *words.encode(EXAMPLE.split())]]))
                found["example"] = [p[0].round(3).tolist() for p in model.weights]
        return found


def looks(model, ids):
    """Return what each head does in its last call: a dict for each."""
    return [
        {"layer": layer, "head": head} | look(p[:, head], ids)
        for layer, p in enumerate(model.weights)
        for head in range(HEADS)
    ]


def look(p, ids):
    """Return what a head does, from its weights p (n, T, T); means over all queries.

    The first query has one key only, so that it does not count, nor does padding.
    "patterns" counts the sentences of each pattern, if they have 8 words or more.
    """
    T = p.shape[-1]
    i, j = np.indices((T, T))
    counted = (ids[:, :-1] != PAD) & (np.arange(T) > 0)  # (n, T)
    shares = {
        "itself": (p * (i == j)).sum(-1),
        "previous": (p * (i - j == 1)).sum(-1),
        "first": (p * (j == 0)).sum(-1),
        "near": (p * (i - j <= 2)).sum(-1),
        "largest": p.max(-1),
        "entropy": attention_entropy(p) / np.log(np.arange(1, T + 1).clip(2)),
    }
    found = {name: float(share[counted].mean()) for name, share in shares.items()}
    lengths = (ids[:, :-1] != PAD).sum(1)
    names = collections.Counter(
        self_attention_pattern(w[:n, :n], np.tri(n, dtype=bool))
        for w, n in zip(p, lengths)
        if n >= 8
    )
    return found | {"patterns": dict(names)}


def sizes(model):
    """Return the mean length of what each head adds to a word: (LAYERS, HEADS)."""
    E, found = WIDTH // HEADS, []
    for attention, x, p in zip(model.attentions, model.inputs, model.weights):
        v = heads(attention.W_v, mg.Tensor(x), HEADS).data  # (n, H, T, E)
        W = attention.W_o.weight.data.reshape(WIDTH, HEADS, E)  # of the columns
        parts = np.einsum("nhte,dhe->nhtd", p @ v, W)
        found.append(np.linalg.norm(parts, axis=-1).mean((0, 2)))
    return np.array(found)


def removed(model, ids):
    """Return the loss without each head: (LAYERS, HEADS)."""
    E, losses = WIDTH // HEADS, []
    for attention in model.attentions:
        W = attention.W_o.weight
        whole = W.data.copy()  # (D, H E)
        for head in range(HEADS):
            without = whole.copy()
            without[:, head * E : (head + 1) * E] = 0
            W.data = without
            losses.append(loss_of(model, ids).item())
        W.data = whole
    return np.reshape(losses, (LAYERS, HEADS))


def before_training():
    """Return the settings, the losses of counted tables, and heads at random."""
    study, untrained = Sentences(), []
    ids = corpus()[0]
    for seed in study.seeds:
        model = study.model(seed).eval()
        with mg.no_grad():
            loss_of(model, ids)
        untrained.append(looks(model, ids))
    return {
        "layers": LAYERS, "heads": HEADS, "sentence": EXAMPLE,
        "counted": {"words": counted_loss(0), "pairs": counted_loss(1)},
        "untrained": untrained,
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(study("heads", [Sentences()], __file__, before_training))
