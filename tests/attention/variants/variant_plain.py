"""Plain programs of attention: the formulas in minigrad's operations, for all pairs.

P holds the parameters by name; q (B, L, D), k (B, S, D), v (B, S, Ev), and allowed
(B, L, S).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import attention as A
import minigrad as mg
from minigrad import Tensor, nn

D = 8  # width of queries, keys and values; 2 heads of 4


class Parameters(nn.Module):
    """The parameters of a variant that is a function, by name."""

    def __init__(self, **shapes):
        for name, shape in shapes.items():
            setattr(self, name, nn.Parameter(np.zeros(shape, np.float32)))


@dataclass
class Variant:
    run: Callable
    plain: Callable
    make: Callable = Parameters  # () -> module
    ordered: bool = False  # whether the position of a key matters
    causal: bool = False  # whether queries attend to no later keys
    lengths: bool = True  # whether it takes valid_lens
    local: Callable | None = None  # (i, j) -> the allowed pairs

    def module(self, dtype=float, seed=0):
        """Return the module with parameters from N(0, 1/4)."""
        module, rng = self.make(), np.random.default_rng(seed)
        for _, p in sorted(module.named_parameters()):
            p.data = np.asarray(rng.standard_normal(p.shape) / 2, dtype)
        return module

    def pairs(self, B, L, S, lens=None):
        """Return the allowed pairs: bool (B, L, S)."""
        i, j = np.arange(L)[:, None], np.arange(S)
        allowed = np.ones((B, L, S), bool)
        if self.causal:
            allowed &= j <= i
        if self.local is not None:
            allowed &= self.local(i, j)
        if lens is not None:
            allowed &= j < np.asarray(lens)[:, None, None]
        return allowed


def t(x):
    return mg.swapaxes(x, -1, -2)


def average(s, v, allowed):
    return mg.softmax(mg.where(allowed, s, -np.inf), -1) @ v


def split(q, k, n=None):
    """Return [q; k] of all pairs."""
    B, L, S = q.shape[0], q.shape[1], k.shape[1]
    q = mg.expand(q[:, :, None], (B, L, S, q.shape[-1]))
    k = mg.expand(k[:, None], (B, L, S, k.shape[-1]))
    return mg.concat([q, k], -1)


def dot(P, q, k):
    return q @ t(k)


def scaled(P, q, k):
    return q @ t(k) * q.shape[-1] ** -0.5


def general(P, q, k):
    return q @ P.W_a @ t(k)


def additive(P, q, k):
    hidden = mg.tanh((q @ t(P.W_q))[:, :, None] + (k @ t(P.W_k))[:, None])
    return (hidden * P.w_v).sum(-1)


def additive_biased(P, q, k):
    hidden = mg.tanh((q @ t(P.W_q))[:, :, None] + (k @ t(P.W_k) + P.b)[:, None])
    return (hidden * P.w_v).sum(-1)


def concat(P, q, k):
    return (mg.tanh(split(q, k) @ t(P.W_a)) * P.v_a).sum(-1)


def gaussian(P, q, k):
    d = q[:, :, None] - k[:, None]
    h = P.h * P.h + 1.0
    return (d * d).sum(-1) * -0.5 / (h * h)


def gaussian_layer(P, q, k):
    d = q[:, :, None] - k[:, None]
    h = mg.exp(P.log_bandwidth)
    return (d * d).sum(-1) * -0.5 / (h * h)


def disentangled(P, q, k):
    L, S, span = q.shape[1], k.shape[1], len(P.K_r) // 2
    i, j = np.arange(L)[:, None], np.arange(S)
    to_key, to_query = (np.clip(x + span, 0, 2 * span - 1) for x in (i - j, j - i))
    content_to_position = (q[:, :, None] * P.K_r[to_key]).sum(-1)
    position_to_content = (k[:, None] * P.Q_r[to_query]).sum(-1)
    return (q @ t(k) + content_to_position + position_to_content) * (3 * D) ** -0.5


def clipped(q, k):
    """Return clip(j - i, -3, 3) + 3, the rows of a table: (L, S)."""
    d = np.arange(k.shape[1]) - np.arange(q.shape[1])[:, None]
    return np.clip(d, -3, 3) + 3


def shaw(P, q, k):
    return (q[:, :, None] * (k[:, None] + P.a_K[clipped(q, k)])).sum(-1) * D**-0.5


def shaw_and_values(P, q, k, v, allowed):
    p = mg.softmax(mg.where(allowed, shaw(P, q, k), -np.inf), -1)
    return (p[..., None] * (v[:, None] + P.a_V[clipped(q, k)])).sum(-2)


def transformer_xl(P, q, k):
    i, j = np.arange(q.shape[1])[:, None], np.arange(k.shape[1])
    R = A.sinusoidal(i - j, D, dtype=q.dtype) @ t(P.W_kR)  # (L, S, D)
    return ((q + P.u) @ t(k) + ((q + P.w)[:, :, None] * R).sum(-1)) * D**-0.5


def local_p(P, q, k, v, allowed):
    S, reach = k.shape[1], 3
    lens = allowed.sum(-1).astype(q.dtype)
    p = mg.sigmoid((mg.tanh(q @ t(P.W_p)) * P.v_p).sum(-1)) * lens
    distance = np.arange(S).astype(q.dtype) - p[..., None]
    allowed = allowed & (np.abs(distance.data) <= reach)
    align = mg.softmax(mg.where(allowed, q @ t(k), -np.inf), -1)
    return align * mg.exp(distance * distance * (-2 / reach**2)) @ v


def coverage(P, q, k, v, allowed):
    c, contexts = np.zeros(k.shape[:2], q.dtype), []
    for i in range(q.shape[1]):
        hidden = q[:, i] @ t(P.W_q)
        hidden = hidden[:, None] + k @ t(P.W_k) + c[..., None] * P.w_c + P.b
        s = (mg.tanh(hidden) * P.w_v).sum(-1)
        a = mg.softmax(mg.where(allowed[:, i], s, -np.inf), -1)
        contexts.append((a[:, None] @ v)[:, 0])
        c = c + a
    return mg.stack(contexts, 1)


def steps(m, q, k, v, allowed):
    h = fed = Tensor(np.zeros((q.shape[0], D), q.dtype))

    def context_of(h):
        s = additive(m.attention, h[:, None], k)
        return average(s, v, allowed[:, :1])[:, 0]

    outputs = []
    for i in range(q.shape[1]):
        if isinstance(m, A.BahdanauStep):
            c = context_of(h)
            h = m.cell(mg.concat([q[:, i], c], -1), h)
            outputs.append(mg.concat([h, c], -1))
        else:
            h = m.cell(mg.concat([q[:, i], fed], -1), h)
            fed = mg.tanh(mg.concat([context_of(h), h], -1) @ t(m.W_c))
            outputs.append(fed)
    return mg.stack(outputs, 1)


def split_heads(x, H=2):
    return mg.swapaxes(mg.reshape(x, (*x.shape[:2], H, x.shape[2] // H)), 1, 2)


def merged_heads(o):
    o = mg.swapaxes(o, 1, 2)
    return mg.reshape(o, (*o.shape[:2], o.shape[2] * o.shape[3]))


def toeplitz(b, L, S):
    return b[:, np.arange(S) - np.arange(L)[:, None] + L - 1]


def rotated(x):
    """Apply RoPE to the two halves of the last axis."""
    n, E = x.shape[-2:]
    angle = np.arange(n)[:, None] * 10000.0 ** (-np.arange(0, E, 2) / E)
    cos, sin = np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)
    a, b = x[..., : E // 2], x[..., E // 2 :]
    return mg.concat([a * cos - b * sin, a * sin + b * cos], -1)
