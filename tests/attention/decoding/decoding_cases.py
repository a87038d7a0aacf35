"""Small models, and all their sentences with their probabilities."""

import itertools
import math

import numpy as np

from attention.decoding.beam import beam_search
from attention.decoding.greedy import greedy
from attention.decoding.sampling import sample
from attention.seq2seq.config import Seq2SeqConfig
from attention.seq2seq.model import Seq2Seq
from attention.tasks.batch import EOS, PAD, SOS
from attention.transformer.config import EncoderDecoderConfig
from attention.transformer.encoder_decoder import EncoderDecoder

V, N, S = 5, 4, 3  # ids 2, 3, 4 can be produced; at most N tokens
SOURCE = np.array([[3, 4, 3], [4, 3, 0], [3, 3, 4], [4, 0, 0]])
LENGTHS = np.array([3, 2, 3, 1])


class Table:
    """A model with random logits and weights for each sentence and beginning.

    PAD and SOS have by far the largest logits.
    """

    def __init__(self, seed=0, vocabulary=V, sharp=1.5, attends=True):
        self.seed, self.V, self.sharp, self.attends = seed, vocabulary, sharp, attends
        self.calls = 0

    def start(self, source, lengths):
        self.S = source.shape[1]
        lengths = np.full(len(source), self.S) if lengths is None else lengths
        return Rows([(tuple(map(int, s[:n])), ()) for s, n in zip(source, lengths)])

    def step(self, state, tokens):
        assert len(tokens) == len(state.rows)
        self.calls += 1
        rows = [(s, (*said, int(y))) for (s, said), y in zip(state.rows, tokens)]
        found = [self.of(*row) for row in rows]
        weights = np.stack([w for _, w in found]) if self.attends else None
        return np.stack([logits for logits, _ in found]), Rows(rows), weights

    def of(self, source, said):
        rng = np.random.default_rng([self.seed, *source, 99, *said])
        logits = self.sharp * rng.standard_normal(self.V)
        logits[[PAD, SOS]] = 30
        weights = np.zeros(self.S)
        weights[: len(source)] = rng.dirichlet(np.full(len(source), 0.4))
        return logits, weights


class Rows:
    def __init__(self, rows):
        self.rows = rows

    def select(self, indices):
        self.rows = [self.rows[i] for i in indices]


def tiny(**options):
    c = dict(embedding=4, hidden=6) | options
    m = Seq2Seq(Seq2SeqConfig(6, V, **c), np.random.default_rng(0))
    rng = np.random.default_rng(1)
    for p in m.parameters():
        p.data = (1.2 * rng.standard_normal(p.shape)).astype(np.float32)
    return m


def transformer():
    c = EncoderDecoderConfig(vocabulary=6, target_vocabulary=V, width=8, heads=2,
                             layers=2, tied=False)  # fmt: skip
    return EncoderDecoder(c, np.random.default_rng(0)).eval()


MODELS = {
    "table": lambda: Table(),
    "table-without-weights": lambda: Table(attends=False),
    "gru": tiny,
    "lstm-fed-coverage": lambda: tiny(
        cell="lstm", attention="luong", input_feeding=True, coverage=True, layers=2
    ),
    "local": lambda: tiny(attention="luong", local="m", window=1, score="general"),
    "none": lambda: tiny(attention="none"),
    "transformer": transformer,
}


# The definition: all sentences, one after the other


def every_sentence(n=N):
    """All that end with EOS within n tokens, and all of n tokens without one."""
    for length in range(1, n + 1):
        for begun in itertools.product(range(3, V), repeat=length - 1):
            yield [*begun, EOS]
    yield from (list(y) for y in itertools.product(range(3, V), repeat=n))


def log_probability(model, source, length, y):
    """ln P(y) and the weights (|y|, S), step by step, without PAD and SOS."""
    state, said = model.start(source[None], np.array([length])), SOS
    total, looked = 0.0, []
    for token in y:
        logits, state, weights = model.step(state, np.array([said]))
        row = [float(z) for z in np.asarray(getattr(logits, "data", logits))[0]]
        top = max(row[2:])
        total += row[token] - top - math.log(sum(math.exp(z - top) for z in row[2:]))
        if weights is not None:
            looked.append(np.array(getattr(weights, "data", weights))[0])
        said = token
    return total, np.array(looked) if looked else None


def decoded(d):
    """The rows of ids without padding."""
    return [row[:n].tolist() for row, n in zip(d.ids, d.lengths)]


def every_way():
    rng = np.random.default_rng(0)
    return {
        "greedy": lambda m, *a: greedy(m, *a),
        "beam": lambda m, *a: beam_search(m, *a, 3, alpha=0.5),
        "sample": lambda m, *a: sample(m, *a, rng=rng),
        "hot": lambda m, *a: sample(m, *a, temperature=50.0, top_k=4, rng=rng),
    }
