"""The experiments of lesson 10: what Transformers need, and what their heads do.

A small Transformer that shows its weights is trained on a table of two entries by the
first two, and on sentences by the third.

What does a Transformer's block need in order to train? The record of lesson 10.

    python -m lessons experiment 10

Pre-norm blocks learn a table of two entries: of the token at a place and of the one
before it, y_t = F[x_t, x_(t-1)]. Whole, and without each of the four things that the
sidebar of section 6.4.4 calls necessary: two and four blocks, the best of three
learning rates (four without positions), five seeds, until they have learned what they
can. Some 12 minutes on two cores.

Does a Transformer train without the factor 1 / sqrt(d)? A record of lesson 10.

    python -m lessons experiment 10 scaling

Six blocks learn the same table, y_t = F[x_t, x_(t-1)], with scaled and
with unscaled scores: four learning rates, five seeds, until they have learned what they
can. A block has one head, so that d_k is the width, 64, as in Vaswani's model and in
BERT. Some 7 minutes on two cores.

What do the heads of a language model look at, and which of them matter?

    python -m lessons experiment 10 ablation

A model of four blocks with four heads learns to continue sentences of the course's
English grammar, with six seeds and the best of four learning rates, until it has
learned what it can. A phrase stands between half of the subjects and their verbs, so
that the model has to look back in order to write "see" or "sees":

    the women near the old dog see a child .

Then each head is removed in turn, by a zero in W_o in place of its columns, and the
loss is measured again, and how many verbs have the number of their subject. A record of
lesson 10; some 6 minutes on two cores.
"""

import collections
import functools
import math
from functools import partial
from typing import NamedTuple

import numpy as np

import minigrad as mg
from attention import MultiHeadAttention, sinusoidal
from attention.exact.multihead import heads
from attention.metrics.alignment import attention_entropy
from attention.tasks.batch import EOS, PAD, SOS
from attention.tasks.batching import pad
from attention.tasks.grammar import generate
from attention.tasks.grammar.lexicon_german import ADJECTIVES, NOUNS, SAYING, VERBS
from attention.tasks.vocabulary import Vocabulary
from attention.transformer import FeedForward, TransformerConfig
from lessons.classroom.records import one_of
from lessons.classroom.studies import study
from lessons.instrument.fair import Study
from lessons.instrument.patterns import self_attention_pattern
from minigrad import nn

V, T = 8, 8  # symbols, and places
TABLE = np.random.default_rng(42).integers(V, size=(V, V))  # F


def best_without_order():
    """Return the best share of right answers of a model that does not know the order.

    It knows its token, and which other seven there are. It gives the most frequent of
    their seven answers.
    """
    found = []
    for x in np.random.default_rng(0).integers(V, size=(500, T)):
        for t in range(T):
            answers = TABLE[x[t], np.delete(x, t)]  # (7,)
            found.append(np.bincount(answers).max() / len(answers))
    return float(np.mean(found))


class Transformer(nn.Module):
    """Pre-norm blocks: ids (B, T)  ->  logits (B, T, V).

    config    a ``TransformerConfig``
    causal    whether a token attends to itself and earlier tokens only
    scale     the factor of the scores; None is 1 / sqrt(width / heads)
    without   what is left out: "positions", "feed-forward", "residual", "norm"
    weights   of each attention in the last call, (B, H, T, T), in evaluation mode
    inputs    what each attention read in the last call, (B, T, D) each
    """

    def __init__(self, config, causal=False, scale=None, without="", rng=None):
        D, V = config.width, config.vocabulary
        self.causal, self.without = causal, without
        self.embedding = nn.Embedding(V, D, rng=rng)
        blocks = range(config.layers)
        self.attentions = [
            MultiHeadAttention(D, config.heads, scale=scale, rng=rng) for _ in blocks
        ]
        self.networks = [
            FeedForward(config, rng) for _ in blocks if without != "feed-forward"
        ]
        self.norms = [
            nn.LayerNorm(D) for _ in range(2 * config.layers + 1) if without != "norm"
        ]
        self.output = nn.Linear(D, V, rng=rng)
        self.weights, self.inputs = [], []

    def forward(self, ids):
        x, norms = self.embedding(ids), iter(self.norms)
        if self.without != "positions":
            x = x + math.sqrt(2) * sinusoidal(*x.shape[1:])
        self.weights, self.inputs = [], []
        for k, attention in enumerate(self.attentions):
            x = self.add(x, partial(self.attend, attention), norms)
            if self.networks:
                x = self.add(x, self.networks[k], norms)
        return self.output(next(norms)(x) if self.norms else x)

    def add(self, x, f, norms):
        """Return x + f(LN(x)), or without one of these two parts."""
        y = f(next(norms)(x) if self.norms else x)
        return y if self.without == "residual" else x + y

    def attend(self, attention, x):
        """Return the output of an attention; keep what it read, and its weights."""
        if self.training:
            return attention(x, is_causal=self.causal)
        y, weights = attention(x, is_causal=self.causal, need_weights=True)
        self.weights.append(weights.data)
        self.inputs.append(x.data)
        return y


