"""A stub is the solution without its regions, and shows no line of them."""

import pytest

from lessons.classroom import stubs
from lessons.classroom.checking.harness import Harness
from lessons.course.check import My
from lessons.classroom.stubs import StubError, strip

WHOLE = '''"""9.9  A title  ●○○○  5 min"""

import numpy as np


def f(x):
    """Twice x."""
    # BEGIN SOLUTION
    return 2 * np.asarray(x)
    # END SOLUTION


# FOR THE CHECK

HINTS = {"": ["add it to itself"]}
MUTANTS = [("2 * np", "3 * np", "scale:1.5")]
'''


def test_the_calls_of_a_function_are_those_through_others_too():
    text = """
def a(x):
    return np.sum(x)

def b(x):
    return [a(y) for y in x]

def c(x):
    def inner():
        return b(x)
    return inner()
"""
    assert stubs.uses(text) == {"a": set(), "b": {"a"}, "c": {"a", "b"}}
    assert stubs.uses("def (") == {}


def test_a_region_becomes_not_written():
    assert strip(WHOLE, "9.9") == (
        '"""9.9  A title  ●○○○  5 min"""\n\nimport numpy as np\n\n'
        'from lessons import NotWritten\n\n\ndef f(x):\n    """Twice x."""\n'
        '    raise NotWritten("9.9 f")\n'
    )


@pytest.mark.parametrize(
    "imports, expected",
    [
        ("", ""),
        ("import math\n", "import math\n\n"),
        ("import minigrad as mg\n", "import minigrad as mg\n"),
        ("from minigrad import nn\n", False),
        ("import numpy as np\n\nfrom attention import a\n", None),
        ("from lessons.classroom.theory import Chain\n", False),
    ],
)
def test_the_import_stands_in_its_place(imports, expected):
    text = WHOLE.replace("import numpy as np\n", imports)
    stub = strip(text, "9.9")
    line = "from lessons import NotWritten\n"
    if expected is False:  # sorted: lessons comes before lessons.classroom
        assert line + imports in stub
    else:
        assert (imports if expected is None else expected) + line in stub


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("    # END SOLUTION\n", "", "without # END SOLUTION"),
        ("    # BEGIN SOLUTION\n", "", "expected '# BEGIN SOLUTION'"),
        ("    return 2", "    # BEGIN SOLUTION\n    return 2", "expected '# END SOL"),
        ("# BEGIN SOLUTION", "# BEGIN SOLUTION of f", "found '# BEGIN SOLUTION of f'"),
        ("Twice x.", "return 2 * np.asarray(x)", "can be read in the stub"),
        ("def f(x):", "if True:", "outside functions"),
        ("    # BEGIN SOLUTION\n    return 2 * np.asarray(x)\n    # END SOLUTION\n",
         "", "nothing to fill in"),
    ],
)  # fmt: skip
def test_a_solution_without_a_stub_is_refused(old, new, message):
    assert old in WHOLE
    with pytest.raises(StubError, match=message):
        strip(WHOLE.replace(old, new), "9.9")


@pytest.mark.parametrize("name", stubs.RESERVED)
def test_names_of_the_harness_are_refused(name):
    text = WHOLE.replace("def f(", f"def {name}(")
    with pytest.raises(StubError, match=f"the function {name}, .* another name"):
        strip(text, "9.9")
    assert strip(WHOLE.replace("def f(", f"def _{name}("), "9.9")


def test_the_names_of_the_harness_are_all_there():
    names = {n for of in (Harness, My) for n in vars(of) if not n.startswith("_")}
    assert names == set(stubs.RESERVED)


def test_signatures_and_unwritten_functions():
    assert stubs.signatures(WHOLE) == {"f": ["x"]}
    assert stubs.unwritten_functions(strip(WHOLE, "9.9")) == ["f"]
    assert (
        stubs.unwritten_functions(WHOLE) == stubs.unwritten_functions("def f(:") == []
    )
    below = 'def f(x):\n    return x\n    raise NotWritten("9.9 f")\n'
    assert (
        stubs.unwritten_functions(below) == []
    )  # an answer above the line to be replaced
    assert stubs.unwritten_functions(
        below.replace("    ret", "    if x:\n        ret")
    ) == ["f"]
