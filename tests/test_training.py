"""The one training loop: what it saves, when it stops, and where a NaN came from."""

import json
import math
import signal
import sys
from dataclasses import replace

import numpy as np
import pytest

import minigrad as mg
from attention.experiments import translation
from attention.metrics_file import MetricsFile
from attention.seq2seq.config import Seq2SeqConfig
from attention.seq2seq.decoding import greedy
from attention.seq2seq.model import Seq2Seq
from attention.seq2seq.scheduled_sampling import mixed_inputs
from attention.seq2seq.training import Diverged, Run, Validation, fit
from attention.seq2seq.watch import first_not_finite
from attention.tasks.batch import EOS, PAD, SOS, Batch
from attention.tasks.batching import in_order
from minigrad import nn, optim

SMALL = dict(
    pairs=40, validation=10, test=10, hidden=6, embedding=5, batch=8, steps=7,
    validate_every=3, patience=9,
)  # fmt: skip
DATA = translation.load(translation.Config(**SMALL))


def config(**options):
    return translation.Config(**{**SMALL, **options})


class Line(nn.Module):
    """w x: small enough to compute by hand."""

    def __init__(self):
        self.scale = Scale()

    def forward(self, x):
        return self.scale(x)


class Scale(nn.Module):
    def __init__(self):
        self.w = nn.Parameter(np.array([1.0, 2.0], np.float32))

    def forward(self, x):
        return (self.w * x).sum()


def line(lr=0.1):
    model = Line()
    return model, Run(model, optim.SGD(model.parameters(), lr=lr), clip=1e9)


def same(a, b):
    return all((x.data == y.data).all() for x, y in zip(a.parameters(), b.parameters()))


# what a step depends on


VARIANTS = [
    dict(),
    dict(attention="luong", input_feeding=True, cell="lstm", dropout=0.5),
    dict(attention="none", sampling=0.9, schedule="inverse-sqrt", warmup=3),
    dict(coverage=True, word_dropout=0.3, smoothing=0.1, bidirectional=False),
]


@pytest.mark.parametrize("options", VARIANTS)
def test_resumed_from_any_state_it_ends_with_the_same_numbers(options, tmp_path):
    c, stop_at = config(**options), 4
    whole, finished = translation.train(c, DATA)
    assert finished and len(whole.losses) == c.steps

    states = []

    class Stop(Exception):
        pass

    def killed(numbers):
        if numbers["step"] == stop_at:
            raise Stop

    def save(state):
        states.append(state)

    with pytest.raises(Stop), pytest.MonkeyPatch.context() as patch:
        patch.setattr(translation, "fit", saving_each_step)
        translation.train(c, DATA, save=save, record=killed)
    assert states[-1]["step"] == stop_at - 1  # what was lost is one interval: a step
    mg.checkpoint.save(tmp_path / "last.npz", states[-1])
    state = mg.checkpoint.load(tmp_path / "last.npz")
    resumed, finished = translation.train(c, DATA, state=state)
    assert finished and resumed.losses == whole.losses
    assert resumed.validations == whole.validations
    assert resumed.best["step"] == whole.best["step"]
    assert same(resumed.model, whole.model)


def saving_each_step(*args, **options):
    return fit(*args, every=-1.0, **options)


def test_dropout_and_sampling_take_part():
    plain = translation.train(config(dropout=0.0), DATA)[0].losses
    for options in dict(dropout=0.5), dict(sampling=1.0), dict(word_dropout=0.5):
        other = translation.train(config(**{"dropout": 0.0, **options}), DATA)[0]
        assert other.losses != plain, options
        assert all(map(math.isfinite, other.losses))


def test_other_seed_other_numbers():
    one, two = (translation.train(config(seed=s), DATA)[0].losses for s in (1, 2))
    assert one != two


@pytest.mark.parametrize("options", [{}, {"attention": "luong"}, {"coverage": True}])
def test_padding_counts_for_nothing(options):
    run, _ = translation.build(config(dropout=0.0, **options), DATA)
    run.model.eval()
    batch = next(in_order(DATA.ids("test"), 10))
    assert (batch.source == PAD).any() and (batch.target_out == PAD).any()

    def found(batch):
        run.model.zero_grad()
        loss = translation.loss_of(run.model, batch)
        loss.backward()
        return loss.item(), [p.grad.copy() for p in run.parameters]

    def wider(ids):  # what stands in the padding of the source must not matter either
        return np.pad(ids, ((0, 0), (0, 3)))

    junk = wider(batch.source)
    junk[np.arange(junk.shape[1]) >= batch.lengths[:, None]] = 5
    loss, gradients = found(batch)
    again = Batch(junk, batch.lengths, wider(batch.target_in), wider(batch.target_out))
    loss_again, gradients_again = found(again)
    assert loss_again == pytest.approx(loss, rel=1e-5)
    for (name, _), a, b in zip(
        run.model.named_parameters(), gradients, gradients_again
    ):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5, err_msg=name)


