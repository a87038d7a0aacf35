"""Exercises and lessons are found by many names, and state what they need."""

import re

import pytest

from lessons.classroom import catalogue
from lessons.classroom.catalogue import (
    Header,
    UsageError,
    find_lessons,
    header,
    lesson_folders,
    number,
)

LESSON = '''"""{header}

Is it?
"""

# %%
print("a line")

# %% [markdown]
# See exercise 6.9, and:
#
# Exercises: E.1 and
# {also}: `python -m lessons start E.1`. Later 6.3.
'''
TABLE = """# Lessons

| lesson | question |
|---|---|
| [03](book/03_x/README.md) | 6.2.9 |

| text | section | lesson |
|---|---|---|
| Chapter 6 | 6.2.1 to 6.2.3 scores | 03 |
| | 6.3.1, 6.3.2 dot | 04, 03 |
| Chapter 38 | 38.1 four scores | 04 |
| | the Gaussian kernel | 03 |
"""


@pytest.fixture
def book(tmp_path):
    for name, header, also in (
        ("03_additive", "03  Additive attention  ●●○○  40 min", "38.5"),
        ("04_dot_general", "04  Products  ●●●○  30 min  needs 02, 03", "E.2"),
    ):
        (tmp_path / "book" / name).mkdir(parents=True)
        text = LESSON.format(header=header, also=also)
        (tmp_path / "book" / name / "lesson.py").write_text(text)
    (tmp_path / "README.md").write_text(TABLE)
    return tmp_path / "book"


@pytest.mark.parametrize(
    "name, numbers",
    [
        ("3", "03"), ("03_additive/", "03"), ("additive", "03"), ("dot general", "04"),
        ("38", "04"), ("§38.1", "04"), ("6.2.2", "03"), ("§ 6.3.2", "03 04"),
        ("E.1", "03"), ("e2", "04"), ("Gaussian", "03"), ("prod", "04"),
        ("scores", "03 04"), ("chapter 38", "03 04"),
    ],
)  # fmt: skip
def test_a_word_finds_a_lesson(book, name, numbers):
    assert " ".join(map(number, find_lessons(name, book))) == numbers


@pytest.mark.parametrize("name", ["8", "§38.2", "additives", ""])
def test_other_words_find_none(book, name):
    with pytest.raises(UsageError, match="There are: 03, 04; .* table of the chapters"):
        find_lessons(name, book)


def test_the_header_of_a_lesson(book):
    first, second = map(header, lesson_folders(book))
    ids, needs = ("E.1", "38.5"), ("02", "03")
    assert first == Header("03", "Additive attention", 40, (), "●●○○", "Is it?", ids)
    ids = "E.1", "E.2"
    assert second == Header("04", "Products", 30, needs, "●●●○", "Is it?", ids)


def test_lessons_and_exercises_name_each_other():
    known = {e.id for e in catalogue.exercises()}
    numbers = {number(folder) for folder in lesson_folders()}
    for folder in lesson_folders():
        head = header(folder)
        assert head.number == number(folder) and head.question, folder.name
        assert set(head.needs) <= numbers - {head.number}, folder.name
        assert head.exercises and set(head.exercises) <= known, folder.name
    assert all(map(catalogue.lessons_of, catalogue.exercises()))
    *path, (_, without) = catalogue.in_book_order()
    assert without == [] and path[0][1][0].id == "E.1"
    assert sorted(e.id for _, found in path for e in found) == sorted(known)


@pytest.mark.parametrize("name", ["E.2", "e2", "ex_e_2", "a b/ex_e_2.py"])
def test_an_exercise_goes_by_many_names(name):
    assert catalogue.find(name).id == "E.2"


@pytest.mark.parametrize(
    "word, ids",
    [
        ("Sparsmax", "E.17"), ("masked softmax", "E.7"), ("merge", "E.8 E.18"),
        ("foo", ""), ("E.99", "E.1 E.24"), ("5", "38.2 38.3 6.10 38.4"),
    ],
)  # fmt: skip
def test_an_unknown_word_is_answered_with_a_few_exercises(word, ids):
    with pytest.raises(UsageError) as error:
        catalogue.find(word)
    found = re.findall(r"\b(?:38|6|E)\.\d+", str(error.value).replace("E.99", ""))
    assert " ".join(found) == ids
