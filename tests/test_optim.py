"""Update rules and schedules against PyTorch: recorded values and, if there, itself."""

import math

import numpy as np
import pytest

from minigrad import optim
from minigrad.tensor import Tensor

RULES = {
    "SGD": (optim.SGD, dict(lr=0.1)),
    "SGD momentum": (optim.SGD, dict(lr=0.1, momentum=0.9)),
    "SGD dampening": (
        optim.SGD,
        dict(lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.2),
    ),
    "SGD nesterov": (
        optim.SGD,
        dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.2),
    ),
    "Adam": (optim.Adam, dict(lr=0.1)),
    "Adam decay": (
        optim.Adam,
        dict(lr=0.1, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.2),
    ),
    "AdamW": (optim.AdamW, dict(lr=0.1)),
    "AdamW decay": (
        optim.AdamW,
        dict(lr=0.1, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.2),
    ),
}

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


def parameters(dtype=np.float32, seed=0, shapes=((3, 4), (), (5,), (0, 2), (2, 1, 3))):
    rng = np.random.default_rng(seed)
    return [
        Tensor(rng.normal(size=s).astype(dtype), requires_grad=True) for s in shapes
    ]


def give_gradients(params, k, skip=()):
    """The same gradients for the same k, whatever the parameters hold."""
    rng = np.random.default_rng(1000 + k)
    for i, p in enumerate(params):
        g = rng.normal(size=p.shape).astype(p.dtype)
        p.grad = None if i in skip else g


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


@pytest.mark.parametrize("dtype, rtol", [(np.float64, 1e-13), (np.float32, 3e-6)])
@pytest.mark.parametrize("name", RULES)
def test_equals_torch_step_by_step(name, dtype, rtol):
    torch = pytest.importorskip("torch")
    rule, settings = RULES[name]
    ours = parameters(dtype)
    theirs = [torch.tensor(p.data, requires_grad=True) for p in ours]
    mine = rule(ours, **settings)
    other = getattr(torch.optim, rule.__name__)(theirs, **settings)
    for k in range(20):
        give_gradients(ours, k, skip=[{3: 0, 4: 2, 7: 4}.get(k)])
        for p, q in zip(ours, theirs):
            q.grad = None if p.grad is None else torch.tensor(p.grad)
        mine.step(), other.step()
        for p, q in zip(ours, theirs):
            np.testing.assert_allclose(p.data, q.detach().numpy(), rtol=rtol, atol=rtol)


def test_the_gradient_stays_as_it_was():
    for rule, settings in RULES.values():
        params = parameters()
        give_gradients(params, 0)
        before = [p.grad.copy() for p in params]
        rule(params, **settings).step()
        for p, g in zip(params, before):
            np.testing.assert_array_equal(p.grad, g)


def test_parameters_move_in_place_and_keep_their_dtype():
    for dtype in (np.float32, np.float64):
        params = parameters(dtype)
        arrays = [p._data for p in params]
        optimizer = optim.Adam(params)
        give_gradients(params, 0)
        optimizer.step()
        assert all(p._data is a and a.dtype == dtype for p, a in zip(params, arrays))


def test_first_adam_step_is_lr_times_the_sign():
    """m / sqrt(v) = g / |g| after the first correction: a check that needs no peer."""
    w = Tensor([0.0, 0.0, 0.0], requires_grad=True)
    w.grad = np.array([1e-3, -5.0, 1e4])
    optim.Adam([w], lr=0.01, eps=0.0).step()
    np.testing.assert_allclose(w.data, [-0.01, 0.01, -0.01], rtol=1e-14)


def test_decoupled_decay_does_not_depend_on_the_gradient_and_l2_does():
    def shrinkage(rule):
        moved = []
        for decay in (0.0, 0.5):
            w = Tensor([1.0, 1.0], requires_grad=True)
            w.grad = np.array([0.01, 100.0])
            rule([w], lr=0.1, eps=1.0, weight_decay=decay).step()
            moved.append(w.data.copy())
        return moved[0] - moved[1]

    small, large = shrinkage(optim.AdamW)
    assert small == pytest.approx(large) == pytest.approx(0.1 * 0.5)
    small, large = shrinkage(optim.Adam)
    assert small > 1000 * large


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


def test_stepping_together_or_alone_gives_the_same_bits():
    for rule, settings in RULES.values():
        together, alone = parameters(), parameters()
        one = rule(together, **settings)
        several = [rule([p], **settings) for p in alone]
        for k in range(5):
            for params in (together, alone):
                give_gradients(params, k)
            one.step()
            for each in several:
                each.step()
        for p, q in zip(together, alone):
            np.testing.assert_array_equal(p.data, q.data)


