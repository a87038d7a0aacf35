"""Masks as functions of (example, head, query, key), and how & | ~ combine them.

    (m & n)(b, h, q, kv) = m(b, h, q, kv) and n(b, h, q, kv)

| means "or" and ~ means "not" in the same way.

Query i of a window, and of a causal or padding mask, may attend to one range of keys,
lo[i] <= key < hi[i]. So O(L) numbers for L queries say what the mask allows, and the
ranges of m & n follow from those of m and n. Other masks are evaluated, some queries at
a time.
"""

import operator

import numpy as np

from minigrad.arguments import broadcastable, called, whole
from minigrad.draw.html import grid

from ..inheritance import withdraw_stale

INDICES = "(b, h, q_idx, kv_idx)"
UNSIZED = "{}: depends on L and S, which a call does not give. Use .dense(B, H, L, S)."


class Mask:
    """A function of index arrays, mask(b, h, q_idx, kv_idx) -> bool, True = may attend.

    Your own mask is ``mask_mod(function)``, or a subclass with

        allowed(b, h, q, kv)     the definition, on int arrays that broadcast: whether
                                 query q may attend to key kv

    and, if you like,

        key_ranges(L, S)         the range of keys of each query, or None
        check(L, S)              raises ValueError if L or S does not fit the mask

    A subclass of another mask that overrides ``allowed`` does not inherit its ranges
    and its repr.
    """

    examples = heads = None  # the B and H that the mask was made for; None: any
    __array_ufunc__ = None  # array & mask calls __rand__, whose error names from_array

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        withdraw_stale(cls, Mask, ["allowed"], ["key_ranges", "rows", "__repr__"])

    def __call__(self, b, h, q_idx, kv_idx):
        """Return whether query q_idx may attend to key kv_idx, in head h of example b.

        The four are whole numbers, or int arrays that broadcast; the result is a bool
        array.
        """
        indices = []
        for name, x in zip(("b", "h", "q_idx", "kv_idx"), (b, h, q_idx, kv_idx)):
            x = np.asarray(x)
            if x.dtype.kind not in "iu":
                raise TypeError(
                    f"{self}: {name} is {x.dtype}; expected whole numbers, positions "
                    "counted from 0."
                )
            indices.append(x.astype(np.intp))
        return self.allowed(*indices)

    def dense(self, B, H, L, S):
        """Return the mask as a bool array (B | 1, H | 1, L, S).

        The axes B and H are 1 if the mask does not depend on them. B or H may be None
        in this case, and if the mask knows the number, as padding does. Memory: a byte
        for each pair.
        """
        L, S = whole("dense", "L", L), whole("dense", "S", S)
        self.check(L, S)
        q = np.arange(L)
        return self.strip(*self.numbers(B, H), q, L, S).copy()

    def strip(self, B, H, q, L, S):
        """Return which keys the queries q (n,) may attend to: (B | 1, H | 1, n, S).

        B, H   the numbers of examples and heads, or None: not known
        """
        b, h = (np.arange(2 if n is None else n) for n in (B, H))
        allowed = self.rows(b.reshape(-1, 1, 1, 1), h.reshape(-1, 1, 1), q, L, S)
        shape = (1, 1, 1, 1, *allowed.shape)[-4:]
        for what, n, size in (("examples", B, shape[0]), ("heads", H, shape[1])):
            if n is None and size == 2:
                raise ValueError(
                    f"{self}: differs between {what}; expected their number."
                )
        return np.broadcast_to(allowed, (*shape[:2], len(q), S))

    def rows(self, b, h, q, L, S):
        """Return which keys the queries q (n,) may attend to, of L and S in all.

        b (B, 1, 1, 1), h (H, 1, 1)  ->  bool, broadcasts to (B, H, n, S)
        """
        ranges = self.key_ranges(L, S)
        if ranges is None:
            return self.allowed(b, h, q[:, None], np.arange(S))
        lo, hi = (
            np.broadcast_to(x, (*x.shape[:2], L))[..., q, None].astype(np.int32)
            for x in ranges
        )
        kv = np.arange(S, dtype=np.int32)
        return (lo <= kv) & (kv < hi)

    def numbers(self, B, H):
        """Return B and H if the mask fits them. For None, return its own, or None."""
        return self._number("examples", "B", B), self._number("heads", "H", H)

    def allowed(self, b, h, q, kv):
        """Return whether the pairs may attend: a bool array, for int arrays."""
        raise NotImplementedError(f"{type(self).__name__}: no method allowed.")

    def check(self, L, S):
        """Raise ValueError if the mask was made for other numbers than L and S."""

    def key_ranges(self, L, S):
        """Return lo and hi, int arrays that broadcast to (B | 1, H | 1, L).

        Query i may attend to the keys lo[i] <= key < hi[i] and to no others; a query
        without keys has 0, 0. None: the keys of a query may have gaps.
        """
        return None

    def __repr__(self):
        return type(self).__name__

    def _repr_html_(self):
        """Return what a notebook shows: the pairs of the first example and head."""
        for n in (12, 48, *range(1, 129)):  # queries and keys, of a size that fits
            try:
                allowed = self.dense(self.examples or 1, self.heads or 1, n, n)
                return grid(allowed[0, 0], str(self))
            except Exception:  # the mask needs other numbers, or your function is wrong
                continue
        return None  # the text of repr is shown

    def __and__(self, other):
        return _Pair("&", self, as_mask(other))

    def __rand__(self, other):
        return _Pair("&", as_mask(other), self)

    def __or__(self, other):
        return _Pair("|", self, as_mask(other))

    def __ror__(self, other):
        return _Pair("|", as_mask(other), self)

    def __invert__(self):
        return _Not(self)

    def __bool__(self):
        raise TypeError(
            f"{self}: a mask is neither true nor false. Combine masks by &, | and ~ "
            "instead of `and`, `or` and `not`."
        )

    def _number(self, what, letter, n):
        """Return the number of examples or heads; None if it is not known."""
        own = getattr(self, what)
        if n is None:
            return own
        n = whole(f"{self}", letter, n)
        if own not in (None, n):
            raise ValueError(f"{self}: made for {own} {what}; found {letter} = {n}.")
        return n


