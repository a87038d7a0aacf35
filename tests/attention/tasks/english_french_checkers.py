"""Checkers of English and of French sentences, for the tests.

They know nothing of the generator: each is a regular expression of what a clause can
look like, written from tables of agreement, and a list of what may never stand side by
side (a old, de le). ``english(words)`` and ``french(words)`` say whether a sentence is
right. Both vocabularies of English, that of German and that of French, are in one.
"""

import re


def _any(words):
    """A pattern for one of the words, or patterns, the longest first."""
    words = words.split() if isinstance(words, str) else words
    return "(?:" + "|".join(sorted(words, key=len, reverse=True)) + ")"


ONE = _any(
    "man woman child uncle aunt girl boy dog cat animal bird apple cake pear egg "
    "orange letter newspaper book ball lamp car hat dress door window garden kitchen "
    "house park market school"
)
MANY = _any("women children girls cats apples books cars")
TRANSITIVE = [
    "see sees saw seen", "eat eats ate eaten", "read reads read read",
    "buy buys bought bought", "find finds found found", "visit visits visited visited",
    "help helps helped helped", "call calls called called", "like likes liked liked",
    "invite invites invited invited", "open opens opened opened",
]  # fmt: skip
GIVING = ["give gives gave given", "show shows showed shown"]
INTRANSITIVE = [
    "sleep sleeps slept slept", "play plays played played", "come comes came come",
    "arrive arrives arrived arrived",
]  # fmt: skip
LOOK = ["look looks looked looked"]
SAY = ["say says", "think thinks"]
BARE = (  # opinion, size or age, colour
    "(?:(?:sad|interesting) )?(?:(?:small|big|old|young|new) )?(?:(?:black|red) )?"
)
OWNER = f"the {BARE}(?:{ONE}|women|children) 's"
NP_ONE = f"(?:(?:the|an?|{OWNER}) {BARE}{ONE})"
NP_MANY = f"(?:(?:the|some|any|{OWNER}) {BARE}{MANY})"
NP = f"(?:{NP_ONE}|{NP_MANY})"
OBJECT = f"(?:{NP}|him|her|us|them)"
TIME = "(?:today|yesterday|tomorrow|on monday)"


def _english_verb(verbs, one):
    base, third, past, participle = (
        _any(list(forms)) for forms in zip(*(v.split() for v in verbs))
    )
    present, do, have = (third, "does", "has") if one else (base, "do", "have")
    return (
        f"(?:(?:often )?(?:{present}|{past})|(?:{do}|did) not (?:often )?{base}|"
        f"{have} (?:not )?{participle}|(?:will|will not|can|cannot) {base})"
    )


def _english_clause():
    numbers = []
    for one in (True, False):
        subject = f"(?:{NP_ONE}|he|she)" if one else f"(?:{NP_MANY}|we|they)"
        does = [
            _english_verb(TRANSITIVE, one) + f" {OBJECT}",
            _english_verb(LOOK, one) + f" for {OBJECT}",
            _english_verb(INTRANSITIVE, one),
            _english_verb(GIVING, one) + f" (?:{NP} to {NP}|(?:him|her|us|them) {NP})",
        ]
        numbers.append(f"{subject} {_any(does)}")
    return f"(?:{TIME} )?{_any(numbers)}(?: (?:in|at) the {BARE}{ONE})?(?: {TIME})?"


CLAUSE = _english_clause()
SAYS = f"(?:(?:{NP_ONE}|he|she) (?:says|thinks)|(?:{NP_MANY}|we|they) (?:say|think))"
ENGLISH = re.compile(
    f"(?:{CLAUSE}(?: (?:because|if|when) {CLAUSE})?|{SAYS} that {CLAUSE}|"
    rf"(?:because|if|when) {CLAUSE} , {CLAUSE}) \."
)


def english(words):
    text = " ".join(words)
    if re.search(r"\ba [aeiou]|\ban [^aeiou]", text):
        return False
    if "yesterday" in words and {"has", "have", "will", "can"} & set(words):
        if not {"that", "because", "if", "when"} & set(words):
            return False  # of another clause, it may be
    return ENGLISH.fullmatch(text) is not None


NOUNS = {
    "ms": "homme enfant garçon chat chien oiseau gâteau livre journal chapeau jardin "
    "parc marché",
    "fs": "femme fille pomme orange lettre voiture robe maison école",
    "mp": "enfants chats livres",
    "fp": "femmes filles pommes voitures",
}
BEFORE = {
    "ms": "petit grand vieux vieil jeune", "fs": "petite grande vieille jeune",
    "mp": "petits grands vieux jeunes", "fp": "petites grandes vieilles jeunes",
}  # fmt: skip
AFTER = {
    "ms": "noir rouge triste intéressant", "fs": "noire rouge triste intéressante",
    "mp": "noirs rouges tristes intéressants",
    "fp": "noires rouges tristes intéressantes",
}  # fmt: skip
THE = {"ms": "le l'", "fs": "la l'", "mp": "les", "fp": "les"}
TO = {"ms": ["au", "à l'"], "fs": ["à la", "à l'"], "mp": ["aux"], "fp": ["aux"]}
OF = {"ms": ["du", "de l'"], "fs": ["de la", "de l'"], "mp": ["des"], "fp": ["des"]}
A = {"ms": ["un"], "fs": ["une"], "mp": ["des"], "fp": ["des"]}
FRENCH_TIME = "(?:aujourd'hui|hier|demain)"


def _french_noun(agreement, before=None):
    adjective = _any(BEFORE[agreement])
    adjective = {None: f"(?:{adjective} )?", True: f"{adjective} ", False: ""}[before]
    return f"{adjective}{_any(NOUNS[agreement])}(?: {_any(AFTER[agreement])})?"