def test_mixed_dtypes():
    a, b, c = (
        Tensor(np.ones(3, dtype), requires_grad=True)
        for dtype in (np.float32, np.float64, np.float32)
    )
    optimizer = optim.Adam([a, b, c], lr=0.1)
    for p in (a, b, c):
        p.grad = np.ones(3, p.dtype)
    optimizer.step()
    assert [p.dtype for p in (a, b, c)] == [np.float32, np.float64, np.float32]
    for p in (a, b, c):
        np.testing.assert_allclose(p.data, 0.9, rtol=1e-6)


@pytest.mark.parametrize("name", ["SGD momentum", "Adam"])
def test_averages_follow_data_of_another_dtype(name):
    rule, settings = RULES[name]
    w = Tensor([1.0, -2.0, 0.5, 3.0], requires_grad=True)
    optimizer = rule([w], **settings)
    for k in range(1, 6):
        if k == 3:
            w.data = w.data.astype(np.float32)
        w.grad = golden_gradient(k).astype(w.dtype)
        optimizer.step()
    assert w.dtype == np.float32
    # three of the five steps were taken with the 24 bits of float32
    np.testing.assert_allclose(w.data, GOLDEN[name], rtol=1e-6)


def test_averages_begin_anew_with_data_of_another_shape():
    w, fresh = Tensor(np.ones(3), requires_grad=True), Tensor(np.ones((2, 2)), True)
    optimizer, reference = optim.Adam([w]), optim.Adam([fresh])
    w.grad = np.ones(3)
    optimizer.step()
    w.data = np.ones((2, 2))
    w.grad = fresh.grad = np.full((2, 2), 0.3)
    optimizer.step(), reference.step()
    np.testing.assert_array_equal(w.data, fresh.data)
    assert optimizer.t == [1]


def test_backward_after_a_step_through_an_old_graph_is_refused():
    from minigrad import lift

    @lift
    def square(x):
        return x * x, lambda g: g * 2 * x

    w = Tensor([3.0], requires_grad=True)
    loss = square(w)
    w.grad = np.ones(1)
    optim.SGD([w], lr=0.1).step()
    with pytest.raises(RuntimeError, match="overwritten in place after square"):
        loss.backward()


def test_read_only_data_are_replaced():
    array = np.ones(3)
    array.flags.writeable = False
    w = Tensor._of(array).requires_grad_()
    w.grad = np.ones(3)
    optim.SGD([w], lr=0.5).step()
    np.testing.assert_array_equal(w.data, 0.5)
    np.testing.assert_array_equal(array, 1)


def test_zero_grad():
    params = parameters()
    give_gradients(params, 0)
    optim.SGD(params, lr=0.1).zero_grad()
    assert all(p.grad is None for p in params)


# -- resuming -------------------------------------------------------------------------


@pytest.mark.parametrize("name", RULES)
def test_resuming_gives_the_same_bits(name):
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
    run(first, optimizer, schedule, range(7, 9))  # must not reach what was saved

    second = parameters(seed=1)
    for p, w in zip(second, weights):
        p.data = w
    optimizer, schedule = make(second)
    optimizer.load_state_dict(states[0])
    schedule.load_state_dict(states[1])
    run(second, optimizer, schedule, range(7, 12))
    for p, q in zip(second, whole):
        np.testing.assert_array_equal(p.data, q.data)


def test_state_dict_holds_numbers_strings_and_lists_of_arrays():
    params = parameters()
    optimizer = optim.Adam(params, lr=0.5)
    give_gradients(params, 0)
    optimizer.step()
    state = optimizer.state_dict()
    assert state["kind"] == "Adam" and state["lr"] == 0.5 and state["t"] == [1] * 5
    assert [m.shape for m in state["m"]] == [p.shape for p in params]
    np.testing.assert_allclose(state["m"][0], 0.1 * params[0].grad, rtol=1e-6)
    np.testing.assert_allclose(state["v"][0], 1e-3 * params[0].grad ** 2, rtol=1e-6)


def test_a_state_that_does_not_fit_is_refused_and_changes_nothing():
    a = optim.Adam(parameters(), lr=0.5)
    bad = {
        "the state is not that of Adam": optim.SGD(parameters(), lr=0.1).state_dict(),
        "not that of Adam": None,
        "the state is that of 1 parameters; these are 5": optim.Adam(
            parameters(shapes=((3, 4),))
        ).state_dict(),
        "m\\[0\\] has shape \\(4, 3\\), and params\\[0\\] has \\(3, 4\\)": optim.Adam(
            parameters(shapes=((4, 3), (), (5,), (0, 2), (2, 1, 3)))
        ).state_dict(),
        "the state holds \\['betas'.* are wanted": {
            k: v for k, v in a.state_dict().items() if k != "m"
        },
    }
    for message, state in bad.items():
        with pytest.raises(ValueError, match="Adam: .*" + message):
            a.load_state_dict(state)
        assert a.lr == 0.5 and a.t == [0] * 5


