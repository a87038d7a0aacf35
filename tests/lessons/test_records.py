"""Records: read as written, and compared with the code that made them."""

import copy
import importlib
import re
import subprocess
import sys
import time

import matplotlib
import numpy as np
import pytest

from attention import kernels
from attention.app.progress_line import Progress
from attention.app.run_folder import States
from lessons import cli
from lessons.course.comparisons import Attending, Scaling
from lessons.classroom import catalogue, records, terminal
from lessons.classroom.catalogue import LESSONS, ROOT
from lessons.classroom.records import fingerprint
from lessons.course import check
from lessons.pages import figures

SCRIPT = '''"""What it does."""

import numpy as np

N = 3


def used(n):
    """A sentence."""
    return np.arange(n)  # a comment


def other():
    return 1.0


def experiment(my, seed=0):
    return {"curve": used(N)}
'''
SAME = [
    ("# a comment", "# another"),
    ('"""A sentence."""', '"""Two. Sentences."""'),
    ("used(N)}", "used(\n        N\n    )\n    }"),
]
OTHER = [("N = 3", "N = 4"), ("arange", "zeros"), ("seed=0", "seed=1")]


def test_a_fingerprint_is_of_the_code_without_words():
    right = fingerprint(SCRIPT)
    for old, new in [*SAME, *OTHER]:
        assert SCRIPT.count(old) == 1, old
        now = fingerprint(SCRIPT.replace(old, new))
        assert (now == right) == ((old, new) in SAME), (old, new)
    text = "def f(x, *, y=None):\n    return f'{{{x:.2f} {y!r}}}' if x else [x, b'a']"
    assert fingerprint(text) == "42a4ff3eb8768e13"  # in all versions of Python