def draw(n, *key):
    """Draw tokens x and answers y, both (n, T): y_t = F[x_t, x_(t-1)], in a ring."""
    x = np.random.default_rng(key).integers(V, size=(n, T))
    return x, TABLE[x, np.roll(x, 1, 1)]


class Table(Study):
    """Transformers that learn the table F.

    arms   {name: options of ``Transformer``}
    size   of all arms, for ``TransformerConfig``
    """

    rates, every, budget = (5e-4, 1e-3, 2e-3, 4e-3), 50, 2400
    chance, trivial = 1 / V, best_without_order()
    draw, batch = staticmethod(draw), 16
    held_out, held_keys = (200, 500), (1, 2)
    size = {}

    def model(self, arm, rng):
        config = TransformerConfig(V, **self.size)
        return Transformer(config, **self.arms[arm], rng=rng)

    def test(self, arm, model):
        """Return the share of right answers, and the mean entropy of the weights."""
        return super().test(arm, model) | {"entropy": entropy(model)}


def entropy(model):
    """Return the mean entropy of the weights; log(T) if all are equal."""
    x, _ = draw(100, 3)
    model(x)
    return float(np.mean([attention_entropy(p).mean() for p in model.weights]))


ARMS = {"nothing": {}} | {
    part: {"without": part} for part in ("feed-forward", "residual", "norm")
}
NO_ORDER = {"positions": {"without": "positions"}}
DEPTHS = 2, 4
SIZE = {"width": 32, "heads": 4}


def comparison(layers):
    """Return the study of blocks without each of the parts.

    Without the residual connection they take long.
    """
    return Table(
        f"{layers} blocks", f"What do {layers} blocks need?", arms=ARMS,
        size={**SIZE, "layers": layers}, rates=(5e-4, 1e-3, 2e-3), budget=12_000,
    )  # fmt: skip


def without_order():
    """Return the study of one arm: how near do blocks come to the bound?

    No model that does not know the order is better than ``best_without_order``.
    So its training may end there, where other models may begin to rise later.
    """
    return Table(
        "no positions", "What do blocks learn without positions?", arms=NO_ORDER,
        size={**SIZE, "layers": DEPTHS[-1]}, trivial=None,
    )  # fmt: skip


SCALES = {"scaled": {}, "unscaled": {"scale": 1.0}}
WIDE, DEEP = 64, 6


def scaled_or_not():
    """Return the study of scaled and unscaled blocks.

    Three seeds choose a rate, and show what each rate does.
    """
    return Table(
        f"{DEEP} blocks", f"Do {DEEP} blocks train without 1 / sqrt(d)?", arms=SCALES,
        size={"width": WIDE, "hidden": WIDE, "heads": 1, "layers": DEEP},
        choosing=(101, 102, 103),
    )  # fmt: skip


LAYERS, HEADS, WIDTH = 4, 4, 64
SENTENCES, TEST = 20_000, 1000
FEW = 200  # sentences, for what is slow
QUERIES = "before", "verb"  # places, from the word before the verb on
EXAMPLE = "if the small children near the dog have visited us , he can play ."

PLURAL = {noun.english: noun.plural for noun in NOUNS}
LIVING = [noun.english for noun in NOUNS if noun.kind in ("person", "animal")]
SOME = [adjective.english for adjective in ADJECTIVES]
FORMS = [verb.english.split()[:3] for verb in (*VERBS, *SAYING)]  # see, sees, saw
OTHER = {"have": "has", "do": "does"}  # the form of the other number
OTHER |= {base: third for base, third, past in FORMS if base != past}
OTHER |= {third: base for base, third in OTHER.items()}
FINITE = {"did", "will", "can", "cannot", *OTHER}.union(*FORMS)


