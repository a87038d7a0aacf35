"""Learning rates that change over time.

    schedule = WarmupLR(optimizer, 400, after=CosineAnnealingLR(optimizer, 2100))

A schedule writes ``optimizer.lr``. The rate is computed from the number of steps, not
from the rate before, so rounding errors do not add up.
"""

import math

from ..arguments import instance, number
from ..torch_names import ExplainedInit
from .optimizer import Optimizer, check_state


class Schedule(ExplainedInit):
    """A learning rate that depends on the number of steps taken: ``lr_at(t)``.

    ``base`` is the optimizer's rate when the schedule is made; making it sets the rate
    of the first step, lr_at(0). Call ``step()`` after every ``optimizer.step()``.
    """

    def __init__(self, optimizer):
        instance(type(self).__name__, "optimizer", optimizer, Optimizer, "SGD")
        self.optimizer, self.base, self.t = optimizer, optimizer.lr, 0
        optimizer.lr = self.lr_at(0)

    def __repr__(self):
        listed = ", ".join(f"{name}={value}" for name, value in self._numbers().items())
        return f"{type(self).__name__}({listed})"

    def _numbers(self):
        return {name: x for name, x in vars(self).items() if name != "optimizer"}

    def lr_at(self, t):
        """Return the rate after t steps."""
        raise NotImplementedError

    def step(self):
        """Set the rate of the next step."""
        self.t += 1
        self.optimizer.lr = self.lr_at(self.t)

    def state_dict(self):
        """Return the kind of schedule, its numbers, and the steps taken."""
        numbers = self._numbers()
        if isinstance(numbers.get("after"), Schedule):
            numbers["after"] = numbers["after"].state_dict()
        return {"kind": type(self).__name__, **numbers}

    def load_state_dict(self, state):
        """Restore what ``state_dict()`` returned, and set the optimizer's rate.

        Raises ValueError, and changes nothing, for the state of another kind.
        """
        check_state(self, state)
        kind, after = state["kind"], vars(self).get("after")
        if after is not None:
            after.load_state_dict(state["after"])  # may raise; its rate is replaced
        elif state.get("after") is not None:
            raise ValueError(
                f"{kind}: the state has a schedule ``after``; this {kind} has none."
            )
        own = self._numbers().keys() - {"after"}
        vars(self).update({name: state[name] for name in own})
        self.optimizer.lr = self.lr_at(self.t)


class CosineAnnealingLR(Schedule):
    """Half a cosine from the base rate down to ``eta_min``, in ``T_max`` steps.

        lr(t) = eta_min + (base - eta_min) (1 + cos(pi t / T_max)) / 2

    Loshchilov & Hutter 2017, eq. 5. Beyond T_max it rises again, as in PyTorch.
    """

    def __init__(self, optimizer, T_max, eta_min=0.0):
        self.T_max = number(type(self).__name__, "T_max", T_max, positive=True)
        self.eta_min = number(type(self).__name__, "eta_min", eta_min)
        super().__init__(optimizer)

    def lr_at(self, t):
        """Return the rate of step t."""
        height = (1 + math.cos(math.pi * t / self.T_max)) / 2
        return self.eta_min + (self.base - self.eta_min) * height


class WarmupLR(Schedule):
    """Rise in equal steps to the base rate, then hold it or follow another schedule.

        lr(t) = base (t + 1) / warmup_steps            for t < warmup_steps, then
        lr(t) = base     or     after.lr_at(t - (warmup_steps - 1))

    The last step of the rise has the base rate, and there ``after`` begins. Step this
    schedule only, not ``after``.
    """

    def __init__(self, optimizer, warmup_steps, after=None):
        number("WarmupLR", "warmup_steps", warmup_steps, positive=True)
        if not isinstance(after, Schedule | None):
            raise TypeError(
                f"WarmupLR: after is of type {type(after).__name__}; expected a "
                "Schedule or None."
            )
        if after is not None and after.optimizer is not optimizer:
            raise ValueError("WarmupLR: after= belongs to another optimizer.")
        self.warmup_steps, self.after = warmup_steps, after
        super().__init__(optimizer)

    def lr_at(self, t):
        """Return the rate of step t."""
        if t < self.warmup_steps:
            return self.base * (t + 1) / self.warmup_steps
        if self.after is None:
            return self.base
        return self.after.lr_at(t - (self.warmup_steps - 1))
