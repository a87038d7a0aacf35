"""An exercise is one file: how it is read, checked and named."""

import re
import sys

import numpy as np
import pytest

from lessons.classroom.catalogue import exercises, find
from lessons.course import audit, bank, naming, pictures
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
    assert "    return y, backward\n" in stub
    assert "#?" not in stub and "#!" not in stub and "THE CHECK" not in stub
    assert source().to_write == ["half"]


def test_the_docstring_names_results_and_their_axes():
    assert source().results("half") == [("y", ["B"])]
    assert source().gradients("half") == [("dx", ["B", "n"])]
    two = TEXT.replace("->  y (B,), backward", "->  y (B,), z (n)")
    assert source(two).results("half") == [("y", ["B"]), ("z", ["n"])]
    for text in ("dL/dx (B, n) for g = dL/dy", "(dx) for g", "dx", "\n    (dx)"):
        found = source(TEXT.replace("returns (dx)", f"returns {text}")).gradients("half")
        assert [name for name, _ in found] == ["dx"]


def test_an_edit_replaces_the_statement_above_it():
    (of_y, of_g), (right,) = source().slips, source().right
    assert "y = x.sum(1) / n\n" in of_y.text and "y = x.sum(1) / 2" not in of_y.text
    assert source().question(of_g.line) == "Each entry has the share 1/2."
    assert not audit.judge(source(), right.text)[0]
    for edit in (of_y, of_g):
        failed, _ = audit.judge(source(), edit.text)
        assert failed[0].tag == edit.sentence
        assert failed[0].lines[-1] == source().question(edit.line)
    split = TEXT.replace("y = x.sum(1) / 2  #?", "y = (x.sum(1)\n         / 2)  #?")
    assert source(split).slips[0].text == of_y.text  # a statement of two lines


def test_a_mistake_without_a_line_is_named_by_rule_or_not_at_all():
    assert failures("/ 2\n", "/ 2 + 1\n")  # nobody makes this mistake
    [named, *_] = failures("x.sum(1) / 2", "x.sum(1)")
    assert named.tag == "the right answer without the factor 1 / 2 in y"
    assert "* 2 for" in failures("n, 1) / 2", "n, 1) * 2")[0].tag


def test_a_report_names_the_result_the_entry_and_both_numbers():
    failed = failures("/ 2,)", "/ 3,)")[0]
    assert failed.lines[0] == "dx, in the result of"
    assert failed.lines[1].startswith("backward(g=") and failed.part == "half"
    assert failed.lines[2] == "entry [2, 0]  (at B 2, n 0)"
    expected, found = (float(line.split()[1]) for line in failed.lines[3:5])
    assert abs(expected / found - 3 / 2) < 1e-5
    assert failed.lines[5] == "6 of 6 entries differ"


@pytest.mark.parametrize(
    "old, new, tag",
    [
        ("return y, backward", "return y", "no-backward"),
        ("y = x.sum(1) / 2", "y = (x.sum(1) / 2).astype('f4')", "float32"),
        ("y = x.sum(1) / 2", "y = x.sum(1) / 2\n    x[0] = 0", "mutates-input"),
        ("y = x.sum(1) / 2", "y = x.sum(1, keepdims=True) / 2", "unbroadcast"),
        ("def half(x, n)", "def half(x, m)", "signature"),
        ("import numpy as np", "from attention import dot", "imports-answer"),
    ],
)
def test_what_is_no_result_has_a_name(old, new, tag):
    failed = failures(old, new)
    assert tag is None if not failed else failed[0].tag == tag, failed[0].lines


def test_a_law_is_part_of_the_report():
    text = TEXT.replace("not found.any()", "found.any()")
    failed, _ = audit.judge(source(text), source(text).answer)
    assert failed[0].lines[-2:] == ["expected 0 for zeros", "found [0.]"]


def test_ones_own_words_are_counted():
    words = find("6.1").parts
    text = words.answer + '\n\ndef explanation():\n    return "two words"\n'
    assert [failure.tag for failure in audit.judge(words, text)[0]] == ["words"]


def test_of_two_images_that_are_close_the_check_reads_the_closest():
    fig = pictures.new_figure((2, 1))
    for ax, weight in zip(fig.subplots(1, 2), (1.0, 1 - 1e-9)):
        ax.imshow(weight * np.eye(3), vmin=0, vmax=1)
        ax.set_title(f"{weight!r}")
    for weight in 1.0, 1 - 1e-9:
        found = pictures.has_image(fig, weight * np.eye(3), "the weights")
        assert found == ((0, 1), f"{weight!r}")


def test_a_sealed_file_is_the_stub_and_opens_to_the_same_text():
    text = sealed(TEXT)
    assert text.startswith(source().stub) and "x.sum(1)" not in text
    assert opened(text) == TEXT == opened(TEXT)
    assert Source(text, "W.1").answer == source().answer
    assert Source(text, "W.1").is_sealed and not source().is_sealed
    assert audit.judge(Source(text, "W.1", "w_1.py"), source().answer) == ([], [])


def test_an_identity_holds_in_every_wrong_call_or_is_no_name():
    x, y = (np.random.default_rng(seed).normal(size=(3, 5)) for seed in (0, 1))
    assert bank.identity([(x / 3, x), (y / 5, y)], False, "")[0] == "scale:1/3"
    for other in y.T, y + 1, np.where(y > 0, y, 0):
        assert bank.identity([(x / 3, x), (other, y)], False, "") is None
    none, text = np.zeros(0), np.array("a")
    assert not naming.same(none, text) and not bank.identity([(text, none)], False, "")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems set no limit")
def test_an_edit_that_needs_gigabytes_is_another_mistake():
    with naming.less_memory(), pytest.raises(MemoryError):
        np.ones(2**29)  # four GiB
    assert np.ones(2**24).size  # the limit ends with the block


@pytest.mark.parametrize("exercise", exercises(), ids=lambda e: e.id)
def test_every_written_mistake_is_noticed_and_named(exercise):
    found = audit.audit_exercise(exercise)
    assert not found.faults, "\n" + audit.table([found])
    assert found.named == found.noticed == found.written
    why = exercise.parts.why  # it has two sentences
    assert len(re.findall(r"[\w\])]\.(?: \w|$)", why)) == 2, why


LINES, LINES_OF_A_PROJECT = 150, 280  # of an exercise's file, also of a new one
PROJECTS = {"6.6", "6.7", "6.9", "38.4", "E.5", "E.15", "E.16"}
LONGER = {  # the exercises that are longer, and how long they may be
    "38.2": 188, "38.3": 200, "38.5": 227, "38.6": 181, "6.8": 226,
    "6.9": 310, "6.10": 192, "E.4": 162, "E.8": 218, "E.14": 166,
}  # fmt: skip


def test_an_exercise_is_short():
    """Whoever makes a file longer shortens it elsewhere, or changes the table."""
    known = {exercise.id: exercise for exercise in exercises()}
    for id, exercise in known.items():
        least = LINES_OF_A_PROJECT if id in PROJECTS else LINES
        lines = len(exercise.file.read_text(encoding="utf-8").splitlines())
        assert lines <= LONGER.get(id, least), (id, lines)
    assert LONGER.keys() <= known.keys() and min(LONGER.values()) > LINES
