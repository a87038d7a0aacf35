"""Check an answer to 38.4."""

import functools
import math

import numpy as np

import minigrad as mg
from attention.app.experiments.fair import difference
from attention.app.experiments.verdict import above, below
from attention.seq2seq.reverser import Reverser
from attention.tasks.reversal import PAD, Batches
from attention.training import Run
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.predictions import locked
from lessons.checks.words import self_assessed
from lessons.classroom.steps import edges, laws, numbers, shape, values
from lessons.course.long_runs import OwnModels, compared, examine, judged, own_record
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
    my.shape(_floats(found["entropy"]), (3,), ("k",))


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


@values("three steps, against steps with the engine")
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

    got, want = moved(my.training_step), moved(descend)
    wrong = [
        ("not-cleared", "steps whose gradients were not cleared", {"clear": False}),
        ("unclipped", "steps that were not clipped", {"clip": None}),
        ("clipped-apart", "steps that clip each parameter alone", {"apart": True}),
        ("padding-loss", "steps down a loss that counts padding", {"ignore": -1}),
        ("target-shown", "steps of a model that reads target_out", {"shift": False}),
        ("does-not-move", "a model that does not move", {"moves": 0}),
        ("no-lengths", "steps that read the padding of the source", {"padded": True}),
        ("step-twice", "two optimizer.step() in each step", {"moves": 2}),
        ("after-step", "losses after their steps", {"after": True}),
    ]
    for k, axis in enumerate(("step", "parameter")):
        named = [
            (tag, s, lambda how=how: moved(functools.partial(descend, **how))[k])
            for tag, s, how in wrong
        ]
        my.equal(got[k], want[k], (axis,), named, rtol=1e-4, atol=1e-6)


@values("the first five steps of training, against a loop with the engine")
def five_steps(my, rng):
    for kind, seed in zip(KINDS, (1, 2)):
        right = {"kind": kind, "d": 11, "steps": 5, "seed": seed, "every": 1 + seed}
        found, want = my.train(**right), trace(**right)
        other = KINDS[1 - KINDS.index(kind)]
        wrong = [
            ("same-batch", "five steps on one batch", {"batch": lambda i: 0}),
            ("one-kind", f'training with kind "{other}"', {"kind": other}),
            ("seed", "training with another seed", {"seed": 3 - seed}),
            ("seed", "training of a model with seed 0", {"seeds": (0, seed)}),
            ("seed", "training on the batches of seed 0", {"seeds": (seed, 0)}),
            ("rate", "training with lr=1e-3, the rate of Adam", {"lr": 1e-3}),
            ("no-adam", "training with SGD in the place of Adam", {"by": optim.SGD}),
            ("late", "entropies after their steps", {"after": 1}),
            ("batch-after", "steps on batches[i + 1]", {"batch": lambda i: i + 1}),
            ("new-optimizer", "training with a new Adam in each step", {"anew": True}),
            ("without-eos", "entropies of the rows without EOS", {"eos": False}),
            ("seen", "entropies on the batch of step 0", {"unseen": lambda i: 0}),
            ("seen", "entropies on the batch of their step", {"unseen": lambda i: i}),
            ("untrained", "the entropy before all steps", {"moves": 0}),
        ]
        [call] = my.last_call("train")
        for what, axes in (("loss", ("step",)), ("entropy", {"step": range(0, 5, 2)})):
            named = [
                (tag, s, lambda how=how: trace(**right | how)[what])
                for tag, s, how in wrong
                if what == "entropy" or tag != "untrained"
            ]
            text = f'"{what}" of {call}'
            got = _floats(found[what])
            my.equal(got, want[what], axes, named, rtol=1e-6, call=text)


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
    first = locked(my, is_prediction)
    loss, entropy = first["loss"], first["entropy"]
    print(f"you predicted: smaller loss {loss}, smaller entropy {entropy}")
    print(statement(found))
    self_assessed(
        my,
        my.explanation(),
        "which of the two is lower in loss and in entropy, by how much, and whether "
        "the interval contains 0",
        "why: a factor of 16 makes differences of scores large while states grow",
        "what sharp weights do to the gradient: p (1 - p) is small near 0 and 1",
        "what the figure does not show: a GRU whose states begin small, one task; "
        "unscaled does train at 256",
    )


