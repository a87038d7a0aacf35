"""38.4  Scaled and unscaled scores at width 256  ●●●○  45 min  needs 38.3  book §38.6

Two models that reverse strings have equal parameters, but the second divides its scores
by sqrt(256) = 16. Train both and compare the entropy of their weights during training.
You write the training loop and the measurement; neither may include padding. Then

    python -m lessons experiment 38.4

compares both fairly, at width 256 and with your training step: each has four learning
rates, and trains until a plateau (lesson 14). It prints differences with intervals and
draws losses and entropies. Ctrl-C loses nothing; ``--quick`` trains each only once.
Look at the figure, write your explanation, and check again: the exercise passes with
your own run.
"""

import numpy as np

import minigrad as mg
from attention.seq2seq.reverser import Reverser
from attention.tasks.reversal import PAD, Batches
from lessons import NotWritten
from minigrad import optim

SIZE, CLIP, RATE = 32, 1.0, 3e-3  # strings in a batch, largest norm, learning rate


def _model(kind, d, seed):
    """Return the model before its first step; kind is "dot" or "scaled"."""
    return Reverser(kind, hidden=d, rng=np.random.default_rng(seed))


def _batches(seed):
    """Return the batches: batches[i] is for step i, with strings of 3 to 8 letters.

    attention/tasks/batch.py describes a batch.
    """
    return Batches(seed, SIZE, 3, 8)


def _weights(model, batch):
    """Return the attention weights (B, L, S) of a batch, without a gradient."""
    with mg.no_grad():
        output = model.forced(batch.source, batch.target_in, batch.lengths)
        return output.weights.numpy()


def prediction():
    """Return your prediction for the long run, before it runs. No answer is wrong.

    "loss"     "dot" or "scaled": which ends with the smaller loss
    "entropy"  "dot" or "scaled": whose weights end with the smaller entropy
    ->  a dictionary with these two keys
    """
    raise NotWritten("38.4 prediction")


def attn_entropy(alpha, lengths):
    """Return the mean entropy, in nats, of the rows of attention that are not padding.

    alpha (B, L, S), weights, with 0 ln 0 = 0; lengths (B,): the rows t < lengths[b] of
    string b count, the others are padding. All rows that count have equal weight in the
    mean.
    """
    raise NotWritten("38.4 attn_entropy")


def training_step(model, optimizer, batch):
    """Do one training step on a batch; return the loss before the step, a float.

    loss       the mean cross-entropy of ``model(source, target_in, lengths)`` against
               target_out, where that is not PAD (``mg.cross_entropy``, ignore_index)
    gradients  those of this batch alone, clipped to a total norm of CLIP
               (``optim.clip_grad_norm_``, of a list of parameters)
    """
    raise NotWritten("38.4 training_step")


def train(kind, d, steps, seed, every):
    """Train ``_model(kind, d, seed)`` on ``_batches(seed)``, by Adam with lr=RATE.

    Measure the entropy on the batch number 10**6, which no step uses: before the steps
    0, every, 2 every, … Its lengths are ``target_lengths``, which count EOS as well.
    ->  {"loss": array (steps,), "entropy": array (steps / every, rounded up)}
    """
    raise NotWritten("38.4 train")


def explanation():
    """Return a string: why do the two differ so in your figure, in loss and entropy?

    Write ten words or more after the long run. They are not graded; the check prints
    what a good answer says.
    """
    raise NotWritten("38.4 explanation")
