"""Check an answer to 38.4."""

import math

import numpy as np

from attention.app.experiments.reversal import loss_of
from attention.seq2seq.reverser import Reverser
from attention.seq2seq.training import Run
from attention.tasks.reversal import PAD, Batches
from lessons.checks.long_runs import each_of, own_record
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.predictions import locked
from lessons.checks.words import self_assessed
from lessons.classroom.steps import edges, laws, numbers, shape, values
from lessons.pages.figures import BLUE, ORANGE, figure
from minigrad import cross_entropy, optim

KINDS = ("dot", "scaled")
TIME_LIMIT = 30
EPSILON = 1e-11  # so that log(p + 1e-12) is near enough


def entropy(row, log=math.log):
    return -sum(p * log(p) for p in row if p > 0)


def random_weights(rng, B, L, S):
    """Return weights that are 0 at the last positions, as for padding."""
    z = np.exp(2 * rng.normal(size=(B, L, S)))
    z[1:, :, S - 2 :] = 0
    return z / z.sum(-1, keepdims=True)


def model(kind, d, seed):
    return Reverser(kind, hidden=d, rng=np.random.default_rng(seed))


def flat(model):
    """Return all parameters in one vector."""
    parts = [p.numpy().reshape(-1) for p in model.parameters()]
    return np.concatenate(parts).astype(float)


@shape("a number, a float, and two curves")
def two_curves(my, rng):
    alpha = random_weights(rng, 3, 5, 7)
    my.shape(my.attn_entropy(alpha, np.array([5, 3, 1])), (), "")
    found = my.train("dot", 3, 5, 1, 2)
    form = isinstance(found, dict) and set(found) == {"loss", "entropy"}
    my.holds(form, "type", 'expected {"loss": …, "entropy": …}', f"found {found!r}")
    my.shape(found["loss"], (5,), ("step",))
    my.shape(found["entropy"], (3,), ("k",))


@numbers("equal weights on 2 and on 4 positions, padding rows on one")
def equal_weights(my, rng):
    alpha = np.zeros((2, 3, 4))
    alpha[0, :2, :2], alpha[1, :1], alpha[0, 2:, 0], alpha[1, 1:, 0] = 0.5, 0.25, 1, 1
    lengths = np.array([2, 1])
    want = (2 * math.log(2) + math.log(4)) / 3
    my.equal(
        my.attn_entropy(alpha, lengths),
        want,
        "",
        wrong_means(alpha, lengths),
        atol=EPSILON,
    )


@values("the mean entropy, against a loop")
def against_a_loop(my, rng):
    alpha, lengths = random_weights(rng, 3, 5, 7), np.array([5, 3, 1])
    rows = [alpha[b, t] for b in range(3) for t in range(lengths[b])]
    want = sum(map(entropy, rows)) / len(rows)
    found, wrong = my.attn_entropy(alpha, lengths), wrong_means(alpha, lengths)
    my.equal(found, want, "", wrong, atol=EPSILON)


@values("three steps, against the engine's steps")
def three_steps(my, rng):
    """Use plain gradient descent, whose step shows the size of a gradient."""
    seed = int(rng.integers(1000))
    batches = Batches(seed, 5, 3, 8)

    def moved(step):
        """Return the losses of three steps and the parameters after them."""
        twin = model("scaled", 7, seed)
        twin.decoder.output.weight.data[...] *= 30  # gradients that have to be clipped
        optimizer = optim.SGD(list(twin.parameters()), lr=0.5)
        losses = [step(twin, optimizer, batches[i]) for i in range(3)]
        kind = "nothing" if losses[0] is None else type(losses[0]).__name__
        number = all(isinstance(v, (float, np.floating)) for v in losses)
        my.holds(number, "type", "expected the loss, a float", f"found {kind}")
        return np.array(losses, float), flat(twin)

    got = moved(my.training_step)
    want = moved(descend)
    wrong = [
        ("not-cleared", "steps whose gradients were not cleared", moved(descend_on)),
        ("unclipped", "steps that were not clipped", moved(unclipped)),
        ("padding-loss", "steps down a loss that counts padding", moved(with_padding)),
        ("no-step", "a model that does not move", moved(standing)),
        ("after-step", "losses after their steps", moved(looking_back)),
    ]
    for k, axis in enumerate(("step", "parameter")):
        my.equal(
            got[k],
            want[k],
            (axis,),
            [(t, s, w[k]) for t, s, w in wrong],
            rtol=1e-4,
            atol=1e-6,
        )


