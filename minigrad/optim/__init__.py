"""Optimizers: rules that turn gradients into steps, and learning rate schedules.

    optimizer = Adam(model.parameters(), lr=3e-3)
    schedule = CosineAnnealingLR(optimizer, T_max=2500)
    for batch in batches:
        optimizer.zero_grad()
        loss(batch).backward()
        clip_grad_norm_(optimizer.params, 1.0)
        optimizer.step()
        schedule.step()

SGD, Adam, AdamW and CosineAnnealingLR compute the same steps as in PyTorch. WarmupLR is
not in PyTorch.
"""

from typing import TYPE_CHECKING

from ..torch_names import OPTIM, unknown
from .optimizer import Optimizer
from .rules import SGD, Adam, AdamW, clip_grad_norm_
from .schedule import CosineAnnealingLR, Schedule, WarmupLR

__all__ = [
    "SGD", "Adam", "AdamW", "clip_grad_norm_", "Optimizer", "Schedule",
    "CosineAnnealingLR", "WarmupLR",
]  # fmt: skip

if not TYPE_CHECKING:  # editors mark all other names as unknown

    def __getattr__(name):
        raise unknown("minigrad.optim", name, OPTIM)
