"""Say where an array differs from the right one: its shape, its entries, a picture."""

import numpy as np

from minigrad.checking.verdict import picture

MASK_ROWS = 3  # rows of a mask that are printed
ROWS, COLUMNS = 8, 16  # of a picture of the wrong entries


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
    return lines if is_mask else lines + drawing(wrong)


def drawing(wrong):
    """Return [a picture of the wrong entries and its legend], [] without a pattern.

    The picture has at most 8 rows and 16 columns: it summarises a larger array.
    """
    drawn = picture(wrong, ROWS, COLUMNS) if wrong.ndim > 1 else None
    if not drawn:
        return []
    rows, columns = int(np.prod(wrong.shape[:-1])), wrong.shape[-1]
    parts = ["# differs", "the last axis runs to the right"]
    if wrong.ndim > 2:
        parts.append("the axes before it, flattened, run down")
    if rows > ROWS or columns > COLUMNS:
        parts.append(
            f"{min(rows, ROWS)} by {min(columns, COLUMNS)} signs stand for {rows} by "
            f"{columns} entries, # where one of them differs"
        )
    return [f"{drawn}\n    ({'; '.join(parts)})"]


def _worst_entry(got, want, wrong, axes):
    """Yield the entry that is farthest off; NaN counts as farthest.

    Of an axis "step", in which later entries follow from earlier ones, the first.
    """
    gap = np.where(wrong, np.abs(got.astype(float) - want.astype(float)), 0)
    gap = wrong if [*(axes or ())] == ["step"] else np.where(np.isnan(gap), np.inf, gap)
    index = np.unravel_index(int(np.argmax(gap)), want.shape)
    index = tuple(int(i) for i in index)
    where = f"entry {list(index)}" if index else "number"
    if axes and len(axes) == len(index):
        named = [f"{a} {i}" for a, i in zip(axes, index)]  # "S=2" would read as a size
        where += f"  (at {', '.join(named)})"
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
