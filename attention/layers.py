"""Attention layers: ``attend`` with a score whose parameters are learned.

    layer(queries, keys, values, lengths=None, normalize=None)  ->  context

    c_i = sum_j p_ij v_j,    p_i = softmax over j of score(q_i, k_j)

The shapes are those of ``attend``. After the call, ``layer.attention_weights`` holds
the weights (..., L, S), before dropout and without gradient. Calling an
``nn.Module`` calls its ``forward``. The parameters of a module are its attributes of
type ``nn.Parameter``.

A decoder compares the same keys with a new query at every step. The part of the score
that depends on the keys alone is computed once, by ``keys = layer.precompute(keys)``.

``@shapes`` checks the arguments of a method. The method then calls a function, such as
``general.unchecked``, which is ``general`` without a second check.

Bahdanau et al. 2015 (additive); Luong et al. 2015 (general); Vaswani et al. 2017
(scaled dot products). variants/luong.py and variants/gaussian.py have more such layers.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from minigrad import Tensor, linear, nn
from minigrad.arguments import flag, probability, whole
from minigrad.shapes import shapes

from . import definitions
from .inheritance import depth, withdraw_stale
from .template import attend
from .scores import dot, general, scaled_dot, tanh_scores
from .variants.row import Score

FORMULA = (  # the methods that define what a layer computes
    "forward", "keys_and_score", "precompute", "project", "score", "score_projected",
)  # fmt: skip


class Attention(nn.Module):
    """The base class of attention layers. It calls ``attend`` and stores the weights.

    A layer defines ``score(queries, keys)``. A layer that projects its keys also
    defines ``project(keys)`` and ``score_projected(queries, projected)``, with

        score(queries, keys) = score_projected(queries, project(keys))

    dropout   the probability that a weight is dropped, in training
    rng       the generator of parameters and dropout; None uses minigrad's generator
    """

    projects = False  # whether the score is defined in these two parts

    def __init__(self, dropout=0.0, rng=None):
        self.dropout = probability(type(self).__name__, "dropout", dropout)
        self.rng = rng
        self.attention_weights: Any = None  # the weights of the last call

    def forward(self, queries, keys, values, lengths=None, normalize=None) -> Tensor:
        """Return the context (..., L, Ev), and store the weights (..., L, S).

        queries (..., L, Dq), keys (..., S, Dk) or ``ProjectedKeys``,
        values (..., S, Ev), lengths (B,) or (B, L) or None
        """
        keys, score = self.keys_and_score(keys)
        context, weights = attend(
            queries,
            keys,
            values,
            score,
            lengths=lengths,
            dropout_p=self.dropout,
            training=self.training,
            rng=self.rng,
            normalize=normalize,
        )
        # without detach(), the layer would keep the graph if backward() is not called
        self.attention_weights = weights.detach()
        return context

    @shapes
    def precompute(self, keys):
        """Project the keys once. Pass the result to later calls instead of the keys.

        keys (..., S, Dk)  ->  ``ProjectedKeys``
        """
        return ProjectedKeys(self, self.project(keys) if self.projects else keys)

    def keys_and_score(self, keys):
        """Return the keys (projected or not) and the score function for them."""
        if not isinstance(keys, ProjectedKeys):
            return keys, self.score
        if keys.layer is not self:
            raise ValueError(
                f"{self!r}: the keys were projected by another layer, {keys.layer!r}; "
                "expected the result of this layer's precompute(keys)."
            )
        return keys.projected, self.score_projected if self.projects else self.score

    def score(self, queries, keys):
        """Return the scores (..., L, S): queries (..., L, Dq), keys (..., S, Dk)."""
        return self.score_projected(queries, self.project(keys))

    def project(self, keys):
        """Return the part of the scores that depends on keys (..., S, Dk) alone."""
        return keys

    def score_projected(self, queries, projected):
        """Return the scores (..., L, S) of keys that ``project`` has projected."""
        raise NotImplementedError(f"{type(self).__name__} has no method score.")

    def extra_repr(self):
        return f"dropout={self.dropout}"

    def fused_score(self, query_size):
        """Return the score as a ``FusedScore``, or None if it has another form.

        A subclass that overrides the score does not inherit this method.
        """
        return None

    def __init_subclass__(cls, **options):
        """Find which methods of a subclass follow the formula that it overrides."""
        super().__init_subclass__(**options)
        withdraw_stale(cls, Attention, FORMULA, ["fused_score"])
        in_two_parts = "project", "score_projected"
        withdraw_stale(cls, Attention, in_two_parts, ["score"])
        cls.projects = depth(cls, *in_two_parts) <= depth(cls, "score")


class ProjectedKeys:
    """The projected keys of one layer, which ``layer.precompute(keys)`` returns.

    All calls share one projection; its gradient is the sum of their gradients. If the
    parameters change, it is no longer valid: in training, compute it for every batch.
    """

    def __init__(self, layer, projected):
        self.layer, self.projected = layer, projected

    shape = property(lambda self: self.projected.shape)

    def __repr__(self):
        return f"ProjectedKeys({self.layer!r}, shape={self.shape})"


class DotProductAttention(Attention):
    """Attention by scaled dot products, s_ij = q_i . k_j / sqrt(D), without parameters.

    Vaswani et al. 2017, equation 1.
    """

    def score(self, queries, keys):
        return scaled_dot(queries, keys)

    def fused_score(self, query_size):
        return FusedScore(scale=1 / math.sqrt(query_size))


class GeneralAttention(Attention):
    """Attention by a learned product, s_ij = q_i^T W_a k_j.

    W_a   (query_size, key_size), from ``xavier_matrix``

    Luong et al. 2015, section 3.1, "general".
    """

    def __init__(self, query_size, key_size, dropout=0.0, rng=None):
        super().__init__(dropout, rng)
        name = type(self).__name__
        self.query_size = whole(name, "query_size", query_size, least=1)
        self.key_size = whole(name, "key_size", key_size, least=1)
        self.W_a = xavier_matrix(query_size, key_size, rng)

    @shapes
    def score(self, queries, keys):
        """Compute the scores of keys that are not projected.

        queries (..., L, self.query_size), keys (..., S, self.key_size)
            ->  scores (..., L, S)
        """
        return general.unchecked(queries, keys, self.W_a)

    @shapes
    def project(self, keys):
        """Compute W_a k_j.

        keys (..., S, self.key_size)  ->  projected (..., S, self.query_size)
        """
        return linear.unchecked(keys, self.W_a)

    def score_projected(self, queries, projected):
        return dot(queries, projected)  # q_i . (W_a k_j)

    def fused_score(self, query_size):
        return FusedScore()

    def extra_repr(self):
        return f"{self.query_size}, {self.key_size}, {super().extra_repr()}"


class AdditiveAttention(Attention):
    """Attention by a network of one hidden layer, w_v . tanh(W_q q_i + W_k k_j + b).

    W_q   (num_hiddens, query_size); num_hiddens is A, the width of the hidden layer
    W_k   (num_hiddens, key_size)
    w_v   (num_hiddens,)
    b     (num_hiddens,), starts as 0; None if bias=False, as in the paper

    W_q and W_k are from ``xavier_matrix``, w_v is from ``xavier_vector``.

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
        self.W_q = xavier_matrix(num_hiddens, query_size, rng)
        self.W_k = xavier_matrix(num_hiddens, key_size, rng)
        self.w_v = xavier_vector(num_hiddens, rng)
        has_bias = flag(name, "bias", bias)
        self.b = nn.Parameter(np.zeros(num_hiddens, np.float32)) if has_bias else None

    @shapes
    def project(self, keys):
        """Compute W_k k_j + b.

        keys (..., S, self.key_size)  ->  projected (..., S, self.num_hiddens)
        """
        return linear.unchecked(keys, self.W_k, self.b)

    @shapes
    def score_projected(self, queries, projected):
        """Compute w_v . tanh(W_q q_i + projected_j).

        queries (..., L, self.query_size), projected (..., S, self.num_hiddens)
            ->  scores (..., L, S)
        """
        projected_queries = linear.unchecked(queries, self.W_q)  # (..., L, A)
        return tanh_scores.unchecked(projected_queries, projected, self.w_v)

    def fused_score(self, query_size):
        return FusedScore(self.W_q, self.w_v)

    def extra_repr(self):
        sizes = f"{self.query_size}, {self.key_size}, {self.num_hiddens}"
        bias = "" if self.b is None else ", bias=True"
        return f"{sizes}, {super().extra_repr()}{bias}"


