"""What the Transformer says to input that does not fit."""

import re

import numpy as np
import pytest

from attention.transformer import (
    SCHEMES,
    DecoderOnly,
    EncoderDecoder,
    EncoderDecoderConfig,
    TransformerConfig,
)

V = 5


def small(positions="none", cls=TransformerConfig, **options):
    return cls(V, **(dict(width=8, heads=2, positions=positions) | options))


def decoder(positions="none", **options):
    return DecoderOnly(small(positions, **options), np.random.default_rng(0)).eval()


def both(**options):
    config = small(cls=EncoderDecoderConfig, **options)
    return EncoderDecoder(config, np.random.default_rng(0)).eval()


@pytest.mark.parametrize(
    "options, error, sentence",
    [
        ({"width": 9}, ValueError, "width is 9, and 2 heads cannot share it evenly"),
        ({"width": 8.0}, TypeError, "width is 8.0; expected a whole number"),
        ({"layers": 0}, ValueError, "layers is 0; expected a whole number, 1 or more"),
        ({"heads": True}, TypeError, "heads is True; expected a whole number"),
        ({"key_heads": 3}, ValueError, "key_heads is 3, which does not divide 2"),
        ({"norm": "middle"}, ValueError, "norm is 'middle'; expected one of 'pre', "),
        ({"activation": "elu"}, ValueError, "activation is 'elu'; expected one of 're"),
        ({"positions": "rotary"}, ValueError, "positions is 'rotary'; expected one of"),
        ({"positions": None}, ValueError, "positions is None; expected one of 'none'"),
        ({"dropout": 2}, ValueError, "dropout is 2; expected a probability"),
        ({"dropout": "0"}, TypeError, "dropout is '0'; expected a number"),
        ({"bias": 1}, TypeError, "bias is 1; expected True or False"),
        ({"base": 1}, ValueError, "base is 1; expected a number above 1"),
        ({"base": np.nan}, ValueError, "base is nan; expected a number abo"),
        (
            {"positions": "rope", "width": 6},
            ValueError,
            "'rope' turns pairs of entries, and a head is 3 wide; expected width / ",
        ),
        (
            {"positions": "t5", "num_buckets": 9, "max_distance": 4},
            ValueError,
            "num_buckets is 9 and max_distance 4; expected 1 < num_buckets < max_dist",
        ),
    ],
)
def test_a_config_that_does_not_fit(options, error, sentence):
    for cls in (TransformerConfig, EncoderDecoderConfig):
        with pytest.raises(error, match=re.escape(sentence)) as refused:
            small(cls=cls, **options)
        assert str(refused.value).startswith(f"{cls.__name__}: ")


@pytest.mark.parametrize("num_buckets", [2, 3])
def test_a_bidirectional_table_needs_buckets_for_both_sides(num_buckets):
    config = dict(num_buckets=num_buckets, max_distance=8)
    decoder("t5", **config)
    with pytest.raises(ValueError, match="expected a whole number, 4 or more"):
        both(positions="t5", **config)


def test_there_and_back():
    for cls in (TransformerConfig, EncoderDecoderConfig):
        config = small("alibi", cls, hidden=3, dropout=0.5, bias=False, tied=False)
        plain = config.to_dict()
        assert cls.from_dict(plain) == config
        kinds = (bool, int, float, str, type(None))
        assert all(isinstance(value, kinds) for value in plain.values())
    assert TransformerConfig.from_dict({"vocabulary": 3}) == TransformerConfig(3)
    assert TransformerConfig(3).feed_forward == 4 * 64


@pytest.mark.parametrize(
    "plain, error, sentence",
    [
        ([], TypeError, "from_dict: found a list; expected a dict"),
        ({}, ValueError, "from_dict: found no vocabulary; expected vocabulary and, if"),
        ({"vocabulary": 3, "depth": 2}, ValueError, "from_dict: found depth; expected"),
    ],
)
def test_a_dict_that_is_no_config(plain, error, sentence):
    with pytest.raises(error, match=re.escape(sentence)):
        TransformerConfig.from_dict(plain)


def test_a_model_needs_a_config_of_its_own():
    with pytest.raises(TypeError, match="DecoderOnly: config is a dict; expected a Tr"):
        DecoderOnly({"vocabulary": 5})
    with pytest.raises(TypeError, match="expected an EncoderDecoderConfig"):
        EncoderDecoder(small())


