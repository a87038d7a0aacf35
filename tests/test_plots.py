"""The pictures: what stands on them, read from the returned Figure."""

import subprocess
import sys

import numpy as np
import pytest

from attention import plots
from attention.curves import COLOURS
from minigrad import Tensor

PNG = b"\x89PNG\r\n\x1a\n"


def weights(*shape, seed=0):
    """Rows of positive numbers that sum to one."""
    w = np.random.default_rng(seed).random(shape)
    return w / w.sum(-1, keepdims=True)


def is_whole(figure):
    """Whether all that is drawn, down to the last label, is inside the picture."""
    figure.canvas.draw()
    drawn = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    return 0 <= drawn.x0 and 0 <= drawn.y0 and drawn.x1 <= width and drawn.y1 <= height


def overlap(figure, labels):
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in labels]
    return any(a.overlaps(b) for n, a in enumerate(boxes) for b in boxes[:n])


def test_heatmaps_are_a_grid_on_one_scale(tmp_path):
    w = weights(2, 3, 4, 5)
    path = tmp_path / "grid.png"
    figure = plots.show_heatmaps(
        w, "Keys", "Queries", titles=["head 1", "head 2", "head 3"], path=path
    )
    assert path.read_bytes().startswith(PNG)
    *panels, bar = figure.axes
    assert len(panels) == 6
    for panel, matrix in zip(panels, w.reshape(6, 4, 5)):
        (image,) = panel.images
        np.testing.assert_array_equal(image.get_array(), matrix)
        assert image.get_clim() == (
            0,
            w.max(),
        )  # one scale: equal colours, equal weights
    assert [p.get_title() for p in panels] == ["head 1", "head 2", "head 3", "", "", ""]
    assert [p.get_xlabel() for p in panels] == [""] * 3 + ["Keys"] * 3
    assert [p.get_ylabel() for p in panels] == ["Queries", "", ""] * 2
    assert bar.get_ylabel() == "attention weight"
    assert is_whole(figure)


def test_heatmaps_take_the_tensors_of_a_graph_and_a_title_for_each_panel():
    w = Tensor(weights(2, 2, 3, 3), requires_grad=True) * 1.0
    figure = plots.show_heatmaps(
        w, "Keys", "Queries", titles=list("abcd"), label="mass"
    )
    *panels, bar = figure.axes
    assert [p.get_title() for p in panels] == list("abcd")
    assert bar.get_ylabel() == "mass"


def test_the_page_can_draw_its_example():
    """Attention weights of shape (2, 1, 10) become one panel of two queries."""
    w = np.zeros((2, 1, 10))
    w[0, 0, :2], w[1, 0, :6] = 1 / 2, 1 / 6
    figure = plots.show_heatmaps(
        Tensor(w).reshape((1, 1, 2, 10)), xlabel="Keys", ylabel="Queries"
    )
    (image,) = figure.axes[0].images
    assert image.get_array().shape == (2, 10)
    assert image.get_clim() == (0, 0.5)


@pytest.mark.parametrize("value, scale", [(0.0, (0, 1)), (-2.0, (-2, 0))])
def test_the_scale_holds_zero_and_has_a_width(value, scale):
    figure = plots.show_heatmaps(np.full((1, 1, 2, 2), value), "Keys", "Queries")
    assert figure.axes[0].images[0].get_clim() == scale


def test_a_heatmap_of_many_keys_has_few_ticks_and_the_size_that_was_asked_for():
    figure = plots.show_heatmaps(
        weights(1, 1, 50, 70), "Keys", "Queries", figsize=(5, 4), cmap="Blues"
    )
    assert list(figure.get_size_inches()) == [5, 4]
    assert len(figure.axes[0].get_xticks()) <= 8
    assert figure.axes[0].images[0].cmap.name == "Blues"


