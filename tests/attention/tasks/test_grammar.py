"""The translation grammars: correct sentences, and sets without common ones."""

import hashlib

import numpy as np
import pytest

from attention.choices import GRAMMARS
from attention.tasks import grammar
from attention.tasks.grammar import dataset, english
from attention.tasks.grammar.draw import Drawer
from attention.tasks.grammar.sentence_pairs import Pair

from ...messages import check_message
from . import english_french_checkers as checkers
from . import german_checker

TASKS = tuple(grammar.TASKS)
CHECKS = {
    "english": checkers.english,
    "german": lambda words: german_checker.problem(words) is None,
    "french": checkers.french,
}


@pytest.fixture(scope="module")
def samples():
    return {task: grammar.generate(task, 1500, seed=11) for task in TASKS}


@pytest.fixture(scope="module")
def sets():
    return {task: grammar.splits(task) for task in TASKS}


def test_every_grammar_is_a_task_of_the_commands():
    assert tuple(GRAMMARS.values()) == TASKS


@pytest.mark.parametrize("task", TASKS)
def test_every_sentence_is_correct(task, samples):
    target = task.split("-")[1]
    wrong = [p.source for p in samples[task] if not CHECKS["english"](p.source)]
    wrong += [p.target for p in samples[task] if not CHECKS[target](p.target)]
    assert not wrong, [" ".join(words) for words in wrong[:5]]


RIGHT_AND_WRONG = {
    "english": """
the old man sees a dog . | the old man see a dog .
he does not buy an egg . | he does not buys an egg .
the women have seen an old cat . | the women have seen a old cat .
they do not sleep . | they does not sleep .
she gave the book to him today . |
the boy 's cat has eaten . |
we can call her . | we can calls her .
she gives him the cake . | she gives the cake him .
the small black cat sleeps . | the black small cat sleeps .
he says that we arrived yesterday . | he say that we arrived yesterday .
yesterday she ate the pear . | yesterday she has eaten the pear .
""",
    "german": """
der mann sieht den hund . | der mann sieht der hund .
heute sieht die frau ein altes buch . | heute die frau sieht ein altes buch .
er hat einen alten hund gesehen . | er hat einen alter hund gesehen .
wir rufen die frau nicht an . | wir anrufen die frau nicht .
sie ist heute angekommen . | sie hat heute angekommen .
die frau hilft dem kind . | die frau hilft das kind .
sie gibt den kindern einen apfel . | sie gibt den kinder einen apfel .
er sagt , dass die frau ihn anruft . | er sagt , dass die frau ruft ihn an .
er schläft , weil sie gekommen ist . | er schläft , weil sie ist gekommen .
wenn er schläft , lesen wir das buch . | wenn er schläft , wir lesen das buch .
er liest kein buch . | er liest nicht ein buch .
sie spielt im garten . | sie spielt in dem garten .
sie hat den brief nicht gelesen . | sie hat nicht den brief gelesen .
heute hilft ihm die frau . | heute helfen ihm die frau .
sie wird das fenster aufmachen . | sie wird das fenster macht auf .
ein kleines kind kommt . | ein kleine kind kommt .
er glaubt , dass ich komme . |
er kommt weil sie schläft . |
gestern wird er kommen . |
""",
    "french": """
le petit chat noir dort . | le petit noir chat dort .
la vieille femme dort . | la vieux femme dort .
elle le voit . | elle voit le .
il ne mange pas la pomme . | il ne mange la pomme pas .
il n' aime pas l' orange . | il ne aime pas l' orange .
le vieil homme ne dort pas . | le vieux homme ne dort pas .
elle l' a aidée . | elle a l' aidée .
elle ne les a pas vus . | elle ne les a pas vu .
il peut la voir . | il la peut voir .
elle dit qu' il dort . | elle dit que il dort .
il donne le livre au garçon . | il donne le livre à le garçon .
elle lit la lettre du vieil homme . | elle lit la lettre de le vieil homme .
ils ont mangé de petites pommes . | ils ont mangé des petites pommes .
il ne voit pas de chat . | il ne voit pas un chat .
les enfants leur donnent des pommes . | les enfants leur donne des pommes .
s' il dort , elle joue . | si il dort , elle joue .
une voiture rouge dort . | un voiture rouge dort .
le chat dort parce qu' elle lit un livre . |
il voit la l' école . |
""",
}


@pytest.mark.parametrize("language", CHECKS)
def test_the_checkers_accept_and_reject(language):
    for line in RIGHT_AND_WRONG[language].strip().splitlines():
        first, second = (half.split() for half in line.split("|"))
        if second:
            assert CHECKS[language](first), first
            assert not CHECKS[language](second), second


@pytest.mark.parametrize("task", TASKS)
def test_no_sentence_can_be_translated_in_two_ways(task):
    lexicon, sentence = grammar.TASKS[task]
    drawer, known = Drawer(lexicon, np.random.default_rng(5)), {}
    for _ in range(2500):
        meaning = drawer.sentence()
        pair = Pair.of(english.sentence(meaning), sentence(meaning))
        assert known.setdefault(pair.source, pair) == pair


GOLDEN = {"english-german": "9dcca49dbc7595fd", "english-french": "e3843a8ae02beed1"}


@pytest.mark.parametrize("task", TASKS)
def test_a_seed_always_gives_the_same_data_set(task):
    first = grammar.generate(task, 100, seed=0)
    text = "\n".join(str(pair) for pair in first)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == GOLDEN[task]
    assert grammar.generate(task, 300, seed=0)[:100] == first
    assert grammar.generate(task, 100, seed=1) != first


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
    (lambda: GENERATE("english-german", 50_001), ["n is 50001", "at most 50000"]),
    (
        lambda: SPLITS("english-french", train=50_000),
        ["train is 50000", "100 for validation and 200 for test is 50300", "at most"],
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
