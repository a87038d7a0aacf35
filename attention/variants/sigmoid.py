"""Sigmoid attention: each weight depends on its own score alone.

    p_ij = sigmoid(s_ij + b)          0 for a masked key
    o_i  = sum_j p_ij v_j

The keys do not compete, so attention can count keys and can be empty. An average has
shares, not numbers: with two equal keys in place of one, a softmax halves the weight,
and o_i stays the same. b = -ln n keeps the sum of a row near 1 while the scores are
small: then sum_j p_ij v_j is an average again, and only large scores count.

Gradient: with p' = p (1 - p) and g = dL/dp,

    ds_ij = g_ij p_ij (1 - p_ij),    db = sum_ij ds_ij

There is no sum over the row, so that tiles need no second pass. With one key, the
softmax with a sink of score -b is the same: "one sink for each key".

Ramapuram et al. 2024.
"""

from minigrad import sigmoid, where
from minigrad.shapes import shapes

from .. import definitions
from .row import Normalizer


@shapes
def sigmoid_weights(scores, allowed, b=0.0):
    """p_ij = sigmoid(s_ij + b), and 0 for a masked key: a normaliser.

    scores (..., L, S), allowed (..., L, S) bool, b (..., L | 1, S | 1) or ()
        ->  weights (..., L, S)

    b   0; or -ln n, with which n small scores give an average
    """
    scores = where(allowed, scores, 0.0)  # a masked one may be NaN
    return where(allowed, sigmoid(scores + b), 0.0)


ROWS = [
    Normalizer(
        "sigmoid", definitions.sigmoid_weights, sigmoid_weights,
        parameters="b ()",
        about="""normaliser: p = sigmoid(s + b), without a sum over the keys
        can count the keys that fit, or give little weight to all
        cannot keep its output in the range of the values as n grows
        lesson 15: how often a symbol occurs; Ramapuram et al. 2024""",
    ),
]  # fmt: skip