@pytest.mark.parametrize("shape", [(3, 4), (1, 3, 4), (1, 1, 0, 4)])
def test_heatmaps_refuse_other_shapes(shape):
    with pytest.raises(ValueError) as error:
        plots.show_heatmaps(np.zeros(shape), "Keys", "Queries")
    assert str(error.value) == (
        f"show_heatmaps: matrices has shape {shape}; expected (rows, cols, n_queries, "
        "n_keys), none of them zero. One matrix m becomes a grid of one by "
        "m.reshape(1, 1, *m.shape)."
    )


def test_heatmaps_refuse_titles_that_do_not_fit():
    with pytest.raises(ValueError) as error:
        plots.show_heatmaps(weights(2, 3, 4, 4), "Keys", "Queries", titles=["a", "b"])
    assert str(error.value) == (
        "show_heatmaps: titles has 2 entries; expected 3, one for each column, or 6, "
        "one for each panel of a 2 by 3 grid."
    )


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


def test_loss_curves_draw_each_run_faint_and_smoothed(tmp_path):
    path = tmp_path / "losses.png"
    slow, fast = np.linspace(3, 1, 40), np.linspace(3, 0.1, 40)
    figure = plots.loss_curves(
        {"dot": list(slow), "additive": list(fast)}, path, smooth=4
    )
    assert path.read_bytes().startswith(PNG)
    (panel,) = figure.axes
    assert panel.get_yscale() == "log"
    assert panel.get_xlabel() == "training step"
    assert panel.get_ylabel() == "training loss (nats a token)"
    assert panel.get_title().endswith("?")
    faint, strong, *_ = panel.lines  # the fastest first
    np.testing.assert_array_equal(faint.get_ydata(), fast)
    means = [fast[t - 3 : t + 1].mean() for t in range(3, 40)]
    np.testing.assert_allclose(strong.get_ydata(), means)
    assert list(strong.get_xdata()) == list(range(4, 41))  # at the last of its steps
    assert [t.get_text() for t in panel.get_legend().get_texts()] == [
        f"additive: {means[-1]:.2g}",
        f"dot: {slow[-4:].mean():.2g}",
    ]
    assert [line.get_color() for line in panel.lines[::2]] == [
        COLOURS["additive"],
        COLOURS["dot"],
    ]
    assert is_whole(figure)


def test_runs_of_one_score_share_a_colour_and_not_a_dash():
    names = ["scaled, seed 1", "scaled_dot seed 2", "other"]
    figure = plots.loss_curves({name: [1.0, 0.5] for name in names})
    first, second, other = figure.axes[0].lines[1::2]
    assert first.get_color() == second.get_color() == COLOURS["scaled"]
    assert first.get_linestyle() != second.get_linestyle()
    assert other.get_color() not in COLOURS.values()


def test_a_short_run_is_smoothed_over_a_fifth_of_it():
    figure = plots.loss_curves({"dot": [1.0] * 20})
    assert len(figure.axes[0].lines[1].get_xdata()) == 17  # windows of 4


@pytest.mark.parametrize(
    "histories, options, message",
    [
        ({}, {}, "loss_curves: histories is empty; expected {name: losses}."),
        (
            {"dot": [1.0]},
            {"smooth": 0},
            "loss_curves: smooth is 0; expected 1 step or more.",
        ),
        (
            {"dot": [[1.0, 2.0]]},
            {},
            "loss_curves: the history of 'dot' has shape (1, 2); expected (steps,), "
            "one loss for each step.",
        ),
        (
            {"dot": []},
            {},
            "loss_curves: the history of 'dot' has shape (0,); expected (steps,), "
            "one loss for each step.",
        ),
    ],
)
def test_loss_curves_refuse(histories, options, message):
    with pytest.raises(ValueError) as error:
        plots.loss_curves(histories, **options)
    assert str(error.value) == message


