"""What a mask is, and how masks combine.

    (a & b)(b, h, i, j) = a and b        (a | b) = a or b        (~a) = not a

The same three operators act on the key ranges of the masks and on the kinds of their
tiles, so that what is known of the parts is known of the whole.
"""

import operator

import numpy as np

from ..checks import called, whole
from . import ranges, tiling

INDICES = "(b, h, q_idx, kv_idx)"
UNSIZED = (
    "{}: depends on L and S, which a call does not say. Use .dense or "
    "BlockMask.from_mask, or call mask.sized(L, S)."
)


class Mask:
    """A function of index arrays, mask(b, h, q_idx, kv_idx) -> bool, True = may attend.

    A mask of your own is ``mask_mod(function)``, or a subclass with

        allowed(b, h, q, kv)     the definition, on int arrays that broadcast

    and, where something is known without looking at every pair,

        sized(L, S)              the mask for L queries and S keys; raises if none
        key_ranges(L, S)         the one range of keys that each query has, or None
        tile_kinds(tiles)        full, empty, partial or unknown (tiling.py)
    """

    examples = heads = None  # how many it is made for; None: any number
    __array_ufunc__ = None  # so that array & mask comes to __rand__

    def __call__(self, b, h, q_idx, kv_idx):
        """Whether query q_idx may attend to key kv_idx, in head h of example b.

        Four whole numbers, or int arrays that broadcast  ->  bool array
        Raises TypeError for numbers that are not whole.
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
        """The mask as a bool array (B, H, L, S), from one call.

        The axes B and H are 1 where the mask does not depend on them; None leaves the
        number to a mask that knows it, as padding does. Memory: a byte for each pair.
        Raises ValueError where the mask is made for other sizes.
        """
        mask = self.sized(whole("dense", "L", L), whole("dense", "S", S))
        B, H = mask.extent(B, H, L, S)
        b, h = np.arange(B).reshape(-1, 1, 1, 1), np.arange(H).reshape(-1, 1, 1)
        allowed = mask.allowed(b, h, np.arange(L)[:, None], np.arange(S))
        return np.array(np.broadcast_to(allowed, (B, H, L, S)))

    def extent(self, B, H, L, S):
        """(B or 1, H or 1): how many examples and heads have a mask of their own.

        The mask is asked about two examples of the same number, and two heads: where it
        gives one answer for both, it does not look at which one it is.
        """
        B, H = self._number("examples", "B", B), self._number("heads", "H", H)
        if 0 in (B, H):  # nobody to ask about
            return (0, 1) if B == 0 else (1, 0)
        two = np.zeros(2, np.intp)
        q, kv = two[: min(L, 1), None], two[: min(S, 1)]
        answer = self.allowed(two.reshape(2, 1, 1, 1), two.reshape(2, 1, 1), q, kv)
        shape = (1, 1, 1, 1, *answer.shape)[-4:]
        for what, n, size in (("examples, B", B, shape[0]), ("heads, H", H, shape[1])):
            if n is None and size == 2:
                raise ValueError(
                    f"{self}: is not the same for all; expected the number of {what}."
                )
        return B if shape[0] == 2 else 1, H if shape[1] == 2 else 1

    def allowed(self, b, h, q, kv):
        raise NotImplementedError(f"{type(self).__name__}: no method allowed.")

    def sized(self, L, S):
        return self

    def key_ranges(self, L, S):
        return None

    def tile_kinds(self, tiles):
        return tiles.unknown()

    def kinds(self, tiles):
        """The kind of each tile, uint8 (B | 1, H | 1, nq, nk), from all that is known.

        tiles   the ``Tiling`` to look at
        """
        known = self.key_ranges(tiles.L, tiles.S)
        return self.tile_kinds(tiles) if known is None else tiles.of_ranges(*known)

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
            f"{self}: a mask is neither true nor false. Combine masks by &, | and ~; "
            "`and`, `or` and `not` would want one answer for all pairs."
        )

    def _number(self, what, letter, n):
        """How many examples or heads there are; None if nobody says."""
        own = getattr(self, what)
        if n is None:
            return own
        n = whole(f"{self}", letter, n)
        if own not in (None, n):
            raise ValueError(f"{self}: made for {own} {what}; found {letter} = {n}.")
        return n


class mask_mod(Mask):
    """A mask from a function(b, h, q_idx, kv_idx) of your own, which returns bool.

    It is called on whole arrays that broadcast against one another, so it is made of
    comparisons, arithmetic, indexing and & | ~, and not of `and`, `or`, `not`, `if`. It
    must go on giving the same answers: a BlockMask asks again for partial tiles.

    When called, it raises TypeError if the function takes other arguments or gives
    anything but bool, and ValueError if it asks for the truth of an array, or gives a
    shape that does not fit.
    """

    def __init__(self, function):
        if not callable(function):
            raise TypeError(
                f"mask_mod: found {type(function).__name__}; expected a function of "
                "(b, h, q_idx, kv_idx). A bool array is from_array(array)."
            )
        self.function = function

    def allowed(self, b, h, q, kv):
        try:
            name = f"{self}: the function"
            answer = called(name, INDICES, self.function, b, h, q, kv)
            answer = np.asarray(answer)
        except ValueError as error:
            if "truth value" not in str(error):
                raise
            raise ValueError(
                f"{self}: the function asks whether an array is true. It is called "
                "once, on arrays: write &, |, ~ for `and`, `or`, `not`, and np.where "
                "for `if`."
            ) from error
        if answer.dtype != bool:
            raise TypeError(
                f"{self}: the function gives {answer.dtype}; expected bool, True = may "
                "attend."
            )
        shape = np.broadcast_shapes(b.shape, h.shape, q.shape, kv.shape)
        sizes = zip(reversed(answer.shape), reversed(shape))
        if answer.ndim > len(shape) or any(m not in (1, n) for m, n in sizes):
            raise ValueError(
                f"{self}: the function gives shape {answer.shape}; expected one that "
                f"broadcasts to {shape}, as its arguments do."
            )
        return answer

    def __repr__(self):
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"mask_mod({name})"


class _Constant(Mask):
    """The same for all pairs."""

    def __init__(self, value):
        self.value = value

    def allowed(self, b, h, q, kv):
        return np.array(self.value)

    def key_ranges(self, L, S):
        return np.zeros((1, 1, 1), int), np.full((1, 1, 1), S * self.value)

    def __repr__(self):
        return "everything" if self.value else "nothing"


everything, nothing = _Constant(True), _Constant(False)


class _Not(Mask):
    """The pairs that another mask leaves out."""

    def __init__(self, mask):
        self.mask, self.examples, self.heads = mask, mask.examples, mask.heads

    def allowed(self, b, h, q, kv):
        return ~self.mask.allowed(b, h, q, kv)

    def sized(self, L, S):
        return _Not(self.mask.sized(L, S))

    def key_ranges(self, L, S):
        return ranges.complement(self.mask.key_ranges(L, S), S)

    def tile_kinds(self, tiles):
        return tiling.inverse(self.mask.kinds(tiles))

    def __invert__(self):
        return self.mask

    def __repr__(self):
        return f"~({self.mask})" if isinstance(self.mask, _Pair) else f"~{self.mask}"


class _Pair(Mask):
    """Two masks joined by an operator."""

    JOIN = {  # answers, key ranges, kinds of tiles
        "&": (operator.and_, ranges.intersection, tiling.both),
        "|": (operator.or_, ranges.union, tiling.either),
    }

    def __init__(self, symbol, left, right):
        self.symbol, self.left, self.right = symbol, left, right
        self._join, self._join_ranges, self._join_kinds = self.JOIN[symbol]
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
        return self._join(*sides)

    def sized(self, L, S):
        return _Pair(self.symbol, self.left.sized(L, S), self.right.sized(L, S))

    def key_ranges(self, L, S):
        sides = (x.key_ranges(L, S) for x in (self.left, self.right))
        return self._join_ranges(*sides, S)

    def tile_kinds(self, tiles):
        return self._join_kinds(*(x.kinds(tiles) for x in (self.left, self.right)))

    def __repr__(self):
        def side(x):  # parentheses where & and | would mix
            mixed = isinstance(x, _Pair) and x.symbol != self.symbol
            return f"({x})" if mixed else f"{x}"

        return f"{side(self.left)} {self.symbol} {side(self.right)}"


def as_mask(other):
    """What stands beside an operator: a mask, or a function as of ``mask_mod``."""
    if isinstance(other, Mask):
        return other
    if callable(other):
        return mask_mod(other)
    raise TypeError(
        f"&, |: found {type(other).__name__} beside a mask; expected a mask, or a "
        "function of (b, h, q_idx, kv_idx). A bool array is from_array(array)."
    )
