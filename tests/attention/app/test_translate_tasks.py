"""The command translate on questions, such as copy and addition."""

import json
import re

import pytest

from attention.app.commands import translate_train
from attention.app.configs import USUAL
from attention.app.experiments import scoring, translation
from attention.tasks.algorithmic import QUESTIONS
from attention.seq2seq import translator
from attention.tasks import algorithmic, questions
from attention.tasks.grammar import Splits

from .app_cases import (
    TINY_QUESTIONS,
    TRANSLATOR_FILES,
    fits,
    joined,
    main,
    refused,
    scored,
)

TRAIN = ["translate", "train", *TINY_QUESTIONS, "--task"]


def task_of(name):
    """The task, with its usual lengths."""
    return QUESTIONS[name]()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """{task: the folder of a run that learned next to nothing}."""
    folders = {name: tmp_path_factory.mktemp(name) for name in QUESTIONS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translate_train, "draw_alignment", lambda *_: False)
        for name, out in folders.items():
            assert main(*TRAIN, name, "--out", out) == 0
    return folders


# the data


@pytest.mark.parametrize("name", QUESTIONS)
def test_pairs_are_questions_and_right_answers_and_no_two_alike(name):
    task = task_of(name)
    parts = questions.splits(task, 700, 50, 90, seed=3)
    assert isinstance(parts, Splits)
    assert [len(part) for part in parts] == [700, 50, 90]
    asked = ["".join(pair.source) for part in parts for pair in part]
    assert len(set(asked)) == len(asked)
    for part in parts:
        for pair in part:
            question = "".join(pair.source)
            assert "".join(pair.target) == task.answer(question)
            assert all(len(token) == 1 for token in pair.source + pair.target)
            assert (pair.alignment, pair.possible) == task.alignment(question)


def test_the_sets_do_not_depend_on_those_that_are_drawn_later():
    task = algorithmic.Sort()
    few, many = (questions.splits(task, n, 40, 30, seed=1) for n in (5, 3000))
    assert few.test == many.test and few.validation == many.validation
    assert few.train == many.train[:5]
    other = questions.splits(task, 5, 40, 30, seed=2)
    assert not {p.source for p in other.test} & {p.source for p in few.test}


def test_all_questions_there_are_and_one_more():
    task = algorithmic.Addition(1, 1)
    parts = questions.splits(task, 60, 20, 20)
    asked = {"".join(pair.source) for part in parts for pair in part}
    assert asked == {f"{a}+{b}" for a in range(10) for b in range(10)}
    with pytest.raises(ValueError, match="with lengths from 1 to .* expected 101"):
        questions.splits(task, 61, 20, 20)
    with pytest.raises(ValueError, match="splits: seed is -1; expected"):
        questions.splits(task, 1, 1, 1, seed=-1)


def test_options_of_the_data_mean_what_they_mean_for_grammars():
    config = translation.Config(
        task="copy", pairs=60, validation=7, test=9, data_seed=3, lengths=(2, 4)
    )
    data = translation.load(config)
    drawn = questions.splits(algorithmic.Copy(2, 4), 60, 7, 9, seed=3)
    assert data.test == drawn.test and data.train == drawn.train
    assert {len(pair.source) for pair in data.train} == {2, 3, 4}


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_character_has_an_id_whatever_is_drawn_and_none_is_an_end(name):
    """All sentences of a grammar have an end, and one question ends with itself."""
    assert translation.load(translation.Config(pairs=1)).ending == "."
    config = translation.Config(task=name, pairs=3, validation=1, test=1, min_count=9)
    data = translation.load(config)
    symbols = task_of(name).symbols.characters
    assert data.source.words == data.target.words == list(symbols)
    assert data.ending is None


def test_defaults_are_those_of_the_task():
    lengths = {name: task_of(name).lengths for name in QUESTIONS} | {"en-de": None}
    for name, expected in lengths.items():
        config = translation.Config(task=name)
        assert config.lengths == expected
        for field, usual in USUAL.items():
            assert getattr(config, field) == usual[name in QUESTIONS]
    assert translation.Config(task="sort", steps=7, lengths=[1, 5]).lengths == (1, 5)


# the command


@pytest.mark.parametrize("name", QUESTIONS)
def test_train_and_score(name, trained, capsys):
    out = trained[name]
    assert main("translate", "score", "--model", out) == 0
    printed = capsys.readouterr().out
    results, model, test = scored(out)
    report = scoring.score(model, test)
    outputs = report.pop("said")
    assert report == results and "bleu" not in report
    assert scoring.table(report) in printed and fits(printed)
    assert f"{name}: 20 pairs of the test set" in printed and "BLEU" not in printed
    # by their definition
    hits = total = same = 0
    for output, pair in zip(outputs, test):
        expected, output = [*pair.target, "end"], [*output, "end"]
        hits += sum(a == b for a, b in zip(output, expected))
        total += len(expected)
        same += output == expected
    assert report["accuracy"]["all"] == pytest.approx(hits / total)
    assert report["exact"]["all"] == same / len(test)