@values("the first five steps of training, against the engine's training")
def five_steps(my, rng):
    for kind, seed in zip(KINDS, (1, 2)):
        found = my.train(kind, 11, 5, seed, 2)
        want = trace(kind, 11, 5, seed, 2)
        other = KINDS[1 - KINDS.index(kind)]
        first = np.full(3, want["entropy"][0])
        wrong = [
            ("same-batch", "five steps on one batch", {"batch": lambda i: 0}),
            ("one-kind", f'training with kind "{other}"', {"kind": other}),
            ("seed", "training with another seed", {"seed": 3 - seed}),
            ("late", "entropies after their steps", {"after": 1}),
            ("batch-after", "steps on batches[i + 1]", {"batch": lambda i: i + 1}),
            ("new-optimizer", "training with a new Adam in each step", {"anew": True}),
            ("without-eos", "entropies of the rows without EOS", {"eos": False}),
            ("seen", "entropies on the batch of step 0", {"unseen": 0}),
        ]
        right = {"kind": kind, "d": 11, "steps": 5, "seed": seed, "every": 2}
        wrong = [(tag, s, trace(**right | change)) for tag, s, change in wrong]
        untrained = {"loss": want["loss"], "entropy": first}
        wrong += [("untrained", "the entropy before all steps", untrained)]
        for what in ("loss", "entropy"):
            named = [(tag, s, w[what]) for tag, s, w in wrong]
            named = [v for v in named if not _alike(v[2], want[what])]
            my.equal(found[what], want[what], ("k",), named, rtol=1e-6)


@laws("your prediction")
def predicted(my, rng):
    found = my.prediction()
    text = 'expected {"loss": "dot" or "scaled", "entropy": "dot" or "scaled"}'
    my.holds(is_prediction(found), "prediction", text, f"found {found!r}")


@edges("all weight on one key, and a single row that counts")
def certain(my, rng):
    alpha = np.zeros((2, 3, 5))
    alpha[:, :, 2] = 1
    found = my.attn_entropy(alpha, np.array([3, 1]))
    my.equal(found, 0.0, atol=EPSILON, size=1)
    alpha[0, 0] = 0.2
    found = my.attn_entropy(alpha, np.array([1, 0]))
    my.equal(found, math.log(5), atol=EPSILON)


@edges("your own training at width 256, and your explanation")
def the_long_run(my, rng):
    found = own_record(my)
    runs = found["runs"]
    seeds = {run["seed"] for run in runs if len(run["entropy"]) > 1}
    my.holds(
        found["d"] == 256 and len(seeds) > 1,
        "record",
        "expected runs at width 256, of two seeds",
        f"found width {found['d']}, seeds {sorted(seeds)}",
    )
    first = locked(my, is_prediction)
    loss, entropy = first["loss"], first["entropy"]
    print(f"you predicted: smaller loss {loss}, smaller entropy {entropy}")
    for run in runs:
        print(
            f"{run['kind']:<7} seed {run['seed']}  last loss {run['last_loss']:.4f}  "
            f"entropy {run['entropy'][0]:.3f} to {run['entropy'][-1]:.3f}"
        )
    self_assessed(
        my,
        my.explanation(),
        "which of the two is lower in loss and in entropy, in all runs, by how much",
        "why: a factor of 16 makes differences of scores large while states grow",
        "what sharp weights do to the gradient: p (1 - p) is small near 0 and 1",
        "what the figure does not show: two seeds, one rate, a GRU whose states begin "
        "small; unscaled does train at 256",
    )


def experiment(my, seed=0, d=256, steps=500, every=25):
    """Train both kinds with two seeds each, at the width of the chapter's exercise.

    The runs are shorter than the chapter's 2500 steps, with batches of 32 instead of
    64 and a constant rate. Only the kind and the seed differ between the runs.
    """
    locked(my, is_prediction)
    my.train(KINDS[0], 3, 2, seed, 1)  # fails at once if a part is not written

    def run(kind, k):
        found = my.train(kind, d, steps, seed + k, every)
        loss = np.asarray(found["loss"])
        return {
            "kind": kind,
            "seed": seed + k,
            "loss": [round(float(v), 6) for v in loss.reshape(-1, every).mean(1)],
            "entropy": [round(float(v), 6) for v in found["entropy"]],
            "last_loss": round(float(loss[-2 * every :].mean()), 6),
        }

    runs = each_of(my, [(kind, k) for kind in KINDS for k in (1, 2)], run, seed)
    return {
        "d": d,
        "steps": steps,
        "every": every,
        "batch": 32,
        "rate": 3e-3,
        "runs": runs,
    }


def is_prediction(found):
    return isinstance(found, dict) and all(
        found.get(what) in KINDS for what in ("loss", "entropy")
    )


def picture(found):
    """Draw a record: losses and entropies of all runs."""
    fig, (left, right) = figure(f"d = {found['d']}: does scaling help?", columns=2)
    for run in found["runs"]:
        colour = (BLUE, ORANGE)[KINDS.index(run["kind"])]
        line = {"color": colour, "label": f"{run['kind']}, seed {run['seed']}"}
        for ax, name, first in ((left, "loss", 1), (right, "entropy", 0)):
            steps = found["every"] * (first + np.arange(len(run[name])))
            ax.plot(steps, run[name], **line)
    left.set(xlabel="step", ylabel="loss, nats a symbol", yscale="log")
    right.set(xlabel="step", ylabel="entropy of the weights, nats")
    left.legend()
    return fig


