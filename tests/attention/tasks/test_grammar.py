"""The translation grammars: correct sentences, and sets without common ones."""

import hashlib
import pathlib

import numpy as np
import pytest

from attention.tasks import grammar
from attention.tasks.grammar import GRAMMARS, dataset, english
from attention.tasks.grammar.draw import Drawer
from attention.tasks.grammar.sentence_pairs import Pair

from ...messages import check_message

TASKS = tuple(grammar.TASKS)
GOLDEN = pathlib.Path(__file__).parents[2] / "golden"


def pairs(task):
    """Return 1500 pairs as lines "source | target"."""
    found = grammar.generate(task, 1500, seed=11)
    return {f"{' '.join(pair.source)} | {' '.join(pair.target)}" for pair in found}


@pytest.fixture(scope="module")
def sets():
    return {task: grammar.splits(task) for task in TASKS}


def test_every_grammar_is_a_task_of_the_commands():
    assert tuple(GRAMMARS.values()) == TASKS


def reviewed(task):
    """Return pairs that a reader has found right.

    Together they have each form of each word, go through each branch of the grammar's
    code, and have each tense, order, kind of object and negation of the sample.
    """
    return set((GOLDEN / f"{task}.txt").read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("task", TASKS)
def test_the_reviewed_sentences_are_drawn_and_have_every_word_of_the_sample(task):
    known, drawn = reviewed(task), pairs(task)
    assert known <= drawn
    assert {*" ".join(known).split()} == {*" ".join(drawn).split()}


@pytest.mark.parametrize("task", TASKS)
def test_no_sentence_can_be_translated_in_two_ways(task):
    lexicon, sentence = grammar.TASKS[task]
    drawer, known = Drawer(lexicon, np.random.default_rng(5)), {}
    for _ in range(2500):
        meaning = drawer.sentence()
        pair = Pair.of(english.sentence(meaning), sentence(meaning))
        assert known.setdefault(pair.source, pair) == pair


HASHES = {"english-german": "aff87b9da395ba01", "english-french": "5826cfa3fae0a2d4"}


@pytest.mark.parametrize("task", TASKS)
def test_a_seed_always_gives_the_same_data_set(task):
    """The same sentences with the same links, which follow from the meanings."""
    first = grammar.generate(task, 1500, seed=0)
    text = "\n".join(str(pair) for pair in first)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == HASHES[task]
    assert grammar.generate(task, 100, seed=0) == first[:100]
    assert grammar.generate(task, 100, seed=1) != first[:100]
    for pair in first:
        linked = pair.matrix()
        assert linked.shape == (len(pair.target), len(pair.source))
        assert linked.dtype == bool and linked.any(0).all() and linked.any(1).all()
        assert {*zip(*np.nonzero(linked))} == pair.alignment


@pytest.mark.parametrize("task", TASKS)
def test_splits_share_no_sentence(task, sets):
    train, validation, test = sets[task]
    assert [len(part) for part in sets[task]] == [500, 100, 200]
    for side in ("source", "target"):
        sides = [{getattr(p, side) for p in part} for part in sets[task]]
        assert [len(each) for each in sides] == [500, 100, 200]
        assert len(set.union(*sides)) == 800
    larger = grammar.splits(task, train=900)
    assert larger.test == test and larger.validation == validation
    assert larger.train[:500] == train


@pytest.mark.parametrize("task", TASKS)
def test_the_training_set_has_the_words_of_the_test_set(task, sets):
    train, _, test = sets[task]
    for side in ("source", "target"):
        known = {word for pair in train for word in getattr(pair, side)}
        assert 80 <= len(known) <= 150
        tokens = [word for pair in test for word in getattr(pair, side)]
        assert np.mean([word in known for word in tokens]) > 0.998


@pytest.mark.parametrize("task", TASKS)
def test_lengths_are_spread_over_the_buckets(task, sets):
    buckets = grammar.by_length(sets[task].train)
    assert {name: len(each) for name, each in buckets.items()} == {
        "5-7": 167, "8-10": 167, "11-15": 166,
    }  # fmt: skip
    for name, each in buckets.items():
        low, high = map(int, name.split("-"))
        lengths = {len(pair.source) for pair in each}
        assert lengths == set(range(low, high + 1))  # every one of them
    assert max(len(pair.target) for pair in sets[task].train) <= 20


@pytest.mark.deep
@pytest.mark.parametrize("task", TASKS)
def test_the_largest_number_of_pairs(task):
    many = grammar.generate(task, grammar.MOST, seed=3)
    assert len({pair.source for pair in many}) == grammar.MOST
    assert len({pair.target for pair in many}) == grammar.MOST
    lengths = [{len(getattr(p, side)) for p in many} for side in ("source", "target")]
    ranges = {
        "english-german": "German target 4 to 18",
        "english-french": "French target 5 to 19",
    }
    numbers = [f"{min(each)} to {max(each)}" for each in lengths]
    text = " ".join(dataset.__doc__.split())
    assert f"A source has {numbers[0]} tokens" in text and numbers[1] in ranges[task]
    assert ranges[task] in text


GENERATE, SPLITS = grammar.generate, grammar.splits
MESSAGES = [
    (lambda: GENERATE("english-dutch", 3), ["'english-dutch'", "'english-german'"]),
    (lambda: GENERATE("english-german", 50_001), ["50001 pairs", "at most 50000"]),
    (
        lambda: SPLITS("english-french", train=50_000),
        ["splits: found 50300 pairs", "at most"],
    ),
    (lambda: GENERATE("english-german", -1), ["n is -1", "0 or more"]),
]


@pytest.mark.parametrize("call, fragments", MESSAGES)
def test_messages(call, fragments):
    check_message(call, fragments)


def test_no_pairs_and_no_links():
    short = Pair(("hello", "."), ("hallo", "."), frozenset())
    assert grammar.generate("english-german", 0) == []
    assert not short.matrix().any()
