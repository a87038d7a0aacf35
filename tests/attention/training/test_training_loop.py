"""The training loop clips, validates, keeps the best, gives up and saves."""

import signal

import numpy as np

import minigrad as mg
from attention.training import Validation, fit

from .training_cases import line


def test_the_gradient_is_clipped_and_its_norm_recorded():
    model, run = line(lr=1.0)
    run.clip, lines = 0.5, []
    fit(run, 1, lambda i: model(np.array([3, 4], np.float32)), record=lines.append)
    assert lines == [{"step": 1, "loss": 11.0, "norm": 5.0, "lr": 1.0}]
    np.testing.assert_allclose(model.scale.w.data, [1 - 0.3, 2 - 0.4], rtol=1e-4)


def test_validation_keeps_the_best_and_stops_early():
    model, run = line()
    values = iter([5.0, 4.0, 4.5, 4.0, 4.2, 1.0])
    kept, lines = [], []
    validation = Validation(
        lambda: next(values), 2, patience=3, keep=lambda run: kept.append(run.steps)
    )
    finished = fit(
        run, 100, lambda i: model(np.ones(2, np.float32)), validation=validation,
        record=lines.append,
    )  # fmt: skip
    assert finished and run.steps == 10  # 3 validations after the best, at step 4
    assert run.validations == [[2, 5.0], [4, 4.0], [6, 4.5], [8, 4.0], [10, 4.2]]
    assert kept == [2, 4] and run.best["step"] == 4 and run.best["loss"] == 4.0
    np.testing.assert_allclose(run.best["model"]["scale.w"], [0.6, 1.6], rtol=1e-5)
    assert [n for n in lines if "validation" in n][1] == {"step": 4, "validation": 4.0}


def test_the_best_is_a_part_of_the_state(tmp_path):
    _, run = line()
    run.steps = 2
    assert run.record_validation(1.0)
    run.steps, run.losses = 4, 4 * [1.0]
    assert not run.record_validation(2.0) and not run.record_validation(1.0)
    mg.checkpoint.save(tmp_path / "x.safetensors", run.state_dict())
    _, again = line()
    again.load_state_dict(mg.checkpoint.load(tmp_path / "x.safetensors"))
    assert not again.record_validation(1.5) and again.best["step"] == 2
    assert again.validations == [[2, 1.0], [4, 2.0], [4, 1.0], [4, 1.5]]
    assert (again.best["model"]["scale.w"] == [1, 2]).all()


def test_the_last_step_is_validated_and_the_model_trains_on():
    model, run = line()
    seen = []

    def look():
        seen.append((run.steps, model.training, model.scale.training))
        return 1.0

    fit(run, 5, lambda i: model(np.ones(2, np.float32)), validation=Validation(look, 3))
    assert seen == [(3, False, False), (5, False, False)]
    assert model.training and model.scale.training


def test_ctrl_c_saves_between_two_steps():
    model, run = line()
    states = []

    def loss_at(i):
        if i == 3:
            signal.raise_signal(signal.SIGINT)
        return model(np.ones(2, np.float32))

    assert not fit(run, 9, loss_at, save=states.append)
    assert [s["step"] for s in states] == [3] and run.steps == 3
    assert (states[0]["model"]["scale.w"] == model.scale.w.data).all()