def test_the_words_of_questions_are_characters(trained, capsys):
    assert main("translate", "words", "--model", trained["addition"], "1") == 0
    printed = capsys.readouterr().out
    assert re.match(r"questions and answers \(addition\), 1 of 1\d words\n1\n", printed)


def test_run_answers_a_question_and_says_what_is_right(trained, capsys):
    for name in QUESTIONS:
        task = task_of(name)
        question = "".join(questions.splits(task, 1, 0, 0, seed=9).train[0].source)
        run = ["translate", "run", "--model", trained[name]]
        assert main(*run, question) == 0
        plain = capsys.readouterr()
        output, answer = plain.out.removesuffix("\n"), task.answer(question)
        low, high = task.lengths
        sentence = f"This is wrong: {answer} is right. The model learned from "
        sentence += f"questions with --lengths {low},{high}."
        assert (sentence in joined(plain.err)) == (output != answer)
        assert main(*run, " ".join(question).upper()) == 0
        assert capsys.readouterr().out.removesuffix("\n") == " ".join(output)


@pytest.mark.parametrize("name", QUESTIONS)
def test_alignment_rates_by_their_definition(name, trained):
    model = translator.load(trained[name] / "best.safetensors")
    data = translation.load(translation.Config(**model.about["config"]))
    found = scoring.alignment_rates(model, data.test)
    task, total = task_of(name), 0
    expected = {"aer": 0.0, "aer_uniform": 0.0, "aer_diagonal": 0.0}
    for pair, w in zip(data.test, scoring.reference_weights(model, data.test)):
        sure, possible = task.alignment("".join(pair.source))
        T, S = w.shape
        total += T + len(sure)
        for links, weight in (sure, 1), (possible | sure, 1):
            for t, s in links:
                expected["aer"] += weight * (w[t].argmax() == s)
                expected["aer_uniform"] += weight / S
                line = round(t * (S - 1) / (T - 1)) if T > 1 else 0
                expected["aer_diagonal"] += weight * (line == s)
    expected = {rate: 1 - hits / total for rate, hits in expected.items()}
    assert found == pytest.approx(expected)


def test_the_report_of_a_run_with_other_lengths(tmp_path, capsys):
    out = tmp_path / "model"
    options = ["recall", "--lengths", "1,3", "--lr", "0.01"]
    assert main(*TRAIN, *options, "--out", out) == 0
    printed = capsys.readouterr().out
    assert "recall: 60 pairs to train on, 9 to validate, 20 to test" in printed
    assert "alignment error rate" in printed and fits(printed, tmp_path)
    assert {path.name for path in out.iterdir()} == TRANSLATOR_FILES
    resume = ["translate", "train", "--resume", out, "--lengths"]
    assert main(*resume, "1,3") == 0
    assert "--lengths was 1,3" in refused(capsys, *resume, "1,4")
    model = translator.load(out / "best.safetensors")
    assert model.characters and model.words("A 3b") == ["a", "3", "b"]


@pytest.mark.parametrize(
    "text, between",
    [("12+34", ""), ("1 2 + 3 4", " "), ("12 + 34", ""), (" 7+8 ", ""), ("7 + 8", " ")],
)
def test_the_answer_is_written_as_the_question_is(text, between, trained):
    model = translator.load(trained["addition"] / "best.safetensors")
    found = model.translate(text)
    assert found.source == [c for c in text if c != " "]
    assert found.between == between and found.text == between.join(found.target)


def test_what_it_refuses(trained, tmp_path, capsys):
    figure = tmp_path / "x.png"
    train = ["train", "--out", tmp_path / "x", "--task"]
    run = {
        name: ["run", "--figure", figure, "--model", trained[name]]
        for name in QUESTIONS
    }
    for arguments, sentence in [
        ([*run["sort"], "3 1 2"], "'3' at place 0 of '312' is not one of a to z."),
        ([*train, "copy", "--lengths", "3"], "--lengths is 3 with the task copy; exp"),
        ([*train, "en-de", "--lengths", "2,3"], "--lengths is 2,3 with the task en-de"),
    ]:
        error = refused(capsys, "translate", *arguments)
        assert sentence in error, error
    assert not figure.exists()


@pytest.mark.deep
@pytest.mark.parametrize("name", ["reversal", "sort"])
def test_it_is_learned(name, tmp_path, capsys):
    """Short questions in a few seconds; the defaults take a minute or two."""
    options = "--lengths 2,4 --pairs 4000 --steps 450 --width 48 --batch 64".split()
    options += ["--validate-every", 50]  # no early end
    assert main(*TRAIN, name, *options, "--out", tmp_path) == 0
    results = json.loads((tmp_path / "results.json").read_text())["test"]
    assert results["exact"]["all"] > 0.9 < results["accuracy"]["all"]
    assert results["aer"] < 0.5 * min(results["aer_uniform"], results["aer_diagonal"])
    capsys.readouterr()
    run = ["translate", "run", "--model", tmp_path, "--figure", tmp_path / "x.png"]
    assert main(*run, "c a d") == 0
    printed = capsys.readouterr()
    assert printed.out.strip() == " ".join(task_of(name).answer("cad"))
    assert "wrong" not in printed.err
