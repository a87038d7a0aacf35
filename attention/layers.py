"""Attention as layers: the template of ``attend`` with a score that is learned.

    layer(queries, keys, values, valid_lens=None)  ->  context

queries (B, L, Dq), keys (B, S, Dk), values (B, S, Ev), valid_lens (B,) or (B, L)
->  context (B, L, Ev); any leading axes will do. ``layer.attention_weights`` is then
the (B, L, S) Tensor of weights, before dropout and apart from the graph.

The parameters are stored as the equations have them.
"""

import math

import numpy as np

from minigrad import nn
from minigrad.nn.layers import probability

from .attend import attend
from .scores import additive, general, scaled_dot


class Attention(nn.Module):
    """What the layers share: the template, dropout on the weights, and a look at them.

    A layer is this and a method ``score(queries, keys)``.

    dropout   the probability that a weight is dropped, in training
    rng       draws the parameters and the dropout; None takes minigrad's own generator
    """

    def __init__(self, dropout=0.0, rng=None):
        self.dropout = probability(f"{type(self).__name__}: dropout", dropout)
        self.rng = rng
        self.attention_weights = None  # those of the last call

    def forward(self, queries, keys, values, valid_lens=None):
        context, weights = attend(
            queries,
            keys,
            values,
            self.score,
            valid_lens=valid_lens,
            dropout_p=self.dropout,
            training=self.training,
            rng=self.rng,
        )
        self.attention_weights = weights.detach()  # the graph lives with the loss alone
        return context

    def extra_repr(self):
        return f"dropout={self.dropout}"


class DotProductAttention(Attention):
    """Scaled dot products, s_ij = q_i . k_j / sqrt(D): queries as wide as keys.

    No parameters. Vaswani et al. 2017, equation 1.
    """

    def score(self, queries, keys):
        return scaled_dot(queries, keys)


class GeneralAttention(Attention):
    """A learned product, s_ij = q_i^T W_a k_j. Luong et al. 2015, "general".

    W_a   (query_size, key_size), Xavier-uniform
    """

    def __init__(self, query_size, key_size, dropout=0.0, rng=None):
        super().__init__(dropout, rng)
        self.query_size, self.key_size = query_size, key_size
        self.W_a = _xavier_uniform(query_size, key_size, rng)

    def score(self, queries, keys):
        _check_widths(self, queries, keys)
        return general(queries, keys, self.W_a)

    def extra_repr(self):
        return f"{self.query_size}, {self.key_size}, {super().extra_repr()}"


class AdditiveAttention(Attention):
    """A network of one hidden layer, s_ij = w_v . tanh(W_q q_i + W_k k_j).

    W_q   (num_hiddens, query_size)
    W_k   (num_hiddens, key_size)
    w_v   (num_hiddens,); all three Xavier-uniform

    Bahdanau et al. 2015, appendix A.1.2, without biases.
    """

    def __init__(self, query_size, key_size, num_hiddens, dropout=0.0, rng=None):
        super().__init__(dropout, rng)
        self.query_size, self.key_size = query_size, key_size
        self.num_hiddens = num_hiddens
        self.W_q = _xavier_uniform(num_hiddens, query_size, rng)
        self.W_k = _xavier_uniform(num_hiddens, key_size, rng)
        a = math.sqrt(6 / (num_hiddens + 1))  # Xavier's bound for a map to one number
        self.w_v = nn.Parameter(np.empty(num_hiddens, np.float32))
        nn.init.uniform_(self.w_v, -a, a, rng)

    def score(self, queries, keys):
        _check_widths(self, queries, keys)
        return additive(queries, keys, self.W_q, self.W_k, self.w_v)

    def extra_repr(self):
        sizes = f"{self.query_size}, {self.key_size}, {self.num_hiddens}"
        return f"{sizes}, {super().extra_repr()}"


def _xavier_uniform(rows, columns, rng):
    parameter = nn.Parameter(np.empty((rows, columns), np.float32))
    return nn.init.xavier_uniform_(parameter, rng=rng)


def _check_widths(layer, queries, keys):
    for name, x, size, option in (
        ("queries", queries, layer.query_size, "query_size"),
        ("keys", keys, layer.key_size, "key_size"),
    ):
        if x.shape[-1] != size:
            raise ValueError(
                f"{layer!r}: {name} has shape {x.shape}; expected a last axis of "
                f"{size}, the layer's {option}."
            )
