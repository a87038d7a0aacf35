"""RoPE and its scalings: values known, laws, precision, and what they refuse."""

import math

import numpy as np
import pytest

import minigrad as mg
from attention.attend import attend
from attention.positions import (
    DynamicNTKScaling,
    LinearScaling,
    NTKScaling,
    YaRNScaling,
    frequencies,
    rope,
    rope_permutation,
    sinusoidal,
)
from minigrad import Tensor

L, E = 7, 8
p = np.arange(L)
CLOSE = {"rtol": 0, "atol": 1e-13}  # a few roundings of entries of order one

SCALINGS = {
    "none": None,
    "linear": LinearScaling(3.0),
    "ntk": NTKScaling(3.0),
    "dynamic": DynamicNTKScaling(3.0, 4),
    "yarn": YaRNScaling(3.0, 40),
}
both_pairings = pytest.mark.parametrize("interleaved", [False, True])
every_scaling = pytest.mark.parametrize("name", SCALINGS)


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def value(x, positions, **options):
    return rope(x, positions, **options).data


@both_pairings
def test_one_pair_by_hand(interleaved):
    """With R = 2 there is one pair, and its frequency is 1."""
    found = value(np.array([[3.0, 4.0]]), [2], interleaved=interleaved)
    c, s = math.cos(2), math.sin(2)
    np.testing.assert_allclose(found, [[3 * c - 4 * s, 3 * s + 4 * c]], **CLOSE)


def test_the_pairs_of_both_conventions():
    """An entry moves into its partner: (m, m + R/2), or (2m, 2m + 1)."""
    for interleaved, partner in (False, [2, 3, 0, 1]), (True, [1, 0, 3, 2]):
        y = value(np.eye(4), [5] * 4, interleaved=interleaved)
        for entry in range(4):
            assert set(np.flatnonzero(y[entry])) == {entry, partner[entry]}


@both_pairings
def test_position_0_is_the_identity(interleaved):
    x = draw(3, L, E)
    np.testing.assert_array_equal(value(x, np.zeros(L), interleaved=interleaved), x)


@both_pairings
@pytest.mark.parametrize("rot_dim", [None, 4, 0])
def test_norms_are_kept(interleaved, rot_dim):
    x = draw(3, L, E)
    y = value(x, p * 1000, interleaved=interleaved, rot_dim=rot_dim)
    norms = np.linalg.norm(x, axis=-1)
    np.testing.assert_allclose(np.linalg.norm(y, axis=-1), norms, rtol=1e-14)


@both_pairings
@every_scaling
def test_scores_depend_on_distances_alone(name, interleaved):
    """All positions shifted by 11: the same products, if the length stays in view."""
    q, k = draw(L, E), draw(L, E, seed=1)
    options = {"scaling": SCALINGS[name], "interleaved": interleaved}
    if name == "dynamic":  # whose angles follow the length: here, both are below
        options["scaling"] = DynamicNTKScaling(3.0, 40)
    here, there = (
        value(q, t, **options) @ value(k, t, **options).T for t in (p, p + 11)
    )
    np.testing.assert_allclose(here, there, **CLOSE)
    i, j = 2, 5
    alone = (
        value(q[i : i + 1], [0], **options) @ value(k[j : j + 1], [j - i], **options).T
    )
    np.testing.assert_allclose(here[i, j], alone[0, 0], **CLOSE)


def test_a_common_shift_changes_no_attention():
    q, k, v = draw(2, 3, 5, E), draw(2, 3, L, E, seed=1), draw(2, 3, L, 4, seed=2)
    contexts = [
        attend(rope(q, np.arange(5) + n), rope(k, p + n), v)[0].data for n in (0, 11)
    ]
    np.testing.assert_allclose(*contexts, **CLOSE)
    assert np.abs(attend(q, k, v)[0].data - contexts[0]).max() > 0.01


