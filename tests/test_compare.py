"""The bottleneck experiment: its intervals, its sentence, its command."""

import argparse
import json

import numpy as np
import pytest

from attention.commands import compare as command
from attention.experiments import bootstrap, compare
from attention.seq2seq.bleu import corpus_bleu

TINY = ["--pairs", 30, "--test", 30, "--hidden", 6, "--embedding", 5, "--batch", 10]
TINY += ["--steps", 3]


def sentences(rng, n, letters="abcd"):
    return [list(rng.choice(list(letters), rng.integers(1, 9))) for _ in range(n)]


def nearly(rng, wanted):
    """Sentences with some words of others."""
    return [
        [w if rng.random() < 0.7 else "e" for w in each][: rng.integers(1, 9)]
        for each in wanted
    ]


@pytest.mark.parametrize("seed", range(6))
def test_bleu_of_counts_is_bleu(seed):
    rng = np.random.default_rng(seed)
    wanted = sentences(rng, 5 if seed else 1)
    for said in nearly(rng, wanted), sentences(rng, len(wanted), "ex"), wanted:
        counts = bootstrap.counts(said, wanted)
        want = corpus_bleu(said, wanted)
        assert bootstrap.bleu(counts.sum(0)) == pytest.approx(want, abs=1e-9)


def test_bleu_of_nothing_said_is_zero():
    counts = bootstrap.counts([[], []], [["a"], ["b", "c"]])
    assert bootstrap.bleu(counts.sum(0)) == 0 == corpus_bleu([[]], [["a"]])


def test_resampling_by_its_definition():
    rng = np.random.default_rng(0)
    wanted = sentences(rng, 7)
    said = {k: [nearly(rng, wanted) for _ in range(3)] for k in ("none", "luong")}
    counts = {
        k: np.stack([bootstrap.counts(s, wanted) for s in each])
        for k, each in said.items()
    }
    found = bootstrap.resampled(counts, seed=3, times=20)
    again = np.random.default_rng(3)
    drawn = again.multinomial(7, np.full(7, 1 / 7), size=20)
    for kind, each in said.items():
        seeds = again.integers(3, size=(20, 3))
        for i in range(20):
            rows = np.repeat(np.arange(7), drawn[i])
            want = np.mean(
                [
                    corpus_bleu([each[s][r] for r in rows], [wanted[r] for r in rows])
                    for s in seeds[i]
                ]
            )
            assert found[kind][i] == pytest.approx(want, abs=1e-9)


def test_intervals_hold_what_they_should():
    """Of 120 test sets drawn from one world, about 95 % of the intervals hold it."""
    rng = np.random.default_rng(1)
    world = sentences(rng, 3000, "abcdefgh")
    mine = [each if rng.random() < 0.5 else each[::-1] for each in world]
    truth, counts = corpus_bleu(mine, world), bootstrap.counts(mine, world)
    inside = 0
    for i in range(120):
        rows = rng.integers(3000, size=60)
        drawn = bootstrap.resampled({"none": counts[None, rows]}, i, 200)["none"]
        low, high = bootstrap.interval(drawn)
        inside += low <= truth <= high
    assert 0.85 <= inside / 120 <= 0.99


def findings(advantage, growth):
    bleu = {"luong": [50.0, 45, 55], "none": [20.0, 15, 25]}
    return {
        "bleu": {"all": bleu, "5-7": bleu, "11-15": bleu},
        "advantage": {"11-15": {"luong": advantage}},
        "growth": {"luong": growth},
    }


@pytest.mark.parametrize(
    "advantage, said",
    [
        ([30.0, 25, 35], "luong beats none by 30.0 BLEU [+25.0, +35.0] (50.0 against"),
        ([-9.0, -12, -3], "luong loses to none by 9.0 BLEU [-12.0, -3.0]"),
        ([2.0, -1, 4], "luong does not differ measurably from none (by +2.0 BLEU [-1"),
    ],
)
def test_the_sentence_says_what_came_out(advantage, said):
    for growth, how in [
        ([5.0, 1, 9], "from 5-7 to 11-15 words the advantage of luong grows (+5.0 [+1"),
        ([-5.0, -9, -1], "advantage of luong shrinks (-5.0 ["),
        ([5.0, -1, 9], "advantage of luong hardly changes (+5.0 ["),
    ]:
        sentence = compare.statement(findings(advantage, growth), 3)
        assert sentence.startswith("On sources of 11-15 words, over 3 seeds, luong ")
        assert said in sentence and how in sentence and sentence.endswith(".")


def main(*arguments):
    parser = argparse.ArgumentParser(prog="attention compare")
    command.add_arguments(parser)
    return command.run(parser.parse_args([str(a) for a in arguments]))


