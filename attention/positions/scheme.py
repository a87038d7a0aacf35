"""What a scheme of positions is: one object adds positions to all layers of a stack.

Each page of a scheme has its formula, its scheme and its row. A scheme changes the
input, the scores, or queries and keys, whose pairs of entries are rotated. The layers
of a stack share the parameters of its scheme.

Without any scheme, a causal model can learn some order, because its first query has one
key, the second has two (Haviv et al. 2022).
"""

from dataclasses import dataclass
from typing import Callable

from minigrad import nn, reshape

from .. import definitions
from ..variants.row import SCALED


class Scheme(nn.Module):
    """The scheme without positions. Other schemes override its methods.

    config        a ``TransformerConfig``
    causal        whether no query of the stack attends to a later key
    scale         the factor of q . k in self-attention; None is 1 / sqrt(E)
    cross_scale   the same in cross-attention
    changes       "nothing", "input", "scores", or "queries and keys", which are rotated
    replaces      whether it computes the scores, and does not only add a bias
    bounded       whether a sequence has at most config.max_length tokens
    bias          None, or a function (L, S, first) of what is added to the scores
    """

    scale = cross_scale = bias = None
    changes = "nothing"
    replaces = bounded = False

    def __init__(self, config=None, causal=True, rng=None):
        pass

    def embed(self, x, positions):
        """Add positions (n,) or (B, n) to x (B, n, D)."""
        return x

    def options(self, attention, positions=None):
        """Return keyword arguments for each call of the layer ``attention``.

        They are its arguments "bias", "rotate" and "score", which replaces its scores.

        positions   of the queries in their texts, (n,) or (B, n); None counts from 0
        """
        return {} if self.bias is None else {"bias": self.bias}

    def extend(self, length):
        """Prepare for sequences of this length. Most schemes need no preparation."""


class Scores(Scheme):
    """A scheme whose scores are more than products and a bias.

    A subclass has a method ``scores(attention, q, k, first)``, where first is the
    position of the first query. G query heads share each of Hk key heads:

        q (B, Hk, G, L, E), k (B, Hk, 1, S, E)  ->  scores (B, Hk, G, L, S)
    """

    changes, replaces = "scores", True

    def options(self, attention, positions=None):
        """Return the function that computes the scores."""

        def score(q, k, first):
            (B, H, L, E), (_, Hk, S, _) = q.shape, k.shape
            q = reshape(q, (B, Hk, H // Hk, L, E))
            k = reshape(k, (B, Hk, 1, S, E))
            return reshape(self.scores(attention, q, k, first), (B, H, L, S))

        return {"score": score}


@dataclass(frozen=True)
class Position:
    """A row of the table of positions, see attention/variants/row.py.

    scheme           (config, causal, rng) -> the scheme of a stack
    definition       of definitions.py: what is added or rotated, or the scores
    multiplications  of the scores of one head of a layer, without those that are made
                     once for all layers
    inputs           of the definition, after q (L, E) and k (S, E), and their shapes
    about, file      what the map says; its page
    """

    name: str
    scheme: type
    definition: Callable
    about: str
    multiplications: str = SCALED
    inputs: str = ""
    file: str = ""


ROWS = [
    Position(
        "none", Scheme, definitions.scaled_dot,
        """source: nothing: words without positions
        can learn some order in a causal model, where each query has another number of
        keys
        cannot distinguish orders of the words without a causal mask
        lesson 11: two sentences of the same words; Haviv et al. 2022""",
    ),
]  # fmt: skip
