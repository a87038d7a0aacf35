"""All differentiable operations, one family in each file."""

from .activation import elu, gelu, relu, sigmoid, silu, softplus, tanh
from .arithmetic import (
    abs, add, clip, div, exp, log, log1p, maximum, minimum, mul, neg, pow, sqrt, sub,
    where,
)  # fmt: skip
from .combinations import bmm, masked_fill, mse_loss, tril, triu
from .dropout import dropout
from .einsum import einsum
from .index import embedding, getitem
from .loss import cross_entropy
from .matmul import linear, matmul
from .normalize import layer_norm, rms_norm
from .recurrent import gru, gru_cell, lstm, lstm_cell
from .reduce import cumsum, logsumexp, max, mean, min, sum, var
from .shape import (
    astype, concat, expand, flip, pad, reshape, split, squeeze, stack, swapaxes,
    transpose, unsqueeze,
)  # fmt: skip
from .softmax import log_softmax, softmax

# without those that hide functions of Python: abs, max, min, pow, sum
__all__ = [
    "add", "astype", "bmm", "clip", "concat", "cross_entropy", "cumsum", "div",
    "dropout", "einsum", "elu", "embedding", "exp", "expand", "flip", "gelu", "getitem",
    "gru", "gru_cell", "layer_norm", "linear", "log", "log1p", "log_softmax",
    "logsumexp", "lstm", "lstm_cell", "masked_fill", "matmul", "maximum", "mean",
    "minimum", "mse_loss", "mul", "neg", "pad", "relu", "reshape",
    "rms_norm", "sigmoid", "silu", "softmax", "softplus", "split", "sqrt", "squeeze",
    "stack", "sub", "swapaxes", "tanh", "transpose", "tril", "triu", "unsqueeze", "var",
    "where",
]  # fmt: skip
