"""What a check hands over stays as it is, or the answer is told that it changed it."""

import copy

import numpy as np
import pytest

import minigrad as mg
from lessons.classroom import audit, catalogue
from lessons.classroom.failure import CheckFailed
from lessons.classroom.handed import changed, first_changed, sealed
from lessons.classroom.mine import Mine

from .classroom_cases import answer


class Named(dict):
    """A dict of another class, as E.3's graphs are."""

    def __init__(self, title, pairs):
        super().__init__(pairs)
        self.title = title


GIVEN = Named("a graph", {"y": [("x", 3.0)], "x": [], "n": {"a": [1, 2, np.nan]}})


def test_a_sealed_copy_is_another_one_all_the_way_down():
    before, mine = copy.deepcopy(GIVEN), sealed(GIVEN)
    assert (
        type(mine) is Named and mine.title == "a graph" and mine.keys() == GIVEN.keys()
    )
    mine["y"].append(1), mine["n"]["a"].clear()
    assert not changed(before["y"], GIVEN["y"]) and len(GIVEN["n"]["a"]) == 3
    array, held = np.ones(3), mg.Tensor(np.ones(3))
    pair = sealed(([array], held, len))
    assert pair[1] is held and pair[2] is len and array.flags.writeable
    with pytest.raises(ValueError):
        pair[0][0][0] = 2


@pytest.mark.parametrize(
    "change",
    [
        lambda g: g["y"].reverse() or g["y"].append(1),
        lambda g: g.pop("x"),
        lambda g: g.update(z=[]),
        lambda g: g["y"].__setitem__(0, ("x", 4.0)),
        lambda g: g["n"]["a"].sort(reverse=True),
        lambda g: g.update(x=()),
    ],
)
def test_a_change_is_seen(change):
    theirs = sealed(GIVEN)
    before = sealed(theirs)
    assert not changed(before, theirs)
    change(theirs)
    assert changed(before, theirs)
    assert first_changed(["a", "b"], [1, before], [1, theirs]) == "b"
    assert first_changed([], [before], [theirs]) == "argument 1"
    assert first_changed(["a"], [before], [before]) is None


def test_equal_numbers_and_other_objects():
    held = mg.Tensor(np.ones(3))
    assert not changed([1.5, "a", float("nan")], [float("1.5"), "a", float("nan")])
    assert not changed([held], [held]) and changed([held], [mg.Tensor(np.ones(3))])
    assert changed([1], (1,)) and changed([1], [2])


def test_an_answer_that_changes_a_list_is_told_which():
    def spare(n, pairs, last=()):
        del pairs[-n:]
        return pairs

    my, given = Mine("9.9", {"spare": spare}, {}, "ex_9_9.py"), [1, 2, 3]
    for call in (lambda: my.spare(1, given), lambda: my.spare(1, pairs=given)):
        with pytest.raises(CheckFailed) as caught:
            call()
        assert caught.value.tag == "mutates-input"
        assert caught.value.lines[-1] == "changes pairs, which was given to it"
    assert given == [1, 2, 3] and my.spare(0, []) == []


@pytest.mark.parametrize(
    "id, old, new",
    [
        ("E.3", "    return finished[::-1]",
         "    for n in set(graph) - seen:\n        del graph[n]\n"
         "    return finished[::-1]"),
        ("E.3", "            stack.extend(",
         "            graph[name].reverse()\n            stack.extend("),
        ("6.9", "    sources = {", "    del pairs[-n:]\n    sources = {"),
    ],
)  # fmt: skip
def test_what_the_audit_found_is_named(id, old, new):
    code, failed = audit.run(catalogue.find(id), answer(id, old, new))
    assert (code, failed.tag) == (1, "mutates-input")
