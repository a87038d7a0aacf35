"""The long runs of the exercises 38.4 and 6.9: two models, by a learner's functions."""

import functools
import math
from types import SimpleNamespace

import numpy as np

import minigrad as mg
from attention.seq2seq.reverser import Reverser
from attention.tasks import reversal
from attention.tasks.batch import EOS, PAD, SOS, pad
from attention.tasks.batching import Batches
from attention.tasks.grammar import generate
from attention.tasks.vocabulary import Vocabulary
from attention.training import Run
from lessons.instrument.fair import difference
from lessons.instrument.translating import word_by_word
from lessons.instrument.verdict import above, below
from minigrad import optim

from ..pages.figures import BLUE, ORANGE, figure
from .long_runs import OwnModels, judged


def draw_runs(ax, found, points, **look):
    """Draw (x, y) = points(run) of each run in a record; an arm has one colour."""
    for run in found["runs"]:
        colour = (BLUE, ORANGE)[found["arms"].index(run["arm"])]
        label = run["arm"] * (run["seed"] == found["seeds"][0])
        ax.plot(*points(run), color=colour, label=label or None, **look)


def by_steps(found, values, first=0):
    """Return values and their steps; the first stands after ``first`` intervals."""
    return found["every"] * (first + np.arange(len(values))), values


class OwnRun(Run):
    """A run that computes its gradients with the learner's training step."""

    def __init__(self, my, model, optimizer):
        super().__init__(model, optimizer)
        self.my = my

    def backward(self, batch):
        """Compute the gradients; return the loss. ``Run.step`` moves the parameters."""
        held = SimpleNamespace(zero_grad=self.optimizer.zero_grad, step=lambda: None)
        loss = self.my.training_step(self.model, held, batch)
        if not math.isfinite(loss):
            raise FloatingPointError(f"The loss became {loss} at step {self.steps}.")
        return loss


class Scaling(OwnModels):
    """38.4: scores divided by sqrt(d) or not, at the width of the exercise."""

    name, question = "scaling", "Width 256: does it help to divide scores by 16?"
    measure = "probability of the right symbol in unseen strings, geometric mean"
    arms, rates = ("dot", "scaled"), (2e-3, 4e-3)
    every, budget, d, chance = 30, 600, 256, 1 / 27

    def build(self, arm, rate, seed):
        model = Reverser(arm, hidden=self.d, rng=np.random.default_rng(seed))
        return OwnRun(self.my, model, optim.Adam(list(model.parameters()), lr=rate))

    def loss_at(self, arm, run, seed, step):
        return batches_of(seed)[step]

    def validate(self, arm, model):
        return math.exp(-self.watch(arm, model)["loss"])

    def watch(self, arm, model, part=0):
        batch = batches_of(part, 100)[10**6]  # strings that no step uses
        output = model.forced(batch.source, batch.target_in, batch.lengths)
        loss = mg.cross_entropy(output.logits, batch.target_out, ignore_index=PAD)
        weights = output.weights.numpy()
        entropy = self.my.attn_entropy(weights, batch.target_lengths)
        return {"loss": loss.item(), "entropy": float(entropy)}

    def test(self, arm, model):
        found = self.watch(arm, model, part=1)
        return {"figure": math.exp(-found["loss"]), **found}

    @staticmethod
    def statement(found):
        """Return what a record says about both parts of the prediction."""
        claims = (
            ("the loss of scaled is smaller than that of dot", below(0), "loss"),
            ("the entropy of scaled is larger than that of dot", above(0), "entropy"),
        )
        return "\n".join(
            judged(claim, claimed, difference(found, "scaled", "dot", what), 3)
            for claim, claimed, what in claims
        )

    @staticmethod
    def picture(found):
        """Draw a record: losses and entropies of all runs."""
        fig, axes = figure(f"d = {found['d']}: does scaling help?", columns=2)
        for name, ax in zip(("loss", "entropy"), axes):
            draw_runs(ax, found, lambda run, n=name: by_steps(found, run["watched"][n]))
            ax.set(xlabel=f"step; {len(found['seeds'])} runs of each kind")
        axes[0].set(ylabel="loss in unseen strings, nats a symbol", yscale="log")
        axes[1].set(ylabel="entropy of the weights, nats")
        axes[0].legend()
        return fig


@functools.lru_cache(4)
def batches_of(seed, size=32):
    return reversal.Batches(seed, size, 3, 8)


# 6.9: a step of two decoders, and what it is compared with

B, S, V, E, D, M, A = 3, 7, 19, 5, 11, 13, 17
BUCKETS = ((5, 7), (8, 10), (11, 15))
KINDS = {"without": False, "with": True}  # attention


