"""What editors and type checkers read: annotations, and lists of the public names."""

import ast
import importlib
import importlib.util
import inspect
import os
import pathlib
import pkgutil
import runpy
import shutil
import subprocess
import sys
import typing

import pytest

import attention
import minigrad as mg
from minigrad.differentiable import Operation, differentiable, lift
from minigrad.recording import no_grad
from minigrad.shapes import shapes

PROGRAM = pathlib.Path(__file__).with_name("user_program.py")
# A type checker must report each: an unknown name must not end the program for it.
MISTAKES = """# pyright: basic
import minigrad as mg
mg.nn.Liner(2, 3)
mg.sofmax([1.0])
mg.Tensor([1.0]).sum().bakward()
(2 * mg.Tensor([1.0])).bakwards()
mg.nn.Linear(2, 3)([[1.0, 2.0]]).backwart()
mg.Tensor([1.0]).sum(dim=1)
mg.Tensor([1.0]).max(1)
"""
WORDS = "Liner", "sofmax", "bakward", "bakwards", "backwart", "dim", "Never"


def test_a_call_of_a_layer_has_the_types_of_its_forward():
    hints = typing.get_type_hints(mg.nn.Module.__call__)
    assert typing.get_args(hints["self"])[1] is hints["return"]
    for layer in (mg.nn.Linear, mg.nn.LayerNorm, attention.MultiHeadAttention):
        assert typing.get_type_hints(layer.forward)["return"] is mg.Tensor


def test_unknown_keywords_of_a_method_are_of_type_never():
    for method in (mg.Tensor.sum, mg.Tensor.mean, mg.Tensor.argmax):
        assert typing.get_type_hints(method)["others"] is typing.Never


def test_an_operation_keeps_its_parameters_and_returns_a_tensor():
    for decorator in (differentiable, lift):
        hints = typing.get_type_hints(decorator)
        taken, given = hints["function"], hints["return"]
        assert typing.get_origin(given) is Operation
        assert typing.get_args(given)[0] is typing.get_args(taken)[0]  # one ParamSpec
    assert typing.get_type_hints(Operation.__call__)["return"] is mg.Tensor


def test_decorators_return_what_they_decorate():
    hints = typing.get_type_hints(shapes)
    assert hints["function"] is hints["return"]
    plain, decorated = typing.get_overloads(no_grad.__new__)
    assert "function" not in typing.get_type_hints(plain)
    hints = typing.get_type_hints(decorated)
    assert hints["function"] is hints["return"]


@pytest.mark.parametrize("module", [mg, mg.ops, mg.nn, mg.optim])
def test_a_module_lists_its_public_names(module):
    """A type checker takes a name that is imported and not listed to be private."""
    tree = ast.parse(pathlib.Path(module.__file__).read_text(encoding="utf-8"))
    found = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
        if alias.asname is None  # "abs as abs" is public, and not in a star import
    }
    hiding = {"abs", "max", "min", "pow", "sum"}  # functions of Python
    found -= {"*", "ops", "unknown", "FUNCTIONS"} | hiding
    assert found <= set(module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)


def test_a_users_program_runs():
    runpy.run_path(str(PROGRAM))


@pytest.mark.skipif(not importlib.util.find_spec("pyright"), reason="needs pyright")
def test_pyright_finds_the_mistakes_of_a_program_and_no_others(tmp_path):
    shutil.copy(PROGRAM, tmp_path)
    (tmp_path / "mistakes.py").write_text(MISTAKES)
    strict = PROGRAM.read_text().replace("pyright: basic", "pyright: strict")
    (tmp_path / "strict.py").write_text(strict)
    found = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(PROGRAM.parents[1])},
        capture_output=True,
        text=True,
    ).stdout
    lines = [line for line in found.splitlines() if " - error: " in line]
    strict = [line for line in lines if "strict.py" in line]
    assert len(strict) < 10, found  # the types of operations' arguments are unknown
    lines = [line for line in lines if line not in strict]
    assert len(lines) == len(WORDS) and "user_program" not in found, found
    for line, word in zip(lines, WORDS):
        assert word in line


def test_star_import_leaves_the_built_in_functions():
    names = {}
    exec("from minigrad import *", names)
    assert names["softmax"] is mg.softmax and names["nn"] is mg.nn
    assert not {"abs", "max", "min", "pow", "sum"} & names.keys()


def test_dir_lists_what_is_loaded_at_first_use():
    assert {"checkpoint", "draw", "softmax"} <= set(dir(mg))
    assert {"seq2seq", "show_heatmaps", *attention.__all__} <= set(dir(attention))


def test_editors_find_what_attention_has():
    tree = ast.parse(pathlib.Path(attention.__file__).read_text("utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    modules, public = block.body
    found = {each.name for each in pkgutil.iter_modules(attention.__path__)}
    assert {alias.name for alias in modules.names} == found - {"__main__", "public"}
    assert (public.module, public.names[0].name) == ("public", "*")


@pytest.mark.parametrize("package", [mg, attention], ids=["minigrad", "attention"])
def test_public_names_have_docstrings(package):
    """A method may leave it out if it overrides one that has a docstring."""
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if found.name == "attention.first_model":
            continue  # a script of forty lines, which its own docstring explains
        module = importlib.import_module(found.name)
        for name, node in public(ast.parse(inspect.getsource(module))).items():
            assert ast.get_docstring(node), f"{found.name}.{name}: no docstring"
            for method in public(node) if isinstance(node, ast.ClassDef) else ():
                documented = inspect.getdoc(getattr(getattr(module, name), method))
                assert documented, f"{found.name}.{name}.{method}: no docstring"


def public(tree):
    """{name: its last definition} of the public functions and classes in a tree."""
    nodes = [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
    return {node.name: node for node in nodes if not node.name.startswith("_")}
