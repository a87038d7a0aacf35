"""Local attention: its windows, its memory, its parameters."""

import pytest

from attention.variants.local import LocalAttention
from minigrad import Tensor, no_grad

from ...memory import peak_bytes
from ...minigrad.array_cases import draw, in_float64

B, L, Dq, Dk, Ev = 2, 4, 5, 3, 6


def layer(D=2, kind="m", **options):
    return in_float64(LocalAttention(Dq, Dk, D, kind, **options))


@pytest.mark.parametrize("kind", ["m", "p"])
def test_memory_does_not_grow_with_the_source(kind):
    """Beyond the inputs it is that of the windows, (B, L, 2 D + 1)."""

    def peak(S):
        module = layer(kind=kind)
        arrays = draw((B, L, Dq), (B, S, Dk), (B, S, Ev))
        queries, keys, values = (Tensor(a) for a in arrays)
        with no_grad():
            module(queries, keys, values)  # fill caches
            return peak_bytes(lambda: module(queries, keys, values))

    few, many = peak(100), peak(100_000)
    assert many < 1.1 * few < 100_000  # one column of keys has 800 000 bytes


def test_parameters_and_representation():
    names = {n: p.shape for n, p in layer(kind="p").named_parameters()}
    assert names == {"score.W_a": (Dq, Dk), "W_p": (Dq, Dq), "v_p": (Dq,)}
    assert [n for n, _ in layer().named_parameters()] == ["score.W_a"]
    assert layer().attention_weights is None
    assert repr(layer(kind="p", renormalize=True)) == (
        "LocalAttention(\n  D=2, kind='p', renormalize=True\n"
        "  (score): LuongAttention('general', 5, 3, dropout=0.0)\n)"
    )
