"""Importing attention imports nothing else; its names are imported at their first use."""

import importlib
import pickle
import pkgutil
import pydoc
import re
import subprocess
import sys

import pytest

import attention
from attention import public

SUBPACKAGES = """
import sys
import attention
print([name for name in ("numpy", "minigrad") if name in sys.modules])
attention.kernels.backend, attention.positions.alibi, attention.exact
attention.costs.cost_of, attention.app
attention.published.marian.load, attention.transformer.DecoderOnly
attention.seq2seq.translator.load, attention.tasks.grammar.generate
from attention import *
late = "numba", "matplotlib", "torch", "pytest"
print([name for name in late if name in sys.modules])
"""
WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = None
from attention import attend
"""


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_subpackages_are_imported_at_their_first_use():
    done = python(SUBPACKAGES)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[]", "[]"]


@pytest.mark.parametrize("package", ["attention.seq2seq", "attention.tasks"])
def test_a_subpackage_lists_all_its_modules(package):
    module = importlib.import_module(package)
    names = [each.name for each in pkgutil.iter_modules(module.__path__)]
    assert all(hasattr(module, name) for name in names)


def test_the_names_are_those_of_public():
    names = {}
    exec("from attention import *", names)
    assert names.keys() - {"__builtins__"} == set(public.__all__)
    assert {name for name in vars(public) if name[0] != "_"} == set(public.__all__)
    assert all(names[name] is getattr(public, name) for name in public.__all__)
    modules = {each.name for each in pkgutil.iter_modules(attention.__path__)}
    assert set(public.__all__) & modules == {"masks"}
    assert all(getattr(attention, name) for name in modules - {"__main__"})


def test_functions_are_pickled_and_documented():
    assert pickle.loads(pickle.dumps(attention.attend)) is attention.attend
    text = pydoc.plain(pydoc.render_doc(attention))
    assert re.search(r"attend\(\s*query,\s*keys,\s*values", text)  # 3.13 breaks lines
    assert "kernels (package)" in text


def test_an_unknown_name_is_an_attribute_error():
    message = "attention has no 'atend'"
    with pytest.raises(AttributeError, match=message):
        attention.atend
    assert (
        "Did you mean: 'attend'?" in python("import attention; attention.atend").stderr
    )


def test_a_missing_numpy_is_an_import_error():
    assert "import of numpy halted" in python(WITHOUT_NUMPY).stderr.splitlines()[-1]
