"""An optimizer and its schedule go on from their state to the same bits."""

import numpy as np
import pytest

from minigrad import optim
from minigrad.checkpoint import load, save

from .optim_cases import RULES, give_gradients, parameters, rates


@pytest.mark.parametrize("name", RULES)
def test_resuming_from_a_file_gives_the_same_bits(name, tmp_path):
    rule, settings = RULES[name]

    def run(params, optimizer, schedule, steps):
        for k in steps:
            give_gradients(params, k, skip=[k % 4])
            optimizer.step()
            schedule.step()

    def make(params):
        optimizer = rule(params, **settings)
        after = optim.CosineAnnealingLR(optimizer, T_max=20)
        return optimizer, optim.WarmupLR(optimizer, 3, after=after)

    whole = parameters()
    run(whole, *make(whole), range(12))

    first = parameters()
    optimizer, schedule = make(first)
    run(first, optimizer, schedule, range(7))
    weights = [p.data.copy() for p in first]
    states = optimizer.state_dict(), schedule.state_dict()
    run(first, optimizer, schedule, range(7, 9))  # must not reach the states
    save(tmp_path / "run.safetensors", {"states": states})
    states = load(tmp_path / "run.safetensors")["states"]

    second = parameters(seed=1)
    for p, w in zip(second, weights):
        p.data = w
    optimizer, schedule = make(second)
    optimizer.load_state_dict(states[0])
    schedule.load_state_dict(states[1])
    run(second, optimizer, schedule, range(7, 12))
    for p, q in zip(second, whole):
        np.testing.assert_array_equal(p.data, q.data)


def test_a_step_does_not_reach_the_state_that_was_loaded():
    params = parameters()
    optimizer = optim.Adam(params)
    state = optimizer.state_dict()
    optimizer.load_state_dict(state)
    give_gradients(params, 0)
    optimizer.step()
    assert not np.any(state["t"]) and not any(m.any() for m in state["m"])


def test_a_state_that_does_not_fit_is_refused_and_changes_nothing():
    a = optim.Adam(parameters(), lr=0.5)
    bad = {
        "the state is not that of Adam": optim.SGD(parameters(), lr=0.1).state_dict(),
        "not that of Adam": None,
        "m in the state has shapes \\[\\(3, 4\\)\\]; expected": optim.Adam(
            parameters(shapes=((3, 4),))
        ).state_dict(),
        "the state holds \\['betas'.* expected": {
            k: v for k, v in a.state_dict().items() if k != "m"
        },
    }
    for message, state in bad.items():
        with pytest.raises(ValueError, match="Adam: .*" + message):
            a.load_state_dict(state)
        assert a.lr == 0.5 and a.t == [0] * 5


def test_a_state_with_other_numbers_of_steps_changes_nothing():
    a = optim.SGD(parameters(), lr=0.5)
    state = optim.SGD(parameters(shapes=((2,),)), lr=0.1).state_dict()
    for t, message in ([0], "t in the state has 1 entries; expected 5"), ("abcde", "a"):
        with pytest.raises(ValueError, match=message):
            a.load_state_dict({**state, "t": t})
        assert a.lr == 0.5 and a.t == [0] * 5


def test_a_schedule_resumes_on_an_optimizer_whose_rate_has_moved():
    def make(optimizer):
        after = optim.CosineAnnealingLR(optimizer, 8)
        return optim.WarmupLR(optimizer, 3, after=after)

    whole = rates(make(optim.SGD(parameters(), 0.4)), 10)
    optimizer = optim.SGD(parameters(), 0.4)
    schedule = make(optimizer)
    rates(schedule, 6)
    resumed = make(optim.SGD(parameters(), optimizer.lr))  # base is now another
    resumed.load_state_dict(schedule.state_dict())
    assert rates(resumed, 4) == whole[6:]


def test_a_schedule_refuses_the_state_of_another():
    optimizer = optim.SGD(parameters(), 0.4)
    cosine = optim.CosineAnnealingLR(optimizer, 2)
    says = "CosineAnnealingLR: the state is not that of CosineAnnealingLR"
    with pytest.raises(ValueError, match=says):
        cosine.load_state_dict(optim.WarmupLR(optimizer, 4).state_dict())
    state = cosine.state_dict()
    del state["T_max"]
    with pytest.raises(ValueError, match="AnnealingLR: the state holds .* expected"):
        cosine.load_state_dict(state)
    warm = optim.WarmupLR(optimizer, 3, after=optim.CosineAnnealingLR(optimizer, 2))
    state = {**warm.state_dict(), "t": 9, "after": None}
    with pytest.raises(ValueError, match=says):
        warm.load_state_dict(state)
    assert warm.t == 0 and isinstance(warm.after, optim.CosineAnnealingLR)
    with pytest.raises(ValueError, match="the state has a schedule ``after``"):
        optim.WarmupLR(optimizer, 3).load_state_dict(warm.state_dict())
