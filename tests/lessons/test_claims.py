"""Every claim that a box quotes has a verdict, and the verdicts compare rightly."""

import re

import pytest

from lessons.classroom.catalogue import BOOK, lesson_folders, number
from lessons.instrument import verdict as rule
from lessons.pages import claims

LAST = (BOOK / "14_checks_the_book" / "README.md").read_text(encoding="utf-8")
SECTION = r"(?:exercise )?\d+(?:\.\d+)+|chapter \d+|notes|scoring"


@pytest.mark.parametrize("folder", lesson_folders(), ids=number)
def test_what_a_box_quotes_is_in_the_table_of_lesson_14(folder):
    page = (folder / "README.md").read_text(encoding="utf-8")
    box = re.compile(r"^> \*\*The book says\*\* \((.*?)\)", re.M | re.S)
    for quoted in box.findall(page):
        found = re.findall(SECTION, quoted.replace("\n> ", " "))
        texts = [x.removeprefix("chapter ").replace("exercise", "ex.") for x in found]
        rows = rf"^\| (?:{'|'.join(texts)})[\d.]* \|.*\[{number(folder)}\]\(\.\./"
        assert texts and re.search(rows, LAST, re.M), f"{folder.name}: {quoted}"


def test_lesson_14_has_every_claim():
    for row in (row for rows in claims.read().values() for row in rows):
        assert f"| {row['text']} | {row['says']} | {row['found']} |" in LAST, row


def test_a_verdict_compares_an_interval_with_a_range():
    for ends, word in (((1, 2), "holds"), ((-2, -1), "no"), ((-1, 2), "undecided")):
        assert rule.verdict(rule.above(0), rule.Measured(0, *ends)) == word
    claims.CLAIMS.clear()
    for x in (0.4949, 0.4951, 0.5049, 0.5199, 0.5201):
        claims.claim("6", "a half", "0.50", x)
    claims.claim("6", "seven", "7", 8)
    said = [row["verdict"] for row in claims.CLAIMS]
    assert said == ["near", "holds", "holds", "near", "no", "no"]
