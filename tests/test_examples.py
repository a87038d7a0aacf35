"""The examples in docstrings run and print what they show."""

import doctest
import importlib
import pathlib

import numpy as np
import pytest

import minigrad

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for package in ("minigrad", "attention")
    for path in sorted((ROOT / package).rglob("*.py"))
    if ">>>" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    names = {"np": np, "minigrad": minigrad}
    found = doctest.testmod(module, extraglobs=names)
    assert found.attempted and not found.failed


def test_the_search_finds_the_tensors_example():
    assert "minigrad.tensor" in MODULES