def with_phrases(words, rng):
    """Return a sentence with "near the old dog" behind half of its subjects.

    A subject that is a noun stands directly before its verb.
    """
    found = []
    for word, after in zip(words, [*words[1:], ""]):
        found.append(word)
        if word in PLURAL and after in FINITE and rng.random() < 0.5:
            plural = rng.random() < 0.5
            nouns = [n for n in LIVING if PLURAL[n] == plural and n != word]
            adjective = [str(rng.choice(SOME))] * (rng.random() < 0.5)
            found += ["near", "the", *adjective, str(rng.choice(nouns))]
    return found


@functools.cache
def corpus():
    """Return ids (n, T), padded, to test, to validate and to train; and the words."""
    rng = np.random.default_rng(0)
    pairs = generate("english-german", SENTENCES)
    sentences = [with_phrases(pair.source, rng) for pair in pairs]
    words = Vocabulary.build(sentences)
    rows = [[SOS, *words.encode(each), EOS] for each in sentences]
    parts = rows[:TEST], rows[TEST : 2 * TEST], rows[2 * TEST :]
    return *(pad(part)[0] for part in parts), words


@functools.cache
def nouns():
    """Return the ids of all nouns."""
    return corpus()[-1].encode([*PLURAL])


class Clause(NamedTuple):
    """Where a phrase stands between a subject and its verb."""

    row: int  # of the sentence
    subject: int  # its place
    noun: int  # place of the noun of the phrase; the verb is the next word
    other: int | None  # id of the verb in the other number, if it has one
    differ: bool  # whether noun and subject differ in number


@functools.cache
def clauses(part):
    """Return the clauses with a phrase of the sentences to test (0) or validate (1)."""
    found, words = [], corpus()[-1]
    for row, ids in enumerate(corpus()[part]):
        text = ["", *words.decode(ids)]  # "" for SOS
        for k in np.flatnonzero(np.array(text) == "near"):
            noun = next(i for i in range(k + 1, len(text)) if text[i] in PLURAL)
            other = OTHER.get(text[noun + 1])
            other = words.encode([other])[0] if other else None
            differ = PLURAL[text[k - 1]] != PLURAL[text[noun]]
            found.append(Clause(row, int(k) - 1, noun, other, differ))
    return found


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


class Sentences(Study):
    """One arm: what its heads do. The answer to each word is the next word."""

    name, question = "models", "What do the heads of a language model look at?"
    measure = "minus the mean loss of a next word"
    arms, rates = ("whole",), (1e-3, 2e-3, 4e-3, 8e-3)
    seeds = (1, 2, 3, 4, 5, 6)
    every, budget, ignored = 50, 4000, PAD

    @functools.cached_property
    def chance(self):
        """The figure of a model that takes all words for equally frequent."""
        return -float(np.log(len(corpus()[-1])))

    @functools.cached_property
    def trivial(self):
        """The figure of a table that knows which word follows which, and how often."""
        return -counted_loss(after=1)

    def model(self, arm, rng):
        words = corpus()[-1]
        config = TransformerConfig(len(words), width=WIDTH, heads=HEADS, layers=LAYERS)
        return Transformer(config, causal=True, rng=rng)

    def build(self, arm, rate, seed):
        run = super().build(arm, rate, seed)
        run.model.seed = seed
        return run

    def draw(self, n, *key):
        _, _, train, _ = corpus()
        batch = train[np.random.default_rng(key).integers(len(train), size=n)]
        longest = (batch != PAD).sum(1).max()
        return batch[:, : longest - 1], batch[:, 1:longest]

    @functools.cached_property
    def held(self):
        test, validation, *_ = corpus()
        return [(ids[:, :-1], ids[:, 1:]) for ids in (validation[:FEW], test)]

    def figure(self, model, *examples):
        return -self.loss(model, *examples).item()

    def test(self, arm, model):
        """Return the loss and what each head does; the first seed's on a sentence."""
        found = super().test(arm, model) | {"agreement": agreement(model, 0)}
        without = self.removed(model)
        found["heads"] = looks(model, 0)
        lengths = sizes(model).ravel()
        for k, head in enumerate(found["heads"]):
            head |= {"size": float(lengths[k]), "without": without[k]}
            head["rise"] = without[k].pop("loss") + found["figure"]
        for head, each in zip(found["heads"], looks(model, 1)):
            head["validation"] = each["follows"]
        if model.seed == self.seeds[0]:
            model(np.array([[SOS, *corpus()[-1].encode(EXAMPLE.split())]]))
            found["example"] = [p[0].round(3).tolist() for p in model.weights]
        return found

    def removed(self, model):
        """Return the loss and the agreement without each head, in its order: dicts."""
        E, found = WIDTH // HEADS, []
        for attention in model.attentions:
            W = attention.W_o.weight
            whole = W.data.copy()  # (D, H E)
            for head in range(HEADS):
                W.data = whole.copy()
                W.data[:, head * E : (head + 1) * E] = 0
                loss = -self.figure(model, *self.held[1])
                found.append({"loss": loss} | agreement(model, 0))
            W.data = whole
        return found


