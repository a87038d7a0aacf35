"""The lexicon of the English-German grammar."""

from .meaning import (
    AFTER_BECAUSE,
    TENSES,
    Adjective,
    Conjunction,
    Lexicon,
    Noun,
    Pronoun,
    Time,
    Verb,
)

EVERYWHERE = "garden kitchen house"

NOUNS = (
    Noun("man", "mann", "m", "person", "old young"),
    Noun("woman", "frau", "f", "person", "old young"),
    Noun("child", "kind", "n", "person", "small"),
    Noun("uncle", "onkel", "m", "person", "old young"),
    Noun("aunt", "tante", "f", "person", "old young"),
    Noun("women", "frauen", "f", "person", "old young", plural=True),
    Noun("children", "kinder", "n", "person", "small", plural=True, dative="kindern"),
    Noun("dog", "hund", "m", "animal", "small big old"),
    Noun("cat", "katze", "f", "animal", "small big old"),
    Noun("animal", "tier", "n", "animal", "small big old"),
    Noun("cats", "katzen", "f", "animal", "small big old", plural=True),
    Noun("apple", "apfel", "m", "food", "small big red"),
    Noun("cake", "kuchen", "m", "food", "small big"),
    Noun("pear", "birne", "f", "food", "small big"),
    Noun("egg", "ei", "n", "food", "small big"),
    Noun("letter", "brief", "m", "letter", "old new"),
    Noun("newspaper", "zeitung", "f", "text", "old new"),
    Noun("book", "buch", "n", "text", "old new"),
    Noun("ball", "ball", "m", "thing", "small new red"),
    Noun("lamp", "lampe", "f", "thing", "small old new red"),
    Noun("car", "auto", "n", "thing", "small big old new red"),
    Noun("door", "tür", "f", "opening", "old new red"),
    Noun("window", "fenster", "n", "opening", "small big old"),
    Noun("garden", "garten", "m", "place", "small big old", preposition="in"),
    Noun("kitchen", "küche", "f", "place", "small big new", preposition="in"),
    Noun("house", "haus", "n", "place", "small old new", preposition="in"),
)

HE = Pronoun("he him", "er ihn ihm", plural=False)
SHE = Pronoun("she her", "sie sie ihr", plural=False)
WE = Pronoun("we us", "wir uns uns", plural=True)
THEY = Pronoun("they them", "sie sie ihnen", plural=True)

ADJECTIVES = (
    Adjective("small", "klein", rank=1),
    Adjective("big", "groß", rank=1),
    Adjective("old", "alt", rank=2),
    Adjective("young", "jung", rank=2),
    Adjective("new", "neu", rank=2),
    Adjective("red", "rot", rank=3),
)

# third person, plural, participle; the infinitive is the plural, with the prefix
VERBS = (
    Verb(
        "see sees saw seen", "sieht sehen gesehen",
        "person animal", "person animal thing", places=EVERYWHERE,
    ),
    Verb(
        "eat eats ate eaten", "isst essen gegessen",
        "person animal", "food", places=EVERYWHERE,
    ),
    Verb("read reads read read", "liest lesen gelesen", "person",
         "text letter", places=EVERYWHERE),
    Verb("buy buys bought bought", "kauft kaufen gekauft", "person", "food text thing"),
    Verb("find finds found found", "findet finden gefunden", "person",
         "animal text letter thing", places=EVERYWHERE),
    Verb("visit visits visited visited", "besucht besuchen besucht",
         "person", "person"),
    Verb("sleep sleeps slept slept", "schläft schlafen geschlafen", "person animal",
         places=EVERYWHERE),
    Verb("play plays played played", "spielt spielen gespielt", "person animal",
         places=EVERYWHERE),
    Verb("come comes came come", "kommt kommen gekommen", "person animal", sein=True),
    Verb("give gives gave given", "gibt geben gegeben", "person",
         "food text letter thing", recipient=True),
    Verb("show shows showed shown", "zeigt zeigen gezeigt", "person",
         "text letter thing", recipient=True),
    Verb("help helps helped helped", "hilft helfen geholfen", "person",
         "person animal", indirect=True),
    Verb("call calls called called", "ruft rufen angerufen", "person", "person",
         prefix="an"),
    Verb("invite invites invited invited", "lädt laden eingeladen", "person", "person",
         prefix="ein"),
    Verb("open opens opened opened", "macht machen aufgemacht", "person", "opening",
         prefix="auf"),
    Verb("arrive arrives arrived arrived", "kommt kommen angekommen", "person animal",
         prefix="an", sein=True),
)  # fmt: skip

SAYING = (
    Verb("say says said said", "sagt sagen gesagt", "person"),
    Verb("think thinks thought thought", "glaubt glauben geglaubt", "person"),
)

TIMES = (
    Time("today", "heute", TENSES),
    Time("yesterday", "gestern", "past"),
    Time("tomorrow", "morgen", "future can"),
    Time("on monday", "am montag", "past future can"),
)

THAT = Conjunction("that", "dass", {"present": TENSES}, lasting=True)
CONJUNCTIONS = (
    Conjunction("because", "weil", AFTER_BECAUSE, lasting=True),
    Conjunction(
        "if",
        "wenn",
        {
            "present": "present perfect",
            "future": "present perfect can",
            "can": "present perfect",
        },
    ),
)

LEXICON = Lexicon(
    nouns=NOUNS,
    pronouns=(HE, SHE, WE, THEY),
    objects=(HE, SHE, WE),
    adjectives={a.english: a for a in ADJECTIVES},
    verbs=VERBS,
    saying=SAYING,
    times=TIMES,
    conjunctions=CONJUNCTIONS,
    that=THAT,
)
