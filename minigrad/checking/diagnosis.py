"""Find the known mistake that a wrong gradient equals.

``diagnose(Case(...))`` tests the hypotheses of the bank one after the other. Each is an
identity that can be measured, such as "yours equals numeric with its axes reversed".
The first that holds is returned, or "no known pattern".

In all formulas, A is the gradient in question (yours), G the numeric one, c the
cotangent (the incoming gradient), J the Jacobian dy/dx, so that G = J^T c.
"""

from dataclasses import dataclass, field
from typing import Callable

import numpy as np

from .hypotheses import BANK, CLOSE
from .verdict import Finding

LARGEST = 2_000_000  # entries of J beyond which its terms are not compared


@dataclass
class Case:
    """The facts about one wrong gradient. All but the first two are optional.

    yours, numeric   the arrays A and G; ``yours`` is None when there is no gradient
    x, y, cotangent  input, output, and c, of y's shape; of several outputs, no y, and
                     their cotangents in one row
    jacobian         () -> J, (outputs, inputs), or None
    vjp              c -> A, the gradient in question for another cotangent
    again            () -> A from a second, identical call
    earlier          () -> G at the inputs of an earlier call
    variants         (tag, sentence, () -> G of an operation with a likely mistake)
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
        """Return c_k J_ki, (outputs, inputs): the sum over k is G."""
        J = self.jacobian() if self.cotangent is not None else None
        if J is None or J.size > LARGEST:
            return None
        return self.cotangent.reshape(-1, 1) * J

    def wrong(self):
        """Return where A, of G's shape, differs from G."""
        return ~(
            np.abs(self.yours - self.numeric) <= CLOSE * np.abs(self.numeric).max()
        )


def diagnose(case):
    """Return the first hypothesis of the bank that holds, as a ``Finding``."""
    for hypothesis in BANK:
        found = hypothesis(case)
        if found:
            return Finding(*found)
    return Finding("unknown", "no known pattern")