def test_the_loss_is_a_mean_over_words_and_so_is_the_validation():
    run, _ = translation.build(config(dropout=0.0), DATA)
    run.model.eval()
    ids = DATA.ids("test")
    logits = [
        run.model(b.source, b.target_in, b.lengths).numpy() for b in in_order(ids, 1)
    ]
    total = words = 0
    for z, (_, target) in zip(logits, ids):
        z = z[0] - np.log(np.exp(z[0]).sum(-1, keepdims=True))
        total -= z[np.arange(len(z)), [*target, EOS]].sum()
        words += len(z)
    for size in 3, 10:
        found = translation.validation_loss(run.model, list(in_order(ids, size)))
        assert found == pytest.approx(total / words, rel=1e-5)


# the loop


def test_the_gradient_is_clipped_and_its_norm_recorded():
    model, run = line(lr=1.0)
    run.clip, lines = 0.5, []
    fit(run, 1, lambda i: model(np.array([3, 4], np.float32)), record=lines.append)
    assert lines == [{"step": 1, "loss": 11.0, "norm": 5.0, "lr": 1.0}]
    np.testing.assert_allclose(model.scale.w.data, [1 - 0.3, 2 - 0.4], rtol=1e-4)


def test_validation_keeps_the_best_and_gives_up():
    model, run = line()
    values = iter([5.0, 4.0, 4.5, 4.0, 4.2, 1.0])
    kept, lines = [], []
    validation = Validation(
        lambda: next(values), 2, patience=3, keep=lambda run: kept.append(run.step)
    )
    finished = fit(
        run, 100, lambda i: model(np.ones(2, np.float32)), validation=validation,
        record=lines.append,
    )  # fmt: skip
    assert finished and run.step == 10  # 3 looks after the best, at step 4
    assert run.validations == [[2, 5.0], [4, 4.0], [6, 4.5], [8, 4.0], [10, 4.2]]
    assert kept == [2, 4] and run.best["step"] == 4 and run.best["loss"] == 4.0
    np.testing.assert_allclose(run.best["model"]["scale.w"], [0.6, 1.6], rtol=1e-5)
    assert [n for n in lines if "validation" in n][1] == {"step": 4, "validation": 4.0}


def test_a_run_that_has_given_up_is_not_gone_on_with():
    model, run = line()
    run.validations = [[2, 1.0], [4, 2.0]]
    run.best = {"step": 2, "loss": 1.0, "model": model.state_dict()}
    run.step = 4
    assert fit(run, 9, None, validation=Validation(None, 2, patience=1))
    assert run.step == 4


def test_the_best_is_a_part_of_the_state(tmp_path):
    _, run = line()
    run.step = 2
    assert run.judge(1.0)
    run.step = 4
    assert not run.judge(2.0) and not run.judge(1.0)
    mg.checkpoint.save(tmp_path / "x.npz", run.state_dict())
    _, again = line()
    again.load_state_dict(mg.checkpoint.load(tmp_path / "x.npz"))
    assert not again.judge(1.5) and again.best["step"] == 2
    assert again.validations == [[2, 1.0], [4, 2.0], [4, 1.0], [4, 1.5]]
    assert (again.best["model"]["scale.w"] == [1, 2]).all()


def test_the_last_step_is_validated_and_the_model_trains_on():
    model, run = line()
    seen = []

    def look():
        seen.append((run.step, model.training, model.scale.training))
        return 1.0

    fit(run, 5, lambda i: model(np.ones(2, np.float32)), validation=Validation(look, 3))
    assert seen == [(3, False, False), (5, False, False)]
    assert model.training and model.scale.training


def test_ctrl_c_saves_between_two_steps():
    model, run = line()
    states = []

    def loss_at(i):
        if i == 3:
            signal.raise_signal(signal.SIGINT)
        return model(np.ones(2, np.float32))

    assert not fit(run, 9, loss_at, save=states.append)
    assert [s["step"] for s in states] == [3] and run.step == 3
    assert (states[0]["model"]["scale.w"] == model.scale.w.data).all()


# numbers that are none


