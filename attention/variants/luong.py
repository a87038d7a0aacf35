"""Luong's three scores under one name, as a layer.

    dot        q_i . k_j                      no parameters; queries as wide as keys
    general    q_i . W_a k_j                  keys in another space than queries
    concat     v_a . tanh(W_a [q_i; k_j])     a network of one hidden layer

so that a model can be told by a word which of them to compare. W_a k_j, and of concat
the half of W_a [q_i; k_j] that belongs to k_j, are made once for all queries; W_a
(A, Dq + Dk), cut into those halves, is the additive score's W_q and W_k side by side.
What each costs stands with the scores (scores.py).

Luong et al. 2015, equation 8. The paper's best are dot with global attention, general
with local.
"""

from minigrad import linear
from minigrad.checks import whole
from minigrad.shapes import shapes

from ..layers import Attention, to_one_number, xavier_uniform
from ..scores import additive_core, dot, general


class LuongAttention(Attention):
    """Luong's three scores by name, Luong et al. 2015, equation 8.

    kind          "dot"      q_i . k_j, for queries as wide as keys: no parameters
                  "general"  q_i^T W_a k_j, with W_a (query_size, key_size)
                  "concat"   v_a . tanh(W_a [q_i; k_j]), with v_a (num_hiddens,) and
                             W_a (num_hiddens, query_size + key_size)
    num_hiddens   of "concat"; None: as many as query_size

    W_a and v_a are Xavier-uniform. Raises ValueError for another kind, for "dot" of two
    sizes, and for num_hiddens where there are none.
    """

    def __init__(
        self, kind, query_size, key_size, num_hiddens=None, dropout=0.0, rng=None
    ):
        super().__init__(dropout, rng)
        self.kind = kind
        self.query_size = whole("LuongAttention", "query_size", query_size, least=1)
        self.key_size = whole("LuongAttention", "key_size", key_size, least=1)
        if kind not in ("dot", "general", "concat"):
            raise ValueError(
                f"LuongAttention: kind is {kind!r}; expected 'dot', 'general' or "
                "'concat'."
            )
        if kind == "dot" and query_size != key_size:
            raise ValueError(
                f"LuongAttention: 'dot' needs queries and keys of one width; found "
                f"query_size {query_size} and key_size {key_size}: use 'general' or "
                "'concat'."
            )
        if kind != "concat" and num_hiddens is not None:
            raise ValueError(
                f"LuongAttention: num_hiddens is {num_hiddens}, which {kind!r} has no "
                "use for; it belongs to 'concat'."
            )
        if kind == "general":
            self.W_a = xavier_uniform(query_size, key_size, rng)
        if kind == "concat":
            A = query_size if num_hiddens is None else num_hiddens
            whole("LuongAttention", "num_hiddens", A, least=1)
            self.W_a = xavier_uniform(A, query_size + key_size, rng)
            self.v_a = to_one_number(A, rng)

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
        return additive_core.unchecked(q, projected, self.v_a)

    def extra_repr(self):
        sizes = f"{self.kind!r}, {self.query_size}, {self.key_size}"
        if self.kind == "concat":
            sizes += f", {len(self.v_a)}"
        return f"{sizes}, {super().extra_repr()}"
