"""Submodules that are imported when they are first asked for, as ``package.name``."""

import importlib


def late(package, *names):
    """A module's ``__getattr__``, which imports these submodules of the package.

    So importing the package is as quick as without them. PEP 562.
    """

    def __getattr__(name):
        if name in names:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return __getattr__