class FusedScore(NamedTuple):
    """The arguments of ``attention_gru`` for a score of query q and projected key k.

        w_v . tanh(W_q q + k),    or scale q . k if W_q and w_v are None
    """

    W_q: Any = None  # (A, Dq)
    w_v: Any = None  # (A,)
    scale: float = 1.0


def xavier_matrix(rows, columns, rng):
    """Return a parameter, uniform between -b and b, b = sqrt(6 / (rows + columns))."""
    parameter = nn.Parameter(np.empty((rows, columns), np.float32))
    return nn.init.xavier_uniform_(parameter, rng=rng)


def xavier_vector(columns, rng):
    """Return a parameter (columns,), initialised like a matrix with one row."""
    b = math.sqrt(6 / (1 + columns))
    return nn.init.uniform_(nn.Parameter(np.empty(columns, np.float32)), -b, b, rng)


ROWS = [
    # W_q q_i is computed once for each query, and W_k k_j once for each key
    Score(
        "additive", definitions.additive, AdditiveAttention, "E, Dk, A",
        parameters="W_q (A, E), W_k (A, Dk), w_v (A)",
        multiplications="A*(L*E + S*Dk) + L*S*A + L*S*Ev",
        about="""score: s = w . tanh(W_q q + W_k k), a network with one hidden layer
        can prefer keys in the middle of a range; compare queries and keys of two widths
        cannot be one matrix product: each pair takes a tanh for each of A hidden units
        lesson 4: which keys a score can prefer; Bahdanau et al. 2015""",
    ),
    # W_a^T q_i is computed once for each query
    Score(
        "general", definitions.general, GeneralAttention, "E, Dk",
        parameters="W_a (E, Dk)",
        multiplications="L*E*Dk + L*S*Dk + L*S*Ev",
        about="""score: s = q . W_a k, with a learned matrix
        can learn which directions of queries and keys belong together
        cannot prefer keys in the middle of a range: it is linear in the key
        lesson 4: which keys a score can prefer; Luong et al. 2015""",
    ),
    Score(
        "scaled", definitions.scaled_dot, DotProductAttention, "",
        about="""score: s = q . k / sqrt(E)
        can keep the deviation of the scores of random vectors at 1, for every width
        cannot compare queries and keys of two widths
        lesson 5: entropy of the weights against the width; Vaswani et al. 2017""",
    ),
]  # fmt: skip
