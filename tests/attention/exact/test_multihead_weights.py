"""The weights of MultiHeadAttention: what it keeps, and their mean over heads."""

import numpy as np
import pytest

import minigrad as mg
from attention.exact.kv_cache import KVCache
from attention.exact.multihead import MultiHeadAttention
from minigrad import Tensor, no_grad

B, L, S, D, H = 2, 5, 7, 12, 4
close = dict(rtol=1e-12, atol=1e-14)


def draw(*shapes, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def layer(num_kv_heads=None, dtype=np.float64, **options):
    rng = np.random.default_rng(0)
    module = MultiHeadAttention(D, H, num_kv_heads, rng=rng, **options)
    for parameter in module.parameters():
        parameter.data = (rng.standard_normal(parameter.shape) / 2).astype(dtype)
    return module


def by_loops(module, query, key, allowed):
    """(B, H, L, S): the weights of each head, one query at a time."""
    state, E = module.state_dict(), D // H
    q = query @ state["W_q.weight"].T + state["W_q.bias"]
    k = key @ state["W_k.weight"].T + state["W_k.bias"]
    weights = np.zeros((len(query), H, query.shape[1], key.shape[1]))
    for b, h, i, _ in np.ndindex(*weights.shape[:3], 1):
        own, g = slice(h * E, h * E + E), h // (H // module.num_kv_heads)
        keys = np.flatnonzero(allowed[b, i])
        if len(keys):
            shared = slice(g * E, g * E + E)
            e = np.exp([q[b, i, own] @ k[b, j, shared] / E**0.5 for j in keys])
            weights[b, h, i, keys] = e / e.sum()
    return weights


LENS = np.array([[3, 0, 7, 1, 2], [7, 6, 5, 4, 3]])  # one query without a key
ALLOWED = np.arange(S) < LENS[..., None]


@pytest.mark.parametrize("num_kv_heads", [4, 2, 1])
def test_what_is_kept_and_what_is_averaged(num_kv_heads):
    module, (query, key) = layer(num_kv_heads), draw((B, L, D), (B, S, D))
    wanted = by_loops(module, query, key, ALLOWED)
    call = dict(valid_lens=LENS, need_weights=True)
    output, weights = module(query, key, **call)
    assert weights.shape == (B, H, L, S)  # unlike torch: of each head, unless asked
    np.testing.assert_allclose(weights.data, wanted, rtol=1e-11, atol=1e-12)
    kept = module.attention_weights
    np.testing.assert_array_equal(kept.data, weights.data)
    same, mean = module(query, key, average_attn_weights=True, **call)
    assert mean.shape == (B, L, S)
    np.testing.assert_allclose(mean.data, sum(wanted[:, h] for h in range(H)) / H,
                               rtol=1e-11, atol=1e-12)  # fmt: skip
    np.testing.assert_array_equal(same.data, output.data)
    np.testing.assert_array_equal(module.attention_weights.data, weights.data)
    np.testing.assert_allclose(mean.data[ALLOWED.any(-1)].sum(-1), 1, rtol=1e-12)
    assert (mean.data[0, 1] == 0).all()


def test_they_are_apart_from_the_graph_and_those_returned_are_not():
    module, (query, key) = layer(), draw((B, L, D), (B, S, D))
    query = Tensor(query, requires_grad=True)
    _, weights = module(query, key, need_weights=True)
    kept = module.attention_weights
    assert isinstance(kept, Tensor) and not kept.requires_grad
    assert weights.requires_grad
    _, mean = module(query, key, need_weights=True, average_attn_weights=True)
    assert mean.requires_grad and not module.attention_weights.requires_grad


def test_gradients_of_the_mean_are_slopes():
    module, arrays = layer(2), draw((B, L, D), (B, S, D))

    def both(query, key):
        return module(
            query,
            key,
            valid_lens=LENS,
            need_weights=True,
            average_attn_weights=True,
        )

    assert mg.gradcheck(lambda *x: both(*x)[1], arrays).ok


def test_when_there_are_none():
    """Before the first call, and after one that did not ask, whatever came before."""
    module, (x,) = layer(), draw((B, L, D))
    assert module.attention_weights is None
    module(x)
    assert module.attention_weights is None
    _, weights = module(x, need_weights=True)
    assert module.attention_weights is not None
    with pytest.raises(ValueError):
        module(x[..., 1:])  # a call that is refused leaves them
    np.testing.assert_array_equal(module.attention_weights.data, weights.data)
    output = module(x, average_attn_weights=True)  # without the other it says nothing
    assert isinstance(output, Tensor) and module.attention_weights is None


def test_one_example_without_an_axis_for_it():
    module, (query, key) = layer(), draw((B, L, D), (B, S, D))
    call = dict(need_weights=True, average_attn_weights=True)
    _, mean = module(query, key, **call)
    _, alone = module(query[1], key[1], **call)
    assert alone.shape == (L, S) and module.attention_weights.shape == (H, L, S)
    np.testing.assert_allclose(alone.data, mean.data[1], **close)


def test_in_decoding_they_are_of_all_tokens_so_far():
    module, (x,) = layer(2), draw((B, L, D))
    _, whole = module(x, is_causal=True, need_weights=True)
    cache = KVCache()
    with no_grad():
        for t in range(L):
            module(x[:, t : t + 1], is_causal=True, cache=cache, need_weights=True)
            kept = module.attention_weights.data
            assert kept.shape == (B, H, 1, t + 1)
            np.testing.assert_allclose(kept[:, :, 0], whole.data[:, :, t, : t + 1],
                                       rtol=1e-11, atol=1e-12)  # fmt: skip


def test_equal_to_torch():
    torch = pytest.importorskip("torch")
    from attention.exact.torch_state import torch_state

    module, (query, key) = layer(), draw((B, L, D), (B, S, D))
    peer = torch.nn.MultiheadAttention(D, H, batch_first=True).double()
    state = torch_state(module)
    peer.load_state_dict({n: torch.from_numpy(a) for n, a in state.items()})
    padding = np.arange(S) >= np.array([[4], [7]])
    q, k, ignored = (torch.from_numpy(a) for a in (query, key, padding))
    for average in (False, True):
        _, ours = module(
            query,
            key,
            valid_lens=[4, 7],
            need_weights=True,
            average_attn_weights=average,
        )
        theirs = peer(q, k, k, key_padding_mask=ignored, average_attn_weights=average)[
            1
        ]
        np.testing.assert_allclose(ours.data, theirs.detach().numpy(), rtol=1e-10,
                                   atol=1e-12)  # fmt: skip
    assert peer(q, k, k)[1].ndim == 3  # torch's default is the mean
