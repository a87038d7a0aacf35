"""The verbs of ``python -m lessons``, one after the other, as a learner uses them."""

import math
import os
import re
import subprocess

import numpy as np
import pytest

from lessons import cli
from lessons.classroom import catalogue, records
from lessons.classroom.authors import gate, tables
from lessons.course import check
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
    monkeypatch.setattr(os, "environ", dict(os.environ))  # an experiment sets some
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


def outcome(tag, step="values", lines=("f(x)", "found 3"), **more):
    facts = {"step": step, "result": "failed", "part": None}
    return facts | {"tag": tag, "lines": list(lines)} | more


def failed(tag):
    return Report(code=1, outcomes=[outcome(tag)])


def test_from_start_to_passed(lessons, runs):
    code, text = lessons()
    assert code == 0 and text.startswith("0 of ") and "lessons start " in text
    code, text = lessons("start", "e2")
    assert code == 0 and "mein Übungsheft/00_e_2_backwards.py" in text
    assert E2.work.read_text(encoding="utf-8") == E2.stub_text
    runs[:] = [failed("transpose"), failed("transpose"), Report(code=0)]
    code, text = lessons("check")  # the one that was edited last
    assert code == 1 and "FAIL  values\n" in text and "found 3" in text
    assert "hint:  python -m lessons hint E.2" in text
    assert "not yet" in lessons("list")[1]
    assert re.search(r"next: +python -m lessons check E.2", lessons()[1])
    lessons("check")
    code, text = lessons("check", "E.2")
    why, after = text.split("  passed\n")[1].split("  see:")
    assert code == 0 and why.startswith("  why:\n")
    assert "python -m lessons solution E.2" in after
    assert lessons("status")[1].startswith("1 of ")
    rows = [line[27:] for line in lessons("history")[1].splitlines()[:-1]]
    assert rows == [
        "started", "checked: failed at values (transpose), 2 times",
        "checked: passed  <- your text now",
    ]  # fmt: skip
    E2.work.write_text(answer() + "# a thought\n", encoding="utf-8")
    assert lessons()[1].startswith("0 of ") and "edited" in lessons("list")[1]


MESSAGES = [  # (arguments, exit code, fragments)
    (["chek", "E.2"], 2, ["There is no verb 'chek'. Did you mean 'check'? python -m"]),
    (["dev", "check", "scor", "x"], 2, ["'scor'", "Did you mean 'score'?"]),
    (["check", "E.222"], 2, ["There are E.1 to E.28. Did you mean 'E.22'? python"]),
    (["check", "f2"], 2, ["There is no exercise 'f2'. Did you mean 'E.2'? python"]),
    (["check", "sofmax"], 2, ["Did you mean E.2 (The backward of tanh, matmul and"]),
    (["read", "scalign"], 2, ["no lesson scalign. Did you mean 05_scaling? There are"]),
    (["check", "E.2", "--sed", "3"], 2, ["no option '--sed'. Did you mean '--seed'?"]),
    (["check", "E.2", "--see", "3"], 2, ["no option '--see'. Did you mean '--seed'?"]),
    (["hint"], 2, ["No exercise is started yet"]),
    (["check", "E.2", "--all"], 2, ["takes no ID, no --pdb and no --save"]),
    (["next"], 0, ["next: python -m lessons read start"]),
    (["experiment", "E.2"], 2, ["E.2 has no experiment", "6.5, 6.6, 38.4, 38.5"]),
    (["experiment", "11", "--model", "x"], 2, ["experiment 11 takes no --model."]),
    (["experiment", "22", "--model", "nix"], 1, ["There is no model nix: expected a"]),
    (["experiment", "38.4", "--model", "x"], 2, ["38.4 takes no --model."]),
    (["read", "99"], 2, ["There is no lesson 99. There are: start, 00, 01"]),
    (["site", f"{__file__}/x"], 1, ["python -m lessons site DIR writes to another"]),
    (["notebooks", f"{__file__}/x"], 1, ["lessons notebooks DIR writes to another"]),
    (["check", "--help"], 0, ["--seed", "--json", "--pdb", "--all", "--verbose"]),
]


@pytest.mark.parametrize("argv, code, fragments", MESSAGES)
def test_a_message_says_what_is_possible(lessons, argv, code, fragments):
    found, text = lessons(*argv)
    said = " ".join(text.split())
    assert found == code and all(each in said for each in fragments), text
    assert ("usage:" in text) == ("--help" in argv)


