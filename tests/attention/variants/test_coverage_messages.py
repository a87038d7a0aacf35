"""Coverage and its loss: what they say of wrong arguments."""

import numpy as np
import pytest

from attention.variants.coverage import coverage_loss

from .coverage_cases import B, Dq, L, S, example, layer

a, c = np.zeros((B, L, S)), np.zeros((B, L, S))
BAD_LOSSES = [
    (
        (a[0], c[0]),
        ValueError,
        "coverage_loss: weights have shape (4, 5) and coverages (4, 5); expected "
        "(B, L, S) for both.",
    ),
    (
        (a, c[:, :3]),
        ValueError,
        "coverage_loss: weights have shape (2, 4, 5) and coverages (2, 3, 5); expected "
        "(B, L, S) for both.",
    ),
    (
        (a, c, [4, 2, 1]),
        ValueError,
        "coverage_loss: target_lens have shape (3,); expected (2,), one for each "
        "example.",
    ),
    (
        (a, c, [5, 2]),
        ValueError,
        "coverage_loss: target_lens holds 5; expected numbers from 0 to 4, the number "
        "of steps.",
    ),
    (
        (a, c, [1.0, 2.0]),
        TypeError,
        "coverage_loss: target_lens holds float64; expected whole numbers.",
    ),
    (
        (a, c, None, np.ones((B, L), int)),
        ValueError,
        "coverage_loss: mask is int64 of shape (2, 4); expected bool of shape (2, 4), "
        "where True = the step counts.",
    ),
]


@pytest.mark.parametrize("arguments, kind, message", BAD_LOSSES)
def test_what_the_loss_refuses(arguments, kind, message):
    with pytest.raises(kind) as error:
        coverage_loss(*arguments)
    assert str(error.value) == message


def test_what_the_layer_refuses():
    module, (queries, keys, values) = layer(), example()
    for arguments, *fragments in [
        ((queries, keys[..., :3], values), "keys have shape (2, 5, 3)", "key_size"),
        ((queries, keys, values, np.ones((B, 3), int)), "valid_lens", "(2, 3)"),
        ((np.zeros((3, L, Dq)), keys, values), "attend: keys", "Leading axes"),
        ((queries[0, 0], keys, values), "queries have shape (3,)", "L, Dq)"),
    ]:
        with pytest.raises(ValueError) as error:
            module(*arguments)
        message = str(error.value)
        assert all(fragment in message for fragment in fragments), message
    with pytest.raises(ValueError) as error:
        module.step(queries[:, 0], keys, values, np.zeros((B, 4)))
    assert str(error.value) == (
        "CoverageAttention: coverage is float64 of shape (2, 4); expected "
        "floating-point numbers of shape (2, 5), a sum of weights."
    )
