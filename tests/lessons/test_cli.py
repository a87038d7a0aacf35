"""The verbs of ``python -m lessons``, one after the other, as a learner uses them."""

import json
import math
import os
import re
import sys

import numpy as np
import pytest

from lessons import cli
from lessons.classroom import catalogue, journal, records, terminal
from lessons.course import run as runner
from lessons.course.run import Report
from lessons.classroom.learner import hints, report
from lessons.pages import figures

from .classroom_cases import answer

E2 = catalogue.find("E.2")


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("LESSONS_WORK", str(tmp_path / "mein Übungsheft"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def lessons(capsys):
    """python -m lessons … -> (exit code, what it printed)."""

    def run(*argv):
        try:
            code = cli.main(argv)
        except SystemExit as error:  # argparse, after its help
            code = error.code
        printed = capsys.readouterr()
        text = printed.out + printed.err
        assert "\x1b" not in text  # no terminal, no colours
        widest = 92 if argv[:1] == ("read",) else 80  # code of pages has 88 columns
        lines = text.splitlines()
        assert all(len(line) <= widest or "/" in line for line in lines), text
        return code, text

    return run


@pytest.fixture
def runs(monkeypatch):
    """The reports that running an answer gives, one after the other."""
    reports = [Report(code=0)]

    def run(exercise, path, seed=0, limit=None, save=None):
        return reports.pop(0) if len(reports) > 1 else reports[0]

    monkeypatch.setattr(runner, "run", run)
    return reports


def outcome(tag, title="a title", lines=("f(x)", "found 3"), **more):
    facts = {"step": "values", "title": title, "result": "failed", "part": None}
    return facts | {"tag": tag, "lines": list(lines)} | more


def failed(tag):
    return Report(code=1, outcomes=[outcome(tag)])


def test_from_start_to_passed(lessons, runs):
    code, text = lessons()
    assert code == 0 and text.startswith("0 of ") and "lessons start " in text
    code, text = lessons("start", "e2")
    assert code == 0 and "mein Übungsheft/ex_e_2.py" in text
    assert E2.work.read_text(encoding="utf-8") == E2.stub_text
    runs[:] = [failed("transpose"), Report(code=0)]
    code, text = lessons("check")  # the one that was edited last
    assert code == 1 and "FAIL  values: a title" in text and "found 3" in text
    assert "hint:  python -m lessons hint E.2" in text
    assert "not yet" in lessons("list")[1]
    assert re.search(r"next: +python -m lessons check E.2", lessons()[1])
    code, text = lessons("check", "E.2")
    assert code == 0 and "passed" in text
    assert lessons("status")[1].startswith("1 of ")
    E2.work.write_text(answer() + "# a thought\n", encoding="utf-8")
    assert lessons()[1].startswith("0 of ") and "edited" in lessons("list")[1]


MESSAGES = [  # (arguments, exit code, fragments)
    (["bogus"], 2, ["There is no verb 'bogus'. python -m lessons --help lists all."]),
    (["chek", "E.2"], 2, ["There is no verb 'chek'. Perhaps check. python -m lessons"]),
    (["dev", "weav"], 2, ["no verb 'weav'. Perhaps weave. python -m lessons dev --help"]),
    (["check", "99"], 2, ["There is no exercise '99'"]),
    (["check", "--bogus"], 2, ["unrecognized arguments: --bogus"]),
    (["start"], 2, ["required: ID", "See python -m lessons start --help"]),
    (["dev"], 2, ["required: VERB"]),
    (["check"], 2, ["No exercise is started yet"]),
    (["hint"], 2, ["No exercise is started yet"]),
    (["check", "--all"], 2, ["No exercise is started yet"]),
    (["check", "E.2", "--all"], 2, ["takes no ID, no --pdb and no --save"]),
    (["check", "E.2"], 3, ["E.2 is not started: python -m lessons start E.2"]),
    (["watch", "E.2"], 3, ["E.2 is not started: python -m lessons start E.2"]),
    (["undo", "E.2"], 2, ["Nothing to undo of E.2"]),
    (["undo", "E.2", "--to", "abc"], 2, ["no text abc in the history"]),
    (["history", "E.2"], 0, ["E.2 has no history yet"]),
    *(
        (["experiment", id], 2, [f"{id} has no experiment", "38.4, 6.6, 6.7, 6.9, E.15"])
        for id in ("E.2", "E.16")
    ),
    (["experiment", "E.15"], 2, ["E.15 is not started"]),
    (["experiment", "sparsemax"], 2, ["no exercise 'sparsemax'", "E.17"]),
    (["experiment", "E.2", "--impl", "solution"], 2, ["E.2 has no experiment"]),
    (["next"], 0, ["next: python -m lessons read 00"]),
    (["experiment", "5"], 2, ["5 is not a lesson with an experiment", "02, 03, 04, 07"]),
    (["experiment", "99"], 2, ["There is no exercise '99'"]),
    (["experiment", "11", "--seed", "3"], 2, ["takes no option but --quick"]),
    (["experiment", "8"], 2, ["of lesson 8: local, repeating", "experiment 8 local"]),
    (["experiment", "11", "no"], 2, ["of lesson 11: experiment"]),
    (["experiment", "2", "--quick"], 2, ["experiment.py has no --quick"]),
    (["experiment", "E.15", "--quick", "--impl", "solution"], 2,
     ["The experiment of E.15 has no --quick"]),
    (["experiment", "6.7", "--weights", "/no"], 2, ["--weights DIR is a folder"]),
    (["read", "99"], 2, ["There is no lesson 99. There are: 00, 01"]),
    *(
        ([verb, f"{__file__}/x"], 1, ["DIR that of site and notebooks"])
        for verb in ("site", "notebooks")
    ),
    (["--help"], 0, ["read", "watch", "history", "doctor", "experiment"]),
    (["check", "--help"], 0, ["--seed", "--json", "--pdb", "--all", "--verbose"]),
    (["dev", "weave", "--help"], 0, ["--check"]),
]


@pytest.mark.parametrize("argv, code, fragments", MESSAGES)
def test_a_message_says_what_is_possible(lessons, monkeypatch, argv, code, fragments):
    monkeypatch.setattr(os, "environ", dict(os.environ))  # an experiment sets some
    found, text = lessons(*argv)
    said = " ".join(text.split())
    assert found == code and all(each in said for each in fragments), text
    assert ("usage:" in text) == ("--help" in argv)


@pytest.mark.parametrize("folder", ["no-folder", "no-folder/work"])
def test_a_work_folder_that_cannot_be_made_is_named(
    lessons, tmp_path, monkeypatch, folder
):
    (tmp_path / "no-folder").write_text("a file", encoding="utf-8")
    monkeypatch.setenv("LESSONS_WORK", str(tmp_path / folder))
    code, text = lessons("start", "E.2")
    assert code == 1 and f"LESSONS_WORK is {tmp_path / folder}" in text


def test_no_verb_loses_a_text(lessons, runs):
    lessons("start", "E.2")
    assert "undo" not in lessons("reset", "E.2")[1]  # there is nothing to undo
    E2.work.write_text("mine, never checked", encoding="utf-8")
    code, text = lessons("start", "E.2")
    assert code == 2 and "python -m lessons reset E.2" in text
    code, text = lessons("reset", "E.2")
    assert code == 0 and "undo E.2 brings your text back" in text
    assert E2.work.read_text(encoding="utf-8") == E2.stub_text
    code, text = lessons("undo", "E.2")
    assert code == 0 and E2.work.read_text() == "mine, never checked"
    code, text = lessons("history", "E.2")
    assert "undone: back to this text  <- your text now" in text
    sha = re.findall(r"(\w{7})  your text, before a reset", text)[-1]
    E2.work.unlink()
    lessons("start", "E.2")
    lessons("undo", "E.2", "--to", sha)
    assert E2.work.read_text() == "mine, never checked"


def test_hints_follow_the_diagnosis_then_go_on_and_start_again(lessons, runs):
    lessons("start", "E.2")

    def heads(n):
        texts = [lessons("hint", "E.2")[1] for _ in range(n)]
        assert all(("--peek" in text) == ("once more" in text) for text in texts)
        return [text.split(":")[0].removeprefix("hint ") for text in texts]

    def check(tag):
        runs[:] = [failed(tag)]
        lessons("check")

    assert heads(1) == ["1 of 3"]
    found = "1 of 1, on the mistake that was found, "
    check("transpose")
    assert heads(2) == [found + "transpose", "2 of 3"]
    check("scale")  # another diagnosis, and then the first one again
    check("transpose")
    assert heads(2) == [found + "transpose", "3 of 3"]
    check("scale:1/3")
    assert heads(1) == [found + "scale"]
    runs[:] = [Report(code=0)]
    lessons("check")
    assert heads(4) == [f"{k} of 3, once more" for k in (1, 2, 3, 1)]
    journal.append("E.2", "hint", hint=["of-old", 4])  # the hint no longer exists
    said = " ".join(lessons("history")[1].split())
    assert "hint transpose 1: Write the result" in said and "hint of-old 5" in said


def test_no_hint_repeats_one_that_was_shown(lessons, runs, monkeypatch):
    own = {"": ["a", "b", "d", "e"], "f": ["on f"]}
    own |= {"sign": ["a", "b"], "root": ["b", "c"]}
    monkeypatch.setattr(hints, "own_hints", lambda exercise: own)
    lessons("start", "E.2")

    def shown(tag, n):
        runs[:] = [Report(code=1, outcomes=[outcome(tag, part="f")])]
        lessons("check")
        return [lessons("hint")[1].split("\n")[1].strip() for _ in range(n)]

    assert shown("sign", 3) == ["a", "b", "on f"]
    assert shown("root", 2) == ["c", "d"]
    # of those on sign, which is found again, and then all once more
    assert shown("sign", 8) == ["a", "b", "e", "a", "b", "on f", "d", "e"]


def test_hints_for_an_unknown_mistake_are_those_of_the_function(lessons, runs):
    lessons("start", "38.1")
    runs[:] = [Report(code=1, outcomes=[outcome("unknown", part="mults")])]
    assert "hint" in lessons("check")[1]
    text = lessons("hint")[1]
    assert text.startswith("hint 1 of 1, on mults:\n  How many keys are projected")
    assert lessons("hint")[1].startswith("hint 1 of 3:")
    runs[:] = [Report(code=1, outcomes=[outcome("transpose", part="project_keys")])]
    lessons("check")
    assert "mistake that was found, transpose" in lessons("hint")[1]
    assert lessons("hint")[1].startswith("hint 1 of 1, on project_keys:")


def test_a_failure_never_follows_from_one_of_its_callers(capsys):
    part = {"part": "gaussian", "uses": []}
    inner = outcome("unknown", "inner", ["gaussian(1)"]) | part
    part = {"part": "pull", "uses": ["gaussian"]}
    outer = outcome("scale:2", "outer", ["pull(4)", "twice  [scale:2]"]) | part
    part = {"part": "centre", "uses": []}
    other = outcome("unknown", "other", ["centre(3)"]) | part
    report.print_report(E2, Report(outcomes=[outer, inner, other]))
    text = capsys.readouterr().out
    assert "outer  (may follow from the failure above)" in text
    assert "pull(4)" not in text
    assert "inner\n" in text and "gaussian(1)" in text  # before its caller
    assert "other\n" in text and "centre(3)" in text  # follows from neither
    found = Report(outcomes=[outer, inner])
    assert found.tag == "unknown"  # not the name of what may follow


def test_the_solution_asks_first(lessons, runs):
    lessons("start", "E.2")
    code, text = lessons("solution", "E.2")
    assert code == 3 and "--peek" in text and "1 - y * y" not in text
    code, text = lessons("solution", "E.2", "--peek")
    assert code == 0 and "the reference\n    y = np.tanh(x)\n" in text
    assert "return g * (1 - y * y)" in text and "raise NotWritten" in text
    assert "SOLUTION" not in text and "MUTANTS" not in text
    E2.work.write_text(answer() + "\n\ndef own():\n    return 3\n", encoding="utf-8")
    lessons("check")
    code, text = lessons("solution", "E.2")
    assert code == 0 and "yours, and the reference\n    y = np.tanh(x)\n" in text
    assert "own\n  yours only\n    return 3" in text
    assert "saw the solution" in lessons("history")[1]
    E2.work.write_text("def (:", encoding="utf-8")
    text = lessons("solution", "E.2", "--peek")[1]
    assert "the file\n  yours only\n    def (:" in text


def test_after_a_pass_come_the_reason_the_reference_and_the_next_step(lessons, runs):
    lessons("start", "E.1")
    text = lessons("check")[1]
    why, after = text.split("  passed\n")[1].split("  see:")
    assert why.startswith("  why:\n        A number that is used in several places")
    assert "python -m lessons solution E.1" in after
    assert "next:  python -m lessons start E.2" in after


def test_the_next_step_follows_the_book_or_the_exercises(lessons, runs):
    def steps():
        return re.findall(r"(?:next|or): +python -m lessons (\w+ \S+)", lessons()[1])

    assert steps() == ["read 00", "start E.1"]
    lessons("read", "0")
    assert steps() == ["start E.1", "read 01"]  # the exercises of what was read
    for id in ("E.1", "E.2", "E.3"):
        lessons("start", id)
        assert steps() == [f"check {id}", "read 01"]
        lessons("check", id)
    assert steps() == ["read 01", "start E.4"]
    lessons("start", "E.4")
    lessons("check")
    assert steps() == ["start E.5", "read 01"]  # of a learner who skips pages
    lessons("start", "E.5")
    lessons("check")
    assert steps() == ["read 02", "start E.6"]  # an exercise comes after its lesson
    lessons("start", "6.1")
    lessons("check")
    assert steps() == ["read 02", "start E.6"]  # also after one of a later lesson
    lessons("read", "9")
    assert steps() == ["start 6.8", "read 10"]


def test_exercises_stand_beside_their_lessons(lessons):
    text = lessons("list")[1]
    ids = re.findall(r"^ +(\d\d|\w+\.\d+)  ", text, re.M)
    assert ids[:6] == ["00", "E.1", "E.2", "E.3", "01", "E.4"]
    text = lessons("read", "E.7")[1]
    assert text.startswith("E.7  Masked softmax, and its backward  (lesson 06 and 10)")
    assert "06. Masks and padding" in text and "Exercises of lesson 06" in text
    assert "38.5   Monotonic local attention" in lessons("read", "6")[1]
    text = lessons("start", "E.7")[1]
    assert "(lesson 06 and 10)" in text and "inputs are not written to" in text
    assert "started lesson 06" in lessons()[1]


@pytest.mark.parametrize("limit", "abc nan 0 -1 inf 1e99".split())
def test_a_time_limit_that_is_no_time_is_refused(lessons, monkeypatch, limit):
    lessons("start", "E.2")
    before = E2.work.with_name(journal.NAME).read_bytes()
    monkeypatch.setenv("LESSONS_TIMEOUT", limit)
    for verb in (["check"], ["check", "--json"], ["watch"], ["grade", E2.work.parent]):
        code, text = lessons(*map(str, verb))
        assert code == 2 and " ".join(text.split()) == (
            f"LESSONS_TIMEOUT is {limit!r}; expected a number of seconds, more than 0 "
            "and at most 86400."
        )
    assert E2.work.with_name(journal.NAME).read_bytes() == before


@pytest.mark.parametrize("verb", [["run", "5"], ["experiment", "38.4", "--quick"]])
def test_an_unknown_backend_is_a_sentence(lessons, monkeypatch, verb):
    monkeypatch.setenv("ATTENTION_BACKEND", "gpu")
    monkeypatch.setattr("attention.kernels.choice._Chosen.backend", None)
    code, text = lessons(*verb)
    assert code == 2 and " ".join(text.split()) == (
        "ATTENTION_BACKEND: there is no backend 'gpu'; expected 'numba' or 'numpy'."
    )


ENTRY = {"t": 1.0, "ex": "E.2", "event": "check", "work": "", "check": "", "ok": True}
NO_RECORDS = [
    5, None, [], {}, {"ex": "E.2"}, ENTRY, ENTRY | {"ex": []}, ENTRY | {"event": {}},
    *({"t": t, "ex": "E.2", "event": "start"} for t in ("noon", 1e300, -1e300)),
    *({"t": 1, "ex": "E.2", "event": "hint", "hint": h} for h in ([], 3, [3, "a"])),
    {"t": 1, "ex": "E.2", "event": "snapshot", "work": ["abc"], "why": "restored"},
    {"t": 1, "ex": "E.2", "event": "undo", "work": "", "depth": "two"},
    {"t": 1, "ex": "E.2", "event": "prediction"},
]  # fmt: skip


def test_a_line_of_the_journal_that_is_no_record_is_ignored(lessons, runs):
    lines = [*map(json.dumps, NO_RECORDS), "[" * 99_999, "NaN"]
    lessons("start", "E.2")
    path, known = E2.work.parent / journal.NAME, journal.events()
    good = path.read_text()
    for line in lines:
        path.write_text(f"{line}\n{good}")
        assert journal.events() == known, line
    path.write_text("\n".join([*lines, good, *lines, ""]))
    for verb in ("status", "next", "list", "check", "history", "hint", "solution"):
        assert lessons(verb, *["E.2"] * (verb in ("check", "solution")))[0] == 0, verb
    E2.work.write_text("mine")
    assert lessons("undo", "E.2")[0] == 0 and E2.work.read_text() != "mine"
    assert lessons("read", "0")[0] == 0


def test_a_passed_text_is_still_passed_after_undo(lessons, runs):
    lessons("start", "E.1")
    E1 = catalogue.find("E.1")
    E1.work.write_text("an answer")
    lessons("check")
    lessons("reset", "E.1")
    assert lessons()[1].startswith("0 of ")
    assert "It has passed." in lessons("undo", "E.1")[1]
    assert lessons()[1].startswith("1 of ")


def test_the_history_has_one_line_for_each_step(lessons, runs):
    lessons("start", "E.1")
    runs[:] = [failed("transpose"), failed("transpose"), Report(code=0)]
    for _ in range(3):
        lessons("check")
    lessons("hint")
    rows = [line[18:] for line in lessons("history")[1].splitlines()[:-1]]
    assert [row.split("  ")[0] for row in rows] == [row[:7].strip() for row in rows]
    assert [row[9:] for row in rows[:3]] == [
        "started", "checked: failed at values (transpose), 2 times",
        "checked: passed  <- your text now",
    ]  # fmt: skip
    assert len(rows) == 4 and all(len(row) <= 62 for row in rows)


@pytest.mark.parametrize(
    "found, tag, last",
    [
        (Report(code=4, ending="stopped after 2 s"), "timeout", "hint E.2"),
        (Report(code=1, ending="it ended", done=False), "exits", "hint E.2"),
        (Report(code=1, ending="the check cannot be loaded"), None, "doctor"),
        (Report(code=3), None, "hint E.2"),
    ],
)
def test_every_ending_has_a_next_command(capsys, found, tag, last):
    report.print_report(E2, found)
    assert found.tag == tag
    assert capsys.readouterr().out.rstrip().endswith(f"python -m lessons {last}")


def test_check_all_ends_with_the_worst(lessons, runs):
    lessons("start", "E.2")
    lessons("start", "38.5")
    runs[:] = [Report(code=4, ending="stopped after 2 s"), failed("mask-leak")]
    code, text = lessons("check", "--all")
    assert code == 4 and "END   stopped" in text and "FAIL" in text
    todo = {"step": "values", "title": "t", "result": "unwritten", "lines": ["E.2 f"]}
    runs[:] = [Report(code=3, outcomes=[todo], printed="a\n" * 40, more=10)]
    code, text = lessons("check", "E.2", "-v")
    assert code == 3 and "not written yet: f" in text
    assert text.count("\n        a\n") >= 5 and "more characters" in text


def test_options_of_check(lessons, monkeypatch):
    lessons("start", "E.2")
    passed = {"step": "values", "title": "a title", "result": "ok"}
    seeds = []

    def run(exercise, path, seed):
        seeds.append(seed)
        return Report(code=0, outcomes=[passed])

    monkeypatch.setattr(runner, "run", run)
    assert "a title" not in lessons("check", "--seed", "7")[1]
    assert "ok    values: a title" in lessons("check", "-v")[1]
    monkeypatch.setattr(runner, "debug", lambda *a: seeds.append(a[2]) or Report(1))
    assert lessons("check", "--pdb", "--seed", "3")[0] == 1
    assert seeds == [7, 0, 3]


def test_known_mistakes_come_first(capsys):
    outcomes = [outcome("unknown", "nothing", ["f(4)"]), outcome("scale:2", "first")]
    found = Report(outcomes=outcomes)
    report.print_report(E2, found)
    text = capsys.readouterr().out
    assert found.tag == "scale:2" and text.index("first") < text.index("nothing")


def test_a_case_is_saved(lessons, runs):
    lessons("start", "E.2")
    for names, first in (
        (["x", "found"], "found"), (["x", "g", "found_x"], "found_x"), (["x"], "x")
    ):  # fmt: skip
        runs[:] = [Report(code=1, outcomes=[outcome("x")], saved=names)]
        text = lessons("check", "E.2", "--save", "case.npz")[1]
        assert f"saved: case.npz contains {', '.join(names)}\n" in text
        assert f'np.load("case.npz")["{first}"], for example' in text
    runs[:] = [Report(code=0)]
    assert "not saved: case.npz" in lessons("check", "E.2", "--save", "case.npz")[1]


def test_watch_checks_after_every_change(lessons, runs, monkeypatch):
    lessons("start", "E.2")
    checks, looks = [], []
    monkeypatch.setattr(report, "_check", lambda *args: checks.append(len(looks)))

    def look(seconds):
        looks.append(seconds)
        if len(looks) in (3, 7):
            E2.work.write_text(f"changed = {len(looks)}\n")
        if len(looks) == 5:
            E2.work.unlink()  # an editor replaces the file
        if len(looks) == 9:
            raise KeyboardInterrupt

    monkeypatch.setattr(report.time, "sleep", look)
    assert lessons("watch")[0] == 0
    assert checks == [0, 3, 7]


def test_read_and_run_are_noted(lessons):
    code, text = lessons("read", "00", "1")
    assert code == 0 and "The gradient check" in text and "run 01" in text
    code, text = lessons("read", "38")  # a chapter: its lessons are listed
    assert code == 0 and "05. Why" in text and "next: python -m lessons read 04" in text
    assert lessons("run", "38")[0] == 2
    noted = [(e["ex"], e["event"]) for e in journal.events()]
    assert noted == [("00", "read"), ("01", "read")]
    count = len(catalogue.lesson_folders())
    assert f"2 of {count} lessons read" in lessons()[1]
    assert " read " in lessons("list")[1]
    assert "read 02" in lessons()[1]


def test_an_experiment_leaves_a_record_and_a_figure(lessons, monkeypatch):
    monkeypatch.setattr(os, "environ", dict(os.environ))
    os.environ.pop("ATTENTION_BACKEND", None)
    checks = {}
    checks["experiment"] = lambda my, seed: {"tanh": my.tanh(0.5)[0].item(), "seed": seed}

    def picture(found):
        fig, ax = figures.figure("Does it rise?")
        ax.plot([0, found["tanh"]])
        return fig

    checks["picture"] = picture
    loaded = records._loaded
    monkeypatch.setattr(records, "_loaded", lambda *answer: (loaded(*answer)[0], checks))
    monkeypatch.setattr(records, "_require_experiment", lambda exercise: None)
    E2.work.parent.mkdir()
    E2.work.write_text(answer(), encoding="utf-8")
    code, text = lessons("experiment", "E.2", "--seed", "3")
    assert code == 0 and "recorded in" in text and "drawn in" in text
    record = records.read_record(E2, "work")
    assert record["result"] == {"tanh": math.tanh(0.5), "seed": 3}
    assert record["tokens"] == records.answer_hash(E2, answer())
    assert record["versions"]["numpy"] == np.__version__
    drawn = E2.work.parent / "records" / f"{E2.stem}.svg"
    assert b"<svg" in drawn.read_bytes()
    drawn.unlink()
    checks["experiment"] = lambda my, seed, quick=False: {"tanh": float(quick)}
    code, text = lessons("experiment", "E.2", "--quick")
    assert code == 0 and "does not count" in text and not drawn.exists()
    assert b"<svg" in drawn.with_stem(f"{E2.stem}-quick").read_bytes()
    assert os.environ["ATTENTION_BACKEND"] == "numpy"


def test_an_experiment_says_what_is_not_written(lessons, monkeypatch):
    monkeypatch.setattr(os, "environ", dict(os.environ))
    exercise = catalogue.find("38.4")
    lessons("start", "38.4")
    code, text = lessons("experiment", "38.4")
    assert code == 3 and text.startswith("not written yet: 38.4 prediction\n")
    assert "The recorded run took 0:" in text
    exercise.work.write_text("def (:")
    code, text = lessons("experiment", "38.4")
    assert code == 1 and "the file is not Python yet" in text


@pytest.mark.deep
def test_dev_weave_and_run_of_a_lesson(lessons):
    code, text = lessons("dev", "weave", "1", "--check")
    assert code == 0 and "01_gradient_check: fresh" in text
    code, text = lessons("run", "1")
    assert code == 0 and "figure: mein Übungsheft/figures/01_gradient_check/" in text


def test_dev_sync_changes_nothing(lessons):
    code, text = lessons("dev", "sync")
    assert code == 0 and "0 written, " in text and ", 0 with a fault" in text


def test_doctor(lessons):
    text = lessons("doctor")[1]
    for what in ("python", "numpy", "kernel cache", "terminal", "folder"):
        assert re.search(rf"ok  .*{what}", text), text


def test_a_folder_that_cannot_be_written_is_one_sentence(lessons, monkeypatch):
    with open("a file", "w") as file:
        file.write("not a folder")
    monkeypatch.setenv("LESSONS_WORK", os.path.abspath("a file"))
    code, text = lessons("start", "E.2")
    assert code == 1 and "a file" in text and "Traceback" not in text
    assert lessons("read", "0")[0] == 0  # reading needs no journal


# the terminal


def test_commands_and_paths_are_never_divided(capsys):
    for k in range(60):
        path = "/tmp/mein Übungsheft/" + "ordner/" * 15 + "ex_e_2.py"
        say = f"{'x' * k} python -m lessons hint 38.5 shows it; see "
        terminal.say(say + terminal.without_breaks(path))
        terminal.say("y" * k + " python -m lessons check E.2 --seed 7 --pdb, again")
        lines = capsys.readouterr().out.splitlines()
        assert any("python -m lessons hint 38.5" in line for line in lines)
        assert any("python -m lessons check E.2 --seed 7 --pdb," in x for x in lines)
        assert any(path in line for line in lines)
        assert all(len(line) <= 80 for line in lines if "/" not in line)


def test_colours_and_width_follow_the_terminal(monkeypatch):
    assert terminal.paint("ok", "green") == "ok"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert terminal.paint("ok", "green") == "\x1b[32mok\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal.paint("ok", "green") == "ok"
    assert terminal.width() == 80
    monkeypatch.setenv("COLUMNS", "60")
    assert terminal.width() == 60
