"""Find the known mistake that a wrong gradient equals.

``diagnose(Case(...))`` tests the hypotheses in ``BANK`` one after the other. Each is an
identity that can be measured, such as "yours equals numeric with its axes reversed".
``diagnose`` returns the first hypothesis that is true, or "no known pattern".

In all formulas, A is the gradient that is checked (yours), G is the measured gradient
(numeric), c is the cotangent (the incoming gradient), and J is the Jacobian dy/dx, so
that G = J^T c.
"""

from dataclasses import dataclass, field
from typing import Callable

import numpy as np

from .hypotheses import BANK, CLOSE
from .verdict import Finding


@dataclass
class Case:
    """The facts about one wrong gradient. All but the first two are optional.

    yours, numeric   the arrays A and G; ``yours`` is None if there is no gradient
    x, y, cotangent  input, output, and c, which has the shape of y. With several
                     outputs, y is None, and c is their cotangents in one row
    jacobian         a function () -> J, of shape (outputs, inputs), or None
    vjp              a function c -> A for another cotangent
    earlier          a function () -> G at the inputs of an earlier call
    transposed       {name of another input, which is square: () -> G if that input is
                     transposed}

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
    earlier: Callable | None = None
    transposed: dict = field(default_factory=dict)

    def terms(self):
        """Return c_k J_ki, of shape (outputs, inputs). Their sum over k is G."""
        J = self.jacobian() if self.cotangent is not None else None
        return None if J is None else self.cotangent.reshape(-1, 1) * J

    def wrong(self):
        """Return where A differs from G; both have the same shape."""
        most = CLOSE * np.abs(self.numeric).max()
        return ~(np.abs(self.yours - self.numeric) <= most)


def diagnose(case):
    """Return the first hypothesis of the bank that holds, as a ``Finding``."""
    for hypothesis in BANK:
        found = hypothesis(case)
        if found:
            return Finding(*found)
    return Finding("unknown", "no known pattern")
