"""Local attention against its definition; its windows; its calls."""

import functools
import tracemalloc

import numpy as np
import pytest

from attention import definitions
from attention.variants.local import LocalAttention, gather_windows
from minigrad import Tensor, no_grad

from ...minigrad.array_cases import draw
from ..definition_cases import check

B, L, S, Dq, Dk, Ev = 2, 4, 9, 5, 3, 6  # no two equal: a lost transpose shows
close = dict(rtol=1e-11, atol=1e-12)  # the same sums of order one, in another order


def example(seed=0, dtype=float):
    return draw((B, L, Dq), (B, S, Dk), (B, S, Ev), seed=seed, dtype=dtype)


def layer(D=2, kind="m", dtype=np.float64, seed=0, **options):
    module = LocalAttention(Dq, Dk, D, kind, rng=np.random.default_rng(seed), **options)
    for parameter in module.parameters():
        parameter.data = parameter.data.astype(dtype)
    return module


def reversal(t, length):
    return length - 1 - t


KINDS = {
    "m-wide": dict(kind="m", D=20),
    "m-narrow": dict(kind="m", D=0),
    "m-reversal": dict(kind="m", centre=reversal),
    "m-between": dict(kind="m", centre=lambda t, length: 0.5 + t / 2),
    "p-narrow": dict(kind="p", D=1),
    "p-wide": dict(kind="p", D=20),
}


def defined(module, valid_lens, *arrays):
    """Return the context by the definition of one query, for each in turn."""
    queries, keys, values, W_a, *predicting = arrays
    score = functools.partial(definitions.general, W_a=W_a)
    context = np.zeros((B, L, values.shape[2]))
    for b, t in np.ndindex(B, L):
        n = valid_lens[b][t]
        q, k = queries[b, t : t + 1], keys[b, :n]
        if module.kind == "p":
            local = functools.partial(definitions.local_p, q, k)
            local = functools.partial(local, D=module.D, score=score)
            weights = local(np.eye(n), *predicting)
        else:
            centre = module.centre or (lambda t, length: t)
            weights = definitions.local_m(
                q, k, np.eye(n), module.D, score, lambda _: centre(t, n)
            )
        context[b, t] = (weights @ values[b, :n])[0]
    return context


LENS = [[9, 4, 1, 0], [2, 9, 3, 7]]  # of each query


@pytest.mark.parametrize("kind", KINDS)
def test_definition(kind):
    """Context, weights and all gradients."""
    module, arrays = layer(**KINDS[kind]), example()
    definition = functools.partial(defined, module, LENS)
    run = functools.partial(module, valid_lens=LENS)
    check(run, definition, arrays, module.parameters())
    parameters = [p.data for p in module.parameters()]
    one = np.broadcast_to(np.eye(S), (B, S, S))  # the contexts of these are the weights
    w, context = definition(*arrays[:2], one, *parameters), module(*arrays, LENS)
    np.testing.assert_allclose(module.attention_weights.data, w, **close)
    assert (module.attention_weights.data[w == 0] == 0).all()  # exactly
    assert (context.data[(w == 0).all(-1)] == 0).all()


# windows


@pytest.mark.parametrize("kind", ["m", "p"])
def test_memory_does_not_grow_with_the_source(kind):
    """Beyond the inputs it is that of the windows, (B, L, 2 D + 1)."""

    def peak(S):
        module = layer(kind=kind)
        arrays = draw((B, L, Dq), (B, S, Dk), (B, S, Ev))
        queries, keys, values = (Tensor(a) for a in arrays)
        with no_grad():
            module(queries, keys, values)  # fill caches
            tracemalloc.start()
            module(queries, keys, values)
            measured = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return measured

    few, many = peak(100), peak(100_000)
    assert many < 1.1 * few < 100_000  # one column of keys has 800 000 bytes


def test_gather_windows_gives_0_beyond_the_end_of_a_window():
    x = np.array([[np.nan], [1.0], [2.0]])
    y = gather_windows(x, np.array([1, 2, 3]), np.array([3, 3, 3]), 2).data
    np.testing.assert_array_equal(y[..., 0], [[1, 2], [2, 0], [0, 0]])


# calls


def test_parameters_and_representation():
    one, other, arrays = layer(kind="p"), layer(kind="p", seed=1), example()
    names = {n: p.shape for n, p in one.named_parameters()}
    assert names == {"score.W_a": (Dq, Dk), "W_p": (Dq, Dq), "v_p": (Dq,)}
    assert [n for n, _ in layer().named_parameters()] == ["score.W_a"]
    assert one.attention_weights is None
    assert (one(*arrays).data != other(*arrays).data).any()
    other.load_state_dict(one.state_dict())
    np.testing.assert_allclose(one(*arrays).data, other(*arrays).data, **close)
    assert repr(layer(kind="p", renormalize=True)) == (
        "LocalAttention(\n  D=2, kind='p', renormalize=True\n"
        "  (score): LuongAttention('general', 5, 3, dropout=0.0)\n)"
    )
