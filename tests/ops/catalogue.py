"""All specifications, and the lists that the tests are parametrised by."""

import importlib
import pkgutil

import pytest

import attention
import minigrad
from minigrad.registry import OPS

from . import (  # noqa: F401  (each fills SPECS)
    activation,
    arithmetic,
    attention_core,
    decoder,
    index,
    linear,
    local,
    loss,
    matmul,
    normalise,
    positions,
    recurrent,
    reduce,
    sdpa,
    shape,
)
from .spec import SPECS

for house in minigrad, attention:  # every module, so that no operation can hide
    for module in pkgutil.walk_packages(house.__path__, house.__name__ + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

REGISTERED = sorted(
    name
    for name, op in OPS.items()
    if op.__module__.split(".")[0] in ("minigrad", "attention")
)
EVERY_CASE = [
    pytest.param(spec, case, id=f"{name}-{case}")
    for name, spec in SPECS.items()
    for case in spec.cases
]
CHECKED_CASES = [
    pytest.param(spec, case, id=f"{name}-{case}")
    for name, spec in SPECS.items()
    for case in spec.checked()
]
ZOO = [
    pytest.param(spec, tag, id=f"{name}-{tag}")
    for name, spec in SPECS.items()
    for tag in spec.zoo
]
