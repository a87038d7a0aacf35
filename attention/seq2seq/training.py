"""The training loop, which can be stopped at any moment and resumed.

    loss -> backward -> clip the gradients -> optimiser step -> schedule step

A ``Run`` holds everything that the next step depends on. A checkpoint restores it bit
for bit, so a resumed run ends with the same numbers as an uninterrupted run.

The state is saved between ``backward`` and ``step``, when the loss and the gradients of
the next batch are known to be finite and the parameters have not changed yet. So the
last checkpoint is good, even if the next step makes the parameters NaN.
"""

import contextlib
import math
import signal
import threading
import time
import traceback

import numpy as np

from minigrad import optim

from .. import kernels
from .find_nan import find_nan


class Diverged(FloatingPointError):
    """The loss is NaN or infinite, or a layer rejected its input."""


class Run:
    """One model in training.

    model, optimizer, schedule (or None)    new ones; load_state_dict restores a state
    clip                                    the largest norm of all gradients together

    steps         the number of steps taken
    losses        the loss of each step
    norm          the norm of the last gradient, before clipping
    seconds       the time of the training steps, without validations. If n models are
                  trained at the same time, each counts 1 / n of it (``share_time``)
    validations   [step, loss] of each validation
    best          {"step", "loss", "model"} of the smallest validation loss, or None
    saved         whether a checkpoint has a state of this run
    """

    at_once = 1

    def __init__(self, model, optimizer, schedule=None, clip=1.0):
        self.model, self.optimizer = model, optimizer
        self.parameters = list(model.parameters())
        self.schedule, self.clip = schedule, clip
        self.steps, self.losses, self.seconds, self.norm = 0, [], 0.0, 0.0
        self.validations, self.best, self.saved = [], None, False

    @classmethod
    def share_time(cls, n):
        """Set ``at_once``: n models are trained at the same time."""
        cls.at_once = n

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
        self.norm = optim.clip_grad_norm_(self.parameters, self.clip)
        return value

    def step(self, value):
        """Update the parameters by the gradients of a loss of ``value``."""
        self.optimizer.step()
        if self.schedule is not None:
            self.schedule.step()
        self.losses.append(value)
        self.steps += 1

    def record_validation(self, value):
        """Record a validation loss; return whether it is the smallest so far.

        ``best`` keeps the parameters of the smallest loss.
        """
        self.validations.append([self.steps, value])
        if self.best is not None and value >= self.best["loss"]:
            return False
        state = self.model.state_dict()
        self.best = {"step": self.steps, "loss": value, "model": state}
        return True

    def state_dict(self):
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
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.schedule is not None:
            self.schedule.load_state_dict(state["schedule"])
        self.steps, self.seconds = state["step"], state["seconds"]
        self.losses = state["losses"].tolist()
        self.validations = [list(each) for each in state["validations"]]
        self.best, self.saved = state["best"], True


class Validation:
    """When to compute a validation loss, and when to stop early.

    loss       a function without arguments that returns the loss, a number. The model
               is in evaluation mode
    every      the number of steps between two validations; the last step has one too
    patience   stop after this number of validations without a new smallest loss; None:
               never stop early
    keep       a function that is called with the Run after each new smallest loss, or
               None
    """

    def __init__(self, loss, every, patience=None, keep=None):
        self.loss, self.every, self.patience, self.keep = loss, every, patience, keep

    def is_exhausted(self, run):
        if self.patience is None or run.best is None:
            return False
        since = [step for step, _ in run.validations if step > run.best["step"]]
        return len(since) >= self.patience


