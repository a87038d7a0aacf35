"""Masks by kind of token: padding, prefixes, documents, global tokens.

    padding j < len_b;   prefix_lm j < prefix_b or j <= i;   document d_i = d_j;
    global_tokens: i or j is a global token         query i, key j, example b

padding excludes keys that are not tokens; a prefix is known in advance; documents are
separate texts in one row; global tokens exchange information with all others. Each mask
stores O(L + S) numbers, never an array (L, S). g global tokens add at most g (L + S)
pairs.

Raffel et al. 2020, section 3.2.1 (prefixes); Krell et al. 2021 (documents); Beltagy et
al. 2020, section 3.1 (global tokens).
"""

import numpy as np

from minigrad.arguments import between, plain, verb
from minigrad.shapes import shapes

from ..variants.row import Pattern
from .algebra import Mask, clip_ranges
from .windows import sliding_window, window_ends


class padding(Mask):
    """Only the first keys of each example: key < lengths.

    lengths      (B,): one length for each example; (B, L): for each of its queries
    """

    @shapes
    def __init__(self, lengths):
        """lengths (B,) or (B, L) int  ->  a mask of B examples"""
        self.lengths = lengths.copy()
        self.examples = len(self.lengths)

    def check(self, L, S):
        """Raise ValueError unless the lengths fit L and S."""
        between("padding", "lengths", self.lengths, 0, S, "the number of keys")
        if self.lengths.ndim == 2 and self.lengths.shape[1] != L:
            raise ValueError(
                f"padding: lengths has shape {self.lengths.shape}; expected one "
                f"length for each of {L} queries."
            )

    def allowed(self, b, h, q, kv):
        """Return key < lengths."""
        lens = self.lengths
        return kv < (lens[b] if lens.ndim == 1 else lens[b, q])

    def key_ranges(self, L, S):
        """Return the ranges from 0 to lengths."""
        lens = self.lengths
        hi = lens[:, None, None] if lens.ndim == 1 else lens[:, None]  # (B, 1, 1 | L)
        return clip_ranges(np.zeros_like(hi), hi, S)

    def __repr__(self):
        return f"padding({_abbreviated(self.lengths)})"


class prefix_lm(Mask):
    """The first n keys for every query, and the keys up to the query's position.

        key < n  or  key <= query

    n   a whole number, or (B,), one for each example

    Raffel et al. 2020, figure 3, "causal with prefix".
    """

    @shapes
    def __init__(self, n):
        """n () or (B,) int  ->  a mask"""
        self.n = n.copy()
        self.examples = len(self.n) if self.n.ndim else None

    def check(self, L, S):
        """Raise ValueError unless the prefixes fit S keys."""
        between("prefix_lm", "n", self.n, 0, S, "the number of keys")

    def allowed(self, b, h, q, kv):
        """Return key < n or key <= query."""
        n = self.n[b] if self.n.ndim else self.n
        return (kv < n) | (kv <= q)

    def key_ranges(self, L, S):
        """Return the ranges from 0 to the larger of n and query + 1."""
        hi = np.maximum(self.n.reshape(-1, 1, 1), np.arange(L) + 1)  # (B | 1, 1, L)
        return clip_ranges(np.zeros_like(hi), hi, S)

    def __repr__(self):
        return f"prefix_lm({_abbreviated(self.n)})"


class document(Mask):
    """The keys of the query's document, if one row holds several documents.

        query_ids[query] == ids[key]

    ids         (S,), or (B, S) if examples differ: the document of each key
    query_ids   (L,) or (B, L): the document of each query; None: the ids of the keys

    Krell et al. 2021, packing without cross-contamination.
    """

    @shapes
    def __init__(self, ids, query_ids=None):
        """ids (S,) or (B, S) int, query_ids? (L,) or (B, L) int  ->  a mask"""
        self.ids = self.query_ids = ids.copy()
        if query_ids is not None:
            self.query_ids = query_ids.copy()
        if self.ids.ndim != self.query_ids.ndim:
            raise ValueError(
                f"document: query_ids has shape {query_ids.shape} and ids {ids.shape}; "
                "expected both with an axis of examples, or both without."
            )
        if self.ids.ndim == 2:
            self.examples = len(self.ids)

    def check(self, L, S):
        """Raise ValueError unless there are L and S ids."""
        m, n = self.query_ids.shape[-1], self.ids.shape[-1]
        if (m, n) != (L, S):
            raise ValueError(
                f"document: made for {m} queries and {n} keys; found {L} queries and "
                f"{S} keys. If the two differ, give ids for the keys and query_ids."
            )

    def allowed(self, b, h, q, kv):
        """Return query_ids[query] == ids[key]."""
        if self.ids.ndim == 1:
            return self.query_ids[q] == self.ids[kv]
        return self.query_ids[b, q] == self.ids[b, kv]

    def __repr__(self):
        if self.query_ids is self.ids:
            return f"document({_abbreviated(self.ids)})"
        return f"document({_abbreviated(self.ids)}, {_abbreviated(self.query_ids)})"


