"""Parallel text and its words: lines that are read, left out or rejected."""

import random
import re
import unicodedata

import pytest

from attention.tasks.parallel_text import read_pairs
from attention.tasks.words import detokenize, tokenize, without_format

PAIRS = [("Go.", "Va !"), ("I don't know.", "Je ne sais pas."), ("Hi.", "Salut.")]


def written(folder, content, name="pairs.txt"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_form_of_anki_with_any_line_ends(end, tmp_path):
    lines = [f"{s}\t{t}\tCC-BY 2.0 (France) #{i}" for i, (s, t) in enumerate(PAIRS)]
    text = read_pairs(written(tmp_path, "\ufeff" + end.join(lines)))
    assert text.pairs == PAIRS and text.skipped == {}
    assert text.report() == "3 pairs read."


def test_lines_without_a_pair_are_reported_by_number(tmp_path):
    content = "Go.\tVa !\n\nno tab here\n\tVa !\nGo.\t\n \t \n Hi. \t Salut. \n"
    text = read_pairs(written(tmp_path, content))
    assert text.pairs == [("Go.", "Va !"), ("Hi.", "Salut.")]
    assert text.skipped == {
        2: "it is empty",
        3: "it has no tab",
        4: "nothing stands before the tab",
        5: "nothing stands after the tab",
        6: "it is empty",
    }
    assert text.report() == (
        "2 pairs read. 5 lines were left out: 2 (it is empty), 3 (it has no tab), 4 "
        "(nothing stands before the tab), 5 (nothing stands after the tab), 6 (it is "
        "empty)."
    )


def test_a_report_names_the_first_few_lines_and_only_line_ends_end_one(tmp_path):
    report = read_pairs(written(tmp_path, "a\tb\n" + "no\n" * 8)).report()
    assert report.startswith("1 pair read. 8 lines were left out: 2 (it has no tab), ")
    assert report.endswith("6 (it has no tab), and 3 more.")
    one = read_pairs(written(tmp_path, "no\na\tb\n")).report()
    assert one == "1 pair read. Line 1 was left out: it has no tab."
    odd = "a\u2028b\x85c\x0bd\x0ce"  # str.splitlines would also split here
    assert read_pairs(written(tmp_path, f"{odd}\tx\n")).pairs == [(odd, "x")]


def test_files_that_are_rejected(tmp_path):
    absent = tmp_path / "none.txt"
    text = written(tmp_path, "one\ntwo\n", "text")
    empty = written(tmp_path, "", "empty")
    latin = written(tmp_path, b"Go.\tVa !\no\xf9\tu\n", "latin")
    wide = written(tmp_path, "Go.\tVa !".encode("utf-16"), "wide")
    for kind, path, fragments in [
        (FileNotFoundError, absent, [str(absent)]),
        (IsADirectoryError, tmp_path, ["is a folder"]),
        (ValueError, written(tmp_path, b"PK\x03\x04\xff", "zip"), ["line 1", "zip"]),
        (ValueError, wide, ["not UTF-8", "0xff"]),
        (ValueError, latin, ["not UTF-8", "line 2", "0xf9"]),
        (ValueError, empty, ["source<TAB>target", "It is empty."]),
        (ValueError, text, ["2 lines were left out: 1 (it has no tab)"]),
    ]:
        with pytest.raises(kind) as caught:
            read_pairs(path)
        for fragment in fragments:
            assert fragment in str(caught.value)


@pytest.mark.parametrize(
    "text, tokens",
    [
        ("I don't know, Tom.", "I don't know , Tom ."),
        ("John's dogs' bones", "John's dogs ' bones"),
        ("It's 1,000.50 or 3.", "It's 1,000.50 or 3 ."),
        ("Qu'est-ce que c'est ?", "Qu' est - ce que c' est ?"),
        ("L'amour d'aujourd'hui", "L' amour d' aujourd'hui"),
        ("jusqu'à lorsqu'il puisqu'on", "jusqu' à lorsqu' il puisqu' on"),
        ("quelqu'un s'est levé", "quelqu'un s' est levé"),
        ("o'clock 'tis", "o'clock ' tis"),
        ("L’été, c’est l’été", "L' été , c' est l' été"),
        ("J' ai", "J ' ai"),
        ("«Oui», dit-il…", "« Oui » , dit - il …"),
        ("Übergrößen 2nd H2O", "Übergrößen 2nd H2O"),
        ("snake_case", "snake _ case"),
        ("wait...", "wait . . ."),
        ("हिन्दी में", "हिन्दी में"),
        ("Привет, мир!", "Привет , мир !"),
        ("a\u202f? b\u00a0!", "a ? b !"),
        ("❤\ufe0f!", "❤\ufe0f !"),
        ("", ""),
        (" \t\n", ""),
    ],
)
def test_tokens(text, tokens):
    assert tokenize(text) == tokens.split()


def test_the_same_word_is_the_same_token():
    assert tokenize("e\u0301te\u0301") == tokenize("été") == ["été"]
    assert tokenize("L'ÉTÉ İ", lower=True) == ["l'", "été", "i\u0307"]


def test_detokenize_gives_the_text_back_or_a_text_with_the_same_tokens():
    for text in (
        "", "I don't know, Tom.", "Est-ce l'ami de Jean (le petit)?", "dogs' bones",
        'He said "no" and "yes".', "It's 'this' and 'that'!", "$5, 50%",
        "and/or snake_case",
    ):  # fmt: skip
        assert detokenize(tokenize(text)) == text
    random.seed(1)
    pieces = [*"ab5 l'\"-_/,.!?()[]«»$%…é’ ", "l'", "qu'", " ", "1.5", "don't", " - "]
    for _ in range(2000):
        text = "".join(random.choices(pieces, k=random.randrange(12)))
        tokens = tokenize(text)
        assert tokenize(detokenize(tokens)) == tokens, text


@pytest.mark.parametrize("texts", [200, pytest.param(2000, marks=pytest.mark.deep)])
def test_no_visible_character_is_lost(texts):
    random.seed(2)
    for _ in range(texts):
        text = "".join(chr(random.randrange(32, 0x600)) for _ in range(20))
        kept = "".join(tokenize(text))
        wanted = re.sub(r"\s", "", unicodedata.normalize("NFC", without_format(text)))
        assert kept.replace("’", "'") == wanted.replace("’", "'")
