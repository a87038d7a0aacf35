"""Laws of normalised queries and keys, of the forgetting gate and the output gate."""

import numpy as np
import pytest

from attention import (
    CosineAttention,
    GatedAttention,
    QKNormAttention,
    Sink,
    alibi_bias,
    definitions,
    forgetting_attention,
    output_gate,
    scaled_dot_product_attention,
)
from attention.variants.qk_norm import unit
from minigrad import Tensor, nn, rms_norm

from ...minigrad.array_cases import draw
from ..definition_cases import close

L, D, Ev = 6, 4, 3


# normalised queries and keys


@pytest.mark.parametrize("make", [CosineAttention, lambda: QKNormAttention(D)])
def test_the_length_of_queries_and_keys_changes_nothing(make):
    (q, k), layer = draw((L, D), (L, D)), make()
    for parameter in layer.parameters():
        parameter.data = parameter.data.astype(float)
    found = layer.score(q * 1000, k * 1000).data
    np.testing.assert_allclose(found, layer.score(q, k).data, rtol=1e-5)


def cosine(tau):
    layer = CosineAttention()
    layer.tau.data = np.array(tau)
    return layer


def test_the_bound_of_the_cosine():
    (q, k), n = draw((L, D), (9, D)), 9
    for tau in 0.5, 2.0, 8.0:
        bound = 1 / (1 + (n - 1) * np.exp(-2 * tau))
        s = cosine(tau).score(q * 100, k * 100).data
        assert abs(s).max() <= tau and definitions.softmax(s).max() <= bound
        opposite = np.concatenate([q[:1], np.repeat(-q[:1], n - 1, 0)])
        s = cosine(tau).score(q[:1], opposite).data
        close(definitions.softmax(s)[0, 0], bound)  # reached
    close(cosine(5.0).score(np.eye(D), np.eye(D)).data, 5 * np.eye(D))
    close(definitions.softmax(cosine(1e-14).score(q, k).data), 1 / n)


def test_a_longer_query_has_a_smaller_gradient_orthogonal_to_it():
    x, g = draw((L, D), (L, D))
    gradients = []
    for length in 1.0, 10.0:
        leaf = Tensor(x * length, requires_grad=True)
        rms_norm(leaf, eps=0.0).backward(g)
        close((leaf.grad * leaf.data).sum(-1), 0, atol=1e-11)
        gradients.append(leaf.grad)
    close(gradients[1], gradients[0] / 10)
    leaf, eps = Tensor(x, requires_grad=True), 0.3  # with eps, nearly orthogonal
    rms_norm(leaf, eps=eps).backward(g)
    r = np.sqrt((x * x).mean(-1) + eps)
    close((leaf.grad * x).sum(-1), (g * x).sum(-1) * eps / r**3)


@pytest.mark.filterwarnings("error")
def test_a_query_of_zeros_has_equal_scores():
    q, k = np.zeros((1, D)), draw((L, D))[0]
    leaf = Tensor(q, requires_grad=True)
    s = cosine(3.0).score(leaf, k)
    assert not s.data.any()
    s.sum().backward()
    assert np.isfinite(leaf.grad).all()


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


def inputs(*heads):
    shapes = (L, D), (L, D), (L, Ev), (L,)
    return draw(*((2, *heads, *shape) for shape in shapes))


def test_a_sink_meets_the_same_scores_in_both_forms():
    """The weights of a sink change if the scores of a row are shifted."""
    q, k, v, f = (x[0] for x in inputs())
    c = np.log(definitions.sigmoid(f)).cumsum()
    s = definitions.scaled_dot(q, k) + c[:, None] - c
    allowed = definitions.causal(*definitions.positions(L, L))
    expected = definitions.sink_softmax(s, allowed) @ v
    sink = Sink(b=nn.Parameter(np.zeros(())))
    for path in "dense", "tiled":
        found = forgetting_attention(q, k, v, f, path=path, normalize=sink)
        close(found.data, expected)


def test_a_constant_gate_is_alibi():
    """With the slope -ln sigmoid(f), here those of two heads."""
    q, k, v, _ = inputs(2)
    slopes = np.array(definitions.alibi_slopes(2))
    f = -np.log(np.expm1(slopes))  # ln sigmoid(f) = -slope
    found = forgetting_attention(q, k, v, np.broadcast_to(f[:, None], (2, 2, L)))
    bias = alibi_bias(2, L, L, dtype=float)
    expected = scaled_dot_product_attention(q, k, v, bias=bias, is_causal=True)
    close(found.data, expected.data)


def test_gates_of_1_forget_nothing_and_a_gate_of_0_all_before_it():
    q, k, v, f = inputs()
    open_gates = forgetting_attention(q, k, v, np.full((2, L), 50.0)).data
    expected = scaled_dot_product_attention(q, k, v, is_causal=True).data
    close(open_gates, expected)
    f[:, 3] = -1e3
    found = forgetting_attention(q, k, v, f).data[:, 3:]
    rest = (x[:, 3:] for x in (q, k, v, f))
    close(found, forgetting_attention(*rest).data, rtol=1e-9)


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


@pytest.mark.filterwarnings("error")
def test_the_output_gate():
    o, z = draw((L, Ev), (L, 1))
    close(output_gate(o, np.full((L, Ev), 50.0)).data, o)
    assert not output_gate(o, np.full((L, 1), -1e4)).data.any()
    one = output_gate(o, z).data  # one gate for all entries
    close(one, output_gate(o, np.broadcast_to(z, (L, Ev))).data)
    layer = GatedAttention(D, 1)
    q, k, v = draw((2, L, D), (2, L, D), (2, L, Ev), dtype=np.float32)
    assert layer(q, k, v).shape == (2, L, Ev) and layer.fused_score(D) is None
