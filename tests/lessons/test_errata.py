"""What the source chapters get wrong, number by number: where it is computed.

ERRATA.md, which came with the chapters, has 44 entries. Each that can be computed is
here with the lesson, the heading and something that is to be read below it: the number
that decides, as the page has it. So none gets lost when a lesson is written anew, and a
number that changes is noticed. The others are here with the reason.
"""

import importlib
import math
import re

import pytest

from attention.app.experiments import verdict as rule
from lessons.classroom.catalogue import lesson_folders, number

LAST = "lessons.book.14_checks_the_book"
claims = importlib.import_module(f"{LAST}.claims")

ENTRIES = range(1, 45)

EXACT, DRAWN, TRAINED = "What can be computed", "What is drawn", "What was trained"

# entry: (lesson, the heading begins with, what is to be read there), one or several
COMPUTED = {
    1: [
        ("03", "Can you do it", "e 0.047"),
        ("03", "Can you do it", "weights [0.297 0.213 0.197 0.293]"),
        ("14", EXACT, "the score of word 3 is 0.512 | 0.04722 | **no**"),
    ],
    2: [("03", "Where does the context go", "s_1 = [-0.18 0.272 0.309")],
    3: [
        ("03", "Why a softmax", "[ 0.286 -0.571 0.143], total -0.143"),
        ("14", EXACT, "sum to 1: [1, -2, 0.5] | -0.1429 | **no**"),
    ],
    4: [
        (
            "10",
            "And if the keys",
            "self: unchanged False shuffled in the same way True",
        ),
        ("14", EXACT, "does not change the outputs | they are shuffled"),
    ],
    6: [
        ("04", "What does each score cost", "d = 128: 1,644,800 d to the 1.99"),
        (
            "14",
            EXACT,
            "once: cost proportional to T d (factor when d doubles: 2.00) | 3.438",
        ),
    ],
    7: [
        ("04", "What does each score cost", "at once: True"),
        ("04", "What does each score cost", "675,600 bytes for 50 queries, tanhs"),
        ("14", EXACT, "source position | one expression for all gives the same"),
    ],
    8: [
        ("14", DRAWN, "the centre goes back, for random queries) | 0.5"),
        ("08", "Is local-p a mask", "0.2 0.1213 0.0271] sum 0.4967"),
    ],
    11: [
        ("09", "What does it cost", "T 64 attention 4 + 50 recurrence 34"),
        ("14", EXACT, "over those of the recurrence) | 0.1953 | **no**"),
        ("14", EXACT, "queries, keys and values) | 1.695 | holds"),
    ],
    13: [("10", "Do heads become", "cosine of the two heads 1.00")],
    14: [
        ("13", "Does it use what", "for 0.79 of these it is the one looked at most"),
        ("14", TRAINED, "removing it costs most: nearly all, 0.95) | 0.7"),
    ],
    15: [
        ("12", "What does the matrix", "1,000 tokens 4 MB the same at d = 64: True"),
        ("12", "What does the matrix", "32,768 tokens 4.295 GB"),
        ("12", "What does the matrix", "32 heads: 137.4 GB"),
    ],
    16: [
        ("09", "Why not one vector", "as it is on itself 0.987 entropy 0.04"),
        ("09", "Why not one vector", "scaled on itself 0.778 entropy 0.806"),
        ("14", DRAWN, "0.987 [0.985, 0.989], with projections 0.13"),
    ],
    17: [
        ("09", "At which temperature", "5.0 1.077 0.245 0.245 0.055 2.007"),
        ("14", DRAWN, "over ln 8: 0.95 or more) | 0.521"),
    ],
    18: [("09", "How far is it", "it to animal: 7")],
    19: [
        ("07", "Do we get these", "scaled loss 0.0287 3: 0.408 5: 0.173"),
        ("07", "What did the models see", "probability of a shorter batch 8.6e-06"),
        ("07", "What did the models see", "general 1.000, scaled 1.000"),
        ("07", "What do they do with", "dot 0.375 0.000 0.000 0.000 0.000"),
        ("07", "The controlled", "scaled loss 0.0159 3: 1.000 5: 1.000"),
        ("07", "Do we get these", 'the verdict on scaled is "undecided"'),
        ("14", TRAINED, "0.0418 [0.00574, 0.0778] | 3 seeds | **undecided**"),
        ("14", TRAINED, "padded to 8: below 0.5) | 1 | 3 seeds | **no**"),
        ("14", TRAINED, "at 10 letters alone) | 0.250 [0.0889, 0.532] | 3 of 12"),
    ],
    20: [
        ("04", "What does each score cost", "96: 128,509 the score 8,256"),
        ("14", EXACT, "share of additive is 0.99 (in its own table) | 0.9460"),
        ("14", EXACT, "dot in the code; 55517 at width 64) | 109981 | **no**"),
    ],
    21: [
        (
            "05",
            "Does a saturated",
            "unit variance is scale 1.63: 0.170 scale 10: 0.244",
        ),
        ("05", "Does a saturated", "peak at scale 5.9: 0.291, where p is 0.54"),
        ("14", EXACT, "(below a tenth of the peak) | 0.2442 | **no**"),
    ],
    22: [
        ("05", "Does a saturated", "uniform trace 0.9375 Frobenius 0.2421"),
        ("05", "Does a saturated", "tie of two trace 0.5000 Frobenius 0.5000"),
        ("14", EXACT, "the score of another key) | 0.003906 | **no**"),
    ],
    23: [
        (
            "05",
            "How much is lost",
            "0.41 nats *below* the uniform line at $T = 16$, 0.47",
        ),
        ("14", DRAWN, "(ln 16 minus entropy: below 0.05 nats) | 0.410"),
    ],
    24: [
        ("05", "How much is lost", "d = 256 entropy 0.19"),
        ("14", DRAWN, "about 0 at d = 256 (below 0.05 nats) | 0.197"),
    ],
    25: [("05", "How large is a dot", "d = 64 mean book -0.106, ours")],
    26: [("05", "What does softmax make", "scaled largest weight 0.243 0.246 0.247")],
    27: [
        ("08", "Where does the window", "Luong's local-m: unseen keys 1"),
        ("14", EXACT, "of the lengths) | 15"),
        ("14", EXACT, "over the centre, D = 2: 1) | 0.1353 | **no**"),
    ],
    28: [
        ("10", "Which triangle", "i <= j an output moved by a later token: True"),
        ("14", EXACT, "the other one shows the answer | **no**"),
    ],
    29: [
        ("04", "Project the key", "shapes of W^T h: (7, 4) (7,)"),
        ("04", "What can each score say", "values of W_g: [1.041 0.527 0.359 0.093]"),
        ("14", EXACT, "it is $W_g h$, for widths 4 and 7 | **no**"),
    ],
    30: [
        ("04", "What can each score say", "-I best key first: [3 2 1 0 4]"),
        ("14", EXACT, "with the matrix $-I$ general falls | **no**"),
    ],
    31: [("05", "The mean and the typical", "d = 1024 mean 1.61 median 0.00048")],
    35: [
        ("04", "What does each score cost", "concat score 216 (38.6: 216)"),
        ("14", EXACT, "2,500, which share 100 products with a matrix | holds"),
    ],
    37: [("04", "Project the key", "s.(W h_j): True")],
    38: [("04", "What do the four", "general e = +0.3471 printed +0.3471")],
    39: [("04", "What do the four", "additive e = -0.6569 printed -0.6569")],
    40: [("14", EXACT, "half of them on either side) | 512 | holds")],
    41: [
        ("12", "Which pairs", "bigbird n to the 1.00"),
        ("14", EXACT, "n to the 1.5 (exponent) | 1.001 | **no**"),
    ],
    42: [
        ("11", "Sines", "PE[p + 7] = R(7) PE[p]: True"),
        ("11", "Which of them work", "t5, 32 buckets"),
        ("14", EXACT, "129 from 5000 tokens away | they share one bucket | **no**"),
    ],
    43: [("12", "And by the clock", "8192 tokens: 2.")],
    44: [
        ("06", "Why not a large", "nothing allowed sentinel [0.25 0.25 0.25 0.25]"),
        ("06", "How do I use it", "dot product train context (2, 1, 4)"),
        ("06", "How do I use it", "expected (..., L, query_size) = (..., L, 20)"),
    ],
}
PAPER = "it is about what a paper says or shows, and no arithmetic decides it"
HISTORY = "it is about who was first or which product uses what"
NOT_COMPUTED = {
    5: f"Bahdanau translated English to French: {PAPER}; 09 and 13 say so in words",
    9: f"which figure of Cho and others is the curve of lengths: {PAPER}",
    10: f"what stands in Bahdanau's appendix: {PAPER}; 03 derives the gradient",
    12: f"what Clark and others found in BERT: {PAPER}; 09 draws the missing pattern",
    32: f"what Luong and others compared, and on which data: {PAPER}",
    33: f"the first variant, Q, K and V in 1991: {HISTORY}",
    34: f"whose idea coverage is, how models avoid repetition: {HISTORY}; see 08",
    36: f"local attention in Mistral, Gemma and others: {HISTORY}; see 08",
}


