"""Laws of attention on both paths: equal calls, orders, groups, masks, precision."""

import numpy as np
import pytest

from attention import masks
from attention.exact.sdpa import dense_attention, scaled_dot_product_attention
from attention.masks.block_mask import BlockMask
from attention.positions import T5RelativeBias, alibi_by_offset, toeplitz
from minigrad import Tensor

from ...minigrad.array_cases import draw
from ..kernels.kernel_cases import running
from .sdpa_laws_cases import (
    PATHS,
    PATHS_AND_BACKENDS,
    B,
    E,
    H,
    L,
    S,
    example,
    results,
    same,
)


@pytest.fixture(params=PATHS_AND_BACKENDS, ids="-".join)
def attention(request):
    """Each path in each backend, with every warning an error."""
    path, backend = request.param
    with running(backend):
        yield PATHS[path]


@pytest.mark.parametrize("options", [
    {"window_size": (L, S)},
    {"mask_mod": masks.everything},
    {"mask_mod": masks.bigbird(16, 1, 6, 0, seed=0)},  # all of the six blocks
    {"attn_mask": np.zeros((L, S))},
    {"attn_mask": np.ones((L, S), bool)},
    {"bias": np.zeros((H, L + S - 1))},
    {"bias": np.full((H, 1, 1), 0.0)},
    {"softcap": 1e9},
    {"block_mask": BlockMask.from_mask(masks.everything, L, S)},
])  # fmt: skip
def test_what_leaves_everything_as_it_is(attention, options):
    arrays = example()
    # tanh(x / c) c at c = 1e9 loses the digits of x that x / 1e9 has no room for
    tolerance = 1e-9 if "softcap" in options else 1e-13
    expected = results(dense_attention, *arrays)
    same(results(attention, *arrays, **options), expected, tolerance)


@pytest.mark.parametrize("options", [
    {"window_size": (-1, 0)},
    {"mask_mod": masks.causal},
    {"mask_mod": lambda b, h, q, kv: kv <= q},
    {"mask_mod": ~~masks.causal & (masks.causal | masks.nothing)},
    {"attn_mask": np.tri(L, S, dtype=bool)},
    {"attn_mask": np.where(np.tri(L, S), 0, -np.inf)},
    {"attn_mask": Tensor(np.tri(L, S, dtype=bool))},
    {"attn_mask": np.tri(L, S, dtype=bool), "is_causal": True},
    {"block_mask": BlockMask.from_mask(masks.causal, L, S)},
    {"block_mask": BlockMask.from_mask(masks.causal, L, S, block=(7, 13))},
    {"block_mask": BlockMask.from_dense(np.tri(L, S, dtype=bool))},
])  # fmt: skip
def test_all_ways_to_say_causal(attention, options):
    arrays = example()
    expected = results(dense_attention, *arrays, is_causal=True)
    same(results(attention, *arrays, **options), expected)


def test_keys_have_no_order(attention):
    q, k, v = example()
    order = np.random.default_rng(1).permutation(S)
    o, lse, dq, dk, dv = results(attention, q, k, v)
    found = results(attention, q, k[..., order, :], v[..., order, :])
    same(found, [o, lse, dq, dk[..., order, :], dv[..., order, :]])


def test_queries_do_not_meet(attention):
    q, k, v = example()
    alone = attention(q[..., 7:8, :], k, v).data
    same([alone], [attention(q, k, v).data[..., 7:8, :]])


def test_a_number_added_to_all_scores_of_a_query_changes_lse_alone(attention):
    arrays = example()
    o, lse, *gradients = results(attention, *arrays)
    number = draw((H, L, 1))[0]
    found = results(attention, *arrays, bias=number)
    same(found, [o, lse + number[..., 0], *gradients], 1e-12)


