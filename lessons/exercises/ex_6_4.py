"""6.4  The memory that scores take  ●●○○  30 min  book §6.4

Self-attention over T positions has one score for each pair of positions: an array
(T, T) for each head, each example and each layer. Twice the length takes four times the
memory. Compute how much memory that is. Then compute the same attention without ever
storing the whole array.

    o_i = sum_j p_ij v_j      p_i = softmax over j of q_i . k_j / sqrt(d)
"""

import math

import numpy as np

from lessons import NotWritten


def attn_bytes(T, d_model, heads, dtype):
    """Return how many bytes the scores of one layer take for one example, an int.

    T        the number of positions
    d_model  the width of the states; each head has the width d_model / heads
    dtype    the type of one score, "float32" for example
    """
    raise NotWritten("6.4 attn_bytes")


def longest(memory, dtype):
    """Return the largest T whose scores, of one head, fit into ``memory`` bytes."""
    raise NotWritten("6.4 longest")


def attention_in_blocks(Q, K, V, block):
    """Return attention, computed for ``block`` queries at a time.

    Q, K (T, d), V (T, d_v)  ->  (T, d_v)

    A query needs all keys but no other query, so only the scores (block, T) of one
    block are in memory. T need not be a multiple of ``block``.
    """
    raise NotWritten("6.4 attention_in_blocks")


def explanation():
    """Return a string: why can long sequences not use this attention? How much memory
    do the scores of 32768 positions take?

    Write ten words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    raise NotWritten("6.4 explanation")
