"""Annotations that an editor needs: an operation gives a Tensor, with its parameters."""

import ast
import pathlib
import pkgutil
import typing

import attention
import minigrad as mg
from minigrad.differentiable import Operation, differentiable, lift
from minigrad.recording import no_grad
from minigrad.shapes import shapes


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
    plain, decorated = typing.get_overloads(no_grad)
    assert "function" not in typing.get_type_hints(plain)
    hints = typing.get_type_hints(decorated)
    assert hints["function"] is hints["return"]


def test_star_import_leaves_the_built_in_functions():
    names = {}
    exec("from minigrad import *", names)
    assert names["softmax"] is mg.softmax and names["nn"] is mg.nn
    assert not {"abs", "max", "min", "pow", "sum"} & names.keys()


def test_dir_lists_what_is_loaded_at_first_use():
    assert {"checkpoint", "draw", "softmax"} <= set(dir(mg))
    assert {"seq2seq", "show_heatmaps", *attention.__all__} <= set(dir(attention))


def test_editors_find_what_attention_has():
    stub = pathlib.Path(attention.__file__).with_suffix(".pyi").read_text("utf-8")
    modules, public = ast.parse(stub).body
    found = {each.name for each in pkgutil.iter_modules(attention.__path__)}
    assert all(alias.asname == alias.name for alias in modules.names)
    assert {alias.name for alias in modules.names} == found - {"__main__", "public"}
    assert (public.module, public.names[0].name) == ("public", "*")
