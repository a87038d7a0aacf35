"""Positions: what the messages say about wrong arguments."""

import numpy as np
import pytest

from attention.positions import (
    LearnedPositions,
    LinearScaling,
    Llama3Scaling,
    T5RelativeBias,
    disentangled_scores,
    rope,
    shaw_scores,
    sinusoidal,
    t5_bucket,
)

from ...messages import check_message


def ones(*shapes):
    return [np.ones(shape) for shape in shapes]


def shaw(rows=5, **options):
    return shaw_scores(*ones((5, 3), (7, 3), (rows, 3)), **options)


def deberta(rows=4, **options):
    return disentangled_scores(*ones((5, 3), (7, 3), (rows, 3), (rows, 3)), **options)


x, p = np.ones((2, 3, 5, 4)), np.arange(5)
CALLS = [
    # sinusoidal and learned positions
    (lambda: sinusoidal(3, 4, base=-1), "base is -1", "positive"),
    (lambda: LearnedPositions(7, 3)(-2), "LearnedPositions(7, 3): the length is -2"),
    (lambda: LearnedPositions(7, 3)([7]), "no row for position 7", "0 to 6"),
    (lambda: LearnedPositions(7, 3)([0.5]), "float64; expected integers"),
    # biases of relative positions
    (lambda: t5_bucket([0.5]), "t5_bucket: relative positions are float64"),
    (lambda: t5_bucket(0, 1), "bidirectional is 1", "True or False"),
    (lambda: T5RelativeBias(2)(5, 5, "left"), "first is 'left'", "a whole number"),
    # scores
    (lambda: shaw(rows=4), "the table has 4 rows", "2c + 1"),
    (lambda: shaw(first=0.5), "first is 0.5"),
    (lambda: deberta(rows=5), "the tables have 5 rows", "2c"),
    # RoPE and its scalings
    (lambda: rope(x, p[:3]), "positions have shape (3,)", "(5,)"),
    (lambda: rope(x[:, :2], np.zeros((2, 5))), "(2, 5)", "positions[:, None, :]"),
    (lambda: rope(np.ones((5, 7)), p), "the width E is 7", "even", "rot_dim=6"),
    (lambda: rope(x, p, rot_dim=6), "rot_dim is 6", "up to 4"),
    (lambda: rope(x, p, base=-0.5), "base is -0.5"),
    (lambda: rope(x, p, interleaved=1), "interleaved is 1"),
    (lambda: rope(x, p, scaling=4.0), "scaling is 4.0"),
    (lambda: LinearScaling(0.5), "LinearScaling: factor is 0.5", "1 or more"),
    (lambda: Llama3Scaling(2.0, 0), "original_length is 0", "1 or more"),
]


@pytest.mark.parametrize("call, fragments", [(call, words) for call, *words in CALLS])
def test_message(call, fragments):
    check_message(call, fragments)
