"""Training: a loop that can be stopped and resumed, validation, and the origin of a NaN.

loop.py         ``Run``, the state of a training, and ``fit``, the loop; read it first
validation.py   when to compute a validation loss, and when to stop early
signals.py      Ctrl-C and termination signals
diverged.py     explains a loss that is NaN; find_nan.py finds the operation
"""

from . import diverged, find_nan, loop, signals, validation  # noqa: F401
from .diverged import Diverged
from .loop import Run, fit
from .signals import stop_signals
from .validation import Validation

__all__ = ["Diverged", "Run", "Validation", "fit", "stop_signals"]
