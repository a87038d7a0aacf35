"""Marian: what it says of wrong configs, settings, weights and calls."""

import numpy as np
import pytest

import attention.marian as marian

from .marian_cases import loaded, make_folder


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return loaded(tmp_path_factory)


BAD_CONFIGS = [
    ({"d_model": None}, "d_model: missing"),
    ({"d_model": 10**12}, "shape (50, 16); expected (50, 1000000000000)"),
    ({"vocab_size": 10**15, "decoder_vocab_size": None}, "model.shared.weight has"),
    ({"d_model": "16"}, "d_model is '16'; expected a whole number"),
    ({"d_model": 16.0}, "d_model is 16.0; expected a whole number"),
    ({"vocab_size": -50}, "vocab_size is -50"),
    ({"encoder_layers": 10**9}, "model.encoder.layers.2.self_attn.q_proj.weight is "),
    ({"decoder_layers": 1}, "it also has model.decoder.layers.1."),
    ({"encoder_attention_heads": 3}, "does not divide d_model 16"),
    ({"decoder_attention_heads": 0}, "decoder_attention_heads is 0"),
    ({"encoder_ffn_dim": 10**10}, "fc1.weight has shape (24, 16); expected (10000"),
    ({"activation_function": "mish"}, "activation_function is 'mish'; expected one"),
    ({"activation_function": []}, "activation_function is []"),
    ({"normalize_before": True}, "another architecture"),
    ({"static_position_embeddings": False}, "another architecture"),
    ({"model_type": "bart"}, "only marian models are read"),
    ({"scale_embedding": 1}, "scale_embedding is 1; expected true or false"),
    ({"decoder_vocab_size": 49}, "embeddings are shared"),
    ({"tie_word_embeddings": False}, "lm_head.weight is missing"),
    ({"max_position_embeddings": 0}, "max_position_embeddings is 0"),
]


@pytest.mark.parametrize("change, reason", BAD_CONFIGS)
def test_a_config_that_does_not_fit_is_refused_in_a_sentence(change, reason, tmp_path):
    with pytest.raises(ValueError) as error:
        marian.load(make_folder(tmp_path, "shared", **change))
    said = str(error.value)
    assert reason in said and "config.json" in said
    assert said.endswith(".") and "\n" not in said


BAD_SEARCHES = [
    ("[]", "holds a list; expected a dict"),
    ("[" * 100_000, "nested too deeply"),
    ("{", "cannot be read: "),
    ('{"bad_words_ids": [[1, 2]]}', "expected lists of one id"),
    ('{"bad_words_ids": [[50]]}', "bad_words_ids[0] is 50; expected an id below 50"),
    ('{"bad_words_ids": 7}', "expected lists of one id"),
    ('{"decoder_start_token_id": 50}', "decoder_start_token_id is 50; expected an"),
    ('{"num_beams": true}', "num_beams is True"),
    ('{"length_penalty": NaN}', "length_penalty is nan"),
    ('{"early_stopping": "soon"}', "early_stopping is 'soon'"),
    ('{"early_stopping": []}', "early_stopping is []"),
]


@pytest.mark.parametrize("text, reason", BAD_SEARCHES)
def test_settings_that_make_no_sense(text, reason, tmp_path):
    make_folder(tmp_path, "shared")
    (tmp_path / "generation_config.json").write_text(text)
    with pytest.raises(ValueError) as error:
        marian.load(tmp_path)
    assert reason in str(error.value) and len(str(error.value)) < 400


BAD_CALLS = [
    (lambda m: m([[1, 50]], [[49]]), ValueError, "source_ids holds 50; expected ids"),
    (lambda m: m([[1]], [[-1]]), ValueError, "target_ids holds -1; expected ids from"),
    (lambda m: m([1, 2], [[49]]), ValueError, "source_ids has shape (2,); expected"),
    (lambda m: m([[1], [2, 3]], [[49]]), ValueError, "rows of several lengths"),
    (lambda m: m([[1.0]], [[49]]), TypeError, "holds float64; expected whole numbers"),
    (lambda m: m([[1], [2]], [[49]]), ValueError, "has 2 rows and target_ids 1"),
    (lambda m: m([[1]], [[49]], [[1]]), TypeError, "source_mask holds int64; expected"),
    (lambda m: m([[1]], [[49]], [True]), ValueError, "source_mask has shape (1,)"),
    (lambda m: m([[1] * 65], [[49]]), ValueError, "65 words in a row; expected at"),
    (lambda m: m.generate([[1]], 1), ValueError, "max_length is 1; expected a number"),
    (lambda m: m.generate([[1]], 66), ValueError, "max_length is 66; expected"),
    (lambda m: m.generate([[1]], 2.5), TypeError, "max_length is 2.5; expected a"),
    (lambda m: m.generate([[1]], 5, 0), ValueError, "num_beams is 0; expected 1 or"),
    (
        lambda m: m.generate([[1]], 5, 2, length_penalty=np.nan),
        ValueError,
        "length_penalty is nan; expected a number",
    ),
    (
        lambda m: m.generate([[1]], 5, 2, early_stopping="soon"),
        ValueError,
        "early_stopping is 'soon'; expected True, False or 'never'",
    ),
]


@pytest.mark.parametrize("call, kind, message", BAD_CALLS)
def test_what_a_call_refuses(models, call, kind, message):
    with pytest.raises(kind) as error:
        call(models["shared"])
    assert str(error.value).startswith("Marian: ") and message in str(error.value)


def test_weights_too_large_to_compute_with(tmp_path):
    model = marian.load(make_folder(tmp_path, "shared"))
    model.final_logits_bias.data = np.full(50, np.inf, np.float32)
    with np.errstate(invalid="ignore"):
        for beams in (1, 3):
            with pytest.raises(ValueError, match="the logits are NaN or infinite"):
                model.generate([[1, 2]], 5, beams)
