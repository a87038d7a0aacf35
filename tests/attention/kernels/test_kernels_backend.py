"""Which backend runs, what is compiled, and where compiled kernels are kept."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

from attention import kernels
from attention.kernels import additive_product, cache, choice, compiling


def test_backend_switches_for_good_or_for_a_block():
    with kernels.backend(kernels.backend()):  # what the test changes is undone
        kernels.backend("numpy")
        assert kernels.backend() == "numpy"
        with pytest.raises(ZeroDivisionError), kernels.backend("numba"):
            assert kernels.backend() == "numba"
            1 / 0
        assert kernels.backend() == "numpy"


def test_an_unknown_backend():
    with pytest.raises(ValueError, match="no backend 'cuda'; expected 'numba' or 'num"):
        kernels.backend("cuda")


def python(code, **environment):
    """Run a fresh Python and return (stdout, stderr)."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ATT", "NUMBA"))}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, "PYTHONPATH": os.getcwd(), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.stdout.strip(), done.stderr.strip()


RUN = (
    "import sys; import numpy as np; from attention import kernels; "
    "from attention.scores import tanh_scores; x = np.ones((8, 1), np.float32); "
    "s = tanh_scores(x, 0 * x, x[0]).data.astype(float); "
    "print(kernels.backend(), s[0, 0].round(5), 'numba' in sys.modules)"
)


@pytest.fixture
def nothing_chosen(monkeypatch, tmp_path):
    """The state of a new process, with an empty cache."""
    for name in "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "ATTENTION_BACKEND":
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(choice._Chosen, "backend", None)
    monkeypatch.setattr(choice._Chosen, "explicit", False)
    return tmp_path


