"""Importing attention is fast, and its subpackages need no import of their own."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

CODE = """
import sys
import attention
heavy = {"numba", "matplotlib"}
large = "attention.marian", "attention.seq2seq", "attention.transformer"
print([name for name in large if name in sys.modules])
attention.marian.load, attention.transformer.DecoderOnly
attention.seq2seq.translator.load, attention.tasks.grammar.generate
print(sorted(heavy & set(sys.modules)))
"""


def test_large_subpackages_are_imported_at_their_first_use():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]


@pytest.mark.parametrize("package", ["attention.seq2seq", "attention.tasks"])
def test_a_subpackage_lists_all_its_modules(package):
    module = importlib.import_module(package)
    names = [each.name for each in pkgutil.iter_modules(module.__path__)]
    assert all(hasattr(module, name) for name in names)


def test_an_unknown_name_is_an_attribute_error():
    attention = importlib.import_module("attention")
    with pytest.raises(AttributeError, match="'attention' has no attribute 'nonsense'"):
        attention.nonsense