def _phrases(agreements, definite=None, negative=False):
    found = []
    owner = _any([f"{_any(OF[a])} {_french_noun(a)}" for a in NOUNS])
    for a in agreements:
        determiner = _any(THE[a] if definite is None else definite[a])
        found.append(f"{determiner} {_french_noun(a)}(?: {owner})?")
        if definite is not None:
            continue
        if negative:
            found.append(f"(?:de|d') {_french_noun(a)}")
        elif a[1] == "s":
            found.append(f"{_any(A[a])} {_french_noun(a)}")
        else:  # des pommes rouges, de petites pommes
            found += [f"des {_french_noun(a, False)}", f"de {_french_noun(a, True)}"]
    return _any(found)


DIRECT = {  # participle, whether it is of people, too
    "voit voient vu voir": True, "mange mangent mangé manger": False,
    "lit lisent lu lire": False, "achète achètent acheté acheter": False,
    "cherche cherchent cherché chercher": False, "aime aiment aimé aimer": True,
    "trouve trouvent trouvé trouver": False, "aide aident aidé aider": True,
}  # fmt: skip
FRENCH_GIVING = ["donne donnent donné donner", "montre montrent montré montrer"]
FRENCH_ALONE = ["dort dorment dormi dormir", "joue jouent joué jouer"]


def _around(no, first, pas_first, rest=""):
    """``first`` and ``rest``, with ne and pas around ``first``, if negative."""
    return (
        f"(?:ne|n') {pas_first}{first} pas{rest}" if no else f"{pas_first}{first}{rest}"
    )


def _does(number, no):
    """Patterns of all that a subject of this number does, or does not."""
    has, goes = (("a", "(?:peut|va)"), ("ont", "(?:peuvent|vont)"))[number]
    thing = _phrases(NOUNS, negative=no)
    to = _any([_phrases(NOUNS, definite=TO), f"à {_phrases(NOUNS)}"])
    often = "(?: souvent)?"
    found = []

    def forms(verbs):
        columns = zip(*(v.split() for v in verbs))
        third, plural, participle, infinitive = (_any(list(c)) for c in columns)
        return (plural if number else third), participle, infinitive

    def said(finite, participle, infinitive, clitic="", then=""):
        tenses = [
            _around(no, finite, clitic, often),
            _around(no, has, clitic, f"{often} {participle}"),
            _around(no, goes, "", f"{often} {clitic}{infinitive}"),
        ]
        found.append(_any(tenses) + then)

    said(*forms(FRENCH_ALONE))
    said(*forms(DIRECT), then=f" {thing}")
    people = [verb for verb, personal in DIRECT.items() if personal]
    finite, participle, infinitive = forms(people)
    for clitic, ending in (("(?:le|l')", ""), ("(?:la|l')", "e"), ("les", "e?s")):
        said(finite, participle + ending, infinitive, clitic + " ")
    said(*forms(FRENCH_GIVING), then=f" {thing} {to}")
    said(*forms(FRENCH_GIVING), clitic="(?:lui|leur) ", then=f" {thing}")
    return found


def _french_clause():
    numbers = []
    for number, (agreements, pronouns) in enumerate(
        ((("ms", "fs"), ["il", "elle"]), (("mp", "fp"), ["ils"]))
    ):
        subject = _any([_phrases(agreements), *pronouns])
        numbers.append(f"{subject} {_any(_does(number, False) + _does(number, True))}")
    dans = f"dans {_any('le la')} {_any([_french_noun('ms'), _french_noun('fs')])}"
    place = f"(?: (?:{dans}|au marché|à l' école))?"
    return f"(?:{FRENCH_TIME} )?{_any(numbers)}{place}(?: {FRENCH_TIME})?"


FRENCH_CLAUSE = _french_clause()
WHO = f"(?:{_phrases(('ms', 'fs'))}|il|elle) (?:dit|pense)"
WHO_MANY = f"(?:{_phrases(('mp', 'fp'))}|ils) (?:disent|pensent)"
JOINED = "(?:parce que|parce qu'|quand|si|s')"
FRENCH = [  # apart, for the parts are long
    re.compile(rf"{FRENCH_CLAUSE} \."),
    re.compile(f"(?:{WHO}|{WHO_MANY}) (?:que|qu')"),
]
VOWEL = "[aeiouéèêh]"
NEVER = re.compile(
    rf"\b(?:le|la|ne|de|que) {VOWEL}|\b(?:l|n|d|qu)' (?!{VOWEL})|\bs' (?!ils? )|"
    r"\bsi ils? |\b(?:à|de) les? |\bvieux (?:homme|enfant|oiseau)|"
    rf"\bvieil (?!{VOWEL})"
)


def french(words):
    """Whether the sentence is right; one of two clauses is cut where they join."""
    text = " ".join(words)
    if NEVER.search(text):
        return False
    clause, says = FRENCH
    if text.count(" , ") == 1 and (start := re.match(f"{JOINED} ", text)):
        first, second = text[start.end() :].split(" , ")
        return bool(clause.fullmatch(first + " .") and clause.fullmatch(second))
    if cut := re.search(r" (?:(?<!parce )que|(?<!parce )qu') ", text):
        return bool(
            says.fullmatch(text[: cut.end() - 1])
            and clause.fullmatch(text[cut.end() :])
        )
    if cut := re.search(f" {JOINED} ", text):
        first, second = text[: cut.start()] + " .", text[cut.end() :]
        return bool(clause.fullmatch(first) and clause.fullmatch(second))
    return clause.fullmatch(text) is not None
