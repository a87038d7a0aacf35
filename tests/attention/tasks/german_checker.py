"""A checker of German sentences, for the tests: it knows nothing of the generator.

``problem(words)`` is None, or says what a teacher would mark. It cuts a sentence into
clauses, and each clause into phrases, with every case and number that a phrase can
have; then it asks for the verbs in their places, and for exactly one way, at least, to
give the phrases to the verb.
"""

from itertools import permutations

NOUNS = {
    "m": "mann onkel hund apfel kuchen brief ball garten",
    "f": "frau tante katze birne zeitung lampe tür küche",
    "n": "kind tier ei buch auto fenster haus",
    "p": "frauen kinder katzen",
}
GENDER = {noun: g for g, nouns in NOUNS.items() for noun in nouns.split()}
DATIVE_PLURAL = {"kindern", "frauen", "katzen"}
STEMS = {"alt", "jung", "klein", "groß", "neu", "rot"}
DEFINITE = {
    "der": {("n", "m"), ("d", "f")},
    "die": {("n", "f"), ("a", "f"), ("n", "p"), ("a", "p")},
    "das": {("n", "n"), ("a", "n")},
    "den": {("a", "m"), ("d", "p")},
    "dem": {("d", "m"), ("d", "n")},
}
INDEFINITE = {
    "": {("n", "m"), ("n", "n"), ("a", "n")},
    "e": {("n", "f"), ("a", "f")},
    "en": {("a", "m")},
    "em": {("d", "m"), ("d", "n")},
    "er": {("d", "f")},
}
PRONOUNS = {
    "er": [("n", "s")], "ihn": [("a", "s")], "ihm": [("d", "s")],
    "sie": [("n", "s"), ("a", "s"), ("n", "p"), ("a", "p")], "ihr": [("d", "s")],
    "wir": [("n", "p")], "uns": [("a", "p"), ("d", "p")],
}  # fmt: skip
# infinitive, third person, participle, helper, cases of the objects
VERBS = """
sehen sieht gesehen haben a | essen isst gegessen haben a
lesen liest gelesen haben a | kaufen kauft gekauft haben a
finden findet gefunden haben a | besuchen besucht besucht haben a
schlafen schläft geschlafen haben - | spielen spielt gespielt haben -
kommen kommt gekommen sein - | geben gibt gegeben haben da
zeigen zeigt gezeigt haben da | helfen hilft geholfen haben d
an+rufen ruft angerufen haben a | ein+laden lädt eingeladen haben a
auf+machen macht aufgemacht haben a | an+kommen kommt angekommen sein -
sagen sagt - haben - | glauben glaubt - haben -
"""
HELPERS = {
    "hat": ("haben", "s"), "haben": ("haben", "p"), "ist": ("sein", "s"),
    "sind": ("sein", "p"), "wird": ("inf", "s"), "werden": ("inf", "p"),
    "kann": ("inf", "s"), "können": ("inf", "p"),
}  # fmt: skip
PARTICLES = {"an", "ein", "auf"}
TIMES = {"heute", "gestern", "morgen"}

FINITE, JOINED, LAST = {}, {}, {}  # form -> {(prefix, number, frame), ...}
for entry in VERBS.replace("\n", "|").split("|"):
    if not entry.strip():
        continue
    infinitive, third, participle, helper, frame = entry.split()
    prefix, _, stem = infinitive.rpartition("+")
    frame = frame.strip("-")
    for form, number in ((third, "s"), (stem, "p")):
        FINITE.setdefault(form, set()).add((prefix, number, frame))
        JOINED.setdefault(prefix + form, set()).add(("", number, frame))
    LAST.setdefault(participle, set()).add((helper, frame))
    LAST.setdefault(prefix + stem, set()).add(("inf", frame))


def problem(words):
    """None, or what is wrong with the sentence."""
    if words[-1] != "." or "." in words[:-1] or words.count(",") > 1:
        return "full stop or comma"
    words = list(words[:-1])
    if "," not in words:
        return _clause(words, "second")
    cut = words.index(",")
    first, second = words[:cut], words[cut + 1 :]
    if first[0] in ("weil", "wenn"):
        return _clause(first[1:], "last") or _clause(second, "first")
    if second[0] not in ("weil", "wenn", "dass"):
        return "comma without a conjunction"
    if (second[0] == "dass") != (first[-1] in ("sagt", "sagen", "glaubt", "glauben")):
        return "dass, or not, after this verb"
    return _clause(first, "second") or _clause(second[1:], "last")


def _clause(words, order):
    items = _chunks(words)
    if isinstance(items, str):
        return items
    at = {"first": 0, "second": 1, "last": len(items) - 1}[order]
    if at >= len(items) or items[at][0] != "word":
        return f"verb not {order}"
    finite = items.pop(at)[1]
    if order == "second" and items[0][0] not in ("np", "time"):
        return "what stands first is no subject and no time"
    last = items.pop()[1] if items and items[-1][0] == "word" else None
    if any(item[0] == "word" for item in items):
        return f"a word too many: {items}"
    for number, frame in _readings(finite, last, order):
        if "gestern" in words and finite not in ("hat", "haben", "ist", "sind"):
            continue
        if _fits(items, number, frame, order):
            return None
    return f"{finite} {last} does not go with {items}"


