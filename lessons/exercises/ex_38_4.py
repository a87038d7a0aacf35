"""38.4  Scaled or not, at width 256  ●●●○  45 min  needs 38.3  book §38.6

Two models that reverse strings are equal in every number but one: the scores of the
second are divided by sqrt(256) = 16. Train both, and look at the entropy of their
weights on the way. What you write is the loop and the measurement; padding must not
enter either. The long run is ``python -m lessons experiment 38.4``.
"""

import numpy as np

import minigrad as mg
from attention.seq2seq.reverser import Reverser
from attention.tasks.reversal import PAD, Batches
from lessons import NotWritten
from minigrad import optim

SIZE, CLIP, RATE = 32, 1.0, 3e-3  # strings in a batch, largest norm, of Adam


def _model(kind, d, seed):
    """The model before its first step; kind "dot" or "scaled"."""
    return Reverser(kind, hidden=d, rng=np.random.default_rng(seed))


def _batches(seed):
    """batches[i] is what step i sees: strings of 3 to 8 letters, see tasks/batch.py."""
    return Batches(seed, SIZE, 3, 8)


def _weights(model, batch):
    """Where each output t of each string looks, (B, L, S), without a gradient."""
    with mg.no_grad():
        output = model.forced(batch.source, batch.target_in, batch.lengths)
        return output.weights.numpy()


def prediction():
    """What you expect of the long run, before it runs; no answer is wrong.

    "loss"     "dot" or "scaled": which ends with the smaller loss
    "entropy"  "dot" or "scaled": whose weights end with the smaller entropy
    ->  a dictionary with these two
    """
    raise NotWritten("38.4 prediction")


def attn_entropy(alpha, lengths):
    """The mean entropy, in nats, of the rows of attention that are asked for.

    alpha (B, L, S), weights; lengths (B,): of string b the rows t < lengths[b] count,
    the others are padding. All rows that count have the same say.
    """
    raise NotWritten("38.4 attn_entropy")


def training_step(model, optimizer, batch):
    """One step down the loss of a batch; returns the loss before it, as a float.

    loss       the mean cross-entropy of ``model(source, target_in, lengths)`` against
               target_out, where that is not PAD (``mg.cross_entropy``, ignore_index)
    gradients  of this batch alone, all together of norm CLIP at most
               (``optim.clip_grad_norm_``, of a list of parameters)
    """
    raise NotWritten("38.4 training_step")


def train(kind, d, steps, seed, every):
    """Train ``_model(kind, d, seed)`` on ``_batches(seed)``, by Adam at the rate RATE.

    The entropy is measured on the batch number 10**6, which no step sees: before the
    steps 0, every, 2 every, …
    ->  {"loss": array (steps,), "entropy": array (steps / every, rounded up)}
    """
    raise NotWritten("38.4 train")
