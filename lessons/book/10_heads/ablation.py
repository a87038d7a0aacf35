"""What do the heads of a language model look at, and which of them matter?

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
from typing import NamedTuple

from importlib import import_module

import numpy as np

import minigrad as mg
from attention.exact.multihead import heads
from attention.metrics import attention_entropy
from attention.tasks.batch import EOS, PAD, SOS
from attention.tasks.batching import pad
from attention.tasks.grammar import generate
from attention.tasks.grammar.lexicon_german import ADJECTIVES, NOUNS, SAYING, VERBS
from attention.tasks.vocabulary import Vocabulary
from attention.transformer import TransformerConfig
from lessons.classroom.studies import study
from lessons.instrument.fair import Study
from lessons.instrument.patterns import self_attention_pattern

Transformer = import_module("lessons.book.10_heads.small").Transformer
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


class Sentences(Study):
    """One arm: what its heads do."""

    name, question = "models", "What do the heads of a language model look at?"
    measure = "minus the mean loss of a next word"
    arms, rates = ("whole",), (1e-3, 2e-3, 4e-3, 8e-3)
    seeds = (1, 2, 3, 4, 5, 6)
    every, budget = 50, 4000

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
        return (batch[:, :longest],)

    def loss(self, model, ids):
        return loss_of(model, ids)

    def validate(self, arm, model):
        with mg.no_grad():
            return -loss_of(model, corpus()[1][:FEW]).item()

    def test(self, arm, model):
        """Return the loss and what each head does; the first seed's on a sentence."""
        ids, *_, words = corpus()
        with mg.no_grad():
            loss, agrees = loss_of(model, ids).item(), agreement(model, 0)
            without = removed(model)
        found = {"figure": -loss, "agreement": agrees, "heads": looks(model, 0)}
        lengths = sizes(model).ravel()
        for k, head in enumerate(found["heads"]):
            head |= {"size": float(lengths[k]), "without": without[k]}
            head["rise"] = without[k].pop("loss") - loss
        for head, each in zip(found["heads"], looks(model, 1)):
            head["validation"] = each["follows"]
        if model.seed == self.seeds[0]:
            with mg.no_grad():
                model(np.array([[SOS, *words.encode(EXAMPLE.split())]]))
            found["example"] = [p[0].round(3).tolist() for p in model.weights]
        return found


def looks(model, part):
    """Return what each head does in the sentences ``part``: a dict for each head."""
    ids = corpus()[part]
    with mg.no_grad():
        loss_of(model, ids)
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


def removed(model):
    """Return the loss and the agreement without each head, in its order: dicts."""
    E, found = WIDTH // HEADS, []
    for attention in model.attentions:
        W = attention.W_o.weight
        whole = W.data.copy()  # (D, H E)
        for head in range(HEADS):
            without = whole.copy()
            without[:, head * E : (head + 1) * E] = 0
            W.data = without
            loss = loss_of(model, corpus()[0]).item()
            found.append({"loss": loss} | agreement(model, 0))
        W.data = whole
    return found


def before_training():
    """Return the settings, the losses of counted tables, and heads at random."""
    study, n = Sentences(), {"same": 0, "differ": 0}
    rngs = map(np.random.default_rng, study.seeds)
    untrained = [looks(study.model("whole", rng).eval(), 0) for rng in rngs]
    for c in clauses(0):
        n["differ" if c.differ else "same"] += c.other is not None
    return {
        "layers": LAYERS, "heads": HEADS, "sentence": EXAMPLE,
        "counted": {"words": counted_loss(0), "pairs": counted_loss(1)},
        "untrained": untrained, "clauses": len(clauses(0)), "verbs": n,
    }  # fmt: skip


if __name__ == "__main__":
    study("heads", [Sentences()], before_training)
