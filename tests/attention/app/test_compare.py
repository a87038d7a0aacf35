"""The bottleneck experiment: its intervals, its sentence, its command."""

import argparse
import json

import numpy as np
import pytest

from attention.app.commands import compare as command
from attention.app.experiments import bootstrap, compare
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
    return " ".join(printed.err.split())


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
    printed = " ".join(printed.split())
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


LENGTHS = {"1-4": 3, "5-7": 6, "8-10": 9, "11-15": 13, "16+": 20}


def test_the_longest_sources_are_in_the_table_and_in_the_line(tmp_path, capsys):
    """A file with sources of all five buckets."""
    rng = np.random.default_rng(0)
    pairs = [
        " ".join(rng.choice(list("abcdefgh"), n))
        for n in LENGTHS.values()
        for _ in "x" * 40
    ]
    text = tmp_path / "pairs.txt"
    text.write_text("\n".join(f"{line}\t{line.upper()}" for line in pairs))
    options = [*TINY, "--seeds", 1, "--kinds", "none,luong", "--task", text]
    assert main(*options, "--out", tmp_path / "out") == 0
    printed = capsys.readouterr().out.replace(str(tmp_path), "DIR")
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 80
    found = json.loads((tmp_path / "out" / "results.json").read_text())
    bleu = found["summary"]["bleu"]
    assert list(bleu) == ["all", *LENGTHS]
    heads = [line.split()[1:] for line in lines if line.startswith("BLEU")]
    assert sum(heads, []) == list(LENGTHS)
    for kind in "none", "luong":
        rows = [
            line for line in lines if line.startswith(f"{kind:10s}") and "[" in line
        ]
        cells = sum((row[10:].split("]")[:-1] for row in rows), [])
        means = [float(cell.split("[")[0]) for cell in cells]
        assert means == [float(f"{bleu[name][kind][0]:.1f}") for name in LENGTHS]
    for run in found["runs"]:
        start = lines.index(
            next(x for x in lines if x.startswith(f"{run['kind']:10s}"))
        )
        said = " ".join(" ".join(lines[start : start + 2]).split())
        for name in LENGTHS:
            assert f"{name}: {run['bleu'][name]:.1f}" in said
        assert f"best at step {run['best_step']}" in said


def test_the_widest_lines_fit():
    names = dict.fromkeys(["all", *LENGTHS], 100.0)
    result = {"bleu": names, "best_step": 100_000, "seconds": 10_000}
    line = command.Compare().line(None, result)
    assert max(map(len, line.split("\n"))) <= 80 - 11
    assert " ".join(line.split()).startswith("BLEU at 1-4: 100.0 5-7: 100.0 8-10: ")
    whole = {"none": [100.0] * 3, "luong": [100.0] * 3}
    found = {"bleu": dict.fromkeys(names, whole), "aer_uniform": None}
    table = compare.table(found, ("none", "luong"))
    assert max(map(len, table.split("\n"))) <= 80 and "16+" in table


def test_the_opening_line_says_what_was_asked_for(tmp_path, capsys):
    options = [*TINY, "--kinds", "none,luong", "--seeds", 1]
    options += ["--layers", 2, "--cell", "lstm"]
    assert main(*options, "--out", tmp_path) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "30 to test; cell lstm, layers 2, hidden 6, 3 steps" in printed


def test_no_task_is_advised_that_it_refuses(tmp_path, capsys):
    said = refused(["--task", "nosuch", "--out", tmp_path / "x"], capsys)
    assert "no file nosuch; expected en-de, en-fr, or a file with" in said


def test_a_file_that_was_moved_is_gone_on_with(tmp_path, capsys):
    sources = [f"{a} {b} ." for a in "abcdef" for b in "abcdef"]
    old, new, out = tmp_path / "old", tmp_path / "new", tmp_path / "out"
    old.write_text("\n".join(f"{s}\t{s} !" for s in sources))
    options = [*TINY, "--task", old, "--seeds", 1, "--kinds", "none,luong"]
    assert main(*options, "--out", out) == 0
    old.rename(new)
    said = refused(["--resume", out], capsys)
    assert f"no file {old}" in said
    assert main("--resume", out, "--task", new) == 0
    results = json.loads((out / "results.json").read_text())
    assert results["config"]["task"] == str(new)
    assert main("--resume", out) == 0
    new.write_text("\n".join(f"{s}\t{s} ?" for s in sources))
    said = refused(["--resume", out, "--task", new], capsys)
    assert "The data are not those that the run" in said
    said = refused(["--resume", out, "--task", "en-de"], capsys)
    assert f"was started otherwise: --task was {new}" in said
