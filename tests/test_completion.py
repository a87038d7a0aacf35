"""The scripts of ``--completion bash``, run by bash."""

import os
import shutil
import subprocess
import sys

import pytest

from attention.app.arguments import COMMANDS
from attention.app.configs import TASKS
from lessons.classroom.catalogue import exercises

pytestmark = pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
IDS = [exercise.id for exercise in exercises()]
COMPLETE = """
source "$1" && source "$2"
shift 2
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_python_m
echo "${COMPREPLY[@]}"
complete -p python
"""
CASES = {  # what is typed, of which the last word is completed: the words that follow
    "python -m attention ": list(dict.fromkeys(name.split()[0] for name in COMMANDS)),
    "python -m attention tr": ["translate"],
    "python -m attention translate ": ["train", "run", "score", "words"],
    "python -m attention translate run --fi": ["--figure"],
    "python -m attention translate train --steps 5 --ce": ["--cell"],
    "python -m attention translate train --cell ": ["gru", "lstm"],
    "python -m attention translate train --cell = g": ["gru"],
    "python -m attention translate train --cell =": ["gru", "lstm"],
    "python -m attention translate train --task ": [*TASKS],
    "python -m attention translate run --figure ": [],  # bash completes the path
    "python -m attention reversal --scores dot,a": ["dot,additive"],
    "python -m attention $(exit)] le": ["ledger"],
    "python -m lessons che": ["check"],
    "python -m lessons dev a": ["audit"],
    "python -m lessons dev check sc": ["score"],
    "python -m lessons start 38.": [id for id in IDS if id.startswith("38.")],
    "python -m lessons read st": ["start"],
    "python -m lessons grade class --only E.1,38.5": ["E.1,38.5"],
    "python -m pytest ": [],
    "python script.py ": [],
}


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """The two scripts, in files."""
    found = []
    for module in "attention", "lessons":
        found.append(tmp_path_factory.mktemp("scripts") / module)
        command = [sys.executable, "-m", module, "--completion", "bash"]
        found[-1].write_text(subprocess.check_output(command, text=True))
    return found


@pytest.mark.parametrize("typed", CASES)
def test_bash_completes_the_last_word(typed, scripts):
    command = ["bash", "--norc", "-c", COMPLETE, "bash", *scripts, *typed.split(" ")]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    words, complete = done.stdout.splitlines()
    assert (words.split(), done.stderr) == (CASES[typed], "")
    assert complete == "complete -o default -F _python_m python"


@pytest.mark.parametrize("module", ["attention", "lessons"])
def test_another_shell_is_refused(module):
    command = [sys.executable, "-m", module, "--completion", "bush"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and not done.stdout
    assert "Did you mean 'bash'?" in " ".join(done.stderr.split())
