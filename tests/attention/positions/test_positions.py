"""Sinusoidal and learned positions, RoPE with its scalings, patches of images."""

import math

import numpy as np
import pytest

import attention as A
import minigrad as mg
from attention import definitions
from attention.positions import (
    LearnedPositions,
    LinearScaling,
    Llama3Scaling,
    NTKScaling,
    YaRNScaling,
    frequencies,
    rope,
    sinusoidal,
)
from minigrad import Tensor

from ...minigrad.array_cases import draw

# float64: a few roundings, and angles up to 1000 with an ulp of 1e-13
CLOSE = {"rtol": 0, "atol": 1e-12}


@pytest.mark.parametrize("n, d", [(1, 1), (5, 7), (7, 8), (1000, 3), (0, 4)])
@pytest.mark.parametrize("base", [10000.0, 7.0])
def test_sinusoidal_by_its_formula(n, d, base):
    found = sinusoidal(n, d, base=base, dtype=np.float64)
    expected = definitions.sinusoidal(np.arange(n), d, base)
    np.testing.assert_allclose(found, expected, **CLOSE)


def test_the_sum_with_embeddings_keeps_their_dtype():
    x = Tensor(np.ones((2, 5, 7), np.float32), requires_grad=True)
    for y in (x + sinusoidal(5, 7), sinusoidal(5, 7) + x):
        assert isinstance(y, Tensor) and y.dtype == np.float32 and y.requires_grad


def test_angles_are_exact_at_large_positions():
    """In float32 the angle alone would be off by up to half a spacing."""
    assert 0.03 < np.spacing(np.float32(1e6)) / 2 < 0.032
    found = sinusoidal([1_000_003], 2)[0]
    expected = [math.sin(1_000_003), math.cos(1_000_003)]
    np.testing.assert_allclose(found, expected, rtol=1e-7)  # rounded to float32


def table(n_max=7, d=3):
    return LearnedPositions(n_max, d, rng=np.random.default_rng(0))


def test_learned_positions_are_rows_of_the_table():
    layer = table()
    weight = layer.weight.data
    assert weight.shape == (7, 3) and weight.dtype == np.float32
    assert dict(layer.named_parameters()).keys() == {"weight"}
    np.testing.assert_array_equal(layer(5).data, weight[:5])
    np.testing.assert_array_equal(layer(7).data, weight)
    ids = np.array([[6, 0, 0], [1, 2, 6]], np.uint8)
    np.testing.assert_array_equal(layer(ids).data, weight[ids])
    assert layer(0).shape == (0, 3) and layer([]).shape == (0, 3)
    assert (table().weight.data == weight).all()  # of the same seed


def test_learned_positions_start_small():
    weight = LearnedPositions(500, 100, rng=np.random.default_rng(1)).weight.data
    # 50 000 draws: the deviation is known to 0.3 %, five of that is 1.6 %
    np.testing.assert_allclose(weight.std(), 0.02, rtol=0.016)


# -- RoPE ------------------------------------------------------------------------------

L, E = 7, 8
p = np.arange(L)
theta = frequencies(E)

SCALINGS = {
    "none": None,
    "linear": LinearScaling(3.0),
    "ntk": NTKScaling(3.0),
    "yarn": YaRNScaling(3.0, 40),
    "llama3": Llama3Scaling(3.0, 40),
}
every_scaling = pytest.mark.parametrize("scaling", SCALINGS.values(), ids=SCALINGS)


def value(x, positions, **options):
    return rope(x, positions, **options).data


@every_scaling
def test_float32_is_as_precise_as_its_input(scaling):
    """At position 10^6 as well, where an angle in float32 would be off by 0.03."""
    x = draw((3, L, E))[0].astype(np.float32)
    found = rope(x, 10**6 + p, scaling=scaling)
    assert found.dtype == np.float32
    exact = value(x.astype(np.float64), 10**6 + p, scaling=scaling)
    # x, the two products, their sum, sine and cosine are rounded: each half an ulp
    atol = 3e-7 * np.abs(exact).max()
    np.testing.assert_allclose(found.data, exact, rtol=0, atol=atol)


# Scalings


def slowed(scaling, R=E, base=10000.0):
    return scaling.slow(frequencies(R, base), base)


@pytest.mark.parametrize("s", [1.5, 16])
def test_ntk_scaling_is_another_base(s):
    """The fastest pair stays, and the slowest is divided by s."""
    expected = frequencies(E, 10000.0 * s ** (E / (E - 2)))
    found = slowed(NTKScaling(s))
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert found[0] == theta[0]
    assert found[-1] == pytest.approx(theta[-1] / s, rel=1e-14)
    assert slowed(NTKScaling(s), R=2).tolist() == [1]  # fastest and slowest at once
    np.testing.assert_allclose(slowed(LinearScaling(s)), theta / s)


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


# -- images ----------------------------------------------------------------------------


def test_patches_are_squares_row_by_row():
    (image,) = draw((2, 6, 9, 2))
    x = A.patches(image, 3).data
    assert x.shape == (2, 6, 18)
    for i, (row, column) in enumerate(zip(*A.grid(2, 3))):
        square = image[:, 3 * row : 3 * row + 3, 3 * column : 3 * column + 3]
        np.testing.assert_array_equal(x[:, i], square.reshape(2, -1))
    assert mg.gradcheck(lambda x: A.patches(x, 3), [image])


def test_patches_must_fit():
    with pytest.raises(ValueError, match="6 x 9 pixels and size is 2; expected a size"):
        A.patches(np.zeros((6, 9, 1)), 2)


def test_the_width_has_pairs_for_both():
    with pytest.raises(ValueError, match="has the width 6; expected a multiple of 4"):
        A.rope_2d(np.zeros((2, 6)), np.arange(2), np.arange(2))
