"""Marian against the reference implementation, against its definition, and bad files.

``tests/golden/marian.npz`` and ``marian_*.safetensors`` were recorded from transformers
(its version is in the file) by ``tests/golden/record_marian.py``: three tiny models, as
``save_pretrained`` writes them, in float32, float16 and bfloat16.
"""

import copy
import dataclasses
import itertools
import json
import os
import pathlib
import shutil

import numpy as np
import pytest

import attention.marian as marian
from attention.marian.load import translated
from attention.marian.model import Decoding
from minigrad import checkpoint, cross_entropy, no_grad

GOLDEN = pathlib.Path(__file__).parent / "golden"
NAMES = ("shared", "separate", "untied")
BANNED = tuple([word] for word in range(10, 31))
SEARCHES = {
    "greedy": dict(num_beams=1),
    "beam2": dict(num_beams=2),
    "beam4": dict(num_beams=4),
    "long": dict(num_beams=4, length_penalty=2.0),
    "short": dict(num_beams=4, length_penalty=-1.0),
    "early": dict(num_beams=4, early_stopping=True),
    "never": dict(num_beams=3, early_stopping="never"),
    "cut": dict(num_beams=1, max_length=4),
    "cut4": dict(num_beams=4, max_length=4),
    "bans": dict(num_beams=1, bad_words_ids=BANNED),
    "bans4": dict(num_beams=4, bad_words_ids=BANNED, renormalize_logits=False),
    "renewed": dict(num_beams=4, bad_words_ids=BANNED, renormalize_logits=True),
}
with np.load(GOLDEN / "marian.npz") as recorded:
    RECORDED = dict(recorded)
TEXT = json.loads((GOLDEN / "marian_text.json").read_text())["tokenizer"]
VOCAB = TEXT["vocab"]
close = dict(rtol=0, atol=1e-5)


def golden(name):
    prefix = f"{name}."
    return {
        key.removeprefix(prefix): array
        for key, array in RECORDED.items()
        if key.startswith(prefix)
    }


def make_folder(path, name, **changes):
    """A folder as a user has it; changes are of entries of config.json, None: out."""
    found = golden(name)
    config = json.loads(found["config"].tobytes()) | changes
    config = {key: value for key, value in config.items() if value is not None}
    (path / "config.json").write_text(json.dumps(config))
    (path / "generation_config.json").write_bytes(found["generation"].tobytes())
    shutil.copy(GOLDEN / f"marian_{name}.safetensors", path / "model.safetensors")
    return path


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return {
        name: marian.load(make_folder(tmp_path_factory.mktemp(name), name))
        for name in NAMES
    }


@pytest.mark.parametrize("name", NAMES)
def test_logits_and_attentions_are_those_of_the_reference(models, name):
    g = golden(name)
    with no_grad():
        said = models[name](g["source"], g["target"], g["mask"], return_attentions=True)
    np.testing.assert_allclose(said.logits.data, g["logits"], **close)
    np.testing.assert_allclose(np.stack(said.cross_attentions), g["cross"], **close)
    for p in said.cross_attentions:
        np.testing.assert_allclose(p.sum(-1), 1, rtol=1e-6)
        assert (np.moveaxis(p, 3, 1)[~g["mask"]] == 0).all()


@pytest.mark.parametrize("name, search", [*itertools.product(NAMES, SEARCHES)])
def test_what_is_generated_is_what_the_reference_generates(models, name, search):
    g, settings = golden(name), {"max_length": 12, **SEARCHES[search]}
    model = copy.copy(models[name])
    written = {"bad_words_ids", "renormalize_logits"} & set(settings)  # in the folder
    changes = {key: settings.pop(key) for key in written}
    model.config = dataclasses.replace(model.config, **changes)
    ids = model.generate(g["source"], **settings, source_mask=g["mask"])
    np.testing.assert_array_equal(ids, g[search])


def test_the_goldens_differ_where_the_searches_do():
    for name in NAMES:
        g = golden(name)
        assert len({g[search].tobytes() for search in SEARCHES}) >= 4
        assert len({row.tolist().index(0) for row in g["greedy"]}) >= 3  # lengths
    assert any((golden(n)["bans4"] != golden(n)["renewed"]).any() for n in NAMES)
    assert str(RECORDED["provenance"]).startswith("torch 2.13.0")


def test_padding_is_what_is_not_given_a_mask(models):
    g = golden("shared")
    with_mask = models["shared"].generate(g["source"], 12, source_mask=g["mask"])
    np.testing.assert_array_equal(models["shared"].generate(g["source"], 12), with_mask)
    said = models["shared"](g["source"], g["target"])  # here all are words
    assert np.abs(said.logits.data - g["logits"]).max() > 1e-3


# properties


@pytest.mark.parametrize("name", NAMES)
def test_the_future_and_the_padding_change_nothing(models, name):
    g, model = golden(name), models[name]
    target = g["target"].copy()
    target[:, 4:] = 7
    source = np.where(g["mask"], g["source"], 7)
    with no_grad():
        one = model(g["source"], g["target"], g["mask"]).logits.data
        two = model(source, target, g["mask"]).logits.data
    np.testing.assert_allclose(one[:, :4], two[:, :4], rtol=0, atol=1e-6)
    assert np.abs(one[:, 4:] - two[:, 4:]).max() > 0.1


