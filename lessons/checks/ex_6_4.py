"""Check an answer to 6.4."""

import itertools
import math

import numpy as np

from lessons.checks.attending import wrong_scales, wrong_weights
from lessons.checks.counting import equal_counts, miscounts
from lessons.checks.measure import peak_numbers, python_steps
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.words import self_assessed
from lessons.classroom.checking.runner import UNKNOWN
from lessons.classroom.steps import edges, laws, numbers, shape, values

# THE EXERCISE IN LOOPS


def longest(memory, dtype):
    return math.isqrt(memory // np.dtype(dtype).itemsize)


def attention_in_blocks(Q, K, V, block):
    out = np.zeros((len(Q), V.shape[1]))
    for start in range(0, len(Q), block):
        rows = slice(start, start + block)
        e = Q[rows] @ K.T / math.sqrt(Q.shape[1])
        z = np.exp(e - e.max(-1, keepdims=True))
        out[rows] = z @ V / z.sum(-1, keepdims=True)
    return out


# THE CHECK

UNITS = {"KiB": 2**10, "kB": 10**3, "MiB": 2**20, "MB": 10**6, "GB": 10**9}
BYTES = {"int8": 1, "float16": 2, "float32": 4, "float64": 8}


def attend(Q, K, V):
    """Compute attention with the whole matrix of scores."""
    e = Q @ K.T / np.sqrt(Q.shape[1])
    z = np.exp(e - e.max(-1, keepdims=True))
    return z @ V / z.sum(-1, keepdims=True)


@shape("integers, and an output for each query")
def whole_numbers(my, rng):
    my.shape(my.attn_bytes(7, 16, 2, "float32"), (), "", int)
    my.shape(my.longest(1000, "float32"), (), "", int)
    Q, K, V = (rng.normal(size=(7, d)) for d in (3, 3, 5))
    my.shape(my.attention_in_blocks(Q, K, V, 3), (7, 5), ("T", "d_v"))


@numbers("2 MB, 4 MB, 67 MB, 4.3 GB; with 32 heads, 137 GB")
def megabytes(my, rng):
    rights = {
        (1000, 512, 1, "float16"): 2_000_000,
        (1000, 512, 1, "float32"): 4_000_000,
        (4096, 512, 1, "float32"): 67_108_864,
        (32768, 512, 1, "float32"): 4_294_967_296,
        (32768, 512, 32, "float32"): 137_438_953_472,
    }
    equal_counts(my, my.attn_bytes, lambda *case: rights[case], wrong_bytes, rights)


@values("bytes, measured with arrays of scores")
def of_scores_that_exist(my, rng):
    def measured(T, d_model, heads, dtype):
        return sum(np.ones((T, T), dtype).nbytes for _ in range(heads))

    cases = itertools.product((3, 7), (10,), (1, 5), BYTES)
    equal_counts(my, my.attn_bytes, measured, wrong_bytes, list(cases))


@values("the longest sequence: T fits, T + 1 does not")
def one_further(my, rng):
    limits = [10**6, 4_000_000, 3_999_999, 2**34]
    few, many = (python_steps(my.longest, n * n, "int8") for n in (100, 3000))
    cases = [*itertools.product(limits, BYTES.items())]
    if many < few + 500:  # a loop over all T is exact, and would take minutes here
        cases += [(4 * (2**30 + 1) ** 2 - 1, each) for each in BYTES.items()]
    else:  # but a loop must not end at a number that is typed in
        cases.append((2**42, ("int8", 1)))
    for memory, (dtype, size) in cases:
        got, right = my.longest(memory, dtype), math.isqrt(memory // size)
        my.shape(got, (), "", int)
        tag, text = "unknown", UNKNOWN
        if memory > 2**53:  # in float64, whole numbers up to here are exact
            tag, text = "rounding", "yours equals the root of a rounded number"
        my.holds(
            got == right,
            tag,
            f"expected the largest T with T * T * {size} <= {memory}",
            f"found T = {got}, with {got * got * size} bytes",
            text,
        )


@values("attention in blocks, against the whole matrix of scores")
def against_the_whole(my, rng):
    Q, K, V = (rng.normal(size=(7, d)) for d in (3, 3, 5))
    want = attend(Q, K, V)
    known = wrong_weights(Q @ K.T / 3**0.5, scales=wrong_scales(3, 7, 7, 5))
    known = [(tag, f"attention with {what}", p @ V) for tag, what, p in known]
    for block in (2, 1, 7, 11):  # the first is no width, and has several queries
        whole = 7 - 7 % block  # queries in blocks that are full
        got = my.attention_in_blocks(Q, K, V, block)
        my.shape(got, want.shape, ("T", "d_v"))
        right = np.isclose(got, want).all(-1)
        for tag, good, bad in (
            ("first-block", right[block:], right[:block]),
            ("early-return", right[:block], right[block:]),
            ("last-block", right[:whole], right[whole:]),
        ):
            my.holds(
                not (good.any() and good.all() and bad.size) or bad.any(),
                tag,
                "expected 7 rows of output",
                f"found {good.size} rows right and {bad.size} wrong",
            )
        my.equal(got, want, ("T", "d_v"), known)


@laws("the width of the states changes nothing")
def whatever_the_width(my, rng):
    found = {d: my.attn_bytes(64, d, 2, "float32") for d in (2, 512, 10**6)}
    my.holds(
        len(set(found.values())) == 1,
        "times-width",
        "expected one number of bytes for all widths",
        "found " + ", ".join(f"{n} at {d}" for d, n in found.items()),
    )


@laws("2048 positions in less than a tenth of the memory of their scores")
def a_tenth(my, rng):
    T = 2048
    Q, K, V = (rng.normal(size=(T, 5)) for _ in range(3))
    scores = my.attn_bytes(T, 5, 1, "float64")
    whole = int(8 * peak_numbers(attend, Q, K, V))
    yours = 8 * peak_numbers(my.attention_in_blocks, Q, K, V, 32)
    my.holds(
        scores <= whole,
        "unit",
        f"expected at most {whole} bytes, the peak memory of attention with the "
        "whole matrix of scores",
        f"found {scores}",
    )
    my.holds(
        yours < scores / 10,
        "peak",
        f"expected a peak below {scores / 1e7:.2f} MB, a tenth of the scores",
        f"found {yours / 1e6:.2f} MB",
    )


@laws("all queries of a block are computed together")
def together(my, rng):
    Q, K, V = rng.normal(size=(3, 64, 5))
    one, all_of_them = (
        python_steps(my.attention_in_blocks, Q, K, V, block) for block in (1, 64)
    )
    my.holds(
        4 * all_of_them < one,
        "ignores-block",
        "expected a quarter of the steps of Python, for one block and not 64 blocks",
        f"found {all_of_them} steps and {one}: what is ``block`` used for?",
    )


@edges("scores of 1e3, and one position")
def large_scores(my, rng):
    Q, V = np.array([[1e3], [-1e3]]), np.array([[1.0], [2.0]])
    # exp of the scores of the second query, about -743, has one digit or two
    near, K = np.array([[27.2], [-27.2]]), np.array([[27.3], [27.4]])
    found = my.attention_in_blocks(near, K, V, 1)
    my.equal(found, attend(near, K, V), ("T", "d_v"))
    my.equal(my.attention_in_blocks(Q, Q, V, 1), V, ("T", "d_v"))
    # less the largest of both rows, exp of the second has one digit or two
    half = near / 2
    found = my.attention_in_blocks(half, K, V, 2)
    my.equal(found, attend(half, K, V), ("T", "d_v"))
    one = np.array([[3.0]])
    my.equal(my.attention_in_blocks(one, one, one, 5), one, ("T", "d_v"))
    my.equal(my.longest(0, "float32"), 0)


@edges("long sequences, in your own words")
def your_own_words(my, rng):
    self_assessed(
        my,
        my.explanation(),
        "4 GiB for each head, each layer and each example, at 32768 positions in "
        "float32; times the heads, and kept for the backward",
        "twice T, four times the memory: parameters stay, states only double",
        "exact ways: blocks of scores that are never stored together (FlashAttention)",
        "other ways change the function: windows, sparse patterns, linear attention; "
        "and the work of the exact way stays quadratic",
    )


def wrong_bytes(T, d_model, heads, dtype):
    """Return wrong numbers of bytes: (tag, what, number)."""
    size = BYTES[dtype]
    one, right = T * T * size, heads * T * T * size
    sizes = {"T": T, "d_model": d_model, "heads": heads, "itemsize": size}
    return [
        ("times-width", "the number times d_model / heads", right * d_model // heads),
        ("times-width", "that with d_model / heads for heads", one * d_model // heads),
        ("states", "T * d_model * itemsize", T * d_model * size),
        ("states", "T * d_model * itemsize * heads", T * d_model * size * heads),
        ("heads-divide", "the number of one head / heads", one // heads),
        ("heads-divide", "that, rounded down", T * T // heads * size),
        ("bits", "the number of bits", 8 * right),
        *(("unit", f"the number of {name}", right // n) for name, n in UNITS.items()),
        ("ignores-dtype", "the number for float32", heads * T * T * 4),
        ("ignores-dtype", "the number for float64", heads * T * T * 8),
        ("triangle", "that of T (T + 1) / 2 scores", heads * T * (T + 1) // 2 * size),
        ("triangle", "half of the number", right // 2),
        ("triangle", "that of T (T - 1) scores", heads * T * (T - 1) * size),
        *miscounts(sizes, {"the scores": "heads T T itemsize"},
                   {"the values": T * d_model * size}),
    ]  # fmt: skip


FIT, SCALE = "memory // np.dtype(dtype).itemsize", "math.sqrt(Q.shape[1])"
E, EXP = "Q[rows] @ K.T", "np.exp(e - e.max(-1, keepdims=True))"
SUM = "z @ V / z.sum(-1, keepdims=True)"
SOFTMAX = f"{EXP}\n        out[rows] = {SUM}"
SIZE = "A float64 takes twice as much as a float32."
NEXT = "T fits, and T + 1 does not."
A_KEY = "A score is the product of a query and a key."
OWN_KEYS = "Only the queries are divided into blocks. Which keys does a query need?"
RANGE = (
    "exp(1e3) is larger than any float64. Which change of the scores leaves the "
    "softmax as it is?"
)
OWN_LARGEST = (
    "Each query has its own largest score. What is exp of a row that is 1000 below "
    "another row of its block?"
)

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("root-first", "the root of memory, divided by the itemsize",
     "How many scores fit into memory? Their root is T.", f"math.isqrt({FIT})",
     "math.isqrt(memory) // np.dtype(dtype).itemsize"),
    ("ignores-dtype", "the root of memory", SIZE, FIT, "memory"),
    ("ignores-dtype", "the answer for float32", SIZE, FIT, "memory // 4"),
    ("ignores-dtype", "the answer for float64", SIZE, FIT, "memory // 8"),
    ("no-root", "the number of scores that fit",
     "If n scores fit into memory, how many positions is that?", f"math.isqrt({FIT})",
     FIT),
    ("multiplied", "the root of memory * itemsize",
     "Is the number of scores that fit larger or smaller than memory?", FIT,
     "memory * np.dtype(dtype).itemsize"),
    ("off-by-one", "the answer - 1", NEXT, "math.isq", "-1 + math.isq"),
    ("off-by-one", "the answer + 1", NEXT, "math.isq", "1 + math.isq"),
    ("scaled-by-block", "attention with scores / sqrt(block)",
     "The scores do not depend on the size of a block.", SCALE, "math.sqrt(block)"),
    ("queries-as-keys", "attention with scores q_i . q_j", A_KEY, E, "Q[rows] @ Q.T"),
    ("queries-as-keys", "attention with scores k_i . k_j", A_KEY, E, "K[rows] @ K.T"),
    ("causal", "attention to the keys j <= i only",
     "The exercise has no mask: every query sees all keys.", EXP,
     f"np.tri(len(Q), len(K))[rows] * {EXP}"),
    ("within-block", "attention to the keys of the same block only", OWN_KEYS, EXP,
     f"(np.arange(len(K)) // block == start // block) * {EXP}"),
    *(
        ("wrong-axis",
         "attention with weights that sum to 1 over the queries of a block",
         "The weights of one query sum to 1 over all keys.", SOFTMAX,
         f"{exp}\n        out[rows] = z / z.sum(0) @ V")
        for exp in ("np.exp(e)", EXP)
    ),
    *(
        ("sum-over-everything",
         "attention with weights that sum to 1 over a whole block",
         "", SOFTMAX, f"{exp}\n        out[rows] = z @ V / z.sum()")
        for exp in ("np.exp(e)", EXP)
    ),
    ("overflow", "exp(e) V / sum exp(e)", RANGE, EXP, "np.exp(e)"),
    ("whole-maximum", "exp(e - the largest of a block), divided by its sum",
     OWN_LARGEST, EXP, "np.exp(e - e.max())"),
]  # fmt: skip

HINTS = {
    "attn_bytes": [
        "Write down the scores of T = 3 positions and two heads. How many are there?",
    ],
    "longest": ["Find T for 100 bytes and scores of 4 bytes by hand, then for 99."],
    "attention_in_blocks": [
        "A block has some of the queries and all of the keys; its softmax is over the "
        "keys.",
    ],
    "": [
        "A score is one number, the result of a dot product over the width. How many "
        "pairs of positions are there, and how many heads?",
        "np.dtype(dtype).itemsize is the number of bytes of one number. For longest, "
        "solve T * T * itemsize <= memory in whole numbers; math.isqrt rounds down.",
        "Loop over range(0, T, block) and slice the queries. Each slice has its own "
        "scores, its own softmax over the keys and its own rows of the output.",
    ],
    "triangle": ["Which of the T^2 scores are computed? Is there a mask?"],
    "times-width": ["How many numbers is one score?"],
    "states": ["Those are the bytes of the states, not of their scores."],
    "heads-divide": [
        "The heads divide the width among them. Do they divide the scores as well?",
    ],
    "unit": ["Return bytes, without a factor of 10^6 or 2^20."],
    "bits": ["itemsize counts bytes already."],
    "early-return": ["Where does ``return`` stand: inside the loop, or after it?"],
    "first-block": ["Which queries does the first turn of your loop compute?"],
    "ignores-block": ["Slice ``block`` queries at a time; a product has no loop."],
    "rounding": ["Squares of large numbers are exact as int, but not as float."],
    "unscaled": ["The scores are divided by the square root of the width."],
    "last-block": [
        "If seven queries come in blocks of three, which block contains the last one?",
    ],
    "peak": ["Which array in your loop, or before it, is as large as (T, T)?"],
}
