"""The command translate on questions: copy, reversal, sort, addition, recall."""

import argparse
import json
import pathlib
import re
import shlex

import numpy as np
import pytest

from attention.app.commands import compare as compare_command
from attention.app.commands import translate, translate_train
from attention.app.experiments import compare, scoring, translation
from attention.app.pretrained import EN_FR
from attention.seq2seq import translator
from attention.tasks import algorithmic, questions
from attention.tasks.grammar import Splits
from attention.tasks.vocabulary import Vocabulary
from minigrad import checkpoint

ROOT = pathlib.Path(__file__).resolve().parents[3]
TASKS = ("copy", "reversal", "sort", "addition", "recall")
TINY = "--pairs 60 --validation 9 --test 20 --hidden 6 --embedding 5 --batch 20"
TINY = [*TINY.split(), "--steps", "3", "--validate-every", "2"]


def main(*arguments):
    parser = argparse.ArgumentParser(prog="attention translate")
    translate.add_arguments(parser)
    return translate.run(parser.parse_args([str(a) for a in arguments]))


def right(name, question):
    """The answer, by another definition than the task's own."""
    if name == "addition":
        return str(sum(map(int, question.split("+"))))
    if name == "recall":
        return question[question.index(question[-1]) + 1]
    if name == "sort":
        return "".join(c * question.count(c) for c in "abcdefghijklmnopqrstuvwxyz")
    return question[:: -1 if name == "reversal" else 1]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """{task: the folder of a run that learned next to nothing}."""
    folders = {name: tmp_path_factory.mktemp(name) for name in TASKS}
    for name, out in folders.items():
        assert main("train", "--task", name, *TINY, "--out", out) == 0
    return folders


# the data


@pytest.mark.parametrize("name", TASKS)
def test_pairs_are_questions_and_right_answers_and_no_two_alike(name):
    task = algorithmic.TASKS[name]()
    parts = questions.splits(task, 700, 50, 90, seed=3)
    assert isinstance(parts, Splits)
    assert [len(part) for part in parts] == [700, 50, 90]
    asked = ["".join(pair.source) for part in parts for pair in part]
    assert len(set(asked)) == len(asked)
    for part in parts:
        for pair in part:
            question = "".join(pair.source)
            assert "".join(pair.target) == right(name, question)
            assert all(len(token) == 1 for token in pair.source + pair.target)
            assert (pair.alignment, pair.possible) == task.alignment(question)


def test_where_an_answer_stands_that_is_a_permutation():
    for name, link in ("copy", lambda t, S: t), ("reversal", lambda t, S: S - 1 - t):
        for pair in questions.splits(algorithmic.TASKS[name](), 20, 0, 0).train:
            S = len(pair.source)
            assert (
                pair.alignment == pair.possible == {(t, link(t, S)) for t in range(S)}
            )


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
    with pytest.raises(
        ValueError, match="101 different questions .* lengths from 1 to"
    ):
        questions.splits(task, 61, 20, 20)
    with pytest.raises(TypeError, match="task is 'sort'; expected one such as Copy"):
        questions.splits("sort")
    with pytest.raises(ValueError, match="splits: seed is -1; expected"):
        questions.splits(task, 1, 1, 1, seed=-1)


def test_options_of_the_data_mean_what_they_mean_for_grammars(tmp_path):
    options = ["--validation", 7, "--test", 9, "--data-seed", 3, "--lengths", "2,4"]
    arguments = ["--task", "copy", *TINY, *options, "--out", tmp_path]
    assert main("train", *arguments) == 0
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["config"]["lengths"] == [2, 4] and len(results["said"]) == 9
    config = translation.Config(**results["config"])
    data = translation.load(config)
    assert results["data"] == data.checksum
    assert [len(x) for x in (data.train, data.validation, data.test)] == [60, 7, 9]
    assert {len(pair.source) for pair in data.train} == {2, 3, 4}
    assert not {p.source for p in data.test} & {
        p.source for p in data.train + data.validation
    }
    drawn = questions.splits(algorithmic.Copy(2, 4), 60, 7, 9, seed=3)
    assert data.test == drawn.test and data.train == drawn.train