def test_a_work_folder_that_cannot_be_made_is_named(lessons, tmp_path, monkeypatch):
    (tmp_path / "a file").write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("LESSONS_WORK", str(tmp_path / "a file"))
    for verb in "start E.2", "run 5", "experiment 3":
        code, text = lessons(*verb.split())
        text = " ".join(text.split())
        assert code == 1 and f"LESSONS_WORK is {tmp_path / 'a file'}. LESSONS" in text
        assert "LESSONS_WORK=FOLDER chooses another folder for your files." in text
    assert "LESSONS_WORK=FOLDER chooses" in " ".join(lessons("doctor")[1].split())
    assert lessons("read", "0")[0] == 0  # reading needs no journal


def test_a_file_of_save_that_cannot_be_written(lessons, monkeypatch):
    def refused(*args, **options):
        raise OSError(13, "Permission denied", "a.npz")

    lessons("start", "E.2")
    monkeypatch.setattr(report, "check", refused)
    text = lessons("check", "E.2", "--save", "a.npz")[1]
    assert text == "Permission denied: a.npz. Choose another place with --save.\n"
    assert "--save" not in lessons("check", "E.2")[1]


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
    sha = re.findall(r"(\w{7})  your text, before a reset", lessons("history", "E.2")[1])
    E2.work.unlink()
    lessons("start", "E.2")
    lessons("undo", "E.2", "--to", sha[-1])
    assert E2.work.read_text() == "mine, never checked"


def test_hints_follow_the_diagnosis_then_go_on_and_start_again(
    lessons, runs, monkeypatch
):
    own = {"": ["a", "b", "d", "e"], "f": ["on f"]}
    own |= {"sign": ["a", "b"], "root": ["b", "c"]}
    monkeypatch.setattr(hints, "own_hints", lambda exercise: own)
    lessons("start", "E.2")
    assert lessons("hint")[1].startswith("hint 1 of 4:\n  a\n")

    def shown(tag, n):
        runs[:] = [Report(code=1, outcomes=[outcome(tag, part="f")])]
        lessons("check")
        return [lessons("hint")[1].split("\n")[1].strip() for _ in range(n)]

    assert shown("sign", 2) == ["b", "on f"]
    assert shown("root:1/3", 2) == ["c", "d"]
    assert shown("sign", 3) == ["b", "e", "a"]  # the last one is shown once more
    own["g"] = ["on g"]
    todo = outcome("", "written: functions", ["E.2 g"]) | {"result": "unwritten"}
    runs[:] = [Report(code=3, outcomes=[todo])]
    lessons("check")
    assert lessons("hint")[1] == "hint 1 of 1, on g:\n  on g\n"


def test_a_failure_never_follows_from_one_of_its_callers():
    part = {"part": "gaussian", "uses": []}
    inner = outcome("unknown", "inner", ["gaussian(1)"]) | part
    part = {"part": "pull", "uses": ["gaussian"]}
    outer = outcome("scale:2", "outer", ["pull(4)", "twice  [scale:2]"]) | part
    part = {"part": "centre", "uses": []}
    other = outcome("scale:3", "other", ["centre(3)"]) | part
    found = report.lines(E2, Report(outcomes=[outer, inner, other]))
    text = "".join(f"{line}\n" for line, _ in found)
    assert "outer  (may follow from the failure above)" in text
    assert "pull(4)" not in text
    assert text.index("other\n") < text.index("inner\n")  # a known mistake comes first
    found = Report(outcomes=[outer, inner])
    assert found.tag == "unknown"  # not the name of what may follow


def test_the_solution_asks_first(lessons, runs):
    lessons("start", "E.2")
    code, text = lessons("solution", "E.2")
    assert code == 3 and "--peek" in text and "1 - y * y" not in text
    code, text = lessons("solution", "E.2", "--peek")
    assert code == 0 and "the reference\n    y = np.tanh(x)\n" in text
    assert "return g * (1 - y * y)" in text and "#?" not in text
    E2.work.write_text(answer(), encoding="utf-8")
    lessons("check")
    code, text = lessons("solution", "E.2")
    assert code == 0 and "yours, and the reference\n    y = np.tanh(x)\n" in text
    assert "saw the solution" in lessons("history")[1]