# -- clipping -------------------------------------------------------------------------


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


@pytest.mark.parametrize("dtype, rtol", [(np.float64, 1e-14), (np.float32, 1e-6)])
def test_clipping_equals_torch(dtype, rtol):
    torch = pytest.importorskip("torch")
    for max_norm in (0.5, 3.0, 100.0):
        ours = parameters(dtype)
        give_gradients(ours, 0, skip=[1])
        theirs = [torch.tensor(p.data, requires_grad=True) for p in ours]
        for p, q in zip(ours, theirs):
            q.grad = None if p.grad is None else torch.tensor(p.grad)
        norm = torch.nn.utils.clip_grad_norm_(theirs, max_norm)
        assert optim.clip_grad_norm_(ours, max_norm) == pytest.approx(
            float(norm), rel=rtol
        )
        for p, q in zip(ours, theirs):
            if p.grad is not None:
                np.testing.assert_allclose(p.grad, q.grad.numpy(), rtol=rtol)


def test_clipping_gradients_whose_squares_overflow():
    a = Tensor(np.zeros(2, np.float32), True)
    a.grad = np.array([3e30, 4e30], np.float32)
    assert optim.clip_grad_norm_([a], 1.0) == pytest.approx(5e30)
    np.testing.assert_allclose(a.grad, [0.6, 0.8], rtol=1e-6)


@pytest.mark.parametrize(
    "bad, what", [(np.nan, "1 NaN and 0"), (-np.inf, "0 NaN and 1")]
)
def test_clipping_refuses_what_is_not_finite_and_changes_nothing(bad, what):
    a, b = Tensor(np.zeros(2), True), Tensor(np.zeros(2), True)
    a.grad, b.grad = np.array([30.0, 40.0]), np.array([1.0, bad])
    with pytest.raises(
        FloatingPointError,
        match=rf"params\[1\], of shape \(2,\), holds {what} infinite",
    ):
        optim.clip_grad_norm_([a, b], 1.0)
    np.testing.assert_array_equal(a.grad, [30.0, 40.0])
    np.testing.assert_array_equal(b.grad, [1.0, bad])


# -- schedules ------------------------------------------------------------------------


def rates(schedule, steps):
    found = []
    for _ in range(steps):
        found.append(schedule.optimizer.lr)
        schedule.step()
    return found


def test_cosine_and_step_golden():
    """Recorded from torch 2.13.0: the rates of the first nine steps."""
    cosine = optim.CosineAnnealingLR(
        optim.SGD(parameters(), 0.3), T_max=7, eta_min=0.01
    )
    expected = [
        0.3,
        0.2856404858458507,
        0.24540602126951633,
        0.18726553542366556,
        0.1227344645763344,
        0.06459397873048363,
        0.024359514154149234,
        0.01,
        0.024359514154149223,
    ]
    np.testing.assert_allclose(rates(cosine, 9), expected, rtol=1e-14)
    step = optim.StepLR(optim.SGD(parameters(), 0.3), 3, gamma=0.5)
    expected = [0.3, 0.3, 0.3, 0.15, 0.15, 0.15, 0.075, 0.075, 0.075]
    np.testing.assert_allclose(rates(step, 9), expected, rtol=1e-15)


def test_cosine_ends_at_exactly_eta_min():
    optimizer = optim.Adam(parameters(), lr=3e-3)
    rates(optim.CosineAnnealingLR(optimizer, T_max=2500), 2500)
    assert optimizer.lr == 0.0
    give_gradients(optimizer.params, 0)
    before = [p.data.copy() for p in optimizer.params]
    optimizer.step()  # a rate of 0 is no error while stepping
    for p, w in zip(optimizer.params, before):
        np.testing.assert_array_equal(p.data, w)


@pytest.mark.parametrize(
    "make", ["CosineAnnealingLR(o, 30, 0.01)", "StepLR(o, 4, 0.7)"]
)
def test_schedules_equal_torch(make):
    torch = pytest.importorskip("torch")
    theirs = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.3)
    other = eval("torch.optim.lr_scheduler." + make, {"torch": torch, "o": theirs})
    mine = eval("optim." + make, {"optim": optim, "o": optim.SGD(parameters(), 0.3)})
    expected = []
    for _ in range(70):
        expected.append(theirs.param_groups[0]["lr"])
        theirs.step(), other.step()
    # torch computes each cosine rate from the one before and gathers rounding errors
    np.testing.assert_allclose(rates(mine, 70), expected, rtol=1e-11)


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