def test_no_question_is_given_an_end():
    """Though all sentences of a grammar have one, and one question ends with itself."""
    config = translation.Config(task="recall", pairs=1)
    assert translation.load(config).ending is None
    assert translation.load(translation.Config(pairs=1)).ending == "."


@pytest.mark.parametrize("name", TASKS)
def test_every_character_has_an_id_whatever_is_drawn(name):
    config = translation.Config(task=name, pairs=3, validation=1, test=1, min_count=9)
    data = translation.load(config)
    symbols = algorithmic.TASKS[name]().symbols.characters
    assert data.source.words == data.target.words == list(symbols)


def test_defaults_are_those_of_the_task():
    for name in TASKS:
        config = translation.Config(task=name)
        assert config.lengths == algorithmic.TASKS[name]().lengths
        for field, (_, usual) in translation.USUAL.items():
            assert getattr(config, field) == usual
    config = translation.Config()
    assert config.lengths is None
    for field, (usual, _) in translation.USUAL.items():
        assert getattr(config, field) == usual
    assert translation.Config(task="sort", steps=7, lengths=[1, 5]).lengths == (1, 5)


# the command


@pytest.mark.parametrize("name", TASKS)
def test_train_score_and_run(name, trained, tmp_path, capsys):
    out, figure = trained[name], tmp_path / "where.png"
    assert {path.name for path in out.iterdir()} == set(translate_train.FILES)
    assert main("score", "--model", out) == 0
    printed = capsys.readouterr().out
    results = json.loads((out / "results.json").read_text())["test"]
    model = translator.load(out / "best.npz")
    data = translation.load(translation.Config(**model.about["config"]))
    report = scoring.score(model, data.test)
    report.pop("said")
    assert report == results and "bleu" not in report
    assert scoring.table(report) in printed
    assert f"{name}, 20 questions that were not trained on" in printed
    assert max(map(len, printed.splitlines())) <= 80
    first, second = re.findall("^(exact|accuracy) ", printed, re.M)
    assert (first, second) == ("exact", "accuracy") and "BLEU" not in printed

    for pair in data.test[:3]:
        question = "".join(pair.source)
        run = ["run", "--model", out, "--figure", figure]
        assert main(*run, question) == 0
        plain = capsys.readouterr()
        said, answer = plain.out.removesuffix("\n"), right(name, question)
        low, high = algorithmic.TASKS[name]().lengths
        wrong = f"This is wrong: {answer} is right. The model learned from questions "
        wrong += f"with --lengths {low},{high}."
        assert (wrong in " ".join(plain.err.split())) == (said != answer)
        assert not set(said) - set(model.target.words)
        if said:
            assert f"where each symbol looked: {figure}" in plain.err
            assert figure.read_bytes().startswith(b"\x89PNG")
        assert main(*run, " ".join(question).upper()) == 0
        spaced = capsys.readouterr()
        assert spaced.out.removesuffix("\n") == " ".join(said)


def test_what_train_prints(tmp_path, capsys):
    assert main("train", "--task", "sort", *TINY, "--out", tmp_path) == 0
    printed = capsys.readouterr().out.replace(str(tmp_path), "DIR")
    assert "sort: 60 pairs to train on, 9 to validate, 20 to test" in printed
    assert "30 and 30 symbols; attention bahdanau" in printed
    assert "alignment error rate 0." in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_scores_by_their_definition(trained):
    model = translator.load(trained["copy"] / "best.npz")
    data = translation.load(translation.Config(**model.about["config"]))
    report = scoring.score(model, data.test)
    right_, total, same = 0, 0, 0
    for said, pair in zip(report["said"], data.test):
        wanted, said = [*pair.target, "end"], [*said, "end"]
        right_ += sum(a == b for a, b in zip(said, wanted))
        total += len(wanted)
        same += said == wanted
    assert report["accuracy"]["all"] == pytest.approx(right_ / total)
    assert report["exact"]["all"] == same / len(data.test)


