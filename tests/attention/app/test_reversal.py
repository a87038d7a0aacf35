"""The reversal experiment: the model, its training, the command."""

import numpy as np
import pytest

from attention.app.commands import reversal as command
from attention.app.experiments import reversal as experiment
from attention.seq2seq.reverser import Reverser
from attention.tasks.reversal import make_batch

from .app_cases import main, runs_of, stopped_at


def model(kind="dot", seed=0, **options):
    rng = np.random.default_rng(seed)
    return Reverser(kind, embedding=4, hidden=8, rng=rng, **options)


def test_the_alignment_ends_with_the_decoded_string():
    found = experiment.alignment(model("additive"), "fig")
    weights, target = np.array(found["weights"]), found["target"]
    assert weights.shape == (len(target), 3) and 1 <= len(target) <= 3
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-6)


def test_padding_in_the_targets_counts_for_nothing():
    m = model()
    whole = make_batch(np.array([[3, 4, 5, 0], [3, 4, 5, 6]]), [3, 4])
    losses = []
    for text in ([[3, 4, 5]], [[3, 4, 5, 6]]):
        one = make_batch(np.array(text), [len(text[0])])
        losses.append(experiment.loss_of(m, one).item())
    # a mean over 4 + 5 tokens, not over 10
    want = (4 * losses[0] + 5 * losses[1]) / 9
    assert experiment.loss_of(m, whole).item() == pytest.approx(want, rel=1e-5)


# the command


@pytest.fixture
def no_figures(monkeypatch):
    """Drawing takes longer than these runs."""
    monkeypatch.setattr(command, "draw", lambda *_: None)


def reversal(*arguments):
    """Run the command for one step."""
    return main("reversal", "--steps", 1, "--width", 8, *arguments)


def test_a_second_run_has_its_own_folder_and_is_the_one_to_continue(
    tmp_path, capsys, monkeypatch, no_figures
):
    monkeypatch.chdir(tmp_path)
    options = ["--scores", "dot"]
    assert reversal(*options) == 0
    first = runs_of(tmp_path / "runs" / "reversal")
    with stopped_at(3, experiment, "loss_of"):
        assert reversal(*options, "--steps", 6) == 130
    printed = capsys.readouterr()
    assert "this run writes to runs/reversal-2\n" in printed.out
    assert printed.err.endswith("reversal --resume runs/reversal-2\n")
    assert main("reversal", "--resume") == 0
    assert "continuing runs/reversal-2" in capsys.readouterr().out
    (run,) = runs_of(tmp_path / "runs" / "reversal-2")
    assert len(run["losses"]) == 6
    assert main("reversal", "--resume", "runs/reversal") == 0
    assert runs_of(tmp_path / "runs" / "reversal") == first

    monkeypatch.chdir(tmp_path / "runs" / "reversal")
    assert reversal(*options, "--out", ".") == 0
    assert (tmp_path / "runs" / "reversal-3" / "results.json").exists()