def test_a_nan_stops_with_step_seed_and_layer_and_saves_nothing():
    model, run = line()
    states = []

    def loss_at(i):
        return model(np.array([1, np.nan if i == 4 else 1], np.float32))

    with pytest.raises(Diverged) as caught:
        fit(run, 9, loss_at, save=states.append, every=-1.0, seed=7)
    said = str(caught.value)
    assert "at step 4, batch 4 of seed 7" in said
    assert "in layer scale, in the result of mul, of shape (2,)" in said
    assert [s["step"] for s in states] == [0, 1, 2, 3]
    assert "The last checkpoint is from before and good" in said
    assert run.step == 4 and np.isfinite(model.scale.w.data).all()


def test_of_a_run_that_was_never_saved_no_checkpoint_is_promised():
    def bad(i):
        return model(np.array([1, np.nan if i == 1 else 1], np.float32))

    model, run = line()
    with pytest.raises(Diverged, match="There is no checkpoint yet; a smaller"):
        fit(run, 9, bad, save=lambda state: None)
    model, run = line()
    run.load_state_dict(line()[1].state_dict())  # from a checkpoint: there is one
    with pytest.raises(Diverged, match="last checkpoint is from before and good"):
        fit(run, 9, bad, save=lambda state: None)


def test_the_step_that_spoils_the_parameters_is_not_saved():
    """Of a step that is too long, the loss shows nothing until the next one."""
    model, run = line(lr=1e39)  # the parameters become infinite
    states = []

    with np.errstate(over="ignore"), pytest.raises(Diverged, match="at step 1"):
        fit(
            run, 9, lambda i: model(np.ones(2, np.float32)), save=states.append,
            every=-1.0,
        )  # fmt: skip
    assert [s["step"] for s in states] == [0]
    assert not np.isfinite(model.scale.w.data).all()
    assert np.isfinite(states[0]["model"]["scale.w"]).all()


def test_a_validation_that_is_no_number_stops_too():
    model, run = line()
    with pytest.raises(Diverged, match="validation loss or its gradient .* at step 2"):
        fit(
            run, 4, lambda i: model(np.ones(2, np.float32)),
            validation=Validation(lambda: float("nan"), 2),
        )  # fmt: skip
    assert run.best is None


SPOILED = [
    ({}, "encoder.embed.weight", "encoder.embed", "embedding"),
    ({}, "encoder.rnn.weight_hh_l0_reverse", "encoder.rnn", "encoder_gru"),
    ({}, "bridge.layers.0.0.bias", "bridge.layers.0.0", "linear"),
    ({}, "decoder.order.attention.W_k", "decoder.order.attention", "linear"),
    ({}, "decoder.order.attention.w_v", "decoder", "attention_gru"),
    ({}, "decoder.output.bias", "decoder.output", "linear"),
    ({"attention": "luong"}, "decoder.order.W_c", "decoder.order", "linear"),
    ({"cell": "lstm"}, "decoder.order.cell.layers.0.weight_ih",
     "decoder.order.cell.layers.0", "lstm_cell"),
]  # fmt: skip


@pytest.mark.parametrize("options, parameter, layer, op", SPOILED)
def test_the_layer_where_a_nan_first_appears(options, parameter, layer, op):
    run, _ = translation.build(config(**options), DATA)
    spoiled = dict(run.model.named_parameters())[parameter]
    spoiled.data = np.where(spoiled.data > 0, np.nan, spoiled.data)
    batch = next(in_order(DATA.ids("test"), 4))
    with pytest.raises(Diverged) as caught:
        fit(run, 1, lambda i: translation.loss_of(run.model, batch), seed=1)
    said = str(caught.value)
    assert f"in layer {layer}, in the result of {op}," in said
    assert f"Of its parameters, {parameter} holds it already." in said
    assert sys.getprofile() is None


class Rooted(nn.Module):
    """sqrt(w^2) has a finite value at w = 0, and a gradient of inf * 0."""

    def __init__(self):
        self.root, self.scale = Root(), Scale()

    def forward(self):
        return self.scale(self.root())


class Root(nn.Module):
    def __init__(self):
        self.w = nn.Parameter(np.zeros(2, np.float32))

    def forward(self):
        return mg.sqrt(self.w * self.w)


def test_the_layer_where_a_gradient_first_goes_wrong():
    model = Rooted()
    run = Run(model, optim.SGD(model.parameters(), lr=0.1))
    with np.errstate(all="ignore"), pytest.raises(Diverged) as caught:
        fit(run, 1, lambda i: model())
    said = str(caught.value)
    assert "the loss is finite, and the first such gradient is in layer root" in said
    assert "out of the backward of sqrt." in said
    assert (model.root.w.data == 0).all() and model.root.w.grad is None