def parameters(rng, attends, sizes=(V, E, D, M, A), scale=0.5):
    V, E, D, M, A = sizes
    c = M if attends else 0
    shapes = {"E": (V, E), "W_ih": (3 * D, E + c), "W_hh": (3 * D, D), "b_ih": (3 * D,),
              "b_hh": (3 * D,), "W_o": (V, D + c), "b_o": (V,)}  # fmt: skip
    if attends:
        shapes |= {"W_s": (A, D), "W_h": (A, M), "v": (A,)}
    return {name: scale * rng.normal(size=shape) for name, shape in shapes.items()}


def draw(rng, attends, far=0):
    """Return p, y, s, H and mask, for ``decode_step``.

    far  1 or -1: the scores at padding are far above or far below the others
    """
    mask = np.arange(S) < np.array([7, 4, 1])[:, None]
    p, s, H = parameters(rng, attends), rng.normal(size=(B, D)), rng.normal(size=(B, S, M))
    if far:
        p["v"] = 1e4 * p["v"]
        H = np.where(mask[:, :, None], H, far * 1e2 * np.sign(p["W_h"].sum(0)))
    p = {name: mg.Tensor(x) for name, x in p.items()}
    return p, rng.integers(0, V, B), mg.Tensor(s), mg.Tensor(H), mask


def gradients(step, drawn, seed):
    """Return {name: gradient} of a step: of the parameters, "s" and "H"."""
    p, y, s, H, mask = drawn
    held = {
        name: mg.Tensor(x.numpy().copy(), requires_grad=True)
        for name, x in {**p, "s": s, "H": H}.items()
    }
    rng = np.random.default_rng(seed)
    found = step({name: held[name] for name in p}, y, held["s"], held["H"], mask)
    sum((each * rng.normal(size=each.shape)).sum() for each in found).backward()
    return {name: x.grad for name, x in held.items() if x.grad is not None}


def is_prediction(found):
    long, growth = ("better", "worse", "alike"), ("grows", "shrinks", "alike")
    fits = isinstance(found, dict) and {*found} == {"longest", "growth"}
    return fits and found["longest"] in long and found["growth"] in growth


# the long run: 500 pairs, the learner's decoder step and data split

PAIRS, UNSEEN, BATCH = 500, 200, 20
SHOWN = 2  # translations of a run that are printed
WIDTHS, EMBEDDING = {"without": 90, "with": 64}, 32  # nearly equally many parameters


class Corpus:
    """Pairs of words, split by the learner's ``hold_out``, and two vocabularies."""

    def __init__(self, my):
        drawn = generate("english-german", PAIRS + 3 * UNSEEN, seed=1)
        words = [(tuple(pair.source), tuple(pair.target)) for pair in drawn]
        others, self.test = my.hold_out(words, UNSEEN)
        others, self.validation = my.hold_out(others, UNSEEN)
        self.train = others[:PAIRS]
        self.alignments = [p.alignment for w, p in zip(words, drawn) if w in self.train]
        self.source = Vocabulary.build([s for s, _ in self.train])
        self.target = Vocabulary.build([t for _, t in self.train])

    def word_by_word(self, pairs):
        """Translate each word of the sources by the word it was linked with most."""
        linked = [(*pair, links) for pair, links in zip(self.train, self.alignments)]
        return word_by_word(linked, [source for source, _ in pairs])

    def ids(self):
        """Return [(ids of the source, ids of the target)] of the training."""
        return [(self.source.encode(s), self.target.encode(t)) for s, t in self.train]