IDS = np.zeros((2, 3), int)


@pytest.mark.parametrize(
    "arguments, error, sentence",
    [
        ([IDS[:, :0]], ValueError, "ids has shape (2, 0); expected (B, n) with n of 1"),
        ([IDS[0]], ValueError, "ids has shape (3,); expected (B, n), a row of ids for"),
        ([IDS + 0.5], TypeError, "ids holds float64; expected whole numbers"),
        ([IDS + V], ValueError, "ids holds 5; expected numbers from 0 to 4"),
        ([IDS - 1], ValueError, "ids holds -1; expected numbers from 0 to 4"),
        ([IDS, [1]], ValueError, "lengths has shape (1,); expected (2,), one for each"),
        ([IDS, 3], ValueError, "lengths has shape (); expected (B,), one for each"),
        ([IDS, [1, 4]], ValueError, "lengths holds 4; expected numbers from 0 to 3"),
        ([IDS, [1.0, 2.0]], TypeError, "lengths holds float64; expected whole numbers"),
    ],
)
def test_ids_and_lengths_that_do_not_fit(arguments, error, sentence):
    with pytest.raises(error, match=re.escape(f"DecoderOnly: {sentence}")):
        decoder()(*arguments)
    ids, *lengths = arguments
    sentence = re.sub("^ids h", "source h", sentence)
    with pytest.raises(error, match=re.escape(f"EncoderDecoder: {sentence}")):
        both()(ids, IDS, *lengths)


def test_a_target_that_does_not_fit():
    with pytest.raises(ValueError, match=r"target_in has shape \(1, 3\); expected 2 "):
        both()(IDS, IDS[:1])
    with pytest.raises(ValueError, match="target_in holds 6; expected numbers from 0 "):
        both(target_vocabulary=6)(IDS, IDS + 6)
    both(target_vocabulary=6)(IDS, IDS + 5)


def test_steps_that_do_not_fit():
    for m in (decoder(), both()):
        state = m.start(IDS)
        for tokens, sentence in (
            ([1], "tokens has shape (1,); expected (2,), one for each example of the"),
            ([1, V], "tokens holds 5; expected numbers from 0 to 4"),
            (IDS, "tokens has shape (2, 3); expected (B,), one id for each example"),
        ):
            with pytest.raises(ValueError, match=re.escape(sentence)):
                m.step(state, tokens)
        with pytest.raises(ValueError, match="indices holds 2; expected numbers from"):
            state.select([0, 2])
        assert len(state) == 2


def test_learned_positions_end_where_the_table_ends():
    m = decoder("learned", max_length=3)
    m(IDS)
    sentence = "there is no row for position 3; positions are 0 to 2. Learned positions"
    for refused in (
        lambda: m(np.zeros((1, 4), int)),
        lambda: m.extend(4),
        lambda: m.step(m.start(IDS), [0, 0]),
        lambda: m.start(np.zeros((1, 4), int), [4]),
    ):
        with pytest.raises(IndexError, match=sentence):
            refused()
    m.start(np.zeros((1, 4), int), [3])  # padding has no position


@pytest.mark.parametrize("positions", ["rope+linear", "rope+ntk", "rope+yarn"])
def test_a_scaled_rotation_asks_to_be_extended(positions):
    m = decoder(positions, max_length=3)
    within, longer = m(IDS).data, np.zeros((1, 6), int)
    sentence = "a sequence of 6 tokens, with rotations for up to 3; expected model.ext"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        m(longer)
    m.extend(6)
    plain = decoder("rope", max_length=3)
    assert (m(longer).data != plain(longer).data).any() or (m(IDS).data != within).any()
    m.extend(2)  # less than trained is as trained
    np.testing.assert_array_equal(m(IDS).data, within)
    np.testing.assert_array_equal(plain(IDS).data, within)


@pytest.mark.parametrize("positions", SCHEMES)
def test_no_example_is_nothing(positions):
    m = decoder(positions)
    assert m(np.zeros((0, 3), int)).shape == (0, 3, V)


def test_what_it_prints():
    assert "pre-norm, causal" in repr(decoder()) and "'gelu'" in repr(decoder())
