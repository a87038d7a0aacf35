"""minigrad: reverse-mode automatic differentiation on NumPy arrays.

The derivatives are worked out by hand.
"""

import importlib
from typing import TYPE_CHECKING

from . import nn, optim
from .broadcasting import unbroadcast
from .differentiable import differentiable, lift
from .gradcheck import (
    GradcheckError,
    GradcheckResult,
    VacuousCheckError,
    gradcheck,
    gradcheck_module,
)
from .ops import (
    abs as abs,
)
from .ops import (
    add,
    astype,
    bmm,
    clip,
    concat,
    cross_entropy,
    cumsum,
    div,
    dropout,
    einsum,
    elu,
    embedding,
    exp,
    expand,
    flip,
    gelu,
    getitem,
    gru,
    gru_cell,
    layer_norm,
    linear,
    log,
    log1p,
    log_softmax,
    logsumexp,
    lstm,
    lstm_cell,
    masked_fill,
    matmul,
    maximum,
    mean,
    minimum,
    mse_loss,
    mul,
    neg,
    pad,
    relu,
    reshape,
    sigmoid,
    softmax,
    softplus,
    split,
    sqrt,
    squeeze,
    stack,
    sub,
    swapaxes,
    tanh,
    transpose,
    tril,
    triu,
    unsqueeze,
    var,
    where,
)
from .ops import (
    max as max,
)
from .ops import (
    min as min,
)
from .ops import (
    pow as pow,
)
from .ops import (
    sum as sum,
)
from .random import manual_seed
from .recording import no_grad
from .tensor import Tensor
from .torch_names import FUNCTIONS, unknown

__version__ = "0.1.0"
tensor = Tensor  # PyTorch's name for it


# ``from minigrad import *`` leaves Python's own abs, max, min, pow and sum as they are
__all__ = [
    "checkpoint", "draw", "nn", "optim", "differentiable", "lift", "no_grad",
    "manual_seed", "unbroadcast", "Tensor", "tensor", "gradcheck", "gradcheck_module",
    "GradcheckError", "GradcheckResult", "VacuousCheckError", "add", "astype", "bmm",
    "clip", "concat", "cross_entropy", "cumsum", "div", "dropout", "einsum", "elu",
    "embedding", "exp", "expand", "flip", "gelu", "getitem", "gru", "gru_cell",
    "layer_norm", "linear", "log", "log1p", "log_softmax", "logsumexp", "lstm",
    "lstm_cell", "masked_fill", "matmul", "maximum", "mean", "minimum", "mse_loss",
    "mul", "neg", "pad", "relu", "reshape", "sigmoid", "softmax", "softplus", "split",
    "sqrt", "squeeze", "stack", "sub", "swapaxes", "tanh", "transpose", "tril", "triu",
    "unsqueeze", "var", "where",
]  # fmt: skip


def __dir__():
    return [*globals(), "checkpoint", "draw"]


if TYPE_CHECKING:  # editors mark all other names as unknown
    from . import checkpoint, draw
else:

    def __getattr__(name):
        """Import ``checkpoint`` or ``draw`` at its first use, to load minigrad fast."""
        if name in ("checkpoint", "draw"):
            return importlib.import_module(f"{__name__}.{name}")
        raise unknown("minigrad", name, FUNCTIONS)
