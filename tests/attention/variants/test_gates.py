"""Laws of normalised queries and keys, of the forgetting gate and the output gate."""

import numpy as np
import pytest

from attention import (
    CosineAttention,
    GatedAttention,
    Sink,
    definitions,
    forgetting_attention,
    output_gate,
)
from attention.variants.qk_norm import unit
from minigrad import Tensor, nn

from ...minigrad.array_cases import draw
from ..definition_cases import close

L, D, Ev = 6, 4, 3


# normalised queries and keys


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("length", [1e-30, 1e-6, 1e30])
def test_the_cosine_of_vectors_of_any_length_in_float32(length):
    (q, k), layer = draw((L, D), (9, D)), CosineAttention(tau=1.0)
    leaf = Tensor((q * length).astype(np.float32), requires_grad=True)
    s = layer.score(leaf, (k * length).astype(np.float32))
    np.testing.assert_allclose(s.data, definitions.cosine(q, k, 1), rtol=0, atol=1e-6)
    unit(leaf).backward(np.ones((L, D), np.float32))
    exact = Tensor(q, requires_grad=True)
    unit(exact).backward(np.ones((L, D)))
    close(leaf.grad * length, exact.grad, atol=1e-5)


# the forgetting gate


def test_a_sink_meets_the_same_scores_in_both_forms():
    """The weights of a sink change if the scores of a row are shifted."""
    q, k, v, f = draw((L, D), (L, D), (L, Ev), (L,))
    c = np.log(definitions.sigmoid(f)).cumsum()
    s = definitions.scaled_dot(q, k) + c[:, None] - c
    allowed = definitions.causal(*definitions.positions(L, L))
    expected = definitions.sink_softmax(s, allowed) @ v
    sink = Sink(b=nn.Parameter(np.zeros(())))
    for path in "dense", "tiled":
        found = forgetting_attention(q, k, v, f, path=path, normalize=sink)
        close(found.data, expected)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("path", ["dense", "tiled"])
@pytest.mark.parametrize("f_2", [-np.inf, -1e6, -1e4, -300.0, -12.0])
def test_a_gate_near_0_in_float32_costs_no_digits(f_2, path):
    """Neither of the scores after it, nor of its own gradient."""
    arrays, g = draw((9, D), (9, D), (9, Ev), (9,)), draw((9, Ev))[0]
    arrays[3][2::3], results = f_2, []
    for dtype in np.float32, np.float64:
        leaves = [Tensor(x.astype(dtype), requires_grad=True) for x in arrays]
        o = forgetting_attention(*leaves, path=path)
        o.backward(g.astype(dtype))
        results.append([o.data, *(x.grad for x in leaves)])
    for found, expected in zip(*results):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    q, k, v, f = (x[2:5] for x in arrays)  # a gate of 0 hides the tokens before it
    alone = forgetting_attention(q, k, v, f).data
    np.testing.assert_allclose(results[1][0][2:5], alone, atol=1e-4)


def test_the_gradient_of_forgetting_gates_near_0_in_float32():
    arrays, g = draw((512, D), (512, D), (512, Ev)), draw((512, Ev))[0]
    for f in -4.0, -12.0, -30.0:
        grads = []
        for dtype in np.float32, np.float64:
            leaf = Tensor(np.full(512, f, dtype), requires_grad=True)
            q, k, v = (x.astype(dtype) for x in arrays)
            forgetting_attention(q, k, v, leaf).backward(g.astype(dtype))
            grads.append(leaf.grad)
        largest = abs(grads[1]).max()
        np.testing.assert_allclose(*grads, rtol=0, atol=1e-5 * largest)


# the gate on the output


def test_one_gate_for_all_entries():
    o, z = draw((L, Ev), (L, 1))
    close(output_gate(o, z).data, output_gate(o, np.broadcast_to(z, (L, Ev))).data)
    layer = GatedAttention(D, 1)
    q, k, v = draw((2, L, D), (2, L, D), (2, L, Ev), dtype=np.float32)
    assert layer(q, k, v).shape == (2, L, Ev) and layer.fused_score(D) is None
