"""The names of all differentiable operations.

``@differentiable`` writes here; the operators of ``Tensor`` (``+``, ``@``, ``[]``) look
up here, and the tests walk through here, so that no operation goes without a check.
"""

OPS = {}  # name -> the lifted function, e.g. OPS["tanh"]


def register(name, op):
    """Enter ``op`` under ``name``; refuse a second, different one of that name."""
    if name in OPS and OPS[name].raw.__code__ is not op.raw.__code__:
        raise ValueError(
            f"An operation named {name!r} exists already, in {OPS[name].__module__}; "
            "rename one of the two."
        )
    OPS[name] = op
