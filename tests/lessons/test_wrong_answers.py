"""Answers as learners write them: the wrong ones fail with a name, the right ones pass.

Each case is an edit of the reference answer. The check names the mistake, and its report
contains the words that follow.
"""

import pytest

from lessons.classroom import catalogue
from lessons.classroom.authors import run

from .classroom_cases import answer

IMPORTS = [
    ("E.11", "import numpy as np",
     "import numpy as np\nfrom lessons.solutions.ex_e_11 import rope as known",
     "imports-answer", "the reference's rope"),
    ("E.11", "import numpy as np", "import numpy as np\nimport attention.positions",
     "imports-answer", "the library's attention.positions"),
    ("E.2", "import numpy as np", "import numpy as np\nfrom minigrad import Tensor",
     "imports-answer", "the library's Tensor"),
    ("6.7", "pathlib.Path(path).read_bytes()", "mg.safetensors.read(path, 1)",
     "imports-answer", "the library's safetensors"),
    ("6.5", "import numpy as np",
     "import numpy as np\nfrom importlib import import_module\n"
     "answer = import_module('lessons.solutions.ex_6_5')", "imports-answer", "line "),
    ("6.1", "import numpy as np", "import numpy as np\nimport pytest",
     "imports-answer", "the library's pytest"),
    ("E.7", "import numpy as np",
     "import numpy as np\n\ndef easy():\n    np.isclose = lambda *a, **k: np.ones(1)",
     "patches", "np.isclose = lambda"),
]  # fmt: skip
WRONG = IMPORTS
RIGHT = [
    ("E.5", "import numpy as np", "import numpy as np\nimport minigrad as mg"),
    ("E.2", "import numpy as np", "import functools\nimport numpy as np"),
]


@pytest.mark.parametrize("id, old, new, tag, words", WRONG)
def test_a_wrong_answer_is_named(id, old, new, tag, words):
    code, failed = run(catalogue.find(id), answer(id, old, new))
    assert (code, failed and failed.tag) == (1, tag), failed
    assert words in " ".join(failed.lines)


@pytest.mark.parametrize("id, old, new", RIGHT)
def test_a_right_answer_passes(id, old, new):
    assert run(catalogue.find(id), answer(id, old, new)) == (0, None)
