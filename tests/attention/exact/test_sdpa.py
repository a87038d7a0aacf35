"""Exact attention: two paths in two backends equal the definition and one another."""

import functools
import inspect
from dataclasses import dataclass, field

import numpy as np
import pytest

import minigrad as mg
from attention import masks
from attention.exact.sdpa import scaled_dot_product_attention
from attention.masks.block_mask import BlockMask
from attention.positions import OffsetBias
from attention.scores import dot
from minigrad import Tensor

from ...minigrad.array_cases import draw
from ...ops.sdpa import average, scores
from ..kernels.kernel_cases import running
from .paths import dense_attention


def close(found, expected, dtype=float):
    """Equal up to some hundred roundings of a number as large as the largest."""
    assert found.shape == expected.shape and found.dtype == dtype
    finite = np.abs(expected[np.isfinite(expected)])
    atol = 200 * np.finfo(dtype).eps * finite.max(initial=1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


# Calls, and the pairs and biases that they mean


@dataclass
class Case:
    """A call, and its allowed pairs and bias as arrays over (B, H, L, S)."""

    sizes: tuple = (2, 4, 70, 90)  # B, H, L, S
    key_heads: int = 2
    widths: tuple = (5, 3)  # E, Ev
    options: dict = field(default_factory=dict)
    allowed: object = True  # broadcasts to the scores
    bias: object = 0.0  # likewise
    wanted: tuple = ()  # options with a gradient

    def arrays(self, dtype=float):
        """q, k, v in the form (B, H, L, E), and dL/do."""
        rng = np.random.default_rng(1)
        (B, H, L, S), (E, Ev) = self.sizes, self.widths
        shapes = (B, H, L, E), (B, self.key_heads, S, E), (B, self.key_heads, S, Ev)
        return [rng.standard_normal(s).astype(dtype) for s in (*shapes, (B, H, L, Ev))]

    def pairs(self):
        """The pairs (B, H, L, S) that are allowed, and whose bias is not -inf."""
        allowed, bias = (
            np.broadcast_to(x, self.sizes) for x in (self.allowed, self.bias)
        )
        return allowed & (bias != -np.inf)

    def run(self, attention, dtype=float, unread=None):
        """o, and the gradients of sum(g o) by q, k, v and the wanted options.

        unread   the number in the keys and values that no query may read
        """
        *arrays, g = self.arrays(dtype)
        if unread is not None:
            B, H, _, S = self.sizes
            by_head = self.pairs().any(2)
            is_read = by_head.reshape(B, self.key_heads, -1, S).any(2)
            for x in arrays[1:]:
                x[~is_read] = unread
        tensors = [Tensor(x, requires_grad=True) for x in arrays]
        options, leaves = dict(self.options), [*tensors]
        for name in self.wanted:
            x = options[name]
            by_offset = isinstance(x, OffsetBias)
            array = (x.values.data if by_offset else x).astype(dtype)
            leaves.append(Tensor(array, requires_grad=True))
            options[name] = OffsetBias(leaves[-1]) if by_offset else leaves[-1]
        o = attention(*tensors, **options)
        o.backward(g)
        return [o.data, *(leaf.grad for leaf in leaves)]

    @functools.cached_property
    def exact(self):
        """o and lse by the definition, one query at a time."""
        q, k, v, _ = self.arrays()
        scale = self.options.get("scale", max(self.widths[0], 1) ** -0.5)
        o, _, lse = average(scores(q, k, scale) + self.bias, v, self.pairs())
        return o, lse

    @functools.cached_property
    def gradients(self):
        """Those of the whole matrix in NumPy, whose operations are gradchecked."""
        with running("numpy"):
            return self.run(dense_attention)[1:]


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
    long = masks.sliding_window(6, 6) | masks.global_tokens([0, 40])
    tiles = BlockMask.from_mask(masks.from_array(dense), L, S, block=(16, 48))
    slope = np.array([0.5, 1, 2, 3])
    right = masks.causal(offset="lower_right")
    return {
        "bool mask of keys": call(keys, attn_mask=keys),
        "bool mask and causal": call(dense & (j <= i), attn_mask=dense, is_causal=True),
        "window and causal, lower right": call(
            (i + S - L - 3 <= j) & (j <= i + S - L),
            attn_mask=right & masks.sliding_window(3, -1, "lower_right"),
        ),
        "mask function": call(
            (j * slope[:, None, None] < 40) | (np.arange(B) == 1)[:, None, None, None],
            attn_mask=lambda b, h, q, kv: (kv * slope[h] < 40) | (b == 1),
        ),
        "Longformer": call(
            (np.abs(i - j) <= 6) | np.isin(i, [0, 40]) | np.isin(j, [0, 40]),
            attn_mask=BlockMask.from_mask(long, L, S),
        ),
        "blocks and causal": call(
            dense & (j <= i),
            is_causal=True,
            attn_mask=tiles,
        ),
        "nothing": call(False, attn_mask=masks.nothing),
    }


def biased():
    """Cases of scale and every kind of bias."""
    rng = np.random.default_rng(3)
    i, j = np.arange(L)[:, None], np.arange(S)
    at = j - i + L - 1  # the offset of each pair
    pairs, heads = rng.standard_normal((L, S)), rng.standard_normal((H, L, S))
    queries = rng.standard_normal((H, L, 1))
    offset, row = (rng.standard_normal((n, L + S - 1)) for n in (H, 1))
    holes = np.where(rng.random((L, S)) < 0.3, -np.inf, pairs)
    holes[5] = -np.inf  # a query without keys
    holes[:, 70:] = -np.inf
    return {
        "scale": call(scale=-0.2),
        "float mask of queries": call(True, queries, ("attn_mask",), attn_mask=queries),
        "float mask with holes": call(True, holes, ("attn_mask",), attn_mask=holes),
        "bias": call(j <= i, heads, ("bias",), is_causal=True, bias=heads),
        "bias by offset for all": call(
            True, row[0][at], ("bias",), bias=OffsetBias(row)
        ),
        "float mask and bias": call(
            True, pairs + heads, ("attn_mask", "bias"), attn_mask=pairs, bias=heads
        ),
        "everything": call(
            (j <= i) & (i - 30 <= j) & (j < 60),
            offset[:, at],
            ("bias",),
            is_causal=True,
            bias=OffsetBias(offset),
            attn_mask=masks.sliding_window(30, -1) & masks.padding([60, 60]),
        ),
    }


WIDTHS = {  # tests/test_laws.py has other numbers of queries, keys and axes
    "wide": Case((1, 1, 9, 12), 1, (70, 133)),
    "no width": Case((2, 2, 9, 12), 2, (0, 3)),
    "no width of values": Case((2, 2, 9, 12), 2, (5, 0)),
}
CASES = {**masked(), **biased(), **WIDTHS}


@pytest.mark.parametrize(
    "dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.deep)]
)
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(attention, name, dtype):
    """Values equal the definition, and gradients agree; 0 for a query without keys.

    Keys that no query may read are NaN. tests/test_laws.py compares the gradients of
    both paths with differences.
    """
    case = CASES[name]
    o, *gradients = case.run(attention, dtype, unread=np.nan)
    expected = case.exact[0], *case.gradients
    for x, y in zip((o, *gradients), expected, strict=True):
        close(x, y, dtype)
    empty = case.exact[1] == -np.inf
    assert not o[empty].any() and not gradients[0][empty].any()


@pytest.mark.parametrize("name", CASES)
def test_lse(name):
    """Of any number of queries; -inf without keys."""
    case = CASES[name]
    *arrays, _ = case.arrays()
    o, lse = scaled_dot_product_attention(*arrays, return_lse=True, **case.options)
    for found, expected in zip((o, lse), case.exact, strict=True):
        close(found.data, expected)


# Options that need the matrix


def test_dropout():
    q, k, v = draw((2, 3, 70, 5), (2, 3, 90, 5), (2, 3, 90, 4))

    def run(*arrays):
        return scaled_dot_product_attention(
            *arrays, dropout_p=0.4, rng=np.random.default_rng(9), return_weights=True
        )

    dropped, p = run(q, k, np.eye(90))  # values that show z_ij p_ij
    z = dropped.data / p.data
    assert 0.5 < (z == 0).mean() / 0.4 < 1.5
    close(z[z != 0], np.full((z != 0).sum(), 1 / 0.6))
    found, weights = run(q, k, v)
    o, p, _ = average(scores(q, k, 5**-0.5), v, z=z)
    close(found.data, o)
    close(weights.data, p)  # those before dropout


def test_a_score_replaces_the_scaled_products():
    """With a bias and a mask; in values and gradients."""
    arrays, g = draw((2, 70, 5), (2, 90, 5), (2, 90, 3), (2, 70, 90)), draw((70, 3))[0]
    options, found = {"is_causal": True}, []
    for given in {"score": dot}, {"scale": 1.0}:
        *inputs, bias = [Tensor(x, requires_grad=True) for x in arrays]
        o = scaled_dot_product_attention(*inputs, bias=bias, **given, **options)
        (o * g).sum().backward()
        found.append([o.data, *(x.grad for x in (*inputs, bias))])
    for x, y in zip(*found):
        close(x, y)


def test_the_arguments_are_those_of_torch_in_its_order():
    found = str(inspect.signature(scaled_dot_product_attention))
    assert found.startswith(
        "(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, "
        "scale=None, enable_gqa=False, *, bias=None, training=True, "
    )


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
        {"attn_mask": np.ones((64, 80), bool), "bias": OffsetBias(np.zeros((1, 143)))},
        {"return_lse": True},
        {"return_lse": True, "L": 3},
        {"dropout_p": 0.5, "rng": rng},
    ):
        assert op_of(**options) == "flash_attention[0]", options
    for options in (
        {"L": 63},
        {"return_weights": True},
        {"dropout_p": 0.5, "rng": rng, "return_weights": True},
        {"score": dot},
    ):
        assert op_of(**options) == "matmul", options


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


@pytest.mark.parametrize("attention", ["dense-numpy", "tiled-numpy"], indirect=True)
def test_masks_and_biases_of_another_precision_are_cast(attention):
    q, k, v = draw((9, 4), (12, 4), (12, 2), dtype=np.float32)
    mask = Tensor(np.where(np.tri(9, 12), 0.5, -1e300), requires_grad=True)
    bias = Tensor(np.zeros((1, 20)), requires_grad=True)
    o = attention(q, k, v, mask, bias=OffsetBias(bias))
    o.sum().backward()
    assert o.dtype == np.float32 and mask.grad.dtype == bias.grad.dtype == np.float64
    close(o.data, attention(q, k, v, is_causal=True).data, np.float32)


def test_very_low_scores_are_not_masked(attention):
    """-1e30 everywhere is a softmax like any other."""
    q, k, v = draw((5, 4), (7, 4), (7, 2))
    o = attention(q * 0, k, v, bias=np.full((5, 7), -1e30))
    close(o.data, np.broadcast_to(v.mean(0), (5, 2)))
