"""One training loop, that can be stopped at any moment and gone on with.

    loss -> backward -> clip the gradients -> optimiser step -> schedule step

A ``Run`` is everything that the next step depends on. Its state goes into a checkpoint
and comes back from it bit for bit, so that a run resumed after a crash ends with the
numbers that it would have had.

A state is saved between the check and the step: after the loss and the gradients of the
next batch were found to be finite, and before anything moves. So what was saved last is
good, also when the step that follows is the one that spoils the parameters.
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
from .watch import first_not_finite


class Diverged(FloatingPointError):
    """Training met a number that is none, or that a layer refused. It says where."""


class Run:
    """One model in training.

    model, optimizer, schedule (or None)    as built for step 0
    clip                                    largest norm of all gradients together

    Attributes: ``step`` (steps taken), ``losses`` (one a step), ``norm`` (of the last
    gradient, before it was clipped), ``seconds`` (spent in the training loop alone; of
    n models trained at once each counts an n-th, ``at_once``), ``validations`` ([step,
    loss] of each), ``best`` (None, or the parameters with the least validation loss:
    {"step", "loss", "model"}), ``saved`` (whether a checkpoint has a state of it).
    """

    at_once = 1

    def __init__(self, model, optimizer, schedule=None, clip=1.0):
        self.model, self.optimizer = model, optimizer
        self.parameters = list(model.parameters())
        self.schedule, self.clip = schedule, clip
        self.step, self.losses, self.seconds, self.norm = 0, [], 0.0, 0.0
        self.validations, self.best, self.saved = [], None, False

    def descend(self, loss):
        """Take one step down ``loss``, a scalar Tensor."""
        self.move(self.look(loss))

    def look(self, loss):
        """Find the gradients, and move nothing; return the loss as a number.

        Raises FloatingPointError when it, or a gradient, is NaN or infinite.
        """
        value = loss.item()
        if not math.isfinite(value):
            raise FloatingPointError(
                f"The loss became {value} at step {self.step}; a smaller learning rate "
                "usually helps."
            )
        self.optimizer.zero_grad()
        loss.backward()
        self.norm = optim.clip_grad_norm_(self.parameters, self.clip)
        return value

    def move(self, value):
        """Take the step that ``look`` has found, down a loss of ``value``."""
        self.optimizer.step()
        if self.schedule is not None:
            self.schedule.step()
        self.losses.append(value)
        self.step += 1

    def judge(self, value):
        """Enter the validation loss ``value``; return whether it is the least so far.

        The parameters are then kept in ``best``.
        """
        self.validations.append([self.step, value])
        if self.best is not None and value >= self.best["loss"]:
            return False
        state = self.model.state_dict()
        self.best = {"step": self.step, "loss": value, "model": state}
        return True

    def state_dict(self):
        state = {
            "step": self.step,
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
        self.step, self.seconds = state["step"], state["seconds"]
        self.losses = state["losses"].tolist()
        self.validations = [list(each) for each in state.get("validations", [])]
        self.best, self.saved = state.get("best"), True


class Validation:
    """When to look at a validation loss, and when to give up.

    loss       () -> the loss, a number; the model stands in evaluation mode
    every      steps between two looks; the last step has one too
    patience   training ends after so many looks in a row without a new least loss;
               None: never
    keep       called with the Run when its loss is the least so far, or None
    """

    def __init__(self, loss, every, patience=None, keep=None):
        self.loss, self.every, self.patience, self.keep = loss, every, patience, keep

    def given_up(self, run):
        if self.patience is None or run.best is None:
            return False
        since = [step for step, _ in run.validations if step > run.best["step"]]
        return len(since) >= self.patience


def fit(
    run, steps, loss_at, save=None, progress=None, every=5.0,
    *, validation=None, record=None, seed=None, prepare=None,
):  # fmt: skip
    """Train ``run`` until it has taken ``steps`` steps; return whether it got there.

    loss_at     i -> the loss Tensor of step i; asked twice, it gives the same number
    save        called with the run's state whenever ``every`` seconds have passed, and
                when the user presses Ctrl-C; the loop then ends and returns False
    progress    a ``Progress``, which is closed at the end, or None
    validation  a ``Validation``; where it gives up, the run counts as finished
    record      called with a dict of numbers after each step and each validation
    seed        of the batches, for the message
    prepare     called before the first step; its time does not count

    A run that is interrupted stops between two steps, never inside one; while it is
    prepared, before the first. Nothing is saved of one that has met a NaN or an
    infinity. Raises ``Diverged``, which says at which step, with which batch, in which
    layer; so it does of what a layer refuses after the first step. A ValueError before
    that is of the arguments, and passes.
    """
    record = record or (lambda numbers: None)

    def ended():
        given_up = validation is not None and validation.given_up(run)
        return run.step >= steps or given_up

    last_saved = time.monotonic()
    line = contextlib.closing(progress) if progress else contextlib.nullcontext()
    # what overflows is found below, and explained there
    quiet = np.errstate(over="ignore", invalid="ignore")
    # the backend is chosen for the whole run, so that a resumed run gets the same bits
    with kernels.backend(kernels.backend()), asked_to_stop() as stop, line, quiet:
        if prepare is not None and not ended():
            with _explained(run, prepare, seed):
                prepare()
        while not ended():
            start = time.perf_counter()
            with _explained(run, lambda: loss_at(run.step), seed):
                value = run.look(loss_at(run.step))
            run.seconds += (time.perf_counter() - start) / run.at_once
            due = time.monotonic() - last_saved > every
            if save is not None and (stop or due):
                save(run.state_dict())
                run.saved, last_saved = True, time.monotonic()
            if stop:
                break
            start, lr = time.perf_counter(), run.optimizer.lr
            run.move(value)
            run.seconds += (time.perf_counter() - start) / run.at_once
            record({"step": run.step, "loss": value, "norm": run.norm, "lr": lr})
            if progress is not None:
                progress.update(run.step, value)
            if validation is not None:
                _validate(run, validation, run.step >= steps, record, seed)
    return ended()


def _validate(run, validation, last, record, seed):
    if run.step % validation.every and not last:
        return
    run.model.eval()
    with _explained(run, validation.loss, seed, "validation "):
        value = validation.loss()
        if not math.isfinite(value):
            raise FloatingPointError(f"The validation loss became {value}.")
    run.model.train()
    if run.judge(value) and validation.keep is not None:
        validation.keep(run)
    record({"step": run.step, "validation": value})


@contextlib.contextmanager
def _explained(run, compute, seed, which=""):
    """Say of an error in the numbers which step, batch and layer it came from."""
    try:
        yield
    except FloatingPointError:
        try:
            place = first_not_finite(run.model, compute)
        except (ArithmeticError, ValueError) as problem:  # the model raised it itself
            place = _raised(run.model, problem)
        said = f"{which}loss or its gradient is no finite number"
        raise _diverged(run, said, place, seed) from None
    except (ArithmeticError, ValueError) as problem:
        if isinstance(problem, ValueError) and run.step == 0:
            raise  # nothing has moved yet: the arguments are wrong, not the numbers
        place = _raised(run.model, problem)
        said = f"{which}loss or its gradient cannot be computed"
        raise _diverged(run, said, place, seed) from problem


def _diverged(run, what, place, seed):
    """The ``Diverged`` that says of the next step what went wrong, and in which."""
    run.optimizer.zero_grad()
    batch = f", batch {run.step} of seed {seed}" if seed is not None else ""
    checkpoint = "There is no checkpoint yet"
    if run.saved:
        checkpoint = "The last checkpoint is from before and good"
    return Diverged(
        f"The {what} at step {run.step}{batch}: {place} {checkpoint}; a smaller "
        "learning rate usually helps."
    )


def _raised(model, problem):
    """What was raised, and in which layer: the innermost module that was at work."""
    names, layer = {id(module): name for name, module in model.named_modules()}, ""
    for frame, _ in traceback.walk_tb(problem.__traceback__):
        layer = names.get(id(frame.f_locals.get("self")), layer)
    said = str(problem).rstrip(".") or type(problem).__name__
    return f"{f'in layer {layer}, ' if layer else ''}{said}."


@contextlib.contextmanager
def asked_to_stop():
    """A list that becomes non-empty when Ctrl-C (or a termination signal) arrives.

    The second Ctrl-C ends the program as usual. Inside of another one, it is the same
    list: what arrived before training began still stops it.
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
