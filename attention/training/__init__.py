"""Training: a loop that can be stopped and resumed, validation, and the origin of a NaN.

loop.py         ``Run``, the state of a training, and ``fit``, the loop; read it first
validation.py   when to compute a validation loss, and when to stop early
diverged.py     explains a loss that is NaN: in which operation of which layer
"""

from .diverged import Diverged
from .loop import Run, fit
from .validation import Validation, best_model

__all__ = ["Diverged", "Run", "Validation", "best_model", "fit"]
