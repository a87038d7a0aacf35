"""The table of variants and of positions: the rows at the foot of their pages.

    VARIANTS["coverage"].multiplications          a formula, see row.py
    SCORES["general"].layer(Dq, Dk, rng)          GeneralAttention(Dq, Dk, rng=rng)
    POSITIONS["alibi"].scheme(config, causal, rng)     the scheme of a Transformer

The choices of configs and options, help texts, ``python -m attention ledger`` and
``variants``, and lists of tests are made from these rows. They are found by walking the
packages, so that a page is read without a second list (CONTRIBUTING.md). The order is
that of the course: by lesson, then by page.
"""

import importlib
import pkgutil
from dataclasses import replace

from ..positions.scheme import Position
from .row import About, Normalizer, Pattern, Score, Variant


MODULES, FOLDERS = ("layers", "softmax"), ("exact", "variants", "masks", "positions")


def _pages():
    """Yield all modules that may have rows."""
    for name in MODULES:
        yield importlib.import_module(f"attention.{name}")
    for name in FOLDERS:
        folder = importlib.import_module(f"attention.{name}")
        for module in pkgutil.iter_modules(folder.__path__, f"{folder.__name__}."):
            if module.name != __name__:
                yield importlib.import_module(module.name)


def _rows():
    """Return the rows of all pages, in the order of the lessons."""
    rows = []
    for page in _pages():
        file = "/".join(page.__name__.split(".")[1:]) + ".py"
        rows += [replace(row, file=file) for row in getattr(page, "ROWS", ())]
    return sorted(rows, key=lambda row: About.of(row).lesson or 99)


def _of(kind):
    """Return {name: row} of the rows of a kind; ValueError for two of one name."""
    found = {}
    for row in _ALL:
        if isinstance(row, kind) and found.setdefault(row.name, row) is not row:
            raise ValueError(
                f"{row.file} and {found[row.name].file} have a row {row.name!r} each; "
                "expected another name for one of them."
            )
    return found


_ALL = _rows()
VARIANTS, POSITIONS = _of(Variant), _of(Position)
SCORES, NORMALIZERS, PATTERNS = _of(Score), _of(Normalizer), _of(Pattern)


def evaluations_of(position):
    """Return the positions that a model trained with ``position`` is evaluated with.

    A model of "rope+linear", with other angles than "rope", is trained with "rope".
    """
    return [name for name in POSITIONS if name.partition("+")[0] == position]
