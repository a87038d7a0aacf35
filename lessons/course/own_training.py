"""Small models that are trained with the functions of an answer, and what they learn.

    python -m lessons experiment 6.5

A class with a name is the experiment of an exercise: a task and models of the book. One
of them, "yours", computes a part by the functions of the answer. Each is trained once.
Models compute in float32, answers in float64.
"""

import functools
import os
import shutil
from importlib import import_module

import numpy as np

import attention
import minigrad as mg
from attention.app.machine import set_blas_threads
from attention.app.run_folder import States
from attention.exact.multihead import heads
from attention.layers import Attention
from attention.seq2seq.reverser import Reverser
from attention.tasks import reversal
from attention.tasks.batch import PAD, SOS
from attention.transformer import TransformerConfig
from minigrad import nn

from ..classroom.catalogue import find, work_folder
from ..classroom.records import fingerprint, record
from ..classroom.terminal import display_path, say, without_breaks
from ..pages.figures import BLUE, GREEN, ORANGE, figure
from .long_runs import OwnModels, command_of, examine
from .read import text_of

# the scripts of lessons 10, 15 and 18, with their models and tasks
blocks, lookups, memories = (
    import_module(f"lessons.book.{folder}.experiment")
    for folder in ("10_heads", "15_weights", "18_memories")
)
Block, Memory = blocks.Transformer, memories.Memory
AVERAGED = 10  # the losses of so many steps are one point of a curve


def trained(my, seed=0, quick=False):
    """Train the models of an exercise; say and draw what they learned; return it.

    quick   a quarter of the steps
    """
    examine(my)
    set_blas_threads(1)
    study = STUDIES[my.id](my, seed)
    study.every = study.budget // (40 if quick else 10)
    study.budget = 10 * study.every
    code = study.answer[0] + text_of(__file__)
    name = find(my.id).stem + "-quick" * quick
    folder = work_folder() / "records" / "states" / f"{name}-{fingerprint(code)}"
    say(f"{study.question} {study.about}")
    jobs = [(arm, study.rate(arm), seed) for seed in study.seeds for arm in study.arms]
    workers = (os.cpu_count() or 1) if study.processes else 1
    runs = study.train_all(jobs, States(folder, command_of(my, quick)), workers, say)
    shutil.rmtree(folder, ignore_errors=True)
    say(said := study.sentence(*runs))
    path = work_folder() / "figures" / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    look = {"dpi": 150, "facecolor": "white", "transparent": False}
    study.picture(runs).savefig(path, **look)
    say(f"Your curve and your weights: {without_breaks(display_path(path))}")
    return {"question": study.question, "found": said, "runs": runs}


def learned(f, rows=0):
    """Return an operation on tensors from f(*arrays) -> (y, backward) of an answer.

    rows   f takes one example of its first ``rows`` arguments; the gradients of the
           others are sums over the examples. 0: f takes a batch
    """

    def of_batch(*arrays):
        made = [f(*each, *arrays[rows:]) for each in zip(*arrays[:rows])]

        def backward(g):
            found = zip(*(back(g_b) for (_, back), g_b in zip(made, g)))
            found = [np.array(each) for each in found]  # (B, …)
            return *found[:rows], *(each.sum(0) for each in found[rows:])

        return [y for y, _ in made], backward

    def operation(*arrays):
        y, back = (of_batch if rows else f)(*map(np.float64, arrays))

        def backward(g):
            found = back(np.float64(g))
            found = found if isinstance(found, tuple) else (found,)
            return [np.float32(each) for each in found]

        return np.float32(y), backward

    return mg.lift(operation)


