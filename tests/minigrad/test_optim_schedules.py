"""Schedules give the rates of their formulas, and hand over to one another."""

import numpy as np

from minigrad import optim

from .optim_cases import give_gradients, parameters, rates


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
