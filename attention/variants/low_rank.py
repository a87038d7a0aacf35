"""Two attentions of low rank: fewer keys by a learned matrix, or a few landmarks.

**Linformer.** The weights of a row are nearly of low rank, so S keys are reduced to r
by a learned matrix over *positions*, and the values by another:

    o = softmax(Q (P K)^T / sqrt(E)) (F V)            P, F (r, S)

This changes the source of keys and values. It costs r (E + Ev) (L + S) multiplications
instead of L S (E + Ev). With dS = dL/d(scores) and p the weights, as of softmax
attention to r keys,

    dP = (dS^T Q / sqrt(E)) K^T,        dF = (p^T g) V^T

P mixes positions: the length is fixed, nothing is causal, and padding must be 0 before.
Independent tokens do not fit: r sums cannot hold more than r of them. P = F = I is
softmax attention.

**Nystrom.** m landmarks are the means of m segments, Q~ of the queries and K~ of the
keys. The matrix of weights is interpolated from those between landmarks,

    o = softmax(Q K~^T) A^-1 (softmax(Q~ K^T) V),     A = softmax(Q~ K~^T)

with scores divided by sqrt(E): the landmarks attend to all keys, and the queries to the
landmarks. The corrected weights may be negative. If A is a good sample, the error is
small; more landmarks need not reduce it. With a landmark for each token, K~ = K and
Q~ = Q, the product of the three matrices is softmax(Q K^T).

The inverse Z is a limit of products alone, as of Newton's method:

    Z_0 = A^T / (the largest sum of a column of A, times that of a row, which is 1)
    Z <- Z (13 I - A Z (15 I - A Z (7 I - A Z))) / 4

A step turns R = I - A Z into (3 R^3 + R^4) / 4, so it triples the correct digits. The
gradient is that of these products. In the limit it is dA = -Z^T dZ Z^T, as d(A Z) = 0.

Wang et al. 2020 (Linformer); Xiong et al. 2021 (Nystromformer).
"""

import numpy as np

from minigrad import matmul, swapaxes
from minigrad.arguments import whole
from minigrad.shapes import shapes

from .. import definitions
from ..exact.sdpa import scaled_dot_product_attention
from ..scores import scaled_dot
from ..softmax import masked_softmax
from .linear import allowed_keys
from .row import Variant


@shapes
def linformer_attention(q, k, v, P, F, mask=None):
    """o = softmax(q (P k)^T / sqrt(E)) (F v)

    q (..., L, E), k (..., S, E), v (..., S, Ev), P (r, S), F (r, S)  ->  o (..., L, Ev)

    mask   as in ``linear_attention``: the same for all queries. Masked keys and values
           are 0 in the sums over positions
    """
    _, k, v = allowed_keys("linformer_attention", q, k, v, mask)
    return scaled_dot_product_attention(q, matmul(P, k), matmul(F, v))


@shapes
def nystrom_attention(q, k, v, landmarks=32, iterations=6):
    """o = softmax(q k~^T) A^-1 softmax(q~ k^T) v,  A = softmax(q~ k~^T)

    q (..., L, E), k (..., S, E), v (..., S, Ev)  ->  o (..., L, Ev)

    landmarks    m: q~ and k~ are the means of m segments of nearly equal length. If
                 there are fewer queries or keys, it is their number
    iterations   of the inverse. With 20 it is exact up to rounding, except for an A
                 that is nearly singular
    """
    m = whole("nystrom_attention", "landmarks", landmarks, least=1)
    m = min(m, q.shape[-2], k.shape[-2])
    if m == 0:  # there is nothing to take a mean of
        return scaled_dot_product_attention(q, k, v)
    q_m, k_m = (matmul(_segments(m, x), x) for x in (q, k))  # (..., m, E)
    Z = iterated_inverse(masked_softmax(scaled_dot(q_m, k_m)), iterations=iterations)
    read = scaled_dot_product_attention(q_m, k, v)  # (..., m, Ev)
    return scaled_dot_product_attention(q, k_m, matmul(Z, read))


@shapes
def iterated_inverse(A, iterations=6):
    """Z <- Z (13 I - A Z (15 I - A Z (7 I - A Z))) / 4, which converges to A^-1

    A (..., m, m)  ->  Z (..., m, m)

    The numbers of A are positive, and its rows sum to 1.
    """
    whole("iterated_inverse", "iterations", iterations)
    I = np.eye(A.shape[-1], dtype=A.dtype)
    Z = swapaxes(A, -1, -2) / A.sum(-2).max(axis=-1, keepdims=True)[..., None]
    for _ in range(iterations):
        AZ = matmul(A, Z)
        inner = 15 * I - matmul(AZ, 7 * I - AZ)
        Z = matmul(Z, 13 * I - matmul(AZ, inner)) / 4
    return Z


def _segments(m, x):
    """Return the matrix (m, n) that takes the mean of each of m segments of x."""
    n = x.shape[-2]
    means = np.zeros((m, n), x.dtype)
    for i, segment in enumerate(np.array_split(np.arange(n), m)):
        means[i, segment] = 1 / len(segment)
    return means


def _landmarks(L, S, landmarks):
    return {"M": min(landmarks, L, S)}


ROWS = [
    # S keys are reduced to A
    Variant(
        "linformer", definitions.linformer, linformer_attention,
        parameters="P (A, S), F (A, S)",
        multiplications="A*S*(E + Ev) + L*E + L*A*E + L*A*Ev",
        about="""source: P K and F V with learned P and F: r sums over the positions in
        the place of S keys
        can keep values that change slowly along the text, in linear time
        cannot keep more than r independent tokens; be causal; change its length
        lesson 18: one key, and a smooth average; Wang et al. 2020""",
    ),
    # M landmarks, and six steps of the inverse of four products each
    Variant(
        "nystrom", definitions.nystrom, nystrom_attention,
        multiplications=(
            "2*M*E + L*E + (M*M + M*S + L*M)*E + 24*M**3 + (M*S + M*M + L*M)*Ev"
        ),
        options=dict(landmarks=32),
        small=dict(landmarks=2),
        more=_landmarks,
        about="""template: weights by way of m landmarks, means of segments of the text
        can approximate smooth weights with few landmarks
        cannot give one key all weight unless it is a landmark; be causal
        lesson 18: one key, and a smooth average; Xiong et al. 2021""",
    ),
]  # fmt: skip