class Training(OwnModels):
    """What the experiments share: what is measured, said and drawn.

    of, where, cases  words of the sentence: what is right, where the largest weight
                      should lie, and in how many cases it does
    across, down      the labels of the keys and of the queries
    word              the letters beside the weights, or None

    weights(model)    returns weights (B, H, T, S) of test data, the place (B, T) that
                      should have the largest one, or -1, and (H, T, S) to draw
    """

    arms, seeds, word = ("yours",), (1,), None
    about = "A model is trained with your functions and their gradients."

    def rate(self, arm):
        """Return the learning rate of an arm: the one that the book's record chose."""
        record_of, part = self.kept
        arm = self.arms[1] if arm == "yours" else arm
        return record(record_of)[part]["chosen"][arm]

    def test(self, arm, model):
        weights, place, drawn = self.weights(model)
        hits = (weights.argmax(-1) == place[:, None]).swapaxes(1, 2)  # (B, T, H)
        top = hits[place >= 0].mean(0).tolist()
        return super().test(arm, model) | {"top": top, "drawn": drawn}

    def result(self, job, run):
        steps = len(run.losses) // AVERAGED * AVERAGED
        losses = np.reshape(run.losses[:steps], (-1, AVERAGED)).mean(1)
        return super().result(job, run) | {"losses": losses.tolist()}

    def line(self, job, result):
        return f"{job[0]}: {result['figure']:.1%}, {result['seconds']:.0f} s"

    def sentence(self, yours, *others):
        """Return what the runs have measured."""
        best = int(np.argmax(yours["top"]))
        head = f" of head {best + 1}" * (len(yours["top"]) > 1)
        other = ", ".join(f"{run['arm']} {run['figure']:.1%}" for run in others)
        other = f" (one run of each: {other})" * bool(other)
        return (
            f"Yours: {yours['figure']:.1%} {self.of}{other}; the largest weight{head} "
            f"lies on {self.where} in {yours['top'][best]:.1%} of {self.cases}."
        )

    def picture(self, runs):
        """Draw the losses of all runs, and the weights of the first and the last."""
        drawn = {run["arm"]: run["drawn"] for run in (runs[0], runs[-1])}
        panels = [(arm, k, each) for arm in drawn for k, each in enumerate(drawn[arm])]
        size = 2.7 * (1 + len(panels)), 3
        fig, (first, *axes) = figure(self.question, columns=1 + len(panels), size=size)
        for run, colour, style in zip(runs, (BLUE, ORANGE, GREEN), ("-", "--", ":")):
            steps = AVERAGED * (1 + np.arange(len(run["losses"])))
            first.plot(steps, run["losses"], style, color=colour, label=run["arm"])
        first.set(xlabel="step", ylabel="loss", ylim=(0, None))
        first.legend()
        for ax, (arm, k, weights) in zip(axes, panels):
            ax.grid(False)
            image = ax.imshow(weights, cmap="Reds", vmin=0, vmax=1, aspect="auto")
            head = f", head {k + 1}" * (len(drawn[arm]) > 1)
            ax.set(title=f"weights: {arm}{head}", xlabel=self.across)
            if self.word:
                ax.set_xticks(range(len(self.word)), self.word)
                ax.set_yticks(range(len(self.word)), self.word[::-1])
        axes[0].set(ylabel=self.down)
        fig.colorbar(image, ax=axes[-1])
        return fig


class Reversing(Training):
    """Strings of some lengths are trained, and new ones of the longest are reversed.

    The decoder begins with zeros and reads no letter that it has written. So all that
    it knows of a string comes through attention.
    """

    measure, budget = "share of right strings", 500
    of = "of the strings that training has not seen come out reversed"
    across, cases = "the letter that is read", "the steps"
    down = where = "the letter that is written"
    lengths, word, sizes = (3, 6), "animal", (24, 48)

    def rate(self, arm):
        return 0.01

    def batches(self, seed):
        return reversal.Batches(seed, self.batch, *self.lengths)

    def draw(self, B, seed):
        return (reversal.Batches(seed, B, self.lengths[1], self.lengths[1])[0],)

    def loss_at(self, arm, run, seed, step):
        batch = run.batches[step]
        logits, _ = self.read(run.model, batch)
        y = batch.target_out[:, : logits.shape[1]]
        return mg.cross_entropy(logits, y, ignore_index=PAD)

    def right(self, model, batch):
        written = self.read(model, batch)[0].numpy().argmax(-1)  # (B, T)
        return (written == batch.target_out[:, : written.shape[1]]).all(1)

    def weights(self, model):
        [batch], S = self.held[1], self.lengths[1]
        word = reversal.make_batch(reversal.encode(self.word)[None], [S])
        found, drawn = (self.read(model, each)[1][:, :, :S] for each in (batch, word))
        return found, np.tile(S - 1 - np.arange(S), (len(found), 1)), drawn[0]

    def read(self, model, batch):
        """Return the logits (B, T, V) and the weights (B, H, T, S)."""
        none = np.full_like(batch.target_in, SOS)
        found = model.forced(batch.source, none, batch.lengths)
        return found.logits, found.weights.numpy()[:, None]

    def model(self, arm, rng):
        """Return a model whose additive attention is replaced by that of ``own``."""
        model = Reverser("additive", *self.sizes, rng=rng)
        if arm == "yours":
            step, model.decoder.is_fused = model.decoder.order, False
            step.attention = self.own(self.my, step.attention)
        return model


