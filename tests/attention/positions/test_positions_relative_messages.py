"""Biases of relative positions: what they say of wrong arguments."""

import numpy as np
import pytest

from attention.positions import (
    T5RelativeBias,
    alibi_bias,
    alibi_slopes,
    t5_bucket,
    toeplitz,
)

bias = T5RelativeBias(2)
REFUSED = {
    "t5_bucket": (TypeError, lambda: t5_bucket([0.5]), "float64", "integers"),
    "t5_bucket-few": (ValueError, lambda: t5_bucket(0, True, 3), "is 3", "at least 4"),
    "t5_bucket-one": (ValueError, lambda: t5_bucket(0, False, 1), "is 1", "least 2"),
    "t5_bucket-near": (
        ValueError,
        lambda: t5_bucket(0, True, 32, 8),
        "max_distance is 8",
        "more than 8",
    ),
    "t5_bucket-half": (TypeError, lambda: t5_bucket(0, True, 32.0), "is 32.0"),
    "t5_bucket-far": (TypeError, lambda: t5_bucket(0, True, 32, 1e2), "is 100.0"),
    "t5_bucket-layer": (ValueError, lambda: T5RelativeBias(2, 2), "num_buckets is 2"),
    "T5RelativeBias": (ValueError, lambda: bias(-1, 5), "(2, 32, 128)", "L is -1"),
    "T5RelativeBias-S": (ValueError, lambda: bias(5, 2.0), "S is 2.0", "keys"),
    "T5RelativeBias-align": (
        ValueError,
        lambda: bias(5, 5, causal_align="bottom_right"),
        "'bottom_right'",
        "'upper_left' or 'lower_right'",
    ),
    "alibi_slopes": (ValueError, lambda: alibi_slopes(0), "num_heads is 0"),
    "alibi_slopes-half": (ValueError, lambda: alibi_slopes(1.5), "num_heads is 1.5"),
    "alibi_bias": (ValueError, lambda: alibi_bias(2, 5, -1), "S is -1"),
    "alibi_bias-align": (ValueError, lambda: alibi_bias(2, 5, 5, True), "is True"),
    "toeplitz": (ValueError, lambda: toeplitz(np.ones((3, 5)), 3, 5), "(3, 5)", "7"),
    "toeplitz-number": (ValueError, lambda: toeplitz(1.0, 1, 1), "shape ()"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name):
    kind, attempt, *words = REFUSED[name]
    with pytest.raises(kind) as refusal:
        attempt()
    message = str(refusal.value)
    assert message.startswith(name.split("-")[0]) and message.endswith(".")
    for word in words:
        assert word in message, message
