"""What depends on j - i alone: one value for each offset, L + S - 1 of them.

The offsets of L queries and S keys run from -(L - 1), the last query and the first key,
to S - 1, the first query and the last key. A bias b_ij = v(j - i) is kept as the row

    v = [v(-(L - 1)), ..., v(0), ..., v(S - 1)],    so that  b_ij = v[j - i + L - 1],

which a tiled kernel reads as it goes; ``toeplitz`` lays it out as a matrix.
"""

import numpy as np

from minigrad import differentiable

ALIGNMENTS = ("upper_left", "lower_right")


@differentiable
def toeplitz(v, L, S):
    """The matrices whose entries depend on j - i alone: b_ij = v_{j - i + L - 1}.

    v (..., L + S - 1)  ->  b (..., L, S): row i is S values of v, from L - 1 - i on

    dL/dv_o is the sum of g over the diagonal j - i = o - (L - 1): each row of g is
    added where it was taken.
    Raises ValueError when v has not L + S - 1 values.
    """
    v = np.asarray(v)
    if v.ndim < 1 or v.shape[-1] != max(L + S - 1, 0):
        raise ValueError(
            f"toeplitz: v has shape {v.shape}; expected (..., {max(L + S - 1, 0)}), "
            f"one value for each offset of {L} queries and {S} keys."
        )
    b = np.empty((*v.shape[:-1], L, S), v.dtype)
    for i in range(L):
        b[..., i, :] = v[..., L - 1 - i : L - 1 - i + S]

    def backward(g):
        dv = np.zeros(v.shape, g.dtype)
        for i in range(L):  # summed over i: an offset stands in one row after the other
            dv[..., L - 1 - i : L - 1 - i + S] += g[..., i, :]
        return dv

    return b, backward


def offsets(name, L, S, causal_align):
    """j - i for each offset, in order: (L + S - 1,) integers.

    causal_align   which query stands where key 0 does: "upper_left", the first; or
                   "lower_right", where the *last* query stands beside the last key, as
                   when keys of earlier steps are cached. Then query i is at i + S - L.
    """
    return np.arange(-(L - 1), S) - _shift(name, L, S, causal_align)


def relative_positions(name, L, S, causal_align):
    """j - i for each query and key: (L, S) integers."""
    shift = _shift(name, L, S, causal_align)
    return np.arange(S) - (np.arange(L)[:, None] + shift)


def _shift(name, L, S, causal_align):
    """The position of query 0, where key 0 is at 0."""
    for letter, n in ("L", L), ("S", S):
        if not isinstance(n, (int, np.integer)) or n < 0:
            raise ValueError(
                f"{name}: {letter} is {n!r}; expected a number of "
                f"{'queries' if letter == 'L' else 'keys'}, an integer of 0 or more."
            )
    if causal_align not in ALIGNMENTS:
        raise ValueError(
            f"{name}: causal_align is {causal_align!r}; expected "
            f"{' or '.join(map(repr, ALIGNMENTS))}."
        )
    return 0 if causal_align == "upper_left" else S - L
