"""The command write run: its text, its prompt, its ends, its errors."""

import io
import json
import re
import signal

import numpy as np
import pytest

import minigrad as mg
from attention.app.commands import write
from attention.app.experiments.writing import open_writer
from attention.app.pretrained import BOOK
from attention.published import open_model
from attention.published.heads import weights_at_the_last

from ..published.decoder_cases import write_folder, write_gguf
from ..published.file_cases import TOKENS, VOCABULARY
from .app_cases import main, refused, start

PROMPT, N = "lower 7é", 20
MORE = "command", "baselines", "steps"  # what the .json of a model says besides
END, START = VOCABULARY["<|end|>"], VOCABULARY["<|im_start|>"]
CHATML = (
    "{{ '<|im_start|>system\\nBe lower.<|im_end|>\\n' }}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] }}"
)


def without_cache(path, ids):
    """Return the ids of the greedy text, each of a pass over the whole text."""
    m, ids = open_model(path).load(), list(ids)
    with mg.no_grad():
        for _ in range(N):
            ids.append(int(m(np.array([ids])).data[0, -1].argmax()))
    return ids[-N:]


def written(capsys, path, *arguments):
    assert main("write", "run", "--model", path, "--tokens", N, *arguments) == 0
    return capsys.readouterr()


@pytest.mark.parametrize("form", ["file", "llama", "gpt2", "qwen3"])
def test_the_text_is_that_of_full_passes(form, tmp_path, capsys):
    is_file = form == "file"
    write_gguf(tmp_path / "x.gguf") if is_file else write_folder(tmp_path, form)
    tokenizer = open_model(tmp_path).tokenizer
    expected = tokenizer.decode(without_cache(tmp_path, tokenizer.encode(PROMPT)))
    out, error = written(capsys, tmp_path, *PROMPT.split())
    assert out == f"{expected}\n"
    pattern = r"loaded in [\d.]+ s\nwrote 20 tokens, [\d.]+ per second after the first;"
    assert re.match(pattern, error)
    assert written(capsys, tmp_path, "--temperature", "1e-6", PROMPT).out == out
    assert len({written(capsys, tmp_path, "--temperature", "50", PROMPT).out
                for _ in range(3)}) > 1  # fmt: skip


def test_the_prompt_from_stdin(tmp_path, capsys, monkeypatch):
    write_gguf(tmp_path / "x.gguf")
    expected = written(capsys, tmp_path, PROMPT).out
    for arguments in ["-"], []:
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{PROMPT}\n"))
        assert written(capsys, tmp_path, *arguments).out == expected
    for text in "", "\n":
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        assert "There is no prompt; expected" in refused(
            capsys, "write", "run", "--model", tmp_path
        )
    terminal = io.StringIO("nothing")
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stdin", terminal)
    assert "There is no prompt;" in refused(capsys, "write", "run", "--model", tmp_path)


def test_each_line_of_stdin_is_continued(tmp_path, capsys, monkeypatch):
    write_gguf(tmp_path / "x.gguf")
    tokenizer = open_model(tmp_path).tokenizer
    one = written(capsys, tmp_path, "--json", PROMPT).out
    found = json.loads(one)
    assert found["prompt"] == PROMPT
    assert found["tokens"] == without_cache(tmp_path, tokenizer.encode(PROMPT))
    assert found["text"] == tokenizer.decode(found["tokens"])
    assert len(found["seconds"]) == N and min(found["seconds"]) > 0
    lines = f"{PROMPT}\n\nlow"
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    listed = json.loads(written(capsys, tmp_path, "--lines", "--json").out)
    assert [each["prompt"] for each in listed] == lines.split("\n")
    assert listed[0]["tokens"] == found["tokens"] and listed[1]["tokens"] == []
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    assert written(capsys, tmp_path, "--lines", "-").out.startswith(
        f"{found['text']}\n\n{listed[2]['text']}"
    )
    error = refused(capsys, "write", "run", "--model", tmp_path, "--lines", PROMPT)
    assert f"The prompt is {PROMPT!r}, and --lines reads other ones" in error


def test_an_end_token_ends_the_text(tmp_path, capsys):
    write_folder(tmp_path)
    tokenizer = open_model(tmp_path).tokenizer
    ids = without_cache(tmp_path, tokenizer.encode(PROMPT))
    n = next(n for n in range(2, N) if ids[n] not in ids[:n])
    for end in ids[n], [3, ids[n]]:
        write_folder(tmp_path, eos_token_id=end)
        out, error = written(capsys, tmp_path, PROMPT)
        assert out == tokenizer.decode(ids[:n]) + "\n"
    write_folder(tmp_path, eos_token_id=ids[0])
    out, error = written(capsys, tmp_path, PROMPT)
    assert out == "\n" and "wrote nothing: the first token ends the text" in error


def test_a_text_as_long_as_the_model_reads(tmp_path, capsys):
    write_folder(tmp_path, "gpt2")  # 64 positions
    assert main("write", "run", "--model", tmp_path, 60 * "7") == 0
    assert "wrote 4 tokens" in capsys.readouterr().err
    error = refused(capsys, "write", "run", "--model", tmp_path, 64 * "7")
    assert "The prompt has 64 tokens; expected fewer than 64" in error


