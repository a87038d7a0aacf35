"""Relative scores: what they say of wrong arguments."""

import numpy as np
import pytest

from attention.positions import (
    disentangled_scores,
    shaw_scores,
    shaw_values,
    transformer_xl_distances,
    transformer_xl_scores,
)
from attention.positions.offsets import from_offsets, sum_offsets

from .relative_scores_cases import draw, shaw, xl


def shaw_with(**shapes):
    right = {"q": (5, 3), "k": (7, 3), "a": (5, 3)} | shapes
    return shaw_scores(*(np.ones(shape) for shape in right.values()))


def values_with(p=(5, 7), a=(5, 4), **options):
    return shaw_values(np.ones(p), np.ones(a), **options)


def xl_with(**shapes):
    right = {"q": (5, 3), "k": (7, 3), "R": (11, 3), "u": (3,), "w": (3,)} | shapes
    return transformer_xl_scores(*(np.ones(shape) for shape in right.values()))


NAMES = {
    "shaw_scores": shaw_with,
    "shaw_values": values_with,
    "transformer_xl_scores": xl_with,
    "transformer_xl_distances": transformer_xl_distances,
}
REFUSED = [
    ("shaw_scores", {"k": (7, 4)}, "(5, 3)", "(7, 4)", "one width D"),
    ("shaw_scores", {"a": (5, 4)}, "(5, 3)", "(5, 4)", "one width D"),
    ("shaw_scores", {"a": (4, 3)}, "(4, 3)", "2k + 1 rows"),
    ("shaw_scores", {"a": (0, 3)}, "(0, 3)", "2k + 1 rows"),
    ("shaw_scores", {"q": (3,)}, "queries have shape (3,)", "(..., L, D)"),
    ("shaw_scores", {"a": (3,)}, "relative_keys (3,)", "(..., 2k + 1, D)"),
    ("shaw_scores", {"q": (2, 5, 3), "a": (3, 5, 3)}, "axes must be alike"),
    ("shaw_values", {"a": (4, 4)}, "(4, 4)", "2k + 1 rows"),
    ("shaw_values", {"p": (7,)}, "weights have shape (7,)", "(..., L, S)"),
    ("shaw_values", {"p": (2, 5, 7), "a": (3, 5, 4)}, "axes must be alike"),
    ("shaw_values", {"causal_align": "left"}, "'left'", "'lower_right'"),
    ("transformer_xl_scores", {"k": (7, 4)}, "(7, 4)", "one width D"),
    ("transformer_xl_scores", {"u": (4,)}, "content_bias (4,)", "one width D"),
    ("transformer_xl_scores", {"w": (1,)}, "position_bias (1,)", "one width D"),
    (
        "transformer_xl_scores",
        {"R": (12, 3)},
        "relative_keys (12, 3)",
        "expected 11 relative_keys",
        "transformer_xl_distances(5, 7)",
    ),
    ("transformer_xl_scores", {"q": (3,)}, "queries have shape (3,)", "(..., L, D)"),
    ("transformer_xl_scores", {"u": ()}, "content_bias ()", "(..., D)"),
    (
        "transformer_xl_scores",
        {"q": (2, 5, 3), "w": (3, 3)},
        "position_bias (3, 3)",
        "axes must be alike",
    ),
    ("transformer_xl_distances", {"L": 5, "S": 7, "causal_align": 1}, "is 1;"),
    ("transformer_xl_distances", {"L": -1, "S": 7}, "L is -1", "queries"),
    ("transformer_xl_distances", {"L": 1, "S": 0.5}, "S is 0.5", "keys"),
]


@pytest.mark.parametrize("name, given, words", [(n, g, w) for n, g, *w in REFUSED])
def test_refusal(name, given, words):
    with pytest.raises(ValueError) as refusal:
        NAMES[name](**given)
    message = str(refusal.value)
    assert message.startswith(f"{name}: ") and message.endswith(".")
    for word in words:
        assert word in message, message


def test_the_alignment_of_scores_is_one_of_two():
    with pytest.raises(ValueError, match="^shaw_scores: causal_align is 'left'; exp"):
        shaw_scores(*shaw(5, 7), causal_align="left")


@pytest.mark.parametrize(
    "f, arrays, arguments",
    [
        (shaw_scores, shaw(5, 7), "queries keys relative_keys"),
        (shaw_values, draw((5, 7), (5, 4)), "weights relative_values"),
        (
            transformer_xl_scores,
            xl(5, 7),
            "queries keys relative_keys content_bias position_bias",
        ),
    ],
)
def test_what_holds_no_fractions_is_refused_by_name(f, arrays, arguments):
    for place, name in enumerate(arguments.split()):
        others = list(arrays)
        for wrong, word in (
            (None, "is None"),
            (["a"], "of type list"),
            (np.ones(arrays[place].shape, int), "is int64; expected floating-point"),
        ):
            others[place] = wrong
            with pytest.raises(TypeError) as refusal:
                f(*others)
            message = str(refusal.value)
            assert message.startswith(f"{f.__name__}: {name} ") and word in message


def test_what_the_two_operations_refuse():
    for f, letter in (from_offsets, "n"), (sum_offsets, "S"):
        with pytest.raises(ValueError, match=rf"^{f.__name__}: .*, L, {letter}\)\.$"):
            f(np.ones(3), 3, 0)
    with pytest.raises(
        ValueError, match="^from_offsets: 0 offsets for 5 queries and 7"
    ):
        from_offsets(np.ones((5, 0)), 7, 0)
    with pytest.raises(ValueError, match="^sum_offsets: 0 offsets for 5 queries and 7"):
        sum_offsets(np.ones((5, 7)), 0, 0)


@pytest.mark.parametrize("scale, kind", [("x", TypeError), (np.nan, ValueError)])
def test_a_scale_is_a_finite_number(scale, kind):
    q, k, a = np.ones((2, 3)), np.ones((4, 3)), np.ones((5, 3))
    said = f"scale is {scale!r}; expected a finite number, or None for 1 / sqrt"
    for call in (
        lambda: shaw_scores(q, k, a, scale),
        lambda: transformer_xl_scores(q, k, a, a[0], a[0], scale),
        lambda: disentangled_scores(q, k, a[:4], a[:4], scale),
    ):
        with pytest.raises(kind) as error:
            call()
        assert said in str(error.value)