def _readings(finite, last, order):
    """(number, frame) for each verb that the two words can be, in this order."""
    if last is None:
        forms = JOINED if order == "last" else FINITE
        yield from ((n, f) for prefix, n, f in forms.get(finite, ()) if not prefix)
    elif last in PARTICLES and order != "last":
        yield from ((n, f) for prefix, n, f in FINITE.get(finite, ()) if prefix == last)
    elif finite in HELPERS:
        kind, number = HELPERS[finite]
        yield from ((number, f) for k, f in LAST.get(last, ()) if k == kind)


def _fits(items, number, frame, order):
    """Whether the phrases are the subject and the objects, all in a good order."""
    kinds = [item[0] for item in items]
    if any(kinds.count(kind) > 1 for kind in ("time", "nicht", "place")):
        return False
    phrases = [(i, item) for i, item in enumerate(items) if item[0] == "np"]
    for cases in set(permutations("n" + frame)):
        if len(cases) != len(phrases):
            return False
        right = all(
            any(c == case and (c != "n" or n == number) for c, n in item[1])
            for case, (_, item) in zip(cases, phrases)
        )
        if right and _ordered(items, dict(zip(cases, phrases)), order):
            return True
    return False


def _ordered(items, roles, order):
    kinds = [item[0] for item in items]
    place_of = {case: i for case, (i, _) in roles.items()}
    pronoun = {case: item[2] for case, (_, item) in roles.items()}
    negated = {case: item[3] for case, (_, item) in roles.items()}
    if any(no for case, no in negated.items() if case != "a") or (
        any(negated.values()) and "nicht" in kinds
    ):
        return False
    before = [i for i in place_of.values() if i < place_of["n"]]
    if before and (not pronoun.get("d") or pronoun["n"] or before != [place_of["d"]]):
        return False  # only heute hilft ihm die frau
    if "d" in roles and "a" in roles and place_of["d"] > place_of["a"]:
        return False
    latest = max(place_of.values())
    time = kinds.index("time") if "time" in kinds else None
    if time is not None and not (order == "second" and time == 0):
        # after pronouns, before nouns
        for case in roles.keys() - {"n"}:
            if (place_of[case] < time) != pronoun[case]:
                return False
        if time < place_of["n"]:
            return False
    if "place" in kinds and kinds.index("place") != len(kinds) - 1:
        return False
    if "nicht" in kinds:
        no = kinds.index("nicht")
        if no < latest or (time is not None and no < time):
            return False
        if "place" in kinds and no > kinds.index("place"):
            return False
    return True


def _chunks(words):
    """Phrases, ("np", {(case, number)}, is pronoun, is kein), and other items."""
    items, i = [], 0
    while i < len(words):
        w = words[i]
        phrase = _noun_phrase(words, i)
        if phrase is not None:
            readings, i = phrase
            if not readings:
                return f"no agreement: {' '.join(words[:i])}"
            items.append(("np", readings, False, w.startswith("kein")))
            continue
        if w in PRONOUNS:
            items.append(("np", set(PRONOUNS[w]), True, False))
        elif w in TIMES:
            items.append(("time",))
        elif words[i : i + 2] == ["am", "montag"]:
            items.append(("time",))
            i += 1
        elif w == "nicht":
            items.append(("nicht",))
        elif w in ("im", "in"):
            article = ["dem"] if w == "im" else []
            rest = article + words[i + 1 :]
            if w == "in" and rest[:1] == ["dem"]:
                return "in dem"
            place = _noun_phrase(rest, 0)
            if place is None or ("d", "s") not in place[0]:
                return "place not in the dative"
            items.append(("place",))
            i += place[1] - len(article)
        elif w in HELPERS or w in FINITE or w in JOINED or w in LAST or w in PARTICLES:
            items.append(("word", w))
        else:
            return f"unknown word {w}"
        i += 1
    return items


def _noun_phrase(words, i):
    """({(case, number), ...}, next place), or None where no phrase begins."""
    article, j = words[i], i + 1
    stem = next((s for s in ("kein", "ein") if article.startswith(s)), None)
    if article in DEFINITE:
        possible = DEFINITE[article]
    elif stem and article[len(stem) :] in INDEFINITE:
        possible = INDEFINITE[article[len(stem) :]]
    else:
        return None
    adjective = None
    if j < len(words) and any(words[j].startswith(s) for s in STEMS):
        adjective, j = words[j], j + 1
    if j == len(words) or words[j] not in GENDER.keys() | DATIVE_PLURAL:
        return None  # ein, the particle
    noun = words[j]
    readings = set()
    for case, gender in possible:
        if gender == "p":
            good = noun in DATIVE_PLURAL if case == "d" else GENDER.get(noun) == "p"
        else:
            good = GENDER.get(noun) == gender
        if good and adjective is not None:
            ending = next(adjective[len(s) :] for s in STEMS if adjective.startswith(s))
            good = ending == _ending(stem, case, gender)
        if good:
            readings.add((case, "p" if gender == "p" else "s"))
    return readings, j + 1


def _ending(stem, case, gender):
    """-en, but for the nominative singular, and the accusative that looks like it."""
    if case == "d" or gender == "p" or (case, gender) == ("a", "m"):
        return "en"
    if stem is None or gender == "f":
        return "e"
    return "er" if gender == "m" else "es"  # ein shows no gender: the adjective does
