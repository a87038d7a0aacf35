"""The training loop, which can be stopped at any moment and resumed.

    loss -> backward -> clip the gradients -> optimiser step -> schedule step

``Run.descend`` takes one such step. A ``Run`` holds everything that the next step
depends on. ``fit`` takes all steps; it also saves the state of the run, so that it can
be resumed, computes validation losses, and ends early after Ctrl-C.
"""

import math
import time

import numpy as np

from minigrad import optim

from .. import kernels
from ..stopping import stop_signals
from .diverged import explained
from .validation import validate


class Run:
    """One model in training.

    model, optimizer   untrained at first; load_state_dict restores a later state
    schedule           changes the learning rate of the optimizer at each step, or None
    clip               the largest norm of all gradients together

    steps, losses      the number of steps taken; the loss of each
    seconds            the time of the training steps, without validations. If n models
                       are trained at the same time, each counts 1 / n of it
    validations        [step, loss] of each validation
    best               {"step", "loss", "model"} of the smallest validation loss
    """

    at_once = 1  # the number of models that are trained at the same time

    def __init__(self, model, optimizer, schedule=None, clip=1.0):
        self.model, self.optimizer = model, optimizer
        self.parameters = list(model.parameters())
        self.schedule, self.clip = schedule, clip
        self.steps, self.losses, self.seconds = 0, [], 0.0
        self.validations, self.best = [], None

    def descend(self, loss):
        """Take one training step that reduces ``loss``, a scalar Tensor."""
        self.step(self.backward(loss))

    def backward(self, loss):
        """Compute and clip the gradients; return the loss as a number.

        Raises FloatingPointError, before any parameter changes, if the loss or a
        gradient is NaN or infinite.
        """
        value = loss.item()
        if not math.isfinite(value):
            raise FloatingPointError(
                f"The loss became {value} at step {self.steps}; a smaller learning "
                "rate usually helps."
            )
        self.optimizer.zero_grad()
        loss.backward()
        optim.clip_grad_norm_(self.parameters, self.clip)
        return value

    def step(self, value):
        """Update the parameters by their gradients; record ``value``, the loss."""
        self.optimizer.step()
        if self.schedule is not None:
            self.schedule.step()
        self.losses.append(value)
        self.steps += 1

    # ---- A first reading can stop here ----

    @classmethod
    def share_time(cls, n):
        """Set ``at_once``: n models are trained at the same time."""
        cls.at_once = n

    def record_validation(self, value):
        """Record a validation loss, a finite number; return whether it is the smallest.

        ``best`` keeps the parameters of the smallest loss.
        """
        self.validations.append([self.steps, value])
        if self.best is not None and value >= self.best["loss"]:
            return False
        state = self.model.state_dict()
        self.best = {"step": self.steps, "loss": value, "model": state}
        return True

    def state_dict(self):
        """Return everything that the next step depends on, for a checkpoint."""
        state = {
            "step": self.steps,
            "seconds": self.seconds,
            "losses": np.array(self.losses),
            "validations": [list(each) for each in self.validations],
            "best": self.best,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        if self.schedule is not None:
            state["schedule"] = self.schedule.state_dict()
        return state

    def load_state_dict(self, state):
        """Continue from a state that ``state_dict`` returned."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.schedule is not None:
            self.schedule.load_state_dict(state["schedule"])
        self.steps, self.seconds = state["step"], state["seconds"]
        self.losses = state["losses"].tolist()
        self.validations = [list(each) for each in state["validations"]]
        self.best = state["best"]
        if not 0 <= self.steps == len(self.losses):
            raise ValueError(f"it has {self.steps} steps and {len(self.losses)} losses")


def fit(
    run, steps, loss_at, save=None, progress=None, save_seconds=5.0,
    *, state=None, validation=None, record=None, seed=None, prepare=False,
):  # fmt: skip
    """Train ``run`` for ``steps`` steps in all; return whether it is finished.

    loss_at     a function that returns the loss, a Tensor, of step i. It must return
                the same loss if it is called again, which happens after a NaN, to find
                the layer that made it
    save        a function that is called with the run's state every ``save_seconds``
                and after Ctrl-C
    progress    a ``Progress``, or None
    state       a saved state of the run, from which it goes on, or None
    validation  a ``Validation``; when its patience ends, the run is finished
    record      a function that is called with the run after each step
    seed        the seed of the batches, for messages
    prepare     True: first compute a loss and its gradients that are not timed, so that
                the time to compile or load the kernels is not counted

    After Ctrl-C, the loop ends between two steps, and returns False if any are left. If
    the loss or a gradient is NaN or infinite, nothing is saved, and ``Diverged`` names
    the step, the batch and the layer. The same happens if a layer rejects its input
    after the first step. At the first step, a ValueError shows a wrong argument and is
    raised as it is.

    The state is saved between ``backward`` and ``step``, when the loss and the
    gradients of the next batch are known to be finite and the parameters have not
    changed yet. So the last checkpoint is good, even if the next step makes the
    parameters NaN. A checkpoint restores a run bit for bit: a resumed run ends with the
    same numbers as an uninterrupted run.
    """
    if state is not None:
        run.load_state_dict(state)

    def finished():
        exhausted = validation is not None and validation.is_exhausted(run)
        return run.steps >= steps or exhausted

    last_saved = time.monotonic()
    # no warnings: ``explained`` reports NaN and infinity
    no_warnings = np.errstate(over="ignore", invalid="ignore")
    # a training has many small calls; a backend that is chosen by name compiles them too
    by_name = kernels.backend(kernels.backend())
    with by_name, stop_signals() as stop, no_warnings:
        if prepare and not finished():
            with explained(run, lambda: loss_at(run.steps), seed):
                loss_at(run.steps).backward()
        while not finished():
            start = time.perf_counter()
            # the lambda is called only after a NaN, to find its layer
            with explained(run, lambda: loss_at(run.steps), seed):
                value = run.backward(loss_at(run.steps))
            run.seconds += (time.perf_counter() - start) / run.at_once
            due = time.monotonic() - last_saved > save_seconds
            if save is not None and (stop or due):
                save(run.state_dict())
                last_saved = time.monotonic()
            if stop:
                break
            start = time.perf_counter()
            run.step(value)
            run.seconds += (time.perf_counter() - start) / run.at_once
            if record is not None:
                record(run)
            if progress is not None:
                progress.update(run.steps, value)
            if validation is not None:
                validate(run, validation, run.steps >= steps, seed)
    return finished()