def wrong_means(alpha, lengths):
    B, L, _ = alpha.shape
    H = np.array([[entropy(row) for row in rows] for rows in alpha])
    real = [H[b, : lengths[b]] for b in range(B)]
    together = np.concatenate(real)
    of_means = np.mean([each.mean() for each in real])
    return [
        ("counts-padding", "the mean over all rows, padding included", H.mean()),
        ("counts-padding", "the sum of real rows / (B L)", together.sum() / H.size),
        ("mean-of-means", "the mean over strings of their means", of_means),
        ("log2", "the entropy in bits", together.mean() / math.log(2)),
        ("sum", "the sum over the rows", together.sum()),
        ("divided", "the entropy / log S", together.mean() / math.log(alpha.shape[2])),
    ]


def descend(model, optimizer, batch, clip=1.0, clear=True, move=True, loss_of=loss_of):
    """Do one step of the engine; each option leaves something out."""
    loss = loss_of(model, batch)
    if clear:
        optimizer.zero_grad()
    loss.backward()
    if clip:
        optim.clip_grad_norm_(list(model.parameters()), clip)
    if move:
        optimizer.step()
    return loss.item()


def descend_on(*args):
    return descend(*args, clear=False)


def unclipped(*args):
    return descend(*args, clip=None)


def standing(*args):
    return descend(*args, move=False)


def with_padding(*args):
    return descend(*args, loss_of=_loss_with_padding)


def looking_back(model, optimizer, batch):
    descend(model, optimizer, batch)
    return loss_of(model, batch).item()


def _loss_with_padding(model, batch):
    logits = model(batch.source, batch.target_in, batch.lengths)
    return cross_entropy(logits, batch.target_out)


def trace(
    kind,
    d,
    steps,
    seed,
    every,
    batch=lambda i: i,
    after=0,
    unseen=10**6,
    anew=False,
    eos=True,
):
    """Return losses and entropies of a ``Run`` of the engine."""
    twin, batches = model(kind, d, seed), Batches(seed, 32, 3, 8)
    run = Run(twin, optim.Adam(list(twin.parameters()), lr=3e-3), clip=1.0)
    probe, losses, entropies = batches[unseen], [], []
    for i in range(steps):
        if not after and i % every == 0:
            entropies.append(_entropy_on(twin, probe, eos))
        if anew:
            run = Run(twin, optim.Adam(list(twin.parameters()), lr=3e-3), clip=1.0)
        run.descend(loss_of(twin, batches[batch(i)]))
        losses.append(run.losses[-1])
        if after and i % every == 0:
            entropies.append(_entropy_on(twin, probe, eos))
    return {"loss": np.array(losses), "entropy": np.array(entropies)}


def _entropy_on(model, batch, eos=True):
    output = model.forced(batch.source, batch.target_in, batch.lengths)
    weights = output.weights.numpy().astype(float)
    real = batch.target_out != PAD
    if not eos:
        real = np.arange(real.shape[1]) < batch.lengths[:, None]
    return float(np.mean([entropy(row) for row in weights[real]]))


def _alike(a, b):
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-9)


HINTS = {
    "batch-after": ["Step i is done on batch number i, and the first i is 0."],
    "new-optimizer": ["Adam keeps two means from step to step. Make it once."],
    "without-eos": ["The row that writes EOS counts, too: batch.target_lengths."],
    "prediction": [
        'The docstring gives the two keys; each value is "dot" or "scaled".',
    ],
    "attn_entropy": [
        "Compute one entropy for each row, select the rows that count, then take one "
        "mean.",
    ],
    "training_step": [
        "Which lines does every step have, in which order, and which gradients are "
        "there before?",
    ],
    "train": ["A batch for each step, and the measurement before the step."],
    "": [
        "Compute the entropy of each row first, (B, L). Then select all rows that "
        "count and take one mean.",
        "A step: logits, loss, clear the old gradients, backward, clip, step. The "
        "order of the last four matters.",
        "np.arange(L) < lengths[:, None] is True for the rows that count, and "
        "H[real] is a flat array of their entropies. In train, measure before the "
        "step.",
    ],
    "counts-padding": [
        "Rows beyond the end of a string have weights too, but no output.",
    ],
    "mean-of-means": ["Long strings have more rows, and every row counts once."],
    "log2": ["The entropy is in nats: use the natural logarithm."],
    "nan": ["Padding has a weight of exactly 0. What is 0 times its logarithm?"],
    "divided": ["Return the entropy in nats, not its share of log S."],
    "not-cleared": ["backward adds to the gradients of the step before."],
    "unclipped": ["Clip the gradients after backward and before the step."],
    "padding-loss": ["Where target_out is PAD, no output counts."],
    "after-step": ["Return the loss of the model before the step."],
    "no-step": ["Which call moves the parameters?"],
    "same-batch": ["Step i uses batches[i]."],
    "one-kind": [
        "Both kinds have the same initial values; their scores differ from the start.",
    ],
    "late": ["The first entropy is that of the model before its first step."],
    "untrained": ["Do you measure the model that you train?"],
    "seen": ["Measure the entropy on a batch that no step uses."],
}
