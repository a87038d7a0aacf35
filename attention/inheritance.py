"""Withdraw inherited methods that describe a formula which a subclass has replaced."""


def depth(cls, *names):
    """Return how far the nearest class is that defines one of the methods: 0 is cls."""
    return min(i for i, c in enumerate(cls.__mro__) if vars(c).keys() & set(names))


def withdraw_stale(cls, base, definition, methods):
    """Replace the inherited ``methods`` that describe an earlier ``definition``.

    definition   names of methods
    methods      names of methods that are right for one definition only. One that is
                 inherited from behind an overridden definition becomes that of ``base``
    """
    for name in methods:
        if depth(cls, name) > depth(cls, *definition):
            setattr(cls, name, getattr(base, name))
