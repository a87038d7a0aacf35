"""Linear attention with decay: each step multiplies the state by a number below 1.

    S_t = a_t S_(t-1) + k_t v_t^T,    o_t = S_t^T q_t        S (E, Ev), S_0 = 0

This replaces softmax and mask. With S_t written out, it is attention to the keys j <= i
with the weights M_ij (q_i . k_j), which are not divided by their sum:

    o_i = sum_j M_ij (q_i . k_j) v_j         M_ij = a_(j+1) a_(j+2) ... a_i,  M_ii = 1

So there are two ways to the same outputs: token by token with a state, or by a matrix
of all pairs. This is the duality of recurrence and attention. Two published variants:

    RetNet     a is fixed, one for each head, see ``retnet_log_decay``
    Mamba-2    ln a_t = d_t A is computed from the token: one A < 0 for each head, and a
               step d_t > 0; then q, k and v are C_t, B_t and d_t x_t

With a = 1 this is linear attention without phi and denominator. ALiBi has the same
factor M_ij inside of a softmax: its bias of a score is ln M_ij, for a constant a.

recurrence.py computes the states in chunks, and derives the gradients.

Sun et al. 2023 (RetNet); Dao and Gu 2024 (Mamba-2).
"""

import numpy as np

from minigrad import unsqueeze
from minigrad.arguments import whole
from minigrad.shapes import shapes

from .. import definitions
from .recurrence import recurrence
from .row import Variant


@shapes
def decay_attention(q, k, v, log_decay, state=None):
    """S_t = a_t S_(t-1) + k_t v_t^T,  o_t = S_t^T q_t,  a_t = exp(log_decay_t)

    q (..., L, E), k (..., L, E), v (..., L, Ev), log_decay (..., L | 1),
    state? (..., E, Ev)  ->  o (..., L, Ev), state (..., E, Ev)

    log_decay   ln a_t, 0 or less. With -inf, which is a_t = 0, all earlier tokens are
                forgotten
    state       S_0, the result of an earlier call; None is 0. The new state is S_L, for
                the next call: decoding makes calls with L = 1

    Divide q by sqrt(E) first, and normalise o of each head: neither is done here.
    It costs 2 E Ev + 64 (E + Ev) multiplications for each token, or 3 E Ev if L = 1.
    """
    return recurrence.unchecked(q, k, v, unsqueeze(log_decay, -1), state)


def retnet_log_decay(num_heads):
    """Return ln a_h for a_h = 1 - 2^(-5 - h), h = 0, ..., H - 1: an array (H, 1).

    A head with a_h adds up about 1 / (1 - a_h) tokens: 32, 64, 128, ...
    Sun et al. 2023
    """
    H = whole("retnet_log_decay", "num_heads", num_heads, least=1)
    return np.log1p(-(2.0 ** (-5 - np.arange(H))))[:, None]


def _of_numbers(q, k, v, log_a):
    return definitions.decay(q, k, v, log_a[:, None])  # a number for each token


def _retnet_definition(q, k, v):
    return definitions.decay(q, k, v, retnet_log_decay(1).repeat(len(q), 0))


def _retnet(q, k, v):
    return decay_attention(q, k, v, retnet_log_decay(1)[0].astype(q.dtype))


# Multiplications of the recurrence, token by token: the decay, the write k_t v_t^T and
# the read S_t^T q_t of a state (E, Ev); the delta rule reads S^T k_t as well. In chunks
# of T tokens they are E Ev less, and T (E + Ev) more.
ROWS = [
    # a fixed number times the first state, 0, is not counted
    Variant(
        "retnet", _retnet_definition, _retnet,
        inputs="q (L, E), k (L, E), v (L, Ev)",
        multiplications="(3*L - 1)*E*Ev",
        about="""template: S = a S + k v^T, o = S^T q, with a fixed a for each head, and
        no softmax
        can continue a text with a state of fixed size; forget slowly
        cannot choose when to forget; replace a value
        lesson 18: overwritten names; Sun et al. 2023""",
    ),
    Variant(
        "decay", _of_numbers, decay_attention,
        inputs="q (L, E), k (L, E), v (L, Ev), log_a (L)",
        multiplications="3*L*E*Ev",
        about="""template: S = a_t S + k v^T, with a number a_t computed from the token
        can reset its state; be computed as a matrix of pairs or token by token
        cannot forget one key and keep another
        lesson 18: overwritten names; Dao and Gu 2024""",
    ),
]  # fmt: skip
