"""An exercise is one file: how it is read, checked and named."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from lessons.classroom.catalogue import ROOT, exercises, find
from lessons.course import audit, check
from lessons.course.read import Source, opened, sealed

TEXT = '''"""W.1  Half of a sum  ●○○○  5 min

Return half of the sum of each row, and its gradient.
"""

import numpy as np


def half(x, n):
    """Return half of the sums of x (B, n).

    x (B, n)  ->  y (B,), backward;  backward(g) returns (dx)
    """
    y = x.sum(1) / 2  #? Over which axis is the sum?
    #! y = x.sum(1) / n  | the sum, divided by the number of columns
    #= y = 0.5 * x.sum(1)

    def backward(g):
        return (np.repeat(g[:, None], n, 1) / 2,)  #? Each entry has the share 1/2.
        #! return (np.repeat(g[:, None], n, 1) / n,)  | g / n

    return y, backward


def twice(y):
    """Return 2 y, for an array y (B,)."""
    return y + y


# ---- THE CHECK: each call my.f(…) is compared with the function f above


def rows(my, rng):
    """rows of two and of five numbers"""
    for n in (2, 5):
        my.half(rng.normal(size=(3, n)), n)


def law(my, rng):
    """a sum of zeros is zero"""
    found = my.only.half(np.zeros((1, 3)), 3)[0]
    my.holds("half", not found.any(), "0 for zeros", found)


HINTS = """
half  Write the sum with its index first,
   and then divide.