class OwnAttention(Attention):
    """A layer that attends by the functions of 6.5, from one query for each example."""

    def __init__(self, my, layer):
        super().__init__()
        self.W = [layer.W_q, layer.W_k, layer.w_v]
        self.my, self.attend = my, learned(self.one, 3)

    def one(self, s, H, allowed, *W):
        mask = allowed > 0
        c, alpha = self.my.bahdanau_forward(s, H, *W, mask)

        def backward(g):
            d = self.my.bahdanau_backward(s, H, *W, mask, g[: len(c)])
            return d["s"], d["H"], 0 * allowed, d["W_s"], d["W_h"], d["v"]

        return np.concatenate([c, alpha]), backward

    def forward(self, queries, keys, values, lengths):
        allowed, d = np.arange(values.shape[1]) < lengths[:, None], values.shape[2]
        y = self.attend(queries[:, 0], values, allowed, *self.W)[:, None]
        self.attention_weights = y[..., d:].detach()
        return y[..., :d]


class Bahdanau(Reversing):
    name, question = "6.5", "Does your attention learn to reverse strings?"
    about = "The attention is yours, of 6.5. The GRU is the library's."
    own = OwnAttention


class OwnWindows(Attention):
    """The score of a layer, through the windows of 38.5; t steps were taken."""

    def __init__(self, my, layer):
        super().__init__()
        self.my, self.layer, self.t = my, layer, 0

    def precompute(self, keys):
        self.t = 0
        return super().precompute(keys)

    def forward(self, queries, keys, values, lengths):
        self.t += 1
        windows = self.my.batch_masks(lengths, values.shape[1], self.t, 2)
        score, mask = self.layer.score, windows[:, -1:]  # (B, 1, S)
        c, p = attention.attend(queries, values, values, score, mask)
        self.attention_weights = p.detach()
        return c


class Windows(Reversing):
    name, question = "38.5", "Does a model reverse strings through your windows?"
    about = "One model reads strings through your windows of 5 letters, the other all."
    arms, lengths, word, own = ("yours", "all letters"), (3, 8), "umbrella", OwnWindows


class OwnHeads(nn.Module):
    """Self-attention by the functions of E.10, with the matrices of a layer."""

    def __init__(self, my, layer):
        self.W = [getattr(layer, name).weight for name in ("W_q", "W_k", "W_v", "W_o")]
        self.my, self.H = my, layer.num_heads
        self.attend = learned(lambda X, Y, *W: my.multihead(X, Y, *W, self.H), 2)

    def forward(self, x, is_causal=False, need_weights=False):
        z = self.attend(x, x, *self.W)
        if not need_weights:
            return z
        # of one-hot values, as wide as a head (8), the output is the weights
        X, W_q, W_k = (np.float64(each.numpy()) for each in (x, *self.W[:2]))
        values = np.tile(np.eye(x.shape[1]), (self.H, 1, 1))
        pairs = ((self.my.split(each @ W.T, self.H) for W in (W_q, W_k)) for each in X)
        weights = [self.my.attention(*pair, values)[0] for pair in pairs]
        return z, mg.tensor(np.array(weights))


