"""A subclass inherits no statement about a method that it overrides."""


def withdraw_stale(cls, base, definition, statements):
    """Replace methods that ``cls`` inherits from before its definition was overridden.

    definition   names of the methods that define what an object of the class computes
    statements   names of methods that are right for one definition only. One that
                 stands behind an overridden definition becomes that of ``base``

    Call it in ``__init_subclass__``.
    """

    def depth(name):  # of the nearest class that has the method
        mro = cls.__mro__
        return next((i for i, c in enumerate(mro) if name in vars(c)), len(mro))

    nearest = min(map(depth, definition))
    for name in statements:
        if depth(name) > nearest:
            setattr(cls, name, getattr(base, name))
