"""Memories that are read several times: hops, and the addresses of a Turing machine.

**Memory network.** A question u is compared with the keys m_j of a memory; the answer is
added to the question, and the sum is the next question:

    p = softmax over j of u . m_j,    u <- H u + sum_j p_j c_j       for each hop

Here c_j are the values, and H is the identity or learned. A second hop follows a chain
of two facts: "who has the apple", then "where is she". With ``add=False`` the answer
replaces the question, u <- sum_j p_j c_j, and each hop follows a pointer. If the values
of a hop are the keys of the next, as in the paper's adjacent tables, small models find
the chain more easily.

With g = dL/du after a hop, and p and u from before it,

    dp_j = g . c_j,    ds_j = p_j (dp_j - sum_n p_n dp_n)     the softmax
    dc_j += p_j g,     dm_j += ds_j u,     g <- H^T g + sum_j ds_j m_j

**Neural Turing Machine.** The weights of the last step are changed into new ones:

    p = softmax over j of beta cos(k, m_j)                  find by content
    p <- gate p + (1 - gate) last                           or stay
    p_j <- sum_d shift_d p_(j - d),  d from -1 to 1         move, around the end
    p_j <- p_j^gamma / sum_n p_n^gamma                      sharpen what the move blurred

The derivative of sharpening y = p^gamma / sum p^gamma is
dp_j = gamma / p_j y_j (g_j - sum_n y_n g_n), a softmax of gamma ln p.

Sukhbaatar et al. 2015 (hops); Graves, Wayne and Danihelka 2014 (addresses).
"""

import numpy as np

from minigrad import concat, log, minimum, softmax, where
from minigrad.arguments import whole
from minigrad.shapes import shapes

from .. import definitions
from ..scores import dot
from ..softmax import softmax_over_allowed
from ..template import attend
from .qk_norm import unit
from .row import Variant


@shapes
def hops(u, m, c, H=None, hops=1, add=True):
    """Read a memory several times; return the last question and all weights.

    u (..., D), m (..., S, D), c (..., S, D), H? (D, D)
        ->  u (..., D), weights (..., hops, S)

    hops   the number of times that the memory is read
    add    False: the answer replaces the question
    """
    whole("hops", "hops", hops, least=1)
    u, rows = u[..., None, :], []  # (..., 1, D)
    for _ in range(hops):
        answer, weights = attend(u, m, c, dot)
        rows.append(weights)
        if add:
            u = (u if H is None else u @ H.swapaxes(-1, -2)) + answer
        else:
            u = answer
    return u[..., 0, :], concat(rows, -2)


@shapes
def address(key, memory, last, beta, gate, shift, gamma):
    """Return new weights of the places of a memory, from the last ones.

    key (..., D), memory (..., S, D), last (..., S), beta (...), gate (...),
    shift (..., 3), gamma (...)  ->  weights (..., S)

    beta    above 0: how much content counts
    gate    from 0 to 1: the share that is found by content; the rest stays
    shift   the weights of a move by -1, 0 and 1
    gamma   1 or more: how much the result is sharpened
    """
    cosine = (unit(memory) @ unit(key)[..., None])[..., 0]  # (..., S), 0 for no direction
    found = softmax(beta[..., None] * cosine)
    p = gate[..., None] * found + (1 - gate[..., None]) * last
    to_left = concat([p[..., 1:], p[..., :1]], -1)
    to_right = concat([p[..., -1:], p[..., :-1]], -1)
    moved = shift[..., :1] * to_left + shift[..., 1:2] * p + shift[..., 2:] * to_right
    return sharpen(moved, gamma)


@shapes
def sharpen(p, gamma):
    """y_j = p_j^gamma / sum_n p_n^gamma, for weights p_j of 0 or more.

    p (..., S), gamma (...)  ->  y (..., S)

    This is a softmax of the scores s = gamma ln p, so ds_j = y_j (g_j - sum_n y_n g_n),
    and

        dp_j = gamma / p_j ds_j,    dgamma = sum_j ln p_j ds_j

    A place of weight 0 stays 0, with gradient 0. Dividing p by its largest number
    changes nothing, and keeps the digits of large gamma ln p.
    """
    inside = p.data > 0
    most = np.where(inside, p.data.max(-1, keepdims=True, initial=0), 1)
    ln_p = log(where(inside, p, 1.0) / most)
    return softmax_over_allowed(gamma[..., None] * ln_p, inside)


def _address(key, memory, *others):
    """Return the new weights (L, S), with numbers of any sign as arguments."""
    last, beta, gate, shift, gamma = map(abs, others)
    return address(key, memory, last, beta, minimum(gate, 1.0), shift, 1 + gamma)


def _definition(key, memory, *others):
    """Return the same by the definition, query by query."""
    last, beta, gate, shift, gamma = map(abs, others)
    rows = zip(key, last, beta, np.minimum(gate, 1), shift, 1 + gamma)
    return np.stack([definitions.address(q, memory, *each) for q, *each in rows])


ROWS = [
    Variant(
        "hops", definitions.hops, hops,
        inputs="u (L, E), m (S, E), c (S, E)",
        multiplications="2*hops*L*S*E",
        options=dict(hops=2),
        small=dict(hops=3),
        about="""template: u <- u + context, and the sum is the next query of the same
        memory
        can follow a chain of facts, one fact a hop
        cannot follow a chain that is longer than the number of hops
        lesson 19: chains of two facts; Sukhbaatar et al. 2015""",
    ),
    Variant(
        "ntm", _definition, _address,
        inputs=(
            "key (L, E), memory (S, E), last (L, S), beta (L), gate (L), "
            "shift (L, 3), gamma (L)"
        ),
        multiplications="L*(2*S*E + E + 7*S)",
        about="""normaliser: weights by content, mixed with the last ones, moved and
        sharpened
        can move from place to place, whatever the contents are
        cannot compute all queries at once: each needs the weights of those before
        lesson 19: an address that moves by one; Graves, Wayne and Danihelka 2014""",
    ),
]  # fmt: skip