class Heads(Reversing):
    name, question = "E.10", "Do your heads learn to reverse strings?"
    lengths, word, budget = (8, 8), "umbrella", 600
    config = TransformerConfig(reversal.VOCABULARY, width=16, heads=2, layers=1)

    def model(self, arm, rng):
        model = Block(self.config, rng=rng)
        model.attentions = [OwnHeads(self.my, layer) for layer in model.attentions]
        return model

    def read(self, model, batch):
        return model(batch.source), None if model.training else model.weights[0]


class Weighing(Training):
    """A lookup of lesson 15 whose weights are made by ``own``, in one of the models."""

    where, cases = "the key that fits", "the lookups that have one"
    across, down, budget = "key", "lookup", 600

    def model(self, arm, rng):
        model = super().model(self.arms[1] if arm == "yours" else arm, rng)
        if arm == "yours":
            model.normalize = functools.partial(self.own, model.b)
        return model

    def weights(self, model):
        q, k, v, _, place, none = self.held[1]
        model(q, k, v)
        p = model.p.numpy()[:, None]  # (B, 1, 1, n)
        return p, np.where(none, -1, place)[:, None], p[:16, 0].swapaxes(0, 1)


class Sparsemax(Weighing, lookups.Many):
    name, question = "E.17", "Does your sparsemax find one key among many?"
    of = "of the wanted values are explained with 1024 keys, after training with 16"
    arms, kept = ("yours", "sparsemax", "softmax"), ("weights", "many")

    def own(self, b, s, allowed):
        return learned(self.my.sparsemax)(s[:, 0])[:, None]

    def test(self, arm, model):
        found = super().test(arm, model)
        return found | {"figure": found["at"]["1024"]}


class Sink(Weighing, lookups.Nothing):
    name, question = "E.18", "Does your sink learn that no key fits?"
    of = "of the wanted values are explained, in lookups that training has not seen"
    arms, kept = ("yours", "sink", "softmax"), ("weights", "nothing")

    def own(self, b, s, allowed):
        p = learned(self.my.sink_softmax)(s.swapaxes(0, 1), b[None])  # (1, B, n)
        return p.swapaxes(0, 1)


class OwnMemory(Memory):
    """The memory "delta" with one head, which reads and writes by E.21."""

    def __init__(self, my, *sizes):
        super().__init__("delta", *sizes)
        self.rule = learned(my.delta_rule, 4)

    def read(self, x, q, k, v):
        k = k / mg.sqrt((k * k).sum(-1, keepdims=True) + 1e-6)  # of length 1
        b = mg.sigmoid(self.W_b(x))[..., 0]
        return self.rule(q[:, 0], k[:, 0], v[:, 0], b)[:, None]


class Delta(Training, memories.Names):
    name, question = "E.21", "Does your delta rule replace a value?"
    of = "of the values are right, in texts that training has not seen"
    where, cases = "the last value of the name", "the questions"
    across, down = "token that writes a value", "question"
    arms, kept = ("yours", "delta", "sum"), ("memories", "names")
    budget, held_out = 480, (50, 200)

    def model(self, arm, rng):
        sizes = self.names + memories.VALUES, self.questions, rng, 1
        return OwnMemory(self.my, *sizes) if arm == "yours" else Memory(arm, *sizes)

    def weights(self, model):
        """The output is linear in the values: of one-hot rows, it is the weights."""
        (x, *_), n, N = self.held[1], self.writes, self.names
        q, k = (heads(W, x, 1) for W in (model.W_q, model.W_k))
        one_hot = np.tile(np.eye(x.shape[1], dtype=np.float32), (len(x), 1, 1, 1))
        p = model.read(x, q, k, mg.tensor(one_hot)).numpy()[:, :, n:, :n]
        same = x[:, n:, :N] @ x[:, :n, :N].swapaxes(1, 2)  # (B, questions, writes)
        last = n - 1 - same[..., ::-1].argmax(-1)
        return p, np.where(same.any(-1), last, -1), p[0]


STUDIES = {s.name: s for s in (Bahdanau, Windows, Heads, Sparsemax, Sink, Delta)}
