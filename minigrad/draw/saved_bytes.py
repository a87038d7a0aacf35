"""Count the bytes that a graph keeps for its backward pass, operation by operation."""

from typing import NamedTuple

import numpy as np

from ..arguments import instance
from ..graph import reachable
from ..overwriting import saved_arrays
from ..tensor import Tensor
from .html import table


class Row(NamedTuple):
    """What one operation keeps.

    op, shape   the operation and the shape of its output; a list of shapes for several
    kept        bytes of the buffers that its backward refers to, without leaves and
                constant tensors
    new         those among them that no earlier row has counted
    """

    op: str
    shape: object
    kept: int
    new: int


class SavedBytes(NamedTuple):
    """``rows`` in the order of recording, and ``total``, in bytes."""

    rows: tuple

    @property
    def total(self):
        """Return the bytes that the graph adds to the memory: every buffer once."""
        return sum(row.new for row in self.rows)

    def __str__(self):
        title = f"{'operation':<20}{'output':<26}{'keeps':>13}{'not counted above':>19}"
        lines = [title]
        for op, shape, kept, new in self.rows:
            output = f"{len(shape)} outputs" if isinstance(shape, list) else str(shape)
            left = f"{_cut(op, 19):<20}{_cut(output, 25):<26}"
            lines.append(f"{left}{kept:>13,}{new:>19,}")
        lines += ["-" * 78, f"{'saved for backward, bytes':<46}{self.total:>32,}"]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self):
        head = "operation", "output", "keeps, bytes", "not counted above"
        rows = [(op, str(shape), kept, new) for op, shape, kept, new in self.rows]
        total = "saved for backward", "", "", self.total
        return table([head, *rows, total], "The graph, in the order of recording")


def saved_bytes(tensor):
    """Return what the operations that computed ``tensor`` keep for backward().

    An operation keeps the arrays that its backward refers to. Buffers are counted, not
    arrays: a view keeps the whole buffer that it belongs to, and a buffer that several
    operations keep is counted for the one that was recorded first. Leaves and constant
    tensors do not count, since they exist with or without the graph; an array that was
    passed as it is counts as kept.

        operation           output                            keeps  not counted above
        tanh                (8, 3)                              192                192
        mul                 (8, 3)                              192                  0

    Raises ValueError when nothing was recorded, RuntimeError when backward() freed the
    graph.
    """
    instance("saved_bytes()", "tensor", tensor, Tensor)
    if tensor._node is None:
        raise ValueError(
            f"saved_bytes() needs the graph of a tensor; this one, of shape "
            f"{tensor.shape}, has no graph: it is a leaf, or was computed from "
            "constants or under no_grad."
        )
    nodes = reachable(tensor._node)[::-1]
    parents = [p for node in nodes for p in node.parents]
    leaves = {id(_buffer(p._data)) for p in parents if hasattr(p, "_data")}
    rows, counted = [], set()
    for node in nodes:
        if node.output_index is not None:  # the row of the operation is enough
            continue
        kept = {id(b): b.nbytes for b in map(_buffer, saved_arrays(node))}
        kept = {key: size for key, size in kept.items() if key not in leaves}
        new = sum(size for key, size in kept.items() if key not in counted)
        counted.update(kept)
        rows.append(Row(node.op, node.shape, sum(kept.values()), new))
    return SavedBytes(tuple(rows))


def _buffer(array):
    """Return the array that owns the memory of ``array``, which may be a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _cut(text, length):
    return text if len(text) <= length else text[: length - 1] + "…"
