"""The instrument of all studies: rates, steps, seeds, and verdicts."""

import json
import os

import numpy as np
import pytest

from attention import kernels
from attention.app.run_folder import States
from lessons.instrument import fair, simulated, sweep
from lessons.instrument.translating import Translating
from lessons.instrument.verdict import (
    Range,
    above,
    below,
    between,
    counts,
    discoveries,
    judged,
    over_seeds,
    p_value,
    paired,
    smallest,
    student,
    verdict,
    written,
)
from minigrad import nn

CLASSES = 4


class Blind(nn.Linear):
    def forward(self, x):
        return super().forward(0 * x)


class Toy(fair.Study):
    """Which of two models can tell four directions apart? One sees only the bias."""

    name, question, measure = "toy", "Which model sees x?", "share of right classes"
    arms, rates, choosing, seeds = ("all", "bias"), (1e-4, 3e-2, 1e-1), (9,), (1, 2, 3)
    budget, every, warmup, chance, resolution = 120, 4, 4, 1 / CLASSES, 0.02
    processes = False

    batch, held_out, held_keys = 16, (200, 200), (1000, 2000)

    def model(self, arm, rng):
        return (Blind if arm == "bias" else nn.Linear)(CLASSES, CLASSES, rng=rng)

    def draw(self, n, *key):
        y = np.random.default_rng(key).integers(CLASSES, size=n)
        return np.eye(CLASSES, dtype=np.float32)[y], y

    def watch(self, arm, model):
        return {"size": float(np.abs(model.weight.numpy()).sum())}


