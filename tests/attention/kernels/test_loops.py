"""Each compiled loop equals the function of minigrad whose place it takes."""

import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from attention import kernels
from attention.kernels import linear_map
from attention.kernels.loops import LOOPS
from minigrad import loops
from minigrad.registry import OPS

from .kernel_cases import BACKENDS, CASES

pytest.importorskip("numba")

NAMES = [name for name in LOOPS if name != "gru"]  # tested apart


def arguments(name):
    """Return the arguments of an operation, without the gradient of its output."""
    return CASES[name].make(np.float32)[:-1]


@pytest.mark.parametrize("name", NAMES)
def test_nan_and_infinity_go_where_the_taught_form_has_them(name):
    arrays, found = CASES[name].make(np.float32), []
    for row, number in enumerate((np.nan, np.inf, -np.inf)):
        arrays[0][0, 7 * row, row] = number
    for backend in BACKENDS:
        with np.errstate(all="ignore"), kernels.backend(backend):
            found.append(CASES[name].run(*arrays))
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
        np.testing.assert_array_equal(a[np.isinf(b)], b[np.isinf(b)])


@pytest.mark.parametrize(
    "name, change",
    [
        ("linear", lambda x, W, b: (x, W.astype(float), b)),  # another dtype
        ("linear", lambda x, W, b: (x[:0], W, b)),
        ("gelu", lambda x: (x[:0],)),
        ("gelu", lambda x: (x, "tanh")),
        ("gelu", lambda x: (0.5,)),
        ("layer_norm", lambda x, w, b: (x, w)),
        ("layer_norm", lambda x, w, b: (x, w[1:], b[1:])),  # an error
    ],
)
def test_the_taught_form_computes_the_rest(name, change):
    args = arguments(name)
    with kernels.backend("numba"):
        assert LOOPS[name](*args) is not NotImplemented
        assert LOOPS[name](*change(*args)) is NotImplemented


def test_every_replaceable_operation_has_a_loop():
    marked = {name for name, op in OPS.items() if hasattr(op.raw, "taught")}
    assert marked - LOOPS.keys() == set()


def test_the_readme_of_the_kernels_names_every_file():
    folder = Path(kernels.__file__).parent
    text = (folder / "README.md").read_text("utf-8")
    names = {f"`{path.name}`" for path in folder.glob("[!_]*.py")}
    assert {name for name in names if name not in text} == set()


def test_operations_run_the_loops(monkeypatch):
    calls = []
    monkeypatch.setitem(LOOPS, "gelu", lambda x: calls.append(x) or NotImplemented)
    y = mg.gelu(mg.Tensor([1.0, 2.0]))
    assert len(calls) == 1
    assert y.data.tolist() == OPS["gelu"].raw.taught(np.array([1.0, 2.0]))[0].tolist()
    monkeypatch.setitem(LOOPS, "gelu", lambda x: (x + 1, lambda g: 7 * g))
    x = mg.Tensor([1.0, 2.0], requires_grad=True)
    mg.gelu(x).sum().backward()
    assert x.grad.tolist() == [7, 7]


def test_packages_with_loops_are_imported_when_there_is_work(monkeypatch, tmp_path):
    (tmp_path / "faster_gelu.py").write_text(
        "from minigrad.loops import LOOPS\n"
        "LOOPS['gelu'] = lambda x: (x + 1, lambda g: g)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    entry = metadata.EntryPoint("any", "faster_gelu", "minigrad.loops")
    monkeypatch.setattr(metadata, "entry_points", lambda group: [entry])
    monkeypatch.setattr(loops, "LOOPS", LOOPS.copy())
    loops.LOOPS.clear()
    loops._import_packages.cache_clear()
    sizes = loops.ENOUGH - 1, loops.ENOUGH, 1
    found = [mg.gelu(np.zeros(size, np.float32)).data[0] for size in sizes]
    sys.modules.pop("faster_gelu")
    assert found == [0, 1, 1]


def test_a_backward_that_nobody_needs_is_not_compiled(monkeypatch):
    monkeypatch.setattr(linear_map, "backward_loop", None)
    args = arguments("linear")
    with kernels.backend("numba"):
        y, _ = linear_map.linear(*args, needs=(False,) * 3)
    np.testing.assert_allclose(y, args[0] @ args[1].T + args[2], rtol=0, atol=1e-4)
