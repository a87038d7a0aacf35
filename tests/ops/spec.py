"""What a specification of an operation is, and the tools that all families share.

A specification of an operation has three parts:

- cases: inputs, each a function of a random generator, with distinct odd prime sizes,
  so that a lost transpose cannot pass;
- the reference: the operation as its definition says, on float64 arrays;
- the zoo: wrong backwards. ``mutations.py`` makes most of them from the right one; some
  are written out, where the mistake teaches. gradcheck must refuse them all.
"""

import copy
import zlib
from dataclasses import dataclass, field
from typing import Callable

import numpy as np

from minigrad import lift
from minigrad.registry import OPS

SPECS = {}  # name -> Spec


@dataclass
class Case:
    """One call: ``op(*args, **options)``. The arrays of floats among ``args`` are the
    inputs with a gradient; a list stands for several inputs."""

    args: tuple
    options: dict

    def inputs(self):
        """The arrays with a gradient, in order."""
        return [a for a in self.positions() if is_input(a)]

    def positions(self):
        """The positional arguments, with a list of inputs taken apart."""
        for a in self.args:
            several = isinstance(a, list) and any(map(is_input, a))
            yield from a if several else (a,)

    def with_inputs(self, inputs):
        """The positional arguments with ``inputs`` in the places of those arrays."""
        supply = iter(inputs)

        def fill(a):
            if isinstance(a, list):
                return [fill(each) for each in a]
            return next(supply) if is_input(a) else a

        return [fill(a) for a in self.args]

    def map(self, change):
        """The same call with ``change(array)`` for each input."""
        return Case(
            tuple(self.with_inputs([change(a) for a in self.inputs()])), self.options
        )

    def run(self, function, inputs=None):
        """Call ``function``; generators among the options start anew for each call."""
        args = self.args if inputs is None else self.with_inputs(inputs)
        options = {
            name: copy.deepcopy(option) if hasattr(option, "bit_generator") else option
            for name, option in self.options.items()
        }
        return function(*args, **options)


@dataclass
class Spec:
    name: str
    reference: Callable
    cases: dict  # name -> function of a generator; "empty…" cases have nothing to check
    zoo: dict = field(default_factory=dict)  # tag -> (backward, names of its cases)

    @property
    def op(self):
        assert self.name in OPS, f"{self.name} has no @differentiable"
        return OPS[self.name]

    def case(self, name):
        return self.cases[name](
            np.random.default_rng(zlib.crc32(f"{self.name}-{name}".encode()))
        )

    def checked(self):
        """The names of the cases that gradcheck can say something about."""
        return [c for c in self.cases if not c.startswith("empty")]

    def mutant(self, tag):
        """The operation with its own forward and the wrong backward ``tag``."""
        backward, right = self.zoo[tag][0], self.op.raw

        def mutant(*args, **options):
            y, _ = right(*args, **options)
            return y, lambda g: backward(g, y, *args, **options)

        mutant.__name__ = self.name
        return lift(mutant)


def spec(name, reference, cases):
    SPECS[name] = Spec(name, reference, cases)


def wrong(name, tag, backward, on=None):
    """Write out a mistake: ``backward(g, output, *args, **options)`` of ``name``.

    on   the case that must refuse it, where it would not even run on the others
    """
    SPECS[name].zoo[tag] = (backward, [on] if on else SPECS[name].checked())


def call(*args, **options):
    return Case(args, options)


def is_input(a):
    return isinstance(a, np.ndarray) and a.dtype.kind == "f"


def as_tuple(y):
    return y if isinstance(y, (tuple, list)) else (y,)


# Points to check at, away from kinks and ties


def normal(r, shape):
    return np.asarray(r.normal(size=shape))


def positive(r, shape):
    return np.asarray(r.uniform(0.5, 2, shape))


def nonzero(r, shape):
    return np.asarray(positive(r, shape) * r.choice([-1.0, 1.0], shape))


def distinct(r, shape):
    """Values in (-2, 2), no two closer than 4 / size."""
    n = int(np.prod(shape))
    return np.asarray((r.permutation(n) + 0.5).reshape(shape) * (4 / max(n, 1)) - 2)


# Sets of cases


def of_shapes(shapes, draw=normal):
    """Return cases of arrays alone, by their shapes; None is an argument of its own."""
    return {
        name: lambda r, each=each: call(*(s if s is None else draw(r, s) for s in each))
        for name, each in shapes.items()
    }


def unary(draw):
    """Cases of an elementwise function of one array."""
    return {
        "matrix": lambda r: call(draw(r, (3, 5))),
        "scalar": lambda r: call(draw(r, ())),
        "vector": lambda r: call(draw(r, (7,))),
        "size-one": lambda r: call(draw(r, (1, 3, 1))),
        "empty": lambda r: call(draw(r, (0, 3))),
    }


def binary(draw, draw_y=None):
    """Cases of an elementwise function of two arrays that broadcast."""
    draw_y = draw_y or draw
    shapes = {
        "both-ways": ((7, 1, 5), (3, 1)),
        "scalars": ((), ()),
        "same": ((3, 5), (3, 5)),
        "row": ((3, 5), (5,)),
        "empty": ((0, 3), (3,)),
    }
    cases = {
        name: lambda r, s=s, t=t: call(draw(r, s), draw_y(r, t))
        for name, (s, t) in shapes.items()
    }
    cases["number-right"] = lambda r: call(draw(r, (3, 5)), float(draw_y(r, ())))
    cases["number-left"] = lambda r: call(float(draw(r, ())), draw_y(r, (3, 5)))
    return cases


def reductions(draw, varying=False):
    """Cases of a reduction: axis None, a number, negative, a tuple; with keepdims.

    varying   leave out axes of length one, along which nothing varies
    """
    cases = {
        "tuple": lambda r: call(draw(r, (3, 5, 7)), axis=(0, -1)),
        "all": lambda r: call(draw(r, (3, 5))),
        "all-kept": lambda r: call(draw(r, (3, 5)), keepdims=True),
        "first": lambda r: call(draw(r, (3, 5, 7)), axis=0),
        "negative": lambda r: call(draw(r, (3, 5, 7)), axis=-2),
        "kept": lambda r: call(draw(r, (3, 5, 7)), axis=1, keepdims=True),
        "empty": lambda r: call(draw(r, (0, 3)), axis=1),
    }
    if not varying:
        cases["scalar"] = lambda r: call(draw(r, ()))
        cases["size-one"] = lambda r: call(draw(r, (3, 1)), axis=-1)
    return cases


def spread(g, x, axis=None, keepdims=False):
    """The gradient of a reduction laid over the axes that it reduced."""
    if axis is not None and not keepdims:
        g = np.expand_dims(g, axis)
    return np.broadcast_to(g, x.shape)
