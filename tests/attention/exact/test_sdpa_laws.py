"""Exact attention: masked keys have no influence, float32 is precise, torch agrees."""

import numpy as np
import pytest

from attention import masks
from attention.exact.sdpa import scaled_dot_product_attention
from attention.masks.block_mask import BlockMask
from minigrad import Tensor

from ...minigrad.array_cases import draw

B, H, L, S, E = 2, 4, 70, 90, 6


def example(n=L, m=S):
    return draw((B, H, n, E), (B, H, m, E), (B, H, m, 3))


def results(attention, q, k, v, g=None, **options):
    """o, dq, dk, dv for a given dL/do, by default random."""
    tensors = [Tensor(x, requires_grad=True) for x in (q, k, v)]
    o = attention(*tensors, **options)
    o.backward(draw(o.shape, seed=5)[0] if g is None else g)
    return [o.data, *(t.grad for t in tensors)]


def same(found, expected):
    """The same up to the rounding of sums of a hundred numbers of order one."""
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-13)


# Masked keys

LENGTH = 50
LEAKS = {  # all ways to mask the keys from LENGTH on for all queries
    "bool mask": {"attn_mask": np.arange(S) < LENGTH},
    "float mask": {"attn_mask": np.where(np.arange(S) < LENGTH, 0.3, -np.inf)},
    "bias": {"bias": np.where(np.arange(S) < LENGTH, 0.3, np.full((L, 1), -np.inf))},
    "lengths": {"attn_mask": masks.padding([LENGTH, LENGTH])},
    "function": {"attn_mask": lambda b, h, q, kv: kv < LENGTH},
    "blocks": {
        "attn_mask": BlockMask.from_mask(
            masks.from_array(np.arange(S)[None] < LENGTH), L, S
        )
    },
    "causal": {"is_causal": True, "attn_mask": lambda b, h, q, kv: kv < LENGTH},
}  # fmt: skip


@pytest.mark.parametrize("bad", [7.0, np.nan])
@pytest.mark.parametrize("name", LEAKS)
def test_masked_keys_have_no_influence(attention, name, bad):
    """If every query masks them, NaN is allowed in them as well."""
    q, k, v = example()
    expected = results(attention, q, k, v, **LEAKS[name])
    k[..., LENGTH:, :], v[..., LENGTH:, :] = bad, bad
    found = results(attention, q, k, v, **LEAKS[name])
    same(found, expected)
    assert not found[2][..., LENGTH:, :].any() and not found[3][..., LENGTH:, :].any()


def test_the_future_has_no_influence_on_the_past(attention):
    at = 40
    q, k, v = example(S, S)
    (g,) = draw((B, H, S, 3), seed=5)
    g[..., at:, :] = 0  # a loss on the past
    expected = results(attention, q, k, v, g, is_causal=True)
    for x in q, k, v:
        x[..., at:, :] = 7.0
    found = results(attention, q, k, v, g, is_causal=True)
    same(*([x[:, :, :at] for x in each] for each in (found, expected)))


# Precision, and torch


def plain(q, k, v, g, allowed):
    """Compute o, dq, dk, dv by the formulas, in the dtype of the inputs."""
    scale = q.dtype.type(q.shape[-1] ** -0.5)
    K, V = (x.swapaxes(1, 2) for x in (k, v))
    s = np.where(allowed, scale * (q @ K), -np.inf)
    e = np.exp(s - s.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    dp = g @ V
    ds = p * (dp - (p * dp).sum(-1, keepdims=True))
    P, dS = p.swapaxes(1, 2), ds.swapaxes(1, 2)
    return p @ v, scale * ds @ k, scale * dS @ q, P @ g


@pytest.mark.deep
@pytest.mark.parametrize("size", [0.1, 1, 30])
@pytest.mark.parametrize("heads, n", [(4, 200), (2, 800)])
def test_float32_is_as_exact_as_a_plain_program(attention, heads, n, size):
    """At most twice the error of plain float32, three times in the gradients."""
    # heads enough, so that both meet their worst case
    q, k, v, g = draw(*[(heads, n, 64)] * 4, dtype=np.float32)
    q *= np.float32(size)
    allowed = np.tri(n, dtype=bool)
    o, *gradients = results(attention, q, k, v, g, is_causal=True)
    simple = plain(q, k, v, g, allowed)
    exact = plain(*(x.astype(float) for x in (q, k, v, g)), allowed)
    for x, y, z, times in zip((o, *gradients), simple, exact, (2, 3, 3, 3)):
        assert x.dtype == np.float32
        assert np.abs(x - z).max() <= times * np.abs(y - z).max()


@pytest.mark.parametrize("seed", range(4))
def test_as_in_torch(attention, seed):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    b, g, hk = rng.integers(1, 4, 3)
    n, m = rng.integers(1, 140, 2)
    e, ev = rng.integers(1, 40, 2)
    arrays = draw((b, g * hk, n, e), (b, hk, m, e), (b, hk, m, ev), seed=seed)
    options = {"enable_gqa": bool(g > 1), "scale": [None, 0.3][rng.integers(2)]}
    learned = None
    match seed % 4:
        case 1:
            options["is_causal"] = True
        case 2:
            shape = (b, g * hk, n, m)[rng.integers(3) :]
            options["attn_mask"] = rng.random(shape) < 0.6
        case 3:
            learned = rng.standard_normal((b, 1, n, m)[rng.integers(3) :])
    inputs = arrays if learned is None else [*arrays, learned]
    ours = [Tensor(x, requires_grad=True) for x in inputs]
    theirs = [torch.tensor(x, requires_grad=True) for x in inputs]
    o = attention(*ours, **options)
    if "attn_mask" in options:
        options["attn_mask"] = torch.tensor(options["attn_mask"])
    expected = torch.nn.functional.scaled_dot_product_attention(*theirs, **options)
    grad = draw(o.shape, seed=seed + 100)[0]
    o.backward(grad)
    expected.backward(torch.tensor(grad))
    same([o.data], [expected.detach().numpy()])
    same([t.grad for t in ours], [t.grad.numpy() for t in theirs])


def test_the_order_of_arguments_is_that_of_torch():
    torch = pytest.importorskip("torch")
    q, k, v = example(9, 9)
    args = None, 0.0, True, 0.4, False
    expected = torch.nn.functional.scaled_dot_product_attention(
        *map(torch.tensor, (q, k, v)), *args[:3], scale=0.4, enable_gqa=False
    )
    same([scaled_dot_product_attention(q, k, v, *args).data], [expected.numpy()])
