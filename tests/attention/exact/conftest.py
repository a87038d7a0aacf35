"""Every path of exact attention, in every backend."""

import pytest

from ..kernels.kernel_cases import running
from .paths import dense_attention, tiled_attention

PATHS = {"dense": dense_attention, "tiled": tiled_attention}
WAYS = [
    "dense-numpy",
    "tiled-numpy",
    "tiled-numba",
    pytest.param("dense-numba", marks=pytest.mark.deep),  # differs in the softmax only
]


@pytest.fixture(params=WAYS)
def attention(request):
    """Run each path in each backend, with every warning an error."""
    path, backend = request.param.split("-")
    with running(backend):
        yield PATHS[path]
