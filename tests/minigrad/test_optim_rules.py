"""Update rules, schedules and clipping: recorded values and formulas."""

import numpy as np
import pytest

from minigrad import optim
from minigrad.tensor import Tensor

from .optim_cases import RULES, give_gradients, parameters, rates

# What five steps with the gradients of golden_gradient make of (1, -2, 0.5, 3), in
# float64: recorded from torch 2.13.0.
GOLDEN = {
    "SGD": "0.8897090510139998 -1.994364618844952 0.3700975426258235 2.999962385761861",
    "SGD momentum": (
        "0.7589494593907677 -1.994271390006249 3.364340938757287 2.999901127586718"
    ),
    "SGD dampening": (
        "0.5265625949947469 -1.590877097859657 3.285775155788671 2.396446219816621"
    ),
    "SGD nesterov": (
        "0.4020400924512651 -1.369531727986052 2.063665526130131 2.069600742566869"
    ),
    "Adam": (
        "0.8316805834295489 -1.903518144471424 0.7297705706955911 2.507633648256415"
    ),
    "Adam decay": (
        "0.7643398086514044 -1.510408477150989 0.6923818565840888 2.503575890960656"
    ),
    "AdamW": (
        "0.8272031395213464 -1.893876871556156 0.7264832722743089 2.493652805737292"
    ),
    "AdamW decay": (
        "0.7575479522337529 -1.723427703074115 0.6342849571323909 2.679462070284464"
    ),
}
GOLDEN = {name: [float(w) for w in text.split()] for name, text in GOLDEN.items()}


def golden_gradient(k):
    return np.sin(1.7 * k * np.arange(1, 5)) * np.array([1, 0.1, 10, 1e-4])


@pytest.mark.parametrize("name", RULES)
def test_golden(name):
    rule, settings = RULES[name]
    w = Tensor([1.0, -2.0, 0.5, 3.0], requires_grad=True)
    optimizer = rule([w], **settings)
    for k in range(1, 6):
        w.grad = golden_gradient(k)
        optimizer.step()
    # the operations come in another order: a few units of rounding in five steps
    np.testing.assert_allclose(w.data, GOLDEN[name], rtol=1e-14)


def test_the_gradient_stays_as_it_was():
    for rule, settings in RULES.values():
        params = parameters()
        give_gradients(params, 0)
        before = [p.grad.copy() for p in params]
        rule(params, **settings).step()
        for p, g in zip(params, before):
            np.testing.assert_array_equal(p.grad, g)


def test_a_parameter_without_gradient_is_left_alone_and_its_steps_do_not_count():
    a, b = parameters(shapes=((3,), (3,)))
    before = b.data.copy()
    optimizer = optim.Adam([a, b])
    for k in range(3):
        give_gradients([a, b], k, skip=[1])
        optimizer.step()
    np.testing.assert_array_equal(b.data, before)
    assert optimizer.t == [3, 0]
    alone = Tensor(before, requires_grad=True)
    reference = optim.Adam([alone])
    for k in range(4):
        give_gradients([alone], k)
        a.grad, b.grad = None, alone.grad
        optimizer.step(), reference.step()
    np.testing.assert_array_equal(b.data, alone.data)
    assert optimizer.t == [3, 4]


def test_read_only_data_are_replaced():
    array = np.ones(3)
    array.flags.writeable = False
    w = Tensor._from_array(array).requires_grad_()
    w.grad = np.ones(3)
    optim.SGD([w], lr=0.5).step()
    np.testing.assert_array_equal(w.data, 0.5)
    np.testing.assert_array_equal(array, 1)


@pytest.mark.parametrize("rule", [optim.SGD, optim.Adam])
def test_data_of_another_dtype(rule):
    """The steps go on in that dtype, and the averages are kept."""
    params = parameters(shapes=((3,), (2,)))
    same = [Tensor(p.data.astype(np.float64), requires_grad=True) for p in params]
    options = {"momentum": 0.9} if rule is optim.SGD else {}
    optimizer, expected = rule(params, 0.1, **options), rule(same, 0.1, **options)
    params[0].data = same[0].data
    for step in range(3):
        if step == 1:
            params[1].data = params[1].data.astype(np.float64)
        for p, q in zip(params, same):
            p.grad, q.grad = (np.full(each.shape, 1 / 3, each.dtype) for each in (p, q))
        optimizer.step(), expected.step()
    assert params[0].dtype == params[1].dtype == np.float64
    np.testing.assert_array_equal(params[0].data, same[0].data)
    np.testing.assert_allclose(params[1].data, same[1].data, rtol=1e-6)


def test_zero_grad():
    params = parameters()
    give_gradients(params, 0)
    optim.SGD(params, lr=0.1).zero_grad()
    assert all(p.grad is None for p in params)