class OwnRun(Run):
    """A run that computes its gradients with the learner's training step."""

    def __init__(self, my, model, optimizer):
        super().__init__(model, optimizer)
        self.my = my

    def backward(self, batch):
        """Compute the gradients; return the loss. ``Run.step`` moves the parameters."""
        my = self.my
        loss = my.training_step(self.model, Held(self.optimizer), batch)
        if not math.isfinite(loss):
            raise FloatingPointError(f"The loss became {loss} at step {self.steps}.")
        return loss


class Held:
    """An optimizer that moves no parameter."""

    def __init__(self, optimizer):
        self.zero_grad = optimizer.zero_grad

    def step(self):
        """Do nothing."""


class Scaling(OwnModels):
    """Both kinds, at the width of the chapter's exercise."""

    name, question = "scaling", "Width 256: does it help to divide scores by 16?"
    measure = "probability of the right symbol in unseen strings, geometric mean"
    arms, rates, chance = KINDS, (1e-3, 2e-3, 4e-3, 8e-3), 1 / 27
    every, budget, d = 20, 1200, 256

    def build(self, arm, rate, seed):
        own = model(arm, self.d, seed)
        return OwnRun(self.my, own, optim.Adam(list(own.parameters()), lr=rate))

    def loss_at(self, arm, run, seed, step):
        return batches_of(seed)[step]

    def validate(self, arm, model):
        return math.exp(-self.watch(arm, model)["loss"])

    def watch(self, arm, model, part=0):
        my, batch = self.my, batches_of(part, 100)[10**6]  # strings that no step uses
        with mg.no_grad():
            output = model.forced(batch.source, batch.target_in, batch.lengths)
            loss = cross_entropy(output.logits, batch.target_out, ignore_index=PAD)
        entropy = my.attn_entropy(output.weights.numpy(), batch.target_lengths)
        return {"loss": loss.item(), "entropy": float(entropy)}

    def test(self, arm, model):
        found = self.watch(arm, model, part=1)
        return {"figure": math.exp(-found["loss"]), **found}


@functools.lru_cache(4)
def batches_of(seed, size=32):
    return Batches(seed, size, 3, 8)


def experiment(my, seed=0, quick=False):
    """Compare both kinds, with the learner's training step and entropy."""
    locked(my, is_prediction)
    examine(my, but="the_long_run")
    found = {"d": Scaling.d, **compared(my, Scaling(my, seed), quick)}
    print(statement(found))
    return found


def statement(found):
    """Return what a record says about both parts of the prediction."""
    return "\n".join(
        judged(claim, claimed, difference(found, "scaled", "dot", what), 3)
        for claim, claimed, what in (
            ("the loss of scaled is smaller than that of dot", below(0), "loss"),
            ("the entropy of scaled is larger than that of dot", above(0), "entropy"),
        )
    )


def _floats(found):
    """Return the values as float64: the weights of the model are float32."""
    return np.asarray(found, float)


def is_prediction(found):
    return isinstance(found, dict) and all(
        found.get(what) in KINDS for what in ("loss", "entropy")
    )


def picture(found):
    """Draw a record: losses and entropies of all runs."""
    fig, axes = figure(f"d = {found['d']}: does scaling help?", columns=2)
    for name, ax in zip(("loss", "entropy"), axes):
        for run in found["runs"]:
            values = run["watched"][name]
            colour = (BLUE, ORANGE)[KINDS.index(run["arm"])]
            label = run["arm"] * (run["seed"] == found["seeds"][0])
            steps = found["every"] * np.arange(len(values))
            ax.plot(steps, values, color=colour, label=label or None)
        ax.set(xlabel=f"step; {len(found['seeds'])} runs of each kind")
    axes[0].set(ylabel="loss in unseen strings, nats a symbol", yscale="log")
    axes[1].set(ylabel="entropy of the weights, nats")
    axes[0].legend()
    return fig


