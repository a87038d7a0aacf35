"""The extrapolation experiment: its task, the run that can be resumed, the command."""

import json

import numpy as np
import pytest

from attention.app.commands.extrapolate import table
from attention.app.configs import TRAINED
from attention.app.experiments import extrapolation as experiment
from attention.variants.table import evaluations_of
from attention.positions.t5 import first_distances
from attention.tasks.bindings import NOTHING, Bindings

from .app_cases import main

SMALL = dict(steps=4, width=8, heads=2, batch=2, samples=3, length=8, factors=(1, 2, 4))
RUN = "extrapolate --steps 2 --length 8 --width 8 --schemes".split()


# the task


def answers(ids, keys):
    """What each key was last bound to, by a loop; None where it is new."""
    book, found = {}, []
    for place in range(0, len(ids), 2):
        key, value = ids[place : place + 2]
        assert key < keys <= value
        found += [book.get(key), None]
        book[key] = value
    return found


@pytest.mark.parametrize("rebound", [0, 0.4, 1])
def test_what_is_asked_is_the_value_last_bound(rebound):
    task = Bindings(keys=4, values=5, rebound=rebound)
    ids, targets = task.draw(np.random.default_rng(0), 50, 24)
    assert ids.shape == targets.shape == (50, 24) and ids.max() == task.vocabulary - 1
    anew = seen = 0
    for row, asked in zip(ids, targets):
        for place, answer in enumerate(answers(row.tolist(), 4)):
            if asked[place] != NOTHING:
                assert asked[place] == answer == row[place + 1]
            elif answer is not None:
                anew += 1
            seen += answer is not None
    assert anew / seen == pytest.approx(rebound, abs=0.05)


def test_a_task_that_does_not_fit():
    with pytest.raises(ValueError, match="length is 7; expected an even number"):
        Bindings().draw(np.random.default_rng(0), 2, 7)


# the experiment


def test_a_model_learns_it():
    config = experiment.Config(**SMALL | {"steps": 150, "batch": 16, "lr": 1e-2})
    run, finished = experiment.train(config, "alibi", 1)
    assert finished and np.mean(run.losses[-20:]) < 0.9 * np.log(8)
    assert max(run.losses[:9]) > np.log(8)


def test_only_what_stands_at_the_end_is_asked():
    config = experiment.Config(**SMALL)
    found = experiment.evaluate(config, experiment.model_of(config, "rope"))
    rows = evaluations_of("rope")
    assert list(found["accuracy"]) == list(found["loss"]) == rows
    assert set(found["loss"]["rope"]) == {"8", "16", "32"}
    for row in rows[1:]:  # within what was trained, all rotations are alike
        assert found["loss"][row]["8"] == found["loss"]["rope"]["8"]
        assert found["loss"][row]["32"] != found["loss"]["rope"]["32"]
    model = experiment.model_of(config, "rope").eval()
    ids, targets = Bindings().draw(np.random.default_rng([97, 16]), 3, 16)
    right, losses = [], []
    for row, asked in zip(model(ids).data, targets):
        for place in range(12, 16):
            if asked[place] != NOTHING:
                z = row[place].astype(float)
                right.append(z.argmax() == asked[place])
                losses.append(np.log(np.exp(z).sum()) - z[asked[place]])
    assert found["accuracy"]["rope"]["16"] == pytest.approx(np.mean(right))
    assert found["loss"]["rope"]["16"] == pytest.approx(np.mean(losses), rel=1e-5)


def test_the_last_bucket_of_t5_is_trained():
    for n in (8, 32, 64):
        c = experiment.model_of(experiment.Config(length=n), "t5").config
        assert first_distances(c.num_buckets, c.max_distance)[-1] < n


def test_configs_that_do_not_fit():
    for options, sentence in [
        (
            {"kinds": ("rope+yarn",)},
            "kinds is ('rope+yarn',); expected one or more",
        ),
        ({"length": 12}, "length is 12; expected a multiple of 8"),
        ({"width": 30}, "width is 30; expected a multiple of heads, 4"),
        ({"width": 4, "kinds": ("rope",)}, "and a head is 1 wide"),
    ]:
        with pytest.raises(ValueError) as refused:
            experiment.Config(**options)
        assert sentence in str(refused.value)
    assert experiment.Config().lengths == (32, 48, 64, 96, 128)


# the command


@pytest.mark.deep
def test_the_command_prints_its_table(tmp_path, capsys):
    out = tmp_path / "a folder"
    assert main(*RUN, "rope,alibi", "--seeds", 2, "--out", out) == 0
    printed = capsys.readouterr().out
    results = json.loads((out / "results.json").read_text())
    made = [(run["kind"], run["seed"]) for run in results["runs"]]
    assert made == [("rope", 1), ("alibi", 1), ("rope", 2), ("alibi", 2)]
    rows = {line.split()[0]: line.split()[1:] for line in printed.splitlines() if line}
    for row in (*evaluations_of("rope"), "alibi"):
        reached = [
            list(run["accuracy"][row].values())
            for run in results["runs"]
            if row in run["accuracy"]
        ]
        assert rows[row] == [f"{mean:.3f}" for mean in np.mean(reached, axis=0)]


def test_the_table_has_columns_for_every_name():
    config = experiment.Config(kinds=TRAINED)
    means = {row: [0.5] * len(config.lengths) for row in config.rows}
    lines = table(config, means).splitlines()[3:]
    assert len({len(line) for line in lines}) == 1 and len(lines[0]) <= 80
    assert [line.split()[0] for line in lines[2:]] == list(config.rows)
