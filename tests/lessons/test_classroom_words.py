"""What the command line says: whole commands, 80 columns, and always a next step."""

import pytest

from lessons.classroom import (
    catalogue,
    checking,
    cli,
    journal,
    paths,
    report,
    screen,
)
from lessons.classroom.runner import Report
from lessons.classroom.screen import say

E2 = catalogue.find("E.2")


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("LESSONS_WORK", str(tmp_path / "mein Übungsheft"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def lessons(capsys):
    """python -m lessons … -> (exit code, what it printed), 80 columns or a path."""

    def run(*argv):
        try:
            code = cli.main(argv)
        except SystemExit as error:  # argparse, after its help
            code = error.code
        printed = capsys.readouterr()
        text = printed.out + printed.err
        assert all(len(line) <= 80 or "/" in line for line in text.splitlines()), text
        return code, text

    return run


# usage


@pytest.mark.parametrize(
    "argv, said",
    [
        (["bogus"], "There is no verb 'bogus'"),
        (["check", "99"], "There is no exercise '99'"),
        (["check", "--bogus"], "unrecognized arguments: --bogus"),
        (["start"], "start: the following arguments are required: ID."),
        (["dev"], "dev: the following arguments are required: sync|audit."),
        (["dev", "knit"], "invalid choice: 'knit'"),
    ],
)
def test_wrong_usage_is_a_folded_sentence(lessons, argv, said):
    code, text = lessons(*argv)
    assert code == 2 and said in " ".join(text.split())
    assert "usage:" not in text and "what" not in text


def test_a_wrong_verb_is_told_all_verbs(lessons):
    there = " ".join(lessons("bogus")[1].split())
    assert "read, run, figures, weave, status" in there and "experiment" in there


@pytest.mark.parametrize("verb", [*cli.WOVEN, "check", "dev"])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_every_verb_has_help(lessons, verb, option):
    code, text = lessons(verb, option)
    assert code == 0 and text.startswith(f"usage: python -m lessons {verb}")
    assert ("--check" in text) == (verb in ("figures", "weave"))


# folding


def test_commands_and_paths_stay_whole(capsys):
    for k in range(60):
        path = screen.whole("/tmp/mein Übungsheft/" + "ordner/" * 15 + "ex_e_2.py")
        say("x" * k + " python -m lessons hint 38.5 shows it; see " + path)
        say("y" * k + " python -m lessons check E.2 --seed 7 --pdb, again")
        lines = capsys.readouterr().out.splitlines()
        assert any("python -m lessons hint 38.5" in line for line in lines)
        assert any("python -m lessons check E.2 --seed 7 --pdb," in x for x in lines)
        assert any(path.replace(screen.STUCK, " ") in line for line in lines)
        assert all(len(line) <= 80 for line in lines if "/" not in line)


def test_other_long_words_are_divided(capsys):
    say("x" * 200)
    say("")
    assert [len(x) for x in capsys.readouterr().out.split("\n")] == [80, 80, 40, 0, 0]


def test_start_of_a_file_that_exists(lessons, monkeypatch, tmp_path):
    long = tmp_path / ("folder " * 12) / "work"
    monkeypatch.setenv("LESSONS_WORK", str(long))
    lessons("start", "E.2")
    code, text = lessons("start", "E.2")
    assert code == 2 and f"{paths.shown(E2.work)}\n" in text
    assert "python -m lessons reset E.2" in text


def test_from_the_root_a_path_is_absolute(monkeypatch, tmp_path):
    assert paths.shown(tmp_path / "a") == "a"
    monkeypatch.chdir("/")
    assert paths.shown(tmp_path / "a") == str(tmp_path / "a")


# the next step


def test_watch_of_what_is_not_started_says_so(lessons, monkeypatch):
    monkeypatch.setattr(checking.time, "sleep", lambda seconds: 1 / 0)  # not for ever
    code, text = lessons("watch", "E.2")
    assert code == 3 and text == "E.2 is not started: python -m lessons start E.2\n"


def test_reset_promises_only_what_undo_can_do(lessons):
    lessons("start", "E.2")
    text = lessons("reset", "E.2")[1]
    assert "fresh stub" in text and "kept" not in text
    assert "Nothing to undo" in lessons("undo", "E.2")[1]
    E2.work.write_text("mine")
    assert "undo E.2 brings it back" in lessons("reset", "E.2")[1]
    assert lessons("undo", "E.2")[0] == 0 and E2.work.read_text() == "mine"


@pytest.mark.parametrize(
    "found, tag, said",
    [
        (Report(code=4, ending="no end after 2 s"), "timeout", "hint E.2"),
        (Report(code=1, ending="it ended", done=False), "exits", "hint E.2"),
        (Report(code=1, ending="the check cannot be loaded"), None, "doctor"),
        (Report(code=3), None, "hint E.2"),
    ],
)
def test_every_ending_has_a_next_command(capsys, found, tag, said):
    report.body(E2, found)
    assert found.tag == tag
    assert capsys.readouterr().out.rstrip().endswith(f"python -m lessons {said}")


# failures


def failure(title, tag, *lines):
    facts = {"step": "gradients", "title": title, "result": "failed"}
    return facts | {"tag": tag, "lines": list(lines)}


UNKNOWN = "no known pattern  [unknown]"


def test_a_failure_with_a_sentence_of_its_own_is_shown(capsys):
    chain = failure("chain", "unknown", "d_e", UNKNOWN, "d_e is the first")
    outcomes = [failure("whole", "unknown", "d_s", UNKNOWN), chain]
    report.body(E2, Report(outcomes=outcomes))
    text = capsys.readouterr().out
    assert text.index("FAIL  gradients: chain") < text.index("d_e is the first")
    assert text.index("d_e is the first") < text.index("FAIL  gradients: whole")
    assert "d_s" not in text  # of it nothing is known
    report.body(E2, Report(outcomes=outcomes), verbose=True)
    assert "d_s" in capsys.readouterr().out


def test_each_sentence_is_said_once(capsys):
    first = failure("first", "scale:2", "f(1)", "yours is twice  [scale:2]")
    again = failure("again", "scale:2", "f(2)", "yours is twice  [scale:2]")
    other = failure("other", "zero", "f(3)", "yours is 0  [zero]")
    nothing = failure("nothing", "unknown", "f(4)", UNKNOWN)
    found = Report(outcomes=[nothing, first, again, other])
    report.body(E2, found)
    text = capsys.readouterr().out
    assert [f"f({k})" in text for k in (1, 2, 3, 4)] == [True, False, True, False]
    assert text.count("FAIL") == 4 and found.tag == "scale:2"


# hints


def checked(diag):
    journal.append("E.2", "check", work="", check="", ok=not diag, diag=diag, code=1)


def test_hints_begin_again_after_the_last(lessons):
    lessons("start", "E.2")
    first = [lessons("hint", "E.2")[1] for _ in range(3)]
    again = [lessons("hint", "E.2")[1] for _ in range(4)]
    assert [text[:11] for text in first] == [f"hint {k} of 3" for k in (1, 2, 3)]
    places = [f"hint {k} of 3, once more:" for k in (1, 2, 3, 1)]
    assert [text.split("\n")[0] for text in again] == places
    assert all("--peek shows" in text for text in again)
    assert "--peek" not in "".join(first)
    for one, two in zip(first, again):
        assert one.splitlines()[1] == two.splitlines()[1]


def test_a_diagnosis_that_returns_brings_its_hint_back(lessons):
    lessons("start", "E.2")
    checked("transpose")
    for k in ("1 of 1, on what was measured, transpose:", "1 of 3:"):
        assert f"hint {k}" in lessons("hint", "E.2")[1]
    checked("transpose")  # still: it goes on
    assert "hint 2 of 3:" in lessons("hint", "E.2")[1]
    checked(None)
    checked("transpose")
    text = lessons("hint", "E.2")[1]
    assert "on what was measured, transpose:" in text and "once more" not in text
    assert "hint 3 of 3:" in lessons("hint", "E.2")[1]


def test_the_history_begins_with_the_start(lessons):
    lessons("start", "E.2")
    before = journal.events()
    assert [entry["event"] for entry in before] == ["start", "snapshot"]
    assert before[0]["work"] == before[1]["work"] == paths.hash_of(E2.work)
    journal.append("E.2", "start", work=None)  # as it was written once
    assert len(journal.events()) == 3


def test_the_history_has_the_text_of_a_hint(lessons):
    lessons("start", "E.2")
    text = lessons("hint", "E.2")[1].splitlines()[1].strip()
    journal.append("E.2", "hint", hint=["of-old", 4])  # edited away since
    said = " ".join(lessons("history", "E.2")[1].split())
    assert f"hint 1 of 3: {text}" in said and "hint of-old 5" in said
