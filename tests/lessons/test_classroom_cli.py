"""The verbs, one after the other, as a learner uses them."""

import math
import os
import re
import sys
import threading

import numpy as np
import pytest

from lessons.classroom import (
    catalogue,
    checking,
    cli,
    figures,
    journal,
    loading,
    records,
    runner,
    screen,
)
from lessons.classroom.runner import Report

from .classroom_cases import answer


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("LESSONS_WORK", str(tmp_path / "mein Übungsheft"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def lessons(capsys):
    """python -m lessons … -> (exit code, what it printed)."""

    def run(*argv):
        try:
            code = cli.main(argv)
        except SystemExit as error:  # argparse
            code = error.code
        printed = capsys.readouterr()
        text = printed.out + printed.err
        assert "\x1b" not in text  # no terminal, no colours
        assert all(len(line) <= 80 for line in printed.out.splitlines())
        return code, text

    return run


@pytest.fixture
def runs(monkeypatch):
    """Reports that stand in for running an answer; the last one stays."""
    reports = [Report(code=0)]

    def run(exercise, path, seed=0, limit=None):
        return reports.pop(0) if len(reports) > 1 else reports[0]

    monkeypatch.setattr(runner, "run", run)
    return reports


def failed(tag, step="values"):
    facts = {"step": step, "title": "a title", "result": "failed", "tag": tag}
    return Report(code=1, outcomes=[facts | {"lines": ["f(x)", "found 3"]}])


E2 = catalogue.find("E.2")


def test_from_start_to_passed(lessons, runs):
    code, text = lessons()
    assert code == 0 and text.startswith("0 of ") and "lessons start " in text
    code, text = lessons("start", "e2")
    assert code == 0 and "mein Übungsheft/ex_e_2.py" in text
    assert E2.work.read_bytes() == E2.stub.read_bytes()
    code, text = lessons("start", "E.2")
    assert code == 2 and "stays as it is" in text
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


def test_what_cannot_be_done_is_said(lessons):
    for verb in ("check", "hint", "history", "watch"):
        code, text = lessons(verb)
        assert code == 2 and "Nothing is started yet" in text
    assert lessons("check", "--all")[0] == 2
    assert lessons("check", "E.2", "--all")[0] == 2
    assert lessons("check", "E.2")[0] == 3  # not started, so not written
    assert lessons("start", "99.9")[0] == 2 and lessons("nonsense")[0] == 2
    assert lessons("undo", "E.2")[0] == 2 and lessons("start")[0] == 2
    assert lessons("undo", "E.2", "--to", "abc")[0] == 2
    code, text = lessons("experiment", "E.2")
    assert code == 2 and "E.2 has no experiment" in text
    for id, folder in (("6.7", "/no/such"), ("E.2", ".")):
        code, text = lessons("experiment", id, "--weights", folder)
        assert code == 2 and "--weights DIR is a folder with a published" in text
    code, text = lessons("--help")
    assert code == 0
    for verb in ("read", "run", "figures", "weave", "doctor", "watch", "history"):
        assert verb in text


def test_no_verb_loses_a_text(lessons, runs):
    lessons("start", "E.2")
    E2.work.write_text("mine, never checked", encoding="utf-8")
    code, text = lessons("reset", "E.2")
    assert code == 0 and "undo E.2 brings it back" in text
    assert E2.work.read_bytes() == E2.stub.read_bytes()
    code, text = lessons("undo", "E.2")
    assert code == 0 and E2.work.read_text() == "mine, never checked"
    code, text = lessons("history", "E.2")
    assert "kept, before reset" in text and "undone" in text and "now" in text
    E2.work.unlink()
    lessons("start", "E.2")
    lessons("undo", "E.2", "--to", text.split("kept, before reset")[0].split()[-1])
    assert E2.work.read_text() == "mine, never checked"


def test_hints_follow_the_diagnosis_and_then_go_on(lessons, runs):
    lessons("start", "E.2")
    general = [lessons("hint", "E.2")[1]]
    runs[:] = [failed("wrong-derivative"), failed("transpose"), failed("scale:1/3")]
    for _ in range(2):
        lessons("check")
    assert "on what was measured, transpose" in (text := lessons("hint")[1])
    assert "indices" in text
    general.append(lessons("hint")[1])
    lessons("check")
    assert "one factor" in lessons("hint")[1]  # scale:1/3 is a scale
    general.append(lessons("hint")[1])
    assert [g.split(":")[0] for g in general] == [f"hint {k} of 3" for k in (1, 2, 3)]
    code, text = lessons("hint")
    assert code == 0 and "--peek" in text
    said = " ".join(lessons("history")[1].split())
    assert "hint transpose 1 of 1: " in said and "hint 2 of 3: " in said


def test_the_solution_asks_first(lessons, runs):
    lessons("start", "E.2")
    code, text = lessons("solution", "E.2")
    assert code == 3 and "--peek" in text and "1 - y * y" not in text
    code, text = lessons("solution", "E.2", "--peek")
    assert code == 0 and "+        return g * (1 - y * y)" in text
    assert "SOLUTION" not in text and "MUTANTS" not in text
    lessons("check")
    code, text = lessons("solution", "E.2")
    assert code == 0 and "-        raise NotWritten" in text
    assert "looked at the solution" in lessons("history")[1]


def test_ends_of_other_kinds(lessons, runs):
    lessons("start", "E.2")
    lessons("start", "38.5")
    runs[:] = [Report(code=4, ending="no end after 2 s"), failed("mask-leak")]
    code, text = lessons("check", "--all")
    assert code == 4 and "END   no end" in text and "FAIL" in text
    todo = {
        "step": "values",
        "title": "t",
        "result": "unwritten",
        "lines": ["E.2 tanh"],
    }
    runs[:] = [Report(code=3, outcomes=[todo], printed="a\n" * 40, more=10)]
    code, text = lessons("check", "E.2", "-v")
    assert code == 3 and "not written yet: tanh" in text
    assert text.count("\n        a\n") >= 5 and "more characters, not shown" in text


def test_the_debugger_opens_where_it_fails(lessons, monkeypatch):
    """--pdb hands the terminal over: here, to commands that come from a file."""
    lessons("start", "E.2")
    called = []
    monkeypatch.setattr(runner, "debug", lambda *a: called.append(a) or Report(code=1))
    assert lessons("check", "E.2", "--pdb", "--seed", "7")[0] == 1
    assert called[0][2] == 7


def test_watch_checks_after_every_change(lessons, runs, monkeypatch, capsys):
    lessons("start", "E.2")
    library = E2.work.with_name("library.py")
    library.write_text("a = 1\n")
    runs[:] = [Report(code=0, files=[str(library)])]
    checks, looks = [], []
    check = checking._check

    def counted(*args):
        checks.append(len(looks))
        return check(*args)

    def look(seconds):
        looks.append(seconds)
        if len(looks) == 3:
            E2.work.write_text("changed = 1\n")
        if len(looks) == 7:
            library.write_text("a = 2222\n")
        if len(looks) == 9:
            E2.work.unlink()  # an editor replaces the file
        if len(looks) == 11:
            raise KeyboardInterrupt

    monkeypatch.setattr(checking, "_check", counted)
    monkeypatch.setattr(checking.time, "sleep", look)
    assert checking.watch(E2) == 0
    assert checks == [0, 4, 8]  # at once; each change after one look to settle
    printed = capsys.readouterr().out
    assert printed.count("checking …") == 3 and printed.endswith("stopped.\n")


def test_the_weaver_is_called_late(lessons, monkeypatch):
    calls = []
    weave = type(sys)("weave")
    weave.main = lambda verb, args: calls.append((verb, args)) or 7
    monkeypatch.setitem(sys.modules, "lessons.classroom.weave", weave)
    assert lessons("weave", "5", "--check")[0] == 7 and lessons("read")[0] == 7
    assert calls == [("weave", ["5", "--check"]), ("read", [])]
    monkeypatch.setitem(sys.modules, "lessons.classroom.weave", None)
    code, text = lessons("run", "5")
    assert code == 2 and "not there yet" in text


def test_an_experiment_leaves_a_record(lessons, monkeypatch):
    checks = type(sys)("checks")
    checks.experiment = lambda my, seed: {"tanh": my.tanh(0.5)[0].item(), "seed": seed}
    monkeypatch.setattr(records, "load_checks", lambda exercise: checks)
    code, text = lessons("experiment", "E.2")
    assert code == 2 and "is not started" in text
    E2.work.parent.mkdir()
    E2.work.write_text(answer(), encoding="utf-8")
    code, text = lessons("experiment", "E.2", "--seed", "3")
    assert code == 0 and "records" in text
    record = records.read_record(E2, "work")
    assert record["result"] == {"tanh": math.tanh(0.5), "seed": 3}
    assert record["code"] == records.code_hash(E2, E2.work)
    assert record["versions"]["numpy"] == np.__version__
    assert records.read_record(catalogue.find("38.5"), "work") is None


def test_beside_a_learners_record_goes_its_figure(lessons, monkeypatch):
    checks = type(sys)("checks")
    checks.experiment = lambda my, seed: {"y": [1.0, 3.0]}

    def picture(found):
        fig, ax = figures.figure("Does it rise?")
        ax.plot(found["y"])
        return fig

    monkeypatch.setattr(records, "load_checks", lambda exercise: checks)
    E2.work.parent.mkdir()
    E2.work.write_text(answer(), encoding="utf-8")
    drawn = E2.work.parent / "records" / f"{E2.stem}.svg"
    assert lessons("experiment", "E.2")[0] == 0 and not drawn.exists()
    checks.picture = picture
    code, text = lessons("experiment", "E.2")
    assert code == 0 and "drawn in " in text and b"<svg" in drawn.read_bytes()
    drawn.unlink()

    def without(found):
        raise ImportError("No module named 'matplotlib'")

    checks.picture = without
    code, text = lessons("experiment", "E.2")
    assert code == 0 and "no figure: No module named" in text and not drawn.exists()


@pytest.mark.parametrize("id", ["38.4", "6.6", "6.9"])
def test_the_figure_of_a_record(id):
    exercise = catalogue.find(id)
    found = records.read_record(exercise)["result"]
    import matplotlib

    with matplotlib.rc_context():
        fig = loading.load_checks(exercise).picture(found)
    words = [t.get_text() for ax in fig.axes for t in (ax.xaxis.label, ax.yaxis.label)]
    assert all(words) and figures.digest(fig) and b"<svg" in figures.render(fig)
    if id != "6.9":  # there, as bars of intervals
        first = found.get("runs", [{}])[0].get("loss") or found["seconds"]["additive"]
        assert list(fig.axes[0].lines[0].get_ydata()) == first


def test_the_style_of_a_figure_ends_with_it():
    import matplotlib

    before = dict(matplotlib.rcParams)
    svg = figures.rendered(lambda title: figures.figure(title)[0], "How far?")
    assert b"<svg" in svg and dict(matplotlib.rcParams) == before


def test_doctor(lessons, capsys):
    cli.main(["doctor"])
    text = capsys.readouterr().out
    for what in ("python", "numpy", "float64", "kernel cache", "terminal", "mirror"):
        assert re.search(rf"ok  .*{what}", text), text


def test_doctor_on_a_long_path(monkeypatch, capsys):
    def doctor():
        cli.main(["doctor"])
        return capsys.readouterr().out.splitlines()

    path = "/home/somebody/.cache/minigrad/a folder with a name/kernels/0123456789"
    module = type(sys)("cache")
    module.cache_directory = lambda: path
    monkeypatch.setitem(sys.modules, "attention.kernels.cache", module)
    lines = doctor()
    where = lines.index(f"      {path}")
    assert lines[where - 1] == "  ok  kernel cache"
    assert len(path) == 70  # by its name's side it would end at column 90
    module.cache_directory = lambda: path[:60]
    assert f"  ok  kernel cache  {path[:60]}" in doctor()


def test_a_folder_that_cannot_be_written(lessons, tmp_path, monkeypatch):
    (tmp_path / "a file").write_text("no folder")
    monkeypatch.setenv("LESSONS_WORK", str(tmp_path / "a file"))
    code, text = lessons("start", "E.2")
    assert code == 1 and "a file" in text and "Traceback" not in text


def test_colours_are_for_terminals_that_want_them(monkeypatch):
    assert screen.paint("ok", "green") == "ok"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert screen.paint("ok", "green") == "\x1b[32mok\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert screen.paint("ok", "green") == "ok"


def test_the_width_is_eighty_at_most(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert screen.width() == 80
    monkeypatch.setenv("COLUMNS", "60")
    assert screen.width() == 60


def test_two_writers_never_mix_their_lines():
    def write():
        for k in range(50):
            journal.append("E.2", "check", k=k, note="x" * 200)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(journal.events()) == 200
    assert os.path.getsize(E2.work.with_name(journal.NAME)) > 200 * 200
