"""Bad input: every refusal names the operation, what was given, and where."""

import re

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor


def array(*shape):
    return Tensor(np.ones(shape))


ids = np.array
logits = np.ones((3, 5))
REFUSED = {
    "where": (ValueError, lambda: mg.where(np.ones((3, 5), bool), array(3, 7), 0.0),
     "(3, 5)", "(3, 7)"),
    "where-number": (TypeError, lambda: mg.where(ids([1, 0]), 1.0, 0.0),
     "condition is int64", "expected bool", "condition != 0"),
    "where-text": (TypeError, lambda: mg.where("False", array(3), array(3)),
     "condition is <U5"),
    "where-masked_fill": (TypeError, lambda: mg.masked_fill(array(2), array(2), 0.0),
     "condition is float64"),
    "gelu": (ValueError, lambda: mg.gelu(array(3), "erf"), "approximate", "erf"),
    "matmul-batch": (ValueError, lambda: array(2, 3, 5) @ array(7, 5, 3),
     "leading axes", "(7, 5, 3)"),
    "matmul-scalar": (ValueError, lambda: mg.matmul(array(3, 5), 2.0), "(3, 5)"),
    "max-keepdims": (TypeError, lambda: array(3).max(keepdims="no"), "keepdims is 'no'",
     "True or False"),
    "var": (ValueError, lambda: array(3, 1).var(axis=1, ddof=1), "ddof", "(3, 1)"),
    "layer_norm-nothing": (ValueError, lambda: mg.layer_norm(array(3, 0)), "(3, 0)"),
    "transpose-number": (ValueError, lambda: mg.transpose(3.0, axes=(0,)), "axis 0",
     "3.0"),
    "transpose-none": (ValueError, lambda: mg.transpose(None, axes=(0,)), "NoneType"),
    "tril": (ValueError, lambda: mg.tril(array(3)), "shape (3,)", "(..., n, m)"),
    "triu": (ValueError, lambda: mg.triu(np.ones(3)), "shape (3,)", "(..., n, m)"),
    "add": (ValueError, lambda: array(3, 5) + array(5, 3), "(3,5) (5,3)",
     "two lengths must be equal, or one is 1."),
    "operands-compare": (ValueError, lambda: array(3, 5) < array(5, 3), "one is 1."),
    "reshape": (ValueError, lambda: array(3, 5).reshape(4, -1), "(4, -1)",
     "must have the product 15; one may be -1."),
    "reshape-rest": (ValueError, lambda: array(3, 5).reshape(-1, -1), "Only one"),
    "squeeze": (ValueError, lambda: array(3, 5).squeeze(0), "of length 1 only"),
    "sum-axis": (ValueError, lambda: array(3, 5).sum(axis=2), "(3, 5)",
     "There is no axis 2: the number of axes is 2"),
    "axis-argmax": (ValueError, lambda: array(3, 5).argmax(-3), "There is no axis -3"),
    "einsum": (TypeError, lambda: mg.einsum(array(3, 5), "ij->i"),
     "the subscripts are of type ndarray", "before the operands"),
    "expand": (ValueError, lambda: mg.expand(array(3), (3, 5)), "(3,)", "(3, 5)"),
    "expand-keeps": (ValueError, lambda: mg.expand(array(3), (-1, 3)), "(-1, 3)"),
    "expand-fewer": (ValueError, lambda: mg.expand(array(3, 5), (5,)), "(3, 5)"),
    "pad": (ValueError, lambda: mg.pad(array(3), -1), "-1"),
    "concat": (ValueError, lambda: mg.concat([array(3, 5), array(3, 7)]),
     "(3, 5)", "(3, 7)", "one shape, except along the axis that joins them"),
    "concat-tensor": (TypeError, lambda: mg.concat(array(3, 5)), "a list"),
    "concat-nothing": (TypeError, lambda: mg.concat([]), "no tensor"),
    "stack": (ValueError, lambda: mg.stack([array(3), array(5)]), "(3,)", "(5,)",
     "along a new axis"),
    "split": (ValueError, lambda: mg.split(array(3, 5), 2), "(3, 5)", "2"),
    "split-backwards": (ValueError, lambda: mg.split(array(5), [3, 2]), "[3, 2]"),
    "split-nothing": (ValueError, lambda: mg.split(array(5), 0), "0"),
    "split-axis": (ValueError, lambda: mg.split(array(5), 5, axis=1), "axis 1", "(5,)"),
    "astype": (TypeError, lambda: mg.astype(Tensor([1.5], requires_grad=True), int),
     "int"),
    "embedding-padding": (IndexError, lambda: mg.embedding(ids([0, 1]), array(5, 3), 5),
     "padding_idx is 5", "0 to 4"),
    "embedding-negative": (IndexError, lambda: mg.embedding(ids([0, -1]), array(5, 3)),
     "ids hold -1", "0 to 4"),
    "cross_entropy": (IndexError, lambda: mg.cross_entropy(logits, ids([0, 5, 1])),
     "target at (1,) is 5", "5 classes", "0 to 4"),
    "cross_entropy-negative": (IndexError,
     lambda: mg.cross_entropy(logits, ids([0, -1, 1])), "-1", "5"),
    "cross_entropy-smoothing": (ValueError,
     lambda: mg.cross_entropy(logits, ids([0, 1, 2]), label_smoothing=1.5),
     "label_smoothing", "1.5"),
    "cross_entropy-reduction": (ValueError,
     lambda: mg.cross_entropy(logits, ids([0, 1, 2]), reduction="average"), "average"),
    "dropout": (ValueError, lambda: mg.dropout(array(3), 1.5), "1.5"),
    "dropout-rng": (TypeError, lambda: mg.dropout(array(3), 0.5, rng=3), "Generator"),
    "dropout-negative": (ValueError, lambda: mg.dropout(array(3), -0.1), "-0.1"),
    "dropout-evaluating": (ValueError,
     lambda: mg.dropout(array(3), 2.0, training=False), "2.0"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name):
    kind, attempt, *words = REFUSED[name]
    with pytest.raises(kind) as refusal:
        attempt()
    notes = getattr(refusal.value, "__notes__", [])
    message = "\n".join([str(refusal.value), *notes])
    assert re.search(rf"\b{name.split('-')[0]}\b", message), message
    for word in words:
        assert word in message, message