class Model(mg.nn.Module):
    """An encoder, and the parameters of the learner's ``decode_step``.

    encoder   "gru": one layer in both directions; "lstm": two layers, as in the chapter
    """

    def __init__(self, my, corpus, kind, rng):
        self.step, self.corpus, width = my.decode_step, corpus, WIDTHS[kind]
        self.embed = mg.nn.Embedding(len(corpus.source), EMBEDDING, rng=rng)
        if my.ENCODER == "lstm":
            self.encoder = mg.nn.LSTM(EMBEDDING, width, num_layers=2, rng=rng)
        else:
            self.encoder = mg.nn.GRU(EMBEDDING, width, bidirectional=True, rng=rng)
        memory = width * self.encoder.directions
        sizes = len(corpus.target), EMBEDDING, width, memory, width
        own = parameters(rng, KINDS[kind], sizes, 0.1)
        self.p = {k: mg.nn.Parameter(a.astype(np.float32)) for k, a in own.items()}
        self.bridge = mg.nn.Linear(memory, width, rng=rng)

    def start(self, source, lengths):
        """Return the first state, the states of the encoder, and the mask."""
        H, last = self.encoder(self.embed(source), lengths=lengths)
        last = last[0] if isinstance(last, tuple) else last  # (h, c) of the LSTM
        count = self.encoder.directions
        top = mg.concat([last[k] for k in range(-count, 0)], axis=-1)
        mask = np.arange(source.shape[1]) < lengths[:, None]
        return mg.tanh(self.bridge(top)), H, mask

    def loss(self, batch):
        s, H, mask = self.start(batch.source, batch.lengths)
        rows = []
        for words in batch.target_in.T:
            logits, s = self.step(self.p, words, s, H, mask)
            rows.append(logits)
        return mg.cross_entropy(mg.stack(rows, 1), batch.target_out, ignore_index=PAD)

    def translate(self, pairs, longest=24):
        """Return the most probable words of the sources, step by step: lists of str."""
        source, lengths = pad([self.corpus.source.encode(s) for s, _ in pairs])
        s, H, mask = self.start(source, lengths)
        words, said = np.full(len(pairs), SOS), []
        for _ in range(longest):
            logits, s = self.step(self.p, words, s, H, mask)
            words = logits.numpy()[:, EOS:].argmax(1) + EOS
            said.append(words)
        rows = [list(row) for row in np.array(said).T]
        rows = [row[: row.index(EOS)] if EOS in row else row for row in rows]
        return [self.corpus.target.decode(row) for row in rows]


class Attending(OwnModels):
    """6.9: decoders with attention and without, each with an encoder of its width."""

    name, question = "attention", "What does attention add, with 500 pairs?"
    measure, resolution = "BLEU", 1.0
    arms, rates = tuple(KINDS), (2e-3, 4e-3, 8e-3)
    every, budget = 100, 1000  # four epochs, 40 epochs
    ceiling = math.inf  # BLEU is in points

    @functools.cached_property
    def corpus(self):
        return Corpus(self.my)

    @functools.cached_property
    def trivial(self):
        pairs = self.corpus.validation
        return self.bleu(pairs, self.corpus.word_by_word(pairs))["all"]

    def batches(self, seed):
        return Batches(self.corpus.ids(), BATCH, seed)

    def model(self, arm, rng):
        return Model(self.my, self.corpus, arm, rng)

    def loss_at(self, arm, run, seed, step):
        return run.model.loss(run.batches[step])

    def validate(self, arm, model):
        pairs = self.corpus.validation
        return self.bleu(pairs, model.translate(pairs))["all"]

    def test(self, arm, model):
        pairs = self.corpus.test
        said = model.translate(pairs)
        found = self.bleu(pairs, said)
        shown = [[*map(" ".join, (*pair, words))] for pair, words in zip(pairs, said)]
        return {"figure": found["all"], "bleu": found, "said": shown[:SHOWN]}

    def bleu(self, pairs, said):
        """Return BLEU of translations, of all and by the length of the source."""
        sources, refs = ([list(pair[k]) for pair in pairs] for k in (0, 1))
        groups = self.my.bleu_by_length(sources, refs, said, BUCKETS)
        found = {f"{a}-{b}": 100 * s for (a, b), s in groups.items()}
        return {"all": 100 * self.my.bleu(refs, said), **found}

    @staticmethod
    def statement(record):
        """Return what a record says about the book's expectation."""

        def better(claim, what):
            more = difference(record, "with", "without", lambda run: what(run["bleu"]))
            return judged(claim, above(0), more, 1)

        first, *_, last = buckets = [f"{a}-{b}" for a, b in BUCKETS]
        lines = [
            better(f"attention is better on {b} words", lambda bleu, b=b: bleu[b])
            for b in buckets
        ]
        growth = "its advantage grows with the length"
        lines.append(better(growth, lambda bleu: bleu[last] - bleu[first]))
        for run in record["runs"][: len(record["arms"])]:  # those of the first seed
            for source, right, said in run.get("said", ()):
                kind = f"{run['arm']} attention"
                lines.append(f"{kind}: {source}\n    {said}\n    ({right})")
        return "\n".join(lines)

    @staticmethod
    def picture(found):
        """Draw a record: BLEU of all runs of both kinds, by length and by steps."""
        title = "Does the advantage of attention grow with the length?"
        fig, (left, right) = figure(title, columns=2)
        buckets = [f"{a}-{b}" for a, b in BUCKETS]
        draw_runs(left, found, lambda run: (buckets, [run["bleu"][b] for b in buckets]))
        draw_runs(right, found, lambda run: by_steps(found, run["curve"], 1))
        right.axhline(found["trivial"], color="grey", label="any sentences")
        left.set(xlabel=f"words of the source; {len(found['seeds'])} runs of each kind",
                 ylabel="BLEU, test")  # fmt: skip
        right.set(xlabel="step", ylabel="BLEU, validation")
        right.legend(title="attention")
        return fig
