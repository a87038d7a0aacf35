"""Attention equals torch's, where it is installed, in values and in gradients."""

import numpy as np
import pytest

from attention.exact.sdpa import scaled_dot_product_attention
from minigrad import Tensor

from ...minigrad.array_cases import draw
from ..kernels.kernel_cases import running
from .sdpa_laws_cases import PATHS, PATHS_AND_BACKENDS, example, same


@pytest.fixture(params=PATHS_AND_BACKENDS, ids="-".join)
def attention(request):
    """Each path in each backend, with every warning an error."""
    path, backend = request.param
    with running(backend):
        yield PATHS[path]


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
