"""Which lesson a word means, what the list says of it, and its experiment."""

import json

import pytest

from lessons.classroom import cli, journal, overview, shelf, visits, weave
from lessons.classroom.catalogue import UsageError
from lessons.classroom.fingerprint import fingerprint
from lessons.classroom.paths import LESSONS

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
| | 38.6 is not there: nobody wrote it | none |
| | the Gaussian kernel | 03 |
"""


@pytest.fixture
def book(tmp_path):
    book = tmp_path / "book"
    for name, title, prose in (
        ("03_additive", "03. Additive attention", "It is. You\n# need nothing."),
        (
            "04_dot_general",
            "04. Products",
            "See [lesson 01](../01_x). You\n# need lessons [02](../02_x/README.md) "
            "and [03](../03_x/README.md), and half\n# an hour.",
        ),
    ):
        (book / name).mkdir(parents=True)
        dots = "  ●●●○" if name == "04_dot_general" else ""
        text = LESSON.format(title=title, prose=prose, dots=dots)
        (book / name / "lesson.py").write_text(text)
    (tmp_path / "README.md").write_text(TABLE)
    return book


@pytest.fixture
def learner(tmp_path, monkeypatch):
    monkeypatch.setenv("LESSONS_WORK", str(tmp_path / "work"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize(
    "name, numbers",
    [
        ("3", "03"), ("03", "03"), ("03_additive", "03"), ("03_additive/", "03"),
        ("additive", "03"), ("General", "04"), ("dot general", "04"),
        ("products", "04"), ("38", "04"), ("38.1", "04"), ("38.1.2", "04"),
        ("6.2", "03"), ("6.2.2", "03"), ("6.3.2", "03 04"), ("6", "03 04"),
        ("Gaussian", "03"), ("four scores", "04"), ("scores", "03 04"), ("dot", "04"),
        ("notes", "04"), ("chapter 38", "03 04"), ("chapter 6", "03 04"),
    ],
)  # fmt: skip
def test_a_word_means_a_lesson(book, name, numbers):
    assert " ".join(map(shelf.number, shelf.meant(name, book))) == numbers


@pytest.mark.parametrize("name", ["8", "38.2", "6.2.9", "additives", "", "6.", "?"])
def test_other_words_mean_none(book, name):
    with pytest.raises(UsageError, match="There are: 03, 04; .* table of the chapters"):
        shelf.meant(name, book)


def test_a_section_that_a_chapter_has_not_is_said_to_be_none(book):
    with pytest.raises(UsageError, match=r"lesson 38\.6: 38\.6 is not .* wrote it\.$"):
        shelf.meant("38.6", book)
    assert "38.4 is not there" in shelf.said_of("38.4", LESSONS / "README.md")


@pytest.mark.parametrize("word, numbers", [("transformer", "10"), ("Gaussian", "09")])
def test_words_of_the_index_lead_to_lessons(word, numbers):
    assert " ".join(map(shelf.number, shelf.meant(word))) == numbers
    assert {"02", "05", "09", "12"} <= set(map(shelf.number, shelf.meant("notes")))


def test_every_section_of_the_index_leads_to_its_lessons():
    readme = LESSONS / "README.md"
    assert shelf.lessons_of("38.5", readme) == ["05"]
    assert shelf.lessons_of("6.2.5", readme) == ["03", "14"]
    every = {"04", "05", "07", "08", "10", "12", "14"}
    assert every == set(shelf.lessons_of("38", readme))
    for number in shelf.lessons_of("38", readme) + shelf.lessons_of("6", readme):
        assert shelf.meant(number)


def test_read_of_a_chapter_lists_its_lessons(book, capsys):
    assert weave.main("read", ["6.3"], book) == 0
    said = capsys.readouterr().out
    assert "03. Additive" in said and "04. Products" in said and "read 03" in said
    assert weave.main("run", ["6.3"], book) == 2  # which of them?
    assert weave.main("read", ["6.7"], book) == 2
    error = capsys.readouterr().err
    assert "no lesson 6.7" in error and max(map(len, error.splitlines())) <= 80


def test_the_header_of_a_lesson(book):
    first, second = map(shelf.header, shelf.folders(book))
    assert first == shelf.Header("03", "Additive attention", None, (), "")
    assert second == shelf.Header("04", "Products", 30, ("02", "03"), "●●●○")


def test_the_list_has_minutes_and_needs_of_lessons(book, learner, capsys, monkeypatch):
    monkeypatch.setattr(shelf.folders, "__defaults__", (book,))
    overview.list_all()
    lines = capsys.readouterr().out.splitlines()
    [line] = [x for x in lines if "Products" in x]
    assert line.split() == "04 Products ●●●○ 30 min <- 02, 03".split()
    [exercise] = [x for x in lines if x.startswith("  6.5 ")]
    for word in ("●●●○ ", " min ", "<- "):
        assert line.index(word) == exercise.index(word)
    assert max(map(len, lines)) <= 80


def test_the_list_says_what_was_read_and_run(book, learner, capsys, monkeypatch):
    monkeypatch.setattr(shelf.folders, "__defaults__", (book,))

    def said():
        overview.list_all()
        lines = capsys.readouterr().out.splitlines()
        words = next(x for x in lines if "Products" in x).split()
        overview.status()
        return words[words.index("min") + 1], capsys.readouterr().out

    folder = book / "04_dot_general"
    word, status = said()
    assert word == "<-" and "0 of 2 lessons read" in status
    assert "next:  python -m lessons read 03" in status
    for verb in ("run", "read", "read"):
        visits.note(folder, verb)
    visits.note(book / "03_additive", "read")
    word, status = said()
    assert word == "run" and "2 of 2 lessons read" in status
    assert "lessons read" not in status.partition("lessons read.")[2]
    (folder / "lesson.py").write_text((folder / "lesson.py").read_text() + "\n")
    assert said()[0] == "changed"
    visits.note(folder, "read")
    assert said()[0] == "read"


def test_read_and_run_are_noted_of_the_course_alone(book, learner, capsys):
    assert weave.main("read", ["00", "1"]) == 0
    assert weave.main("read", ["6.3"], book) == 0  # another book
    assert weave.main("read", ["38"]) == 0  # which of them? none was shown
    assert weave.main("weave", ["nothing"]) == 2
    noted = [(e["ex"], e["event"]) for e in journal.events()]
    assert noted == [("00", "read"), ("01", "read")]


def test_a_journal_that_cannot_be_written_hinders_no_reading(learner, tmp_path, capsys):
    (tmp_path / "work").write_text("no folder")
    assert weave.main("read", ["00"]) == 0
    assert "00. A tape" in capsys.readouterr().out


def test_every_lesson_says_its_minutes_in_words_that_are_known():
    for folder in shelf.folders():
        head = shelf.header(folder)
        text = (folder / "lesson.py").read_text(encoding="utf-8")[:1500].lower()
        assert head.minutes or not ("minutes." in text or " hour." in text), folder
        assert set(head.needs) <= {shelf.number(f) for f in shelf.folders()}


# experiments

SCRIPT = """
from lessons.classroom.measured import write_record
import pathlib
here = pathlib.Path(__file__).parent
write_record("r", {"a": 1}, command="python it", seeds=[1], records=here)
"""


@pytest.fixture
def experiments(book, monkeypatch):
    monkeypatch.setattr(shelf.folders, "__defaults__", (book,))
    monkeypatch.setattr(shelf.meant, "__defaults__", (book,))
    monkeypatch.setenv("PYTHONPATH", str(LESSONS.parent))
    (book / "03_additive" / "experiment.py").write_text(SCRIPT)
    return book / "03_additive"


def test_the_experiment_of_a_lesson_runs_and_keeps_its_hash(experiments, capfd):
    assert cli.main(["experiment", "3"]) == 0
    script = experiments / "experiment.py"
    assert f"python {script}" in capfd.readouterr().out
    made = json.loads((experiments / "r.json").read_text())["made"]
    assert made["code"] == fingerprint(script.read_text())
    script.write_text("raise SystemExit(7)")
    assert cli.main(["experiment", "additive"]) == 1


def test_an_experiment_that_is_none_names_those_there_are(experiments, capsys):
    assert cli.main(["experiment", "4"]) == 2
    assert "Those that have one: 03." in capsys.readouterr().err
    assert cli.main(["experiment", "99"]) == 2
    assert "no exercise '99'" in capsys.readouterr().err
    for options in (["--seed", "3"], ["--impl", "solution"], ["--weights", "."]):
        assert cli.main(["experiment", "3", *options]) == 2
        assert "takes no options" in capsys.readouterr().err