1  The gradient has the shape of x.
"""
WHY = """Each entry counts half. So its gradient is half of g."""
'''


def source(text=TEXT):
    return Source(text, "W.1", "w_1.py")


def failures(old, new, text=TEXT):
    answer = source(text).answer
    assert old in answer
    return audit.judge(source(text), answer.replace(old, new))[0]


def test_a_stub_has_what_is_given_and_no_mark():
    stub = source().stub
    assert 'raise NotWritten("W.1 half")\n\n    def backward(g):\n        raise' in stub
    assert "    return y, backward\n" in stub and "return y + y" in stub
    assert "#?" not in stub and "#!" not in stub and "THE CHECK" not in stub
    assert source().to_write == ["half"]


def test_a_forward_without_a_question_is_given():
    stub = source(TEXT.replace("  #? Over which axis is the sum?", "")).stub
    assert "    y = x.sum(1) / 2\n\n    def backward(g):\n        raise" in stub


def test_the_docstring_names_results_and_their_axes():
    assert source().results("half") == [("y", ["B"])]
    assert source().gradients("half") == [("dx", ["B", "n"])]
    two = TEXT.replace("->  y (B,), backward", "->  y (B,), z (n)")
    assert source(two).results("half") == [("y", ["B"]), ("z", ["n"])]


def test_hints_of_a_function_and_in_general():
    assert source().hints == {
        "half": ["Write the sum with its index first, and then divide."],
        "": ["The gradient has the shape of x."],
    }


def test_an_edit_replaces_the_statement_above_it():
    (of_y, of_g), (right,) = source().slips, source().right
    assert "y = x.sum(1) / n\n" in of_y.text and "y = x.sum(1) / 2" not in of_y.text
    assert source().question(of_g.line) == "Each entry has the share 1/2."
    assert not audit.judge(source(), right.text)[0]
    split = TEXT.replace("y = x.sum(1) / 2  #?", "y = (x.sum(1)\n         / 2)  #?")
    assert source(split).slips[0].text == of_y.text  # a statement of two lines


def test_the_answer_passes_and_the_stub_is_not_written():
    assert audit.judge(source(), source().answer) == ([], [])
    failed, unwritten = audit.judge(source(), source().stub)
    assert not failed and {o.lines[0] for o in unwritten} == {"W.1 half"}


def test_each_written_mistake_has_its_name_and_its_question():
    for edit in source().slips:
        failed, _ = audit.judge(source(), edit.text)
        assert failed[0].tag == edit.sentence
        assert failed[0].lines[-1] == source().question(edit.line)


@pytest.mark.parametrize(
    "old, new, name",
    [
        ("/ 2  ", "/ 2 + 1  ", None),  # nobody makes this mistake
        ("x.sum(1) / 2", "x.sum(1)", "without the factor 1 / 2 in y"),
        ("x.sum(1) / 2", "-x.sum(1) / 2", "with the other sign in y"),
        ("n, 1) / 2", "n, 1) * 2", "* 2 for"),
    ],
)
def test_a_mistake_without_a_line_is_named_by_rule(old, new, name):
    failed = failures(old.strip(), new.strip())
    assert name is None or name in failed[0].tag, failed[0].lines


def test_a_report_names_the_result_the_entry_and_both_numbers():
    failed = failures("/ 2,)", "/ 3,)")[0]
    assert failed.lines[0] == "dx, in the result of"
    assert failed.lines[1].startswith("backward(g=") and failed.part == "half"
    assert any("(at B" in line for line in failed.lines)
    assert any("entries differ" in line for line in failed.lines)


@pytest.mark.parametrize(
    "old, new, tag",
    [
        ("return y, backward", "return y", "no-backward"),
        ("return y, backward", "return y.tolist(), lambda g: backward(g)[0]", None),
        ("y = x.sum(1) / 2", "y = (x.sum(1) / 2).astype('f4')", "float32"),
        ("y = x.sum(1) / 2", "y = x.sum(1) / 2\n    x[0] = 0", "mutates-input"),
        ("y = x.sum(1) / 2", "y = x.sum(1) / z", "raises"),
        ("y = x.sum(1) / 2", "y = None", "none"),
        ("y = x.sum(1) / 2", "y = x.sum(1, keepdims=True) / 2", "unbroadcast"),
        ("def half(x, n)", "def half(x, m)", "signature"),
        ("def half", "def haff", "missing"),
        ("import numpy as np", "import numpy as np\nfrom attention import dot", "imports-answer"),
    ],
)
def test_what_is_no_result_has_a_name(old, new, tag):
    failed = failures(old, new)
    assert tag is None if not failed else failed[0].tag == tag, failed[0].lines


def test_the_backward_may_not_depend_on_later_calls():
    """The learner keeps x in a global name: the next call changes it."""
    old = "    def backward(g):\n        return (np.repeat(g[:, None], n, 1) / 2,)"
    new = (
        "    global kept\n    kept = n\n\n"
        "    def backward(g):\n        return (np.repeat(g[:, None], kept, 1) / 2,)"
    )
    assert failures(old, new)


def test_a_name_is_found_where_a_later_call_raises():
    """The axis -2 has a name for x (3, n), though x (n,) has no such axis."""
    text = TEXT.replace("x.sum(1) / 2", "x.sum(-1) / 2").replace(
        "np.repeat(g[:, None], n, 1) / 2", "np.stack([g] * n, -1) / 2"
    )
    last = "        my.half(rng.normal(size=(3, n)), n)\n"
    both = last.replace("3", "n") + "    my.half(rng.normal(size=n), n)\n"
    failed = failures("sum(-1)", "sum(-2)", text.replace(last, both))
    assert "with -2 for -1 in y" in failed[0].tag


def test_a_gradient_of_0_is_no_fault():
    zero = TEXT.replace("x.sum(1) / 2  #?", "0 * x.sum(1)  #?")
    zero = zero.replace("n, 1) / 2,)  #?", "n, 1) * 0,)  #?")
    assert not list(audit.gradients_of(source(zero)))


def test_a_law_is_part_of_the_report():
    text = TEXT.replace("not found.any()", "found.any()")
    failed, _ = audit.judge(source(text), source(text).answer)
    assert failed[0].lines[-2:] == ["expected 0 for zeros", "found [0.]"]


def test_a_sealed_file_is_the_stub_and_opens_to_the_same_text():
    text = sealed(TEXT)
    assert text.startswith(source().stub) and "x.sum(1)" not in text
    assert opened(text) == TEXT == opened(TEXT)
    assert Source(text, "W.1").answer == source().answer
    assert Source(text, "W.1").is_sealed and not source().is_sealed
    assert audit.judge(Source(text, "W.1", "w_1.py"), source().answer) == ([], [])


def test_numbers_in_another_honest_form_are_equal():
    my = check.load(source(), "w_1.py", source().answer)
    my.calls.wrap("f", lambda: 0)()
    for got, want in ((2.0, 2), (np.float64(3), 3.0), (np.array(3.0), 3.0), (4, 4.0)):
        my._equal(got, want)
    for got, want in (([1, 2], (1, 2)), ([[1, 2.5]], np.array([[1, 2.5]])), ((1, 2), [1, 2])):
        my._equal(got, want)


@pytest.mark.deep
def test_a_sealed_course_checks_and_shows_no_answer(tmp_path):
    """The project is copied, because ``dev seal`` writes into it."""
    for name in ("lessons", "attention", "minigrad"):
        shutil.copytree(ROOT / name, tmp_path / name)
    env = os.environ | {"LESSONS_WORK": str(tmp_path / "work")}

    def run(*verb):
        command = [sys.executable, tmp_path / "lessons", *verb]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        return done.stdout + done.stderr

    exercise = find("E.9")
    file = tmp_path / "lessons" / "exercises" / exercise.file.name
    assert "sealed" in run("dev", "seal")
    assert file.read_text("utf-8").startswith(exercise.stub_text)
    assert "bell" not in file.read_text("utf-8")
    run("start", "E.9")
    (tmp_path / "work" / "ex_e_9.py").write_text(exercise.answer_text, "utf-8")
    assert "passed" in run("check", "E.9")
    for verb in (["solution", "E.9"], ["experiment", "38.4", "--impl", "solution"]):
        assert "withheld" in run(*verb)
    assert "is sealed" in run("dev", "audit", "E.9")


def test_an_answer_may_do_without_a_given_helper():
    text = TEXT.replace("twice", "_twice")
    helper = '\n\ndef _twice(y):\n    """Return 2 y, for an array y (B,)."""\n    return y + y\n'
    answer = source(text).answer
    assert helper in answer
    assert not audit.judge(source(text), answer.replace(helper, ""))[0]


@pytest.mark.parametrize(
    ("text", "names"),
    [("dL/dx (B, n) for g = dL/dy", ["dx"]), ("(dx, dw) for g", ["dx", "dw"]), ("dx", ["dx"])],
)
def test_a_gradient_is_named_in_several_ways(text, names):
    found = source(TEXT.replace("returns (dx)", f"returns {text}")).gradients("half")
    assert [name for name, _ in found] == names


def test_a_gradient_that_is_zero_is_no_fault():
    text = TEXT.replace("x.sum(1) / 2  #", "0 * x.sum(1)  #")
    text = text.replace("g[:, None], n, 1) / 2,)", "0 * g[:, None], n, 1),)")
    assert not list(audit.gradients_of(source(text)))
def test_a_step_is_compared_with_the_same_step_of_a_copy_of_the_model():
    """The model and its optimizer change from call to call; so do their copies."""
    import minigrad as mg
    from minigrad import optim

    text = TEXT.partition("def half")[0] + """def step(model, optimizer, x):
    model.w.sum().backward()
    optimizer.step()  #? Which call moves the parameters?
    #! pass  | a model that does not move
    return 0.0


