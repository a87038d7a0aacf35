"""Layers: what they say of wrong arguments."""

import numpy as np
import pytest

from minigrad import Tensor, nn

ones = np.ones
MESSAGES = {
    "linear: features": (
        lambda: nn.Linear(5, 3)(ones((2, 4))),
        ValueError,
        "Linear(5, 3): the last axis of x must have 5 features; found shape (2, 4).",
    ),
    "linear: a number": (
        lambda: nn.Linear(5, 3, bias=False)(1.0),
        ValueError,
        "Linear(5, 3, bias=False): the last axis of x must have 5 features; found "
        "shape ().",
    ),
    "linear: ids": (
        lambda: nn.Linear(5, 3)(ones((2, 5), int)),
        TypeError,
        "Linear(5, 3): x must be floating point; found int64.",
    ),
    "layer norm: shape": (
        lambda: nn.LayerNorm((3, 5))(ones((3, 4))),
        ValueError,
        "LayerNorm((3, 5), eps=1e-05): the last axes of x must be (3, 5); found shape "
        "(3, 4).",
    ),
    "embedding: padding": (
        lambda: nn.Embedding(6, 3, padding_idx=6),
        ValueError,
        "Embedding: padding_idx is 6, and there are 6 rows.",
    ),
    "dropout: p": (
        lambda: nn.Dropout(-0.1),
        ValueError,
        "Dropout: p must be a probability, from 0 to 1; found -0.1.",
    ),
    "dropout: a word": (
        lambda: nn.Dropout("a"),
        ValueError,
        "Dropout: p must be a probability, from 0 to 1; found 'a'.",
    ),
    "a fraction of a feature": (
        lambda: nn.Linear(3.5, 4),
        TypeError,
        "Linear: in_features must be a whole number; found 3.5.",
    ),
    "no feature": (
        lambda: nn.Linear(4, 0),
        ValueError,
        "Linear: out_features must be 1 or more; found 0.",
    ),
    "no rows": (
        lambda: nn.Embedding(0, 4),
        ValueError,
        "Embedding: num_embeddings must be 1 or more; found 0.",
    ),
    "a seed for a generator": (
        lambda: nn.Linear(5, 3, rng=0),
        TypeError,
        "rng must be a numpy.random.Generator, such as np.random.default_rng(0); found "
        "int.",
    ),
    "xavier of a vector": (
        lambda: nn.init.xavier_uniform_(Tensor(ones(3))),
        ValueError,
        "xavier_uniform_ needs a weight of shape (out, in); found shape (3,).",
    ),
}


@pytest.mark.parametrize("what", MESSAGES)
def test_message(what):
    call, kind, sentence = MESSAGES[what]
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == sentence


def test_ids_are_looked_at():
    """The sentence is the operation's: it names the id and the vocabulary's size."""
    with pytest.raises(IndexError, match=r"^embedding: id 6 is .* vocabulary of 6"):
        nn.Embedding(6, 3)(np.array([[0, 6]]))
    with pytest.raises(TypeError, match=r"^embedding: ids must be integers.* float64"):
        nn.Embedding(6, 3)(ones(2))
