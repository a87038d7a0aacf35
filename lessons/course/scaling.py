"""The long run of 38.4: both models at width 256, with the learner's training step."""

import functools
import math

import numpy as np

import minigrad as mg
from attention.seq2seq.reverser import Reverser
from attention.tasks.reversal import PAD, Batches
from attention.training import Run
from lessons.instrument.fair import difference
from lessons.instrument.verdict import above, below
from minigrad import optim

from ..pages.figures import BLUE, ORANGE, figure
from .long_runs import OwnModels, judged

KINDS = ("dot", "scaled")


class OwnRun(Run):
    """A run that computes its gradients with the learner's training step."""

    def __init__(self, my, model, optimizer):
        super().__init__(model, optimizer)
        self.my = my

    def backward(self, batch):
        """Compute the gradients; return the loss. ``Run.step`` moves the parameters."""
        loss = self.my.training_step(self.model, Held(self.optimizer), batch)
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
        model = Reverser(arm, hidden=self.d, rng=np.random.default_rng(seed))
        return OwnRun(self.my, model, optim.Adam(list(model.parameters()), lr=rate))

    def loss_at(self, arm, run, seed, step):
        return batches_of(seed)[step]

    def validate(self, arm, model):
        return math.exp(-self.watch(arm, model)["loss"])

    def watch(self, arm, model, part=0):
        batch = batches_of(part, 100)[10**6]  # strings that no step uses
        with mg.no_grad():
            output = model.forced(batch.source, batch.target_in, batch.lengths)
            loss = mg.cross_entropy(output.logits, batch.target_out, ignore_index=PAD)
        weights = output.weights.numpy()
        entropy = self.my.attn_entropy(weights, batch.target_lengths)
        return {"loss": loss.item(), "entropy": float(entropy)}

    def test(self, arm, model):
        found = self.watch(arm, model, part=1)
        return {"figure": math.exp(-found["loss"]), **found}


@functools.lru_cache(4)
def batches_of(seed, size=32):
    return Batches(seed, size, 3, 8)


def statement(found):
    """Return what a record says about both parts of the prediction."""
    return "\n".join(
        judged(claim, claimed, difference(found, "scaled", "dot", what), 3)
        for claim, claimed, what in (
            ("the loss of scaled is smaller than that of dot", below(0), "loss"),
            ("the entropy of scaled is larger than that of dot", above(0), "entropy"),
        )
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
