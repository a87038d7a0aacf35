"""minigrad: reverse-mode automatic differentiation on NumPy arrays.

The derivatives are worked out by hand. A letter that neither a docstring nor that of
its class or module defines has this meaning:

x, y       the input and the output of an operation; a, b are two inputs
L          the loss, one number, in dL/dx; dx is short for dL/dx
g, G       dL/dy for an entry y of the output; the matrix of all g
i, j, k    indices of entries, and e the base of the natural logarithm ln
W, w, b    weights as a matrix, weights as a vector, and a bias
B, T       in a shape: the examples of a batch, and the steps t or tokens of a sequence
I, H       widths (numbers of entries) of the input and the state h of a recurrent step
V, D       the number of ids, and the width of their embeddings
N, n, m    other lengths of axes, such as the number of rows
"""

from typing import TYPE_CHECKING

from . import checkpoint, draw, nn, ops, optim
from .broadcasting import unbroadcast
from .creation import normal, ones, rand, randn, zeros
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
    "GradcheckError", "GradcheckResult", "VacuousCheckError", "normal", "ones", "rand",
    "randn", "zeros",
]  # fmt: skip
__all__ += ops.__all__

if not TYPE_CHECKING:  # editors mark all other names as unknown

    def __getattr__(name):
        raise unknown("minigrad", name, FUNCTIONS)
