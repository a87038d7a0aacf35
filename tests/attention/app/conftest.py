"""What the tests of commands share: NumPy kernels, and a finished run of each."""

import contextlib
import io

import pytest

from attention import kernels

from .app_cases import OPTIONS, main


@pytest.fixture(autouse=True, scope="session")
def nothing_is_compiled():
    with kernels.backend("numpy"):
        yield


@pytest.fixture(scope="session")
def whole(nothing_is_compiled, tmp_path_factory):
    """Return a function: a command -> the folder of a finished run, what it printed."""
    found = {}

    def of(command):
        if command not in found:
            out, printed = tmp_path_factory.mktemp("a folder") / "run", io.StringIO()
            with contextlib.redirect_stdout(printed):
                assert main(*command.split(), *OPTIONS[command], "--out", out) == 0
            found[command] = out, printed.getvalue()
        return found[command]

    return of