class Forked(Root):
    """sqrt(h) + 3 h, or 3 h + sqrt(h): h has two users, and one of them is to blame."""

    def __init__(self, root_first):
        super().__init__()
        self.root_first = root_first

    def forward(self):
        h = self.w + 0.0
        if self.root_first:
            return (mg.sqrt(h) + 3 * h).sum()
        return (3 * h + mg.sqrt(h)).sum()


@pytest.mark.parametrize("root_first", [True, False])
def test_of_two_users_the_one_to_blame_is_named(root_first):
    model = Forked(root_first)
    assert "out of the backward of sqrt." in first_not_finite(model, model)


def test_finite_gradients_whose_sum_is_not_have_a_sender_too():
    model = Root()
    w, most = model.w, np.float32(3e38)

    def loss():
        h = w + 0.0
        return (h * most).sum() + (h * most).sum()

    assert "out of the backward of mul." in first_not_finite(model, loss)


def test_minus_infinity_is_how_a_mask_is_written():
    model = Rooted()
    x = np.array([0.0, -np.inf], np.float32)
    said = first_not_finite(model, lambda: model.scale.w + x)
    assert "no operation shows it" in said
    said = first_not_finite(model, lambda: model.scale.w - x)
    assert "in the model outside of its layers, in the result of sub" in said


def test_what_is_watched_for_is_put_back():
    watched = []

    def mine(*event):
        watched.append(event)

    sys.setprofile(mine)
    try:
        first_not_finite(Rooted(), lambda: 1.0)
        assert sys.getprofile() is mine
    finally:
        sys.setprofile(None)


# scheduled sampling


def sampling_model(attention="bahdanau"):
    c = Seq2SeqConfig(9, 9, hidden=6, embedding=5, attention=attention, dropout=0.5)
    return Seq2Seq(c, np.random.default_rng(3))


def sampling_batch():
    pairs = [([3, 4, 5], [3, 4, 5, 6, 7]), ([8, 7], [4, 4]), ([6], [5, 3, 8])]
    return next(in_order(pairs, 3))


@pytest.mark.parametrize("p", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("attention", ["none", "bahdanau", "luong"])
def test_mixed_inputs_by_their_definition(p, attention):
    model, batch = sampling_model(attention), sampling_batch()
    before = batch.target_in.copy()
    mixed = mixed_inputs(model, batch, p, np.random.default_rng(5))
    assert (batch.target_in == before).all() and model.training
    own = np.random.default_rng(5).random(before.shape) < p
    want = before.copy()
    model.eval()
    for t in range(1, before.shape[1]):  # all over again for every place
        logits = model(batch.source, want, batch.lengths).numpy()[:, t - 1].copy()
        logits[:, [PAD, SOS]] = -np.inf
        here = own[:, t] & (before[:, t] != PAD)
        want[here, t] = logits[here].argmax(-1)
    np.testing.assert_array_equal(mixed, want)
    assert (mixed == before).all() == (p == 0)


def test_with_all_words_its_own_it_reads_what_greedy_says():
    model, batch = sampling_model(), sampling_batch()
    mixed = mixed_inputs(model, batch, 1.0, np.random.default_rng(0))
    said = greedy(model, batch.source, batch.lengths, 5).ids
    for b, n in enumerate(batch.target_lengths):
        ended = np.flatnonzero(said[b] == EOS)
        n = min(n - 1, ended[0] if len(ended) else n)
        assert mixed[b, 1 : n + 1].tolist() == said[b, :n].tolist()


def test_a_share_that_is_none_is_refused():
    with pytest.raises(ValueError, match="p is 1.5; expected a number from 0 to 1"):
        mixed_inputs(sampling_model(), sampling_batch(), 1.5, None)


# metrics.jsonl


def test_metrics_of_a_resumed_run_stand_once(tmp_path):
    path = tmp_path / "metrics.jsonl"
    metrics = MetricsFile(path)
    for step in 1, 2, 3, 4:
        metrics.write({"step": step, "loss": 0.5})
        assert len(path.read_text().splitlines()) == step  # there at once
    metrics.close()
    with open(path, "a") as file:
        file.write('{"step": 1, "lo')  # a disk that was full
    metrics = MetricsFile(path, step=2)
    metrics.write({"step": 3, "loss": 0.25})
    metrics.close()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["step"] for line in lines] == [1, 2, 3]
    assert lines[-1]["loss"] == 0.25


def test_the_same_words_in_another_batch_are_another_checksum():
    other = replace(DATA, test=DATA.test[1:])
    assert other.checksum != DATA.checksum == replace(DATA).checksum
