"""Luong's three scores under one name, as a layer.

    dot        q_i . k_j                      no parameters; queries as wide as keys
    general    q_i . W_a k_j                  queries and keys of different widths
    concat     v_a . tanh(W_a [q_i; k_j])     a network of one hidden layer

``precompute`` computes the part of the score that depends only on k_j once for all
queries. In concat, W_a (A, Dq + Dk) consists of the columns of W_q and of W_k of the
additive score. scores.py has the cost of each score.

Luong et al. 2015, section 3.1. In their section 5.3, dot works well with global
attention, and general is better with local attention.
"""

import functools

from minigrad import linear
from minigrad.arguments import one_of, whole
from minigrad.shapes import shapes

from .. import definitions
from ..layers import Attention, FusedScore, xavier_matrix, xavier_vector
from ..scores import dot, general, tanh_scores
from .row import Score

NAME = "LuongAttention"
KINDS = ("dot", "general", "concat")


class LuongAttention(Attention):
    """Attention with one of Luong's three scores, Luong et al. 2015, section 3.1.

    kind          "dot"      q_i . k_j, for queries as wide as keys: no parameters
                  "general"  q_i^T W_a k_j, with W_a (query_size, key_size)
                  "concat"   v_a . tanh(W_a [q_i; k_j]), with v_a (num_hiddens,) and
                             W_a (num_hiddens, query_size + key_size)
    num_hiddens   only for "concat"; None is query_size

    W_a and v_a are Xavier-uniform.
    """

    def __init__(
        self, kind, query_size, key_size, num_hiddens=None, dropout=0.0, rng=None
    ):
        super().__init__(dropout, rng)
        self.kind = one_of(NAME, "kind", kind, KINDS)
        self.query_size = whole(NAME, "query_size", query_size, least=1)
        self.key_size = whole(NAME, "key_size", key_size, least=1)
        if kind == "dot" and query_size != key_size:
            raise ValueError(
                f"{NAME}: query_size is {query_size} and key_size {key_size}; expected "
                "the same size for 'dot'. Use 'general' or 'concat'."
            )
        if kind != "concat" and num_hiddens is not None:
            raise ValueError(
                f"{NAME}: num_hiddens is {num_hiddens}; expected None for {kind!r}. "
                "Only 'concat' has hidden units."
            )
        if kind == "general":
            self.W_a = xavier_matrix(query_size, key_size, rng)
        if kind == "concat":
            A = query_size if num_hiddens is None else num_hiddens
            whole(NAME, "num_hiddens", A, least=1)
            self.W_a = xavier_matrix(A, query_size + key_size, rng)
            self.v_a = xavier_vector(A, rng)

    @shapes
    def score(self, queries, keys):
        """Compute the score of this kind.

        queries (..., L, self.query_size), keys (..., S, self.key_size)
            ->  scores (..., L, S)
        """
        if self.kind == "general":
            return general.unchecked(queries, keys, self.W_a)
        return self.score_projected(queries, self.project(keys))

    @shapes
    def project(self, keys):
        """Compute the part of the score that depends on the keys alone.

        keys (..., S, self.key_size)  ->  projected (..., S, A)

        A is key_size for "dot", query_size for "general", num_hiddens for "concat".
        """
        if self.kind == "dot":
            return keys
        if self.kind == "general":
            return linear.unchecked(keys, self.W_a)
        return linear.unchecked(keys, self.W_a[:, self.query_size :])  # W_k k_j

    @shapes
    def score_projected(self, queries, projected):
        """Compute the score of keys that ``project`` has projected.

        queries (..., L, self.query_size), projected (..., S, A)  ->  scores (..., L, S)
        """
        if self.kind != "concat":
            return dot(queries, projected)
        q = linear.unchecked(queries, self.W_a[:, : self.query_size])
        return tanh_scores.unchecked(q, projected, self.v_a)

    def fused_score(self, query_size):
        """Return the ``FusedScore`` of this kind."""
        if self.kind != "concat":
            return FusedScore()
        return FusedScore(self.W_a[:, : self.query_size], self.v_a)

    def extra_repr(self):
        sizes = f"{self.kind!r}, {self.query_size}, {self.key_size}"
        if self.kind == "concat":
            sizes += f", {len(self.v_a)}"
        return f"{sizes}, {super().extra_repr()}"


def _concat(q, k, W_a, v_a):
    """Return the scores by W_a [q; k] = W_q q + W_k k, without the pairs [q; k]."""
    W_q, W_k = W_a[:, : q.shape[1]], W_a[:, q.shape[1] :]
    return definitions.additive(q, k, W_q, W_k, v_a)


ROWS = [
    Score(
        "dot", definitions.dot, functools.partial(LuongAttention, "dot"), "E, Dk",
        multiplications="L*S*E + L*S*Ev",
        about="""score: s = q . k
        can be one matrix product, without parameters
        cannot compare queries and keys of two widths; keep the deviation of its scores
        as the width grows
        lesson 4: which keys a score can prefer; Luong et al. 2015""",
    ),
    Score(
        "concat", _concat, functools.partial(LuongAttention, "concat"), "E, Dk",
        parameters="W_a (A, E + Dk), v_a (A)",
        multiplications="A*(L*E + S*Dk) + L*S*A + L*S*Ev",
        about="""score: s = v_a . tanh(W_a [q; k])
        can compute all that additive can: W_a is W_q beside W_k
        cannot be one matrix product: each pair takes a tanh for each of A hidden units
        lesson 4: which keys a score can prefer; Luong et al. 2015""",
    ),
]  # fmt: skip
