"""The reversal experiment: the model, the run that can be resumed, the command."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import minigrad as mg
from attention.__main__ import main
from attention.app.experiments import reversal as experiment
from attention.seq2seq.reverser import KINDS, Reverser
from attention.tasks.reversal import make_batch, random_batch

ROOT = pathlib.Path(__file__).resolve().parents[3]
SMALL = dict(hidden=8, embedding=4, batch=4, samples=6)


def model(kind="dot", seed=0, **options):
    rng = np.random.default_rng(seed)
    return Reverser(kind, embedding=4, hidden=8, rng=rng, **options)


@pytest.mark.parametrize(
    "kind, parameters, of_attention",
    [("additive", 63_773, 8_256), ("dot", 55_517, 0), ("general", 59_613, 4_096),
     ("scaled", 55_517, 0)],
)  # fmt: skip
def test_parameter_counts_are_those_the_chapter_prints(kind, parameters, of_attention):
    m = Reverser(kind, hidden=64)
    own = [p.size for n, p in m.named_parameters() if n in ("W_a", "v_a", "W_g")]
    assert (m.num_parameters(), sum(own)) == (parameters, of_attention)


@pytest.mark.parametrize("kind", ["additive", "general"])
def test_every_parameter_against_finite_differences(kind):
    batch = random_batch(np.random.default_rng(0), 3, 1, 3)  # padded, both sides

    class Loss(mg.nn.Module):
        def __init__(self):
            super().__init__()
            rng = np.random.default_rng(2)
            self.model = Reverser(
                kind, embedding=2, hidden=3, decoder_init="encoder", rng=rng
            )

        def forward(self):
            return experiment.loss_of(self.model, batch)

    check = mg.gradcheck_module(Loss())
    assert check.ok, check.message


@pytest.mark.parametrize("kind", KINDS)
def test_masked_padding_has_no_influence_and_unmasked_padding_has(kind):
    narrow = random_batch(np.random.default_rng(1), 3, 4, 4)
    wide = random_batch(np.random.default_rng(1), 3, 4, 4, pad_to=7)
    for mask_padding in (True, False):
        m = model(kind, mask_padding=mask_padding, decoder_init="encoder")
        a, b = (m(x.source, x.target_in[:, :5], x.lengths).data for x in (narrow, wide))
        # the same sums, in products of another width: rounding alone may differ
        assert np.allclose(a, b, rtol=1e-5, atol=1e-6) == mask_padding


def test_decoder_starts_where_it_is_told():
    batch = random_batch(np.random.default_rng(1), 2, 4, 4)
    for init in ("zero", "encoder"):
        m = model(decoder_init=init)
        s = m.encode(batch.source, batch.lengths)[2]
        assert s.data.any() == (init == "encoder")


def test_unknown_score_and_start_are_named():
    with pytest.raises(ValueError, match="no score 'cosine'; choose from"):
        model("cosine")
    with pytest.raises(ValueError, match="decoder_init is 'last'; choose 'zero' or"):
        model(decoder_init="last")


def test_greedy_feeds_back_what_it_said():
    m = model("additive")
    batch = random_batch(np.random.default_rng(1), 5, 3, 6)
    said, weights = m.greedy(batch.source, batch.lengths, 6, return_weights=True)
    fed = np.concatenate([np.full((5, 1), 1), said[:, :-1]], axis=1)
    logits = m(batch.source, fed, batch.lengths)  # the same letters, teacher-forced
    assert (logits.argmax(-1) == said).all()
    assert weights.shape == (5, 6, batch.source.shape[1])
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


@pytest.mark.parametrize("stop_at", [1, 4])
def test_resumed_from_any_state_it_ends_with_the_same_numbers(stop_at, tmp_path):
    config = experiment.Config(steps=6, **SMALL)
    whole, finished = experiment.train(config, "additive", 1)
    assert finished
    states = []
    first = experiment.build(config, "additive", 1)
    batches = experiment.Batches(1, config.batch, 3, 8)
    for i in range(stop_at):
        first.descend(experiment.loss_of(first.model, batches[i]))
    states.append(first.state_dict())
    mg.checkpoint.save(tmp_path / "state.npz", states[0])
    state = mg.checkpoint.load(tmp_path / "state.npz")
    resumed, finished = experiment.train(config, "additive", 1, state=state)
    assert finished and resumed.losses == whole.losses
    for a, b in zip(whole.model.parameters(), resumed.model.parameters()):
        assert (a.data == b.data).all()
    assert experiment.evaluate(config, resumed.model) == experiment.evaluate(
        config, whole.model
    )


def test_a_loss_that_is_no_number_stops_the_run():
    run = experiment.build(experiment.Config(steps=5, **SMALL), "dot", 1)
    run.model.output.bias.data = np.full(29, np.nan, np.float32)
    batch = random_batch(np.random.default_rng(1), 2, 3, 3)
    with pytest.raises(FloatingPointError, match="loss became nan at step 0"):
        run.descend(experiment.loss_of(run.model, batch))
    assert run.step == 0


def command(*arguments, **options):
    """Start the command as a user would."""
    env = os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "attention", "reversal", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, **options,
    )  # fmt: skip


def quick(*arguments):
    """A run of one step."""
    always = ["reversal", "--steps", "1", "--hidden", "8"]
    assert main([*always, *map(str, arguments)]) == 0


def numbers(out):
    """What must be equal between two runs: all but the times."""
    runs = json.loads((out / "results.json").read_text())["runs"]
    return [{k: v for k, v in run.items() if k != "seconds"} for run in runs]


def test_the_command_writes_what_it_says(tmp_path, capsys):
    out = tmp_path / "a folder"
    code = main(["reversal", "--steps", "3", "--hidden", "8", "--out", str(out)])
    printed = capsys.readouterr()
    assert code == 0
    results = json.loads((out / "results.json").read_text())
    assert set(results) == {"config", "versions", "runs"}
    assert results["config"]["steps"] == 3 and results["config"]["preset"] == "masked"
    assert results["versions"]["numpy"] == np.__version__
    assert [run["kind"] for run in results["runs"]] == list(KINDS)
    for run in results["runs"]:
        assert len(run["losses"]) == 3 and run["seconds"] > 0 and run["seed"] == 1
        assert set(run["accuracy"]) == set(run["exact_match"]) == {"3", "5", "7", "10"}
    for name in ["loss", "accuracy", *(f"alignment-{kind}" for kind in KINDS)]:
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    lines = printed.out.replace(str(out), "DIR").splitlines()
    assert max(map(len, lines)) <= 80, printed.out
    for kind in KINDS:
        assert kind in printed.out
    assert "3/3" in printed.err  # the log's last progress line


def test_an_earlier_result_is_kept(tmp_path):
    (tmp_path / "holiday.png").write_text("mine")
    for seed in ("1", "2"):
        quick("--kinds", "dot", "--seed", seed, "--out", tmp_path)
    assert numbers(tmp_path)[0]["seed"] == 2
    assert numbers(tmp_path / "earlier-1")[0]["seed"] == 1
    assert (tmp_path / "earlier-1" / "loss.png").exists()
    assert (tmp_path / "holiday.png").exists()  # which is none of its own


def test_several_seeds(tmp_path):
    quick("--kinds", "dot,scaled", "--seeds", "2", "--seed", "5", "--out", tmp_path)
    made = [(run["kind"], run["seed"]) for run in numbers(tmp_path)]
    assert made == [("dot", 5), ("scaled", 5), ("dot", 6), ("scaled", 6)]


def test_threads_are_set_in_a_process_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for threads in ("1", "2"):
        quick("--kinds", "dot", "--threads", threads, "--out", tmp_path / threads)
    assert numbers(tmp_path / "1") == numbers(tmp_path / "2")


def test_pad_eval_and_book(tmp_path):
    quick("--preset", "book", "--kinds", "dot", "--pad-eval", "8", "--out", tmp_path)
    config = json.loads((tmp_path / "results.json").read_text())["config"]
    assert (config["decoder_init"], config["pad_eval"]) == ("zero", 8)


def test_lengths_of_the_evaluation(tmp_path):
    quick("--kinds", "dot", "--lengths", "2,8", "--out", tmp_path)
    (run,) = numbers(tmp_path)
    assert list(run["accuracy"]) == list(run["exact_match"]) == ["2", "8"]


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_stopped_at_any_moment_it_goes_on_to_the_same_numbers(how, tmp_path):
    options = ["--steps", 500, "--hidden", 8, "--kinds", "dot,additive"]
    cut, whole = tmp_path / "cut", tmp_path / "whole"
    process = command(*options, "--out", cut)
    wait_for(lambda: (cut / "state.npz").exists())
    time.sleep(0.4)  # into the run
    process.send_signal(how)
    printed, _ = process.communicate(timeout=60)
    assert not (cut / "results.json").exists(), "it was over before it was stopped"
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert f"python -m attention reversal --resume {cut}" in printed
    for arguments in (["--resume", cut], [*options, "--out", whole]):
        process = command(*arguments)
        printed, error = process.communicate(timeout=120)
        assert process.returncode == 0, error
    assert numbers(cut) == numbers(whole)


def refused(arguments, capsys):
    """The one sentence with which the command refuses its arguments."""
    try:
        code = main(["reversal", *map(str, arguments)])
    except SystemExit as stop:  # argparse
        code = stop.code
    printed = capsys.readouterr()
    assert code == 2 and "Traceback" not in printed.err
    return " ".join(printed.err.split())


def test_what_it_refuses(tmp_path, capsys):
    (tmp_path / "file").write_text("no folder")
    for arguments, sentence in [
        (["--kinds", "cosine"], "'cosine' should be different names out of additive,"),
        (["--steps", "0"], "'0' should be a number from 1 up"),
        (["--lengths", "3,x"], "'x' should be a number from 1 up"),
        (["--seed", "x"], "'x' should be a number from 0 up"),
        (["--threads", "0"], "--threads is 0; it must be at least 1"),
        (["--out", tmp_path / "file" / "x"], "Choose another folder with --out."),
        (["--resume", tmp_path / "none"], "there is nothing to resume in"),
    ]:
        said = refused(arguments, capsys)
        assert sentence.lower() in said.lower(), said


def test_resume_with_other_options_is_refused(tmp_path, capsys):
    quick("--kinds", "dot", "--out", tmp_path)
    said = refused(["--resume", tmp_path, "--steps", "9", "--hidden", "8"], capsys)
    assert "--steps was 1" in said and "--hidden" not in said
    said = refused(["--resume", tmp_path, "--kinds", "dot,scaled"], capsys)
    assert "--kinds was dot." in said
    said = refused(["--resume", tmp_path, "--out", tmp_path / "other"], capsys)
    assert f"leave out --out {tmp_path / 'other'}" in said


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off", b"no zip at all"])
def test_a_broken_state_is_one_sentence(content, tmp_path, capsys):
    (tmp_path / "state.npz").write_bytes(content)
    said = refused(["--resume", tmp_path], capsys)
    assert str(tmp_path / "state.npz") in said
