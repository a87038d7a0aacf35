"""A NaN stops the training, and the message names the layer it came from."""

import sys

import numpy as np
import pytest

import minigrad as mg
from attention.app.experiments import translation
from attention.tasks.batching import in_order
from attention.training import Diverged, Run, Validation, fit
from attention.training.diverged import find_nan
from minigrad import nn, optim

from .training_cases import DATA, Scale, config, line


def test_a_nan_stops_the_run_with_step_seed_and_layer():
    model, run = line()
    states = []

    def loss_at(i):
        return model(np.array([1, np.nan if i == 4 else 1], np.float32))

    with pytest.raises(Diverged, match="are good; a smaller"):
        fit(line()[1], 9, lambda i: model(np.float32([np.nan, 1])), save=print)

    with pytest.raises(Diverged) as caught:
        fit(run, 9, loss_at, save=states.append, save_seconds=-1.0, seed=7)
    said = str(caught.value)
    assert "at step 4, batch 4 of seed 7" in said
    assert "in layer scale, in the result of mul, of shape (2,)" in said
    assert [s["step"] for s in states] == [0, 1, 2, 3]
    assert "Checkpoints of earlier steps are good" in said
    assert run.steps == 4 and np.isfinite(model.scale.w.data).all()


def test_the_step_that_spoils_the_parameters_is_not_saved():
    """The loss shows a step that is too long one step later."""
    model, run = line(lr=1e39)  # the parameters become infinite
    states = []

    with np.errstate(over="ignore"), pytest.raises(Diverged, match="at step 1"):
        fit(
            run, 9, lambda i: model(np.ones(2, np.float32)), save=states.append,
            save_seconds=-1.0,
        )  # fmt: skip
    assert [s["step"] for s in states] == [0]
    assert not np.isfinite(model.scale.w.data).all()
    assert np.isfinite(states[0]["model"]["scale.w"]).all()


def test_a_validation_loss_of_nan_stops_too():
    model, run = line()
    with pytest.raises(Diverged, match="validation loss is NaN or infinite at step 2"):
        fit(
            run, 4, lambda i: model(np.ones(2, np.float32)),
            validation=Validation(lambda: float("nan"), 2),
        )  # fmt: skip
    assert run.best is None


SPOILED = [
    ({}, "encoder.embed.weight", "encoder.embed", "embedding"),
    ({}, "encoder.rnn.weight_hh_l0_reverse", "encoder.rnn", "gru"),
    ({}, "bridge.layers.0.0.bias", "bridge.layers.0.0", "linear"),
    ({}, "decoder.order.attention.W_k", "decoder.order.attention", "linear"),
    ({}, "decoder.order.attention.w_v", "decoder", "tanh_scores"),
    ({}, "decoder.output.bias", "decoder.output", "linear"),
    ({"attention": "luong"}, "decoder.order.W_c", "decoder.order", "linear"),
    ({"cell": "lstm"}, "decoder.order.cell.layers.0.weight_ih",
     "decoder.order.cell.layers.0", "lstm_cell"),
]  # fmt: skip


@pytest.mark.parametrize("options, parameter, layer, op", SPOILED)
def test_the_layer_where_a_nan_first_appears(options, parameter, layer, op):
    run, _ = translation.build(config(**options), DATA)
    spoiled = dict(run.model.named_parameters())[parameter]
    spoiled.data = np.where(spoiled.data > 0, np.nan, spoiled.data)
    batch = next(in_order(DATA.ids("test"), 4))
    with pytest.raises(Diverged) as caught:
        fit(run, 1, lambda i: translation.loss_of(run.model, batch), seed=1)
    said = str(caught.value)
    assert f"in layer {layer}, in the result of {op}," in said
    assert f"Parameters with NaN or infinity: {parameter}." in said
    assert sys.getprofile() is None


class Rooted(nn.Module):
    """sqrt(w^2) has a finite value at w = 0, and a gradient of inf * 0."""

    def __init__(self):
        self.root, self.scale = Root(), Scale()

    def forward(self):
        return self.scale(self.root())


class Root(nn.Module):
    def __init__(self):
        self.w = nn.Parameter(np.zeros(2, np.float32))

    def forward(self):
        return mg.sqrt(self.w * self.w)


def test_the_layer_where_a_gradient_first_goes_wrong():
    model = Rooted()
    run = Run(model, optim.SGD(model.parameters(), lr=0.1))
    with np.errstate(all="ignore"), pytest.raises(Diverged) as caught:
        fit(run, 1, lambda i: model())
    said = str(caught.value)
    assert "the loss is finite, and the first such gradient is in layer root" in said
    assert "out of the backward of sqrt." in said
    assert (model.root.w.data == 0).all() and model.root.w.grad is None


class Forked(Root):
    """sqrt(h) + 3 h, or 3 h + sqrt(h): only the gradient of sqrt is infinite at 0."""

    def __init__(self, root_first):
        super().__init__()
        self.root_first = root_first

    def forward(self):
        h = self.w + 0.0
        if self.root_first:
            return (mg.sqrt(h) + 3 * h).sum()
        return (3 * h + mg.sqrt(h)).sum()


@pytest.mark.parametrize("root_first", [True, False])
def test_of_two_users_the_one_with_the_nan_is_named(root_first):
    model = Forked(root_first)
    assert "out of the backward of sqrt." in find_nan(model, model)


def test_a_sum_of_finite_gradients_may_overflow():
    root, big = Root(), np.float32(3e38)
    found = find_nan(root, lambda: (root.w * big + root.w * big).sum())
    assert "the sum of some gradients overflows" in found


# layers that reject their input


class Refusing(Scale):
    """A layer that checks its input: numbers below 3."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def forward(self, x):
        if (x >= 3).any():
            raise self.error
        return super().forward(x)


class Outer(nn.Module):
    def __init__(self, error):
        self.inner = Refusing(error)

    def forward(self, x):
        return self.inner(x)


def refusing(error, at, validation=False):
    """Return the exception of ``fit``, the run, and the saved states."""
    model, states = Outer(error), []
    run = Run(model, optim.SGD(model.parameters(), lr=0.1))
    look = Validation(lambda: model(np.full(2, 3.0)).item(), at)
    with pytest.raises(Exception) as caught:
        fit(
            run, 9, lambda i: model(np.full(2, 3.0 if i == at else 1.0, np.float32)),
            save=states.append, save_seconds=-1.0, seed=7,
            validation=look if validation else None,
        )  # fmt: skip
    return caught.value, run, states


@pytest.mark.parametrize("error", [ValueError("x is 3"), ZeroDivisionError("by zero")])
@pytest.mark.parametrize("validation", [False, True])
def test_a_rejected_input_stops_the_run_as_a_nan_does(error, validation):
    found, run, states = refusing(error, 4, validation)
    assert isinstance(found, Diverged)
    said = str(found)
    assert "at step 4, batch 4 of seed 7: in layer inner, " in said
    assert str(error) in said and said.startswith("The validation" * validation)
    assert "Checkpoints of earlier steps are good; a smaller" in said
    assert run.steps == 4 and [s["step"] for s in states] == [0, 1, 2, 3]


def test_a_value_error_at_the_first_step_is_raised_as_it_is():
    error = ValueError("scale: x is 3; expected less.")
    found, run, states = refusing(error, 0)
    assert found is error and not states
    found, *_ = refusing(ZeroDivisionError("by zero"), 0)
    assert isinstance(found, Diverged) and "at step 0" in str(found)