def test_warmup_and_inverse_square_root_are_the_transformers_schedule():
    """Vaswani et al. 2017, eq. 3: d^-0.5 min(s^-0.5, s w^-1.5), s = 1, 2, ..."""
    d, w = 512, 40
    optimizer = optim.Adam(parameters(), lr=d**-0.5 * w**-0.5)
    after = optim.InverseSqrtLR(optimizer, w)
    found = rates(optim.WarmupLR(optimizer, w, after=after), 200)
    expected = [d**-0.5 * min(s**-0.5, s * w**-1.5) for s in range(1, 201)]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_a_schedule_resumes_on_an_optimizer_whose_rate_has_moved():
    def make(optimizer):
        after = optim.StepLR(optimizer, 2, 0.5)
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
    step = optim.StepLR(optimizer, 2)
    with pytest.raises(ValueError, match="StepLR: the state is not that of StepLR"):
        step.load_state_dict(optim.InverseSqrtLR(optimizer, 4).state_dict())
    state = step.state_dict()
    del state["gamma"]
    with pytest.raises(ValueError, match="StepLR: the state holds .* are wanted"):
        step.load_state_dict(state)
    warm = optim.WarmupLR(optimizer, 3, after=optim.StepLR(optimizer, 2))
    state = {**warm.state_dict(), "t": 9, "after": None}
    with pytest.raises(ValueError, match="StepLR: the state is not that of StepLR"):
        warm.load_state_dict(state)
    assert warm.t == 0 and isinstance(warm.after, optim.StepLR)
    with pytest.raises(ValueError, match="the state has an after=, and this one has"):
        optim.WarmupLR(optimizer, 3).load_state_dict(warm.state_dict())


# -- bad input ------------------------------------------------------------------------


def test_bad_parameters():
    w, constant = Tensor([1.0], requires_grad=True), Tensor([1.0])
    from minigrad import lift

    double = lift(function=named("double", lambda x: (x + x, lambda g: 2 * g)))
    for params, error, message in [
        ([], ValueError, "SGD: there are no parameters to optimise."),
        (w, TypeError, "SGD: params is a list of tensors, not one; write [tensor]."),
        ([w, ("w", w)], TypeError, "params[1] is a tuple, not a tensor"),
        ([np.ones(3)], TypeError, "params[0] is a ndarray, not a tensor"),
        ([constant], ValueError, "of shape (1,), has requires_grad=False"),
        ([double(w)], ValueError, "is the result of double; only leaves"),
        ([w, Tensor([2.0], True), w], ValueError, "params[2] is params[0] again"),
    ]:
        with pytest.raises(error) as caught:
            optim.SGD(params, lr=0.1)
        assert message in str(caught.value)


def named(name, function):
    function.__name__ = name
    return function


@pytest.mark.parametrize(
    "rule, settings, message",
    [
        (optim.SGD, dict(lr=0.0), "SGD: lr must be above 0 and finite, not 0.0"),
        (optim.Adam, dict(lr=-1), "Adam: lr must be above 0 and finite, not -1"),
        (optim.Adam, dict(lr=math.nan), "lr must be above 0 and finite, not nan"),
        (optim.Adam, dict(betas=(0.9, 1.0)), "betas are two numbers"),
        (optim.Adam, dict(eps=-1e-8), "eps must not be negative"),
        (optim.AdamW, dict(weight_decay=-1), "weight_decay must not be negative"),
        (optim.SGD, dict(lr=1, momentum=-0.9), "momentum must not be negative"),
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
        (lambda: optim.CosineAnnealingLR(optimizer, 0), "T_max must be above 0, not 0"),
        (lambda: optim.StepLR(optimizer, -1), "step_size must be above 0, not -1"),
        (lambda: optim.WarmupLR(optimizer, 0), "warmup_steps must be above 0"),
        (lambda: optim.InverseSqrtLR(optimizer, 0), "scale must be above 0"),
        (
            lambda: optim.WarmupLR(optimizer, 1, after=optim.StepLR(other, 1)),
            "after= belongs to another optimizer",
        ),
        (lambda: optim.clip_grad_norm_([], 0), "max_norm must be above 0, not 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            make()


def test_a_gradient_of_the_wrong_shape_is_refused_before_anything_moves():
    params = parameters(shapes=((2,), (3,)))
    params[0].grad, params[1].grad = np.ones(2), np.ones((3, 1))
    before = params[0].data.copy()
    with pytest.raises(ValueError, match=r"params\[1\] has shape \(3,\), .* \(3, 1\)"):
        optim.Adam(params).step()
    np.testing.assert_array_equal(params[0].data, before)
