"""The layers Linear, Embedding, LayerNorm and Dropout."""

import math

import numpy as np

from .. import ops
from ..tensor import Tensor
from . import init
from .module import Module, Parameter


class Linear(Module):
    """y = x W^T + b:  x (..., in_features)  ->  y (..., out_features).

    weight (out, in) and bias (out,) start uniform within 1 / sqrt(in_features).
    """

    def __init__(self, in_features, out_features, bias=True, rng=None):
        self.in_features = size("Linear: in_features", in_features)
        self.out_features = size("Linear: out_features", out_features)
        self.weight = Parameter(np.empty((out_features, in_features), np.float32))
        init.kaiming_uniform_(self.weight, math.sqrt(5), rng)
        self.bias = None
        if bias:
            bound = 1 / math.sqrt(in_features)
            self.bias = Parameter(np.empty(out_features, np.float32))
            init.uniform_(self.bias, -bound, bound, rng)

    def forward(self, x):
        x = floats(self, "x", x)
        if not x.ndim or x.shape[-1] != self.in_features:
            raise ValueError(
                f"{self!r}: the last axis of x must have {self.in_features} features; "
                f"found shape {x.shape}."
            )
        return ops.linear(x, self.weight, self.bias)

    def extra_repr(self):
        bias = "" if self.bias is not None else ", bias=False"
        return f"{self.in_features}, {self.out_features}{bias}"


class Embedding(Module):
    """Look up a row of a table for each id:  ids (...)  ->  (..., embedding_dim).

    weight (num_embeddings, embedding_dim) starts as N(0, 1).

    padding_idx   the row of padding, which starts as zero and gets no gradient; a
                  negative number counts from the end
    """

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, rng=None):
        self.num_embeddings = size("Embedding: num_embeddings", num_embeddings)
        self.embedding_dim = size("Embedding: embedding_dim", embedding_dim)
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise ValueError(
                    f"Embedding: padding_idx is {padding_idx}, and there are "
                    f"{num_embeddings} rows."
                )
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        self.weight = Parameter(np.empty((num_embeddings, embedding_dim), np.float32))
        init.normal_(self.weight, rng=rng)
        if padding_idx is not None:
            self.weight._data[padding_idx] = 0

    def forward(self, ids):
        return ops.embedding(ids, self.weight, self.padding_idx)

    def extra_repr(self):
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
        shape = np.atleast_1d(normalized_shape).tolist()
        self.normalized_shape, self.eps = tuple(shape), eps
        self.weight = Parameter(np.ones(shape, np.float32))
        self.bias = Parameter(np.zeros(shape, np.float32))

    def forward(self, x):
        x = floats(self, "x", x)
        if x.shape[-len(self.normalized_shape) :] != self.normalized_shape:
            raise ValueError(
                f"{self!r}: the last axes of x must be {self.normalized_shape}; "
                f"found shape {x.shape}."
            )
        return ops.layer_norm(x, self.weight, self.bias, eps=self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}"


class Dropout(Module):
    """Set entries to zero with probability p in training, and scale up the others."""

    def __init__(self, p=0.5, rng=None):
        self.p, self.rng = probability("Dropout: p", p), rng

    def forward(self, x):
        return ops.dropout(x, self.p, training=self.training, rng=self.rng)

    def extra_repr(self):
        return f"p={self.p}"


def floats(module, name, x):
    """Return x as a Tensor or array; raise TypeError unless it is floating point."""
    x = x if isinstance(x, Tensor) else np.asarray(x)
    if x.dtype.kind != "f":
        raise TypeError(f"{module!r}: {name} must be floating point; found {x.dtype}.")
    return x


def size(name, n):
    """Return n; raise unless it is a whole number of 1 or more."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
        raise TypeError(f"{name} must be a whole number; found {n!r}.")
    if n < 1:
        raise ValueError(f"{name} must be 1 or more; found {n}.")
    return int(n)


def probability(name, p):
    """Return p; raise unless it is a probability."""
    number = isinstance(p, (int, float, np.number)) and not isinstance(p, bool)
    if not number or not 0 <= p <= 1:
        raise ValueError(f"{name} must be a probability, from 0 to 1; found {p!r}.")
    return p
