"""RoPE rotates each pair by its angle: scores depend on distances alone."""

import math

import numpy as np
import pytest

import minigrad as mg
from attention.attend import attend
from attention.positions import (
    DynamicNTKScaling,
    NTKScaling,
    rope,
    rope_permutation,
    sinusoidal,
)
from minigrad import Tensor

from .rope_cases import (
    CLOSE,
    SCALINGS,
    E,
    L,
    both_pairings,
    draw,
    every_scaling,
    p,
    value,
)


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


def test_rope_rotates_the_sinusoids():
    """PE[p + k] is PE[p] rotated, with sine and cosine as b and a."""
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
    """A decoder rotates each new key as it arrives, and caches it."""
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
