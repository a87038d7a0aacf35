"""Say where an array differs from the right one: its shape, its entries, a picture."""

import numpy as np

from minigrad.checking.verdict import picture

ROWS, COLUMNS = 8, 16  # of a picture of the wrong entries


def shapes(array, shape, axes=None):
    """Return two lines: the expected shape, and the one found."""
    letters = f"  ({', '.join(axes)})" if axes else ""
    return [
        f"expected shape {tuple(shape)}{letters}",
        f"found shape    {array.shape}",
    ]


def differences(got, want, right, axes=None):
    """Return lines: the worst entry, how many differ, and a picture."""
    lines = list(_worst_entry(got, want, ~right, axes))
    if want.size > 1:
        lines.append(f"{(~right).sum()} of {right.size} entries differ")
    return lines + drawing(~right)


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
