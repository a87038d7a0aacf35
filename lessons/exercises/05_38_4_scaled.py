"""38.4  Scaled and unscaled scores at width 256  ●●●○  45 min  needs 38.3  book §38.6

Two models that reverse strings have equal parameters, but the second divides its scores
by sqrt(256) = 16. Train both and compare the entropy of their weights during training.
You write the training loop and the measurement; neither may include padding. Then

    python -m lessons experiment 38.4

compares both fairly, at width 256 and with your training step: three seeds choose a rate
for each, and both take the same steps (lesson 14). It prints differences with intervals and
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
    return {"loss": "scaled", "entropy": "dot"}  #? The docstring gives the two keys; each value is "dot" or "scaled".
    #! return {"loss": "scaled"}  | prediction


def attn_entropy(alpha, lengths):
    """Return the mean entropy, in nats, of the rows of attention that are not padding.

    alpha (B, L, S), weights, with 0 ln 0 = 0; lengths (B,): the rows t < lengths[b] of
    string b count, the others are padding. All rows that count have equal weight in the
    mean.
    """
    alpha = np.asarray(alpha, np.float64)
    logs = np.log(np.where(alpha > 0, alpha, 1.0))  # ln 1 = 0 replaces ln 0  #? The entropy is in nats. Padding has a weight of exactly 0: what is 0 times its logarithm?
    #! logs = np.log2(np.where(alpha > 0, alpha, 1.0))  | the entropy in bits
    #! logs = np.log(alpha)  | the mean of -sum_s a ln a, which is NaN where a is 0
    H = -(alpha * logs).sum(axis=-1)  # (B, L)  #? One entropy for each row of weights, with its sign.
    #! H = -(alpha * logs).sum(axis=-1) / np.log(alpha.shape[2])  | the entropy / log S
    real = np.arange(H.shape[1]) < np.asarray(lengths)[:, None]  #? Which row is the last one that counts? Rows are the queries, axis 1 of alpha.
    #! real = np.arange(H.shape[1]) <= np.asarray(lengths)[:, None]  | the mean over the rows t <= lengths[b]
    #! real = np.arange(H.shape[1]) < np.asarray(lengths)[:, None] - 1  | the mean over the rows t < lengths[b] - 1
    #! real = np.arange(H.shape[1]) >= np.asarray(lengths)[:, None]  | the mean over the rows of padding
    return H[real].mean()  #? Rows beyond the end of a string have weights too, but no output. Every row that counts counts once.
    #! return H.mean()  | the mean over all rows, padding included
    #! return H[real].sum() / H.size  | the sum of real rows / (B L)
    #! return -(alpha * logs * (np.arange(alpha.shape[2]) < np.asarray(lengths)[:, None])[:, None]).sum(-1).mean()  | the mean over all rows of the keys s < lengths[b]
    #! return H.sum() / real.sum()  | the sum of all rows / the number of real ones
    #! return ((H * real).sum(1) / real.sum(1)).mean()  | the mean over strings of their means
    #! return np.median(H[real])  | the median of the rows
    #! return H[real].sum()  | the sum over the rows


def training_step(model, optimizer, batch):
    """Do one training step on a batch; return the loss before the step, a float.

    loss       the mean cross-entropy of ``model(source, target_in, lengths)`` against
               target_out, where that is not PAD (``mg.cross_entropy``, ignore_index)
    gradients  those of this batch alone, clipped to a total norm of CLIP
               (``optim.clip_grad_norm_``, of a list of parameters)
    """
    logits = model(batch.source, batch.target_in, batch.lengths)  #? Which of the two targets has SOS in front of the letters? Which argument says where each source ends?
    #! logits = model(batch.source, batch.target_out, batch.lengths)  | the step of a model that reads target_out
    #! logits = model(batch.source, batch.target_in)  | a step that reads the padding of the source
    loss = mg.cross_entropy(logits, batch.target_out, ignore_index=PAD)  #? Where target_out is PAD, no output counts.
    #! loss = mg.cross_entropy(logits, batch.target_out)  | a step down a loss that counts padding
    optimizer.zero_grad()  #? backward adds to the gradients of the step before.
    #! pass  | a step whose gradients were not cleared
    loss.backward()  #? A step clears the gradients, computes them, and moves the parameters, in this order.
    #! loss.backward(); optimizer.zero_grad()  | a step of a model that does not move
    optim.clip_grad_norm_(list(model.parameters()), CLIP)  #? Clip all gradients together, after backward and before the step.
    #! pass  | a step that was not clipped
    #! [optim.clip_grad_norm_([p], CLIP) for p in model.parameters()]  | a step that clips each parameter alone
    optimizer.step()  #? Count the calls of optimizer.step().
    #! optimizer.step(); optimizer.step()  | two optimizer.step() in each step
    return loss.item()  #? Return the loss of the model before the step, a mean over all symbols that count.
    #! return mg.cross_entropy(model(batch.source, batch.target_in, batch.lengths), batch.target_out, ignore_index=PAD).item()  | the loss after the step
    #! return loss.item() / len(batch.lengths)  | the loss, divided by the number of strings
    #! return loss  | no-float


def train(kind, d, steps, seed, every):
    """Train ``_model(kind, d, seed)`` on ``_batches(seed)``, by Adam with lr=RATE.

    Measure the entropy on the batch number 10**6, which no step uses: before the steps
    0, every, 2 every, … Its lengths are ``target_lengths``, which count EOS as well.
    ->  {"loss": array (steps,), "entropy": array (steps / every, rounded up)}
    """
    model, batches = _model(kind, d, seed), _batches(seed)  #? Which kind, which width, which seed? Both the model and the batches need the seed.
    #! model, batches = _model("dot", d, seed), _batches(seed)  | training with kind "dot"
    #! model, batches = _model("scaled", d, seed), _batches(seed)  | training with kind "scaled"
    #! model, batches = _model(kind, d, 0), _batches(seed)  | training of a model with seed 0
    #! model, batches = _model(kind, d, seed), _batches(0)  | training on the batches of seed 0
    #! model, batches = _model(kind, d, 0), _batches(0)  | training with seed 0
    optimizer = optim.Adam(list(model.parameters()), lr=RATE)  #? Which optimizer, with which rate? Make it once: Adam keeps two means from step to step.
    #! optimizer = optim.Adam(list(model.parameters()))  | training with lr=1e-3, the rate of Adam
    #! optimizer = optim.SGD(list(model.parameters()), lr=RATE)  | training with SGD in the place of Adam
    unseen, losses, entropies = batches[10**6], [], []  #? Measure the entropy on a batch that no step uses.
    #! unseen, losses, entropies = batches[0], [], []  | entropies on the batch of step 0
    for i in range(steps):
        if i % every == 0:  #? The first entropy is that of the model before its first step.
            #! if i % 2 == 0:  | entropies before every second step
            H = attn_entropy(_weights(model, unseen), unseen.target_lengths)  #? Of the model that you train. The row that writes EOS counts, too.
            #! H = attn_entropy(_weights(model, unseen), unseen.lengths)  | entropies of the rows without EOS
            #! H = attn_entropy(_weights(model, batches[i]), batches[i].target_lengths)  | entropies on the batch of their step
            #! H = attn_entropy(_weights(_model(kind, d, seed), unseen), unseen.target_lengths)  | the entropy before all steps
            entropies.append(H)
        losses.append(training_step(model, optimizer, batches[i]))  #? Step i is done on batch number i, and the first i is 0.
        #! losses.append(training_step(model, optimizer, batches[0]))  | training on one batch
        #! losses.append(training_step(model, optimizer, batches[i + 1]))  | steps on batches[i + 1]
        #! losses.append(training_step(model, optim.Adam(list(model.parameters()), lr=RATE), batches[i]))  | training with a new Adam in each step
        #! losses.append(training_step(model, optimizer, batches[i])); entropies[i // every] = entropies[-1] if i % every else attn_entropy(_weights(model, unseen), unseen.target_lengths)  | entropies after their steps
    H = np.array(entropies, np.float32)  # as precise as the weights
    return {"loss": np.array(losses), "entropy": H}


def explanation():
    """Return a string: why do the two differ so in your figure, in loss and entropy?

    Write ten words or more after the long run. They are not graded; the check prints
    what a good answer says.
    """
    return (  #? What does a factor of 16 do to the differences of scores while states grow?
        "which of the two is lower in loss and in entropy, by how much, and whether "
        "the interval contains 0\n"
        "why: a factor of 16 makes differences of scores large while states grow\n"
        "what sharp weights do to the gradient: p (1 - p) is small near 0 and 1\n"
        "what the figure does not show: a GRU whose states begin small, one task; "
        "unscaled does train at 256"
    )


# ---- THE CHECK: each call my.f(…) is compared with the function f above

import copy

from lessons.course.comparisons import Scaling
from lessons.course.long_runs import compared, examine, own_record
from lessons.course.words import locked, self_assessed

picture = Scaling.picture
TIME_LIMIT = 30
EPSILON = 1e-10  # so that log(p + 1e-12) is near enough


def random_weights(my, rng):
    """the mean entropy of random weights, which are 0 at padding"""
    for lengths in ([5, 3, 1], [4, 5, 2]):
        z = np.exp(2 * rng.normal(size=(3, 5, 7)))
        z[1:, :, 5:] = 0
        alpha = z / z.sum(-1, keepdims=True)
        my.near(EPSILON).attn_entropy(alpha, np.array(lengths))


def certain(my, rng):
    """a single row that counts; all others have one key"""
    alpha = np.zeros((2, 3, 5))
    alpha[:, :, 2] = 1
    alpha[0, 0] = 0.2
    my.near(EPSILON).attn_entropy(alpha, np.array([1, 0]))


def three_steps(my, rng):
    """three steps of gradient descent, which shows the size of a gradient"""
    seed = int(rng.integers(1000))
    model, batches = _model("scaled", 7, seed), Batches(seed, 5, 3, 8)
    model.decoder.output.weight.data[...] *= 30  # gradients that have to be clipped
    optimizer = optim.SGD(list(model.parameters()), lr=0.5)
    loss = my.only.training_step(*copy.deepcopy((model, optimizer)), batches[0])
    is_float, kind = isinstance(loss, (float, np.floating)), type(loss).__name__
    my.holds("training_step", is_float, "the loss, a float", kind, "no-float")
    for i in range(3):
        my.near(1e-4).training_step(model, optimizer, batches[i])


def first_steps(my, rng):
    """the first steps of training, of both kinds"""
    for kind, steps, every in (("dot", 1, 1), ("scaled", 2, 1), ("dot", 4, 3)):
        my.near(1e-6).train(kind, 11, steps, int(rng.integers(1, 99)), every)


def predicted(my, rng):
    """your prediction"""
    found = my.only.prediction()
    text = '{"loss": "dot" or "scaled", "entropy": "dot" or "scaled"}', repr(found)
    my.holds("prediction", is_prediction(found), *text, "prediction")


def the_long_run(my, rng):
    """your own training at width 256, and your explanation"""
    found, first = own_record(my), locked(my, is_prediction)
    print(f"you predicted: {first}, the smaller of each")
    print(Scaling.statement(found))
    self_assessed(my, my.only.explanation(), *explanation().splitlines())


def is_prediction(found):
    return isinstance(found, dict) and all(
        found.get(what) in Scaling.arms for what in ("loss", "entropy")
    )


def experiment(my, seed=0, quick=False):
    """Compare both kinds, with the learner's training step and entropy."""
    locked(my, is_prediction)
    examine(my, but="the_long_run")
    used = my.training_step, my.attn_entropy  # of which the record is
    found = {"d": Scaling.d, **compared(my, Scaling(my, seed), quick)}
    print(Scaling.statement(found))
    return found


HINTS = """
training_step  Which lines does every step have, in which order, and which gradients are
   there before?
train  A batch for each step, and the measurement before the step.
1  Compute the entropy of each row first, (B, L). Then select all rows that count and
   take one mean.
2  A step: logits, loss, clear the old gradients, backward, clip, step. The order of the
   last four matters.
3  np.arange(L) < lengths[:, None] is True for the rows that count, and H[real] is a flat
   array of their entropies. In train, measure before the step.
"""
WHY = """Rows of padding contain no task, so a loss or an entropy that includes them
measures the padding as well. Both models have equal parameters and see the same batches,
so what differs between the runs comes from the factor 1 / sqrt(d)."""
