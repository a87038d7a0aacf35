"""The fixture that runs a test on both backends."""

import pytest

from .kernels.kernel_cases import BACKENDS, running


@pytest.fixture(params=BACKENDS)
def backend(request):
    """Run a test with compiled kernels, and with their twins; warnings are errors."""
    with running(request.param):
        yield request.param
