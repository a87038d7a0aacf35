"""One training loop, that can be stopped at any moment and gone on with.

    loss -> backward -> clip the gradients -> optimiser step -> schedule step

A ``Run`` is everything that the next step depends on. Its state goes into a checkpoint
and comes back from it bit for bit, so that a run resumed after a crash ends with the
numbers that it would have had.
"""

import contextlib
import math
import signal
import threading
import time

import numpy as np

from minigrad import optim


class Run:
    """One model in training.

    model, optimizer, schedule (or None)    as built for step 0
    clip                                    largest norm of all gradients together

    Attributes: ``step`` (steps taken), ``losses`` (one a step), ``seconds`` (spent in
    the training loop alone).
    """

    def __init__(self, model, optimizer, schedule=None, clip=1.0):
        self.model, self.optimizer = model, optimizer
        self.parameters = list(model.parameters())
        self.schedule, self.clip = schedule, clip
        self.step, self.losses, self.seconds = 0, [], 0.0

    def descend(self, loss):
        """Take one step down ``loss``, a scalar Tensor."""
        value = loss.item()
        if not math.isfinite(value):
            raise FloatingPointError(
                f"The loss became {value} at step {self.step}. The last checkpoint is "
                "from before; a smaller learning rate usually helps."
            )
        self.optimizer.zero_grad()
        loss.backward()
        optim.clip_grad_norm_(self.parameters, self.clip)
        self.optimizer.step()
        if self.schedule is not None:
            self.schedule.step()
        self.losses.append(value)
        self.step += 1

    def state_dict(self):
        state = {
            "step": self.step,
            "seconds": self.seconds,
            "losses": np.array(self.losses),
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


def fit(run, steps, loss_at, save=None, progress=None, every=5.0):
    """Train ``run`` until it has taken ``steps`` steps; return whether it got there.

    loss_at   i -> the loss Tensor of step i, from the data of step i
    save      called with the run's state whenever ``every`` seconds have passed, and
              when the user presses Ctrl-C; the loop then ends and returns False
    progress  a ``Progress``, or None

    A run that is interrupted stops between two steps, never inside one.
    """
    last_saved = time.monotonic()
    with asked_to_stop() as stop:
        while run.step < steps and not stop:
            start = time.perf_counter()
            run.descend(loss_at(run.step))
            run.seconds += time.perf_counter() - start
            if progress is not None:
                progress.update(run.step, run.losses[-1])
            if save is not None and time.monotonic() - last_saved > every:
                save(run.state_dict())
                last_saved = time.monotonic()
    if save is not None and run.step < steps:
        save(run.state_dict())
    return run.step >= steps


@contextlib.contextmanager
def asked_to_stop():
    """A list that becomes non-empty when Ctrl-C (or a termination signal) arrives.

    The second Ctrl-C ends the program as usual.
    """
    arrived = []
    if threading.current_thread() is not threading.main_thread():
        yield arrived  # signals reach the main thread only
        return

    def note(number, frame):
        if arrived:
            raise KeyboardInterrupt
        arrived.append(number)

    before = {s: signal.signal(s, note) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
