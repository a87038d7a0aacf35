"""A config: it goes through a checkpoint, says what cannot be, and makes one model."""

import numpy as np
import pytest

import minigrad as mg
from attention.seq2seq.config import Seq2SeqConfig
from attention.seq2seq.model import Seq2Seq
from minigrad import checkpoint

from .seq2seq_cases import LENGTHS, SOURCE, SPREAD, TARGET, config, generator, model


def test_a_config_goes_through_a_checkpoint(tmp_path):
    for name in SPREAD:
        c = config(**SPREAD[name])
        assert Seq2SeqConfig.from_dict(c.to_dict()) == c
    m = model("luong-fed-lstm-deep")
    path = tmp_path / "model.npz"
    checkpoint.save(path, {"config": m.config.to_dict(), "model": m.state_dict()})
    state = checkpoint.load(path)
    again = Seq2Seq(Seq2SeqConfig.from_dict(state["config"]))
    again.load_state_dict(state["model"])
    np.testing.assert_allclose(
        again(SOURCE, TARGET, LENGTHS).data, m(SOURCE, TARGET, LENGTHS).data, atol=1e-4
    )


def test_numpys_whole_numbers_become_pythons():
    c = Seq2SeqConfig(np.int64(7), np.int32(6), hidden=np.int64(3))
    assert [type(v) for v in (c.source_vocabulary, c.target_vocabulary, c.hidden)] == [
        int
    ] * 3


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(cell="rnn"), "cell is 'rnn'; expected 'gru' or 'lstm'."),
        (
            dict(attention="bahdanu"),
            "attention is 'bahdanu'; expected 'none', 'bahdanau' or 'luong'.",
        ),
        (dict(score=3), "score is 3; expected 'additive', 'dot', 'general', 'scaled', "
                        "'concat' or 'gaussian'."),
        (dict(local="x", window=1), "local is 'x'; expected None, 'm' or 'p'."),
        (dict(hidden=0), "hidden is 0; expected a whole number, 1 or more."),
        (dict(layers=1.0), "layers is 1.0; expected a whole number."),
        (dict(bidirectional=1), "bidirectional is 1; expected True or False."),
        (dict(dropout="0"), "dropout is '0'; expected a number."),
        (dict(dropout=1.5), "dropout is 1.5; expected a probability, from 0 to 1."),
        (dict(attention="none", coverage=True), "attention is 'none', so there is "
         "nothing for local or coverage to change; expected 'bahdanau' or 'luong' with "
         "them."),
        (dict(attention="none", decoder_init="zero"), "nothing of the source would "
         "reach the decoder; expected decoder_init 'encoder'."),
        (dict(input_feeding=True), "input_feeding belongs to attention 'luong', not "
         "'bahdanau'."),
        (dict(window=2), "window is 2, and local is None; expected local 'm' or 'p' "
         "with a window."),
        (dict(local="m"), "local is 'm', and window is None; expected a number, how "
         "far to look on either side."),
        (dict(local="p", window=0), "window is 0; expected a whole number, 1 or more."),
        (dict(local="m", window=1, coverage=True), "coverage and local together; "
         "expected one of them at most."),
        (dict(coverage=True, score="dot"), "coverage is a term of the additive score; "
         "found score 'dot'."),
        (dict(score="dot", bidirectional=True), "score 'dot' needs states of one "
         "width, and a bidirectional encoder has 6 numbers where the decoder has 3; "
         "expected 'general', 'additive' or 'concat'."),
    ],
)  # fmt: skip
def test_a_config_that_cannot_be(options, message):
    with pytest.raises((ValueError, TypeError)) as error:
        config(**options)
    assert str(error.value).startswith("Seq2SeqConfig: ")
    assert str(error.value).endswith(message)


def test_a_dict_that_is_no_config():
    good = config().to_dict()
    with pytest.raises(ValueError, match="there is no 'depth'; expected some of sour"):
        Seq2SeqConfig.from_dict(good | {"depth": 3})
    del good["target_vocabulary"]
    with pytest.raises(ValueError, match="target_vocabulary is missing; it has no"):
        Seq2SeqConfig.from_dict(good)
    with pytest.raises(TypeError, match="found a list; expected a dict"):
        Seq2SeqConfig.from_dict([3])


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda m: m(SOURCE[0], TARGET), ValueError,
         "source has shape (5,); expected (B, S), one row or more, of one id or more."),
        (lambda m: m(SOURCE[:, :0], TARGET), ValueError, "source has shape (3, 0); "),
        (lambda m: m(SOURCE, TARGET[:, :0]), ValueError, "target_in has shape (3, 0)"),
        (lambda m: m(SOURCE * 1.0, TARGET), TypeError, "source holds float64; "),
        (lambda m: m(SOURCE, TARGET[:2]), ValueError,
         "source has 3 rows and target_in 2; expected as many."),
        (lambda m: m(SOURCE, TARGET, [1, 2]), ValueError,
         "lengths have shape (2,); expected (3,), one for each row of source (3, 5)."),
        (lambda m: m(SOURCE, TARGET, [1, 2, 6]), ValueError,
         "lengths holds 6; expected numbers from 1 to 5, the tokens of a row."),
        (lambda m: m(SOURCE, TARGET, [0, 2, 3]), ValueError, "lengths holds 0; "),
        (lambda m: m(SOURCE, TARGET, [1.0, 2, 3]), TypeError, "lengths holds float64"),
        (lambda m: m(SOURCE + 1, TARGET), IndexError, "7"),
        (lambda m: m(SOURCE, TARGET + 1), IndexError, "6"),
        (lambda m: m.step(m.start(SOURCE, LENGTHS), [1]), ValueError,
         "there are 1 tokens for a state of 3 rows; expected as many."),
        (lambda m: m.step(m.start(SOURCE, LENGTHS), 1), ValueError,
         "tokens has shape (); expected (B,), one for each row."),
        (lambda m: m.start(SOURCE, LENGTHS).select([3]), ValueError,
         "indices holds 3; expected numbers from 0 to 2, numbers of rows."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["bahdanau", "none", "luong-fed-coverage"])
def test_arguments_that_do_not_fit(name, call, kind, message):
    with pytest.raises(kind) as error:
        call(model(name))
    assert message in str(error.value)


def test_a_model_says_what_it_is():
    assert repr(model("luong")).startswith("Seq2Seq(\n  gru, attention='luong', score=")


def test_a_generator_or_minigrads_own():
    a, b = Seq2Seq(config(), generator()), Seq2Seq(config(), generator())
    for x, y in zip(a.parameters(), b.parameters()):
        np.testing.assert_array_equal(x.data, y.data)
    mg.manual_seed(0)
    a = Seq2Seq(config())
    mg.manual_seed(0)
    b = Seq2Seq(config())
    for x, y in zip(a.parameters(), b.parameters()):
        np.testing.assert_array_equal(x.data, y.data)