def looks(model, part):
    """Return what each head does in the sentences ``part``: a dict for each head."""
    ids = corpus()[part]
    model(ids[:, :-1])
    return [
        {"layer": layer, "head": head}
        | (look(p[:FEW, head], ids[:FEW]) if part == 0 else {})
        | {"follows": {query: follows(p[:, head], part, query) for query in QUERIES}}
        for layer, p in enumerate(model.weights)
        for head in range(HEADS)
    ]


def follows(p, part, query):
    """Return the mean weight on the subject, beside what other heads would have there.

    p       weights of a head (n, T, T) in the sentences ``part``
    query   "before": the word before the verb, which predicts it; or "verb"

    "positions" is the mean weight at the same distance, over all words: a head that
    looks at distances alone has it on the subject. "nouns" is the mean weight on the
    nouns at that distance: a head that looks for a noun there has it.
    """
    ids = corpus()[part][:, :-1]
    real, noun = ids != PAD, np.isin(ids, nouns())  # (n, T)
    where = [(c.row, c.noun + QUERIES.index(query), c.subject) for c in clauses(part)]
    row, i, j = np.transpose(where)
    found = {"subject": p[row, i, j], "positions": {}, "nouns": {}}
    for d in set(i - j):
        w = p.diagonal(-d, 1, 2)  # (n, T - d), from place k + d to place k
        found["positions"][d] = w[real[:, d:]].mean()
        found["nouns"][d] = w[real[:, d:] & noun[:, :-d]].mean()
    for name in ("positions", "nouns"):
        found[name] = [found[name][d] for d in i - j]
    return {name: float(np.mean(each)) for name, each in found.items()}


def excess(found):
    """Return how much more weight is on the subject than the baselines have there.

    found   what ``follows`` returns
    """
    return found["subject"] - max(found["positions"], found["nouns"])


def follower(heads):
    """Return which head follows agreement most, in sentences that are not reported."""
    return int(np.argmax([excess(head["validation"]["before"]) for head in heads]))


def agreement(model, part):
    """Return the share of verbs that have the number of their subject.

    "same" counts the clauses in which the noun before the verb has the number of the
    subject, "differ" the others: there, the nearest noun gives the wrong number.
    """
    ids = corpus()[part]
    scores, right = model(ids[:, :-1]).numpy(), {"same": [], "differ": []}
    for c in clauses(part):
        if c.other is not None:
            at = scores[c.row, c.noun]  # of the next word, which is the verb
            name = "differ" if c.differ else "same"
            right[name].append(at[ids[c.row, c.noun + 1]] > at[c.other])
    return {name: float(np.mean(each)) for name, each in right.items()}


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


def before_training():
    """Return the settings, the losses of counted tables, and heads at random."""
    study, n = Sentences(), {"same": 0, "differ": 0}
    rngs = map(np.random.default_rng, study.seeds)
    with mg.no_grad():
        untrained = [looks(study.model("whole", rng).eval(), 0) for rng in rngs]
    for c in clauses(0):
        n["differ" if c.differ else "same"] += c.other is not None
    return {
        "layers": LAYERS, "heads": HEADS, "sentence": EXAMPLE,
        "counted": {"words": counted_loss(0), "pairs": counted_loss(1)},
        "untrained": untrained, "clauses": len(clauses(0)), "verbs": n,
    }  # fmt: skip


if __name__ == "__main__":
    one_of(
        experiment=lambda: study(
            "transformer", [*map(comparison, DEPTHS), without_order()]
        ),
        scaling=lambda: study("scaling", [scaled_or_not()]),
        ablation=lambda: study("heads", [Sentences()], before_training),
    )
