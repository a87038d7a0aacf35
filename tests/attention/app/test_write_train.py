"""The command write train: its tokens, its baselines, its model; write run of a run."""

import io
import itertools
import math
from collections import Counter

import numpy as np
import pytest

import minigrad as mg
from attention.app.commands import write_train
from attention.app.experiments import writing, writing_text
from attention.app.experiments.writing_text import BytePairs, Characters
from attention.published import bpe
from minigrad import checkpoint

from .app_cases import OPTIONS, main, refused, results_of

TEXT = "the key is near the query. " * 60
TRAIN = "write", "train", *OPTIONS["write train"]


@pytest.fixture
def trained(whole):
    return whole("write train")[0]


def merges_by_definition(words, n):
    """Count all pairs anew before each merge."""
    cut, merges = {word: list(word) for word in words}, []
    for _ in range(n):
        counts = Counter()
        for word, times in words.items():
            for pair in itertools.pairwise(cut[word]):
                counts[pair] += times
        best = max(counts, key=lambda pair: (counts[pair], pair), default=None)
        if best is None or counts[best] < 2:
            break
        merges.append(best)
        ranks = {pair: i for i, pair in enumerate(merges)}
        cut = {word: bpe.merged(word, ranks) for word in words}
    return merges


def test_merges_are_the_most_frequent_pairs():
    assert bpe.learned({"lower": 5, "low": 2, "slower": 3}, 4) == [
        ("o", "w"), ("l", "ow"), ("low", "e"), ("lowe", "r")
    ]  # fmt: skip
    rng = np.random.default_rng(0)
    for _ in range(20):
        drawn = [rng.choice(list("abc"), rng.integers(1, 9)) for _ in range(12)]
        words = {"".join(word): int(rng.integers(1, 5)) for word in drawn}
        assert bpe.learned(words, 15) == merges_by_definition(words, 15)
    assert bpe.learned({"ab": 1}, 3) == bpe.learned({}, 3) == []


def test_both_vocabularies_give_the_text_back():
    other = "Zoë's 12 €\n\n\tend"
    characters = writing_text.learned_from(TEXT + other, None)
    pairs = writing_text.learned_from(TEXT, 270)
    assert len(pairs) == 270 and len(characters) == len(set(TEXT + other))
    for tokenizer in characters, pairs:
        again = writing_text.tokenizer_of(tokenizer.state_dict())
        for text in TEXT, other:
            assert again.decode(tokenizer.encode(text)) == text
            assert "".join(again.stream(tokenizer.encode(text))) == text
    assert len(pairs.encode(TEXT)) < len(TEXT) / 2
    assert isinstance(again, BytePairs)


def test_a_text_is_divided(tmp_path):
    path = tmp_path / "a.txt"
    text = "".join(chr(ord("a") + i % 26) + chr(ord("A") + i % 25) for i in range(500))
    path.write_text(text)
    data = writing.load(writing.Config(text=str(path), context=8))
    assert data.held_text == "".join(text[i : i + 10] for i in range(90, 1000, 100))
    assert data.training_text[80:100] == text[80:90] + text[100:110]
    assert data.bits(math.log(2)) == 1 and data.characters == 51
    pairs = writing.load(writing.Config(text=str(path), context=8, vocabulary=300))
    assert np.isclose(pairs.bits(1.0), len(pairs.held) / 100 / math.log(2))
    assert pairs.checksum == data.checksum


def test_the_pages_of_this_book():
    data = writing.load(writing.Config())
    assert len(data.training_text) > 500_000 and "softmax" in data.held_text
    uniform, trigrams = data.baselines.values()
    assert 2 < trigrams < 4 < uniform < 8
    assert isinstance(data.tokenizer, Characters)


def test_trigrams_by_their_definition():
    train, held, V = "abcabcabdaab", "abdc", 5

    def p(c, h):
        """P(c | h), of any context of at most two characters."""
        below = p(c, h[1:]) if h else 1 / V
        n = len(h)
        found = [train[i] for i in range(n, len(train)) if train[i - n : i] == h]
        T = len(set(found))
        return (found.count(c) + T * below) / (len(found) + T) if found else below

    found = [p(c, held[max(i - 2, 0) : i]) for i, c in enumerate(held)]
    bits = writing_text.trigram_bits(train, held, V)
    assert np.isclose(bits, -np.mean(np.log2(found)))
    assert np.isclose(sum(p(c, "ab") for c in "abcde"), 1)


