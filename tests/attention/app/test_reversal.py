"""The reversal experiment: the model, its training, the command."""

import json
import os
import signal
import time

import numpy as np
import pytest

from attention import kernels
from attention.app.commands import reversal as command
from attention.app.experiments import reversal as experiment
from attention.seq2seq.reverser import KINDS, Reverser
from attention.tasks.reversal import make_batch, random_batch

from .app_cases import fits, joined, main, refused, runs_of, start, stopped_at, wait_for

SMALL = dict(hidden=8, embedding=4, batch=4, samples=6)


@pytest.fixture(autouse=True)
def nothing_is_compiled():
    with kernels.backend("numpy"):
        yield


def model(kind="dot", seed=0, **options):
    rng = np.random.default_rng(seed)
    return Reverser(kind, embedding=4, hidden=8, rng=rng, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_masked_padding_has_no_influence_and_unmasked_padding_has(kind):
    narrow = random_batch(np.random.default_rng(1), 3, 4, 4)
    wide = random_batch(np.random.default_rng(1), 3, 4, 4, pad_to=7)
    for mask_padding in (True, False):
        m = model(kind, mask_padding=mask_padding, decoder_init="encoder")
        a, b = (m(x.source, x.target_in[:, :5], x.lengths).data for x in (narrow, wide))
        # the same sums, in products of another width: rounding alone may differ
        assert np.allclose(a, b, rtol=1e-5, atol=1e-6) == mask_padding


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


def test_same_seed_same_bits_and_another_seed_others():
    config = experiment.Config(steps=5, **SMALL)
    one, two, other = (experiment.train(config, "general", s)[0] for s in (3, 3, 4))
    assert one.losses == two.losses != other.losses
    for a, b in zip(one.model.parameters(), two.model.parameters()):
        assert (a.data == b.data).all()


# the command


@pytest.fixture
def no_figures(monkeypatch):
    """Drawing takes longer than these runs."""
    monkeypatch.setattr(command, "draw", lambda *_: None)


def reversal(*arguments):
    """Run the command for one step."""
    return main("reversal", "--steps", 1, "--width", 8, *arguments)


def test_the_command_writes_its_files(tmp_path, capsys):
    out = tmp_path / "a folder"
    assert reversal("--steps", 3, "--pad-eval", 8, "--out", out) == 0
    printed = capsys.readouterr()
    results = json.loads((out / "results.json").read_text())
    assert set(results) == {"config", "versions", "runs"}
    config = results["config"]
    assert (config["steps"], config["preset"], config["pad_eval"]) == (3, "masked", 8)
    assert results["versions"]["numpy"] == np.__version__
    assert [run["kind"] for run in results["runs"]] == list(KINDS)
    for run in results["runs"]:
        assert len(run["losses"]) == 3 and run["seconds"] > 0 and run["seed"] == 1
        assert set(run["accuracy"]) == set(run["exact_match"]) == {"3", "5", "7", "10"}
    for name in ["loss", "accuracy", *(f"alignment-{kind}" for kind in KINDS)]:
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert fits(printed.out, out) and all(kind in printed.out for kind in KINDS)
    assert "3/3" in printed.err  # the last progress line


def test_seeds_lengths_and_preset(tmp_path, no_figures):
    options = ["--scores", "dot,scaled", "--seeds", 2, "--seed", 5, "--preset", "book"]
    reversal(*options, "--lengths", "2,8", "--out", tmp_path)
    runs = runs_of(tmp_path)
    made = [(run["kind"], run["seed"]) for run in runs]
    assert made == [("dot", 5), ("scaled", 5), ("dot", 6), ("scaled", 6)]
    assert list(runs[0]["accuracy"]) == list(runs[0]["exact_match"]) == ["2", "8"]


def test_ctrl_c_saves_and_resume_ends_with_the_same_numbers(
    tmp_path, capsys, monkeypatch, no_figures
):
    options, correct = ["--steps", 6, "--scores", "dot,additive"], experiment.loss_of
    cut = tmp_path / "cut"
    with stopped_at(11, experiment, "loss_of"):  # in the second run
        assert reversal(*options, "--out", cut) == 130
    error = capsys.readouterr().err
    assert "stopped additive at step " in error and " of 6, and saved." in error
    assert f"python -m attention reversal --resume {cut}" in error
    computed = []
    with monkeypatch.context() as patch:
        patch.setattr(
            experiment, "loss_of", lambda *a: computed.append(a) or correct(*a)
        )
        assert main("reversal", "--resume", cut) == 0
    assert len(computed) == 4  # one to prepare, then steps 3 to 5 of the second run
    assert reversal(*options, "--out", tmp_path / "whole") == 0
    assert runs_of(cut) == runs_of(tmp_path / "whole")
    assert main("reversal", "--resume", cut) == 0  # a finished run
    assert runs_of(cut) == runs_of(tmp_path / "whole")


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


@pytest.mark.deep
def test_stopped_at_any_moment_it_ends_with_the_same_numbers(tmp_path):
    """Two processes train; the signals reach the whole group, as from a terminal."""
    # far more than the seconds until two checkpoints, which are 5 seconds apart
    options = ["--steps", 12_000, "--width", 8, "--scores", "dot,scaled"]
    cut, whole = tmp_path / "cut", tmp_path / "whole"
    arguments = [*options, "--threads", 2, "--out", cut]
    for how in signal.SIGINT, signal.SIGHUP, signal.SIGKILL:
        process, saved = start("reversal", *arguments), mtimes(cut)
        if how != signal.SIGKILL:
            wait_for(lambda: mtimes(cut) != saved)
        else:
            time.sleep(2)  # it trains, and has saved nothing since it was resumed
        os.killpg(process.pid, how)
        _, error = process.communicate(timeout=60)
        assert not (cut / "results.json").exists(), "it was over before it was stopped"
        if how != signal.SIGKILL:
            assert process.returncode == 130 and "Traceback" not in error
            assert f"python -m attention reversal --resume {cut}" in error
        arguments = ["--resume", cut, "--threads", 2]
    for arguments in ["--resume", cut], [*options, "--out", whole]:
        process = start("reversal", *arguments)
        _, error = process.communicate(timeout=300)
        assert process.returncode == 0, error
    assert runs_of(cut) == runs_of(whole)


def mtimes(out):
    """Return the time of each run's checkpoint; config.npz comes before the training."""
    return {path: path.stat().st_mtime_ns for path in out.glob("state/*-*.npz")}


def test_what_it_refuses(tmp_path, capsys, no_figures):
    done = tmp_path / "done"
    reversal("--scores", "dot", "--out", done)
    for arguments, sentence in [
        (["--scores", "nearest"], "'nearest'; expected one or more of additive,dot"),
        (["--steps", "0"], "found '0'; expected a whole number from 1 to 1000000000"),
        (["--steps", 10**20 - 1, "--out", tmp_path / "a"], "from 1 to 1000000000"),
        (["--seed", "7" * 400, "--out", tmp_path / "a"], "0 or more, below 10^18"),
        (["--resume", tmp_path / "none"], "There is nothing to resume: "),
        (["--resume", done, "--steps", "9", "--width", "8"], "--steps was 1. Leave"),
        (["--resume", done, "--scores", "dot,scaled"], "--scores was dot."),
    ]:
        error = refused(capsys, "reversal", *arguments)
        assert sentence in error, error
    assert [path.name for path in tmp_path.iterdir()] == ["done"]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off"])
@pytest.mark.parametrize("name", ["config.npz", "dot-1.npz"])
def test_a_broken_checkpoint_is_one_sentence(
    content, name, tmp_path, capsys, no_figures
):
    reversal("--scores", "dot", "--out", tmp_path)
    (tmp_path / "state" / name).write_bytes(content)
    if name == "config.npz":
        assert name in refused(capsys, "reversal", "--resume", tmp_path)
        return
    reversal("--resume", tmp_path)
    error = joined(capsys.readouterr().err)
    assert f"{name}" in error and "dot-1.damaged; its run starts again." in error
