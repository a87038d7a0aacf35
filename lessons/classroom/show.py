"""How a report says what was called, what was expected, and what was found."""

import difflib
import inspect

import numpy as np

from minigrad.checking.verdict import picture

ROWS = 3  # of a mask, that are shown
ROWS_DRAWN, COLUMNS_DRAWN = 8, 16  # of a picture


def parameters(function):
    """The names of a function's positional parameters; None if it does not say."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    positional = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    return [p.name for p in found if p.kind in positional]


def call(name, names, args, options=None):
    """local_mask(S=5, T=5, D=1, center=4 - t)"""
    parts = [
        f"{names[k]}={brief(a)}" if k < len(names) else brief(a)
        for k, a in enumerate(args)
    ]
    parts += [f"{key}={brief(a)}" for key, a in (options or {}).items()]
    return f"{name}({', '.join(parts)})"


def inner(function):
    """What to call a function that a call has returned."""
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() else "backward"


def named(text, function):
    """``function``, to be shown as ``text`` in reports: named("4 - t", lambda t: …)."""
    function.__name__ = text
    return function


def brief(value):
    """A value in a few characters: small arrays in full, others by shape."""
    if isinstance(value, np.ndarray):
        if value.size <= 6 and value.ndim <= 1:
            inside = ", ".join(
                f"{v:.4g}" if v.dtype.kind == "f" else str(v) for v in value.reshape(-1)
            )
            return f"[{inside}]"
        return f"{value.dtype} {value.shape}"
    if isinstance(value, np.random.Generator):
        return "rng"  # not its address, which is another one each time
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    text = f"{value:.6g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= 40 else text[:37] + "…"


def shapes(array, shape, axes=None):
    """Two lines: the shape that was expected, and the one that was found."""
    letters = f"  ({', '.join(axes)})" if axes else ""
    return [
        f"expected shape {tuple(shape)}{letters}",
        f"found shape    {array.shape}",
    ]


def differences(got, want, right, axes=None):
    """The first wrong entry, or rows of a mask, and how many differ."""
    wrong = ~right
    if want.dtype == bool and want.ndim:
        lines = list(_rows(got, want, wrong, axes))
    else:
        lines = list(_entry(got, want, wrong, axes))
    if want.size > 1:
        lines.append(f"{wrong.sum()} of {wrong.size} entries differ")
    drawn = (
        picture(wrong, ROWS_DRAWN, COLUMNS_DRAWN)
        if wrong.ndim > 1 and want.dtype != bool
        else None
    )
    if drawn:
        lines.append(f"{drawn}\n    {legend(want.shape)}")
    return lines


def legend(shape):
    """What stands below a picture of the wrong entries of an array of this shape.

    The picture has 8 rows and 16 columns at most: of a larger array it is a summary.
    """
    rows, columns = int(np.prod(shape[:-1])), shape[-1]
    parts = ["# differs", "the last axis runs to the right"]
    if len(shape) > 2:
        parts.append("the axes before it, as one, run down")
    if rows > ROWS_DRAWN or columns > COLUMNS_DRAWN:
        drawn = f"{min(rows, ROWS_DRAWN)} by {min(columns, COLUMNS_DRAWN)}"
        parts.append(
            f"drawn smaller, {drawn} signs for {rows} by {columns} entries, # where "
            "one of them differs"
        )
    return f"({'; '.join(parts)})"


def did_you_rename(name, namespace):
    """What is there under a similar name."""
    own = [n for n, v in namespace.items() if callable(v) and not n.startswith("_")]
    near = difflib.get_close_matches(name, own, 1)
    return [f"did you rename it? There is {near[0]}"] if near else []


def _entry(got, want, wrong, axes):
    """The first wrong entry that is finite and far off; NaN comes first."""
    gap = np.where(wrong, np.abs(got.astype(float) - want.astype(float)), 0)
    gap = np.where(np.isnan(gap), np.inf, gap)
    index = np.unravel_index(int(np.argmax(gap)), want.shape)
    index = tuple(int(i) for i in index)
    where = f"entry {list(index)}" if index else "number"
    if axes and len(axes) == len(index):
        # "S=2" would read as a size
        where += "  (at " + ", ".join(f"{a} {i}" for a, i in zip(axes, index)) + ")"
    yield where
    a, b = got[index], want[index]
    digits = 6
    if want.dtype.kind == "f" and np.isfinite(a) and a != b:
        gap = abs(a - b) / (abs(b) or 1)
        digits = int(np.clip(2 - np.floor(np.log10(gap)), 6, 16))
    number = f"+.{digits}g" if want.dtype.kind == "f" else ""
    yield f"    expected  {b:{number}}"
    yield f"    found     {a:{number}}"


def _rows(got, want, wrong, axes):
    """Of a mask, the rows that are wrong: which entries are True."""
    axes = axes or "".join("ijklmn"[k] for k in range(want.ndim))
    last = axes[-1].lower()  # an index, and not a size
    rows = [i for i in np.ndindex(want.shape[:-1]) if wrong[i].any()]
    for i in rows[:ROWS]:
        where = ", ".join(f"{a.lower()}={k}" for a, k in zip(axes, i)) or "mask"
        yield (
            f"row {where}:  expected {last} = {_places(want[i])}    "
            f"found {last} = {_places(got[i])}"
        )
    if len(rows) > ROWS:
        more = len(rows) - ROWS
        yield f"and {more} more row{'s' * (more > 1)}"


def _places(row):
    places = np.flatnonzero(row)
    text = ", ".join(map(str, places[:8])) or "none"
    return text + (", …" if len(places) > 8 else "")
