"""Attention as layers: the template of ``attend`` with a score that is learned.

    layer(queries, keys, values, valid_lens=None)  ->  context

queries (B, L, Dq), keys (B, S, Dk), values (B, S, Ev), valid_lens (B,) or (B, L)
->  context (B, L, Ev); any leading axes will do. ``layer.attention_weights`` is then
the (B, L, S) Tensor of weights, before dropout and apart from the graph.

    c_i = sum_j p_ij v_j,    p_i = softmax over j of score(q_i, k_j)

The parameters are stored as the equations have them. The cost is that of the score
(scores.py), L S Ev for the average, and the memory of the weights, L S.

A decoder asks the same keys at every step, one query at a time. What the score makes of
the keys alone is then computed once, by ``keys = layer.precompute(keys)``.

Bahdanau et al. 2015 (additive); Luong et al. 2015 (general); Vaswani et al. 2017
(scaled dot products). luong.py and gaussian.py have more such layers.
"""

import math

import numpy as np

from minigrad import linear, nn
from minigrad.checks import probability

from .attend import attend
from .checks import flag, floats, whole
from .exact.projection import project_finite
from .scores import additive_core, dot, general, scaled_dot


class Attention(nn.Module):
    """What the layers share: the template, dropout on the weights, and a look at them.

    A layer is this and a method ``score(queries, keys)``. If there is something to be
    made of the keys alone, it has two methods more, so that

        score(queries, keys) = score_projected(queries, project(keys))

    dropout   the probability that a weight is dropped, in training
    rng       draws the parameters and the dropout; None takes minigrad's own generator
    """

    def __init__(self, dropout=0.0, rng=None):
        self.dropout = probability(type(self).__name__, "dropout", dropout)
        self.rng = rng
        self.attention_weights = None  # those of the last call

    def forward(self, queries, keys, values, valid_lens=None):
        keys, score = self.keys_and_score(keys)
        context, weights = attend(
            queries,
            keys,
            values,
            score,
            valid_lens=valid_lens,
            dropout_p=self.dropout,
            training=self.training,
            rng=self.rng,
        )
        self.attention_weights = weights.detach()  # the graph lives with the loss alone
        return context

    def precompute(self, keys):
        """What can be made of the keys before there is a query, for all calls to come.

        keys (..., S, Dk)  ->  ``ProjectedKeys``, to be passed in place of ``keys``

        Raises TypeError for anything but floating-point numbers, ValueError for keys
        of another width.
        """
        keys = floats(type(self).__name__, "keys", keys)
        return ProjectedKeys(self, project_finite(self.project, keys))

    def keys_and_score(self, keys):
        """The keys as a Tensor or array, and the score that goes with them."""
        if not isinstance(keys, ProjectedKeys):
            return keys, self.score
        if keys.layer is not self:
            raise ValueError(
                f"{self!r}: these keys were projected by another layer, "
                f"{keys.layer!r}; expected what this layer's precompute(keys) returned."
            )
        return keys.projected, self.score_projected

    def project(self, keys):
        return keys

    def score_projected(self, queries, projected):
        return self.score(queries, projected)

    def extra_repr(self):
        return f"dropout={self.dropout}"


class ProjectedKeys:
    """Keys as the score of one layer wants them, computed once for many queries.

    ``layer.precompute(keys)`` makes it, and calls of that layer take it in place of
    ``keys``. The gradients of all those calls go back through the one projection. It
    belongs to the parameters that it was made with: after they have changed, and so for
    every batch in training, make it anew.
    """

    def __init__(self, layer, projected):
        self.layer, self.projected = layer, projected

    shape = property(lambda self: self.projected.shape)

    def __repr__(self):
        return f"ProjectedKeys({self.layer!r}, shape={self.shape})"


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
        self.query_size = whole("GeneralAttention", "query_size", query_size, least=1)
        self.key_size = whole("GeneralAttention", "key_size", key_size, least=1)
        self.W_a = xavier_uniform(query_size, key_size, rng)

    def score(self, queries, keys):
        check_width(self, "queries", queries, "query_size")
        check_width(self, "keys", keys, "key_size")
        return general(queries, keys, self.W_a)

    def project(self, keys):
        check_width(self, "keys", keys, "key_size")
        return linear.unchecked(keys, self.W_a)  # W_a k_j

    def score_projected(self, queries, projected):
        check_width(self, "queries", queries, "query_size")
        return dot(queries, projected)

    def extra_repr(self):
        return f"{self.query_size}, {self.key_size}, {super().extra_repr()}"


class AdditiveAttention(Attention):
    """A network of one hidden layer, s_ij = w_v . tanh(W_q q_i + W_k k_j + b).

    W_q   (num_hiddens, query_size)
    W_k   (num_hiddens, key_size)
    w_v   (num_hiddens,); all three Xavier-uniform
    b     (num_hiddens,), from 0; None without bias, as in the paper

    Bahdanau et al. 2015, appendix A.1.2; See et al. 2017, equation 1 (the bias).
    """

    def __init__(
        self, query_size, key_size, num_hiddens, dropout=0.0, rng=None, bias=False
    ):
        super().__init__(dropout, rng)
        name = type(self).__name__
        self.query_size = whole(name, "query_size", query_size, least=1)
        self.key_size = whole(name, "key_size", key_size, least=1)
        self.num_hiddens = whole(name, "num_hiddens", num_hiddens, least=1)
        self.W_q = xavier_uniform(num_hiddens, query_size, rng)
        self.W_k = xavier_uniform(num_hiddens, key_size, rng)
        self.w_v = to_one_number(num_hiddens, rng)
        biased = flag(name, "bias", bias)
        self.b = nn.Parameter(np.zeros(num_hiddens, np.float32)) if biased else None

    def score(self, queries, keys):
        return self.score_projected(queries, self.project(keys))

    def project(self, keys):
        check_width(self, "keys", keys, "key_size")
        return linear.unchecked(keys, self.W_k, self.b)  # W_k k_j + b

    def score_projected(self, queries, projected):
        check_width(self, "queries", queries, "query_size")
        return additive_core(linear.unchecked(queries, self.W_q), projected, self.w_v)

    def extra_repr(self):
        sizes = f"{self.query_size}, {self.key_size}, {self.num_hiddens}"
        biased = "" if self.b is None else ", bias=True"
        return f"{sizes}, {super().extra_repr()}{biased}"


BahdanauAttention = AdditiveAttention  # by its author, as Luong's three scores are


def xavier_uniform(rows, columns, rng):
    """A parameter (rows, columns) within Xavier's bounds."""
    parameter = nn.Parameter(np.empty((rows, columns), np.float32))
    return nn.init.xavier_uniform_(parameter, rng=rng)


def to_one_number(columns, rng):
    """A parameter (columns,), which maps to one number, within Xavier's bounds."""
    a = math.sqrt(6 / (columns + 1))
    return nn.init.uniform_(nn.Parameter(np.empty(columns, np.float32)), -a, a, rng)


def check_width(layer, name, x, option):
    """ValueError unless the last axis of ``x`` is the size that ``option`` said."""
    size = getattr(layer, option)
    if x.shape[-1] != size:
        raise ValueError(
            f"{layer!r}: {name} has shape {x.shape}; expected a last axis of {size}, "
            f"the layer's {option}."
        )