def test_every_entry_has_its_place():
    assert sorted([*COMPUTED, *NOT_COMPUTED]) == list(ENTRIES)
    assert all(len(reason) > 40 for reason in NOT_COMPUTED.values())


@pytest.mark.parametrize("entry", COMPUTED)
def test_what_an_entry_says_is_on_the_page(entry):
    for lesson, heading, words in COMPUTED[entry]:
        below = section(lesson, heading)
        assert words in below, f"lesson {lesson}, {heading!r}: {words!r} is not there"


def section(lesson, heading):
    """A section of a page, without its code and the marks of its quotes, on one line."""
    [folder] = [f for f in lesson_folders() if number(f) == lesson]
    text = (folder / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"^```python\n.*?^```$", "", text, flags=re.M | re.S)
    text = re.sub(r"^> ?", "", text, flags=re.M)
    found = re.findall(rf"^## ({re.escape(heading)}.*?)(?=^## |\Z)", text, re.M | re.S)
    assert len(found) == 1, f"lesson {lesson}: {len(found)} headings {heading!r}"
    return " ".join(found[0].split())


def boxes(folder):
    """The texts of the boxes "The book says" of a lesson, each on one line."""
    script = (folder / "lesson.py").read_text(encoding="utf-8")
    quotes = re.findall(r"(?:^# >.*\n)+", script, re.M)
    texts = [
        " ".join(re.sub(r"^# > ?", "", quote, flags=re.M).split()) for quote in quotes
    ]
    return [text for text in texts if text.startswith("**The book says**")]


