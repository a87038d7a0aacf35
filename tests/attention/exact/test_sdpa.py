"""scaled_dot_product_attention: two paths in two backends equal the definition."""

import functools
import math
from dataclasses import dataclass, field

import numpy as np
import pytest

import minigrad as mg
from attention import masks
from attention.exact.sdpa import (
    dense_attention,
    scaled_dot_product_attention,
    tiled_attention,
)
from attention.masks.block_mask import BlockMask
from minigrad import Tensor
from minigrad.graph import unbroadcast

from ...minigrad.array_cases import draw
from ..kernels.kernel_cases import BACKENDS, running

PATHS = {"dense": dense_attention, "tiled": tiled_attention}


@pytest.fixture(params=[(p, b) for p in PATHS for b in BACKENDS], ids="-".join)
def attention(request):
    """Each path in each backend, with every warning an error."""
    path, backend = request.param
    with running(backend):
        yield PATHS[path]


def close(found, expected, dtype=float):
    """Equal up to some hundred roundings of a number as large as the largest."""
    assert found.shape == expected.shape and found.dtype == dtype
    finite = np.abs(expected[np.isfinite(expected)])
    atol = 200 * np.finfo(dtype).eps * finite.max(initial=1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


# The definition, and the calls that must agree with it


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
    """A call, and its allowed pairs and bias as arrays that broadcast to (B, H, L, S)."""

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
        """o, lse, and the gradients of sum(g o) + sum(gl lse) over the finite lse.

        They are of q, k, v and of the wanted options, in order.
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

    @functools.cached_property
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


B, H, L, S = Case.sizes


def call(allowed=True, added=0.0, wanted=(), /, **options):
    return Case(
        options={"enable_gqa": True, **options},
        allowed=allowed,
        bias=added,
        wanted=wanted,
    )


def masked():
    """Cases of every kind of mask."""
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
        "bool mask of keys": call(keys, attn_mask=keys),
        "bool mask and causal": call(dense & (j <= i), attn_mask=dense, is_causal=True),
        "window": call((i - 3 <= j) & (j <= i + 5), window_size=(3, 5)),
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
    """Cases of scale, softcap and every kind of bias."""
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
    """Cases of every number of axes, and of the smallest and empty sizes."""

    def shape(B, H, L, S, key_heads=None, lead=None, widths=(5, 3), **options):
        allowed = np.tri(L, S, dtype=bool) if options.get("is_causal") else True
        key_heads = H if key_heads is None else key_heads
        options["enable_gqa"] = key_heads != H
        return Case((B, H, L, S), key_heads, widths, options, allowed, lead=lead)

    return {
        "more queries than keys": shape(2, 1, 90, 20, is_causal=True),
        "one key": shape(2, 3, 70, 1),
        "one query": shape(2, 3, 1, 90),
        "a whole tile": shape(1, 2, 64, 64, is_causal=True),
        "wide": shape(1, 1, 9, 12, widths=(70, 133)),
        "one group": shape(2, 4, 9, 12, key_heads=1),
        "no axis of heads": shape(1, 1, 9, 12, lead=(), is_causal=True),
        "five axes": shape(6, 2, 9, 12, lead=(2, 3, 2), is_causal=True),
        "no examples": shape(0, 2, 9, 12, is_causal=True),
        "no queries": shape(2, 2, 0, 12, is_causal=True),
        "no keys": shape(2, 2, 9, 0),
        "no width": shape(2, 2, 9, 12, widths=(0, 3)),
        "no width of values": shape(2, 2, 9, 12, widths=(5, 0)),
    }


CASES = {**masked(), **biased(), **shaped()}


@pytest.mark.parametrize(
    "dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.deep)]
)
@pytest.mark.parametrize("name", CASES)
def test_is_its_definition(attention, name, dtype):
    """Values and every gradient; exactly 0 and -inf for a query without keys."""
    results = CASES[name].run(attention, dtype)
    for found, expected in zip(results, CASES[name].exact):
        close(found, expected, dtype)
    o, lse, dq, *_ = results
    empty = CASES[name].exact[1] == -np.inf
    assert (lse[empty] == -np.inf).all()
    assert not o[empty].any() and not dq[empty].any()


@pytest.mark.parametrize("wanted", [(), ("bias",), ("attn_mask", "bias")])
def test_gradcheck(attention, wanted):
    """Finite differences with all terms of a score at once."""
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal((2, n, 3)) for n in (5, 7, 7))
    terms = {"bias": rng.standard_normal((2, 11)), "attn_mask": rng.random((5, 7))}

    def function(q, k, v, *learned):
        options = terms | dict(zip(wanted, learned))
        o, lse = attention(
            q, k, v, softcap=1.1, is_causal=True, return_lse=True, **options
        )
        return o, lse

    result = mg.gradcheck(function, [q, k, v, *(terms[name] for name in wanted)])
    assert result.ok, result.message


# Options of the dense path alone


def test_weights():
    case = CASES["causal"]
    *arrays, _ = case.arrays()
    options = {**case.options, "return_weights": True, "return_lse": True}
    o, p, lse = scaled_dot_product_attention(*arrays, **options)
    for found, expected in zip((o, lse), case.exact):
        close(found.data, expected)
    assert not p.data[..., ~np.tri(L, S, dtype=bool)].any()
    v = arrays[2].repeat(2, 1)  # for each query head
    close(p.data @ v, case.exact[0])
    close(p.data.sum(-1), np.ones(p.shape[:-1]))


def test_weights_have_a_gradient():
    q, k, v = draw((2, 5, 4), (2, 7, 4), (2, 7, 3))

    def function(q, k, v):
        return scaled_dot_product_attention(
            q, k, v, is_causal=True, return_weights=True, return_lse=True
        )

    result = mg.gradcheck(function, [q, k, v])
    assert result.ok, result.message


def test_dropout():
    q, k, v, g = draw((2, 3, 70, 5), (2, 3, 90, 5), (2, 3, 90, 4), (2, 3, 70, 4))
    shape = (2, 3, 70, 90)

    def run(*arrays):
        return scaled_dot_product_attention(
            *arrays, dropout_p=0.4, rng=np.random.default_rng(9), return_weights=True
        )

    dropped, p = run(q, k, np.eye(90))  # values that show z_ij p_ij
    z = dropped.data / p.data
    assert 0.5 < (z == 0).mean() / 0.4 < 1.5
    close(z[z != 0], np.full((z != 0).sum(), 1 / 0.6))
    (o, p, _), gradients = definition(
        q, k, v, np.ones(shape, bool), np.zeros(shape), 5**-0.5, None, z,
        (g, np.zeros(shape), np.zeros(shape[:-1])),
    )  # fmt: skip
    tensors = [Tensor(x, requires_grad=True) for x in (q, k, v)]
    found, weights = run(*tensors)
    close(found.data, o)
    close(weights.data, p)  # those before dropout
    found.backward(g)
    for t, expected in zip(tensors, gradients):
        close(t.grad, expected)


def test_score_mod():
    """A learned slope for each head, in a batch with any leading axes."""
    q, k, v, g = draw((2, 3, 4, 9, 5), (2, 3, 4, 12, 5), (2, 3, 4, 12, 3), (4, 9, 3))
    distance = np.abs(np.arange(9)[:, None] - np.arange(12))
    slopes, others = (
        Tensor(np.array([1.0, 0.5, 0.25, 0.125]), requires_grad=True) for _ in range(2)
    )

    def alibi(score, b, h, q_idx, kv_idx):
        assert score.shape == np.broadcast(b, h, q_idx, kv_idx).shape == (6, 4, 9, 12)
        return score - slopes[h] * np.abs(q_idx - kv_idx)

    run = functools.partial(scaled_dot_product_attention, q, k, v, is_causal=True)
    found = run(score_mod=alibi)
    expected = run(bias=others.reshape(4, 1, 1) * -distance)
    close(found.data, expected.data)
    (found * g).sum().backward()
    (expected * g).sum().backward()
    close(slopes.grad, others.grad)


# The choice of the path


def op_of(**options):
    L = options.pop("L", 64)
    q, k, v = (Tensor(x, requires_grad=True) for x in draw((L, 4), (80, 4), (80, 4)))
    o = scaled_dot_product_attention(q, k, v, **options)
    return (o[0] if isinstance(o, tuple) else o)._node.op


def test_the_path_follows_from_sizes_and_options():
    rng = np.random.default_rng(0)
    for options in (
        {},
        {"attn_mask": np.ones((64, 80), bool), "bias": np.zeros((1, 143))},
        {"return_lse": True},
        {"dropout_p": 0.5, "rng": rng},
    ):
        assert op_of(**options) == "flash_attention[0]", options
    for options in (
        {"L": 63},
        {"return_weights": True},
        {"dropout_p": 0.5, "rng": rng, "return_weights": True},
        {"score_mod": lambda s, *_: s},
    ):
        assert op_of(**options) == "attention_average[0]", options


@pytest.mark.parametrize("shapes", [
    [(2, 3, 9, 4), (12, 4), (3, 12, 2)],
    [(2, 1, 3, 9, 4), (5, 1, 12, 4), (1, 12, 2)],
])  # fmt: skip
def test_leading_axes_are_broadcast(attention, shapes):
    arrays = draw(*shapes)
    lead = np.broadcast_shapes(*(s[:-2] for s in shapes))
    wide = [np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in arrays]
    results = []
    for inputs in arrays, wide:
        tensors = [Tensor(x, requires_grad=True) for x in inputs]
        o = attention(*tensors, is_causal=True)
        (o * np.cos(np.arange(o.size)).reshape(o.shape)).sum().backward()
        results.append([o.data, *(t.grad for t in tensors)])
    (o, *narrow), (expected, *gradients) = results
    close(o, expected)
    for d, g in zip(narrow, gradients):
        close(d, mg.unbroadcast(g, d.shape))


@pytest.mark.deep
def test_other_dtypes(attention):
    arrays = draw((3, 70, 4), (3, 70, 4), (3, 70, 2))
    expected = attention(*arrays, is_causal=True).data
    for dtype, tolerance in (np.float16, 5e-3), (np.longdouble, 1e-14), (">f4", 1e-6):
        inputs = [Tensor(x.astype(dtype), requires_grad=True) for x in arrays]
        o = attention(*inputs, is_causal=True)
        o.backward(np.ones(o.shape))
        assert o.dtype.itemsize == np.dtype(dtype).itemsize
        np.testing.assert_allclose(o.data.astype(float), expected, 0, tolerance)


def test_masks_and_biases_of_another_precision_are_cast(attention):
    q, k, v = draw((9, 4), (12, 4), (12, 2), dtype=np.float32)
    mask = Tensor(np.where(np.tri(9, 12), 0.5, -1e300), requires_grad=True)
    bias = Tensor(np.zeros((1, 20)), requires_grad=True)
    o = attention(q, k, v, mask, bias=bias)
    o.sum().backward()
    assert o.dtype == np.float32 and mask.grad.dtype == bias.grad.dtype == np.float64
    close(o.data, attention(q, k, v, is_causal=True).data, np.float32)


# Scores that are large


def test_large_scores_pick_the_largest(attention, dtype=np.float32):
    q = np.eye(3, dtype=dtype) * dtype(1e4)
    v = np.arange(9, dtype=dtype).reshape(3, 3)
    for sign, row in (1, v), (-1, None):
        tensors = [
            Tensor(x, requires_grad=True) for x in (sign * q, np.eye(3, dtype=dtype), v)
        ]
        o, lse = attention(*tensors, scale=1.0, return_lse=True)
        o.backward(np.ones((3, 3)))
        expected = v if sign > 0 else (v.sum(0) - v) / 2
        np.testing.assert_allclose(o.data, expected, rtol=1e-6)
        np.testing.assert_allclose(lse.data, 1e4 if sign > 0 else np.log(2), rtol=1e-6)
        assert all(np.isfinite(t.grad).all() for t in tensors)


def test_very_low_scores_are_not_masked(attention):
    """-1e30 everywhere is a softmax like any other."""
    q, k, v = draw((5, 4), (7, 4), (7, 2))
    o = attention(q * 0, k, v, bias=np.full((5, 7), -1e30))
    close(o.data, np.broadcast_to(v.mean(0), (5, 2)))
