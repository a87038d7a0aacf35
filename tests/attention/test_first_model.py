import pytest

from attention.first_model import main


@pytest.mark.deep  # it trains a model
def test_the_first_model_reverses_strings(tmp_path, capsys):
    figure = tmp_path / "weights.png"
    assert main(path=figure) > 0.99
    assert figure.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "step 400  loss 0.00" in printed and str(figure) in printed
