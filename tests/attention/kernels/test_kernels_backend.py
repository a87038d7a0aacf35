"""Which backend runs, and where what it compiled is kept."""

import os
import subprocess
import sys

import pytest

from attention import kernels
from attention.kernels import cache, compiling

# The choice


def test_backend_switches_for_good_or_for_a_block():
    before = kernels.backend()
    try:
        kernels.backend("numpy")
        assert kernels.backend() == "numpy"
        with kernels.backend("numba"):
            assert kernels.backend() == "numba"
            with kernels.backend("numpy"):
                assert kernels.backend() == "numpy"
            assert kernels.backend() == "numba"
        assert kernels.backend() == "numpy"
        with pytest.raises(ZeroDivisionError), kernels.backend("numba"):
            1 / 0
        assert kernels.backend() == "numpy"
    finally:
        kernels.backend(before)


def test_an_unknown_backend():
    with pytest.raises(ValueError) as error:
        kernels.backend("cuda")
    assert str(error.value) == (
        "backend: there is no backend 'cuda'; expected 'numba' or 'numpy'."
    )


def python(code, **environment):
    """What a fresh Python writes: (stdout, stderr)."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ATT", "NUMBA"))}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, "PYTHONPATH": os.getcwd(), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.stdout.strip(), done.stderr.strip()


def test_numba_is_imported_by_the_first_loop_and_not_before():
    out, err = python(
        "import sys, numpy as np\n"
        "import attention, attention.scores, attention.softmax\n"
        "from attention import kernels\n"
        "kernels.backend(), kernels.backend('numpy')\n"
        "from attention.scores import additive_core\n"
        "additive_core(np.ones((2, 3)), np.ones((4, 3)), np.ones(3))\n"
        "print([m for m in ('numba', 'matplotlib') if m in sys.modules])"
    )
    assert (out, err) == ("[]", "")


CHOSEN = "from attention import kernels; print(kernels.backend())"


def test_what_the_environment_chooses():
    assert python(CHOSEN, ATTENTION_BACKEND="numpy")[0] == "numpy"
    assert python(CHOSEN, NUMBA_DISABLE_JIT="1")[0] == "numpy"
    assert (
        "ATTENTION_BACKEND: there is no backend 'gpu'; expected 'numba' or"
        in (python(CHOSEN, ATTENTION_BACKEND="gpu")[1])
    )


WITHOUT = "import sys; sys.modules['numba'] = None; from attention import kernels; "


def test_without_numba():
    out, err = python(WITHOUT + "print(kernels.backend()); kernels.backend('numba')")
    assert out == "numpy"
    assert err.endswith(
        "ImportError: backend: numba is not installed; pip install numba, or use "
        "'numpy'."
    )


RUN = (
    "import numpy as np; from attention.kernels import additive, backend; "
    "e = additive.forward(np.ones((1, 1, 2)), np.ones((1, 1, 2)), np.ones(2)); "
    "print(backend(), *e.ravel().round(6))"
)


def test_a_numba_that_does_not_load(tmp_path):
    (tmp_path / "numba.py").write_text("raise SystemError('too new a NumPy')")
    path = os.pathsep.join([str(tmp_path), os.getcwd()])
    assert python(RUN, PYTHONPATH=path) == ("numpy 1.928055", "")
    err = python(RUN, PYTHONPATH=path, ATTENTION_BACKEND="numba")[1]
    assert err.endswith(
        'ImportError: The backend "numba" was asked for and numba does not load: too '
        "new a NumPy"
    )


def test_loops_that_are_not_compiled():
    """With the JIT switched off, the loops are Python, and can be debugged as such."""
    pytest.importorskip("numba")
    out, err = python(RUN, NUMBA_DISABLE_JIT="1", ATTENTION_BACKEND="numba")
    assert (out, err) == ("numba 1.928055", "")


# The cache


def test_compiled_once_kept_and_survived(tmp_path):
    """The first process compiles and says so; the next does not; damage is undone."""
    pytest.importorskip("numba")
    place = {"XDG_CACHE_HOME": str(tmp_path)}
    said = f"compiling kernels (first time, about {compiling.SECONDS} s)…"
    assert python(RUN, **place) == ("numba 1.928055", said)
    assert python(RUN, **place) == ("numba 1.928055", "")
    files = [f for f in tmp_path.rglob("*") if f.suffix in (".nbi", ".nbc")]
    assert files
    for file in files:
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 255  # in the middle of the machine code
        file.write_bytes(content)
    assert python(RUN, **place) == ("numba 1.928055", said)
    assert python(RUN, **place) == ("numba 1.928055", "")


@pytest.fixture
def places(monkeypatch, tmp_path):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    return tmp_path


def test_where_the_cache_is(places, monkeypatch):
    pytest.importorskip("numba")
    first = cache.cache_directory()
    assert first.parent == places / "cache" / cache.PROJECT
    assert first == cache.cache_directory() and first.is_dir()
    monkeypatch.setattr(cache.np, "__version__", "99.0")
    assert cache.cache_directory() != first, "another NumPy, another directory"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(places / "mine"))
    assert places / "mine" in cache.cache_directory().parents


def test_a_cache_that_cannot_be_written(places, monkeypatch):
    pytest.importorskip("numba")
    (places / "cache").write_text("a file where a directory should be")
    assert places / "tmp" in cache.cache_directory().parents
    if hasattr(os, "getuid"):
        (place,) = (places / "tmp").iterdir()
        place.chmod(0o777)  # where others may write, they may leave code to execute
        assert cache.cache_directory() is None
    monkeypatch.setattr(cache.tempfile, "tempdir", str(places / "cache" / "no"))
    assert cache.cache_directory() is None


def test_old_directories_are_removed(places):
    pytest.importorskip("numba")
    path = cache.cache_directory()
    for age in range(1, 8):
        other = path.parent / f"version{age}"
        other.mkdir()
        os.utime(other, (1e9 - age, 1e9 - age))
    assert cache.cache_directory() == path
    left = sorted(p.name for p in path.parent.iterdir() if p != path)
    assert left == ["version1", "version2", "version3"]
