"""The table of all differentiable operations, by name.

``@differentiable`` adds an operation to the table. ``Tensor`` finds its operators
(``+``, ``@``, ``[]``) in this table, and the tests check every operation in it.
"""

from collections.abc import Callable
from typing import Any

OPS: dict[str, Callable[..., Any]] = {}  # {name: operation on tensors}: OPS["tanh"]


def register(name, op):
    """Register ``op`` under ``name``.

    If an operation is defined twice in the same module, for example by a notebook cell
    that runs twice, the second definition replaces the first. Raises ValueError if
    another module or function has defined that name.
    """
    origin = op.__module__, op.__qualname__
    if name in OPS and origin != (OPS[name].__module__, OPS[name].__qualname__):
        raise ValueError(
            f"An operation named {name!r} exists already, in {OPS[name].__module__}. "
            "Rename yours, or decorate it with minigrad.lift, which makes an operation "
            "without registering its name."
        )
    OPS[name] = op
