"""Each scaling of RoPE has the frequencies of its formula, and its known values."""

import math

import numpy as np
import pytest

from attention.positions import (
    DynamicNTKScaling,
    LinearScaling,
    NTKScaling,
    YaRNScaling,
    frequencies,
)

from .rope_cases import CLOSE, E, L, draw, p, value

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
    assert yarn.pair_with_turns(32, 128, 1e4) == pytest.approx(16.13, abs=0.005)
    assert yarn.pair_with_turns(1, 128, 1e4) == pytest.approx(40.21, abs=0.005)
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