def wrong_means(alpha, lengths):
    B, L, _ = alpha.shape
    H = np.array([[entropy(row) for row in rows] for rows in alpha])
    real = [H[b, : lengths[b]] for b in range(B)]
    further = np.concatenate([H[b, : lengths[b] + 1] for b in range(B)])
    shorter = np.concatenate([H[b, : lengths[b] - 1] for b in range(B)])
    keys = [[entropy(row[:n]) for row in rows] for rows, n in zip(alpha, lengths)]
    together = np.concatenate(real)
    of_means = np.mean([each.mean() for each in real])
    return [
        ("counts-padding", "the mean over all rows, padding included", H.mean()),
        ("counts-padding", "the sum of real rows / (B L)", together.sum() / H.size),
        ("counts-padding", "the sum of all rows / the number of real ones",
         H.sum() / together.size),
        ("counts-padding", "the mean over the rows of padding",
         H[np.arange(L) >= np.array(lengths)[:, None]].mean()),
        ("off-by-one", "the mean over the rows t <= lengths[b]", further.mean()),
        ("off-by-one", "the mean over the rows t < lengths[b] - 1", shorter.mean()),
        ("median", "the median of the rows", np.median(together)),
        (
            "source-axis",
            "the mean over all rows of the keys s < lengths[b]",
            np.mean(keys),
        ),
        ("mean-of-means", "the mean over strings of their means", of_means),
        ("log2", "the entropy in bits", together.mean() / math.log(2)),
        ("sum", "the sum over the rows", together.sum()),
        ("divided", "the entropy / log S", together.mean() / math.log(alpha.shape[2])),
    ]  # fmt: skip


def descend(
    model,
    optimizer,
    batch,
    clear=True,
    clip=1.0,
    apart=False,
    ignore=PAD,
    shift=True,
    moves=1,
    after=False,
    padded=False,
):
    """Do one step of the engine; each option makes a mistake."""

    def of_batch():
        read = batch.target_in if shift else batch.target_out
        logits = model(batch.source, read, None if padded else batch.lengths)
        return cross_entropy(logits, batch.target_out, ignore_index=ignore)

    loss, parameters = of_batch(), list(model.parameters())
    if clear:
        optimizer.zero_grad()
    loss.backward()
    for group in [[p] for p in parameters] if apart else [parameters]:
        if clip:
            optim.clip_grad_norm_(group, clip)
    for _ in range(moves):
        optimizer.step()
    return (of_batch() if after else loss).item()


def trace(
    kind,
    d,
    steps,
    seed,
    every,
    seeds=None,
    lr=3e-3,
    by=optim.Adam,
    batch=lambda i: i,
    after=0,
    unseen=lambda i: 10**6,
    anew=False,
    eos=True,
    moves=1,
):
    """Return losses and entropies of training with the engine's steps."""
    of_model, of_batches = seeds or (seed, seed)
    twin, batches = model(kind, d, of_model), Batches(of_batches, 32, 3, 8)
    losses, entropies = [], []
    for i in range(steps):
        if i == 0 or anew:
            optimizer = by(list(twin.parameters()), lr=lr)
        if not after and i % every == 0:
            entropies.append(_entropy_on(twin, batches[unseen(i)], eos))
        losses.append(descend(twin, optimizer, batches[batch(i)], moves=moves))
        if after and i % every == 0:
            entropies.append(_entropy_on(twin, batches[unseen(i)], eos))
    return {"loss": np.array(losses), "entropy": np.array(entropies)}


def _entropy_on(model, batch, eos=True):
    output = model.forced(batch.source, batch.target_in, batch.lengths)
    weights = output.weights.numpy().astype(float)
    real = batch.target_out != PAD
    if not eos:
        real = np.arange(real.shape[1]) < batch.lengths[:, None]
    return float(np.mean([entropy(row) for row in weights[real]]))


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
    "does-not-move": [
        "A step needs three calls: clear the gradients, compute them, move the "
        "parameters. Is one missing? Is one too early, or too late?",
    ],
    "median": ["A mean has the sum of all rows, not the row in the middle."],
    "no-lengths": ["Which argument says where each source ends?"],
    "same-batch": ["Step i uses batches[i]."],
    "one-kind": [
        "Both kinds have the same initial values; their scores differ from the start.",
    ],
    "late": ["The first entropy is that of the model before its first step."],
    "untrained": ["Do you measure the model that you train?"],
    "clipped-apart": ["The total norm is that of all parameters in one list."],
    "target-shown": ["Which of the two targets has SOS in front of the letters?"],
    "step-twice": ["Count the calls of optimizer.step()."],
    "rate": ["RATE is the rate of Adam in this exercise."],
    "no-adam": ["Which optimizer does the docstring of train name?"],
    "seed": ["The seed is an argument. Both the model and the batches need it."],
    "off-by-one": ["The last row that counts is t = lengths[b] - 1."],
    "source-axis": ["Rows are the queries, axis 1 of alpha."],
    "seen": ["Measure the entropy on a batch that no step uses."],
}
