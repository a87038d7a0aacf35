import subprocess
import sys

import pytest

from attention.first_model import main


@pytest.mark.deep  # it trains a model
def test_the_first_model_reverses_strings(tmp_path, capsys):
    figure = tmp_path / "weights.png"
    assert main(path=figure) > 0.99
    assert figure.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "step 400  loss 0.00" in printed and str(figure) in printed


@pytest.mark.deep  # it trains a model
def test_a_picture_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "first_model.png").mkdir()  # a folder of this name
    command = [sys.executable, "-m", "attention.first_model"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert f"{tmp_path / 'first_model.png'}.\nRun it in a folder that" in done.stderr