# ---- THE CHECK
"""
    model = mg.nn.Module()
    model.w = mg.nn.Parameter(np.ones(3))
    optimizer, of = optim.SGD(model.parameters(), 0.5), source(text)
    for answer, moves in ((of.answer, True), (of.slips[0].text, False)):
        my = check.load(of, "w_1.py", answer)
        for _ in range(2 if moves else 0):
            my.step(model, optimizer, 1.0)
    assert np.allclose(model.w.numpy(), 1 - 0.5 - 1.0)  # the gradients are not cleared
    with pytest.raises(check.CheckFailed) as failure:
        my.step(model, optimizer, 1.0)
    assert failure.value.lines[0] == "the new w, in the result of"


def test_no_warning_of_an_edit_is_shown(recwarn):
    text = TEXT.replace("x.sum(1) / 2  #", "(1 + x)[:, 0] / 2  #")  # an edit: 1[:, 0]
    assert failures("(1 + x)[:, 0] / 2", "(3 - x**3)[:, 0] / 2", text)
    assert not recwarn.list


def test_a_backward_that_changes_what_it_needs_is_named():
    new = "y = x.sum(1) / 2\n    share = np.full(n, 0.5)\n"
    text = source().answer.replace("y = x.sum(1) / 2\n", new)
    old = "        return (np.repeat(g[:, None], n, 1) / 2,)"
    assert old in text
    changed = "        nonlocal share\n        found = (g[:, None] * share,)\n"
    changed += "        share = 0 * share\n        return found"
    failed, _ = audit.judge(source(), text.replace(old, changed))
    assert failed[0].tag == "stateful" and "called again" in failed[0].lines[-1]


def test_a_call_may_follow_one_that_is_not_compared():
    my = check.load(source(), "w_1.py", source().answer)
    my.only.half(np.ones((3, 5)), 5)
    my.half(np.ones((3, 5)), 5)


LINES, LINES_OF_A_PROJECT = 150, 280  # of an exercise's file, also of a new one
PROJECTS = {"6.6", "6.7", "6.9", "38.4", "E.5", "E.15", "E.16"}
LONGER = {  # plain exercises that are longer, and how long they may be
    "6.8": 281, "38.5": 249, "38.2": 245, "38.3": 243, "38.6": 225, "6.10": 222,
    "E.4": 211, "6.4": 202, "E.24": 188, "E.22": 183, "E.23": 181, "E.13": 181,
    "E.12": 181, "6.2": 179, "E.7": 177, "6.3": 175, "E.20": 168, "E.18": 166,
}  # fmt: skip


def test_an_exercise_is_short():
    """Whoever makes a file longer shortens it elsewhere, or changes the table."""
    known = {exercise.id: exercise for exercise in exercises() if exercise.file}
    for id, exercise in known.items():
        least = LINES_OF_A_PROJECT if id in PROJECTS else LINES
        lines = len(exercise.file.read_text(encoding="utf-8").splitlines())
        assert lines <= LONGER.get(id, least), (id, lines)
    assert LONGER.keys() <= known.keys() and min(LONGER.values()) > LINES