@pytest.mark.parametrize("rot_dim", [None, 4])
@every_scaling
def test_the_permutation_leads_from_one_pairing_to_the_other(name, rot_dim):
    order = rope_permutation(E, rot_dim)
    x, options = draw(3, L, E), {"rot_dim": rot_dim, "scaling": SCALINGS[name]}
    half = value(x[..., order], p, **options)
    inter = value(x, p, interleaved=True, **options)
    np.testing.assert_array_equal(half, inter[..., order])
    np.testing.assert_array_equal(half[..., np.argsort(order)], inter)
    k = draw(3, L, E, seed=1)
    turned = value(k, p, interleaved=True, **options)
    right = value(k[..., order], p, **options)
    scores = inter @ turned.swapaxes(1, 2)
    np.testing.assert_allclose(half @ right.swapaxes(1, 2), scores, **CLOSE)
    mixed = value(x, p, **options) @ value(k, p, **options).swapaxes(1, 2)
    assert np.abs(mixed - scores).max() > 0.1  # without it, all scores are wrong


def test_the_permutation_itself():
    assert rope_permutation(8).tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    assert rope_permutation(7, 4).tolist() == [0, 2, 1, 3, 4, 5, 6]
    assert rope_permutation(0).tolist() == []


@both_pairings
@every_scaling
@pytest.mark.parametrize("rot_dim", [None, 6])
def test_backward_is_the_rotation_by_minus_p(name, interleaved, rot_dim):
    scaling = SCALINGS[name]
    if name == "dynamic":  # the same length forwards and backwards
        scaling = NTKScaling(3.0 * L / 4 - 2)
    options = {"interleaved": interleaved, "scaling": scaling, "rot_dim": rot_dim}
    x, g = Tensor(draw(3, L, E), requires_grad=True), draw(3, L, E, seed=1)
    rope(
        x, p, interleaved=interleaved, scaling=SCALINGS[name], rot_dim=rot_dim
    ).backward(g)
    np.testing.assert_allclose(x.grad, value(g, -p, **options), **CLOSE)


def test_rope_turns_the_hands_of_the_sinusoids():
    """PE[p + k] is PE[p] turned, with sine and cosine in the places of b and a."""
    here, there = (sinusoidal(p + k, E, dtype=np.float64) for k in (0, 5))
    swap = np.arange(E) ^ 1
    turned = value(here[:, swap], [5] * L, interleaved=True)
    np.testing.assert_allclose(turned, there[:, swap], **CLOSE)


def test_positions_of_each_example():
    x = draw(2, 3, L, E)
    t = np.array([p, p + 40])
    y = value(x, t[:, None, :])
    for b in range(2):
        np.testing.assert_array_equal(y[b], value(x[b], t[b]))
    np.testing.assert_array_equal(value(x, p), value(x, np.broadcast_to(p, (2, 3, L))))


def test_one_step_is_a_row_of_the_whole():
    """A decoder that turns each new key as it comes, and keeps it."""
    x = draw(2, L, E)
    whole = value(x, p)
    for t in range(L):
        np.testing.assert_array_equal(value(x[:, t : t + 1], [t])[:, 0], whole[:, t])


@every_scaling
def test_float32_is_as_good_as_its_input(name):
    """At position 10^6 as well, where an angle in float32 would be off by 0.03."""
    x = draw(3, L, E).astype(np.float32)
    far = 10**6 + p
    found = rope(x, far, scaling=SCALINGS[name])
    assert found.dtype == np.float32
    exact = value(x.astype(np.float64), far, scaling=SCALINGS[name])
    # x, the two products, their sum, sine and cosine are rounded: each half an ulp
    np.testing.assert_allclose(
        found.data, exact, rtol=0, atol=3e-7 * np.abs(exact).max()
    )


def test_the_gradient_reaches_queries_and_keys_through_attention():
    v = draw(L, 3, seed=2)

    def attention(q, k):
        return attend(rope(q, p, scaling=SCALINGS["yarn"]), rope(k, p), v)[0]

    result = mg.gradcheck(attention, [draw(L, E), draw(L, E, seed=1)])
    assert result.ok, result


# Scaling


theta = frequencies(E)


def slowed(scaling, length=1, R=E, base=10000.0):
    return scaling.slow(frequencies(R, base), base, length)


def test_frequencies():
    assert theta.tolist() == pytest.approx([1, 1e-1, 1e-2, 1e-3], rel=1e-14)
    assert len(frequencies(7)) == 4 and len(frequencies(0)) == 0