@pytest.mark.deep
def test_every_box_of_the_book_has_a_row_in_lesson_14():
    for name in ("chapter_6", "chapter_38", "notes", "trainings"):
        importlib.import_module(f"{LAST}.{name}")
    rows = [(c.lesson, c.box) for c in claims.CLAIMS]
    rows += [(lesson, box) for *_, lesson, box in claims.IN_WORDS]
    rows = [(lesson, box) for lesson, box in rows if box]
    every = {number(folder): boxes(folder) for folder in lesson_folders()}
    for lesson, box in rows:
        assert any(box in text for text in every[lesson]), f"{lesson}: no box {box!r}"
    for lesson, texts in every.items():
        mine = [box for where, box in rows if where == lesson]
        for text in texts:
            advice = "state the claim in a module beside lesson 14"
            assert any(box in text for box in mine), f"{lesson}: {text}\n{advice}"


def test_a_verdict_compares_an_interval_with_a_range():
    interval = [rule.Measured(0, *ends) for ends in ((1, 2), (-2, -1), (-1, 2))]
    said = [rule.verdict(rule.above(0), found) for found in interval]
    assert said == ["holds", "no", "undecided"]
    said = [
        rule.verdict(claims.printed("0.50"), claims.computed(x))
        for x in (0.4949, 0.4951, 0.5049, 0.5199, 0.5201)
    ]
    assert said == ["near", "holds", "holds", "near", "no"]
    assert rule.verdict(claims.printed("7"), claims.computed(8)) == "no"


def test_shares_stay_between_0_and_1_and_seeds_are_counted():
    cut = claims.shares([0.3, 0.9], trained=3)
    assert (cut.low, cut.high) == (0, 1) and "2 of 3 seeds" in cut.rests_on
    whole = claims.shares([0.40, 0.41])
    assert whole.low == claims.seeds([0.40, 0.41]).low > 0
    found = claims.count([0.98, 0.4, 0.32], rule.below(0.5))
    assert found.rests_on == "2 of 3 seeds" and found.value == 2 / 3
    assert (found.low, found.high) == (rule.share(2, 3).low, rule.share(2, 3).high)


def test_student_and_wilson_satisfy_their_equations():
    assert math.isclose(rule.student(2), math.tan(0.475 * math.pi), rel_tol=1e-3)
    t = rule.student(3)  # two degrees of freedom: F(t) = 1/2 + t / (2 sqrt(2 + t^2))
    assert math.isclose(0.5 + t / 2 / math.sqrt(2 + t * t), 0.975, rel_tol=1e-5)
    t = rule.student(3, 0.9999)
    assert math.isclose(0.5 + t / 2 / math.sqrt(2 + t * t), 0.9999, rel_tol=1e-7)
    found = rule.share(3, 12)
    for p in (found.low, found.high):
        assert math.isclose(abs(3 / 12 - p), claims.Z * math.sqrt(p * (1 - p) / 12))
    assert claims.seeds([1.0]).high == math.inf
