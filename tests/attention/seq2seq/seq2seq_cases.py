"""Configs of the recurrent encoder-decoder in all their spread, and models of them."""

import numpy as np

import minigrad as mg
from attention.seq2seq.config import Seq2SeqConfig
from attention.seq2seq.model import Seq2Seq
from attention.tasks.batch import PAD
from attention.variants.table import SCORES

E, H = 2, 3  # no two sizes alike: a lost transpose shows
SOURCE = np.array([[3, 4, 5, 6, 3], [4, 3, 6, 5, 3], [6, 6, 5, 4, 4]])  # no PAD
LENGTHS = np.array([5, 2, 4])
TARGET = np.array([[1, 5, 4, 3], [1, 3, 2, 0], [1, 4, 4, 5]])
READ = TARGET != PAD  # at padding of the target, results have no meaning
close = dict(rtol=1e-9, atol=1e-11)

SPREAD = {
    "bahdanau": dict(),
    **{f"bahdanau-{score}": dict(score=score) for score in SCORES},
    "bahdanau-zero": dict(score="scaled", decoder_init="zero"),
    "bahdanau-general-two-sides": dict(score="general", bidirectional=True),
    "bahdanau-concat-two-sides": dict(score="concat", bidirectional=True),
    "bahdanau-lstm": dict(cell="lstm", score="general"),
    "bahdanau-lstm-deep": dict(cell="lstm", layers=2, bidirectional=True),
    "bahdanau-deep": dict(layers=3, score="dot"),
    "bahdanau-coverage": dict(coverage=True, bidirectional=True),
    "bahdanau-local-m": dict(score="concat", local="m", window=1),
    "bahdanau-local-p": dict(cell="lstm", local="p", window=2),
    "luong": dict(attention="luong", score="general"),
    "luong-lstm-two-sides": dict(attention="luong", cell="lstm", bidirectional=True),
    "luong-deep": dict(attention="luong", layers=2, score="scaled"),
    "luong-local-gaussian": dict(
        attention="luong", score="gaussian", local="p", window=2
    ),
    "luong-local-m": dict(attention="luong", score="dot", local="m", window=0),
    "luong-local-p": dict(attention="luong", score="general", local="p", window=1),
    "luong-coverage": dict(attention="luong", coverage=True, cell="lstm"),
    "luong-fed": dict(attention="luong", score="concat", input_feeding=True),
    "luong-fed-lstm-deep": dict(
        attention="luong", score="general", input_feeding=True, cell="lstm", layers=2,
        bidirectional=True,
    ),
    "luong-fed-coverage": dict(attention="luong", coverage=True, input_feeding=True),
    "luong-fed-local-p": dict(
        attention="luong", local="p", window=1, input_feeding=True
    ),
    "none": dict(attention="none"),
    "none-lstm-deep": dict(
        attention="none", cell="lstm", layers=2, bidirectional=True
    ),
    "none-two-sides": dict(attention="none", bidirectional=True),
    "padding-read": dict(mask_padding=False),
}  # fmt: skip


def config(**options):
    return Seq2SeqConfig(7, 6, **(dict(embedding=E, hidden=H) | options))


def model(name=None, dtype=np.float64, seed=0, **options):
    m = Seq2Seq(config(**(SPREAD[name] if name else {}) | options), generator(seed))
    rng = generator(seed + 1)
    for parameter in m.parameters():
        # more than the layers draw, and w_c not 0: what is left out must show
        parameter.data = rng.standard_normal(parameter.shape).astype(dtype)
    return m


def generator(seed=0):
    return np.random.default_rng(seed)


def stepwise(m, source=SOURCE, target=TARGET, lengths=LENGTHS):
    """logits (B, L, V) and weights of all steps, one call each."""
    state, steps = m.start(source, lengths), []
    for tokens in target.T:
        logits, state, weights = m.step(state, tokens)
        steps.append((logits, weights))
    logits, weights = zip(*steps)
    weights = None if weights[0] is None else np.stack([w.data for w in weights], 1)
    return mg.stack(list(logits), 1), weights