def test_a_record_says_how_it_was_made(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # the script is outside of it
    script = tmp_path / "07_t" / "experiment.py"
    script.parent.mkdir()
    script.write_text(
        "import pathlib\n"
        "from lessons.classroom.records import write_record\n"
        "here = pathlib.Path(__file__)\n"
        "here.write_text(here.read_text() + 'x = 1\\n')  # edited while it runs\n"
        "write_record('r', {'a': 1}, seeds=[1, 2], records=here.parent)\n"
    )
    then = script.read_text()
    done = subprocess.run([sys.executable, script], cwd=ROOT, text=True, stderr=-1)
    assert done.returncode == 0, done.stderr
    made = records.record("r", script.parent)["made"]
    assert made["code"] == fingerprint(then) != fingerprint(script.read_text())
    monkeypatch.setattr(records, "lesson_folders", lambda: [script.parent])
    assert records.which_script(made) == "an earlier version of the script"
    script.write_text(then + "\n# a thought\n")
    assert records.which_script(made) == "the script as it is now"
    lines = records.how_made({"made": made}).splitlines()
    assert lines[0] == "python -m lessons experiment 7" and max(map(len, lines)) <= 80
    assert lines[1].startswith("seeds 1, 2; Python")


def test_a_record_is_read_as_it_was_written(tmp_path):
    results = {"curve": np.array([1.5, 2.0]), "n": np.int64(3)}
    path = records.write_record("run", results, seeds=[1], records=tmp_path)
    found = records.record("run", records=tmp_path)
    assert found["curve"] == [1.5, 2.0] and found["n"] == 3
    assert found["made"]["numpy"] == np.__version__
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    with pytest.raises(FileNotFoundError, match="no record walk .* there are: run"):
        records.record("walk", records=tmp_path)


OF_LESSONS = sorted(
    path.stem for path in records.RECORDS.glob("*.json") if path.stem[:3] != "ex_"
)
OF_EXERCISES = [e for e in catalogue.exercises() if records.read_record(e)]


@pytest.mark.parametrize("name", OF_LESSONS)
def test_a_page_says_how_its_record_was_made(name):
    kept = records.record(name)
    script = records.script_of(kept["made"]["command"])
    part = [*kept["made"]["command"].split(), "experiment"][5]
    assert records.command_of(script, part) == kept["made"]["command"]
    assert part in records.experiments_of(script.parent)
    page = (script.parent / "README.md").read_text(encoding="utf-8")
    assert f"```text\n{records.how_made(kept)}\n" in page
    writes = rf'\b(write_record|study)\(\s*"{name}"'
    assert re.search(writes, script.read_text(encoding="utf-8"))
    assert re.search("minute|hour", records.about_run(script, part))


@pytest.mark.parametrize("exercise", OF_EXERCISES, ids=lambda e: e.stem)
def test_the_record_of_an_exercise_is_of_its_present_code_and_has_a_figure(exercise):
    now = records.answer_hash(exercise, exercise.answer_text)
    assert records.read_record(exercise)["tokens"] == now, (
        f"The record of {exercise.id} was made by other code; the present one is {now}."
        f" next: python -m lessons experiment {exercise.id} --impl solution"
    )
    right = check.load(exercise.parts, "it", exercise.answer_text).right
    if "picture" in right:
        with matplotlib.rc_context():
            fig = right["picture"](records.read_record(exercise)["result"])
            assert b"<svg" in figures.render(fig)
        assert all(ax.get_xlabel() and ax.get_ylabel() for ax in fig.axes)


def test_every_record_belongs_to_a_lesson_or_an_exercise():
    known = {e.stem for e in OF_EXERCISES} | set(OF_LESSONS)
    assert {path.stem for path in (LESSONS / "records").iterdir()} == known
    assert len(OF_LESSONS) > 4 and len(OF_EXERCISES) > 3


CHEAP = [  # script, its comparison, the record and the entry in it, a cheap arm
    ("03_additive.experiment", lambda m: m.Lookups("dot"), "normalizers", "dot",
     "absolute"),
    ("08_local_coverage.experiment", lambda m: m.Windows("copy"), "local", "copy",
     "global"),
    ("08_local_coverage.experiment", lambda m: m.Sorting(), "repeating", "sorting",
     "without"),
    ("09_self_attention.experiment", lambda m: m.Pronouns(), "pronouns", "models",
     "two blocks"),
    ("10_heads.experiment", lambda m: m.Sentences(), "heads", "models", "whole"),
    ("10_heads.experiment", lambda m: m.PARTS, "transformer", "parts", "nothing"),
    ("10_heads.experiment", lambda m: m.SCALE, "transformer", "scale", "scaled"),
    ("11_positions.experiment", lambda m: m.Positions(), "positions", "schemes", "rope"),
    ("12_exact_and_cheap.experiment", lambda m: m.Quality(), "quality", "forms", "dense"),
    ("13_translation.experiment", lambda m: m.Models(), "translation", "models", "GRU"),
    ("13_translation.experiment", lambda m: m.Writing(), "writing", "model", "Transformer"),
    ("14_checks_the_book.experiment", lambda m: m.Scores(), "lookup", "lookup", "additive"),
    ("15_weights.experiment", lambda m: m.COUNTING, "weights", "counting", "softmax"),
    ("16_pointing.experiment", lambda m: m.Sorting(), "pointing", "sorting",
     "additive, no mask"),
    ("17_caches.experiment", lambda m: m.Lookups(), "caches", "lookup", "narrow heads"),
    ("18_memories.experiment", lambda m: m.Names(), "memories", "names", "decay"),
    ("19_sets.experiment", lambda m: m.Chain(), "sets", "chain", "2 hops"),
    ("20_tournament.experiment", lambda m: m.tasks()[0], "tournament", "lookup",
     "softmax"),
]  # fmt: skip


def first_steps_repeat(study, kept, wanted, backend, folder):
    """On another processor sums are rounded differently, and a curve moves a little."""
    job, states = [wanted[k] for k in ("arm", "rate", "seed")], States(folder, "it")
    with kernels.backend(backend):
        run, _ = study.train_and_save(job, states, Progress("", 1))
    n, curve = len(run["curve"]), np.array(wanted["curve"])
    assert n == -(-study.budget // study.every)  # the last interval may be shorter
    assert curve[n - 1] > kept["chance"] + 5 * kept["resolution"]
    assert abs(run["curve"] - curve[:n]).max() < 3 * kept["resolution"]


@pytest.mark.deep
@pytest.mark.parametrize("case", CHEAP, ids=lambda case: case[2])
def test_the_first_steps_of_a_study_repeat(case, tmp_path):
    script, comparison, name, entry, arm = case
    kept = records.record(name)[entry]
    study = copy.copy(comparison(importlib.import_module(f"lessons.book.{script}")))
    study.budget = 4 * study.every
    wanted = next(run for run in kept["runs"] if run["arm"] == arm)
    first_steps_repeat(study, kept, wanted, "numba", tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("id, steps", [("38.4", 100), ("6.9", 300)])
def test_the_first_steps_of_a_learners_comparison_repeat(id, steps, tmp_path):
    exercise = catalogue.find(id)
    kept = records.read_record(exercise)["result"]
    my = check.load(exercise.parts, exercise.file, exercise.answer_text)
    study = {"38.4": Scaling, "6.9": Attending}[id](my)
    study.budget = steps
    first_steps_repeat(study, kept, kept["runs"][1], "numpy", tmp_path)


def test_the_experiment_of_a_reader_writes_into_the_work_folder(
    tmp_path, monkeypatch, capsys
):
    """The record of the page, which is under version control, stays as it is."""
    monkeypatch.setenv("LESSONS_WORK", str(tmp_path))
    monkeypatch.delenv("PYTHONPATH", raising=False)  # the command sets it
    code = (
        "import os, sys\n"
        "from lessons.classroom.records import write_record\n"
        "threads = [os.environ[f'{x}_NUM_THREADS'] for x in ('OPENBLAS', 'OMP')]\n"
        "def study(words):\n"
        "    results = {'threads': threads, 'words': words}\n"
        "    write_record('of a reader', results, seeds=[1])\n"
        "study(sys.argv[1:])\n"
    )
    (tmp_path / "experiment.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(records, "find_lessons", lambda id: [tmp_path])
    assert cli.main(["experiment", "11"]) == 0
    kept = tmp_path / "records" / "of a reader.json"
    assert not (records.RECORDS / kept.name).exists() and kept.exists()
    assert f"{tmp_path}/records" in capsys.readouterr().out.replace("\n", "")
    found = records.record(kept.stem, kept.parent)
    assert found["threads"] == ["1", "1"] and not found["words"]
    assert cli.main(["experiment", "11", "--quick"]) == 0
    assert records.record(kept.stem, kept.parent)["words"] == ["--quick"]
    monkeypatch.setattr(records, "RECORDS", tmp_path / "of the pages")
    assert cli.main(["experiment", "11", "--impl", "solution"]) == 0
    assert (tmp_path / "of the pages" / kept.name).exists()


def test_an_experiment_shows_its_time_and_that_of_the_record(
    capsys, tmp_path, monkeypatch
):
    with terminal.clock(461, every=0.01):
        time.sleep(0.1)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["The recorded run took 0:07:41.", "0:00:00 of about 0:07:41"]
    with terminal.clock(0.4, every=0.7):
        time.sleep(1)
    assert capsys.readouterr().err.splitlines()[1:] == ["0:00:01, longer than that run"]
    monkeypatch.setattr(records, "RECORDS", tmp_path)
    [folder] = catalogue.find_lessons("8")
    script = folder / "experiment.py"
    local = records.command_of(script, "local")
    assert records._recorded_seconds(local) is None
    monkeypatch.setattr(records, "PATH", script)
    monkeypatch.setattr(sys, "argv", [str(script), "--quick", "local"])
    records.write_record("s", {}, seeds=[1], records=tmp_path)
    seconds = records.record("s", tmp_path)["made"]["seconds"]
    assert records._recorded_seconds(local) == seconds > 0
    assert records._recorded_seconds(records.command_of(script, "repeating")) is None


@pytest.mark.parametrize("damaged", [b"", b'{"made": {', b"[]", b"\xff", b"[" * 10**5])
@pytest.mark.parametrize("id", ["38.4", "11"])
def test_a_damaged_record_is_a_sentence(monkeypatch, tmp_path, capsys, damaged, id):
    for name in ("ex_38_4", "reversal"):
        (tmp_path / f"{name}.json").write_bytes(damaged)
    monkeypatch.setattr(records, "RECORDS", tmp_path)
    monkeypatch.setattr(records, "_folder", lambda impl: tmp_path)
    monkeypatch.setattr(records.subprocess, "Popen", None)  # nothing is run
    options = ["--impl", "solution", "--quick"] if "." in id else []
    assert cli.main(["experiment", id, *options]) == 2
    text = " ".join(capsys.readouterr().err.split())
    assert "is damaged: it is not an object in JSON. Restore the file, or" in text
