"""Exercises and lessons are found by many names, and state what they need."""

import pytest

from lessons.classroom import catalogue
from lessons.classroom.catalogue import (
    LESSONS,
    Header,
    UsageError,
    find_lessons,
    header,
    lesson_folders,
    number,
)

LESSON = '''"""A lesson.{dots}"""

# %% [markdown]
# # {title}
#
# {prose}

# %%
print("You need [lesson 99](../99_x/README.md). An hour.")
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
    needs = (
        "See [lesson 01](../01_x). You\n# need lessons [02](../02_x/README.md) and "
        "[03](../03_x/README.md), and half\n# an hour."
    )
    for name, title, prose, dots in (
        ("03_additive", "03. Additive attention", "It is. You\n# need nothing.", ""),
        ("04_dot_general", "04. Products", needs, "  ●●●○"),
    ):
        (tmp_path / "book" / name).mkdir(parents=True)
        text = LESSON.format(title=title, prose=prose, dots=dots)
        (tmp_path / "book" / name / "lesson.py").write_text(text)
    (tmp_path / "README.md").write_text(TABLE)
    return tmp_path / "book"


@pytest.mark.parametrize(
    "name, numbers",
    [
        ("3", "03"), ("03", "03"), ("03_additive", "03"), ("03_additive/", "03"),
        ("additive", "03"), ("General", "04"), ("dot general", "04"),
        ("products", "04"), ("38", "04"), ("38.1", "04"), ("38.1.2", "04"),
        ("6.2", "03"), ("6.2.2", "03"), ("6.3.2", "03 04"), ("6", "03 04"),
        ("Gaussian", "03"), ("prod", "04"), ("four scores", "04"), ("scores", "03 04"),
        ("dot", "04"), ("notes", "04"), ("chapter 38", "03 04"), ("chapter 6", "03 04"),
    ],
)  # fmt: skip
def test_a_word_finds_a_lesson(book, name, numbers):
    assert " ".join(map(number, find_lessons(name, book))) == numbers


@pytest.mark.parametrize("name", ["8", "38.2", "6.2.9", "additives", "", "6.", "?"])
def test_other_words_find_none(book, name):
    with pytest.raises(UsageError, match="There are: 03, 04; .* table of the chapters"):
        find_lessons(name, book)


@pytest.mark.parametrize(
    "name, numbers",
    [
        ("transformer", "10"), ("Gaussian", "09"), ("38.5", "05"), ("6.2.5", "03 14"),
        ("38", "04 05 07 08 10 12 14"), ("masks", "06"),
    ],
)  # fmt: skip
def test_the_table_of_the_course_leads_to_its_lessons(name, numbers):
    assert " ".join(map(number, find_lessons(name))) == numbers


def test_the_header_of_a_lesson(book):
    first, second = map(header, lesson_folders(book))
    assert first == Header("03", "Additive attention", None, (), "")
    assert second == Header("04", "Products", 30, ("02", "03"), "●●●○")


def test_every_lesson_states_its_minutes_and_needs_in_known_words():
    folders = lesson_folders()
    index = (LESSONS / "README.md").read_text(encoding="utf-8")
    for folder in folders:
        head = header(folder)
        assert set(head.needs) <= set(map(number, folders))
        link = f"[{head.number}. {head.title}](book/{folder.name}/README.md)"
        row = next((line for line in index.splitlines() if link in line), "")
        assert row.endswith(f"| {head.dots} | {head.minutes} |"), folder
        assert head.dots and head.minutes


@pytest.mark.parametrize("name", ["E.2", "e2", "e.2", "ex_e_2", "a b/ex_e_2.py", "E2"])
def test_an_exercise_goes_by_many_names(name):
    assert catalogue.find(name).id == "E.2"


def test_an_unknown_name_is_answered_with_near_ones():
    with pytest.raises(
        catalogue.UsageError, match=r"no exercise '6.99'.*6\.1, .*6\.10"
    ):
        catalogue.find("6.99")


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
