"""6.4  The memory that scores take  ●●○○  30 min  book §6.4

Self-attention over T positions has one score for each pair of positions: an array
(T, T) for each head, each example and each layer. Twice the length takes four times the
memory. Compute how much memory that is. Then compute the same attention without ever
storing the whole array.

    o_i = sum_j p_ij v_j      p_i = softmax over j of q_i . k_j / sqrt(d)
"""

import math

import numpy as np


def attn_bytes(T, d_model, heads, dtype):
    """Return how many bytes the scores of one layer take for one example, an int.

    T        the number of positions
    d_model  the width of the states; each head has the width d_model / heads
    dtype    the type of one score, "float32" for example
    """
    # BEGIN SOLUTION
    # a score is one number for any width of the vectors
    return heads * T * T * np.dtype(dtype).itemsize
    # END SOLUTION


def longest(memory, dtype):
    """Return the largest T whose scores, of one head, fit into ``memory`` bytes."""
    # BEGIN SOLUTION
    return math.isqrt(memory // np.dtype(dtype).itemsize)
    # END SOLUTION


def attention_in_blocks(Q, K, V, block):
    """Return attention, computed for ``block`` queries at a time.

    Q, K (T, d), V (T, d_v)  ->  (T, d_v)

    A query needs all keys but no other query, so only the scores (block, T) of one
    block are in memory. T need not be a multiple of ``block``.
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


def explanation():
    """Return a string: why can long sequences not use this attention? How much memory
    do the scores of 32768 positions take?

    Write ten words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    # BEGIN SOLUTION
    return (
        "One head of one layer takes 4 GiB at T = 32768 in float32, for one example, "
        "and the backward needs them again; 32 heads take 128 GiB, more than a GPU "
        "has. Twice the length takes four times as much, while parameters and states "
        "grow not at all or linearly. Blocks give the same result without the array; "
        "windows and linear attention also save the work, and change the result."
    )
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "There is one score for each pair of positions in each head, so the memory grows "
    "with T^2 and does not depend on the width. A row of weights needs all keys but no "
    "other query, so a block of queries is finished before the next one begins."
)

MUTANTS = [
    ("heads * T * T *", "heads * T * T * d_model *", "extra-factor"),
    ("heads * T * T *", "T * d_model *", "states"),
    ("heads * T * T *", "T * T *", "no-factor"),
    ("heads * T * T *", "T * T // heads *", "heads-divide"),
    ("heads * T * T * np.dtype(dtype).itemsize", "heads * T * T * 4", "ignores-dtype"),
    ("heads * T * T *", "8 * heads * T * T *", "bits"),
    ("return heads *", "return 2**-20 * heads *", "float"),
    ("math.isqrt(memory // np.dtype(dtype).itemsize)",
     "int(math.sqrt(memory // np.dtype(dtype).itemsize))", "rounding"),
    (" / np.sqrt(Q.shape[1])", "", "unscaled"),
    ("(0, len(Q), block)", "(0, len(Q) - block + 1, block)", "last-block"),
    ("for start in range", "block = len(Q)\n    for start in range", "peak"),
]  # fmt: skip
