"""6.4  The memory that scores take  ●●○○  30 min  book §6.4

Self-attention over T positions has a score for each pair of them: an array (T, T) for
each head, each example, each layer. Twice the length, four times the memory. Say how
much that is; then compute the same attention without ever having the whole array.

    o_i = sum_j p_ij v_j      p_i = softmax over j of q_i . k_j / sqrt(d)
"""

import math

import numpy as np

from lessons import NotWritten


def attn_bytes(T, d_model, heads, dtype):
    """Bytes of all scores of one layer, for one example  ->  a whole number

    T        positions
    d_model  width of the states; each head has d_model / heads of it
    dtype    what one score is, "float32" for example
    """
    raise NotWritten("6.4 attn_bytes")


def longest(room, dtype):
    """The largest T whose scores, of one head, fit into ``room`` bytes, exactly."""
    raise NotWritten("6.4 longest")


def attention_in_blocks(Q, K, V, block):
    """Attention, ``block`` queries at a time.

    Q, K (T, d), V (T, d_v)  ->  (T, d_v)

    A query needs all keys, and no other query: scores (block, T) are all that is there
    at a time. T need not be a multiple of ``block``.
    """
    raise NotWritten("6.4 attention_in_blocks")
