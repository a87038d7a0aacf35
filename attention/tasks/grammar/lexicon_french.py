"""The lexicon of the English-French grammar."""

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

NOUNS = (
    Noun("man", "homme", "m", "person", "old young sad"),
    Noun("woman", "femme", "f", "person", "old young sad"),
    Noun("child", "enfant", "m", "person", "small sad"),
    Noun("girl", "fille", "f", "person", "small sad"),
    Noun("boy", "garçon", "m", "person", "small sad"),
    Noun("women", "femmes", "f", "person", "old young sad", plural=True),
    Noun("children", "enfants", "m", "person", "small sad", plural=True),
    Noun("girls", "filles", "f", "person", "small sad", plural=True),
    Noun("cat", "chat", "m", "animal", "small old black"),
    Noun("dog", "chien", "m", "animal", "small big old black"),
    Noun("bird", "oiseau", "m", "animal", "small black"),
    Noun("cats", "chats", "m", "animal", "small old black", plural=True),
    Noun("apple", "pomme", "f", "food", "small red"),
    Noun("cake", "gâteau", "m", "food", "small big"),
    Noun("orange", "orange", "f", "food", "small"),
    Noun("apples", "pommes", "f", "food", "small red", plural=True),
    Noun("book", "livre", "m", "text", "small old interesting"),
    Noun("letter", "lettre", "f", "letter", "old interesting"),
    Noun("newspaper", "journal", "m", "text", "old interesting"),
    Noun("books", "livres", "m", "text", "small old interesting", plural=True),
    Noun("car", "voiture", "f", "thing", "small big old black red"),
    Noun("hat", "chapeau", "m", "thing", "small big old black red"),
    Noun("dress", "robe", "f", "thing", "small old black red"),
    Noun("cars", "voitures", "f", "thing", "small big old black red", plural=True),
    Noun("garden", "jardin", "m", "place", "small big", preposition="in"),
    Noun("park", "parc", "m", "place", "small big", preposition="in"),
    Noun("house", "maison", "f", "place", "small big old", preposition="in"),
    Noun("market", "marché", "m", "place", preposition="at"),
    Noun("school", "école", "f", "place", preposition="at"),
)

HE = Pronoun("he him", "il le lui", plural=False)
SHE = Pronoun("she her", "elle la lui", plural=False, gender="f")
THEY = Pronoun("they them", "ils les leur", plural=True)

# masculine, feminine, their plurals, masculine before a vowel
ADJECTIVES = (
    Adjective("small", "petit petite petits petites", rank=1),
    Adjective("big", "grand grande grands grandes", rank=1),
    Adjective("old", "vieux vieille vieux vieilles vieil", rank=2),
    Adjective("young", "jeune jeune jeunes jeunes", rank=2),
    Adjective("black", "noir noire noirs noires", rank=3, before=False),
    Adjective("red", "rouge rouge rouges rouges", rank=3, before=False),
    Adjective("sad", "triste triste tristes tristes", rank=0, before=False),
    Adjective(
        "interesting",
        "intéressant intéressante intéressants intéressantes",
        rank=0,
        before=False,
    ),
)

# third person, plural, participle, infinitive
VERBS = (
    Verb("see sees saw seen", "voit voient vu voir", "person animal",
         "person animal thing", places="garden park house market school", often=True),
    Verb("eat eats ate eaten", "mange mangent mangé manger", "person animal",
         "food", places="garden park house"),
    Verb("read reads read read", "lit lisent lu lire", "person",
         "text letter", places="garden park house school", often=True),
    Verb("buy buys bought bought", "achète achètent acheté acheter", "person",
         "food text thing", places="market"),
    Verb("look looks looked looked", "cherche cherchent cherché chercher", "person",
         "animal text letter thing", particle="for"),
    Verb("find finds found found", "trouve trouvent trouvé trouver", "person",
         "animal text letter thing", places="garden park house"),
    Verb("like likes liked liked", "aime aiment aimé aimer", "person",
         "person animal food text letter thing", tenses="present", definite=True,
         lasting=True),
    Verb("help helps helped helped", "aide aident aidé aider", "person", "person",
         tenses="past perfect can"),
    Verb("give gives gave given", "donne donnent donné donner", "person",
         "food text letter thing", recipient=True),
    Verb("show shows showed shown", "montre montrent montré montrer", "person",
         "text letter thing", recipient=True),
    Verb("sleep sleeps slept slept", "dort dorment dormi dormir", "person animal",
         places="garden park house", often=True),
    Verb("play plays played played", "joue jouent joué jouer", "person animal",
         places="garden park house school", often=True),
)  # fmt: skip

SAYING = (
    Verb("say says said said", "dit disent dit dire", "person"),
    Verb("think thinks thought thought", "pense pensent pensé penser", "person"),
)

TIMES = (
    Time("today", "aujourd'hui", TENSES),
    Time("yesterday", "hier", "past"),
    Time("tomorrow", "demain", "future can"),
)

THAT = Conjunction("that", "que", {"present": TENSES}, lasting=True)
CONJUNCTIONS = (
    Conjunction("because", "parce que", AFTER_BECAUSE, lasting=True),
    Conjunction("when", "quand", {"present": "present", "can": "present"}),
    Conjunction(
        "if",
        "si",
        {"present": "present", "future": "present", "can": "present perfect"},
    ),
)

LEXICON = Lexicon(
    nouns=NOUNS,
    pronouns=(HE, SHE, THEY),
    objects=(HE, SHE, THEY),
    adjectives={a.english: a for a in ADJECTIVES},
    verbs=VERBS,
    saying=SAYING,
    times=TIMES,
    conjunctions=CONJUNCTIONS,
    that=THAT,
    some=True,
    possessors=True,
    adjective_pairs=True,
)
