"""Submodules that are there without an import of their own."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

CODE = """
import sys
import attention
heavy = {"numba", "matplotlib"}
late = "attention.marian", "attention.seq2seq", "attention.transformer"
print([name for name in late if name in sys.modules])
attention.marian.load, attention.transformer.DecoderOnly
attention.seq2seq.translator.load, attention.tasks.grammar.generate
print(sorted(heavy & set(sys.modules)))
"""


def test_they_are_imported_when_they_are_asked_for():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]


@pytest.mark.parametrize("package", ["attention.seq2seq", "attention.tasks"])
def test_all_of_a_package_can_be_reached(package):
    module = importlib.import_module(package)
    names = [each.name for each in pkgutil.iter_modules(module.__path__)]
    for name in names:  # also those that something else has imported by now
        assert module.__getattr__(name).__name__ == f"{package}.{name}"
    assert names


def test_what_is_not_there_is_an_attribute_error():
    attention = importlib.import_module("attention")
    with pytest.raises(AttributeError, match="'attention' has no attribute 'nonsense'"):
        attention.nonsense
    assert not hasattr(attention.seq2seq, "nonsense")
