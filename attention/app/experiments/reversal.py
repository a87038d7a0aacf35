"""Which score function learns to reverse a string? Section 38.6 of a textbook.

A ``Reverser``, one encoder GRU and one decoder GRU, is trained with each of four
scores. With preset ``book``, as in the textbook, it also attends to padding; with
``masked`` it does not. A ``Batch`` holds strings (``source``, such as "dog"), their
reversals (``target_out``: "g", "o", "d", end), and the letter before each of these
(``target_in``: start, "g", "o", "d"). The results are the subject of
``lessons/book/07_reversal``.
"""

from statistics import fmean

import numpy as np

import minigrad as mg
from minigrad import optim

from ...decoding.greedy import greedy
from ...metrics import exact_match
from ...seq2seq.reverser import KINDS, Reverser  # noqa: F401  the lessons use KINDS
from ...tasks.reversal import PAD, Batches, decode, encode, make_batch, random_batch
from ...training import Run, fit
from ..configs import ReversalConfig

Config = ReversalConfig

EVALUATION_SEED = 97  # a fixed number: every model is evaluated on the same strings


def build(config, kind, seed):
    """Return a new ``Run`` (model, optimizer, schedule), not yet trained."""
    model = Reverser(
        kind,
        embedding=config.embedding,
        hidden=config.hidden,
        decoder_init=config.decoder_init,
        mask_padding=config.preset == "masked",
        rng=np.random.default_rng(seed),
    )
    optimizer = optim.Adam(model.parameters(), lr=config.lr)
    schedule = optim.CosineAnnealingLR(optimizer, T_max=config.steps)
    return Run(model, optimizer, schedule, config.clip)


def train(config, kind, seed, state=None, save=None, progress=None):
    """Train one model; return (run, whether the training was completed).

    state      the state of an interrupted ``Run``, to continue it; or None
    save       a function that saves the state of the run, as in ``fit``; or None
    progress   a ``Progress``, which prints a line, or None
    """
    run = build(config, kind, seed)
    batches = Batches(seed, config.batch, config.min_length, config.max_length)

    def loss_at(step):
        return loss_of(run.model, batches[step])

    # fit repeats run.step(run.backward(loss_at(step))), and saves and reports
    finished = fit(
        run, config.steps, loss_at, save, progress, state=state, prepare=True
    )
    return run, finished


def loss_of(model, batch):
    """Return the mean cross-entropy of the target letters; PAD is ignored.

    For the source "dog", target_in is start, "g", "o", "d", and target_out is "g", "o",
    "d", end.
    """
    logits = model(batch.source, batch.target_in, batch.lengths)
    return mg.cross_entropy(logits, batch.target_out, ignore_index=PAD)


# ---- A first reading can stop here ----


def evaluate(config, model):
    """Return the results by length: {"accuracy": {"3": …}, "exact_match": {"3": …}}.

    accuracy      the share of correct letters, when the decoder reads the correct
                  previous letters (teacher forcing)
    exact_match   the share of strings that greedy decoding reverses completely,
                  including the end token
    """
    report = {"accuracy": {}, "exact_match": {}}
    model.eval()
    for length in config.lengths:
        rng = np.random.default_rng([EVALUATION_SEED, length])
        batch = random_batch(rng, config.samples, length, length, config.pad_eval)
        with mg.no_grad():
            logits = model(batch.source, batch.target_in, batch.lengths)
        letters = logits.numpy()[:, :length].argmax(-1)  # without the end token
        correct = letters == batch.target_out[:, :length]
        report["accuracy"][str(length)] = float(correct.mean())
        decoded = greedy(model, batch.source, batch.lengths, length + 1)
        report["exact_match"][str(length)] = exact_match(decoded.ids, batch.target_out)
    model.train()
    return report


def alignment(model, text="reversal"):
    """Return the attention weights of the model while it reverses ``text`` greedily.

    The result is a dict: "weights" (T, S) as lists, "source" with the S letters of the
    text, and "target" with the T decoded letters.
    """
    batch = make_batch(encode(text)[None], [len(text)])
    decoded = greedy(model, batch.source, batch.lengths, len(text))
    return {
        "weights": decoded.weights[0].tolist(),
        "source": list(text),
        "target": [decode([i]) or "·" for i in decoded.ids[0]],  # a dot for EOS
    }


def means(config, runs):
    """Return {what: {kind: {length: its mean over the seeds}}} of what is evaluated."""
    found = {"accuracy": {}, "exact_match": {}}
    for what, of_kinds in found.items():
        for kind in config.kinds:
            each = [run[what] for run in runs if run["kind"] == kind]
            of_kinds[kind] = {n: fmean(x[str(n)] for x in each) for n in config.lengths}
    return found