def test_the_command_writes_what_it_says_and_is_resumed(tmp_path, capsys):
    out = tmp_path / "a folder"
    options = [*TINY, "--kinds", "none,luong", "--seeds", 2, "--seed", 5]
    assert main(*options, "--out", out) == 0
    printed = capsys.readouterr().out
    assert (out / "compare.png").read_bytes().startswith(b"\x89PNG")
    results = json.loads((out / "results.json").read_text())
    made = [(run["kind"], run["seed"]) for run in results["runs"]]
    assert made == [("none", 5), ("luong", 5), ("none", 6), ("luong", 6)]
    found = results["summary"]
    means = {}
    for run in results["runs"]:
        means.setdefault(run["kind"], []).append(run["bleu"]["8-10"])
    for kind, values in means.items():
        mean, low, high = found["bleu"]["8-10"][kind]
        assert mean == pytest.approx(np.mean(values), abs=1e-9) and low <= high
    assert max(map(len, printed.replace(str(out), "DIR").splitlines())) <= 80
    for text in ("alignment error rate: luong", "Fewer than 3 seeds", "[", "none/5"):
        assert text in printed
    assert found["statement"] in " ".join(printed.split())

    class Stopped(Exception):
        pass

    def stop(kind, *_):
        raise Stopped

    cut = tmp_path / "cut"
    with pytest.raises(Stopped), pytest.MonkeyPatch.context() as patch:
        patch.setattr(command.Compare, "line", stop)  # after the first run
        main(*options, "--out", cut)
    assert main("--resume", cut) == 0
    again = json.loads((cut / "results.json").read_text())
    for run in *again["runs"], *results["runs"]:
        run.pop("seconds")
    assert again == results


def test_of_a_file_there_is_no_alignment_to_judge(tmp_path, capsys):
    text = tmp_path / "pairs.txt"
    words = "one two three four five six".split()
    lines = [f"{a} {b} .\t{b}s {a}s ." for a in words for b in words]
    text.write_text("\n".join(lines), encoding="utf-8")
    options = [*TINY, "--seeds", 1, "--kinds", "none,bahdanau"]
    assert main("--task", text, *options, "--out", tmp_path / "out") == 0
    printed = capsys.readouterr().out
    assert "1-4" in printed and "alignment error rate" not in printed
    assert "the advantage" not in printed  # of one length there is no growth


def refused(arguments, capsys):
    try:
        code = main(*arguments)
    except SystemExit as stop:  # argparse
        code = stop.code
    printed = capsys.readouterr()
    assert code == 2 and "Traceback" not in printed.err
    return printed.err.strip().splitlines()[-1]


def test_a_config_that_one_of_its_runs_would_refuse():
    with pytest.raises(ValueError, match="hidden is 0; expected"):
        compare.Config(hidden=0)
    with pytest.raises(ValueError, match="The dropout is 1; expected a number from 0"):
        compare.Config(dropout=1)


def test_two_aligned_files(tmp_path, capsys, monkeypatch):
    sources = [f"{a} {b} ." for a in "abcdef" for b in "abcdef"]
    (tmp_path / "a.en").write_text("\n".join([*sources, "", ""]))
    (tmp_path / "a.xx").write_text("\n".join([*[f"{s} !" for s in sources], "x", ""]))
    monkeypatch.chdir(tmp_path)
    options = [*TINY, "--task", "a.en", "--target", "a.xx", "--seeds", 1]
    assert main(*options, "--kinds", "none,luong", "--out", tmp_path / "out") == 0
    printed = capsys.readouterr().out
    assert "a.en: 28 pairs to train on, 4 to test" in printed
    assert "36 pairs read. Line 37 was left out: it is empty in " in printed
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert main("--resume", tmp_path / "out") == 0
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results["config"]["target"] == str(tmp_path / "a.xx")


def test_what_it_refuses(tmp_path, capsys):
    one, four = tmp_path / "one", tmp_path / "four"
    one.write_text("a b\tc d\n")
    four.write_text("a b\tc d\n" * 4)
    for arguments, sentence in [
        (["--kinds", "luong"], "'luong' should be none and others, out of none,bahd"),
        (["--kinds", "none,x"], "'none,x' should be none and others"),
        (["--seeds", "0"], "'0' should be a number from 1 up"),
        (["--task", "en-it"], "There is no task and no file en-it"),
        (["--task", one], "holds 1 pair; expected 6 or more"),
        (["--task", four], "holds 4 pairs; expected 6 or more"),
        (["--dropout", "1"], "'1' should be a number from 0 to 1, 1 left out"),
        (["--resume", tmp_path], "There is nothing to resume in"),
    ]:
        where = [] if "--resume" in arguments else ["--out", tmp_path / "x"]
        said = refused([*where, *arguments], capsys)
        assert sentence in said, said


def test_quick_is_smaller_but_what_is_asked_for_counts():
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    args = parser.parse_args(["--quick", "--steps", "7"])
    config = command.Compare().asked(args)
    assert (config.steps, config.seeds, config.hidden) == (
        7,
        1,
        compare.QUICK["hidden"],
    )
    assert compare.Config().seeds >= 3 and compare.Config().pairs == 500
    assert compare.Config().plan()[:4] == [
        ("none", 1), ("bahdanau", 1), ("luong", 1), ("none", 2)
    ]  # fmt: skip
