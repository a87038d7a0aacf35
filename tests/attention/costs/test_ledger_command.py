"""The command ``python -m attention ledger`` and its tables."""

import itertools
import json
import re
import subprocess
import sys
import time

import pytest

from attention.__main__ import main
from attention.app.arguments import parser_of
from attention.app.commands import ledger
from attention.costs import VARIANTS, table, trials

BYTES = re.compile(r"[\d.]+ k?B$", re.MULTILINE)


def test_the_tables_fit_a_terminal_and_hold_all_variants():
    costs = table.costs(128, 16)
    text = table.text(costs)
    assert max(map(len, text.splitlines())) <= 80
    for variant in VARIANTS:
        assert text.count(f"\n{variant} ") == 2
    options = dict(
        line.split(maxsplit=1) for line in text.splitlines() if "=" in line[14:]
        and line.startswith("  ")
    )  # fmt: skip
    assert options == {
        variant: ", ".join(f"{name}={value}" for name, value in each.items())
        for variant, row in VARIANTS.items()
        if (each := row.options | row.numbers)
    }


def test_long_contexts_are_those_of_exercise_6_4():
    rows = [table.long_context(n, 64) for n in table.LENGTHS]
    text = table.long_contexts_text(rows, 64)
    assert "4.295 GB" in text and "137.4 GB" in text and "67.11 MB" in text
    assert "244.1 MB for n = 1,000,000" in text
    assert table.size(999) == "999 B" and table.size(4e12) == "4 TB"


def test_the_command_and_how_many_variants_a_terminal_shows(monkeypatch, capsys):
    parser = parser_of("ledger")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(time, "monotonic", itertools.count().__next__)
    assert ledger.run(parser.parse_args(["--tokens", "64", "--width", "8"])) == 0
    printed = capsys.readouterr()
    assert "64 queries and keys of width 8" in printed.out
    assert "measured  [" in printed.err and f"1/{len(VARIANTS)}" in printed.err
    assert "measured  [" not in printed.out
    with pytest.raises(ValueError, match="tokens is 100; expected a multiple of 64"):
        ledger.run(parser.parse_args(["--tokens", "100"]))


def test_the_document_has_the_numbers_of_the_tables(capsys):
    args = ["ledger", "--tokens", "64", "--width", "8"]
    assert main(args) == 0
    text = capsys.readouterr().out.rstrip("\n").replace("(0,)", "[0]")  # no tuples
    assert main([*args, "--json"]) == 0
    costs = json.loads(capsys.readouterr().out)
    assert costs["one_head"].keys() == costs["operations"].keys() == VARIANTS.keys()
    assert costs["operations_sizes"] == trials.SMALL
    printed, expected = (re.sub(BYTES, "", each) for each in (table.text(costs), text))
    assert printed == expected  # measured bytes may differ a little
    assert costs["long_contexts"][0]["matrix_bytes"] == 4 * 1000**2


def test_it_compiles_nothing():
    code = (
        "import sys; from attention.__main__ import main; "
        "main(['ledger', '--tokens', '64']); assert 'numba' not in sys.modules"
    )
    command = [sys.executable, "-c", code]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
