"""When to compute a validation loss, and when to stop early."""

import math

from minigrad import nn

from .diverged import explained


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
        """Return whether ``patience`` validations have passed since the best one."""
        if self.patience is None or run.best is None:
            return False
        since = [step for step, _ in run.validations if step > run.best["step"]]
        return len(since) >= self.patience


def validate(run, validation, last, seed):
    """Compute and record a validation loss, if one is due or the step is the last."""
    if run.steps % validation.every and not last:
        return
    run.model.eval()
    with explained(run, validation.loss, seed, "validation loss"):
        value = validation.loss()
        if not math.isfinite(value):
            raise FloatingPointError(f"The validation loss became {value}.")
    run.model.train()
    if run.record_validation(value) and validation.keep is not None:
        validation.keep(run)


def best_model(run):
    """Return a new model with the parameters of the smallest validation loss so far."""
    model = type(run.model)(run.model.config, nn.init.Zeros()).eval()
    model.load_state_dict(run.best["model"])
    return model
