"""What a notebook shows of weights, a graph and a gradient check: well-formed HTML."""

from xml.etree import ElementTree

import numpy as np
import pytest

import minigrad as mg
from minigrad import draw
from minigrad.draw.html import MOST, grid
from minigrad.gradcheck import gradcheck

from .engine_cases import draw as normal


def parsed(shown):
    return ElementTree.fromstring(f"<html>{shown}</html>")


def cells(shown):
    return [
        ["".join(cell.itertext()) for cell in row]
        for row in parsed(shown).iter("tr")
    ]


def opacities(shown):
    return [float(r.get("fill-opacity")) for r in parsed(shown).iter("rect")]


@pytest.mark.filterwarnings("error")
def test_weights_are_a_grid_and_other_tensors_are_text():
    scores = mg.Tensor(normal(2, 3, 4, 5), requires_grad=True)
    weights = mg.softmax(scores)
    shown = weights._repr_html_()
    first = weights.numpy()[0, 0]
    titles = [t.text for t in parsed(shown).iter("title")]
    assert titles[7] == f"query 1, key 2: {first[1, 2]:.4g}" and len(titles) == 20
    expected = 0.1 + 0.9 * first.ravel() / first.max()
    assert np.allclose(opacities(shown), expected, atol=0.01)
    about = "Tensor (2, 3, 4, 5), entry [0, 0]: each row sums to 1. 4 queries run down, 5"
    assert about in shown and f"the strongest colour is {first.max():.2g}" in shown
    padded = np.vstack([first, np.zeros(5)])  # a query without keys
    assert "<svg" in mg.Tensor(padded)._repr_html_()
    others = [scores, weights * 2, weights[0, 0, 0], mg.Tensor(3.0), weights - 0.5]
    others += [mg.Tensor(np.zeros((0, 3))), mg.Tensor(np.zeros((2, 3)))]
    others += [mg.Tensor(first * np.nan), mg.Tensor(np.eye(3, dtype=int))]
    others += [mg.ones(3, 1), mg.Tensor(np.full((2, 5), 6e4, np.float16))]
    assert [x._repr_html_() for x in others] == [None] * len(others)


def test_a_large_grid_is_cut_and_says_so():
    shown = grid(np.ones((200, 3), bool), "a < b")
    assert len(opacities(shown)) == MOST * 3 and set(opacities(shown)) == {1}
    assert f"a &lt; b. 200 queries run down, 3 keys run across; the first {MOST}" in shown
    assert opacities(grid(np.zeros((0, 0), bool), "none")) == []


def test_a_graph_is_a_table_of_its_operations():
    x = mg.Tensor(normal(5, 300), requires_grad=True)
    saved = draw.saved_bytes(mg.tanh(x).sum())
    rows = cells(saved._repr_html_())
    assert rows[1] == ["tanh", "(5, 300)", "12,000", "12,000"]
    assert rows[-1][-1] == f"{saved.total:,}" and len(rows) == 4


def test_a_gradient_check_is_its_table_and_its_message():
    right = gradcheck(mg.tanh, normal(2, 3))
    assert "gradcheck of tanh: ok" in right._repr_html_()
    rows = cells(right._repr_html_())
    assert rows[0][:2] == ["input", "shape"] and rows[1][-1] == "ok"
    wrong = gradcheck(lambda x: mg.tanh(x).detach() + 0 * x, normal(2, 3))
    shown = parsed(wrong._repr_html_())
    assert "FAIL" in shown.find(".//caption").text
    assert shown.find(".//pre").text == wrong.message