def test_right_answers_have_right_scores():
    """Of a model that knows, of one that says too much, and of one that stops early."""
    pairs = questions.splits(algorithmic.Copy(), 1, 1, 30).test

    class Knows:
        source = target = Vocabulary(list("abcdefghijklmnopqrstuvwxyz"))
        characters = True

        def decode(self, sources, beam):
            return [(self.change(ids), None) for ids in sources]

    def accuracy(change):
        knows = Knows()
        knows.change = change
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scoring, "alignment_rates", lambda *_: {})
            report = scoring.score(knows, pairs)
        return report["exact"]["all"], report["accuracy"]["all"]

    tokens = sum(len(pair.target) + 1 for pair in pairs)
    assert accuracy(lambda ids: ids) == (1, 1)
    longer = accuracy(lambda ids: np.append(ids, 4))  # the end is wrong
    assert longer == (0, pytest.approx(1 - len(pairs) / tokens))
    shorter = accuracy(lambda ids: ids[:-1])  # the last one and the end
    assert shorter == (0, pytest.approx(1 - 2 * len(pairs) / tokens))


@pytest.mark.parametrize("name", TASKS)
def test_alignment_rates_by_their_definition(name, trained):
    model = translator.load(trained[name] / "best.npz")
    data = translation.load(translation.Config(**model.about["config"]))
    found = scoring.alignment_rates(model, data.test)
    task, total = algorithmic.TASKS[name](), 0
    expected = {"aer": 0.0, "aer_uniform": 0.0, "aer_diagonal": 0.0}
    for pair, w in zip(data.test, scoring.looked_at(model, data.test)):
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


def test_a_resumed_run_and_the_command_that_makes_it_anew(tmp_path, capsys):
    out, path = tmp_path / "model", tmp_path / "small.safetensors"
    options = ["--task", "recall", *TINY, "--lengths", "1,3", "--lr", "0.01"]
    assert main("train", *options, "--out", out, "--export", path) == 0
    results = json.loads((out / "results.json").read_text())
    assert main("train", "--resume", out, "--lengths", "1,3") == 0
    assert json.loads((out / "results.json").read_text()) == results
    assert main("train", "--resume", out, "--lengths", "1,4") == 2
    assert "--lengths was 1,3" in capsys.readouterr().err
    command = json.loads(path.with_suffix(".json").read_text())["command"]
    parser = argparse.ArgumentParser()
    translate.add_arguments(parser)
    given = translate_train.given(
        parser.parse_args(shlex.split(command)[4:]), translation.Config
    )
    assert "dropout" not in given  # what is usual for a question is not said
    assert translate_train.describe(translation.Config(**given)) == results["config"]
    small = translator.load(path)
    assert small.characters and small.words("A 3b") == ["a", "3", "b"]


def test_without_attention(tmp_path, capsys):
    options = ["--task", "copy", *TINY, "--attention", "none"]
    assert main("train", *options, "--out", tmp_path) == 0
    assert "no alignment error rate: the model has no" in capsys.readouterr().out
    assert main("run", "--model", tmp_path, "--figure", tmp_path / "x.png", "abc") == 0
    assert "no figure: " in capsys.readouterr().err


def test_a_word_translator_that_was_saved_before_there_were_questions(
    trained, tmp_path
):
    assert not translator.load(EN_FR).characters
    state = checkpoint.load(trained["sort"] / "best.npz")
    assert state.pop("characters") is True
    checkpoint.save(tmp_path / "old.npz", state)
    assert not translator.load(tmp_path / "old.npz").characters


@pytest.mark.parametrize(
    "text, between",
    [("12+34", ""), ("1 2 + 3 4", " "), ("12 + 34", ""), (" 7+8 ", ""), ("7 + 8", " ")],
)
def test_the_answer_is_written_as_the_question_is(text, between, trained):
    model = translator.load(trained["addition"] / "best.npz")
    found = model.translate(text)
    assert found.source == [c for c in text if c != " "]
    assert found.between == between and found.text == between.join(found.target)


def refused(arguments, capsys):
    """The one sentence with which the command refuses its arguments."""
    try:
        code = main(*arguments)
    except SystemExit as stop:  # argparse
        code = stop.code
    printed = capsys.readouterr()
    assert code == 2 and "Traceback" not in printed.err
    return " ".join(printed.err.split())


