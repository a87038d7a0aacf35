"""Arrange the boxes of a graph in rows, inputs above the operations that use them.

The method is that of Sugiyama, Tagawa & Toda 1981, in four steps:

    rows       a box is one row above the uppermost of its users
    lanes      a line that passes a row gets a position in it, as a box does
    order      each row is sorted by the mean position of its items' neighbours
    positions  each item moves below or above its neighbours, as far as the row allows
"""

import itertools

import numpy as np

LANE_GAP = 0.11  # inches between a lane and the items beside it


class Arrangement:
    """Rows from top to bottom, and positions from left to right, in inches.

    inputs   inputs[v] lists the inputs of box v, all of them smaller numbers; every
             box but the last is the input of another
    widths   of the boxes; ``gap`` is the space between two of them

    An item is a box v, or a lane (v, r): there the lines from v pass row r.

    row      the row of every box
    rows     the items of every row, from left to right
    x        {item: its middle}; the left edge of the whole is at 0
    width    of the whole
    """

    def __init__(self, inputs, widths, gap):
        self.inputs, self.widths, self.gap = inputs, widths, gap
        self.row = self._choose_rows()
        self.rows, self.above, self.below = self._make_lanes()
        self._sort_rows()
        self._set_positions()

    def path(self, u, v):
        """Return the items that the line from u to v passes, with both ends."""
        return [u, *((u, r) for r in range(self.row[u] + 1, self.row[v])), v]

    def _choose_rows(self):
        height = [0] * len(self.inputs)  # the longest path to the last box
        for v in reversed(range(len(self.inputs))):
            for u in self.inputs[v]:
                height[u] = max(height[u], height[v] + 1)
        return [max(height) - h for h in height]

    def _make_lanes(self):
        """Return the items of every row, and the neighbours of every item."""
        rows = [{} for _ in range(max(self.row) + 1)]  # dicts serve as ordered sets
        above, below = {}, {}
        for v in range(len(self.inputs)):
            for path in [[v], *(self.path(u, v) for u in self.inputs[v])]:
                for r, item in enumerate(path, start=self.row[path[0]]):
                    rows[r][item] = None
                    above.setdefault(item, []), below.setdefault(item, [])
                for upper, lower in itertools.pairwise(path):
                    if upper not in above[lower]:
                        above[lower].append(upper)
                        below[upper].append(lower)
        return [list(row) for row in rows], above, below

    def _sort_rows(self):
        """Sort downwards and upwards in turn; keep the order with fewest crossings."""
        rows = self.rows
        for sweep in range(16):
            neighbours = self.below if sweep % 2 else self.above
            before, new = {}, []
            for row in reversed(rows) if sweep % 2 else rows:
                index = {item: i for i, item in enumerate(row)}
                for item in row:
                    near = [before[i] for i in neighbours[item]]
                    index[item] = np.mean(near) if near else index[item]
                new.append(sorted(row, key=index.get))
                before = {item: i for i, item in enumerate(new[-1])}
            rows = new[::-1] if sweep % 2 else new
            if self.crossings(rows) < self.crossings(self.rows):
                self.rows = rows

    def crossings(self, rows):
        """Return how many pairs of lines cross."""
        count = 0
        for upper, lower in itertools.pairwise(rows):
            lines = [(i, lower.index(j)) for i in upper for j in self.below[i]]
            ends = [(upper.index(i), j) for i, j in lines]
            pairs = itertools.combinations(ends, 2)
            count += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in pairs)
        return count

    def _set_positions(self):
        """Move every row towards its neighbours, many times."""
        offsets = [self._closest(row) for row in self.rows]
        self.x = {}
        for row, offset in zip(self.rows, offsets):
            self.x.update(zip(row, offset - offset[-1] / 2))
        steps = list(zip(self.rows, offsets))
        for row, offset in 40 * (steps + steps[::-1]):
            wanted, weights = zip(*(self._mean_of_neighbours(item) for item in row))
            free = nearest_ascending(np.array(wanted) - offset, weights)
            self.x.update(zip(row, free + offset))
        left = min(x - self._half(item) for item, x in self.x.items())
        self.x = {item: x - left for item, x in self.x.items()}
        self.width = max(x + self._half(item) for item, x in self.x.items())

    def _closest(self, row):
        """Return the middles of a row's items, as close together as allowed."""
        middles = [0.0]
        for left, right in itertools.pairwise(row):
            lane = type(left) is tuple or type(right) is tuple
            gap = LANE_GAP if lane else self.gap
            middles.append(middles[-1] + gap + self._half(left) + self._half(right))
        return np.array(middles)

    def _half(self, item):
        return 0 if type(item) is tuple else self.widths[item] / 2

    def _mean_of_neighbours(self, item):
        """Return the mean and its weight: lanes count most, then operations."""
        near = self.above[item] + self.below[item]
        if not near:
            return self.x[item], 1
        weights = [self._weight(item) * self._weight(i) for i in near]
        return np.average([self.x[i] for i in near], weights=weights), sum(weights)

    def _weight(self, item):
        return 10 if type(item) is tuple else 3 if self.inputs[item] else 1


def nearest_ascending(wanted, weights):
    """Return the ascending y that minimises sum_i weights_i (y_i - wanted_i)^2.

    Neighbours in the wrong order are pooled at their mean, until all are in order.
    """
    blocks = []  # [mean, weight, length]
    for y, w in zip(wanted, weights):
        blocks.append([y, w, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            y2, w2, n2 = blocks.pop()
            y1, w1, n1 = blocks.pop()
            blocks.append([(y1 * w1 + y2 * w2) / (w1 + w2), w1 + w2, n1 + n2])
    return np.concatenate([np.full(n, y) for y, _, n in blocks])
