"""All specifications, and the lists that the tests are parametrised by."""

import importlib
import pathlib
import pkgutil

import pytest

import attention
import minigrad
from minigrad.registry import OPS

from .spec import SPECS

for module in pkgutil.iter_modules([str(pathlib.Path(__file__).parent)]):
    if not module.name.startswith("test_"):
        importlib.import_module(f"{__package__}.{module.name}")  # fills SPECS
for package in minigrad, attention:  # every module, so that no operation is missed
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
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
FIRST_CASES = [  # the first of every operation, a telling one; --deep: the others
    pytest.param(spec, case, id=f"{name}-{case}", marks=[pytest.mark.deep] if i else [])
    for name, spec in SPECS.items()
    for i, case in enumerate(spec.cases)
]
CHECKED_CASES = [  # --deep: those of more than a hundred tokens
    pytest.param(
        spec,
        case,
        id=f"{name}-{case}",
        marks=[pytest.mark.deep] if case.endswith("chunks") else [],
    )
    for name, spec in SPECS.items()
    for case in spec.checked()
]
ZOO = [pytest.param(s, tag, id=f"{n}-{tag}") for n, s in SPECS.items() for tag in s.zoo]
