"""What do blocks need, and what do trained heads look at? The records of lesson 10.

    python -m lessons experiment 10

Pre-norm blocks learn a table of two entries: of the token at a place and of the one
before it, y_t = F[x_t, x_(t-1)]. Two blocks are whole, or lack one of the four things
that section 6.4.4 calls necessary. Then two blocks, with one head of width 64 each,
learn it with the factor 1 / sqrt(d) of the scores and without it. Three learning rates,
five seeds. Some 5 minutes on two cores.

    python -m lessons experiment 10 ablation

A language model learns to continue sentences of the course's English grammar. A phrase
stands between half of the subjects and their verbs, so that the model has to look back
in order to write "see" or "sees":

    the women near the old dog see a child .

Where does each head look from the word before the verb? What changes if the subject is
replaced by a noun of the other number, or if the head is removed, by a zero in W_o in
place of its columns? Three learning rates, six seeds. Some 5 minutes on two cores.
"""

import functools
import math
from functools import partial
from typing import NamedTuple

import numpy as np

from attention import MultiHeadAttention, sinusoidal
from attention.tasks.batch import EOS, PAD, SOS
from attention.tasks.batching import pad
from attention.tasks.grammar import generate
from attention.tasks.grammar.lexicon_german import ADJECTIVES, NOUNS, SAYING, VERBS
from attention.tasks.vocabulary import Vocabulary
from attention.transformer import FeedForward, TransformerConfig
from lessons.classroom.records import one_of
from lessons.classroom.studies import study
from lessons.instrument.fair import Study
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
        self.weights = []

    def forward(self, ids):
        x, norms = self.embedding(ids), iter(self.norms)
        if self.without != "positions":
            x = x + math.sqrt(2) * sinusoidal(*x.shape[1:])
        self.weights = []
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
        """Return the output of an attention; keep its weights."""
        if self.training:
            return attention(x, is_causal=self.causal)
        y, weights = attention(x, is_causal=self.causal, need_weights=True)
        self.weights.append(weights.data)
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

    rates, every, budget = (1e-3, 3e-3, 9e-3), 25, 2000
    chance, trivial = 1 / V, best_without_order()
    draw, batch = staticmethod(draw), 16
    held_out, held_keys = (200, 500), (1, 2)
    size = {}

    def model(self, arm, rng):
        config = TransformerConfig(V, **self.size)
        return Transformer(config, **self.arms[arm], rng=rng)


LACKING = "positions", "residual", "feed-forward", "norm"
PARTS = Table(
    "parts", "What do blocks need?", size={"width": 32, "heads": 4, "layers": 2},
    arms={"nothing": {}} | {part: {"without": part} for part in LACKING},
)  # fmt: skip
SCALE = Table(
    "scale", "Do blocks train without 1 / sqrt(d)?",
    arms={"scaled": {}, "unscaled": {"scale": 1.0}},
    size={"width": 64, "hidden": 64, "heads": 1, "layers": 2},
)  # fmt: skip

LAYERS, HEADS, WIDTH = 2, 4, 48
SENTENCES, TEST, LONGEST = 20_000, 2000, 18
EXAMPLE = "if the small children near the dog have visited us , he can play ."

PLURAL = {noun.english: noun.plural for noun in NOUNS}
LIVING = [noun.english for noun in NOUNS if noun.kind in ("person", "animal")]
SOME = [adjective.english for adjective in ADJECTIVES]
FORMS = [verb.english.split()[:3] for verb in (*VERBS, *SAYING)]  # see, sees, saw
OTHER = {"have": "has", "do": "does"}  # the form of the other number
OTHER |= {base: third for base, third, past in FORMS if base != past}
OTHER |= {third: base for base, third in OTHER.items()}
FINITE = {"did", "will", "can", "cannot", *OTHER}.union(*FORMS)


def living(word, same, rng):
    """Return another noun, of a person or an animal, of the same number or not."""
    nouns = [n for n in LIVING if n != word and (PLURAL[n] == PLURAL[word]) == same]
    return str(rng.choice(nouns))


