"""A wrong gradient is refused, and the report names what is wrong with it."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.checking.diagnosis import Case, diagnose

from .gradcheck_cases import OTHER, SQUARE, X, draw, softmax, with_backward


def embed(ids):
    def embed(w):
        return w[ids]

    return embed


IDS = np.array([4, 1, 4, 0, 4, 2, 2])


def scatter(g, y, w):
    out = np.zeros_like(w)
    out[IDS] = g  # not np.add.at
    return out


def add_bias(x, b):
    return x + b


def matmul(a, b):
    return a @ b


# wrong operations: (tag, forward, backward, inputs)
WRONG = [
    ("none", np.tanh, lambda g, y, x: None, [X]),
    ("zero", np.tanh, lambda g, y, x: np.zeros_like(x), [X]),
    ("nan", np.tanh, lambda g, y, x: np.where(x > 1, np.nan, g * (1 - y * y)), [X]),
    ("nan", np.tanh, lambda g, y, x: g * (1 - y * y) + np.where(x > 1, np.inf, 0), [X]),
    ("unbroadcast", add_bias, lambda g, y, x, b: (g, g[0].copy()), [X, draw(5)]),
    ("unbroadcast", matmul, lambda g, y, a, b: (g @ b.T, np.outer(a[0], g[0])),
     [X, draw(5, 7)]),
    ("transpose", matmul, lambda g, y, a, b: (g @ b.T, g.T @ a), [SQUARE, OTHER]),
    ("transpose", np.transpose, lambda g, y, x: g, [SQUARE]),
    ("scale:-1", np.tanh, lambda g, y, x: -g * (1 - y * y), [X]),
    ("scale:1/2", np.square, lambda g, y, x: g * x, [X]),
    ("scale:1/3", add_bias, lambda g, y, x, b: (g, g.mean(0)), [X, draw(5)]),
    ("scale:sqrt(5)", lambda x: x / np.sqrt(5), lambda g, y, x: g * 1, [X]),
    ("scale:0.434294", np.log, lambda g, y, x: g / x / np.log(10), [X**2 + 1]),
    ("ignores-upstream", np.tanh, lambda g, y, x: 1 - y * y, [X]),
    ("not-linear", np.tanh, lambda g, y, x: np.sign(g) * (1 - y * y), [X]),
    ("softmax-diagonal", softmax, lambda g, y, x: g * y * (1 - y), [X]),
    ("softmax-nocentre", softmax, lambda g, y, x: g * y, [X]),
    ("wrong-axis", softmax, lambda g, y, x: y * (g - (g * y).sum(0)), [X]),
    ("overwrites", embed(IDS), scatter, [X.T.copy()]),
    ("mask-leak", lambda x: np.maximum(x, 0), lambda g, y, x: g * 1, [X]),
    ("block:first of axis 0", np.tanh, lambda g, y, x: _spoil(g * (1 - y * y), 0), [X]),
    ("block:last of axis 1", np.tanh,
     lambda g, y, x: _spoil(g * (1 - y * y), np.s_[:, -1]), [X]),
    ("raises", np.tanh, lambda g, y, x: g[:, :4], [X]),
    ("raises", np.tanh, lambda g, y, x: g @ g, [X]),
    ("raises", add_bias, lambda g, y, x, b: g, [X, draw(5)]),
    ("unknown", np.tanh, lambda g, y, x: g * (1 - x * x), [X]),
    ("transpose", matmul, lambda g, y, a, b: (g @ b, a.T @ g), [SQUARE, OTHER]),
]  # fmt: skip


def _spoil(d, index):
    d = d.copy()
    d[index] *= 2 + np.arange(d[index].size).reshape(d[index].shape) ** 2
    return d


@pytest.mark.parametrize("tag, forward, backward, inputs", WRONG)
def test_wrong_gradient_is_refused_and_named(tag, forward, backward, inputs):
    result = mg.gradcheck(with_backward(forward, backward), inputs)
    assert not result
    assert not result.ok
    assert result.tag == tag, str(result)
    if tag not in ("none", "raises", "unknown", "transpose"):
        assert f"[{tag}]" in result.message
    if tag != "raises":
        assert all(len(line) <= 80 for line in str(result).splitlines())


# The report


def test_the_whole_report():
    op = with_backward(softmax, lambda g, y, x: g * y * (1 - y))
    result = mg.gradcheck(op, [X])
    assert str(result) == "\n".join(
        [
            "gradcheck of softmax: FAIL",
            "",
            "input  shape   checked     largest  error  verdict",
            "0      (3, 5)  15 entries  2.4e-01  6e-01  wrong",
            "",
            "softmax, input 0, entry [2, 0]",
            "    yours    +0.00977604",
            f"    numeric  +0.0522379 ± {result.worst.bar:.0e}",
            "15 of 15 entries differ",
            "yours equals diag(J) * c, the diagonal of the Jacobian J = dy/dx alone",
            "[softmax-diagonal]",
        ]
    )
    assert result.worst.bar < 1e-9
    with pytest.raises(mg.GradcheckError, match="gradcheck of softmax: FAIL"):
        result.assert_ok()
    assert issubclass(mg.GradcheckError, AssertionError)


def test_wrong_entries_that_form_a_pattern_are_drawn():
    def spoiled(index, shape):
        op = with_backward(np.tanh, lambda g, y, x: _spoil(g * (1 - y * y), index))
        return mg.gradcheck(op, [draw(*shape)]).message

    rows = "    .......\n    #######\n    .......\n    (# differs; the last axis"
    assert rows in spoiled(np.s_[1], (3, 7))
    assert "#" not in spoiled(([0, 1, 2], [0, 3, 1]), (3, 5)).replace("(#", "")
    tall = spoiled(np.s_[:, 0], (29, 13)).splitlines()
    assert tall.count("    #............") == 8  # 29 rows in 8 lines


# The bank by itself


def test_one_number_is_no_proof_of_a_factor():
    assert diagnose(Case(np.array(0.7), np.array(0.31))).tag == "unknown"
    assert diagnose(Case(np.array(-0.62), np.array(0.31))).tag == "scale:-2"


def test_inputs_have_names_and_a_result_has_the_parts_of_its_message():
    def product(a, k, b):
        return a * k * b, lambda g: (g * k * b, None, 2 * g * k * a)

    inputs = [draw(3, 5), np.arange(5), draw(3, 5)]
    found = mg.gradcheck(mg.lift(product), inputs, names=["a", "k", "b"])
    assert [row.input for row in found.rows] == ["a", "b"] and found.worst.input == "b"
    assert found.wrong[:, 1:].all() and not found.wrong[:, 0].any()
    assert found.cause == ("scale:2", "yours = 2 x numeric") and found.also == []
    assert "yours = 2 x numeric  [scale:2]" in found.message
    zero = mg.gradcheck(
        mg.lift(product), inputs, names=["a", "k", "b"], no_gradient="b"
    )
    assert zero.tag == "declared" and "names b; the measured one is not 0" in zero.message