def test_the_text_of_an_optimizer_and_of_a_schedule():
    optimizer = optim.SGD(parameters()[:2], lr=0.5, momentum=0.9)
    assert repr(optimizer) == (
        "SGD(parameters=2, lr=0.5, momentum=0.9, dampening=0.0, weight_decay=0.0, "
        "nesterov=False)"
    )
    after = optim.WarmupLR(optimizer, 4)
    after.step()
    assert repr(optim.WarmupLR(optimizer, 2, after)) == (
        "WarmupLR(warmup_steps=2, "
        "after=WarmupLR(warmup_steps=4, after=None, base=0.5, t=1), base=0.25, t=0)"
    )


# -- schedules -------------------------------------------------------------------------


def test_cosine():
    """eta_min + (lr - eta_min) (1 + cos(pi t / T_max)) / 2, also beyond T_max."""
    cosine = optim.CosineAnnealingLR(
        optim.SGD(parameters(), 0.3), T_max=7, eta_min=0.01
    )
    expected = 0.01 + 0.29 * (1 + np.cos(np.pi * np.arange(9) / 7)) / 2
    np.testing.assert_allclose(rates(cosine, 9), expected, rtol=1e-14)


def test_cosine_ends_at_exactly_eta_min():
    optimizer = optim.Adam(parameters(), lr=3e-3)
    rates(optim.CosineAnnealingLR(optimizer, T_max=2500), 2500)
    assert optimizer.lr == 0.0
    give_gradients(optimizer.params, 0)
    before = [p.data.copy() for p in optimizer.params]
    optimizer.step()  # a rate of 0 is no error while stepping
    for p, w in zip(optimizer.params, before):
        np.testing.assert_array_equal(p.data, w)


def test_warmup():
    optimizer = optim.SGD(parameters(), 0.4)
    schedule = optim.WarmupLR(optimizer, 4)
    np.testing.assert_allclose(rates(schedule, 6), [0.1, 0.2, 0.3, 0.4, 0.4, 0.4])


def test_warmup_hands_over_where_the_next_schedule_begins():
    optimizer = optim.SGD(parameters(), 0.4)
    after = optim.CosineAnnealingLR(optimizer, T_max=6)
    schedule = optim.WarmupLR(optimizer, 4, after=after)
    assert schedule.base == 0.4
    found = rates(schedule, 10)
    np.testing.assert_allclose(found[:4], [0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(found[3:], [after.lr_at(t) for t in range(7)])
    assert found[9] == 0.0


# -- clipping --------------------------------------------------------------------------


def test_clipping_scales_to_the_joint_norm_and_returns_the_norm_before():
    a, b = Tensor(np.zeros(1), True), Tensor(np.zeros((1, 2)), True)
    a.grad, b.grad = np.array([6.0]), np.array([[0.0, 8.0]])
    arrays = a.grad, b.grad
    assert optim.clip_grad_norm_([a, b], 5.0) == 10.0
    scale = 5.0 / (10.0 + 1e-6)
    np.testing.assert_allclose(a.grad, [6 * scale], rtol=1e-15)
    np.testing.assert_allclose(b.grad, [[0, 8 * scale]], rtol=1e-15)
    assert a.grad is arrays[0] and b.grad is arrays[1]


def test_clipping_leaves_short_and_missing_gradients_alone():
    a, b = Tensor(np.zeros(2), True), Tensor(np.zeros(2), True)
    assert optim.clip_grad_norm_([a, b], 1.0) == 0.0
    a.grad = np.array([0.3, 0.4])
    assert optim.clip_grad_norm_(iter([a, b]), 1.0) == pytest.approx(0.5)
    np.testing.assert_array_equal(a.grad, [0.3, 0.4])
    assert optim.clip_grad_norm_(a, 0.05) == pytest.approx(0.5)
    np.testing.assert_allclose(a.grad, [0.03, 0.04], rtol=1e-4)  # the 1e-6 shows here


def test_clipping_gradients_whose_squares_overflow():
    a = Tensor(np.zeros(2, np.float32), True)
    a.grad = np.array([3e30, 4e30], np.float32)
    assert optim.clip_grad_norm_([a], 1.0) == pytest.approx(5e30)
    np.testing.assert_allclose(a.grad, [0.6, 0.8], rtol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_clipping_refuses_nan_and_infinity_and_changes_nothing(bad):
    a, b, unused = (Tensor(np.zeros(2), True) for _ in range(3))
    a.grad, b.grad = np.array([30.0, 40.0]), np.array([1.0, bad])
    with pytest.raises(FloatingPointError, match=r"of params \[2\] hold NaN or inf"):
        optim.clip_grad_norm_([a, unused, b], 1.0)
    np.testing.assert_array_equal(a.grad, [30.0, 40.0])
    np.testing.assert_array_equal(b.grad, [1.0, bad])
