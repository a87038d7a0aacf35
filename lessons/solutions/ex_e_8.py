"""E.8  The online softmax  ●●○○  35 min  needs E.7

Attention over the keys a block at a time: what a row needs to remember is the largest
score so far, the sum of exponentials relative to it, and the sum of values so weighted.

    m = max_j s_j        z = sum_j exp(s_j - m)        u = sum_j exp(s_j - m) v_j

When a larger score turns up, what was summed is relative to the wrong number and has to
be rescaled. In the end o = u / z and lse = m + ln z. No matrix of all weights is ever
there. Scores of -inf are masked keys; a row without any key has o = 0 and lse = -inf.
"""

import numpy as np


def online_attention(s, V, block):
    """o (L, Ev) and lse (L,) for the scores s (L, S) and the values V (S, Ev)."""
    L, S = s.shape
    m, z, u = np.full(L, -np.inf), np.zeros(L), np.zeros((L, V.shape[1]))
    for j in range(0, S, block):
        m, z, u = update(m, z, u, s[:, j : j + block], V[j : j + block])
    return finish(m, z, u)


def update(m, z, u, s, V):
    """m, z, u after one more block of keys.

    m (L,), z (L,), u (L, Ev) of the keys before; s (L, n), V (n, Ev) of the new ones
    """
    # BEGIN SOLUTION
    top = np.maximum(m, s.max(1))
    base = np.where(top == -np.inf, 0.0, top)  # no key yet: any number will do
    shrink = np.exp(m - base)  # 0 for the first keys of a row
    p = np.exp(s - base[:, None])  # (L, n)
    z = shrink * z + p.sum(1)
    u = shrink[:, None] * u + p @ V
    return top, z, u
    # END SOLUTION


def finish(m, z, u):
    """o (L, Ev) and lse (L,) when all keys have been seen."""
    # BEGIN SOLUTION
    o = u / np.where(z == 0, 1.0, z)[:, None]
    return o, m + np.log(z)  # -inf where z is 0
    # END SOLUTION


def merge(o1, lse1, o2, lse2):
    """o (L, Ev) and lse (L,) over two sets of keys, from those over each.

    o1, o2 (L, Ev), lse1, lse2 (L,); the sets have no key in common. So a sequence can
    be split between machines.
    """
    # BEGIN SOLUTION
    high = np.maximum(lse1, lse2)
    base = np.where(high == -np.inf, 0.0, high)
    w1, w2 = np.exp(lse1 - base), np.exp(lse2 - base)
    both = w1 + w2
    share = np.where(both == 0, 1.0, both)
    o = (w1 / share)[:, None] * o1 + (w2 / share)[:, None] * o2
    return o, base + np.log(both)
    # END SOLUTION


# FOR THE CHECK

HINTS = {
    "": [
        "exp(s - m') = exp(s - m) exp(m - m'): to change what a sum is relative to, "
        "multiply it by one number for each row.",
        "With m' the larger of m and the block's largest score, both z and u are "
        "multiplied by exp(m - m'), then the block's own sums are added. In a row "
        "without any key m' is -inf, and differences of infinities are NaN: subtract "
        "another number there.",
        "z' = exp(m - m') z + sum_j exp(s_j - m'), u' likewise, with exp(s - m') @ V. "
        "For merge, exp(lse) is the sum of all exponentials of a set, so the sets "
        "weigh exp(lse1) and exp(lse2), each divided by their sum; subtract the larger "
        "lse first.",
    ],
    "not-rescaled": [
        "After the block the sums are relative to m'. What were the old sums relative "
        "to?"
    ],
    "rescaled-upwards": [
        "The old sums are relative to m. If m' is larger, do they grow or shrink?"
    ],
    "block-maximum": [
        "m is the largest score of all keys so far, not of the last block alone."
    ],
    "maximum-kept": ["Is the largest score of the block larger than m?"],
    "not-relative": ["The sums are relative to m': exp(s - m'), not exp(s)."],
    "not-divided": ["u is a sum, not yet an average."],
    "equal-shares": [
        "A set of one key and a set of a thousand do not weigh the same. Which number "
        "says how much a set weighs?"
    ],
    "lse-shares": ["lse is a logarithm; what is it the logarithm of?"],
    "overflow": ["exp(lse) may be more than a float64 holds; a ratio of two is not."],
    "lse": ["lse = ln sum_j exp(s_j); z is that sum, divided by exp(m)."],
}

MUTANTS = [
    ("return top, z, u", "return m, z, u", "maximum-kept"),
    ("shrink = np.exp(m - base)", "shrink = np.ones(len(m))", "not-rescaled"),
    ("u = shrink[:, None] * u + p @ V", "u = u + p @ V", "not-rescaled"),
    ("shrink = np.exp(m - base)", "shrink = np.exp(base - m)", "rescaled-upwards"),
    ("top = np.maximum(m, s.max(1))", "top = s.max(1)", "block-maximum"),
    ("base = np.where(top == -np.inf, 0.0, top)", "base = top", "nan"),
    ("o = u / np.where(z == 0, 1.0, z)[:, None]", "o = u / z[:, None]", "nan"),
    ("o = u / np.where(z == 0, 1.0, z)[:, None]", "o = u", "not-divided"),
    ("m + np.log(z)", "np.log(z)", "lse"),
    (
        "w1, w2 = np.exp(lse1 - base), np.exp(lse2 - base)",
        "w1 = w2 = np.full(len(lse1), 0.5)",
        "equal-shares",
    ),
    (
        "w1, w2 = np.exp(lse1 - base), np.exp(lse2 - base)",
        "base = 0.0 * base; w1, w2 = np.exp(lse1), np.exp(lse2)",
        "overflow",
    ),
    ("base = np.where(high == -np.inf, 0.0, high)", "base = high", "nan"),
]
