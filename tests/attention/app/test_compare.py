"""The bottleneck experiment: its intervals and its command."""

import json

import numpy as np
import pytest

from attention.app.experiments import bootstrap, compare
from attention.app.experiments.compare_figure import bleu_by_length
from attention.metrics.bleu import corpus_bleu

from .app_cases import joined, main

TINY = "compare --pairs 30 --test 30 --width 6 --embedding 5 --batch 10 --steps 3"
TINY = [*TINY.split(), "--attentions", "none,luong"]


def sentences(rng, n, letters="abcd"):
    return [list(rng.choice(list(letters), rng.integers(1, 9))) for _ in range(n)]


def nearly(rng, wanted):
    """Sentences with some words of others."""
    return [
        [w if rng.random() < 0.7 else "e" for w in each][: rng.integers(1, 9)]
        for each in wanted
    ]


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


def test_95_percent_of_the_values_are_in_the_interval():
    assert bootstrap.interval(np.arange(1001)[::-1]) == [25, 975]


# the command


@pytest.mark.deep
def test_the_command_prints_its_summary(tmp_path, capsys):
    out = tmp_path / "a folder"
    options = [*TINY, "--seeds", 2, "--seed", 5, "--layers", 2, "--cell", "lstm"]
    assert main(*options, "--out", out) == 0
    printed = capsys.readouterr().out
    results = json.loads((out / "results.json").read_text())
    made = [(run["kind"], run["seed"]) for run in results["runs"]]
    assert made == [("none", 5), ("luong", 5), ("none", 6), ("luong", 6)]
    found, means = results["summary"], {}
    for run in results["runs"]:
        means.setdefault(run["kind"], []).append(run["bleu"]["8-10"])
    for kind, values in means.items():
        mean, low, high = found["bleu"]["8-10"][kind]
        assert mean == pytest.approx(np.mean(values), abs=1e-9) and low <= high
    for text in ("alignment error rate: luong", "Fewer than 3 seeds", "[", "none/5"):
        assert text in printed
    assert "30 to test; cell lstm, layers 2, width 6, 3 steps" in joined(printed)
    for measure in "bleu", "advantage":
        row = found[measure]["8-10"]["luong"]
        assert "{:.1f} [{:5.1f}, {:5.1f}]".format(*row) in printed


def test_the_defaults_are_those_of_the_exercise():
    config = compare.Config()
    assert config.seeds >= 3 and config.pairs == 500
    with pytest.raises(ValueError, match="seed is 1000000000000000001"):
        compare.Config(seed=10**18 - 1)
    assert compare.Config(layers=2).translation("luong", 1).model(9, 9).layers == 2


def test_points_on_the_frame_of_the_figure_are_whole_and_a_mean_may_be_anywhere():
    scores = {"none": (0, 0, 3), "luong": (100, 99, 100), "bahdanau": (9.0, 10, 12)}
    figure = bleu_by_length({"bleu": {"5-7": scores}})
    panel = figure.axes[0]
    drawn = [a for c in panel.containers for a in c.get_children()]
    assert panel.get_ylim() == (0, 100) and len(drawn) > 5
    assert not any(artist.get_clip_on() for artist in drawn)
