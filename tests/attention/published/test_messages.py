"""Marian: what the messages say about wrong folders, settings and calls."""

import os

import numpy as np
import pytest

from attention.published import marian
from attention.published.weights import OTHER_FORMATS
from minigrad import checkpoint

from ...messages import check_message
from .marian_cases import make_folder, text_folder

CONFIGS = [  # entries of config.json
    ({"d_model": None}, "'d_model' is missing"),
    ({"d_model": 10**12}, "it has 10930 numbers; expected at least 2400000000024"),
    ({"vocab_size": 10**15, "decoder_vocab_size": None}, "at least 16000000000009"),
    ({"encoder_layers": 10**9}, "at least 1792000006432"),
    ({"decoder_layers": 3}, "at least 12832"),
    ({"decoder_layers": 1}, "unexpected: decoder.blocks.1.self_attn.W_q.weight"),
    ({"encoder_attention_heads": 3}, "width is 16", "a multiple of heads, 3"),
    ({"encoder_ffn_dim": 23}, "does not fit: encoder.blocks.0", "(24,)", "(23,)"),
    ({"activation_function": []}, "unhashable type"),
    ({"normalize_before": True}, "normalize_before is True; expected False"),
    ({"model_type": "bart"}, "model_type is 'bart'; expected 'marian'"),
    ({"scale_embedding": None}, "scale_embedding is False; expected True"),
    ({"decoder_vocab_size": 49}, "decoder_vocab_size is 49; expected 50"),
    ({"tie_word_embeddings": False}, "tie_word_embeddings is False; expected True"),
]
SEARCHES = [  # generation_config.json
    ("[]", "holds a list", "a dict"),
    ("{", "is not JSON"),
    ('{"bad_words_ids": [[1, 2]]}', "bad_words_ids is [[1, 2]]", "lists of one id"),
    ('{"bad_words_ids": [[50]]}', "bad_words_ids is 50", "0 to 49"),
    ('{"decoder_start_token_id": 50}', "decoder_start_token_id is 50", "0 to 49"),
    ('{"bad_words_ids": 5}', "bad_words_ids is 5", "lists of one id"),
    ('{"bad_words_ids": [["a"]]}', "bad_words_ids is 'a'", "0 to 49"),
    ('{"max_length": 10, "num_beams": true}', "num_beams is True"),
]


@pytest.mark.parametrize("change, fragments", [(c, words) for c, *words in CONFIGS])
def test_a_config_that_does_not_fit(change, fragments, tmp_path):
    refuses(make_folder(tmp_path, **change), "config.json", *fragments)


@pytest.mark.parametrize("text, fragments", [(t, words) for t, *words in SEARCHES])
def test_settings_that_do_not_fit(text, fragments, tmp_path):
    make_folder(tmp_path)
    (tmp_path / "generation_config.json").write_text(text)
    refuses(tmp_path, "generation_config.json", *fragments)


def refuses(folder, *fragments, error=ValueError):
    check_message(lambda: marian.load(folder), fragments, error)


def test_weights_that_do_not_fit(tmp_path):
    path = make_folder(tmp_path) / "model.safetensors"
    weights = checkpoint.load(path)
    P = np.zeros((64, 16), np.float32)
    for changes, *fragments in [
        ({"final_logits_bias": np.zeros(49)}, "output.bias", "(50,)", "(49,)"),
        ({"model.extra": np.zeros(1)}, "unexpected: extra"),
        ({"lm_head.weight": weights["model.shared.weight"] + 1}, "output", "differ"),
        ({"model.encoder.embed_positions.weight": P}, "does not hold sinusoids"),
    ]:
        checkpoint.save(path, weights | changes)
        refuses(tmp_path, "does not fit config.json", *fragments)


@pytest.mark.parametrize("name", OTHER_FORMATS)
def test_weights_in_another_format(name, tmp_path):
    os.remove(make_folder(tmp_path) / "model.safetensors")
    refuses(tmp_path, "model.safetensors", error=FileNotFoundError)
    (tmp_path / name).write_text("{}")
    option = ", from_tf=True" if name == "tf_model.h5" else ""
    with pytest.raises(ValueError) as error:
        marian.load(tmp_path)
    assert f"its weights in {name}; expected model.safetensors" in str(error.value)
    assert str(error.value).endswith(
        'python -c "import transformers; transformers.MarianMTModel.from_pretrained('
        f"'{tmp_path}'{option})"
        f".save_pretrained('{tmp_path}', safe_serialization=True)\""
    )


def test_files_of_the_tokenizer(tmp_path):
    os.remove(text_folder(tmp_path) / "source.spm")
    refuses(tmp_path, "source.spm", error=FileNotFoundError)
    (tmp_path / "source.spm").write_bytes(b"no")
    refuses(tmp_path, "source.spm is not a SentencePiece unigram model")
    (tmp_path / "vocab.json").write_text('{"</s>": 0, "<unk>": 1, "a": 9000}')
    refuses(tmp_path, "vocab.json", "id 9000", "config.json")
    (tmp_path / "vocab.json").write_text('{"</s>": 0}')
    refuses(tmp_path, "vocab.json", "no <unk>")


CALLS = [
    (lambda m: m([[1, 50]], [[49]]), "ids hold 50", "0 to 49"),
    (lambda m: m([[1]], [[-1]]), "ids hold -1"),
    (lambda m: m([[1], [2, 3]], [[49]]), "source is a list", "differ in length"),
    (lambda m: m([[1] * 65], [[49]]), "65 words in a row", "64"),
    (lambda m: m.generate([[1]], 1), "max_length is 1", "2 to 65"),
    (lambda m: m.generate([[1]], 66), "max_length is 66", "2 to 65"),
    (lambda m: m.generate([[49, 1]], 5), "source_ids have PAD, 49, before a word"),
    (lambda m: m.generate([[1]], 2.5), "max_length is 2.5", "a whole number"),
    (lambda m: m.generate([[1]], 5, 0), "beam is 0", "1 or more"),
    (lambda m: m.translate("the dog"), "has no tokenizer"),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return marian.load(make_folder(tmp_path_factory.mktemp("marian")))


@pytest.mark.parametrize("call, fragments", [(call, words) for call, *words in CALLS])
def test_calls(model, call, fragments):
    check_message(lambda: call(model), fragments)


def test_weights_too_large_to_compute_with(tmp_path):
    model = marian.load(make_folder(tmp_path))
    model.output.bias.data = np.full(50, np.inf, np.float32)
    for beams in (1, 3):
        with pytest.raises(FloatingPointError, match="logits are NaN, infinity"):
            model.generate([[1, 2]], 5, beams)