def test_what_a_run_says(whole):
    out, printed = whole("write train")
    results = results_of(out)
    data = writing.load(writing.Config(**results["config"]))
    model = writing.open_writer(out / "best.safetensors").model
    n = results["config"]["context"]
    found = writing.mean_loss(model, writing.in_windows(data.held, n), 100)
    assert np.isclose(results["bits"], data.bits(found), rtol=1e-5)
    assert results["baselines"] == data.baselines
    assert f"this model, step {results['step']}" in printed
    assert "counted trigrams" in printed and "\n  | " in printed


def test_windows():
    ids = np.arange(20)
    rows = writing.in_windows(ids, 6)
    assert rows.tolist() == [[*range(i, i + 7)] for i in (0, 6, 12)]
    config = writing.Config(context=6, batch=50)
    drawn = writing.windows(ids, config, 3)
    assert np.array_equal(drawn, writing.windows(ids, config, 3))
    assert (np.diff(drawn) == 1).all() and {0, 13} <= {*drawn[:, 0].tolist()}
    assert drawn.min() == 0 and drawn.max() == 19


def test_samples_while_it_trains_change_no_number(
    trained, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(write_train, "SAMPLE_SECONDS", 0)
    out = tmp_path / "run"
    assert main(*TRAIN, "--dropout", 0.3, "--out", out) == 0
    assert capsys.readouterr().out.count("step 4:\n  | ") == 2  # step, end
    monkeypatch.undo()
    assert main(*TRAIN, "--dropout", 0.3, "--out", tmp_path / "other") == 0
    assert results_of(out) == results_of(tmp_path / "other") != results_of(trained)


@pytest.mark.parametrize("n", [5, 8, 9, 40])
def test_a_run_continues_a_text(n, trained, capsys, monkeypatch):
    """With a context of 8 tokens, by full passes over the text."""
    writer = writing.open_writer(trained / "best.safetensors")
    ids = seen = writer.tokenizer.encode("the key ")[:n]
    with mg.no_grad():
        for _ in range(20):
            seen = seen[-4:] if len(seen) >= 8 else seen
            z = writer.model(np.array([seen])).data[0, -1]
            ids, seen = [*ids, int(z.argmax())], [*seen, int(z.argmax())]
    expected = writer.tokenizer.decode(ids[-20:]) + "\n"
    typed = "--temperature", 0, "--tokens", 20
    prompt = "the key "[:n]
    for words in [trained, prompt], ["--model", trained, prompt]:
        assert main("write", "run", *words, *typed) == 0
        out, error = capsys.readouterr()
        assert out == expected and "wrote 20 tokens" in error
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{prompt}\n"))
    assert main("write", "run", trained, *typed) == 0
    assert capsys.readouterr().out == expected
    drawn = [main("write", "run", trained, prompt) or capsys.readouterr().out
             for _ in range(3)]  # fmt: skip
    assert len(set(drawn)) > 1


def test_line_ends_in_the_text_of_a_line_are_escaped(trained, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("the key\na query\n"))
    drawn = "--tokens", 500, "--temperature", 50  # any character, also a line end
    assert main("write", "run", trained, "--lines", *drawn) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and all(r"\n" in line for line in lines)


def test_texts_that_cannot_be_used(tmp_path, capsys):
    path = tmp_path / "a.txt"
    path.write_bytes(b"abc\xff")
    assert f"{path} is not UTF-8 text: byte 3 is 0xff" in refused(
        capsys, *TRAIN, "--text", path
    )
    path.write_text("abc")
    error = refused(capsys, *TRAIN, "--text", path)
    assert "has 2 tokens to train on and 1 held out; expected more than 8" in error
    for path in tmp_path, tmp_path / "none":
        error = refused(capsys, *TRAIN, "--text", path)
        assert f"--text is {path}, which cannot be read: " in error
    error = refused(capsys, *TRAIN, "--width", 10, "--heads", 4)
    assert "expected a multiple of heads, 4" in error


def test_folders_without_a_model(trained, tmp_path, capsys):
    def error(*words):
        return refused(capsys, "write", "run", *words)

    assert "has no best.safetensors; expected a folder that" in error(tmp_path, "the")
    assert "no token for '€'" in error(trained, "5 €")
    assert "--chat needs a chat model" in error(trained, "the", "--chat")
    state = checkpoint.load(trained / "best.safetensors")
    for change in (
        {"format": "translator"}, {"tokenizer": {"characters": "ab"}}, {"model": {}},
        {"config": {"width": 8}}, {"tokenizer": None},
    ):  # fmt: skip
        checkpoint.save(tmp_path / "best.safetensors", state | change)
        assert "best.safetensors cannot be used: " in error(tmp_path, "the")
