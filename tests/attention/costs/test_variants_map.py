"""The map of the variants: no empty cell, true files and sources, the right orders."""

import dataclasses
import pathlib
import re

import numpy as np
import pytest

import attention
from attention.__main__ import main
from attention.costs import variants_map
from attention.costs.counted import OpCounter
from attention.costs.formulas import shapes_of, value_of
from attention.variants.row import PARTS, About
from attention.variants.table import POSITIONS, VARIANTS

FOLDER = pathlib.Path(attention.__file__).parent
LESSONS = FOLDER.parent / "lessons" / "book"
ROWS = variants_map.map_rows()
ORDERS = {  # of some rows
    "n sqrt(n)": ("axial", "strided"),
    "n": ("local-p", "linear", "evict", "isab", "window", "bigbird", "gla", "performer"),
    "n^2": ("additive", "dense", "tiled", "sparsemax", "nsa", "pointer", "position t5"),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_has_no_empty_cell_and_its_file_cites_its_source(name):
    about, _ = ROWS[name]
    assert about.part in PARTS
    for text in about.changes, about.can, about.cannot, about.task:
        assert text[-1] not in ".;," and text == text.strip()
    path = FOLDER / about.file
    assert path.exists(), f"{name}: there is no attention/{about.file}"
    text = path.read_text("utf-8").partition("\nROWS = ")[0]  # the row names it anyway
    code = re.sub(r"\s+", " ", text)
    if about.source != "Own":
        assert about.source in code, f"{about.file} does not cite {about.source!r}"
        assert 1950 < int(about.year) < 2030
    if about.lesson is not None:
        written = list(LESSONS.glob(f"{about.lesson:02d}_*"))
        assert written, f"{name}: no lesson {about.lesson}"


def test_a_text_without_a_cell_is_refused():
    row = VARIANTS["dot"]
    assert About.of(row).can == "be one matrix product, without parameters"
    for cell in "score: ", "\n        can ", "\n        cannot ", "lesson 4", "; ":
        assert cell in row.about
        with pytest.raises(ValueError, match="the row 'dot' has no ``about``"):
            About.of(dataclasses.replace(row, about=row.about.replace(cell, " ")))


def test_a_row_of_ones_own_needs_neither_a_publication_nor_a_lesson():
    own = "score: s = 0\n can nothing\n cannot a thing\n not shown yet; Own"
    about = About.of(dataclasses.replace(VARIANTS["dot"], about=own))
    assert (about.task, about.lesson, about.source) == ("not shown yet", None, "Own")
    assert about.year == ""


@pytest.mark.parametrize("order", ORDERS)
def test_the_order_of_the_cost(order):
    assert {name: ROWS[name][1] for name in ORDERS[order]} == dict.fromkeys(
        ORDERS[order], order
    )


def test_an_order_that_is_none_is_refused():
    assert variants_map.growth(8, 16) == "n"
    assert variants_map.growth(8, 8 * 2**1.5) == "n sqrt(n)"
    with pytest.raises(ValueError, match="grows with the power 3.0"):
        variants_map.growth(1, 8)


def test_the_orders_follow_the_formulas(monkeypatch):
    assert variants_map.order_of("window") == "n"
    monkeypatch.setitem(VARIANTS["window"].options, "left", 10**8)  # all keys before
    assert variants_map.order_of("window") == "n^2"


@pytest.mark.parametrize("name", POSITIONS)
def test_the_formula_of_a_position_is_what_its_definition_computes(name):
    row, ops, rng = POSITIONS[name], OpCounter(), np.random.default_rng(0)
    letters = dict(L=6, S=8, E=4)
    shapes = shapes_of(f"q (L, E), k (S, E), {row.inputs}", letters).values()
    q, k, *others = (ops.array(rng.standard_normal(shape)) for shape in shapes)
    if row.scheme.changes == "scores":
        row.definition(q, k, *others)
    else:
        if row.scheme.changes == "queries and keys":
            w = ops.array(np.ones(2))
            q, k = (row.definition(x, np.arange(len(x)), w) for x in (q, k))
        POSITIONS["none"].definition(q, k)  # a change of the input is outside the layers
    assert ops.multiplications == value_of(row.multiplications, letters)


def test_the_command_fits_a_terminal_and_has_every_row(capsys):
    assert main(["variants"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    for name, (about, order) in ROWS.items():
        head = rf"\n{re.escape(name)} +{about.part} +cost {re.escape(order)}\s"
        assert len(re.findall(head, text)) == 1
    assert text.count("\n  cannot ") == len(ROWS)
