"""Gated linear attention: a decay for each row of the state, computed from the token.

    S_t = diag(a_t) S_(t-1) + k_t v_t^T,    o_t = S_t^T q_t        a_t (E,)

This is decay.py with a number a_te for each coordinate of the keys, so that the state
can keep one coordinate for long and forget another. In Yang et al. it is near 1: a_t is
sigmoid(W x_t)^(1 / 16), so log_decay is log_sigmoid(W x_t) / 16.
recurrence.py computes the states in chunks, and derives the gradients.

Yang et al. 2024, "Gated linear attention transformers".
"""

from minigrad.shapes import shapes

from .. import definitions
from .recurrence import recurrence
from .row import Variant


@shapes
def gated_linear_attention(q, k, v, log_decay, state=None):
    """S_t = diag(a_t) S_(t-1) + k_t v_t^T,  o_t = S_t^T q_t,  a_t = exp(log_decay_t)

    q (..., L, E), k (..., L, E), v (..., L, Ev), log_decay (..., L, E),
    state? (..., E, Ev)  ->  o (..., L, Ev), state (..., E, Ev)

    log_decay   ln a_t, 0 or less
    state       S_0, the result of an earlier call; None is 0. The new state is S_L

    Divide q by sqrt(E) first, and normalise o of each head: neither is done here.
    """
    return recurrence.unchecked(q, k, v, log_decay, state)


ROWS = [
    Variant(
        "gla", definitions.decay, gated_linear_attention,
        inputs="q (L, E), k (L, E), v (L, Ev), log_a (L, E)",
        multiplications="3*L*E*Ev",
        about="""template: S = diag(a_t) S + k v^T, with a vector a_t from the token
        can forget some coordinates of the keys and keep others
        cannot replace the value of a key that shares coordinates with others
        lesson 18: overwritten names; Yang et al. 2024""",
    ),
]  # fmt: skip
