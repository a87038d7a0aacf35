"""A folder of any form gives a model, or a sentence that says the way out."""

import os

import numpy as np
import pytest

import attention.marian as marian
from attention.marian.load import translated
from minigrad import checkpoint

from .marian_cases import GOLDEN, close, golden, loaded, make_folder, text_folder


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return loaded(tmp_path_factory)


def test_text_needs_its_three_files(tmp_path, models):
    with pytest.raises(ValueError, match="has no tokenizer; load it from a folder"):
        models["shared"].translate("the dog")
    os.remove(text_folder(tmp_path) / "target.spm")
    with pytest.raises(FileNotFoundError, match="target.spm; text needs all of"):
        marian.load(tmp_path)
    (tmp_path / "target.spm").write_bytes(b"no")
    with pytest.raises(ValueError, match="cannot be read as a SentencePiece model"):
        marian.load(tmp_path)
    (tmp_path / "vocab.json").write_text('{"</s>": 0, "<unk>": 1, "a": 9000}')
    with pytest.raises(ValueError, match="'a' has the id 9000; expected"):
        marian.load(tmp_path)


def test_a_pickle_is_refused_with_the_way_out(tmp_path):
    os.remove(make_folder(tmp_path, "shared") / "model.safetensors")
    with pytest.raises(FileNotFoundError, match="There is no .*model.safetensors"):
        marian.load(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x02}q\x00.")
    with pytest.raises(ValueError) as error:
        marian.load(tmp_path)
    said = str(error.value)
    assert "is a pickle, a program that runs when it is read" in said
    assert said.endswith(
        'python -c "import transformers; transformers.MarianMTModel.from_pretrained('
        f"'{tmp_path}').save_pretrained('{tmp_path}', safe_serialization=True)\""
    )


@pytest.mark.parametrize(
    "name, what, option",
    [
        ("model.safetensors.index.json", "the list of a model in several files", ""),
        ("tf_model.h5", "TensorFlow's", ", from_tf=True"),
    ],
)
def test_weights_in_another_form_are_named_with_the_way_out(
    name, what, option, tmp_path
):
    os.remove(make_folder(tmp_path, "shared") / "model.safetensors")
    (tmp_path / name).write_text("{}")
    with pytest.raises(ValueError) as error:
        marian.load(tmp_path)
    said = str(error.value)
    assert said.startswith(f"{tmp_path / name} is {what}")
    assert "not read here; convert it once, where transformers" in said
    assert f"from_pretrained('{tmp_path}'{option}).save_pretrained(" in said
    assert ("and tensorflow are installed" in said) == bool(option)


def test_names_that_older_programs_wrote(tmp_path):
    g = golden("shared")
    weights = checkpoint.load(make_folder(tmp_path, "shared") / "model.safetensors")
    table = weights["model.shared.weight"]
    for name in ("model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"):
        weights[f"{name}.weight"] = table
    angle = np.arange(64)[:, None] / 10000 ** (np.arange(8) / 8)
    P = np.concatenate([np.sin(angle), np.cos(angle)], -1).astype(np.float32)
    weights["model.encoder.embed_positions.weight"] = P
    path = tmp_path / "model.safetensors"
    checkpoint.save(path, weights)
    said = marian.load(tmp_path)(g["source"], g["target"], g["mask"])
    np.testing.assert_allclose(said.logits.data, g["logits"], **close)
    checkpoint.save(path, {**weights, "lm_head.weight": table + 1})
    with pytest.raises(ValueError, match="lm_head.weight and .* differ"):
        marian.load(tmp_path)
    interleaved = np.stack([P[:, :8], P[:, 8:]], -1).reshape(64, 16)
    weights["model.encoder.embed_positions.weight"] = interleaved
    checkpoint.save(path, weights)
    with pytest.raises(ValueError, match="embed_positions.* does not hold sinusoids"):
        marian.load(tmp_path)


def test_an_untied_model_of_an_older_program_has_one_table_for_both_sides(models):
    arrays = checkpoint.load(GOLDEN / "marian_untied.safetensors")
    for side in ("encoder", "decoder"):
        arrays.pop(f"model.{side}.embed_tokens.weight")
    state = translated(models["untied"].config, arrays)
    for name in ("source_embedding", "target_embedding"):
        np.testing.assert_array_equal(state[name], arrays["model.shared.weight"])
    np.testing.assert_array_equal(state["output_embedding"], arrays["lm_head.weight"])


def test_weights_that_do_not_fit(tmp_path):
    path = make_folder(tmp_path, "shared") / "model.safetensors"
    weights, name = checkpoint.load(path), "model.decoder.layers.1.fc2.bias"
    for wrong, reason in (
        (np.zeros(17, np.float32), "has shape (17,); expected (16,)"),
        (np.zeros(16, np.int64), "does not hold finite floating-point numbers"),
        (np.full(16, np.nan, np.float32), "does not hold finite"),
    ):
        checkpoint.save(path, {**weights, name: wrong})
        with pytest.raises(ValueError) as error:
            marian.load(tmp_path)
        assert f"{name} {reason}" in str(error.value)
    checkpoint.save(path, {**weights, "model.extra": np.zeros(1)})
    with pytest.raises(ValueError, match="it also has model.extra"):
        marian.load(tmp_path)


def test_damaged_files_give_a_model_or_a_sentence(tmp_path):
    folder, rng, refused = text_folder(tmp_path), np.random.default_rng(0), 0
    files = ("config.json", "model.safetensors", "vocab.json", "source.spm")
    whole = {name: (folder / name).read_bytes() for name in files}
    for n in range(60):
        name = files[n % len(files)]
        data = bytearray(whole[name])
        if n % 3 == 0:
            data = data[: rng.integers(len(data))]
        else:
            for _ in range(rng.integers(1, 6)):
                data[rng.integers(min(len(data), 4000))] = rng.integers(256)
        (folder / name).write_bytes(data)
        try:
            marian.load(folder)
        except ValueError as error:
            assert "\n" not in str(error).replace("\\n", "")[:300]
            refused += 1
        (folder / name).write_bytes(whole[name])
    assert refused > 30
    marian.load(folder)
