"""Update rules, parameters and gradients that are the same for the same step."""

import numpy as np

from minigrad import optim
from minigrad.tensor import Tensor

DECAY = dict(lr=0.1, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.2)
RULES = {
    "SGD": (optim.SGD, dict(lr=0.1)),
    "SGD momentum": (optim.SGD, dict(lr=0.1, momentum=0.9)),
    "SGD dampening": (
        optim.SGD, dict(lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.2)
    ),
    "SGD nesterov": (
        optim.SGD, dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.2)
    ),
    "Adam": (optim.Adam, dict(lr=0.1)),
    "Adam decay": (optim.Adam, DECAY),
    "AdamW": (optim.AdamW, dict(lr=0.1)),
    "AdamW decay": (optim.AdamW, DECAY),
}  # fmt: skip


def parameters(dtype=np.float32, seed=0, shapes=((3, 4), (), (5,), (0, 2), (2, 1, 3))):
    rng = np.random.default_rng(seed)
    return [
        Tensor(rng.normal(size=s).astype(dtype), requires_grad=True) for s in shapes
    ]


def give_gradients(params, k, skip=()):
    """The same gradients for the same k, whatever the parameters hold."""
    rng = np.random.default_rng(1000 + k)
    for i, p in enumerate(params):
        g = rng.normal(size=p.shape).astype(p.dtype)
        p.grad = None if i in skip else g


def rates(schedule, steps):
    found = []
    for _ in range(steps):
        found.append(schedule.optimizer.lr)
        schedule.step()
    return found