@pytest.mark.parametrize(
    "scaling",
    [LinearScaling(1), NTKScaling(1.0), DynamicNTKScaling(1, L), YaRNScaling(1.0, 40)],
)
def test_factor_1_is_no_scaling(scaling):
    x = draw(3, L, E)
    assert scaling.attention_factor == 1
    np.testing.assert_array_equal(value(x, p, scaling=scaling), value(x, p))


def test_linear_scaling_is_interpolation_of_positions():
    x = draw(3, L, E)
    # theta / 3 times p, or p / 3 times theta: one rounding apart
    found = value(x, p, scaling=LinearScaling(3.0))
    np.testing.assert_allclose(found, value(x, p / 3), **CLOSE)


@pytest.mark.parametrize("s", [1.5, 4.0, 16])
def test_ntk_scaling_is_another_base(s):
    expected = frequencies(E, 10000.0 * s ** (E / (E - 2)))
    found = slowed(NTKScaling(s))
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert found[0] == theta[0]
    assert found[-1] == pytest.approx(theta[-1] / s, rel=1e-14)
    assert slowed(NTKScaling(s), R=2).tolist() == [1]  # fastest and slowest at once


@pytest.mark.parametrize("length", [1, 100, 101, 250, 1000])
def test_dynamic_ntk_scaling_follows_the_length(length):
    s, L0 = 4.0, 100
    base = 10000.0
    if length > L0:
        base = base * (s * length / L0 - (s - 1)) ** (E / (E - 2))
    found = slowed(DynamicNTKScaling(s, L0), length)
    np.testing.assert_allclose(found, frequencies(E, base), rtol=1e-13)


def test_the_length_is_that_of_the_largest_position():
    x, scaling = draw(2, 3, E), DynamicNTKScaling(4.0, 100)
    for t in [[149, 2, 0]], [[0, 149, -3]]:
        found = value(x, np.array(t * 2), scaling=scaling)
        as_ntk = NTKScaling(4.0 * 1.5 - 3)
        np.testing.assert_array_equal(found, value(x, np.array(t * 2), scaling=as_ntk))
    short = [[99, 2, 0]] * 2
    np.testing.assert_array_equal(value(x, short, scaling=scaling), value(x, short))


def test_yarn_at_its_known_values():
    """E = 128, base 10^4, L0 = 2048, s = 16."""
    yarn = YaRNScaling(16, 2048)
    assert yarn.turning(32, 128, 1e4) == pytest.approx(16.13, abs=0.005)
    assert yarn.turning(1, 128, 1e4) == pytest.approx(40.21, abs=0.005)
    assert yarn.limits(128, 1e4) == (16, 41)
    assert yarn.attention_factor == pytest.approx(1.2773, abs=5e-5)
    before, after = frequencies(128), slowed(yarn, R=128)
    assert (after[:17] == before[:17]).all()
    np.testing.assert_allclose(after[41:], before[41:] / 16, rtol=1e-14)
    for m in range(17, 41):
        ramp = (m - 16) / (41 - 16)
        expected = before[m] * (1 - ramp) + before[m] / 16 * ramp
        assert after[m] == pytest.approx(expected, rel=1e-14)
    turns = 2048 * before / (2 * math.pi)
    assert (turns[:17] > 32).all() and (turns[41:] < 1).all()


def test_yarn_multiplies_cosine_and_sine_once():
    """Scores get the square of the factor; a factor given takes the formula's place."""
    q, k = draw(L, E), draw(L, E, seed=1)
    by_formula = YaRNScaling(16.0, 40)
    plain = YaRNScaling(16.0, 40, attention_factor=1.0)
    given = YaRNScaling(16.0, 40, attention_factor=1.5)
    a = 0.1 * math.log(16) + 1
    for scaling, factor in (by_formula, a), (given, 1.5):
        assert scaling.attention_factor == factor
        scores, unscaled = (
            value(q, p, scaling=each) @ value(k, p, scaling=each).T
            for each in (scaling, plain)
        )
        np.testing.assert_allclose(scores, factor**2 * unscaled, rtol=1e-12)
    x = draw(L, E)  # what is not turned is not multiplied either
    y = value(x, p, scaling=given, rot_dim=4)
    np.testing.assert_array_equal(y[:, 4:], x[:, 4:])


