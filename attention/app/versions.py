"""The versions of Python and of the packages that the results depend on."""

import platform


def versions():
    """Return {"python", "machine", "numpy", "numba"}; None for a missing package."""
    from importlib import metadata  # slow to import

    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in ("numpy", "numba"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found