def with_phrases(words, rng):
    """Return a sentence with "near the old dog" behind half of its subjects.

    A subject that is a noun stands directly before its verb. If it has "a" or "an", it
    gets no phrase: the article shows its number.
    """
    found = []
    for word, after in zip(words, [*words[1:], ""]):
        found.append(word)
        is_subject = word in PLURAL and after in FINITE
        if is_subject and not {"a", "an"} & {*found[-3:]} and rng.random() < 0.5:
            adjective = [str(rng.choice(SOME))] * (rng.random() < 0.5)
            noun = living(word, rng.random() < 0.5, rng)
            found += ["near", "the", *adjective, noun]
    return found


@functools.cache
def corpus():
    """Return ids (n, T), padded, to test, to validate and to train; and the words."""
    rng = np.random.default_rng(0)
    pairs = generate("english-german", SENTENCES)
    sentences = [with_phrases(pair.source, rng) for pair in pairs]
    sentences = [each for each in sentences if len(each) <= LONGEST]
    words = Vocabulary.build(sentences)
    rows = [[SOS, *words.encode(each), EOS] for each in sentences]
    parts = rows[:TEST], rows[TEST : 2 * TEST], rows[2 * TEST :]
    return *(pad(part)[0] for part in parts), words


class Clause(NamedTuple):
    """Where a phrase stands between a subject and its verb."""

    row: int  # of the sentence
    subject: int  # its place
    noun: int  # place of the noun of the phrase; the verb is the next word
    wrong: int | None  # id of the verb in the other number, if there is one
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
            wrong = words.encode([other])[0] if other else None
            differ = PLURAL[text[k - 1]] != PLURAL[text[noun]]
            found.append(Clause(row, int(k) - 1, noun, wrong, differ))
    return found


class Sentences(Study):
    """One arm: what its heads do. The answer to each word is the next word."""

    name, question = "models", "What do the heads of a language model look at?"
    measure = "minus the mean loss of a next word"
    arms, rates = ("whole",), (2e-3, 4e-3, 8e-3)
    seeds = (1, 2, 3, 4, 5, 6)
    every, budget, batch, ignored = 100, 2400, 16, PAD

    @functools.cached_property
    def chance(self):
        """The figure of a model that takes all words for equally frequent."""
        return -float(np.log(len(corpus()[-1])))

    def model(self, arm, rng):
        words = corpus()[-1]
        config = TransformerConfig(len(words), width=WIDTH, heads=HEADS, layers=LAYERS)
        return Transformer(config, causal=True, rng=rng)

    def draw(self, n, *key):
        _, _, train, _ = corpus()
        batch = train[np.random.default_rng(key).integers(len(train), size=n)]
        longest = (batch != PAD).sum(1).max()
        return batch[:, : longest - 1], batch[:, 1:longest]

    @functools.cached_property
    def held(self):
        test, validation, *_ = corpus()
        return [(ids[:, :-1], ids[:, 1:]) for ids in (validation[:200], test)]

    def figure(self, model, *examples):
        return -self.loss(model, *examples).item()

    def test(self, arm, model):
        """Return the loss, the agreement, and what each head does."""
        heads, without = looks(model, 0), removed(model)
        for head, right, other in zip(heads, without, looks(model, 1)):
            choosing = {"excess": excess(other), "number": number(other)}
            head |= {"without": right, "validation": choosing}
        found = {"heads": heads, "agreement": agreement(model)}
        return super().test(arm, model) | found

    def result(self, job, run):
        """Return also the weights of the first seed in a sentence of the page."""
        found, words = super().result(job, run), corpus()[-1].encode(EXAMPLE.split())
        if job[-1] == self.seeds[0]:
            run.model.eval()
            p = weights_of(run.model, np.array([[SOS, *words, EOS]]))
            found["example"] = p[:, 0].round(3).tolist()
        return found


