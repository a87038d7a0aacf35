"""The layers Linear, Embedding, LayerNorm, RMSNorm and Dropout."""

import math

import numpy as np

from .. import ops
from ..arguments import flag, number, probability, whole
from ..shapes import shapes
from ..tensor import Tensor
from . import init
from .module import Module, Parameter


class Linear(Module):
    """Map the last axis: y = x W^T + b.

    weight (out, in) and bias (out,) start uniform within 1 / sqrt(in_features).
    """

    def __init__(self, in_features, out_features, bias=True, rng=None):
        self.in_features = whole("Linear", "in_features", in_features, least=1)
        self.out_features = whole("Linear", "out_features", out_features, least=1)
        self.weight = Parameter(np.empty((out_features, in_features), np.float32))
        init.kaiming_uniform_(self.weight, math.sqrt(5), rng)  # 1 / sqrt(in_features)
        self.bias = None
        if flag("Linear", "bias", bias):
            bound = 1 / math.sqrt(in_features)
            self.bias = Parameter(np.empty(out_features, np.float32))
            init.uniform_(self.bias, -bound, bound, rng)

    @shapes
    def forward(self, x) -> Tensor:
        """x (..., self.in_features)  ->  y (..., self.out_features)"""
        return ops.linear.unchecked(x, self.weight, self.bias)

    def extra_repr(self):
        """Return the options, for ``repr``."""
        bias = "" if self.bias is not None else ", bias=False"
        return f"{self.in_features}, {self.out_features}{bias}"


class Embedding(Module):
    """Look up a row of a table for each id.

    weight (num_embeddings, embedding_dim) starts as N(0, 1).

    padding_idx   the row of padding, which starts as zero and gets no gradient; a
                  negative number counts from the end
    """

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, rng=None):
        V = self.num_embeddings = whole(
            "Embedding", "num_embeddings", num_embeddings, least=1
        )
        self.embedding_dim = whole("Embedding", "embedding_dim", embedding_dim, least=1)
        if padding_idx is not None:
            whole("Embedding", "padding_idx", padding_idx, least=None)
            if not -V <= padding_idx < V:
                raise ValueError(
                    f"Embedding: padding_idx is {padding_idx}; expected the number of "
                    f"a row, from {-V} to {V - 1}."
                )
            padding_idx %= V
        self.padding_idx = padding_idx
        self.weight = Parameter(np.empty((V, embedding_dim), np.float32))
        init.normal_(self.weight, rng=rng)
        if padding_idx is not None:
            self.weight._data[padding_idx] = 0

    @shapes
    def forward(self, ids) -> Tensor:
        """ids (...) int  ->  y (..., self.embedding_dim)"""
        return ops.embedding.unchecked(ids, self.weight, self.padding_idx)

    def extra_repr(self):
        """Return the options, for ``repr``."""
        sizes = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is None:
            return sizes
        return f"{sizes}, padding_idx={self.padding_idx}"


class LayerNorm(Module):
    """Give the last axes mean 0 and variance 1, then a learned scale and shift.

    normalized_shape   the lengths of those axes, or of the only one. weight starts as
                       one and bias as zero, both of that shape.
    """

    def __init__(self, normalized_shape, eps=1e-5):
        shape = [
            whole("LayerNorm", "normalized_shape", n, least=1)
            for n in np.atleast_1d(normalized_shape).tolist()
        ]
        self.normalized_shape = tuple(shape)
        self.eps = number("LayerNorm", "eps", eps, least=0)
        self.weight = Parameter(np.ones(shape, np.float32))
        self.bias = Parameter(np.zeros(shape, np.float32))

    @shapes
    def forward(self, x) -> Tensor:
        """x (...)  ->  y (...)"""
        return ops.layer_norm(x, self.weight, self.bias, eps=self.eps)

    def extra_repr(self):
        """Return the options, for ``repr``."""
        return f"{self.normalized_shape}, eps={self.eps}"


class RMSNorm(Module):
    """Give the last axis, of n entries, the root mean square 1, then a learned scale.

    weight (n,) starts as one.
    """

    def __init__(self, n, eps=1e-6):
        self.n = whole("RMSNorm", "n", n, least=1)
        self.eps = number("RMSNorm", "eps", eps, least=0)
        self.weight = Parameter(np.ones(n, np.float32))

    @shapes
    def forward(self, x) -> Tensor:
        """x (..., self.n)  ->  y (..., self.n)"""
        return ops.rms_norm.unchecked(x, self.weight, self.eps)

    def extra_repr(self):
        """Return the options, for ``repr``."""
        return f"{self.n}, eps={self.eps}"


class Dropout(Module):
    """Set entries to zero with probability p in training, and scale up the others."""

    def __init__(self, p=0.5, rng=None):
        self.p, self.rng = probability("Dropout", "p", p), rng

    def forward(self, x) -> Tensor:
        """Return ``ops.dropout(x)`` in training, otherwise x."""
        if not (self.training and self.p):
            return x
        return ops.dropout(x, self.p, rng=self.rng)

    def extra_repr(self):
        """Return the options, for ``repr``."""
        return f"p={self.p}"
