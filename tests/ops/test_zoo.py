"""Every operation has a specification and a zoo, and gradcheck empties the zoo."""

import functools

import pytest

import minigrad as mg
from minigrad.registry import OPS

from .catalogue import REGISTERED, ZOO
from .harness import assert_close, through_engine
from .spec import SPECS, as_tuple


@functools.cache
def killer(name, tag):
    """The case on which gradcheck refuses the wrong backward, or None.

    A backward that does not run, or gives gradients of no possible shape, is no catch;
    neither is a check that could not have failed. Both raise here.
    """
    spec = SPECS[name]
    mutant = spec.mutant(tag)
    for case_name in spec.zoo[tag][1]:
        case = spec.case(case_name)
        through_engine(mutant, case)
        if not mg.gradcheck(lambda *t: case.run(mutant, t), case.inputs()).ok:
            return case_name
    return None


@pytest.mark.parametrize("name", REGISTERED)
def test_registered_operation_has_a_specification_and_a_zoo(name):
    if name not in SPECS:
        pytest.fail(f"{name} is registered and has no specification in tests/ops")
    assert len(SPECS[name].zoo) >= 2, f"{name} needs two wrong backwards or more"


@pytest.mark.parametrize("name", SPECS)
def test_specified_operation_is_registered(name):
    assert name in OPS


@pytest.mark.parametrize("spec, tag", ZOO)
def test_zoo(spec, tag):
    """Refused for its backward alone: its values are those of the right operation."""
    case = spec.case(spec.zoo[tag][1][0])
    pairs = zip(as_tuple(case.run(spec.op)), as_tuple(case.run(spec.mutant(tag))))
    for right, found in pairs:
        assert_close(found.data, right.data, 0)
    assert killer(spec.name, tag), f"gradcheck passed the wrong backward {tag}"


@pytest.mark.deep
def test_table_of_the_zoo():
    """One row an operation: its cases and its zoo (shown by ``pytest -s``)."""
    rows = [
        (
            name,
            len(spec.cases),
            len(spec.zoo),
            sum(killer(name, tag) is not None for tag in spec.zoo),
        )
        for name, spec in SPECS.items()
    ]
    print(f"\n{'operation':<16} {'cases':>5} {'zoo':>4} {'refused':>7}")
    for row in rows:
        print("{:<16} {:>5} {:>4} {:>7}".format(*row))
    assert all(zoo == refused for _, _, zoo, refused in rows)
