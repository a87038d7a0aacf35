"""A pointer network: the weights of attention are the answer, and nothing is averaged.

    u_tj = w_v . tanh(W_q d_t + W_k e_j)
    P(y_t = j) = softmax of u_t over the elements j that are still allowed

d_t is the state of a decoder, e_j an element of the input, and y_t the place of the
element that is chosen in step t. So there are as many possible answers as elements, and
a model can point into longer inputs than it was trained with; an output layer would
have a fixed number of words.

The loss is -ln P(y_t). With p_t = softmax(u_t) its gradient is du_t = p_t - onehot(y_t)
at the allowed elements, and 0 at the others. From there it is that of the additive
score (``tanh_scores``).

An element that was chosen must be masked before the softmax, in training and in use.
Beam search has to carry a mask for each of its hypotheses.

Vinyals, Fortunato and Jaitly 2015.
"""

import numpy as np

from minigrad import where
from minigrad.arguments import between, whole
from minigrad.shapes import shapes

from .. import definitions
from ..layers import AdditiveAttention
from ..masks.given import check_axes
from ..template import clear_masked
from .row import Variant


class Pointer(AdditiveAttention):
    """The additive score as logits of the places of a sequence.

    ``mg.cross_entropy(pointer(states, elements, mask), places)`` is the loss.
    Parameters and ``precompute`` are those of ``AdditiveAttention``. There is no dropout:
    the scores are the result, and no weight is averaged.
    """

    def __init__(self, query_size, key_size, num_hiddens, *, rng=None, bias=False):
        super().__init__(query_size, key_size, num_hiddens, rng=rng, bias=bias)

    @shapes
    def forward(self, queries, keys, mask=None):
        """Return the scores u; those of masked elements are -inf.

        queries (..., L, self.query_size), keys (..., S, self.key_size) or
        ProjectedKeys, mask? (..., L | 1, S) bool  ->  u (..., L, S)

        queries   the states d_t
        keys      the elements e_j
        mask      True = may be chosen
        """
        keys, score = self.keys_and_score(keys)
        check_axes("Pointer", mask, max(queries.ndim, keys.ndim))
        keys, _, allowed, _ = clear_masked("Pointer", queries, keys, keys, mask)
        u = score(queries, keys)
        return u if allowed is None else where(allowed, u, -np.inf)


@shapes
def not_chosen(places, S):
    """Return which of S elements are left at each step: those not chosen before.

    places (..., L) int  ->  allowed (..., L, S) bool

    places   y_t, the place that is chosen in step t
    """
    S = whole("not_chosen", "S", S)
    between("not_chosen", "places", places, 0, S - 1, "the elements")
    chosen = places[..., None] == np.arange(S)  # (..., L, S)
    before = np.cumsum(chosen, -2) - chosen  # the steps before t
    return before == 0


ROWS = [
    # the scores, and no values: the weights are the answer
    Variant(
        "pointer", definitions.pointer, Pointer, "E, Dk, A",
        inputs="q (L, E), k (S, Dk)",
        parameters="W_q (A, E), W_k (A, Dk), w_v (A)",
        multiplications="A*(L*E + S*Dk) + L*S*A",
        about="""template: the weights over the elements are the output; there are no
        values
        can answer with a place of an input longer than those of the training
        cannot write what the input does not contain
        lesson 16: sorting numbers; Vinyals, Fortunato and Jaitly 2015""",
    ),
]  # fmt: skip
