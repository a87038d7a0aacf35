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
    # BEGIN SOLUTION
    return {"loss": "scaled", "entropy": "dot"}
    # END SOLUTION


def attn_entropy(alpha, lengths):
    """Return the mean entropy, in nats, of the rows of attention that are not padding.

    alpha (B, L, S), weights, with 0 ln 0 = 0; lengths (B,): the rows t < lengths[b] of
    string b count, the others are padding. All rows that count have equal weight in the
    mean.
    """
    # BEGIN SOLUTION
    alpha = np.asarray(alpha, np.float64)
    H = -(alpha * np.log(np.where(alpha > 0, alpha, 1.0))).sum(axis=-1)  # (B, L)
    real = np.arange(H.shape[1]) < np.asarray(lengths)[:, None]
    return H[real].mean()
    # END SOLUTION


def training_step(model, optimizer, batch):
    """Do one training step on a batch; return the loss before the step, a float.

    loss       the mean cross-entropy of ``model(source, target_in, lengths)`` against
               target_out, where that is not PAD (``mg.cross_entropy``, ignore_index)
    gradients  those of this batch alone, clipped to a total norm of CLIP
               (``optim.clip_grad_norm_``, of a list of parameters)
    """
    # BEGIN SOLUTION
    logits = model(batch.source, batch.target_in, batch.lengths)
    loss = mg.cross_entropy(logits, batch.target_out, ignore_index=PAD)
    optimizer.zero_grad()
    loss.backward()
    optim.clip_grad_norm_(list(model.parameters()), CLIP)
    optimizer.step()
    return loss.item()
    # END SOLUTION


def train(kind, d, steps, seed, every):
    """Train ``_model(kind, d, seed)`` on ``_batches(seed)``, by Adam with lr=RATE.

    Measure the entropy on the batch number 10**6, which no step uses: before the steps
    0, every, 2 every, … Its lengths are ``target_lengths``, which count EOS as well.
    ->  {"loss": array (steps,), "entropy": array (steps / every, rounded up)}
    """
    # BEGIN SOLUTION
    model, batches = _model(kind, d, seed), _batches(seed)
    optimizer = optim.Adam(list(model.parameters()), lr=RATE)
    unseen, losses, entropies = batches[10**6], [], []
    for i in range(steps):
        if i % every == 0:
            H = attn_entropy(_weights(model, unseen), unseen.target_lengths)
            entropies.append(H)
        losses.append(training_step(model, optimizer, batches[i]))
    return {"loss": np.array(losses), "entropy": np.array(entropies)}
    # END SOLUTION


def explanation():
    """Return a string: why do the two differ so in your figure, in loss and entropy?

    Write ten words or more after the long run. They are not graded; the check prints
    what a good answer says.
    """
    # BEGIN SOLUTION
    return (
        "Both begin with nearly equal weights, because the states are small. Scores "
        "that are not divided by 16 grow 16 times as fast with the states, so that "
        "the weights of dot become sharp early: its entropy falls further. Sharp "
        "weights have small gradients where they are wrong, which can slow the learning "
        "down. The interval of the losses says whether it still did so at the end. "
        "Dot does train: width 256 alone does not stop it."
    )
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "Rows of padding contain no task, so a loss or an entropy that includes them "
    "measures the padding as well. Both models have equal parameters and see the same "
    "batches, so what differs between the runs comes from the factor 1 / sqrt(d)."
)

MUTANTS = [
    ("H[real].mean()", "H.mean()", "counts-padding"),
    ("H[real].mean()", "((H * real).sum(1) / real.sum(1)).mean()", "mean-of-means"),
    ("np.log(np.where(alpha > 0, alpha, 1.0))", "np.log(alpha)", "nan"),
    ("np.log(np.where(", "np.log2(np.where(", "log2"),
    ("    optimizer.zero_grad()\n", "", "not-cleared"),
    ("    optim.clip_grad_norm_(list(model.parameters()), CLIP)\n", "", "unclipped"),
    (", ignore_index=PAD)", ")", "padding-loss"),
    ("    optimizer.step()\n", "", "does-not-move"),
    ("optimizer, batches[i])", "optimizer, batches[0])", "same-batch"),
    ("_model(kind, d, seed), _b", '_model("dot", d, seed), _b', "one-kind"),
    ("batches[10**6], [], []", "batches[0], [], []", "seen"),
    (
        "(_weights(model, unseen)",
        "(_weights(_model(kind, d, seed), unseen)",
        "untrained",
    ),
]
