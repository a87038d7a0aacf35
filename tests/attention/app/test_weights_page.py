"""The pages of weights: their numbers, their words, and the option --html."""

import html.parser
import json

import numpy as np

from attention.app.pretrained import EN_FR
from attention.plotting.page import weights_page
from attention.published import open_model
from attention.published.heads import weights_at_the_last, weights_of
from attention.seq2seq import translator

from ..published.decoder_cases import write_gguf
from .app_cases import main, refused

PROMPT = "lower 7é"


class Page(html.parser.HTMLParser):
    """What a page holds: its cells, its words, its data, its links."""

    def __init__(self, text):
        super().__init__()
        self.open, self.links = [], []
        self.texts = {"td": [], "th": [], "script": [], "p": [], "title": []}
        self.feed(text)
        self.close()
        self.words, self.cells = self.texts["th"], self.texts["td"][1:]
        self.data = json.loads(self.texts["script"][0])

    def handle_starttag(self, tag, attributes):
        self.links += [v for k, v in attributes if k in ("src", "href")]
        if tag in self.texts:
            self.texts[tag].append("")
            self.open = [tag]

    def handle_endtag(self, tag):
        self.open = []

    def handle_data(self, text):
        if self.open:
            self.texts[self.open[0]][-1] += text

    def matrix(self, k, shape):
        """The numbers of frame k, as the script puts them into the cells."""
        rows = [row.split(" ") for row in self.data["values"][k]]
        return np.array(rows, float).reshape(shape)


def test_a_page_has_the_numbers_of_all_layers_and_heads_and_needs_no_other_file():
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(4), (2, 3, 2))  # (layers, H, L = 2, S = 4)
    weights[1, 2] = np.eye(4)[:2]
    words = ["<le>", "chat & co"], ["the", "black", "cat", "."]
    text = weights_page("A <title>", "the cat", weights, ("target", "source"), *words)
    page = Page(text)
    assert page.words == words[1] + words[0] and page.texts["title"] == ["A <title>"]
    assert not page.links and "</script" not in page.texts["script"][0]
    assert page.data["sliders"] == [["layer", ["0", "1"]], ["head", ["0", "1", "2"]]]
    for k, matrix in enumerate(weights.reshape(-1, 2, 4)):
        np.testing.assert_allclose(page.matrix(k, (2, 4)), matrix, atol=5.001e-4)
    assert page.data["values"][-1] == ["1 0 0 0", "0 1 0 0"]
    shown = np.array(page.cells, float).reshape(2, 4)  # without the script
    assert np.array_equal(shown, page.matrix(0, (2, 4)))
    one = Page(weights_page("A", "", weights[:1, :1], ("a", "b"), *words))
    assert one.data == {} and len(one.cells) == 8


def test_write_run_writes_the_weights_of_its_prompt(tmp_path, capsys, monkeypatch):
    write_gguf(tmp_path / "x.gguf")
    files = open_model(tmp_path)
    model, ids = files.load(), files.tokenizer.encode(PROMPT)
    weights, n = weights_of(model, ids), len(ids)
    np.testing.assert_allclose(weights[:, :, -1], weights_at_the_last(model, ids), 1e-5)
    assert not np.triu(weights, 1).any()  # no token reads a later one
    np.testing.assert_allclose(weights.sum(-1), 1, 1e-5)
    path = tmp_path / "new" / "heads.html"
    run = "write", "run", "--model", tmp_path, "--tokens", 3, "--html"
    assert main(*run, path, PROMPT) == 0
    assert f"page of attention weights: {path}\n" in capsys.readouterr().err
    page = Page(path.read_text("utf-8"))
    assert len(page.words) == 2 * n and page.texts["p"] == [PROMPT]
    for k, matrix in enumerate(weights.reshape(-1, n, n)):
        np.testing.assert_allclose(page.matrix(k, (n, n)), matrix, atol=6e-4)
    monkeypatch.setattr("attention.app.weights_page.LONGEST", n - 1)
    error = refused(capsys, *run, path, PROMPT)
    assert f"the prompt has {n} tokens; expected at most {n - 1}" in error
    error = refused(capsys, *run, "heads.png", PROMPT)
    assert "--html is heads.png; expected a name that ends with .html" in error


def test_translate_run_writes_the_alignment(tmp_path):
    path, sentence = tmp_path / "cat.html", "the cat sleeps ."
    run = "translate", "run", "--html", path
    assert main(*run, sentence) == 0
    found = translator.load(EN_FR).translate(sentence)
    page = Page(path.read_text("utf-8"))
    assert page.words == sentence.split() + found.target
    cells = np.reshape(page.cells, found.weights.shape).astype(float)
    np.testing.assert_allclose(cells, found.weights, atol=6e-4)
    assert main(*run, sentence) == 0  # an earlier page stays
    assert (tmp_path / "cat-2.html").read_text("utf-8") == path.read_text("utf-8")