def states(path):
    return States(path, "the same command")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the record of a whole study, and what it said."""
    said = []
    folder = tmp_path_factory.mktemp("whole")
    return fair.run(Toy(), states(folder), log=said.append), said


def test_each_arm_has_its_best_rate_and_its_whole_budget(whole):
    (record, said), toy = whole, Toy()
    start = {
        seed: toy.watch("", toy.build("", 1, seed).model)["size"] for seed in toy.seeds
    }
    # 1e-4 is too small to learn in the budget; both larger rates solve the task
    assert record["chosen"]["all"] == 3e-2
    # the figure of "bias" is noise, and its best rate at an end: its grid has grown
    assert [run["rate"] for run in record["choices"]] == [*toy.rates, *toy.rates, 0.333]
    assert len(record["runs"]) == 2 * 3
    for run in record["runs"]:
        learned = run["arm"] == "all"
        assert run["steps"] == (60 if learned else 120)  # a solved run ends at the half
        assert run["seed"] not in record["choosing"]
        assert run["half"]["figure"] == pytest.approx(run["figure"], abs=0.1)
        sizes = run["watched"]["size"]  # before all steps, and at each validation
        assert len(sizes) == len(run["curve"]) + 1
        assert sizes[0] == start[run["seed"]] and (sizes[-1] > sizes[0]) == learned
    assert (fair.figures(record, "all") == 1).all()
    assert (fair.figures(record, "all", lambda run: 2 * run["figure"]) == 2).all()
    json.dumps(record)
    assert "6 runs to choose rates and 6 that are reported" in said[0]
    found = fair.difference(record, "all", "bias")
    assert found.low > 0.5 and found.added == pytest.approx(
        (fair.figures(record, "bias", of="half") - fair.figures(record, "bias")).mean()
    )
    assert verdict(above(0), found) == "holds"
    assert verdict(above(0), fair.difference(record, "bias", "all")) == "no"


def test_the_grid_grows_while_the_best_rate_is_at_its_end():
    def jobs(means, rates=(0.1, 0.2, 0.4)):
        study = Toy(arms=("a",), rates=rates)
        choices = [
            {"arm": "a", "rate": rate, "validation": x} for rate, x in means.items()
        ]
        return {rate for _, rate, _ in fair.beyond_the_grid(study, choices)}

    assert jobs({0.1: 0.5, 0.2: 0.7, 0.4: 0.6}) == set()
    assert jobs({0.1: 0.5, 0.2: 0.6, 0.4: 0.7}) == {0.8}
    assert jobs({0.1: 0.8, 0.2: 0.6, 0.4: 0.7}) == {0.05}
    assert jobs({0.1: 0.5, 0.2: 0.695, 0.4: 0.7}) == set()  # the end does not matter
    assert jobs({0.1: 0.5, 0.2: 0.6, 0.4: 0.999}) == set()  # it is solved
    assert jobs({0.1: 0.5, 0.2: 0.6, 0.4: 0.7, 0.8: 0.75, 1.6: 0.8}) == {3.2}
    assert jobs({0.1: 0.5, 0.4: 0.7, 0.8: 0.75, 1.6: 0.8, 3.2: 0.9}) == set()
    assert jobs({0.1: 0.5, 0.2: 0.6, 0.4: np.nan}) == set()
    assert jobs({0.1: 0.5}, (0.1,)) == set()  # one rate is no grid


def test_of_rates_that_are_as_good_the_smallest_is_chosen():
    choices = [
        {"arm": "a", "rate": rate, "validation": x}
        for rate, x in ((0.4, 0.905), (0.1, 0.7), (0.2, 0.899))
    ]
    assert fair.best_rate(choices, "a", 0.01) == 0.2
    assert fair.best_rate(choices, "a") == 0.4
    assert fair.tied_rates(choices, "a", 0.01) == [0.2, 0.4]


@pytest.mark.parametrize("place", range(3))
def test_a_rate_whose_figure_is_nan_is_not_chosen(place):
    values = [0.5, 0.9]
    values.insert(place, np.nan)
    choices = [
        {"arm": "a", "rate": rate, "validation": value} for rate, value in enumerate(values)
    ]
    assert values[fair.best_rate(choices, "a")] == 0.9
    both = [{**one, "validation": 0.1} for one in choices]  # a mean with a NaN is NaN
    assert values[fair.best_rate(choices + both, "a")] == 0.9


@pytest.mark.parametrize("steps", [65, 200])  # 65: in the copy, after half of the budget
def test_a_study_that_is_stopped_goes_on(whole, tmp_path, steps):
    class Stopped(Toy):
        left = steps

        def loss_at(self, *args):
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), 2)
            return super().loss_at(*args)

    with pytest.raises(KeyboardInterrupt, match="Continue with\n  the same command"):
        fair.run(Stopped(), states(tmp_path / "parts"), log=lambda _: None)
    said = []
    parts = fair.run(Toy(), states(tmp_path / "parts"), log=said.append)
    for part in ("choices", "runs"):
        for one, other in zip(whole[0][part], parts[part]):
            assert {**one, "seconds": 0} == {**other, "seconds": 0}
    finished_before = 1 + 7 + 6 - len(said)
    assert finished_before == (steps == 200)


def test_a_state_of_an_earlier_version_goes_on():
    toy, job = Toy(), ("all", 3e-2, 1)
    saved = {"run": toy.begun(job).state_dict(), "curve": [], "watched": {"size": [0.0]}}
    run, finished = toy.train(job, saved, lambda *_, **more: None, None)
    assert finished and run.half["figure"] == 1


@pytest.mark.deep
def test_runs_in_processes_are_the_same(tmp_path):
    toy = Toy().quick()
    alone = fair.run(toy, states(tmp_path / "1"), chosen={"all": 0.1, "bias": 0.1})
    toy.processes = True
    pair = fair.run(toy, states(tmp_path / "2"), chosen={"all": 0.1, "bias": 0.1})
    assert [run["curve"] for run in alone["runs"]] == [r["curve"] for r in pair["runs"]]


def test_a_rate_that_diverges_is_not_chosen(tmp_path):
    class Wild(Toy):
        arms, rates, seeds = ("all",), (3e-2, 1e30), (1,)

    record = fair.run(Wild(), states(tmp_path), log=lambda _: None)
    assert record["chosen"] == {"all": 3e-2}


BEHIND, SMALL = [-0.3, -0.31, -0.29], [0.009, 0.0091, 0.0092]
LESS, LARGE = [-x for x in SMALL], [0.02, 0.021, 0.022]
VERDICTS = [  # what is claimed, the values, what else is known of them, the verdict
    (above(0), BEHIND, {}, "no"),
    (above(0), BEHIND, {"half": [-0.5, -0.5, -0.5]}, "no"),
    # as many steps again could add 0.3, and make it 0
    (above(0), BEHIND, {"half": [-0.6, -0.62, -0.58]}, "unfinished"),
    (below(0), BEHIND, {"half": [-0.6, -0.62, -0.58]}, "unfinished"),
    (below(0), BEHIND, {"half": [0, 0.01, 0.02]}, "holds"),  # it moves away
    (above(-0.3), BEHIND, {"half": [-0.6, -0.62, -0.58]}, "undecided"),
    # nobody measured what more steps add: no "no"
    (above(0), BEHIND, {"steps": 400}, "unfinished"),
    (above(-1), BEHIND, {"steps": 400}, "holds"),
    # on either side, a difference that does not count decides nothing
    (above(0), SMALL, {"resolution": 0.01}, "undecided"),
    (below(0), SMALL, {"resolution": 0.01}, "undecided"),
    (above(0), LESS, {"resolution": 0.01}, "undecided"),
    (below(0), LESS, {"resolution": 0.01}, "undecided"),
    (between(-0.01, 0.01), SMALL, {"resolution": 0.01}, "holds"),  # it has two ends
    (between(-0.01, 0.01), LESS, {"resolution": 0.01}, "holds"),
    (above(0), LARGE, {"resolution": 0.01}, "holds"),
    (below(0), [-x for x in LARGE], {"resolution": 0.01}, "holds"),
    # no difference is neither above nor below 0
    (above(0), [0.0] * 3, {}, "no"),
    (below(0), [0.0] * 3, {}, "no"),
    (between(0, 0), [0.0] * 3, {}, "holds"),
    (above(0), [np.nan] * 3, {}, "undecided"),
    (Range(0, 1, margin=0.1), [np.nan] * 3, {}, "undecided"),
]


@pytest.mark.parametrize("claimed, values, known, expected", VERDICTS)
def test_a_verdict_compares_an_interval_with_a_range(claimed, values, known, expected):
    found = over_seeds(values, **known)
    assert verdict(claimed, found) == expected
    counts_as_0 = judged("a", claimed, found).endswith("; up to 0.01 counts as 0")
    assert counts_as_0 == (values in (SMALL, LESS) and expected == "undecided")


def test_where_all_runs_are_right_the_task_cannot_tell():
    solved = paired([1.0, 1.0, 0.9996], [1.0, 0.9951, 1.0], resolution=0.01)
    for claimed in (above(0), below(0), between(-0.01, 0.01)):
        text = "a: undecided\n    all runs at 1.00: the task cannot tell"
        assert judged("a", claimed, solved) == text
    nearly = paired([1.0, 1.0, 1.0], [1.0, 0.994, 1.0])
    assert verdict(between(-0.02, 0.02), nearly) == "holds"


def test_runs_in_two_groups_are_counted():
    assert counts([0.97, 0.78, 0.96, 0.97, 0.79]) == "3 at 0.97 and 2 at 0.79"
    for one_group in ([0.97, 0.9, 0.8, 0.85], [0.5, 0.51, 0.5, 0.52], [0.9, 0.1]):
        assert counts(one_group) == ""
    good, split, low = [0.99, 0.98, 0.97], [0.97, 0.97, 0.78], [0.3, 0.31, 0.29]
    assert verdict(above(0), paired(good, split)) == "undecided"  # .97 is as good
    behind = paired(split, low)
    assert (behind.low, behind.high) == pytest.approx((0.47, 0.68))
    assert verdict(above(0), behind) == "holds"  # each run is ahead of each
    assert written(behind).endswith("3 seeds, 2 at 0.97 and 1 at 0.78 against 0.30")


def test_the_smallest_difference_that_could_be_seen():
    x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    for cells in (1, 10):
        least = smallest(x, cells)
        assert p_value(x + least) == pytest.approx(0.05 / cells, rel=1e-2)


def test_verdicts_of_simulated_studies_are_seldom_wrong():
    """Two arms whose curves are known: what is true with twice as many steps?"""
    found = simulated.error_rates(studies=400, seeds=5)
    for claim, rates in found.items():
        assert rates["wrong"] <= 0.05, claim
        assert rates["holds"] + rates["no"] >= 0.3, claim  # it does decide
    # without the second look, at half of the steps, more verdicts are wrong
    blind = simulated.error_rates(studies=400, seeds=5, looks_back=False)
    assert sum(x["wrong"] for x in blind.values()) > 0.1


def test_a_p_value_is_that_of_student():
    x = np.array([0.1, 0.25, 0.4])
    t = x.mean() / (x.std(ddof=1) / 3**0.5)  # two degrees of freedom
    assert np.isclose(p_value(x), 1 - t / (2 + t * t) ** 0.5, rtol=1e-3)
    assert p_value(-x) == p_value(x) < p_value(x, band=0.1) < p_value(x, band=0.3) == 1
    five = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])  # of standard error sqrt(1/2)
    assert np.isclose(p_value(five + student(5) * 0.5**0.5), 0.05, rtol=1e-3)
    assert (p_value([0.1, 0.1], 0.02), p_value([0.0, 0.0])) == (0, 1)


def test_discoveries_are_those_of_benjamini_and_hochberg():
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459,
         0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]  # fmt: skip  # their example
    assert discoveries(p).sum() == 4 and discoveries(p[::-1])[-4:].all()
    assert discoveries([0.049, 0.03]).all()  # the largest k, not the first that fails
    assert not discoveries([0.06, 0.03]).any()


def test_a_study_is_declared_by_a_call_or_by_a_class(tmp_path):
    settings = "measure arms rates choosing seeds budget every warmup chance resolution"
    settings += " processes batch held_out held_keys"
    toy = Toy()
    functions = {"model": toy.model, "draw": toy.draw, "watch": toy.watch}
    declared = {name: getattr(toy, name) for name in settings.split()} | functions
    study, chosen = fair.Study("toy", "Who sees x?", **declared), {"all": 0.1, "bias": 0.1}
    both = [
        fair.run(each.quick(), states(tmp_path / each.question[:5]), chosen, print)
        for each in (toy, study)
    ]
    one, other = (record["runs"] for record in both)
    assert [{**run, "seconds": 0} for run in one] == [{**r, "seconds": 0} for r in other]
    assert one[0]["figure"] == one[0]["validation"] == 1
    with pytest.raises(TypeError, match="Study: there is no setting budge"):
        fair.Study("toy", "Who sees x?", budge=3)


def test_a_column_of_a_table_is_the_difference_from_the_first_arm():
    runs = [{"arm": arm, "seed": seed, "figure": figure, "half": {"figure": figure}}
            for arm, figures in {"a": (0.5, 0.6), "b": (0.9, 0.9)}.items()
            for seed, figure in enumerate(figures)]  # fmt: skip
    record = {"measure": "", "arms": ["a", "b"], "runs": runs, "resolution": 0.01}
    less = fair.difference(record, "b", "a")
    row = fair.table(record, ["minus"]).splitlines()[-1]
    assert row.split() == ["b", "+0.350", f"[{less.low:+.3f},", f"{less.high:+.3f}]"]


def test_translators_are_compared(tmp_path):
    class Windows(Translating):
        name, question, measure = "copy", "Can a window copy?", "share of right strings"
        arms = {"all": {}, "window": {"local": "m", "window": 1, "score": "general"}}
        options = {
            "task": "copy", "lengths": (2, 3), "pairs": 300, "test": 40, "batch": 20,
            "attention": "luong", "hidden": 16, "embedding": 8, "bidirectional": False,
            "validation": 40,
        }  # fmt: skip
        rates, seeds, budget, every, processes = (1e-2,), (1, 2), 30, 10, False

    record = fair.run(Windows(), states(tmp_path), log=lambda _: None)
    for run in record["runs"]:
        assert 0 <= run["figure"] == run["exact"]["all"] <= 1
        assert len(run["curve"]) == 3 and run["steps"] == 30
    json.dumps(record)


@pytest.mark.deep
def test_the_sweep_measures_each_variant_until_it_would_take_too_long():
    with kernels.backend("numpy"):
        found = sweep.sweep(1, (16, 64, 128), seconds=1e9)
        short = sweep.sweep(1, (64, 128, 256), seconds=1e-9)
    assert all(record["n"] == [64] for record in short.values())
    for name, record in found.items():
        # the blocks of bigbird have 64 tokens
        assert record["n"] == ([64, 128] if name == "bigbird" else [16, 64, 128])
        assert {len(x) for x in record.values()} == {len(record["n"])}
        assert 0 < min(record["least"])
