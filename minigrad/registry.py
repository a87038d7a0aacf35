"""The names of all differentiable operations, and the functions behind them.

``@differentiable`` registers operations here. The operators of ``Tensor`` (``+``,
``@``, ``[]``) look them up here, and the tests check every operation found here.
"""

OPS = {}  # {name: operation on tensors}, such as OPS["tanh"]


def register(name, op):
    """Register ``op`` under ``name``.

    An operation defined again, as in a notebook cell that is run twice, replaces the
    first. Raises ValueError when another module or function defined that name.
    """
    origin = op.__module__, op.__qualname__
    if name in OPS and origin != (OPS[name].__module__, OPS[name].__qualname__):
        raise ValueError(
            f"An operation named {name!r} exists already, in {OPS[name].__module__}. "
            "Rename yours, or decorate it with minigrad.lift, which makes an operation "
            "without registering its name."
        )
    OPS[name] = op