def test_what_it_refuses(trained, tmp_path, capsys):
    train = ["train", *TINY, "--out", tmp_path / "x"]
    figure = tmp_path / "x.png"
    run = {
        name: ["run", "--figure", figure, "--model", trained[name]] for name in TASKS
    }
    for arguments, sentence in [
        ([*run["sort"], "3 1 2"], "'3' at place 0 of '312' is not one of a to z."),
        ([*run["copy"], "ab c!"], "'!' at place 3 of 'abc!' is not one of a to z."),
        ([*run["addition"], "12"], "'12' is no question; expected '12+345'."),
        ([*run["recall"], "a3b7"], "'a3b7' is no question; expected 'a3b7b', diff"),
        ([*run["reversal"], " "], "There is no word to translate"),
        ([*train, "--task", "copy", "--target", "x"], "the task copy has its own"),
        (
            [*train, "--task", "copy", "--lengths", "3"],
            "The lengths are 3, and found 1",
        ),
        ([*train, "--task", "copy", "--lengths", "3,x"], "'x' should be a number"),
        ([*train, "--task", "copy", "--lengths", "5,2"], "min_length is 5 and max_l"),
        ([*train, "--task", "recall", "--lengths", "2,27"], "expected 1 to 26"),
        ([*train, "--lengths", "2,3"], "lengths are 2,3, and en-de has none; expected"),
        (
            [*train, "--task", "addition", "--lengths", "1,1", "--pairs", "99"],
            "128 different questions are asked for",
        ),
        ([*train, "--task", "copying"], "no file copying; expected en-de, en-fr, copy"),
    ]:
        said = refused(arguments, capsys)
        assert sentence in said, said
    assert not figure.exists()


def test_a_file_that_has_the_name_of_a_task(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{a} {b} .\t{b} {a} ." for a in "xyz" for b in "xyz"]
    (tmp_path / "sort").write_text("\n".join(lines))
    assert translation.load(translation.Config(task="sort", pairs=9)).questions
    data = translation.load(translation.Config(task="./sort"))
    assert data.questions is None and "z" in data.source


@pytest.mark.parametrize("name", ["reversal", "sort"])
def test_it_is_learned(name, tmp_path, capsys):
    """Short questions in a few seconds; the defaults take a minute or two."""
    options = "--lengths 2,4 --pairs 4000 --steps 450 --hidden 48 --batch 64".split()
    assert main("train", "--task", name, *options, "--out", tmp_path) == 0
    results = json.loads((tmp_path / "results.json").read_text())["test"]
    assert results["exact"]["all"] > 0.9 < results["accuracy"]["all"]
    assert results["aer"] < 0.5 * min(results["aer_uniform"], results["aer_diagonal"])
    capsys.readouterr()
    figure = tmp_path / "x.png"
    assert main("run", "--model", tmp_path, "--figure", figure, "c a d") == 0
    printed = capsys.readouterr()
    assert printed.out.strip() == " ".join(right(name, "cad"))
    assert "wrong" not in printed.err and figure.exists()


# what speaks of it


def test_help_and_readme_name_the_tasks(capsys):
    with pytest.raises(SystemExit):
        main("train", "--help")
    said = " ".join(capsys.readouterr().out.split())
    assert f"questions: {', '.join(algorithmic.TASKS)}" in said
    for name, kind in algorithmic.TASKS.items():
        assert f"{name} {','.join(map(str, kind().lengths))}" in said
    for of_sentences, of_questions in translation.USUAL.values():
        assert f"(default: {of_sentences}; with questions {of_questions})" in said
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in TASKS:
        assert name in translate.__doc__ and f"`{name}`" in readme
    parser = argparse.ArgumentParser()
    translate.add_arguments(parser)
    (line,) = re.findall("python -m attention translate (train --task .*)", readme)
    args = parser.parse_args(line.split())
    config = translation.Config(**translate_train.given(args, translation.Config))
    assert config.task in TASKS


# compare, which has the same data


def test_compare_has_layers_and_refuses_questions(tmp_path, capsys):
    parser = argparse.ArgumentParser()
    compare_command.add_arguments(parser)
    args = parser.parse_args(["--layers", "2"])
    config = compare_command.Compare().asked(args)
    assert config.layers == 2 and compare.Config().layers == 1
    for kind, seed in config.plan():
        assert config.translation(kind, seed).model(9, 9).layers == 2
    args = parser.parse_args(["--task", "copy", "--out", str(tmp_path / "x")])
    assert compare_command.run(args) == 2
    assert "The task is copy, and what is compared is BLEU" in capsys.readouterr().err
