"""Arrange the boxes of a graph in rows, inputs above the operations that use them.

The method is that of Sugiyama, Tagawa & Toda 1981, in four steps:

    rows       a box is one row above the uppermost of its users
    lanes      a line that passes a row gets a position in it, as a box does
    order      boxes and lanes are sorted within their rows, so that few lines cross
    positions  each is as near to its neighbours above and below as the row allows
"""

import itertools

import numpy as np

BESIDE = 0.11  # between a lane and its neighbours, in inches


class Arrangement:
    """Rows from top to bottom, and positions from left to right.

    inputs   inputs[v] lists the inputs of vertex v, all of them smaller numbers; only
             the last vertex is no input
    widths   of the boxes; ``gap`` is the space between two of them
    limit    the width above which leaves are moved out of a row, upwards

    An item is a box v, or a lane (v, r): there the lines from v pass row r.

    row      the row of every box
    rows     the items of every row, from left to right
    above    the neighbours of an item in the row above; ``below`` likewise
    x        the middle of every item
    left     the left edge of it all; ``width`` from there to the right one
    """

    def __init__(self, inputs, widths, gap, limit):
        self.inputs, self.widths, self.gap = inputs, widths, gap
        self.row = self._choose_rows(limit)
        self._make_lanes()
        self._sort_rows()
        self._set_positions()

    def path(self, u, v):
        """The items that the line from u to v passes, with both ends."""
        return [u, *((u, r) for r in range(self.row[u] + 1, self.row[v])), v]

    # -- rows ---------------------------------------------------------------------

    def _choose_rows(self, limit):
        n = len(self.inputs)
        height = [0] * n  # the number of rows below
        for v in reversed(range(n)):
            for u in self.inputs[v]:
                height[u] = max(height[u], height[v] + 1)

        def width(h):
            lowest = {u: h for u in range(n)}
            for v in range(n):
                for u in self.inputs[v]:
                    lowest[u] = min(lowest[u], height[v])
            lanes = sum(lowest[u] < h < height[u] for u in range(n))
            boxes = [self.widths[v] + self.gap for v in range(n) if height[v] == h]
            return sum(boxes) + BESIDE * lanes

        h = 1
        while h <= max(height):
            leaves = [v for v in range(n) if height[v] == h and not self.inputs[v]]
            i = 0
            while len(leaves) > 1 and width(h) > limit:
                i = i + 1 if i + 1 < len(leaves) else 0  # every other one moves up
                height[leaves.pop(i)] += 1
            h += 1
        return [max(height) - h for h in height]

    def _make_lanes(self):
        n = len(self.inputs)
        last = list(self.row)  # where the last line from each box ends
        lines = {}  # an ordered set
        for v in range(n):
            for u in self.inputs[v]:
                last[u] = max(last[u], self.row[v])
                lines.update(dict.fromkeys(itertools.pairwise(self.path(u, v))))
        self.rows = [[] for _ in range(max(self.row) + 1)]
        for v in range(n):
            self.rows[self.row[v]].append(v)
            for r in range(self.row[v] + 1, last[v]):
                self.rows[r].append((v, r))
        items = list(itertools.chain(*self.rows))
        self.above, self.below = {i: [] for i in items}, {i: [] for i in items}
        for upper, lower in lines:
            self.above[lower].append(upper)
            self.below[upper].append(lower)

    # -- order --------------------------------------------------------------------

    def _sort_rows(self):
        """Sort by the mean position of the neighbours, downwards and upwards in turn."""
        best, fewest = self.rows, self._crossings(self.rows)
        rows = [list(row) for row in self.rows]
        for sweep in range(16):
            downwards = sweep % 2 == 0
            before = -1 if downwards else 1
            order = range(len(rows)) if downwards else reversed(range(len(rows)))
            for r in list(order)[1:]:
                rows[r] = self._sorted(rows[r], rows[r + before], downwards)
            found = self._crossings(rows)
            if found < fewest:
                best, fewest = [list(row) for row in rows], found
        self.rows = best
        while fewest and self._swap_neighbours():
            pass

    def _sorted(self, row, before, downwards):
        neighbours = self.above if downwards else self.below
        position, own = _positions(before), _positions(row)

        def mean(item):
            near = [position[i] for i in neighbours[item]]
            return sum(near) / len(near) if near else own[item]

        return sorted(row, key=mean)

    def _swap_neighbours(self):
        """Exchange neighbours where that removes a crossing."""
        swapped = False
        for r, row in enumerate(self.rows):
            near = self.rows[max(r - 1, 0) : r + 2]
            for i in range(len(row) - 1):
                before = self._crossings(near)
                row[i : i + 2] = row[i + 1], row[i]
                if self._crossings(near) < before:
                    swapped = True
                else:
                    row[i : i + 2] = row[i + 1], row[i]
        return swapped

    def _crossings(self, rows):
        count = 0
        for upper, lower in itertools.pairwise(rows):
            position = _positions(lower)
            ends = [
                (i, position[j]) for i, u in enumerate(upper) for j in self.below[u]
            ]
            pairs = itertools.combinations(ends, 2)
            count += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in pairs)
        return count

    # -- positions -------------------------------------------------------------------

    def _set_positions(self):
        """Move every row towards its neighbours, many times."""
        rows = [(row, self._closest(row)) for row in self.rows]
        self.x = {
            item: x - positions[-1] / 2
            for row, positions in rows
            for item, x in zip(row, positions)
        }
        for _ in range(40):
            for row, positions in rows + rows[::-1]:
                wanted, weights = zip(*(self._best(item) for item in row))
                free = nearest_ascending(np.array(wanted) - positions, weights)
                self.x.update(zip(row, free + positions))

        edges = [(x - self._half(i), x + self._half(i)) for i, x in self.x.items()]
        self.left = min(left for left, _ in edges)
        self.width = max(right for _, right in edges) - self.left

    def _closest(self, row):
        """Return the middles of a row's items, as close together as allowed."""
        positions = [0.0]
        for left, right in itertools.pairwise(row):
            lane = type(left) is tuple or type(right) is tuple
            gap = BESIDE if lane else self.gap
            positions.append(positions[-1] + gap + self._half(left) + self._half(right))
        return np.array(positions)

    def _half(self, item):
        return 0 if type(item) is tuple else self.widths[item] / 2

    def _best(self, item):
        """Return the best position of an item if it were alone, and its weight.

        Lines should be straight and operations one under another; leaves matter less.
        """
        pulls = []
        if type(item) is tuple:
            v = item[0]
            r = self.row[v] + 1
            while (v, r) in self.x:
                pulls.append((self.x[v, r], 200))
                r += 1
        for other in self.above[item] + self.below[item]:
            boxes = type(item) is int and type(other) is int
            both = boxes and self.inputs[item] and self.inputs[other]
            pulls.append((self.x[other], 10 if both else 1))
        if not pulls:
            return self.x[item], 1
        total = sum(weight for _, weight in pulls)
        return sum(x * weight for x, weight in pulls) / total, total


def _positions(row):
    return {item: i for i, item in enumerate(row)}


def nearest_ascending(wanted, weights):
    """The ascending y that minimises sum_i weights_i (y_i - wanted_i)^2.

    Neighbours in the wrong order are pooled at their mean, until there are none left.
    """
    blocks = []  # [mean, weight, length]
    for y, w in zip(wanted, weights):
        blocks.append([y, w, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            y2, w2, n2 = blocks.pop()
            y1, w1, n1 = blocks.pop()
            blocks.append([(y1 * w1 + y2 * w2) / (w1 + w2), w1 + w2, n1 + n2])
    return np.concatenate([np.full(n, y) for y, _, n in blocks])
