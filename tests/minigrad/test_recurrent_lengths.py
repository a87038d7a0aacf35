"""GRU and LSTM: padding is nothing, whatever stands in it."""

import numpy as np
import pytest

from minigrad.ops.packing import Packing

from .recurrent_cases import GATES, OPS, RAGGED, STATES, T, arguments, fused, pulled


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", GATES)
def test_padding_changes_nothing(kind, reverse):
    """Not a bit of any value or gradient, whatever stands in it; NaN stays there."""
    arrays = list(arguments(kind).values())
    padding = np.arange(T) >= RAGGED[:, None]
    runs = []
    for filling in (0.0, 1e30, np.nan, np.inf):
        arrays[0] = np.where(padding[:, :, None], filling, arrays[0])
        runs.append(sum(pulled(fused(kind, RAGGED, reverse), arrays), []))
        dx = runs[-1][1 + len(STATES[kind])]
        assert (dx[padding] == 0).all() and (dx[~padding] != 0).all()
        for found, wanted in zip(runs[-1], runs[0], strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kind", GATES)
def test_a_gradient_that_arrives_at_padding_goes_nowhere(kind):
    arrays = list(arguments(kind).values())
    outputs, backward = OPS[kind].raw(*arrays, RAGGED)
    padding = np.arange(T) >= RAGGED[:, None]
    g = [np.ones_like(y) for y in outputs]
    clean = backward(g)
    g[0][padding] = np.nan
    for found, wanted in zip(backward(g), clean, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_packing_order():
    """The example in ``packing.py``: lengths 2, 4, 3."""
    packing = Packing("test", 3, 4, [2, 4, 3], reverse=False)
    assert packing.example.tolist() == [1, 2, 0, 1, 2, 0, 1, 2, 1]
    assert packing.time.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 3]
    backwards = Packing("test", 3, 4, [2, 4, 3], reverse=True)
    assert backwards.time.tolist() == [3, 2, 1, 2, 1, 0, 1, 0, 0]
