"""RoPE: scores depend on distances alone; each scaling has the frequencies it defines.

That rope equals its definition, with its gradient, is proved in tests/ops/positions.py.
"""

import math

import numpy as np
import pytest

from attention.positions import (
    LinearScaling,
    Llama3Scaling,
    NTKScaling,
    YaRNScaling,
    frequencies,
    rope,
)

L, E = 7, 8
p = np.arange(L)
CLOSE = {"rtol": 0, "atol": 1e-13}  # a few roundings of entries of order one
theta = frequencies(E)

SCALINGS = {
    "none": None,
    "linear": LinearScaling(3.0),
    "ntk": NTKScaling(3.0),
    "yarn": YaRNScaling(3.0, 40),
    "llama3": Llama3Scaling(3.0, 40),
}
every_scaling = pytest.mark.parametrize("scaling", SCALINGS.values(), ids=SCALINGS)


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def value(x, positions, **options):
    return rope(x, positions, **options).data


@pytest.mark.parametrize("interleaved", [False, True])
@every_scaling
def test_scores_depend_on_distances_alone(scaling, interleaved):
    q, k = draw(L, E), draw(L, E, seed=1)
    options = {"scaling": scaling, "interleaved": interleaved}
    here, there = (
        value(q, t, **options) @ value(k, t, **options).T for t in (p, p + 11)
    )
    np.testing.assert_allclose(here, there, **CLOSE)
    assert np.abs(here - q @ k.T).max() > 0.1


@every_scaling
def test_float32_is_as_precise_as_its_input(scaling):
    """At position 10^6 as well, where an angle in float32 would be off by 0.03."""
    x = draw(3, L, E).astype(np.float32)
    found = rope(x, 10**6 + p, scaling=scaling)
    assert found.dtype == np.float32
    exact = value(x.astype(np.float64), 10**6 + p, scaling=scaling)
    # x, the two products, their sum, sine and cosine are rounded: each half an ulp
    atol = 3e-7 * np.abs(exact).max()
    np.testing.assert_allclose(found.data, exact, rtol=0, atol=atol)


# Scalings


def slowed(scaling, R=E, base=10000.0):
    return scaling.slow(frequencies(R, base), base)


def test_frequencies():
    assert theta.tolist() == pytest.approx([1, 1e-1, 1e-2, 1e-3], rel=1e-14)
    assert len(frequencies(7)) == 4 and len(frequencies(0)) == 0


@pytest.mark.parametrize(
    "scaling",
    [LinearScaling(1), NTKScaling(1.0), YaRNScaling(1.0, 40), Llama3Scaling(1.0, 40)],
)
def test_factor_1_is_no_scaling(scaling):
    x = draw(3, L, E)
    assert scaling.attention_factor == 1
    np.testing.assert_allclose(value(x, p, scaling=scaling), value(x, p), **CLOSE)


def test_linear_scaling_is_interpolation_of_positions():
    x = draw(3, L, E)
    found = value(x, p, scaling=LinearScaling(3.0))
    np.testing.assert_allclose(found, value(x, p / 3), **CLOSE)


@pytest.mark.parametrize("s", [1.5, 16])
def test_ntk_scaling_is_another_base(s):
    """The fastest pair stays, and the slowest is divided by s."""
    expected = frequencies(E, 10000.0 * s ** (E / (E - 2)))
    found = slowed(NTKScaling(s))
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert found[0] == theta[0]
    assert found[-1] == pytest.approx(theta[-1] / s, rel=1e-14)
    assert slowed(NTKScaling(s), R=2).tolist() == [1]  # fastest and slowest at once


def test_yarn_at_its_known_values():
    """E = 128, base 10^4, L0 = 2048, s = 16."""
    yarn = YaRNScaling(16, 2048)
    assert yarn.pair_with_turns(32, 128, 1e4) == pytest.approx(16.13, abs=0.005)
    assert yarn.pair_with_turns(1, 128, 1e4) == pytest.approx(40.21, abs=0.005)
    assert yarn.limits(128, 1e4) == (16, 41)
    assert yarn.attention_factor == pytest.approx(1.2773, abs=5e-5)
    before, after = frequencies(128), slowed(yarn, R=128)
    ramp = np.clip((np.arange(64) - 16) / (41 - 16), 0, 1)
    expected = before * (1 - ramp) + before / 16 * ramp
    np.testing.assert_allclose(after, expected, rtol=1e-14)
    turns = 2048 * before / (2 * math.pi)
    assert (turns[:17] > 32).all() and (turns[41:] < 1).all()


def test_yarn_multiplies_cosine_and_sine_once():
    """Scores get the square of the factor, which may be given."""
    q, k = draw(L, E), draw(L, E, seed=1)
    plain = YaRNScaling(16.0, 40, attention_factor=1.0)
    given = YaRNScaling(16.0, 40, attention_factor=1.5)
    a = 0.1 * math.log(16) + 1
    for scaling, factor in (YaRNScaling(16.0, 40), a), (given, 1.5):
        assert scaling.attention_factor == factor
        scores, unscaled = (
            value(q, p, scaling=each) @ value(k, p, scaling=each).T
            for each in (scaling, plain)
        )
        np.testing.assert_allclose(scores, factor**2 * unscaled, rtol=1e-11)
    y = value(q, p, scaling=given, rot_dim=4)
    np.testing.assert_array_equal(y[:, 4:], q[:, 4:])  # copied


def test_llama3_scales_by_the_turns_in_a_training_text():
    """Pairs of 4 turns and more stay, those below 1 are divided; 2.5 is the middle."""
    L0, s = 8192, 8.0
    turns = np.array([100, 4, 2.5, 1, 0.1])
    found = Llama3Scaling(s, L0).slow(2 * math.pi * turns / L0, 10000.0)
    expected = turns * [1, 1, (1 + 1 / s) / 2, 1 / s, 1 / s]
    np.testing.assert_allclose(found * L0 / (2 * math.pi), expected, rtol=1e-14)


def test_yarn_with_a_ramp_of_no_width_is_a_step():
    """In six positions no pair turns once: all are divided, but m = 0."""
    yarn = YaRNScaling(4.0, 6)
    assert yarn.limits(E, 1e4) == (0, 0)
    np.testing.assert_allclose(slowed(yarn), theta / [1, 4, 4, 4], rtol=1e-14)
    assert YaRNScaling(4.0, 10**9).limits(4, 10.0) == (3, 3)  # all turn often