def test_the_next_step_follows_the_book_or_the_exercises(lessons, runs):
    def steps():
        return re.findall(r"(?:next|or): +python -m lessons (\w+ \S+)", lessons()[1])

    assert steps() == ["read start", "start E.1"]
    lessons("read", "0")
    assert steps() == ["start E.1", "read 01"]  # the exercises of what was read
    for id in ("E.1", "E.2", "E.3", "E.4", "E.5"):
        lessons("start", id)
        assert steps()[0] == f"check {id}"
        lessons("check", id)
    assert steps() == ["read 02", "start E.6"]  # an exercise comes after its lesson
    lessons("read", "9")
    assert steps()[1] == "read 10"
    lessons("start", "E.7")
    lessons("check", "E.7")
    assert steps()[0] == "start 38.5"  # of the same lesson


def test_options_of_check(lessons, runs, monkeypatch):
    lessons("start", "E.2")
    lessons("start", "38.5")
    runs[:] = [Report(code=4, ending="stopped after 2 s"), failed("mask-leak")]
    code, text = lessons("check", "--all")  # it ends with the worst
    assert code == 4 and "END   stopped" in text and "FAIL" in text
    seeds = []
    seed_of = lambda e, path, seed, **_: seeds.append(seed) or Report(code=0)  # noqa: E731
    monkeypatch.setattr(runner, "run", seed_of)
    monkeypatch.setattr(runner, "debug", seed_of)
    for options in (["--seed", "7"], [], ["--pdb", "--seed", "3"]):
        assert lessons("check", "E.2", *options)[0] == 0
    assert seeds == [7, 0, 3]


def test_watch_checks_after_every_change(lessons, runs, monkeypatch):
    lessons("start", "E.2")
    checks, looks = [], []
    monkeypatch.setattr(report, "check", lambda *args, **of: checks.append(len(looks)))

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


def test_an_experiment_leaves_a_record_and_a_figure(lessons, monkeypatch):
    os.environ.pop("ATTENTION_BACKEND", None)

    def experiment(my, seed, quick=False):
        return {"tanh": my.tanh(0.5)[0].item(), "seed": seed}

    def picture(found):
        fig, ax = figures.figure("Does it rise?")
        ax.plot([0, found["tanh"]])
        return fig

    def load(*answer):
        my = loaded(*answer)
        my.right |= {"experiment": experiment, "picture": picture}
        return my

    loaded = check.load
    monkeypatch.setattr(check, "load", load)
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


@pytest.mark.parametrize(
    "kind, name, fragments",
    [("score", "rotated", ["Score(\"rotated\", …)", "variants/rotated.py"]),
     ("operation", "cubed", ["@differentiable", "__all__", "spec(\"cubed\", …)"]),
     ("command", "cubed", ["COMMANDS", "commands/cubed.py", "test_cubed.py"]),
     ("position", "far-off", ["Position(\"far-off\", …)", "positions/far_off.py"]),
     ("exercise", "Z.9", ["dev new NN Z.9"]),
     ("lesson", "77", ["lessons/book/77_WORD"])],
)  # fmt: skip
def test_the_gate_says_what_is_missing(lessons, kind, name, fragments):
    code, text = lessons("dev", "check", kind, name)
    assert code == 1 and all(fragment in text for fragment in fragments), text


@pytest.mark.parametrize("kind, name", [("score", "additive"), ("mask", "Causal")])
def test_the_gate_runs_the_tests_of_one_thing(lessons, monkeypatch, kind, name):
    commands = []
    monkeypatch.setattr(gate, "missing", lambda kind, name: [])
    monkeypatch.setattr(tables, "sync", lambda args: 0)
    done = subprocess.CompletedProcess([], 0)
    monkeypatch.setattr(subprocess, "run", lambda argv, **_: commands.append(argv) or done)
    assert lessons("dev", "check", kind, name)[0] == 0
    about = f" --about {name}" if kind == "score" else " tests/attention/masks"
    assert " ".join(commands[0][3:]).startswith(f"-q --deep{about}")
    assert commands[1][4:] == ["tests/test_architecture.py", "-k", "budget"]
    assert all((catalogue.ROOT / file).exists() for file in gate.KINDS[kind])
