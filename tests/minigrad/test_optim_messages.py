"""Optimizers, schedules and clipping: what they say of wrong arguments."""

import math

import numpy as np
import pytest

from minigrad import nn, optim
from minigrad.tensor import Tensor

from .optim_cases import parameters


def test_bad_parameters():
    w, constant = Tensor([1.0], requires_grad=True), Tensor([1.0])
    for params, error, message in [
        ([], ValueError, "SGD: there are no parameters to optimize."),
        ([w, ("w", w)], TypeError, "params[1] is of type tuple; expected a list of"),
        ([np.ones(3)], TypeError, "params[0] is of type ndarray"),
        ([constant], ValueError, "of shape (1,), requires no gradient"),
        ([w + w], ValueError, "is the result of add; expected a leaf"),
        (w, TypeError, "params is of type Tensor; expected a list of tensors"),
        ([w, Tensor([2.0], True), w], ValueError, "a parameter is listed twice"),
    ]:
        with pytest.raises(error) as caught:
            optim.SGD(params, lr=0.1)
        assert message in str(caught.value)


@pytest.mark.parametrize(
    "rule, settings, message",
    [
        (optim.SGD, dict(lr=0.0), "SGD: lr is 0.0; expected a positive, finite number"),
        (optim.Adam, dict(lr=-1), "Adam: lr is -1; expected"),
        (optim.Adam, dict(betas=(0.9, 1.0)), r"betas are \(0.9, 1.0\); expected two"),
        (optim.Adam, dict(betas=0.9), "betas are 0.9; expected two"),
        (optim.Adam, dict(betas=(0.9, math.nan)), "betas is nan; expected a finite"),
        (optim.Adam, dict(eps=-1e-8), "eps is -1e-08; expected a .* number, 0 or more"),
        (optim.AdamW, dict(weight_decay=-1), "weight_decay is -1; expected a"),
        (optim.SGD, dict(lr=1, momentum=-0.9), "momentum is -0.9; expected a"),
        (optim.SGD, dict(lr=1, momentum=2), "momentum is 2; expected a number below 1"),
        (optim.SGD, dict(lr=1, nesterov=True), "needs a momentum above 0"),
        (
            optim.SGD,
            dict(lr=1, nesterov=True, momentum=0.9, dampening=0.1),
            "and no dampening",
        ),
    ],
)
def test_bad_settings(rule, settings, message):
    with pytest.raises(ValueError, match=message):
        rule(parameters(), **settings)


def test_bad_schedules_and_norms():
    optimizer, other = optim.SGD(parameters(), 0.1), optim.SGD(parameters(), 0.1)
    for make, message in [
        (
            lambda: optim.CosineAnnealingLR(optimizer, 0),
            "T_max is 0; expected a positive, finite",
        ),
        (lambda: optim.WarmupLR(optimizer, 0), "warmup_steps is 0; expected"),
        (
            lambda: optim.WarmupLR(optimizer, 1, after=optim.WarmupLR(other, 1)),
            "after= belongs to another optimizer",
        ),
        (lambda: optim.clip_grad_norm_([], 0), "max_norm is 0; expected a positive"),
        (lambda: optim.clip_grad_norm_([], math.nan), "max_norm is nan; expected a"),
    ]:
        with pytest.raises(ValueError, match=message):
            make()


@pytest.mark.parametrize(
    "params, message",
    [
        (nn.Linear(2, 2), "params is of type Linear; expected a list of tensors"),
        (3, "params is of type int; expected a list of tensors"),
        ([np.ones(3)], r"params\[0\] is of type ndarray; expected a list of tensors"),
    ],
)
def test_gradients_to_clip_belong_to_tensors(params, message):
    with pytest.raises(TypeError, match=f"clip_grad_norm_: {message}"):
        optim.clip_grad_norm_(params, 1.0)


@pytest.mark.parametrize("schedule", [optim.CosineAnnealingLR, optim.WarmupLR])
def test_a_schedule_of_something_else(schedule):
    for wrong in (None, parameters(), optim.WarmupLR(optim.SGD(parameters(), 0.1), 3)):
        with pytest.raises(TypeError) as caught:
            schedule(wrong, 3)
        assert str(caught.value) == (
            f"{schedule.__name__}: optimizer is of type {type(wrong).__name__}; "
            "expected an Optimizer, such as SGD."
        )
    with pytest.raises(TypeError, match="after is of type int; expected a Schedule"):
        optim.WarmupLR(optim.SGD(parameters(), 0.1), 3, after=3)


@pytest.mark.parametrize("what", ["data", "gradient"])
def test_another_shape_is_refused_before_anything_moves(what):
    params = parameters(shapes=((2,), (3,)))
    optimizer, before = optim.Adam(params), params[0].data.copy()
    params[0].grad, params[1].grad = np.ones(2), np.ones((3, 1))
    if what == "data":
        params[1].data = np.ones((3, 1))
    says = rf"the {what} of params\[1\] has shape \(3, 1\); expected \(3,\)"
    with pytest.raises(ValueError, match=says):
        optimizer.step()
    np.testing.assert_array_equal(params[0].data, before)