def test_yarn_with_a_ramp_of_no_width_is_a_step():
    """In six positions none turns once: all are divided, but m = 0."""
    yarn = YaRNScaling(4.0, 6)
    assert yarn.limits(E, 1e4) == (0, 0)
    np.testing.assert_allclose(slowed(yarn), theta / [1, 4, 4, 4], rtol=1e-14)
    assert YaRNScaling(4.0, 10**9).limits(4, 10.0) == (3, 3)  # all turn often


def test_scalings_print_and_compare_as_what_they_are():
    assert repr(LinearScaling(4)) == "LinearScaling(factor=4)"
    assert DynamicNTKScaling(2, 10) == DynamicNTKScaling(2, 10)
    assert "attention_factor=1.0" in repr(YaRNScaling(1, 10))


x = np.ones((2, 3, 5, 4))
REFUSED = {
    "rope-integers": (TypeError, lambda: rope(x.astype(int), p[:5]), "x is int64"),
    "rope-vector": (ValueError, lambda: rope(np.ones(4), [0]), "(4,)", "x[None, :]"),
    "rope-length": (ValueError, lambda: rope(x, 5), "shape ()", "(5,)"),
    "rope-positions": (ValueError, lambda: rope(x, p), "(7,)", "(2, 3, 5, 4)", "(5,)"),
    "rope-one-for-all": (ValueError, lambda: rope(x, [3]), "(1,)", "(2, 3, 5)"),
    "rope-heads-in-between": (
        ValueError,
        lambda: rope(x[:, :2], np.zeros((2, 5))),  # would broadcast, to the heads
        "(2, 5)",
        "(2, 2, 5)",
        "positions[:, None, :]",
    ),
    "rope-leading": (ValueError, lambda: rope(x, np.zeros((2, 2, 5))), "(2, 2, 5)"),
    "rope-bool": (TypeError, lambda: rope(x, [True] * 5), "positions are bool"),
    "rope-nan": (ValueError, lambda: rope(x, [0, 1, np.nan, 3, 4]), "no position nan"),
    "rope-odd": (ValueError, lambda: rope(np.ones((5, 7)), p[:5]), "E is 7", "even"),
    "rope-wide": (ValueError, lambda: rope(x, p[:5], rot_dim=6), "is 6", "0 to 4"),
    "rope-negative": (ValueError, lambda: rope(x, p[:5], rot_dim=-2), "rot_dim is -2"),
    "rope-half": (ValueError, lambda: rope(x, p[:5], rot_dim=2.0), "rot_dim is 2.0"),
    "rope-base": (ValueError, lambda: rope(x, p[:5], base=0.5), "base is 0.5"),
    "rope-scaling": (TypeError, lambda: rope(x, p[:5], scaling=4.0), "scaling is 4.0"),
    "rope_permutation": (ValueError, lambda: rope_permutation(5), "is 5", "even"),
    "LinearScaling": (ValueError, lambda: LinearScaling(0.5), "factor is 0.5", "1 or"),
    "LinearScaling-nan": (ValueError, lambda: LinearScaling(np.nan), "factor is nan"),
    "NTKScaling": (ValueError, lambda: NTKScaling("2"), "factor is '2'"),
    "NTKScaling-inf": (ValueError, lambda: NTKScaling(np.inf), "factor is inf"),
    "DynamicNTKScaling": (
        ValueError,
        lambda: DynamicNTKScaling(2.0, 0),
        "original_length is 0",
    ),
    "DynamicNTKScaling-factor": (
        ValueError,
        lambda: DynamicNTKScaling(0, 10),
        "factor is 0",
    ),
    "YaRNScaling": (ValueError, lambda: YaRNScaling(2.0, -5), "original_length is -5"),
    "YaRNScaling-factor": (ValueError, lambda: YaRNScaling(0.9, 10), "factor is 0.9"),
    "YaRNScaling-betas": (
        ValueError,
        lambda: YaRNScaling(2.0, 10, 1, 32),
        "beta_fast is 1",
        "beta_slow 32",
    ),
    "YaRNScaling-zero": (
        ValueError,
        lambda: YaRNScaling(2.0, 10, attention_factor=0),
        "attention_factor is 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name):
    kind, attempt, *words = REFUSED[name]
    with pytest.raises(kind) as refusal:
        attempt()
    message = str(refusal.value)
    assert message.startswith(f"{name.split('-')[0]}: ") and message.endswith(".")
    for word in words:
        assert word in message, message
