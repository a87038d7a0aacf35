"""Exercises and lessons are found by many names, and state what they need."""

import re

import pytest

from lessons.classroom import catalogue
from lessons.classroom.catalogue import (
    UsageError, find_lessons, header, lesson_folders, number,
)  # fmt: skip


@pytest.mark.parametrize(
    "name, numbers",
    [
        ("5", "05"), ("05_scaling/", "05"), ("Whole game", "start"), ("mask", "06"),
        ("§38.5", "05"), ("38.1", "04"), ("6.2.5", "03 14"), ("6.1", "03"), ("e7", "06"),
        ("transformer", "10"), ("Gaussian", "09"), ("38", "04 05 07 08 10 12 13 14"),
    ],
)  # fmt: skip
def test_a_word_finds_a_lesson(name, numbers):
    assert " ".join(map(number, find_lessons(name))) == numbers


@pytest.mark.parametrize("name", ["99", "§38.99", "scalings", ""])
def test_other_words_find_none(name):
    with pytest.raises(UsageError, match="There are: start, 00, .* table of the chapters"):
        find_lessons(name)


def test_lessons_and_exercises_name_each_other():
    known = {e.id for e in catalogue.exercises()}
    numbers = {number(folder) for folder in lesson_folders()}
    for folder in lesson_folders():
        head = header(folder)
        assert head.number == number(folder) and head.question, folder.name
        assert head.minutes and head.dots and head.title, folder.name
        assert set(head.needs) <= numbers - {head.number}, folder.name
        assert {*head.exercises} < known and (head.exercises or head.number == "start")
    assert all(map(catalogue.lessons_of, catalogue.exercises()))
    *path, (_, without) = catalogue.in_book_order()
    assert without == [] and path[1][1][0].id == "E.1"
    assert sorted(e.id for _, found in path for e in found) == sorted(known)


def test_the_core_route_has_before_a_stop_all_that_it_needs():
    """Its stops are the lessons of the greatest importance; so are their exercises."""
    text = (catalogue.LESSONS / "README.md").read_text(encoding="utf-8")
    route = text.partition("## The core route")[2].partition("\nThen ")[0]
    heads = {number(folder): header(folder) for folder in lesson_folders()}
    done, solved = [], []
    for stop in re.split(r"^\d+\. ", route, flags=re.M)[1:]:
        (lesson,) = re.findall(r"\(book/([^_]+)_\w+/README\.md\)", stop)
        done.append(lesson)
        assert set(heads[lesson].needs) <= set(done), f"{lesson}: {heads[lesson].needs}"
        for id in re.findall(rf"(?<![\w.]){catalogue.ID}", re.sub("`.*?`", "", stop)):
            assert set(catalogue.find(id).needs) <= set(solved), id
            solved.append(id)
    assert sorted(done) == sorted(n for n in heads if heads[n].importance == "★★★")
    assert sum(catalogue.find(id).minutes for id in solved) == pytest.approx(300, abs=30)


@pytest.mark.parametrize("name", ["E.2", "e2", "ex_e_2", "a b/00_e_2_backwards.py"])
def test_an_exercise_goes_by_many_names(name):
    assert catalogue.find(name).id == "E.2"


@pytest.mark.parametrize(
    "word, ids",
    [
        ("Sparsmax", "E.17"), ("masked softmax", "E.7"), ("merge", "E.8 E.18 E.25"),
        ("foo", ""), ("E.99", "E.1 E.28 E.9"), ("38", "38.1 38.6 38.2 38.3 38.4 38.5"),
        ("5", "38.2 38.3 6.10 38.4"),
    ],
)  # fmt: skip
def test_an_unknown_word_is_answered_with_a_few_exercises(word, ids):
    with pytest.raises(UsageError) as error:
        catalogue.find(word)
    found = re.findall(r"\b(?:38|6|E)\.\d+", str(error.value).replace("E.99", ""))
    assert " ".join(found) == ids
