"""Scaled dot-product attention as its definition, and calls that must agree with it."""

import math
from dataclasses import dataclass, field

import numpy as np

from attention import masks
from attention.masks.block_mask import BlockMask
from minigrad import Tensor
from minigrad.graph import unbroadcast


def definition(q, k, v, allowed, bias, scale, softcap, z, g):
    """o, p, lse; dq, dk, dv and ds, the gradient of the scores: one query at a time.

    q (B, H, L, E), k (B, Hk, S, E), v (B, Hk, S, Ev); allowed, bias, z (B, H, L, S);
    g = dL/do, dL/dp, dL/dlse
    """
    (B, H, L, _), (_, Hk, S, Ev) = q.shape, v.shape
    o, p = np.zeros((B, H, L, Ev)), np.zeros((B, H, L, S))
    lse, ds = np.full((B, H, L), -np.inf), np.zeros((B, H, L, S))
    dq, dk, dv = np.zeros(q.shape), np.zeros(k.shape), np.zeros(v.shape)
    for b, h, i in np.ndindex(B, H, L):
        kv, at = (b, h * Hk // H), (b, h, i)
        keys = [j for j in range(S) if allowed[at][j]]
        s, slope = {}, {}
        for j in keys:
            s[j], slope[j] = scale * (q[at] @ k[kv][j]), 1
            if softcap:
                t = math.tanh(s[j] / softcap)
                s[j], slope[j] = softcap * t, 1 - t * t
            s[j] += bias[at][j]
        if not keys:
            continue
        m = max(s.values())
        total = sum(math.exp(s[j] - m) for j in keys)
        lse[at] = m + math.log(total)
        for j in keys:
            p[at][j] = math.exp(s[j] - m) / total
            o[at] += z[at][j] * p[at][j] * v[kv][j]
        dp = {j: z[at][j] * (g[0][at] @ v[kv][j]) + g[1][at][j] for j in keys}
        mean = sum(p[at][j] * dp[j] for j in keys)
        for j in keys:
            ds[at][j] = p[at][j] * (dp[j] - mean + g[2][at])
            dv[kv][j] += z[at][j] * p[at][j] * g[0][at]
            dq[at] += scale * ds[at][j] * slope[j] * k[kv][j]
            dk[kv][j] += scale * ds[at][j] * slope[j] * q[at]
    return (o, p, lse), (dq, dk, dv, ds)


def diagonals(ds):
    """ds (..., L, S) summed over the pairs at each offset j - i: (..., L + S - 1)."""
    *heads, L, S = ds.shape
    total = np.zeros((*heads, L + S - 1))
    for i, j in np.ndindex(L, S):
        total[..., j - i + L - 1] += ds[..., i, j]
    return total


@dataclass
class Case:
    """A call, and what it means: the pairs and the bias of (B, H, L, S) scores."""

    sizes: tuple = (2, 4, 70, 90)  # B, H, L, S
    key_heads: int = 2
    widths: tuple = (5, 3)  # E, Ev
    options: dict = field(default_factory=dict)
    allowed: object = True  # broadcasts to the scores
    bias: object = 0.0  # likewise
    wanted: tuple = ()  # options with a gradient
    lead: tuple | None = None  # the axes before the heads, if they are not (B,)

    def arrays(self, dtype=float):
        """q, k, v in the form (B, H, L, E), and dL/do."""
        rng = np.random.default_rng(1)
        (B, H, L, S), (E, Ev) = self.sizes, self.widths
        shapes = (B, H, L, E), (B, self.key_heads, S, E), (B, self.key_heads, S, Ev)
        return [rng.standard_normal(s).astype(dtype) for s in (*shapes, (B, H, L, Ev))]

    def shaped(self, x):
        """With the leading axes that the call has."""
        return x if self.lead is None else x.reshape(*self.lead, *x.shape[2:])

    def run(self, attention, dtype=float):
        """o, lse, and the gradients of q, k, v and of what is wanted, in order.

        They are those of sum(g o) + sum(gl lse), over the finite lse.
        """
        *arrays, g = self.arrays(dtype)
        tensors = [Tensor(self.shaped(x), requires_grad=True) for x in arrays]
        options = dict(self.options)
        for name in self.wanted:
            options[name] = Tensor(options[name].astype(dtype), requires_grad=True)
        o, lse = attention(*tensors, return_lse=True, **options)
        gl = np.where(np.isfinite(lse.data), self.shaped(self.log_gradient()), 0)
        o.backward(self.shaped(g), retain_graph=True)
        lse.backward(gl)
        leaves = [*tensors, *(options[name] for name in self.wanted)]
        return [o.data, lse.data, *(leaf.grad for leaf in leaves)]

    def log_gradient(self):
        B, H, L, _ = self.sizes
        return np.random.default_rng(2).standard_normal((B, H, L))

    def exact(self):
        """The same by the definition."""
        B, H, L, S = self.sizes
        q, k, v, g = self.arrays()
        allowed, bias = (
            np.broadcast_to(x, (B, H, L, S)) for x in (self.allowed, self.bias)
        )
        allowed = allowed & (bias != -np.inf)
        scale = self.options.get("scale", max(self.widths[0], 1) ** -0.5)
        g = g, np.zeros((B, H, L, S)), self.log_gradient()
        softcap, z = self.options.get("softcap"), np.ones((B, H, L, S))
        (o, _, lse), (*gradients, ds) = definition(
            q, k, v, allowed, bias, scale, softcap, z, g
        )
        for name in self.wanted:
            x = self.options[name]
            by_offset = x.shape[-1] == L + S - 1 != S
            gradients.append(unbroadcast(diagonals(ds) if by_offset else ds, x.shape))
        found = (o, lse, *gradients)
        return [*map(self.shaped, found[:5]), *found[5:]]


def cases():
    """{name: Case}: every mask and bias path, and every shape that is an edge."""
    return {**masked(), **biased(), **shaped()}


B, H, L, S = Case.sizes


def call(allowed=True, added=0.0, wanted=(), /, **options):
    return Case(
        options={"enable_gqa": True, **options},
        allowed=allowed,
        bias=added,
        wanted=wanted,
    )


def masked():
    """All ways to say who may attend to whom."""
    rng = np.random.default_rng(0)
    i, j = np.arange(L)[:, None], np.arange(S)
    dense = rng.random((B, H, L, S)) < 0.3
    dense[0, 1, 3] = False  # a query without keys
    dense[1, 2, :64, :64] = True  # a full tile
    dense[1, 3, :64, 64:] = False  # an empty one
    keys = rng.random((B, 1, 1, S)) < 0.7
    lens = np.array([33, 0])[:, None, None, None]
    ids, query_ids = rng.integers(0, 3, (B, S)), rng.integers(0, 4, (B, L))
    centre = rng.uniform(0, S, L)
    long = masks.sliding_window(6, 6) | masks.global_tokens([0, 40])
    big = masks.bigbird(8, 3, 2, 2, seed=1)
    slope = np.array([0.5, 1, 2, 3])
    right = {"is_causal": True, "causal_align": "lower_right"}
    return {
        "free": call(),
        "causal": call(j <= i, is_causal=True),
        "causal, lower right": call(j <= i + S - L, **right),
        "bool mask": call(dense, attn_mask=dense),
        "bool mask of pairs": call(dense[1, 0], attn_mask=dense[1, 0]),
        "bool mask of keys": call(keys, attn_mask=keys),
        "bool mask and causal": call(dense & (j <= i), attn_mask=dense, is_causal=True),
        "window": call((i - 3 <= j) & (j <= i + 5), window_size=(3, 5)),
        "window to the left": call(i - 9 <= j, window_size=(9, -1)),
        "window and causal, lower right": call(
            (i + S - L - 3 <= j) & (j <= i + S - L), window_size=(3, -1), **right
        ),
        "mask function": call(
            (j * slope[:, None, None] < 40) | (np.arange(B) == 1)[:, None, None, None],
            mask_mod=lambda b, h, q, kv: (kv * slope[h] < 40) | (b == 1),
        ),
        "lengths": call(
            np.broadcast_to(j < lens, (B, 1, L, S)), mask_mod=masks.padding([33, 0])
        ),
        "documents": call(
            query_ids[:, None, :, None] == ids[:, None, None],
            mask_mod=masks.document(ids, query_ids),
        ),
        "any centre": call(
            np.abs(j - centre[:, None]) <= 7.5, mask_mod=masks.local(centre, 7.5)
        ),
        "dilated": call(
            (np.abs(i - j) <= 20) & ((i - j) % 3 == 0), mask_mod=masks.dilated(20, 3)
        ),
        "Longformer": call(
            (np.abs(i - j) <= 6) | np.isin(i, [0, 40]) | np.isin(j, [0, 40]),
            block_mask=BlockMask.from_mask(long, L, S),
        ),
        "BigBird": call(
            big.dense(None, None, L, S), block_mask=BlockMask.from_mask(big, L, S)
        ),
        "blocks of 64": call(dense, block_mask=BlockMask.from_dense(dense, 64)),
        "blocks and causal": call(
            dense & (j <= i),
            is_causal=True,
            block_mask=BlockMask.from_dense(dense, (16, 48)),
        ),
        "nothing": call(False, mask_mod=masks.nothing),
    }


def biased():
    """All that is done to a score."""
    rng = np.random.default_rng(3)
    i, j = np.arange(L)[:, None], np.arange(S)
    at = j - i + L - 1  # the offset of each pair
    pairs, heads = rng.standard_normal((L, S)), rng.standard_normal((H, L, S))
    keys, queries = rng.standard_normal((B, 1, 1, S)), rng.standard_normal((H, L, 1))
    offset, row = rng.standard_normal((H, L + S - 1)), rng.standard_normal(L + S - 1)
    holes = np.where(rng.random((L, S)) < 0.3, -np.inf, pairs)
    holes[5] = -np.inf  # a query without keys
    return {
        "scale": call(scale=-0.2),
        "softcap": call(j <= i, softcap=0.8, scale=1.0, is_causal=True),
        "float mask": call(True, pairs, ("attn_mask",), attn_mask=pairs),
        "float mask of keys": call(True, keys, ("attn_mask",), attn_mask=keys),
        "float mask of queries": call(True, queries, ("attn_mask",), attn_mask=queries),
        "float mask with holes": call(True, holes, ("attn_mask",), attn_mask=holes),
        "bias": call(j <= i, heads, ("bias",), is_causal=True, bias=heads),
        "bias by offset": call(
            j <= i, offset[:, at], ("bias",), is_causal=True, bias=offset
        ),
        "bias by offset for all": call(True, row[at], ("bias",), bias=row),
        "float mask and bias": call(
            True, pairs + heads, ("attn_mask", "bias"), attn_mask=pairs, bias=heads
        ),
        "everything": call(
            (j <= i) & (i - 30 <= j) & (j < 60),
            pairs + offset[:, at],
            ("attn_mask", "bias"),
            softcap=1.5,
            is_causal=True,
            window_size=(30, -1),
            attn_mask=pairs,
            bias=offset,
            mask_mod=masks.padding([60, 60]),
        ),
    }


def shaped():
    """Every number of axes, and every size that is an edge."""

    def shape(B, H, L, S, key_heads=None, lead=None, widths=(5, 3), **options):
        allowed = np.tri(L, S, dtype=bool) if options.get("is_causal") else True
        key_heads = H if key_heads is None else key_heads
        options["enable_gqa"] = key_heads != H
        return Case((B, H, L, S), key_heads, widths, options, allowed, lead=lead)

    return {
        "more queries than keys": shape(2, 1, 90, 20, is_causal=True),
        "one key": shape(2, 3, 70, 1),
        "one query": shape(2, 3, 1, 90),
        "one of each": shape(1, 1, 1, 1, widths=(1, 1)),
        "a whole tile": shape(1, 2, 64, 64, is_causal=True),
        "wide": shape(1, 1, 9, 12, widths=(70, 133)),
        "one group": shape(2, 4, 9, 12, key_heads=1),
        "no axis of heads": shape(1, 1, 9, 12, lead=(), is_causal=True),
        "heads alone": shape(1, 3, 9, 12, lead=(3,)),
        "five axes": shape(6, 2, 9, 12, lead=(2, 3, 2), is_causal=True),
        "no examples": shape(0, 2, 9, 12, is_causal=True),
        "no heads": shape(2, 0, 9, 12),
        "no queries": shape(2, 2, 0, 12, is_causal=True),
        "no keys": shape(2, 2, 9, 0),
        "no width": shape(2, 2, 9, 12, widths=(0, 3)),
        "no width of values": shape(2, 2, 9, 12, widths=(5, 0)),
    }