def test_a_file_can_ask_for_a_token_at_the_start(tmp_path):
    entries = "tokenizer.ggml.add_bos_token", "tokenizer.ggml.bos_token_id"
    path = write_gguf(tmp_path / "x.gguf", **dict(zip(entries, (True, START))))
    files = open_model(path)
    ids = files.tokenizer.encode(PROMPT)
    assert write.prompt_ids(files, PROMPT, False) == ([START, *ids], set())


def test_a_chat(tmp_path, capsys):
    changes = {"tokenizer.chat_template": CHATML, "llama.context_length": 256}
    path = write_gguf(tmp_path / "x.gguf", **changes)
    error = refused(capsys, "write", "run", "--model", path, "--chat", PROMPT)
    assert "a chat template of another form; expected ChatML" in error  # no <|im_end|>
    tokens = [token.replace("<|end|>", "<|im_end|>") for token in TOKENS]
    write_gguf(path, **changes, **{"tokenizer.ggml.tokens": tokens})
    files = open_model(path)
    question = "Is <|im_end|> a lower word?"
    ids, ends = write.prompt_ids(files, f" {question}\n", True)
    text = (
        "<|im_start|>system\nBe lower.<|im_end|>\n<|im_start|>user\n"
        f"{question}<|im_end|>\n<|im_start|>assistant\n"
    )
    assert files.tokenizer.decode(ids) == text and ends == {END}
    assert [ids.count(i) for i in (START, END)] == [3, 2]  # the question has none
    found = files.tokenizer.decode(without_cache(path, ids)).partition("<|im_end|>")
    assert written(capsys, path, "--chat", question).out == found[0] + "\n"
    path = write_gguf(tmp_path / "x.gguf")
    error = refused(capsys, "write", "run", "--model", path, "--chat", PROMPT)
    assert "has no chat template; expected ChatML" in error


def weights_of_a_full_pass(model, ids):
    """Return the weights (layers, H, n) of the last token, block by block."""
    stack, found = model.decoder, []
    x = mg.Tensor(stack.embedding.data[ids][None])
    for block in stack.blocks:
        found.append(
            block.self_attn(
                block.self_attn_norm(x), is_causal=True, need_weights=True,
                **stack.scheme.options(block.self_attn),
            )[1].data[0, :, -1]
        )  # fmt: skip
        x, _ = block(x, scheme=stack.scheme)
    return np.array(found)


def test_the_heads_are_those_of_a_full_pass(tmp_path, capsys):
    write_gguf(tmp_path / "x.gguf")
    files, path = open_model(tmp_path), tmp_path / "new" / "heads.png"
    model, ids = files.load(), files.tokenizer.encode(PROMPT)
    with mg.no_grad():
        expected = weights_of_a_full_pass(model, ids)
    for n in len(ids), 1:  # the last of them alone reads itself
        found = weights_at_the_last(model, ids[:n])
        assert found.shape == (*expected.shape[:2], n)
        np.testing.assert_allclose(found.sum(-1), 1, rtol=1e-5)
    found = weights_at_the_last(model, ids)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert all(block.normalize is None for block in model.decoder.blocks)
    text = written(capsys, tmp_path, PROMPT).out
    for name in "heads.png", "heads-2.png":  # an earlier picture stays
        out, error = written(capsys, tmp_path, "--heads", path, PROMPT)
        assert out == text and f"at the last token: {path.parent / name}" in error
    assert {file.name for file in path.parent.iterdir()} == {"heads.png", "heads-2.png"}
    error = refused(
        capsys, "write", "run", "--model", tmp_path, "--heads", "heads.txt", PROMPT
    )
    assert "--heads is heads.txt; expected a name that ends with one of" in error


def test_files_that_cannot_be_used(tmp_path, capsys):
    def error(path):
        return refused(capsys, "write", "run", "--model", path, PROMPT)

    assert "There is no model none: expected a .gguf file" in error("none")
    write_folder(tmp_path, num_hidden_layers=3)
    assert f"{tmp_path}: The file has" in error(tmp_path)
    write_folder(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    assert f"There is no tokenizer in {tmp_path}" in error(tmp_path)
    error = refused(capsys, "write", "run", "runs/none", PROMPT)
    assert "There is no folder runs/none; expected that of a run of" in error


def test_without_a_model_that_of_the_package_writes(capsys):
    assert main("write", "run", "--tokens", 40, "The query") == 0
    out, error = capsys.readouterr()
    assert len(out) == 41 and "wrote 40 tokens" in error
    about = json.loads(BOOK.with_suffix(".json").read_text())
    assert open_writer(BOOK).about == {k: about[k] for k in about if k not in MORE}
    assert about["bits"] < min(about["baselines"].values())
    assert BOOK.stat().st_size < 2e6


def test_ctrl_c_ends_the_text(tmp_path):
    write_folder(tmp_path, max_position_embeddings=10**6)
    process = start("write", "run", "--model", tmp_path, "--tokens", 10**6, PROMPT)
    assert process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130 and error.endswith("\nstopped.\n")
