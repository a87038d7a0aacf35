"""Short texts for reports: a call, a value, a shape, the entries that differ."""

import difflib
import inspect

import numpy as np

from minigrad.checking.verdict import picture

MASK_ROWS = 3  # rows of a mask that are printed
ROWS, COLUMNS = 8, 16  # of a picture of the wrong entries


def named(text, function):
    """Return ``function``, named ``text`` in reports: named("4 - t", lambda t: …)."""
    function.__name__ = text
    return function


def parameters(function):
    """Return the names of a function's positional parameters; None if unknown."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    return [p.name for p in found if p.kind in kinds]


def call(name, names, args, options=None):
    """Return the text of a call: local_mask(S=5, T=5, D=1, center=4 - t)"""
    parts = [
        f"{names[k]}={brief(a)}" if k < len(names) else brief(a)
        for k, a in enumerate(args)
    ]
    parts += [f"{key}={brief(a)}" for key, a in (options or {}).items()]
    return f"{name}({', '.join(parts)})"


def inner(function):
    """Return the name for a function that a call has returned."""
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() else "backward"


def brief(value):
    """Return a value in a few characters: small arrays in full, others by shape."""
    if isinstance(value, np.ndarray):
        if value.size > 6 or value.ndim > 1:
            return f"{value.dtype} {value.shape}"
        style = ".4g" if value.dtype.kind == "f" else ""
        return f"[{', '.join(f'{v:{style}}' for v in value.reshape(-1).tolist())}]"
    if isinstance(value, np.random.Generator):
        return "rng"  # its repr holds an address
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    text = f"{value:.6g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= 40 else text[:37] + "…"


def shapes(array, shape, axes=None):
    """Return two lines: the expected shape, and the one found."""
    letters = f"  ({', '.join(axes)})" if axes else ""
    return [
        f"expected shape {tuple(shape)}{letters}",
        f"found shape    {array.shape}",
    ]


def differences(got, want, right, axes=None):
    """Return lines: the first wrong entry or rows, how many differ, and a picture."""
    wrong, is_mask = ~right, want.dtype == bool
    show = _mask_rows if is_mask and want.ndim else _worst_entry
    lines = list(show(got, want, wrong, axes))
    if want.size > 1:
        lines.append(f"{wrong.sum()} of {wrong.size} entries differ")
    drawn = picture(wrong, ROWS, COLUMNS) if wrong.ndim > 1 and not is_mask else None
    if drawn:
        lines.append(f"{drawn}\n    {legend(want.shape)}")
    return lines


def legend(shape):
    """Return the explanation below a picture of the wrong entries of an array.

    The picture has at most 8 rows and 16 columns: it summarises a larger array.
    """
    rows, columns = int(np.prod(shape[:-1])), shape[-1]
    parts = ["# differs", "the last axis runs to the right"]
    if len(shape) > 2:
        parts.append("the axes before it, flattened, run down")
    if rows > ROWS or columns > COLUMNS:
        drawn = f"{min(rows, ROWS)} by {min(columns, COLUMNS)}"
        parts.append(
            f"{drawn} signs stand for {rows} by {columns} entries, # where one of "
            "them differs"
        )
    return f"({'; '.join(parts)})"


def similar_name(name, namespace):
    """Return [a question], if the file has a function with a similar name."""
    own = [n for n, v in namespace.items() if callable(v) and not n.startswith("_")]
    near = difflib.get_close_matches(name, own, 1)
    return [f"did you rename it? There is {near[0]}"] if near else []


def _worst_entry(got, want, wrong, axes):
    """Yield the entry that is farthest off; NaN counts as farthest."""
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
    if want.dtype.kind == "f" and np.isfinite([a, b]).all() and a != b:
        gap = abs(a - b) / (abs(b) or 1)
        digits = int(np.clip(2 - np.floor(np.log10(gap)), 6, 16))
    style = f"+.{digits}g" if want.dtype.kind == "f" else ""
    yield f"    expected  {b:{style}}"
    yield f"    found     {a:{style}}"


def _mask_rows(got, want, wrong, axes):
    """Yield the first wrong rows of a mask: which entries are True."""
    axes = axes or "".join("ijklmn"[k] for k in range(want.ndim))
    last = axes[-1].lower()  # an index, not a size
    rows = [i for i in np.ndindex(want.shape[:-1]) if wrong[i].any()]
    for i in rows[:MASK_ROWS]:
        where = ", ".join(f"{a.lower()}={k}" for a, k in zip(axes, i)) or "mask"
        yield (
            f"row {where}:  expected {last} = {_true_entries(want[i])}    "
            f"found {last} = {_true_entries(got[i])}"
        )
    if len(rows) > MASK_ROWS:
        more = len(rows) - MASK_ROWS
        yield f"and {more} more row{'s' * (more > 1)}"


def _true_entries(row):
    entries = np.flatnonzero(row)
    text = ", ".join(map(str, entries[:8])) or "none"
    return text + (", …" if len(entries) > 8 else "")