def test_accuracy_bars_stand_in_groups_by_length(tmp_path):
    path = tmp_path / "bars.png"
    accuracies = {
        "additive": {"10": 0.945, "3": 0.99, "5": 1.0},  # as JSON has them, unsorted
        "scaled": {"3": 0.4, "5": 0.0, "10": 0.13},
    }
    figure = plots.accuracy_bars(accuracies, path)
    assert path.read_bytes().startswith(PNG)
    (panel,) = figure.axes
    assert [t.get_text() for t in panel.get_xticklabels()] == ["3", "5", "10"]
    assert panel.get_xlabel() == "string length"
    assert panel.get_ylabel() == "accuracy a token, teacher-forced"
    assert panel.get_title().endswith("?")
    additive, scaled = panel.containers
    assert [bar.get_height() for bar in additive] == [0.99, 1.0, 0.945]
    assert [bar.get_height() for bar in scaled] == [0.4, 0.0, 0.13]
    for n, (left, right) in enumerate(zip(additive, scaled)):
        assert left.get_x() + left.get_width() <= right.get_x() + 1e-9
        assert n - 0.5 < left.get_x() and right.get_x() + right.get_width() < n + 0.5
    assert {bar.get_facecolor() for bar in additive} != {
        bar.get_facecolor() for bar in scaled
    }
    assert [t.get_text() for t in panel.texts] == [
        ".99",
        "1.00",
        ".94",
        ".40",
        "0",
        ".13",
    ]
    (legend,) = figure.legends
    assert [t.get_text() for t in legend.get_texts()] == ["additive", "scaled"]
    assert is_whole(figure)


def test_the_bars_of_two_seeds_can_be_told_apart():
    figure = plots.accuracy_bars({"dot, seed 1": {3: 1.0}, "dot, seed 2": {3: 0.5}})
    (first,), (second,) = figure.axes[0].containers
    assert first.get_facecolor() == second.get_facecolor()
    assert first.get_hatch() != second.get_hatch()


@pytest.mark.parametrize(
    "accuracies, message",
    [
        (
            {},
            "accuracy_bars: accuracies holds nothing; expected "
            "{name: {length: accuracy}}.",
        ),
        (
            {"dot": {3: 0.5, 5: 0.5}, "scaled": {3: 0.5}},
            "accuracy_bars: 'scaled' has lengths [3]; expected [3, 5], as the first "
            "run has.",
        ),
        (
            {"dot": {3: 99.6}},
            "accuracy_bars: 'dot' has accuracy 99.6 at length 3; expected a number "
            "between 0 and 1.",
        ),
        (
            {"dot": {3: float("nan")}},
            "accuracy_bars: 'dot' has accuracy nan at length 3; expected a number "
            "between 0 and 1.",
        ),
    ],
)
def test_accuracy_bars_refuse(accuracies, message):
    with pytest.raises(ValueError) as error:
        plots.accuracy_bars(accuracies)
    assert str(error.value) == message


def test_colours_differ_also_in_lightness():
    """Two of the four scores are never the same grey, so a printout can be read."""
    from matplotlib.colors import to_rgb

    greys = sorted(np.dot(to_rgb(c), [0.3, 0.6, 0.1]) for c in COLOURS.values())
    assert np.diff(greys).min() > 0.02


def test_a_notebook_gets_a_picture():
    figure = plots.loss_curves({"dot": [1.0, 0.5]})
    assert figure._repr_png_().startswith(PNG)


def test_pyplot_is_never_involved():
    code = """
import sys
import numpy as np
from attention import plots
assert "matplotlib" not in sys.modules
plots.show_heatmaps(np.eye(2).reshape(1, 1, 2, 2), "Keys", "Queries")
plots.alignment_heatmap(np.eye(2), ["a", "b"], ["c", "d"], gold=[(0, 0)])
plots.loss_curves({"dot": [1.0, 0.5]})
plots.accuracy_bars({"dot": {3: 1.0}})
assert "matplotlib" in sys.modules and "matplotlib.pyplot" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
