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
    scores = heads * T * T  #? How many numbers is one score, and which pairs have one, in each head?
    #! scores = heads * T * T * d_model  | the number times d_model
    #! scores = T * T * (d_model // heads)  | that with d_model / heads for heads
    #! scores = T * T // heads  | the number of one head / heads: each head has scores of its own
    #! scores = heads * T * (T + 1) // 2  | that of T (T + 1) / 2 scores, but there is no mask
    size = np.dtype(dtype).itemsize  #? How many bytes takes one number of each type?
    #! size = 4  | the number for float32
    #! size = 8 * np.dtype(dtype).itemsize  | the number of bits
    return scores * size  #? Which unit is expected: bytes, kilobytes, or megabytes?
    #! return scores * size / 2**20  | the number of MiB


def longest(memory, dtype):
    """Return the largest T whose scores, of one head, fit into ``memory`` bytes."""
    scores = memory // np.dtype(dtype).itemsize  #? How many scores of this type fit into memory?
    #! scores = memory // 4  | the answer for float32
    #! scores = memory * np.dtype(dtype).itemsize  | the root of memory * itemsize
    return math.isqrt(scores)  #? T fits and T + 1 does not, also beyond 2^53: is the root exact?
    #! return math.isqrt(memory) // np.dtype(dtype).itemsize  | the root of memory, divided by the itemsize
    #! return math.isqrt(scores) - 1  | the answer - 1
    #! return math.isqrt(scores) + 1  | the answer + 1
    #! return round(math.sqrt(scores))  | the root, rounded and not rounded down


def attention_in_blocks(Q, K, V, block):
    """Return attention, computed for ``block`` queries at a time.

    Q, K (T, d), V (T, d_v)  ->  (T, d_v)

    A query needs all keys but no other query, so only the scores (block, T) of one
    block are in memory. T need not be a multiple of ``block``.
    """
    out = np.zeros((len(Q), V.shape[1]))
    for start in range(0, len(Q), block):  #? Which block contains the last of seven queries, if a block has three?
        rows = slice(start, start + block)  #? Which queries does each turn of the loop compute?
        e = Q[rows] @ K.T / np.sqrt(Q.shape[1])  #? A score of a query and a key: what is it divided by?
        top = e.max(axis=-1, keepdims=True)  #? exp(1e3) is inf. Which largest score has each query?
        #! top = 0  | exp(e) V / sum exp(e)
        #! top = e.max()  | exp(e - the largest of a block), divided by its sum
        z = np.exp(e - top)  #? Which keys does a query need: those of its block, or all?
        #! z = np.exp(e - top) * np.tri(len(Q), len(K))[rows]  | attention to the keys j <= i only, but there is no mask
        #! z = np.exp(e - top) * (np.arange(len(K)) // block == start // block)  | attention to the keys of the same block only
        p = z / z.sum(axis=-1, keepdims=True)  #? Over which axis do the weights of one query sum to 1?
        #! z = np.exp(e); p = z / z.sum(0)  | attention with weights that sum to 1 over the queries of a block
        #! z = np.exp(e); p = z / z.sum()  | attention with weights that sum to 1 over a whole block
        out[rows] = p @ V
    return out  #? Where does ``return`` stand: inside the loop, or after it?


def explanation():
    """Return a string: why can long sequences not use this attention? How much memory
    do the scores of 32768 positions take?

    Write ten words or more; they are not graded. The check then prints a good answer.
    """
    return (  #? How many bytes, for each head and layer, and what does twice the length take?
        "4 GiB for each head, each layer and each example, at 32768 positions in "
        "float32; times the heads, and kept for the backward\n"
        "twice T, four times the memory: parameters stay, states only double\n"
        "exact ways: blocks of scores that are never stored together (FlashAttention)\n"
        "other ways change the function: windows, sparse patterns, linear attention; "
        "and the work of the exact way stays quadratic"
    )


# ---- THE CHECK: each call my.f(…) is compared with the function f above

import itertools

from lessons.course.measure import peak_numbers, python_steps
from lessons.course.words import your_own_words  # noqa: F401

DTYPES = "int8", "float16", "float32", "float64"


def whole_numbers(my, rng):
    """the bytes of few positions and of 32768; the longest sequence, also above 2^53"""
    for case in itertools.product((3, 7, 32768), (10, 2, 10**6), (1, 5, 32), DTYPES):
        my.attn_bytes(*case)
    my.longest(100, "int8")
    few, many = (python_steps(my.made["longest"], n * n, "int8") for n in (100, 3000))
    # a loop over all T is exact, and would take minutes here; it has no largest T
    large = 4 * (2**30 + 1) ** 2 - 1 if many < few + 500 else 2**40
    for case in itertools.product((0, 4_000_000, 3_999_999, 2**34), DTYPES):
        my.longest(*case)
    for dtype in DTYPES:
        T, right = my.only.longest(large, dtype), longest(large, dtype)
        found = f"T = {T}: floats above 2^53 are not exact"
        my.holds("longest", T == right, f"T = {right}", found, "rounding")


def in_blocks(my, rng):
    """blocks of 2, 1, 7 and 11, square arrays, scores of 743, one position"""
    for block in (2, 1, 7, 11):  # the first is no width, and has several queries
        my.attention_in_blocks(*(rng.normal(size=(7, d)) for d in (3, 3, 5)), block)
    my.attention_in_blocks(*rng.normal(size=(3, 5, 5)), 2)
    K, V = np.array([[27.3], [27.4]]), np.array([[1.0], [2.0]])
    # exp of the scores of the second query, about -743, has one digit or two; in the
    # second case, after subtraction of the largest score of both
    for q, block in ((27.2, 1), (13.6, 2)):
        my.attention_in_blocks(np.array([[q], [-q]]), K, V, block)
    my.attention_in_blocks(*np.full((3, 1, 1), 3.0), 5)


def a_tenth(my, rng):
    """a tenth of the memory of all scores, and all queries of a block together"""
    f, tenth = my.made["attention_in_blocks"], attn_bytes(2048, 5, 1, "float64") / 10
    peak = 8 * peak_numbers(f, *rng.normal(size=(3, 2048, 5)), 32)
    text = f"a peak below {tenth / 1e6:.2f} MB, a tenth of the scores"
    found = f"{peak / 1e6:.2f} MB"
    my.holds("attention_in_blocks", peak < tenth, text, found, "peak")
    Q, K, V = rng.normal(size=(3, 64, 5))
    one, every = (python_steps(f, Q, K, V, block) for block in (1, 64))
    expected = "a quarter of the steps of Python, for one block and not 64 blocks"
    found = f"{every} steps and {one}: what is ``block`` used for?"
    my.holds("attention_in_blocks", 4 * every < one, expected, found, "ignores-block")


HINTS = """
1  np.dtype(dtype).itemsize is the number of bytes of one number. For longest, solve
   T * T * itemsize <= memory in whole numbers; math.isqrt rounds down.
2  Loop over range(0, T, block) and slice the queries. Each slice has its own scores,
   its own softmax over the keys and its own rows of the output.
"""
WHY = """There is one score for each pair of positions in each head, so the memory grows
with T^2 and does not depend on the width. A row of weights needs all keys but no other
query, so a block of queries is finished before the next one begins."""
