"""The links of the translation grammars: words that translate each other."""

import numpy as np
import pytest

from attention.tasks import grammar
from attention.tasks.grammar import english, sentence_pairs
from attention.tasks.grammar.meaning import Clause, Phrase, Sentence

TASKS = tuple(grammar.TASKS)


@pytest.fixture(scope="module")
def samples():
    return {task: grammar.generate(task, 1500, seed=11) for task in TASKS}


@pytest.mark.parametrize("task", TASKS)
def test_links_are_valid_and_no_word_is_without(task, samples):
    for pair in samples[task]:
        linked = pair.matrix()
        assert linked.shape == (len(pair.target), len(pair.source))
        assert linked.dtype == bool and linked.any(0).all() and linked.any(1).all()
        assert {(t, s) for t, s in zip(*np.nonzero(linked))} == pair.alignment


WORD_BY_WORD = {
    "english-german": """
man mann | woman frau | uncle onkel | aunt tante | child kind | women frauen
children kinder kindern | dog hund | cat katze | animal tier | cats katzen
apple apfel | cake kuchen | pear birne | egg ei | letter brief | newspaper zeitung
book buch | ball ball | lamp lampe | car auto | door tür | window fenster
garden garten | kitchen küche | house haus | on am | monday montag | today heute
yesterday gestern | tomorrow morgen | he er | him ihn ihm | we wir | us uns | they sie
small kleine kleiner kleines kleinen | red rote roter rotes roten
seen gesehen | eaten gegessen | given gegeben | gives gibt | slept geschlafen
slept geschlafen hat haben | saw gesehen hat haben | came gekommen ist sind
calls ruft an anruft | call rufen ruft an anruft anrufen angerufen
 opens macht auf aufmacht
cannot kann können nicht kein keine keinen | because weil , | that dass , | . .
""",
    "english-french": """
man homme | woman femme | child enfant | girl fille | boy garçon | women femmes
children enfants | girls filles | cat chat | dog chien | bird oiseau | cats chats
apple pomme | cake gâteau | orange orange | apples pommes | book livre | letter lettre
newspaper journal | books livres | car voiture | hat chapeau | dress robe
cars voitures | garden jardin | park parc | house maison | market marché | school école
not ne n' pas | cannot ne peut peuvent pas | because parce que qu' | that que qu'
today aujourd'hui | yesterday hier | tomorrow demain | often souvent | 's le la l' les
black noir noire noirs noires | old vieux vieil vieille vieilles | read lit lisent a ont
looks cherche | for cherche cherchent cherché chercher | him le l' lui | her la l' lui
seen vu vue vus | saw a ont vu vue vus | slept dormi a ont | . .
""",
}
ALSO = {"read": {"lu", "lire"}, "'s": {"de", "du", "des"}, "slept": {"hat", "haben"}}


@pytest.mark.parametrize("task", TASKS)
def test_words_are_linked_to_their_translations(task, samples):
    dictionary = {}
    for entry in WORD_BY_WORD[task].replace("\n", "|").split("|"):
        if entry.strip():
            word, *translations = entry.split()
            dictionary.setdefault(word, set(ALSO.get(word, ()))).update(translations)
    seen = set()
    for pair in samples[task]:
        for t, s in pair.alignment:
            word = pair.source[s]
            seen.add(word)
            assert pair.target[t] in dictionary.get(word, pair.target), str(pair)
    assert dictionary.keys() <= seen  # every entry was tested


def _entry(task, english_word):
    lexicon = grammar.TASKS[task].lexicon
    entries = lexicon.nouns + lexicon.pronouns + lexicon.verbs + lexicon.saying
    entries += lexicon.conjunctions + tuple(lexicon.adjectives.values())
    entries += (lexicon.that,)
    return next(e for e in entries if e.english.split()[0] == english_word)


def _pair(task, meaning):
    return sentence_pairs.Pair.of(
        english.sentence(meaning),
        grammar.TASKS[task].sentence(meaning),
    )


def test_french_links_worked_by_hand():
    def one(word):
        return _entry("english-french", word)

    whose = Phrase(one("boy"))
    cat = Phrase(one("cat"), adjectives=(one("black"),), possessor=whose)
    sees = Clause(one("see"), "perfect", cat, negative=True, object=Phrase(one("she")))
    pair = _pair("english-french", Sentence(sees))
    #         0   1   2  3     4   5   6   7    8   9
    source = "the boy 's black cat has not seen her ."
    #         0  1    2    3  4      5  6  7 8   9   10
    target = "le chat noir du garçon ne l' a pas vue ."
    assert (" ".join(pair.source), " ".join(pair.target)) == (source, target)
    links = {(0, 2), (1, 4), (2, 3), (3, 2), (3, 0), (4, 1)}  # du: 's and the
    links |= {(5, 6), (6, 8), (7, 5), (8, 6), (9, 7), (10, 9)}
    assert pair.alignment == links
