"""gradcheck refuses every wrong backward, of every operation."""

import random

import pytest

import minigrad as mg
from minigrad.registry import OPS

from .catalogue import REGISTERED, ZOO
from .harness import assert_close, through_engine
from .mutations import mutants
from .spec import SPECS, as_tuple


@pytest.mark.parametrize("name", REGISTERED)
def test_registered_operation_has_a_specification(name):
    if name not in SPECS:
        pytest.fail(f"{name} is registered and has no specification in tests/ops")


@pytest.mark.parametrize("name", SPECS)
def test_specified_operation_is_registered(name):
    assert name in OPS


def refuses(op, case):
    return not mg.gradcheck(lambda *t: case.run(op, t), case.inputs()).ok


def passed(spec, number=None):
    """The mutations which gradcheck does not refuse, of all or of ``number``."""
    case = spec.case(spec.checked()[0])
    made = list(mutants(case, spec.op.raw))
    assert len(made) >= 5, f"{spec.name}: few mutations of its first case matter"
    if number is not None:  # others of each operation, and always the same
        made = random.Random(spec.name).sample(made, number)
    return [name for name, mutant in made if not refuses(mutant, case)]


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_mutations_of_the_right_backward(spec):
    assert passed(spec, number=1) == []


@pytest.mark.deep
@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_all_mutations_of_the_right_backward(spec):
    assert passed(spec) == []


@pytest.mark.parametrize("spec, tag", ZOO)
def test_mistakes_that_are_written_out(spec, tag):
    """Refused for the backward alone: the values are those of the right operation."""
    mutant, cases = spec.mutant(tag), [spec.case(name) for name in spec.zoo[tag][1]]
    for case in cases:
        through_engine(mutant, case)  # it runs: a crash is no refusal
        pairs = zip(as_tuple(case.run(spec.op)), as_tuple(case.run(mutant)))
        for right, found in pairs:
            assert_close(found.data, right.data, 0)
    found = any(refuses(mutant, case) for case in cases)
    assert found, f"gradcheck passed the wrong backward {tag}"
