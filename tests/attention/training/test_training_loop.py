"""The training loop clips, validates and saves; the loss of a translation."""

import signal
from dataclasses import replace

import numpy as np
import pytest

import minigrad as mg
from attention.app.experiments import translation
from attention.tasks.batch import EOS, PAD, Batch
from attention.tasks.batching import in_order
from attention.training import Validation, fit

from .training_cases import DATA, config, line


def test_the_gradient_is_clipped():
    model, run = line(lr=1.0)
    run.clip = 0.5
    fit(run, 1, lambda i: model(np.array([3, 4], np.float32)))
    assert run.losses == [11.0]
    np.testing.assert_allclose(model.scale.w.data, [1 - 0.3, 2 - 0.4], rtol=1e-4)


def test_validation_keeps_the_best_and_stops_early():
    model, run = line()
    values = iter([5.0, 4.0, 4.5, 4.0, 4.2, 1.0])
    kept, steps = [], []
    validation = Validation(
        lambda: next(values), 2, patience=3, keep=lambda run: kept.append(run.steps)
    )
    finished = fit(
        run, 100, lambda i: model(np.ones(2, np.float32)), validation=validation,
        record=lambda run: steps.append(run.steps),
    )  # fmt: skip
    assert finished and run.steps == 10  # 3 validations after the best, at step 4
    assert run.validations == [[2, 5.0], [4, 4.0], [6, 4.5], [8, 4.0], [10, 4.2]]
    assert kept == [2, 4] and run.best["step"] == 4 and run.best["loss"] == 4.0
    np.testing.assert_allclose(run.best["model"]["scale.w"], [0.6, 1.6], rtol=1e-5)
    assert steps == list(range(1, 11))


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


# -- the loss of a translation


@pytest.mark.parametrize("options", [{}, {"attention": "luong"}, {"coverage": True}])
def test_padding_has_no_influence_on_loss_and_gradients(options):
    run, _ = translation.build(config(dropout=0.0, **options), DATA)
    run.model.eval()
    batch = next(in_order(DATA.ids("test"), 10))
    assert (batch.source == PAD).any() and (batch.target_out == PAD).any()

    def found(batch):
        run.model.zero_grad()
        loss = translation.loss_of(run.model, batch)
        loss.backward()
        return loss.item(), [p.grad.copy() for p in run.parameters]

    def wider(ids):  # tokens in the padding of the source must not matter either
        return np.pad(ids, ((0, 0), (0, 3)))

    junk = wider(batch.source)
    junk[np.arange(junk.shape[1]) >= batch.lengths[:, None]] = 5
    loss, gradients = found(batch)
    again = Batch(junk, batch.lengths, wider(batch.target_in), wider(batch.target_out))
    loss_again, gradients_again = found(again)
    assert loss_again == pytest.approx(loss, rel=1e-5)
    for (name, _), a, b in zip(
        run.model.named_parameters(), gradients, gradients_again
    ):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5, err_msg=name)


def test_the_loss_is_a_mean_over_words_and_so_is_the_validation():
    run, _ = translation.build(config(dropout=0.0), DATA)
    run.model.eval()
    ids = DATA.ids("test")
    logits = [
        run.model(b.source, b.target_in, b.lengths).numpy() for b in in_order(ids, 1)
    ]
    total = words = 0
    for z, (_, target) in zip(logits, ids):
        z = z[0] - np.log(np.exp(z[0]).sum(-1, keepdims=True))
        total -= z[np.arange(len(z)), [*target, EOS]].sum()
        words += len(z)
    for size in 3, 10:
        found = translation.validation_loss(run.model, list(in_order(ids, size)))
        assert found == pytest.approx(total / words, rel=1e-5)


def test_the_same_words_in_another_batch_are_another_checksum():
    other = replace(DATA, test=DATA.test[1:])
    assert other.checksum != DATA.checksum == replace(DATA).checksum