def looks(model, part):
    """Return for each head its mean weight from the word before a verb on the subject.

    "subject" is that weight. Three others are those of simpler heads, which look in the
    same way from each word: at this distance ("positions"), at nouns at this distance
    ("nouns"), at the first noun of the clause at this distance ("first"). Before a verb
    the first noun is its subject, so "first" is measured from other words: from the
    verb, or from the adjective of the phrase.

    "same" and "other" are the mean change of the weight, up or down, if the subject is
    replaced by another noun of its number, or of the other number.
    """
    ids, n = corpus()[part], np.arange(len(clauses(part)))
    row, j, i = np.transpose([(c.row, c.subject, c.noun) for c in clauses(part)])
    real = ids[:, :-1] != PAD  # (n, T)
    noun = np.isin(ids[:, :-1], corpus()[-1].encode([*PLURAL]))
    same, other = (weights_of(model, with_others(part, same)) for same in (True, False))
    found = []
    for k, p in enumerate(weights_of(model, ids)):
        on, means = p[row, i, j], {"positions": {}, "nouns": {}, "first": {}}
        for d in set(i - j):
            w = p.diagonal(-d, 1, 2)  # (n, T - d), from place t + d to place t
            means["positions"][d] = w[real[:, d:]].mean()
            means["nouns"][d] = w[real[:, d:] & noun[:, :-d]].mean()
            means["first"][d] = p[row, j + d, j][i - j != d].mean()
        head = {name: np.mean([x[d] for d in i - j]) for name, x in means.items()}
        head["subject"] = on.mean()
        for name, q in ("same", same), ("other", other):
            head[name] = abs(q[k, n, i, j] - on).mean()
        found.append({name: float(x) for name, x in head.items()})
    return found


def weights_of(model, ids):
    """Return the weights of all heads, layer by layer: (LAYERS HEADS, n, T, T)."""
    model(ids[:, :-1])
    return np.concatenate(model.weights, 1).swapaxes(0, 1)


@functools.cache
def with_others(part, same):
    """Return the sentence of each clause with another noun as the subject, (n, T)."""
    rng, words, ids = np.random.default_rng(1), corpus()[-1], []
    for c in clauses(part):
        x = corpus()[part][c.row].copy()
        [word] = words.decode(x[c.subject : c.subject + 1])
        [x[c.subject]] = words.encode([living(word, same, rng)])
        ids.append(x)
    return np.stack(ids)


def excess(head):
    """Return how much more weight is on the subject than a simpler head has there."""
    return head["subject"] - max(head[name] for name in ("positions", "nouns", "first"))


def number(head):
    """Return how much more a noun of the other number changes the weight on it."""
    return head["other"] - head["same"]


def head_with_most(what, heads):
    """Return the head with the largest "excess" or "number" in the validation."""
    return int(np.argmax([head["validation"][what] for head in heads]))


def agreement(model):
    """Return the share of verbs that have the number of their subject.

    Only clauses count in which the noun before the verb has the other number.
    """
    found = [c for c in clauses(0) if c.differ and c.wrong is not None]
    ids = corpus()[0][[c.row for c in found]]
    right = []
    for c, x, scores in zip(found, ids, model(ids[:, :-1]).numpy()):
        at = scores[c.noun]  # of the next word, which is the verb
        right.append(at[x[c.noun + 1]] > at[c.wrong])
    return float(np.mean(right))


def removed(model):
    """Return the agreement without each head, layer by layer."""
    E, found = WIDTH // HEADS, []
    for attention in model.attentions:
        W = attention.W_o.weight
        whole = W.data  # (D, H E)
        for head in range(HEADS):
            W.data = whole.copy()
            W.data[:, head * E : (head + 1) * E] = 0
            found.append(agreement(model))
        W.data = whole
    return found


if __name__ == "__main__":
    one_of(
        experiment=lambda: study("transformer", [PARTS, SCALE]),
        ablation=lambda: study("heads", [Sentences()]),
    )