@pytest.mark.parametrize("name", NAMES)
def test_word_by_word_is_all_at_once(models, name):
    g, model = golden(name), models[name]
    rows = np.array([2, 0, 1, 1])
    with no_grad():
        decoding = model.start(g["source"], g["mask"])
        assert isinstance(decoding, Decoding)
        for t in range(3):
            logits = decoding.step(g["target"][:, t])
            np.testing.assert_allclose(logits, g["logits"][:, t], **close)
        decoding.select(rows)
        logits = decoding.step(g["target"][rows, 3])
    np.testing.assert_allclose(logits, g["logits"][rows, 3], **close)


def test_a_beam_as_wide_as_all_finds_the_best_of_all(models):
    """Every sentence of at most three words, by the definition of its score."""
    model, c = models["separate"], models["separate"].config
    source, V, a = golden("separate")["source"][:1], c.decoder_vocab_size, 0.7
    allowed = [w for w in range(V) if [w] not in list(c.bad_words_ids)]

    def logp(rows):  # of the word that follows each row
        with no_grad():
            rows = np.array(rows)
            x = model(np.repeat(source, len(rows), 0), rows).logits.data[:, -1]
        x = x.astype(float)
        return x - np.log(np.exp(x).sum(-1, keepdims=True))

    start, found = c.decoder_start_token_id, []
    going = [(0.0, [start])]
    for n in (1, 2):
        follow = logp([row for _, row in going])
        found += [(s + p[0], [*r, 0]) for (s, r), p in zip(going, follow)]
        going = [
            (s + p[w], [*r, w])
            for (s, r), p in zip(going, follow)
            for w in allowed
            if w != 0
        ]
    found += [(s, [*row, 0]) for s, row in going]  # EOS is forced, and costs nothing
    best = max(found, key=lambda one: one[0] / (len(one[1]) - 1) ** a)[1]
    for early_stopping in (False, "never"):
        ids = model.generate(
            source, 4, 2000, length_penalty=a, early_stopping=early_stopping
        )
        assert ids[0].tolist() == best


def test_a_beam_of_one_sentence_is_that_of_the_batch(models):
    g, model = golden("untied"), models["untied"]
    for b, n in enumerate(g["mask"].sum(-1)):
        alone = model.generate(g["source"][b : b + 1, :n], 12, 4)[0]
        np.testing.assert_array_equal(alone, g["beam4"][b, : len(alone)])


@pytest.mark.parametrize("name", NAMES)
def test_it_can_be_trained_on(models, name, tmp_path):
    g, model = golden(name), marian.load(make_folder(tmp_path, name))
    losses = []
    for _ in range(2):
        model.zero_grad()
        logits = model(g["source"], g["target"][:, :-1], g["mask"]).logits
        loss = cross_entropy(logits.reshape(-1, logits.shape[-1]),
                             g["target"][:, 1:].reshape(-1))  # fmt: skip
        loss.backward()
        losses.append(float(loss))
        for parameter in model.parameters():
            assert np.isfinite(parameter.grad).all() and parameter.grad.any()
            parameter.data = parameter.data - 0.01 * parameter.grad
    assert losses[1] < losses[0]


# text


def text_folder(path):
    """A model of the recorded vocabulary, with weights of ours under their names."""
    V = len(VOCAB)
    make_folder(
        path, "shared", vocab_size=V, decoder_vocab_size=V, pad_token_id=V - 1,
        decoder_start_token_id=V - 1, bad_words_ids=[[V - 1]],
    )  # fmt: skip
    os.remove(path / "generation_config.json")
    weights = checkpoint.load(path / "model.safetensors")
    rng = np.random.default_rng(0)
    weights["model.shared.weight"] = rng.normal(0, 0.5, (V, 16)).astype(np.float32)
    weights["final_logits_bias"] = np.zeros((1, V), np.float32)
    checkpoint.save(path / "model.safetensors", weights)
    (path / "vocab.json").write_text(json.dumps(VOCAB))
    for side in ("source", "target"):
        shutil.copy(GOLDEN / f"marian_{side}.spm", path / f"{side}.spm")
    return path


def test_text_becomes_ids_and_ids_text_as_in_the_reference(tmp_path):
    model = marian.load(text_folder(tmp_path))
    for text, ids in TEXT["ids"]:
        assert model.tokenizer.encode(text) == ids, text
    for ids, text in TEXT["said"]:
        assert model.tokenizer.decode(ids) == text, ids
    ids = model.tokenizer.encode("the old dog")
    said = model.tokenizer.decode(model.generate([ids], 9, num_beams=3)[0])
    assert model.translate("the old dog", 9, 3) == said and said


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


# folders


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


def test_no_sentence_and_the_longest(models):
    model = models["shared"]
    assert model.generate(np.zeros((0, 3), int), 5).shape == (0, 1)
    assert model.generate(np.zeros((0, 3), int), 5, 2).shape == (0, 1)
    assert model.generate([[1, 2]], 65).shape[1] <= 65
    assert repr(model).startswith("Marian(\n  50 words, d_model=16\n")