def fit(
    run, steps, loss_at, save=None, progress=None, save_seconds=5.0,
    *, validation=None, record=None, seed=None, prepare=None,
):  # fmt: skip
    """Train ``run`` for ``steps`` steps in all; return whether it is finished.

    loss_at     a function that returns the loss, a Tensor, of step i. It must return
                the same loss if it is called again, which happens after a NaN, to find
                the layer that made it
    save        a function that is called with the run's state every ``save_seconds``
                and after Ctrl-C
    progress    a ``Progress``, which is closed at the end, or None
    validation  a ``Validation``; when its patience ends, the run is finished
    record      a function that is called with a dict of numbers after each step and
                each validation
    seed        the seed of the batches, for messages
    prepare     a function that is called before the first step and is not timed

    After Ctrl-C, the loop ends between two steps, and returns False if any are left. If
    the loss or a gradient is NaN or infinite, nothing is saved, and ``Diverged`` names
    the step, the batch and the layer. The same happens if a layer rejects its input
    after the first step. At the first step, a ValueError shows a wrong argument and is
    raised as it is.
    """
    record = record or (lambda numbers: None)

    def finished():
        exhausted = validation is not None and validation.is_exhausted(run)
        return run.steps >= steps or exhausted

    last_saved = time.monotonic()
    closing = contextlib.closing(progress) if progress else contextlib.nullcontext()
    # no warnings: ``_explained`` reports NaN and infinity
    no_warnings = np.errstate(over="ignore", invalid="ignore")
    # Unless the user chose NumPy or numba, a loop may change from NumPy to its compiled
    # version during a run. To choose the present one by name prevents this, so that a
    # resumed run computes the same bits.
    one_backend = kernels.backend(kernels.backend())
    with one_backend, stop_signals() as stop, closing, no_warnings:
        if prepare is not None and not finished():
            with _explained(run, prepare, seed):
                prepare()
        while not finished():
            start = time.perf_counter()
            # the lambda is called only after a NaN, to find its layer
            with _explained(run, lambda: loss_at(run.steps), seed):
                value = run.backward(loss_at(run.steps))
            run.seconds += (time.perf_counter() - start) / run.at_once
            due = time.monotonic() - last_saved > save_seconds
            if save is not None and (stop or due):
                save(run.state_dict())
                run.saved, last_saved = True, time.monotonic()
            if stop:
                break
            start, lr = time.perf_counter(), run.optimizer.lr
            run.step(value)
            run.seconds += (time.perf_counter() - start) / run.at_once
            record({"step": run.steps, "loss": value, "norm": run.norm, "lr": lr})
            if progress is not None:
                progress.update(run.steps, value)
            if validation is not None:
                _validate(run, validation, run.steps >= steps, record, seed)
    return finished()


@contextlib.contextmanager
def stop_signals():
    """Yield a list that becomes non-empty when Ctrl-C or a termination signal arrives.

    A second Ctrl-C ends the program as usual. A call inside the block of another call
    yields the same list. So a signal that arrives before the training begins, inside
    the outer block, stops the training.
    """
    arrived = []
    if threading.current_thread() is not threading.main_thread():
        yield arrived  # signals reach the main thread only
        return
    outer = getattr(signal.getsignal(signal.SIGINT), "arrived", None)
    if outer is not None:
        yield outer
        return

    def note(number, frame):
        if arrived:
            raise KeyboardInterrupt
        arrived.append(number)

    note.arrived = arrived
    before = {s: signal.signal(s, note) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _validate(run, validation, last, record, seed):
    if run.steps % validation.every and not last:
        return
    run.model.eval()
    with _explained(run, validation.loss, seed, "validation loss"):
        value = validation.loss()
        if not math.isfinite(value):
            raise FloatingPointError(f"The validation loss became {value}.")
    run.model.train()
    if run.record_validation(value) and validation.keep is not None:
        validation.keep(run)
    record({"step": run.steps, "validation": value})


@contextlib.contextmanager
def _explained(run, compute, seed, what="loss or its gradient"):
    """Turn a numerical error into ``Diverged``, with its step, batch and layer."""
    try:
        yield
    except FloatingPointError:
        try:
            place = find_nan(run.model, compute)
        except (ArithmeticError, ValueError) as problem:  # a layer raised it
            place = _origin(run.model, problem)
        raise _diverged(run, f"{what} is NaN or infinite", place, seed) from None
    except (ArithmeticError, ValueError) as problem:
        if isinstance(problem, ValueError) and run.steps == 0:
            raise  # at the first step, an argument is wrong
        place = _origin(run.model, problem)
        raise _diverged(run, f"{what} cannot be computed", place, seed) from problem


def _diverged(run, what, place, seed):
    run.optimizer.zero_grad()
    batch = f", batch {run.steps} of seed {seed}" if seed is not None else ""
    checkpoint = "There is no checkpoint yet"
    if run.saved:
        checkpoint = "The last checkpoint was saved before and is good"
    return Diverged(
        f"The {what} at step {run.steps}{batch}: {place} {checkpoint}; a smaller "
        "learning rate usually helps."
    )


def _origin(model, problem):
    """Return the message of an exception, with the innermost layer that raised it."""
    names, layer = {id(module): name for name, module in model.named_modules()}, ""
    for frame, _ in traceback.walk_tb(problem.__traceback__):
        layer = names.get(id(frame.f_locals.get("self")), layer)
    message = str(problem).rstrip(".") or type(problem).__name__
    return f"in layer {layer}, {message}." if layer else f"{message}."
