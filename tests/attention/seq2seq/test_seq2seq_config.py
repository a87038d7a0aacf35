"""A config survives a checkpoint, and one generator draws one model."""

import numpy as np

import minigrad as mg
from attention.seq2seq.config import Seq2SeqConfig
from attention.seq2seq.model import Seq2Seq
from minigrad import checkpoint

from .seq2seq_cases import LENGTHS, SOURCE, SPREAD, TARGET, config, generator, model


def test_a_config_survives_a_checkpoint(tmp_path):
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


def test_numpy_integers_become_ints():
    c = Seq2SeqConfig(np.int64(7), np.int32(6), hidden=np.int64(3))
    sizes = c.source_vocabulary, c.target_vocabulary, c.hidden
    assert [type(v) for v in sizes] == [int] * 3


def test_parameters_depend_on_the_generator_alone():
    def drawn(rng=None):
        return [p.data.tolist() for p in Seq2Seq(config(), rng).parameters()]

    assert drawn(generator()) == drawn(generator()) != drawn(generator(1))
    mg.manual_seed(0)
    first = drawn()
    mg.manual_seed(0)
    assert drawn() == first


def test_repr():
    assert repr(model("luong")).startswith("Seq2Seq(\n  gru, attention='luong', score=")
