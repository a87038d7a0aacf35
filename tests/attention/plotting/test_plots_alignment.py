"""The picture of an alignment has every word legible, and gold on its cells."""

import numpy as np
import pytest

from attention.plotting import heatmaps as plots
from minigrad import Tensor

from .plot_cases import PNG, is_whole, overlap, weights


def test_an_alignment_has_the_source_across_and_the_target_down(tmp_path):
    source, target = "the black cat".split(), "le chat noir <eos>".split()
    w = np.array([[1, 0, 0], [0, 0.25, 0.75], [0, 0.996, 0.004], [1 / 3] * 3])
    path = tmp_path / "alignment.png"
    figure = plots.alignment_heatmap(
        w, source, target, title="Do they swap?", path=path, gold=[(1, 2), (2, 1)]
    )
    assert path.read_bytes().startswith(PNG)
    panel, bar = figure.axes
    assert [t.get_text() for t in panel.get_xticklabels()] == source
    assert [t.get_text() for t in panel.get_yticklabels()] == target
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("source", "target")
    assert panel.xaxis.get_ticks_position() == "top"
    assert panel.yaxis_inverted()  # the first target word on top
    assert figure.get_suptitle() == "Do they swap?"
    assert bar.get_ylabel() == "attention weight"
    np.testing.assert_array_equal(panel.images[0].get_array(), w)
    written = {(t.get_position()): t.get_text() for t in panel.texts}
    assert len(written) == 12
    assert written[0, 0] == "1.00" and written[1, 0] == "0"  # an exact zero
    assert written[2, 1] == ".75" and written[2, 2] == ".00"  # a small weight
    centres = [
        (p.get_y() + p.get_height() / 2, p.get_x() + p.get_width() / 2)
        for p in panel.patches
    ]
    np.testing.assert_allclose(centres, [(1, 2), (2, 1)])
    (legend,) = figure.legends
    assert [t.get_text() for t in legend.get_texts()] == ["gold alignment"]
    assert is_whole(figure)


def test_written_weights_stand_out_from_their_cells():
    figure = plots.alignment_heatmap(np.array([[0.95, 0.05]]), ["a", "b"], ["c"])
    dark, pale = figure.axes[0].texts
    assert (dark.get_color(), pale.get_color()) == ("white", "black")


@pytest.mark.parametrize("letters", [2, 14])
def test_thirty_words_stay_legible(letters):
    """No label is cut off or runs into another, and at 800 pixels a letter has 9."""
    source = ["w" * letters] * 30
    target = ["w" * letters] * 32
    figure = plots.alignment_heatmap(
        weights(32, 30), source, target, title="Thirty words", gold=[(0, 0)]
    )
    panel = figure.axes[0]
    assert not panel.texts  # the cells are too small for numbers
    across, down = panel.get_xticklabels(), panel.get_yticklabels()
    assert not overlap(figure, across) and not overlap(figure, down)
    assert is_whole(figure)
    assert across[0].get_fontsize() / 72 * 800 / figure.get_figwidth() >= 9


@pytest.mark.parametrize(
    "words, rotation", [("abc", 0), (["one", "word", "alone"], 90)]
)
def test_letters_stand_upright_and_words_are_turned(words, rotation):
    figure = plots.alignment_heatmap(weights(3, 3), list(words), list("xyz"))
    labels = figure.axes[0].get_xticklabels()
    assert {label.get_rotation() for label in labels} == {rotation}
    assert not overlap(figure, labels)


def test_a_long_title_is_wrapped_and_not_cut_off():
    title = "Are the attention weights of one word always equal to one?"
    figure = plots.alignment_heatmap(np.ones((1, 1)), ["a"], ["b"], title=title)
    assert "\n" in figure.get_suptitle()
    assert figure.get_suptitle().split() == title.split()
    assert is_whole(figure)


def test_alignment_takes_tensors_and_arrays_of_pairs():
    w = Tensor(weights(2, 2), requires_grad=True) * 1.0
    figure = plots.alignment_heatmap(w, list("ab"), list("cd"), gold=np.array([[0, 1]]))
    assert len(figure.axes[0].patches) == 1


def test_alignment_refuses_a_batch():
    with pytest.raises(ValueError) as error:
        plots.alignment_heatmap(weights(1, 2, 3), list("abc"), list("de"))
    assert str(error.value) == (
        "alignment_heatmap: weights has shape (1, 2, 3); expected one matrix "
        "(T_target, S_source). Take one example, and one head, of a batch."
    )


def test_alignment_refuses_words_that_do_not_fit():
    with pytest.raises(ValueError) as error:
        plots.alignment_heatmap(weights(2, 3), list("ab"), list("cd"))
    assert str(error.value) == (
        "alignment_heatmap: source has 2 words; expected 3, as many as weights (2, 3) "
        "has columns."
    )
    with pytest.raises(
        ValueError, match=r"target has 3 words; expected 2, .* has rows\."
    ):
        plots.alignment_heatmap(weights(2, 3), list("abc"), list("def"))


def test_alignment_refuses_a_string_for_a_sentence():
    with pytest.raises(TypeError) as error:
        plots.alignment_heatmap(weights(2, 3), "abc", list("de"))
    assert str(error.value) == (
        "alignment_heatmap: source is one string, 'abc'; expected a list of 3 words. "
        "Write source.split() for words, list(source) for letters."
    )


@pytest.mark.parametrize("pair", [(2, 0), (0, 3), (-1, 0)])
def test_alignment_refuses_gold_outside(pair):
    with pytest.raises(ValueError) as error:
        plots.alignment_heatmap(weights(2, 3), list("abc"), list("de"), gold=[pair])
    assert str(error.value) == (
        f"alignment_heatmap: the gold pair {pair} lies outside weights (2, 3); "
        "expected (target position, source position), counted from 0."
    )
