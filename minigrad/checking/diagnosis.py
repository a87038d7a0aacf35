"""Which known mistake is a wrong gradient equal to?

``diagnose(Case(...))`` tests the hypotheses of the bank one after the other, each of
which is a measured identity ("yours equals numeric with its axes reversed"), and
returns the first that holds. Where none does it says "no known pattern"; it never
guesses.

In all formulas, A is the gradient in question (yours), G the numeric one, c the
cotangent (the incoming gradient), J the Jacobian dy/dx, so that G = J^T c.
"""

from dataclasses import dataclass, field
from typing import Callable

import numpy as np

from .hypotheses import BANK, CLOSE

LARGEST = 2_000_000  # entries of J beyond which its terms are not looked at one by one


@dataclass
class Case:
    """What is known about one wrong gradient. All but the first two may be left out.

    yours, numeric   the arrays A and G; ``yours`` is None when there is no gradient
    x, y, cotangent  input, output, and c, of y's shape; of several outputs, no y, and
                     their cotangents in one row
    jacobian         () -> J, (outputs, inputs), or None
    vjp              c -> A, the gradient in question for another cotangent
    again            () -> A from a second, identical call
    earlier          () -> G at the inputs of an earlier call
    variants         (tag, sentence, () -> G of an operation that may have been meant)
    blocks           {name: index}, parts of x that have names, like the gates of a GRU
    mask             of x's shape, True where attention is allowed

        >>> G = np.array([[1.0, 2.0], [3.0, 5.0]])
        >>> diagnose(Case(yours=G.T, numeric=G)).sentence
        'yours equals numeric with its last two axes swapped'
    """

    yours: np.ndarray | None
    numeric: np.ndarray
    x: np.ndarray | None = None
    y: np.ndarray | None = None
    cotangent: np.ndarray | None = None
    jacobian: Callable = lambda: None
    vjp: Callable | None = None
    again: Callable | None = None
    earlier: Callable | None = None
    variants: list = field(default_factory=list)
    blocks: dict = field(default_factory=dict)
    mask: np.ndarray | None = None

    def terms(self):
        """c_k J_ki, (outputs, inputs): the sum over k is G."""
        J = self.jacobian() if self.cotangent is not None else None
        if J is None or J.size > LARGEST:
            return None
        return self.cotangent.reshape(-1, 1) * J

    def wrong(self):
        """Where A, of G's shape, differs from G."""
        return ~(
            np.abs(self.yours - self.numeric) <= CLOSE * np.abs(self.numeric).max()
        )


@dataclass
class Diagnosis:
    """``tag`` names the kind of mistake; ``sentence`` states what was measured."""

    tag: str
    sentence: str


def diagnose(case):
    """The first hypothesis of the bank that holds, as a ``Diagnosis``."""
    for hypothesis in BANK:
        found = hypothesis(case)
        if found:
            return Diagnosis(*found)
    return Diagnosis("unknown", "no known pattern")