class global_tokens(Mask):
    """The pairs of a global token: it attends to all, and all attend to it.

        query in idx  or  key in idx

    idx   positions, counted from 0, which stand for queries and for keys. Longformer's
          pattern is sliding_window(w, w) | global_tokens(idx)

    Beltagy et al. 2020, section 3.1, here with one projection for all tokens.
    """

    def __init__(self, idx):
        self.idx = positions("global_tokens", "idx", idx)
        if (self.idx < 0).any():
            raise ValueError(
                f"global_tokens: idx holds {self.idx.min()}; expected positions, "
                "counted from 0."
            )
        # the last entry, False, is for all later positions
        self._marked = np.zeros(self.idx.max(initial=-1) + 2, bool)
        self._marked[self.idx] = True

    def check(self, L, S):
        """Raise ValueError for a position beyond L and S."""
        most = max(L, S) - 1
        between("global_tokens", "idx", self.idx, 0, most, "positions of tokens")

    def allowed(self, b, h, q, kv):
        """Return whether the query or the key is a global token."""
        return self._is_global(q) | self._is_global(kv)

    def rows(self, b, h, q, L, S):
        """Return the global keys for each query, and all keys for a global query."""
        allowed = np.repeat(self._is_global(np.arange(S))[None], len(q), 0)
        allowed[self._is_global(q)] = True
        return allowed

    def _is_global(self, position):
        return self._marked[np.minimum(position, len(self._marked) - 1)]

    def __repr__(self):
        return f"global_tokens({_abbreviated(self.idx)})"


def positions(name, argument, values):
    """Return a copy of ``values`` as an int array (n,) of positions.

    Raises TypeError for other numbers, ValueError for another shape, and for three
    or more numbers that are all 0 or 1.
    """
    x = plain(values)
    if x.dtype.kind not in "iu" and x.size:
        raise TypeError(
            f"{name}: {argument} {verb('is', argument)} {x.dtype}; expected integers."
        )
    if x.ndim != 1:
        raise ValueError(
            f"{name}: {argument} {verb('has', argument)} shape {x.shape}; expected "
            "(n,)."
        )
    if len(x) > 2 and x.min() >= 0 and x.max() <= 1:
        raise ValueError(
            f"{name}: {argument} holds {len(x)} numbers, all of them 0 or 1; "
            "expected positions. For marks, where 1 is global, write "
            "np.flatnonzero(marks)."
        )
    return x.astype(np.intp)


def _abbreviated(x):
    return f"{x.tolist()}" if x.ndim < 2 and x.size <= 8 else f"array {x.shape}"


def _longformer(left, right, tokens):
    return sliding_window(left, right) | global_tokens(tokens)


def longformer_pairs(L, S, left, right, tokens):
    """Count the pairs of a window, and those with a global query or key."""
    tokens = np.unique(np.asarray(tokens, int))
    low, high = window_ends(np.arange(L), S, left, right)
    keys = tokens[tokens < S]
    inside = np.searchsorted(keys, high) - np.searchsorted(keys, low)
    kept = high - low + len(keys) - inside
    kept[tokens[tokens < L]] = S  # a global query attends to every key
    return int(kept.sum())


ROWS = [
    Pattern(
        "longformer", _longformer,
        pairs=longformer_pairs,
        options=dict(left=128, right=128, tokens=(0,)),
        small=dict(left=1, right=1, tokens=(0,)),
        about="""mask: a window, and some tokens that read all and are read by all
        can connect any two tokens in two layers
        cannot move more over a distance than the global tokens hold
        lesson 12: lookup by distance; Beltagy et al. 2020""",
    ),
]  # fmt: skip
