"""Masks as functions of (example, head, query, key), and how & | ~ combine them.

    (m & n)(b, h, q, kv) = m(b, h, q, kv) and n(b, h, q, kv)

| means "or" and ~ means "not" in the same way. The three operators also combine the
key ranges of masks and the kinds of their tiles. So if the tiles of two masks are
known, those of the combined mask follow without evaluating every pair.
"""

import operator

import numpy as np

from minigrad.arguments import broadcastable, called, whole

from ..inheritance import depth, withdraw_stale
from . import ranges, tiling

INDICES = "(b, h, q_idx, kv_idx)"
UNSIZED = (
    "{}: depends on L and S, which a call does not give. Use .dense or "
    "BlockMask.from_mask, or call mask.sized(L, S)."
)


class Mask:
    """A function of index arrays, mask(b, h, q_idx, kv_idx) -> bool, True = may attend.

    Your own mask is ``mask_mod(function)``, or a subclass with

        allowed(b, h, q, kv)     the definition, on int arrays that broadcast

    and, where more is known without evaluating every pair,

        sized(L, S)              the mask for L queries and S keys, or an error if it
                                 was made for other numbers
        key_ranges(L, S)         the range of keys of each query (ranges.py), or None
        tile_kinds(tiles)        full, empty, partial or unknown (tiling.py)

    A subclass of another mask that overrides ``allowed`` does not inherit its ranges,
    its kinds and its repr. ``check_mask`` compares those that you write.
    """

    examples = heads = None  # the B and H that the mask was made for; None: any
    __array_ufunc__ = None  # array & mask calls __rand__, whose error names from_array

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        statements = "key_ranges", "tile_kinds", "kinds", "__repr__"
        withdraw_stale(cls, Mask, ["allowed"], statements)
        if depth(cls, "__call__") < depth(cls, "allowed"):
            raise TypeError(
                f"{cls.__name__} overrides __call__, which attention does not call; "
                "expected the definition of the mask in a method allowed(b, h, q, kv)."
            )

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
        mask = self.sized(whole("dense", "L", L), whole("dense", "S", S))
        B, H = mask.extent(B, H, L, S)
        b, h = np.arange(B).reshape(-1, 1, 1, 1), np.arange(H).reshape(-1, 1, 1)
        allowed = mask.allowed(b, h, np.arange(L)[:, None], np.arange(S))
        return np.array(np.broadcast_to(allowed, (B, H, L, S)))

    def extent(self, B, H, L, S):
        """Return (B | 1, H | 1): 1 where all examples, or heads, have the same mask.

        The mask is called once, with arrays b and h of length two, on their own axes.
        Only the shape of the result matters, not its values: if it has length one on
        such an axis, the mask does not depend on that index.
        """
        B, H = self._number("examples", "B", B), self._number("heads", "H", H)
        if 0 in (B, H):  # no index to call the mask with
            return (0, 1) if B == 0 else (1, 0)
        two = np.zeros(2, np.intp)
        q, kv = two[: min(L, 1), None], two[: min(S, 1)]
        allowed = self.allowed(two.reshape(2, 1, 1, 1), two.reshape(2, 1, 1), q, kv)
        shape = (1, 1, 1, 1, *allowed.shape)[-4:]
        for what, n, size in (("examples", B, shape[0]), ("heads", H, shape[1])):
            if n is None and size == 2:
                raise ValueError(
                    f"{self}: differs between {what}; expected their number."
                )
        return B if shape[0] == 2 else 1, H if shape[1] == 2 else 1

    def allowed(self, b, h, q, kv):
        """Return whether the pairs may attend: a bool array, for int arrays."""
        raise NotImplementedError(f"{type(self).__name__}: no method allowed.")

    def sized(self, L, S):
        """Return the mask for L queries and S keys; raise ValueError for others."""
        return self

    def key_ranges(self, L, S):
        """Return the ranges (lo, hi) of ranges.py; None if the keys are no ranges."""
        return None

    def tile_kinds(self, tiles):
        """Return the kinds of the tiles of a ``Tiling``: (B | 1, H | 1, nq, nk)."""
        return tiles.unknown()

    def kinds(self, tiles):
        """Return the kind of each tile: uint8 (B | 1, H | 1, nq, nk).

        It follows from the key ranges if there are any, otherwise from ``tile_kinds``.
        """
        ranges = self.key_ranges(tiles.L, tiles.S)
        return self.tile_kinds(tiles) if ranges is None else tiles.of_ranges(*ranges)

    def __repr__(self):
        return type(self).__name__

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

    def sized(self, L, S):
        return _Not(self.mask.sized(L, S))

    def key_ranges(self, L, S):
        return ranges.complement(self.mask.key_ranges(L, S), S)

    def tile_kinds(self, tiles):
        return tiling.complement(self.mask.kinds(tiles))

    def __invert__(self):
        return self.mask

    def __repr__(self):
        return f"~({self.mask})" if isinstance(self.mask, _Pair) else f"~{self.mask}"


class _Pair(Mask):
    """Two masks combined by an operator."""

    VALUES = {"&": operator.and_, "|": operator.or_}
    RANGES = {"&": ranges.intersection, "|": ranges.union}
    KINDS = {"&": tiling.intersection, "|": tiling.union}

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

    def sized(self, L, S):
        return _Pair(self.symbol, self.left.sized(L, S), self.right.sized(L, S))

    def key_ranges(self, L, S):
        sides = (x.key_ranges(L, S) for x in (self.left, self.right))
        return self.RANGES[self.symbol](*sides, S)

    def tile_kinds(self, tiles):
        sides = (x.kinds(tiles) for x in (self.left, self.right))
        return self.KINDS[self.symbol](*sides)

    def __repr__(self):
        def side(x):  # parentheses where & and | would mix
            mixed = isinstance(x, _Pair) and x.symbol != self.symbol
            return f"({x})" if mixed else f"{x}"

        return f"{side(self.left)} {self.symbol} {side(self.right)}"


def and_masks(*masks):
    """Return the mask of the pairs that all masks allow; without masks, ``everything``.

    masks   masks of this package, or functions (b, h, q_idx, kv_idx) -> bool

    The name is that of flex_attention (Dong et al. 2024, section 3).
    """
    return _combined(operator.and_, masks, everything)


def or_masks(*masks):
    """Return the mask of the pairs that any mask allows; without masks, ``nothing``."""
    return _combined(operator.or_, masks, nothing)


def _combined(operate, masks, neutral):
    """Combine masks in pairs, then the pairs in pairs: the depth is log2 n."""
    masks = [as_mask(mask) for mask in masks] or [neutral]
    while len(masks) > 1:
        pairs = [operate(*masks[i : i + 2]) for i in range(0, len(masks) - 1, 2)]
        masks = pairs + masks[2 * len(pairs) :]
    return masks[0]


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
