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
| Notes | all of it | 04 |
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
        ("3", "03"), ("03", "03"), ("03_additive", "03"), ("03_additive/", "03"),
        ("additive", "03"), ("General", "04"), ("dot general", "04"),
        ("products", "04"), ("38", "04"), ("§38.1", "04"), ("38.1.2", "04"),
        ("§6.2", "03"), ("6.2.2", "03"), ("§6.3.2", "03 04"), ("6", "03 04"),
        ("§ 6.2.2", "03"), ("§6", "03 04"), ("E.1", "03"), ("e2", "04"),
        ("Gaussian", "03"), ("prod", "04"), ("four scores", "04"), ("scores", "03 04"),
        ("dot", "04"), ("notes", "04"), ("chapter 38", "03 04"), ("chapter 6", "03 04"),
    ],
)  # fmt: skip
def test_a_word_finds_a_lesson(book, name, numbers):
    assert " ".join(map(number, find_lessons(name, book))) == numbers


@pytest.mark.parametrize("name", ["8", "§38.2", "6.2.9", "additives", "", "6.", "?"])
def test_other_words_find_none(book, name):
    with pytest.raises(UsageError, match="There are: 03, 04; .* table of the chapters"):
        find_lessons(name, book)


@pytest.mark.parametrize(
    "name, numbers",
    [
        ("transformer", "10"), ("Gaussian", "09"), ("§38.5", "05"), ("6.2.5", "03 14"),
        ("38", "04 05 07 08 10 12 13 14"), ("masks", "06"), ("mask", "06"), ("E.7", "06"),
        ("38.1", "04"), ("6", "06"), ("§6.1", "02 13"), ("6.1", "03"),
    ],
)  # fmt: skip
def test_the_table_of_the_course_leads_to_its_lessons(name, numbers):
    assert " ".join(map(number, find_lessons(name))) == numbers


def test_the_header_of_a_lesson(book):
    first, second = map(header, lesson_folders(book))
    ids = "E.1", "38.5"
    assert first == Header("03", "Additive attention", 40, (), "●●○○", "Is it?", ids)
    ids = "E.1", "E.2"
    assert second == Header(
        "04", "Products", 30, ("02", "03"), "●●●○", "Is it?", ids
    )


def test_every_lesson_states_its_number_its_question_and_its_exercises():
    numbers = [number(folder) for folder in lesson_folders()]
    for k, folder in enumerate(lesson_folders()):
        head = header(folder)
        assert head.number == numbers[k], f"{folder.name}: its first line"
        assert set(head.needs) <= {*numbers} - {head.number}, folder.name
        assert head.question, f"{folder.name}: its docstring asks no question"
        last = "Exercises: E.1 … `python -m lessons start E.1`"
        assert head.exercises, f"{folder.name} does not end with {last}"


@pytest.mark.parametrize("name", ["E.2", "e2", "e.2", "ex_e_2", "a b/ex_e_2.py", "E2"])
def test_an_exercise_goes_by_many_names(name):
    assert catalogue.find(name).id == "E.2"


def test_an_unknown_name_is_answered_with_near_ones():
    with pytest.raises(
        catalogue.UsageError, match=r"no exercise '6.99'.*6\.1, .*6\.10"
    ):
        catalogue.find("6.99")


@pytest.mark.parametrize(
    "word, ids",
    [
        ("sparsemax", "E.17"), ("Sparsmax", "E.17"), ("masked softmax", "E.7"),
        ("graph", "E.3"), ("merge", "E.8 E.18"), ("translater", "E.15"), ("foo", ""),
        ("softmax", "6.10 E.2 E.5 E.7 E.8"), ("E.99", "E.1 E.24"), ("", ""),
    ],
)  # fmt: skip
def test_an_unknown_word_is_answered_with_a_few_exercises(word, ids):
    with pytest.raises(catalogue.UsageError) as error:
        catalogue.find(word)
    found = re.findall(r"\b(?:38|6|E)\.\d+", str(error.value).replace("E.99", ""))
    assert " ".join(found) == ids and "python -m lessons list" in str(error.value)


@pytest.mark.parametrize(
    "word, folder", [("atention", "attention"), ("positons", "11_positions")]
)
def test_an_unknown_word_is_answered_with_near_lessons(word, folder):
    with pytest.raises(UsageError, match=f"no lesson {word}.*{folder}.*There are: 00"):
        find_lessons(word)


@pytest.mark.parametrize(
    "line", ["9.9  A title  ●○○  5 min", "9.9 A title", "9.8  A title  ●○○○  5 min"]
)
def test_a_wrong_first_line_is_refused(line, tmp_path):
    path = tmp_path / "ex_9_9.py"
    path.write_text(f'"""{line}\n"""\n', encoding="utf-8")
    with pytest.raises(catalogue.UsageError, match="first line"):
        catalogue.read_header(path)


def test_the_list_is_in_the_order_of_the_book():
    ids = [e.id for e in catalogue.exercises()]
    assert ids.index("38.5") < ids.index("6.1") < ids.index("6.10") < ids.index("E.2")


def test_every_exercise_belongs_to_a_lesson_and_every_lesson_lists_known_ones():
    known = {e.id for e in catalogue.exercises()}
    listed = [id for folder in lesson_folders() for id in header(folder).exercises]
    assert set(listed) <= known
    assert all(map(catalogue.lessons_of, catalogue.exercises()))
    *path, (_, without) = catalogue.in_book_order()
    assert without == [] and path[0][1][0].id == "E.1"
    assert sorted(e.id for _, found in path for e in found) == sorted(known)


@pytest.mark.parametrize(
    "name, fragment",
    [
        ("5", "5 is not an exercise. The exercises of lesson 05: 38.2, 38.3"),
        ("§38.3", "§38.3 is not an exercise. The exercises of lesson 05: 38.2, 38.3"),
        ("38", "There are 38.1, "),
    ],
)
def test_a_lesson_or_a_section_is_no_exercise(name, fragment):
    with pytest.raises(UsageError) as error:
        catalogue.find(name)
    assert fragment in str(error.value)


def test_a_section_without_the_sign_is_an_exercise_or_an_error_that_names_the_sign():
    with pytest.raises(UsageError, match=r"no exercise '38.9'.* §38.9 is in lesson 10"):
        find_lessons("38.9")


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A folder of exercises in the place of the course's: a function of an id."""
    monkeypatch.setattr(catalogue, "LESSONS", tmp_path)

    def add(id):
        (tmp_path / "exercises").mkdir(exist_ok=True)
        path = tmp_path / "exercises" / f"05_{id.lower().replace('.', '_')}_word.py"
        path.write_text(f'"""{id}  A title  ●○○○  5 min\n"""\n', encoding="utf-8")

    return add


def test_the_name_of_a_file_begins_with_its_lesson(course):
    course("W.1")
    assert catalogue.find("w1") == catalogue.find("ex_w_1.py")
    assert [number(f) for f in catalogue.lessons_of(catalogue.find("W.1"))] == ["05"]
    assert [number(f) for f in find_lessons("W.1")] == ["05"]
