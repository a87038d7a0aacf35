"""The results of a run, as a notebook shows them."""

import json

import pytest

from attention.app.results import Results


def test_the_numbers_and_pictures_of_a_folder(tmp_path):
    runs = [
        {"kind": "dot", "accuracy": 0.500049, "losses": [1.0, 2.0], "sample": "a\nb"},
        {"kind": "<b>", "accuracy": 0.25, "losses": []},
    ]
    (tmp_path / "results.json").write_text(json.dumps({"config": {}, "runs": runs}))
    (tmp_path / "loss.png").write_bytes(b"\x89PNG")
    found = Results(tmp_path)
    assert found.rows() == [["kind", "accuracy"], ["dot", 0.5], ["<b>", 0.25]]
    assert repr(found).splitlines()[1:] == ["kind  accuracy", "dot  0.5", "<b>  0.25"]
    html = found._repr_html_()
    assert "&lt;b&gt;" in html and "<b>" not in html and "losses" not in html
    assert 'src="data:image/png;base64,iVBORw==" alt="loss"' in html


def test_the_results_of_a_single_run_and_a_folder_without_any(tmp_path):
    (tmp_path / "results.json").write_text('{"bits": 2.5, "config": {"seed": 1}}')
    assert Results(str(tmp_path)).rows() == [["bits"], [2.5]]
    for text in (None, "[]", '{"runs": []}', "{"):
        folder = tmp_path / "none"
        if text is not None:
            folder.mkdir(exist_ok=True)
            (folder / "results.json").write_text(text)
        with pytest.raises(ValueError, match="none/results.json cannot be read .*; ex"):
            Results(folder)
