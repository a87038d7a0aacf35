"""6.4  The memory that scores take  ●●○○  30 min  book §6.4

Self-attention over T positions has a score for each pair of them: an array (T, T) for
each head, each example, each layer. Twice the length, four times the memory. Say how
much that is; then compute the same attention without ever having the whole array.

    o_i = sum_j p_ij v_j      p_i = softmax over j of q_i . k_j / sqrt(d)
"""

import math

import numpy as np


def attn_bytes(T, d_model, heads, dtype):
    """Bytes of all scores of one layer, for one example  ->  a whole number

    T        positions
    d_model  width of the states; each head has d_model / heads of it
    dtype    what one score is, "float32" for example
    """
    # BEGIN SOLUTION
    # a score is one number, whatever the width of what it compares
    return heads * T * T * np.dtype(dtype).itemsize
    # END SOLUTION


def longest(room, dtype):
    """The largest T whose scores, of one head, fit into ``room`` bytes, exactly."""
    # BEGIN SOLUTION
    return math.isqrt(room // np.dtype(dtype).itemsize)
    # END SOLUTION


def attention_in_blocks(Q, K, V, block):
    """Attention, ``block`` queries at a time.

    Q, K (T, d), V (T, d_v)  ->  (T, d_v)

    A query needs all keys, and no other query: scores (block, T) are all that is there
    at a time. T need not be a multiple of ``block``.
    """
    # BEGIN SOLUTION
    out = np.empty((len(Q), V.shape[1]))
    for start in range(0, len(Q), block):
        q = Q[start : start + block]  # the last block may be shorter
        e = q @ K.T / np.sqrt(Q.shape[1])  # (block, T)
        z = np.exp(e - e.max(axis=-1, keepdims=True))
        out[start : start + block] = z @ V / z.sum(axis=-1, keepdims=True)
    return out
    # END SOLUTION


# FOR THE CHECK

HINTS = {
    "": [
        "A score is a single number, the result of a product over the width. How many "
        "pairs of positions are there, and for how many heads?",
        "np.dtype(dtype).itemsize is the number of bytes of one number. For longest, "
        "solve T * T * itemsize <= room in whole numbers; math.isqrt rounds down.",
        "Loop over range(0, T, block) and slice the queries; each has its scores, its "
        "softmax over the keys, its rows of the output.",
    ],
    "times-width": ["How many numbers is one score?"],
    "states": ["Those are the bytes of the states, not of their scores."],
    "one-head": ["Every head has scores of its own."],
    "heads-divide": ["The heads share the width. Do they share the scores as well?"],
    "unit": ["Bytes are asked for, without a factor of 10^6 or 2^20."],
    "bits": ["itemsize counts bytes already."],
    "ignores-dtype": ["A float64 takes twice as much as a float32."],
    "no-root": ["Room for n scores is room for how many positions?"],
    "rounding": ["Squares of large numbers are exact as int, and not as float."],
    "unscaled": ["The scores are divided by the square root of the width."],
    "last-block": ["Seven queries in blocks of three: which block has the last one?"],
    "within-block": ["The queries come in blocks. Which keys does each of them need?"],
    "peak": ["What is as large as (T, T) while your loop runs, or before?"],
    "overflow": [
        "exp(1e3) is more than a float64 holds. Softmax has a freedom to use."
    ],
    "whole-maximum": [
        "Each query has a largest score of its own. What is left of exp in a row that "
        "is 1000 below another of its block?"
    ],
}

MUTANTS = [
    ("heads * T * T *", "heads * T * T * d_model *", "times-width"),
    ("heads * T * T *", "T * d_model *", "states"),
    ("heads * T * T *", "T * T *", "one-head"),
    ("heads * T * T *", "T * T // heads *", "heads-divide"),
    ("heads * T * T * np.dtype(dtype).itemsize", "heads * T * T * 4", "ignores-dtype"),
    ("heads * T * T *", "8 * heads * T * T *", "bits"),
    ("return heads *", "return 2**-20 * heads *", "dtype"),
    ("room // np.dtype(dtype).itemsize", "room", "ignores-dtype"),
    ("math.isqrt(room //", "(room //", "no-root"),
    ("return math.isqrt(", "return 1 + math.isqrt(", "rounding"),
    (" / np.sqrt(Q.shape[1])", "", "unscaled"),
    ("(0, len(Q), block)", "(0, len(Q) - block + 1, block)", "last-block"),
    (
        "q @ K.T /",
        "np.where(np.arange(len(K)) // block == start // block, q @ K.T, -np.inf) /",
        "within-block",
    ),
    ("for start in range", "block = len(Q)\n    for start in range", "peak"),
    ("np.exp(e - e.max(axis=-1, keepdims=True))", "np.exp(e)", "overflow"),
    ("e.max(axis=-1, keepdims=True)", "e.max()", "whole-maximum"),
]  # fmt: skip