def test_the_environment_chooses(nothing_chosen, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert kernels.backend() == "numpy" and not choice._Chosen.explicit
    choice._Chosen.backend = None
    monkeypatch.setenv("ATTENTION_BACKEND", "g")
    with pytest.raises(ValueError, match="ATTENTION_BACKEND: there is no backend 'g'"):
        kernels.backend()
    monkeypatch.setenv("ATTENTION_BACKEND", "numpy")
    assert kernels.backend() == "numpy" and choice._Chosen.explicit


def test_without_numba(nothing_chosen, monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert kernels.backend() == "numpy"
    with pytest.raises(ImportError, match="backend: numba is not installed; pip inst"):
        kernels.backend("numba")


def test_a_numba_that_does_not_load(nothing_chosen, monkeypatch):
    pytest.importorskip("numba")
    (nothing_chosen / "numba.py").write_text("raise SystemError('too new a NumPy')")
    monkeypatch.syspath_prepend(nothing_chosen)
    monkeypatch.delitem(sys.modules, "numba")
    loop, float32 = compiling.Kernel(additive_product.forward_loop.function), np.dtype("f")
    assert loop.version(float32) is None and kernels.backend() == "numpy"
    with pytest.raises(ImportError, match="numba does not load: too new a NumPy"):
        with kernels.backend("numba"):
            loop.version(float32)


@pytest.mark.deep
def test_loops_that_are_not_compiled():
    """With the JIT switched off, the loops are Python, and can be debugged as such."""
    pytest.importorskip("numba")
    out, err = python(RUN, NUMBA_DISABLE_JIT="1", ATTENTION_BACKEND="numba")
    assert (out, err) == ("numba 0.76159 True", "")


@pytest.mark.deep
def test_small_work_runs_the_twin(tmp_path):
    """It does not even import numba, also if the kernel is in the cache."""
    pytest.importorskip("numba")
    place = {"XDG_CACHE_HOME": str(tmp_path)}
    assert python(RUN, **place) == ("numba 0.76159 False", "")
    chosen = {**place, "ATTENTION_BACKEND": "numba"}
    out, err = python(RUN, **chosen)
    line = r"compiling additive_product\.forward_loop, once on this machine… \d+\.\d s"
    assert out == "numba 0.76159 True" and re.fullmatch(line, err)
    assert python(RUN, **place) == ("numba 0.76159 False", "")
    assert python(RUN, **chosen) == ("numba 0.76159 True", "")
    (tmp_path / "file").write_text("no folder")
    out, err = python(RUN, **chosen | {"XDG_CACHE_HOME": str(tmp_path / "file")})
    explained, advice, line = err.splitlines()
    assert explained.startswith(f"Compiled loops are not kept: {tmp_path / 'file'}/")
    assert advice == "NUMBA_CACHE_DIR=FOLDER chooses another folder."
    assert line.startswith("compiling additive_product.forward_loop, in each run… ")


@pytest.mark.deep
def test_a_kernel_in_the_cache_compiles_no_helper(tmp_path):
    pytest.importorskip("numba")
    place = {"XDG_CACHE_HOME": str(tmp_path)}
    code = (
        "import numpy as np; from attention.kernels import decoder; "
        "print(len(decoder.forward_loop.version(np.dtype('f')).signatures))"
    )
    out, err = python(code, **place)
    assert out == "1" and err.startswith("compiling decoder.forward_loop, once")
    assert python(code, **place) == ("1", "")


@pytest.mark.deep
def test_a_helper_without_annotations_is_part_of_the_kernel(tmp_path):
    """Otherwise the process that compiles calls it as it was compiled alone."""
    pytest.importorskip("numba")
    code = (
        "import numpy as np; from attention.kernels import tiled_forward as t; "
        "loop = t.forward_loop.version(np.dtype('f')); "
        "(code,) = loop.inspect_llvm().values(); "
        "functions = [x for x in code.splitlines() if x.startswith('define')]; "
        "print(*(any(name in x for x in functions) for name in "
        "('forward_loop', 'raise_maximum')))"
    )
    out, _ = python(code, XDG_CACHE_HOME=str(tmp_path), ATTENTION_BACKEND="numba")
    assert out == "True False"


@pytest.mark.deep
def test_a_damaged_cache_is_replaced(tmp_path):
    pytest.importorskip("numba")
    place = {"XDG_CACHE_HOME": str(tmp_path), "ATTENTION_BACKEND": "numba"}
    python(RUN, **place)
    for file in tmp_path.rglob("*.nb?"):
        file.write_bytes(file.read_bytes()[:50])
    out, err = python(RUN, **place)
    assert out == "numba 0.76159 True" and err.startswith("compiling additive_product.")
    assert python(RUN, **place) == ("numba 0.76159 True", "")


def test_what_runs_depends_on_the_call_alone(nothing_chosen, monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(compiling, "_compile", lambda *a: "loop")
    loop, float32 = compiling.Kernel(additive_product.forward_loop.function), np.dtype("f")
    small, large = choice.WORTH_COMPILING - 1, choice.WORTH_COMPILING
    for _ in range(2):
        assert loop.version(float32, small) is None
        assert loop.version(float32, large) == "loop"
    with kernels.backend("numba"):
        assert loop.version(float32, 1) == "loop"
    with kernels.backend("numpy"):
        assert loop.version(float32, large) is None


def test_one_version_for_each_dtype():
    """Read-only arrays and others have one signature: nothing compiles twice."""
    pytest.importorskip("numba")
    with kernels.backend("numba"):
        loop = additive_product.forward_loop.version(np.dtype(np.float32))
    assert len(loop.signatures) == 1 and not loop._can_compile


def test_where_the_cache_is(nothing_chosen, monkeypatch):
    pytest.importorskip("numba")
    first = cache.cache_directory()
    assert first.parent == nothing_chosen / cache.PROJECT and first.is_dir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(nothing_chosen / "mine"))
    assert nothing_chosen / "mine" in cache.cache_directory().parents
    (nothing_chosen / "file").write_text("a file where a directory should be")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(nothing_chosen / "file"))
    assert cache.cache_directory() is None


def test_old_directories_are_removed(nothing_chosen):
    pytest.importorskip("numba")
    path = cache.cache_directory()
    for age in range(1, 8):
        other = path.parent / f"version{age}"
        other.mkdir()
        os.utime(other, (1e9 - age, 1e9 - age))
    assert cache.cache_directory() == path
    left = sorted(p.name for p in path.parent.iterdir() if p != path)
    assert left == ["version1", "version2", "version3"]


def test_another_process_removes_the_same_directories(nothing_chosen, monkeypatch):
    pytest.importorskip("numba")

    def is_gone(path):
        raise FileNotFoundError(path)

    monkeypatch.setattr(os.path, "getmtime", is_gone)
    assert cache.cache_directory() is not None
