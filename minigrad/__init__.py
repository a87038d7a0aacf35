"""minigrad: reverse-mode automatic differentiation on NumPy arrays.

The derivatives are worked out by hand.
"""

from typing import TYPE_CHECKING

from . import checkpoint, draw, nn, ops, optim
from .broadcasting import unbroadcast
from .differentiable import differentiable, lift
from .gradcheck import (
    GradcheckError,
    GradcheckResult,
    VacuousCheckError,
    gradcheck,
    gradcheck_module,
)
from .ops import *
from .ops import abs as abs
from .ops import max as max
from .ops import min as min
from .ops import pow as pow
from .ops import sum as sum
from .random import manual_seed
from .recording import no_grad
from .tensor import Tensor
from .torch_names import FUNCTIONS, unknown

__version__ = "0.1.0"
tensor = Tensor  # PyTorch's name for it

__all__ = [
    "checkpoint", "draw", "nn", "optim", "differentiable", "lift", "no_grad",
    "manual_seed", "unbroadcast", "Tensor", "tensor", "gradcheck", "gradcheck_module",
    "GradcheckError", "GradcheckResult", "VacuousCheckError",
]  # fmt: skip
__all__ += ops.__all__

if not TYPE_CHECKING:  # editors mark all other names as unknown

    def __getattr__(name):
        raise unknown("minigrad", name, FUNCTIONS)