class mask_mod(Mask):
    """A mask from your own function(b, h, q_idx, kv_idx), which returns bool.

    It is called on whole arrays that broadcast against one another, so write it with
    comparisons, arithmetic, indexing and & | ~, without `and`, `or`, `not`, `if`. It
    must return the same for the same indices: a BlockMask calls it for partial tiles.
    """

    def __init__(self, function):
        if not callable(function):
            raise TypeError(
                f"mask_mod: found {type(function).__name__}; expected a function of "
                "(b, h, q_idx, kv_idx). A bool array is from_array(array)."
            )
        self.function = function

    def allowed(self, b, h, q, kv):
        """Call the function; raise an error unless it returns bools that fit."""
        try:
            name = f"{self}: the function"
            allowed = called(name, INDICES, self.function, b, h, q, kv)
            allowed = np.asarray(allowed)
        except ValueError as error:
            if "truth value" not in str(error):
                raise
            raise ValueError(
                f"{self}: the function uses an array as a condition. It is called on "
                "arrays: write &, |, ~ for `and`, `or`, `not`, and np.where for `if`."
            ) from error
        if allowed.dtype != bool:
            raise TypeError(
                f"{self}: the function returns {allowed.dtype}; expected bool, True = "
                "may attend."
            )
        shape = np.broadcast_shapes(b.shape, h.shape, q.shape, kv.shape)
        broadcastable(f"{self}", "the result of the function", allowed.shape, shape)
        return allowed

    def __repr__(self):
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"mask_mod({name})"


class _Constant(Mask):
    """True for all pairs, or False for all."""

    def __init__(self, value):
        self.value = value

    def allowed(self, b, h, q, kv):
        return np.array(self.value)

    def key_ranges(self, L, S):
        return np.zeros((1, 1, 1), int), np.full((1, 1, 1), S if self.value else 0)

    def __repr__(self):
        return "everything" if self.value else "nothing"


everything, nothing = _Constant(True), _Constant(False)


class _Not(Mask):
    """The pairs that another mask excludes."""

    def __init__(self, mask):
        self.mask, self.examples, self.heads = mask, mask.examples, mask.heads

    def allowed(self, b, h, q, kv):
        return ~self.mask.allowed(b, h, q, kv)

    def rows(self, *where):
        return ~self.mask.rows(*where)

    def check(self, L, S):
        self.mask.check(L, S)

    def __invert__(self):
        return self.mask

    def __repr__(self):
        return f"~({self.mask})" if isinstance(self.mask, _Pair) else f"~{self.mask}"


class _Pair(Mask):
    """Two masks combined by an operator."""

    VALUES = {"&": operator.and_, "|": operator.or_}

    def __init__(self, symbol, left, right):
        self.symbol, self.left, self.right = symbol, left, right
        for what, letter in (("examples", "B"), ("heads", "H")):
            m, n = getattr(left, what), getattr(right, what)
            if None not in (m, n) and m != n:
                raise ValueError(
                    f"{self}: the left side has {letter} = {m} {what}, the right side "
                    f"{n}; expected the same."
                )
            setattr(self, what, n if m is None else m)

    def allowed(self, b, h, q, kv):
        sides = (x.allowed(b, h, q, kv) for x in (self.left, self.right))
        return self.VALUES[self.symbol](*sides)

    def rows(self, *where):
        sides = (x.rows(*where) for x in (self.left, self.right))
        return self.VALUES[self.symbol](*sides)

    def check(self, L, S):
        self.left.check(L, S)
        self.right.check(L, S)

    def key_ranges(self, L, S):
        if self.symbol == "|":
            return None
        a, b = (x.key_ranges(L, S) for x in (self.left, self.right))
        if a is None or b is None:
            return None
        return clip_ranges(np.maximum(a[0], b[0]), np.minimum(a[1], b[1]), S)

    def __repr__(self):
        def side(x):  # parentheses where & and | would mix
            mixed = isinstance(x, _Pair) and x.symbol != self.symbol
            return f"({x})" if mixed else f"{x}"

        return f"{side(self.left)} {self.symbol} {side(self.right)}"


def as_mask(other):
    """Return a mask as it is, and a function as ``mask_mod`` of it."""
    if isinstance(other, Mask):
        return other
    if callable(other):
        return mask_mod(other)
    raise TypeError(
        f"&, |: found {type(other).__name__}; expected a mask, or a "
        "function of (b, h, q_idx, kv_idx). A bool array is from_array(array)."
    )


def clip_ranges(lo, hi, S):
    """Return the part of the ranges that lies within the S keys."""
    lo, hi = np.clip(lo, 0, S), np.clip(hi, 0, S)
    some = lo < hi
    return np.where(some, lo, 0), np.where(some, hi, 0)