def test_groups_are_repeated_keys(attention):
    """H = 4, Hk = 2: head h reads h // 2, and dk sums over the group; so for Hk = 1."""
    for key_heads in (1, 2, 4):
        q, k, v = example(key_heads=(B, key_heads))
        K, V = (x.repeat(H // key_heads, 1) for x in (k, v))
        o, lse, dq, dk, dv = results(attention, q, K, V)
        fold = lambda x: x.reshape(B, key_heads, -1, *x.shape[2:]).sum(2)  # noqa: E731
        found = results(attention, q, k, v, enable_gqa=True)
        same(found, [o, lse, dq, fold(dk), fold(dv)])


def test_a_bias_by_offset_is_a_matrix(attention):
    """ALiBi and T5: slopes of 0 and a table of 0 change nothing."""
    q, k, v = example()
    table = T5RelativeBias(H)
    same(
        [attention(q, k, v, bias=table.by_offset(L, S)).data], [attention(q, k, v).data]
    )
    table.table.data = draw(table.table.shape, dtype=np.float32)[0]
    for bias in alibi_by_offset(H, L, S), table.by_offset(L, S).data:
        found = results(attention, q, k, v, bias=bias, is_causal=True)
        matrix = toeplitz.raw(bias.astype(float), L, S)[0]
        same(found, results(dense_attention, q, k, v, bias=matrix, is_causal=True))
        o = attention(q, k, v, bias=0 * bias, is_causal=True)
        same([o.data], [attention(q, k, v, is_causal=True).data])


def test_a_t5_table_learns_through_either_path():
    q, k, v = (x.astype(np.float32) for x in example())
    gradients = []
    for attention in PATHS.values():
        table = T5RelativeBias(H)
        o = attention(q, k, v, bias=table.by_offset(L, S))
        (o * np.cos(np.arange(o.size)).reshape(o.shape)).sum().backward()
        gradients.append(table.table.grad)
    assert gradients[0].any()
    np.testing.assert_allclose(*gradients, rtol=1e-4, atol=1e-4)


def test_decoding_step_by_step_is_the_whole(attention):
    """With lower_right, the last rows of queries get what they get in the whole."""
    q, k, v = example(S, S)
    whole = attention(q, k, v, is_causal=True, window_size=(30, 0)).data
    for n in (1, 5, 64):
        o = attention(
            q[..., -n:, :], k, v, is_causal=True, window_size=(30, 0),
            causal_align="lower_right",
        )  # fmt: skip
        same([o.data], [whole[..., -n:, :]])


def test_one_tensor_in_all_three_places(attention):
    """Self-attention: its gradient is the sum of the three."""
    x = draw((H, L, E))[0]
    t, g = Tensor(x, requires_grad=True), draw((H, L, E), seed=5)[0]
    attention(t, t, t, is_causal=True).backward(g)
    _, _, *parts = results(attention, x, x, x, g, np.zeros((H, L)), is_causal=True)
    same([t.grad], [sum(parts)])


# Masked keys

LENGTH = 50
LEAKS = {  # what hides the keys from LENGTH on from all queries
    "bool mask": {"attn_mask": np.arange(S) < LENGTH},
    "bool mask of each": {"attn_mask": np.tile(np.arange(S) < LENGTH, (B, H, L, 1))},
    "float mask": {"attn_mask": np.where(np.arange(S) < LENGTH, 0.3, -np.inf)},
    "bias": {"bias": np.where(np.arange(S) < LENGTH, 0.3, np.full((L, 1), -np.inf))},
    "lengths": {"mask_mod": masks.padding([LENGTH, LENGTH])},
    "function": {"mask_mod": lambda b, h, q, kv: kv < LENGTH},
    "blocks": {
        "block_mask": BlockMask.from_dense(np.tile(np.arange(S) < LENGTH, (L, 1)))
    },
    "softcap": {"mask_mod": masks.padding([LENGTH, LENGTH]), "softcap": 2.0},
    "causal": {"is_causal": True, "mask_mod": lambda b, h, q, kv: kv < LENGTH},
}  # fmt: skip


@pytest.mark.parametrize("bad", [7.0, np.nan])
@pytest.mark.parametrize("name", LEAKS)
def test_what_stands_in_the_padding_changes_no_bit(attention, name, bad):
    q, k, v = example()
    expected = results(attention, q, k, v, **LEAKS[name])
    k[..., LENGTH:, :], v[..., LENGTH:, :] = bad, bad
    found = results(attention, q, k, v, **LEAKS[name])
    for x, y in zip(found, expected):
        np.testing.assert_array_equal(x, y)
    assert not found[3][..., LENGTH:, :].any() and not found[4][..., LENGTH:, :].any()


def test_the_future_changes_no_bit_of_the_past(attention):
    at = 40
    q, k, v = example(S, S)
    g, gl = draw((B, H, S, 3), (B, H, S), seed=5)
    g[..., at:, :], gl[..., at:] = 0, 0  # a loss on the past
    expected = results(attention, q, k, v, g, gl, is_causal=True)
    for x in q, k, v:
        x[..., at:, :] = 7.0
    found = results(attention, q, k, v, g, gl, is_causal=True)
    for x, y in zip(found, expected):
        np.testing.assert_array_equal(x[:, :, :at], y[:, :, :at])


# Precision, and torch


def plain(q, k, v, g, allowed):
    """What a plain program computes, in the dtype of its inputs."""
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
    o, _, *gradients = results(
        attention, q, k, v, g, np.zeros((heads, n), np.float32), is_causal=True
    )
    simple = plain(q, k, v, g, allowed)
    exact = plain(*(x.astype(float) for x in (q, k, v, g)), allowed)
    for x, y, z, times in zip((o, *gradients), simple, exact, (2, 3, 3, 3)):
        assert x.dtype == np.float32
        assert np.abs(x - z).max() <= times * np.abs(y - z).max()


@pytest.mark.parametrize("seed", range(12))
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


def test_positions_of_torch_arguments():
    """The first eight, by position, mean what they mean there."""
    torch = pytest.importorskip("torch")
    q, k, v = example(9, 9)
    args = None, 0.0, True, 0.4, False
    expected = torch.nn.functional.scaled_dot_product_attention(
        *map(torch.tensor, (q, k, v)), *args[:3], scale=0.4, enable_gqa=False
    )
    same([scaled_dot_product_attention(q, k, v, *args).data], [expected.numpy()])
