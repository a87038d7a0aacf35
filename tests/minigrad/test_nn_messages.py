"""Layers refuse wrong arguments, and name the argument and what they found."""

import numpy as np
import pytest

from minigrad import Tensor, nn

ones = np.ones
MESSAGES = [
    (
        lambda: nn.Linear(5, 3)(ones((2, 4))),
        ValueError,
        "Linear(5, 3): ",
        "5",
        "(2, 4)",
    ),
    (lambda: nn.Linear(5, 3, False)(1.0), ValueError, "bias=False): ", "5", "()"),
    (lambda: nn.Linear(5, 3)(ones((2, 5), int)), TypeError, "Linear(5, 3): x", "int64"),
    (lambda: nn.LayerNorm((3, 5))(ones((3, 4))), ValueError, "(3, 5)", "(3, 4)"),
    (lambda: nn.Embedding(6, 3, 6), ValueError, "padding_idx is 6", "6 rows"),
    (lambda: nn.Embedding(6, 3)(np.array([0, 6])), IndexError, "id 6", "of 6"),
    (lambda: nn.Embedding(6, 3)(ones(2)), TypeError, "ids must be", "float64"),
    (lambda: nn.Dropout(-0.1), ValueError, "Dropout: p", "probability", "-0.1"),
    (lambda: nn.Dropout("a"), ValueError, "Dropout: p", "probability", "'a'"),
    (lambda: nn.Linear(3.5, 4), TypeError, "Linear: in_features", "whole", "3.5"),
    (lambda: nn.Linear(4, 0), ValueError, "Linear: out_features", "1 or more", "0"),
    (lambda: nn.Embedding(0, 4), ValueError, "Embedding: num_embeddings", "0"),
    (lambda: nn.Linear(5, 3, rng=0), TypeError, "rng", "default_rng(0)", "int"),
    (lambda: nn.init.xavier_uniform_(Tensor(ones(3))), ValueError, "(out, in)", "(3,)"),
]


@pytest.mark.parametrize("row", MESSAGES, ids=range(len(MESSAGES)))
def test_message(row):
    call, kind, *fragments = row
    with pytest.raises(kind) as caught:
        call()
    for fragment in fragments:
        assert fragment in str(caught.value)
