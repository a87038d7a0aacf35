"""Numbers that count the products they take part in, and rows and matrices of them.

A row is a list of numbers, a matrix a list of rows. Sums, quotients, exp and tanh cost
nothing here: a multiplication goes with an addition, and the others are few.
"""

import math

import numpy as np


class Tally:
    """How many multiplications the numbers made here have taken part in."""

    def __init__(self):
        self.multiplications = 0

    def numbers(self, array):
        """The array as nested lists of counting numbers."""
        array = np.asarray(array, float)
        if array.ndim == 0:
            return Number(float(array), self)
        return [self.numbers(x) for x in array]


class Number:
    """A float whose products are counted. Sums, quotients, exp and tanh are not."""

    __slots__ = ("value", "tally")

    def __init__(self, value, tally):
        self.value, self.tally = value, tally

    def __mul__(self, other):
        self.tally.multiplications += 1
        return Number(self.value * _value(other), self.tally)

    def __add__(self, other):
        return Number(self.value + _value(other), self.tally)

    def __sub__(self, other):
        return Number(self.value - _value(other), self.tally)

    def __truediv__(self, other):
        return Number(self.value / _value(other), self.tally)

    def exp(self):
        return Number(math.exp(self.value), self.tally)

    def tanh(self):
        return Number(math.tanh(self.value), self.tally)

    def sigmoid(self):
        return Number(1 / (1 + math.exp(-self.value)), self.tally)

    __rmul__, __radd__ = __mul__, __add__


def inner(x, y):
    return sum((a * b for a, b in zip(x, y, strict=True)), start=x[0] - x[0])


def apply(W, x):
    """W x"""
    return [inner(row, x) for row in W]


def transposed(W):
    return list(zip(*W))


def scale(q_i):
    """q_i / sqrt(E), a multiplication for each coordinate."""
    return [x * (1 / math.sqrt(len(q_i))) for x in q_i]


def softmax(e):
    exps = [(x - max(y.value for y in e)).exp() for x in e]
    total = sum(exps[1:], start=exps[0])
    return [x / total for x in exps]


def average(p, v):
    """sum_j p_j v_j"""
    return [inner(p, column) for column in zip(*v)]


def _value(x):
    return x.value if isinstance(x, Number) else x
