"""Write a meaning as a German sentence: gender, case, and the verb in two places.

    main clause     first | finite verb | ...   middle   ... | the rest of the verb
                    heute   ruft   der mann die frau nicht     an
    subordinate     conjunction | subject  middle | the rest of the verb | finite verb
                    weil   er heute die frau nicht     angerufen   hat

The order of the middle is: pronoun, time, indirect object, direct object, nicht, place.
If the subject follows the verb and is not a pronoun, a pronoun in the dative comes
before the subject: heute hilft ihm die frau.

"He saw" and "he has seen" are both "er hat gesehen". "Not a" is one word: kein.
"""

from .sentence_pairs import time_words, word

# each row: masculine, feminine, neuter, plural
THE = {
    "nominative": ("der", "die", "das", "die"),
    "accusative": ("den", "die", "das", "die"),
    "dative": ("dem", "der", "dem", "den"),
}
# the endings of ein and kein, as in einem, keinem
A = {
    "nominative": ("", "e", "", "e"),
    "accusative": ("en", "e", "", "e"),
    "dative": ("em", "er", "em", "en"),
}
# the endings of adjectives: WEAK after der, die, das; MIXED after ein and kein
WEAK = {
    "nominative": ("e", "e", "e", "en"),
    "accusative": ("en", "e", "e", "en"),
    "dative": ("en", "en", "en", "en"),
}
MIXED = {
    "nominative": ("er", "e", "es", "en"),
    "accusative": ("en", "e", "es", "en"),
    "dative": ("en", "en", "en", "en"),
}
CASES = ("nominative", "accusative", "dative")
HELPERS = {
    "perfect": ("hat", "haben"),
    "past": ("hat", "haben"),
    "future": ("wird", "werden"),
    "can": ("kann", "können"),
}


def sentence(s):
    """Return the words of a Sentence, commas and full stop included."""
    end = [word(".", (s, "end"))]
    if s.other is None:
        return clause(s.main) + end
    other = [word(s.conjunction.target, (s, "conjunction"))]
    other += clause(s.other, "verb last")
    if s.other_first:  # it is the first constituent: the verb follows at once
        comma = word(",", (s, "comma"))
        return [*other, comma, *clause(s.main, "verb first"), *end]
    # English has no comma here: it belongs to the conjunction that it announces
    return [*clause(s.main), word(",", (s, "conjunction")), *other, *end]


def clause(c, order="verb second"):
    """Return the words of a Clause: the verb second, or first, or last."""
    time = time_words(c, c.time.target) if c.time is not None else []
    subject, pronoun = phrase(c.subject, "nominative"), pronoun_object(c)
    middle = noun_objects(c) + place(c)
    if not c.time_first:
        middle = time + middle
    finite, rest = verb(c)
    if order == "verb last":
        if rest and rest[0].text == c.verb.prefix:  # an + ruft: one word again
            finite, rest = word(c.verb.prefix + finite.text, *finite.meanings), []
        return [*subject, *pronoun, *middle, *rest, finite]
    if order == "verb second" and not c.time_first:
        return [*subject, finite, *pronoun, *middle, *rest]
    if not c.subject.is_pronoun and (c.recipient or c.verb.indirect):
        subject, pronoun = pronoun, subject  # heute hilft ihm die frau
    first = time if c.time_first else []
    return [*first, finite, *subject, *pronoun, *middle, *rest]


def pronoun_object(c):
    """Return the object that is a pronoun, if there is one: it comes first."""
    if c.recipient is not None and c.recipient.is_pronoun:
        return phrase(c.recipient, "dative")
    if c.object is not None and c.object.is_pronoun:
        return phrase(c.object, "dative" if c.verb.indirect else "accusative")
    return []


def noun_objects(c):
    """Return the objects that are nouns, and the negation."""
    words, no = [], (c, "not")
    if c.recipient is not None and not c.recipient.is_pronoun:
        words += phrase(c.recipient, "dative", (c, "to"))  # the dative says "to"
    if c.object is not None and not c.object.is_pronoun:
        case = "dative" if c.verb.indirect else "accusative"
        if c.negative and c.object.article == "a":
            return words + phrase(c.object, case, no, ein="kein")
        words += phrase(c.object, case)
    return words + [word("nicht", no)] if c.negative else words


def place(c):
    """Return the place, after "in"; in dem becomes im."""
    if c.place is None:
        return []
    article, *others = phrase(c.place, "dative")
    if article.text == "dem":
        return [word("im", (c, "place"), *article.meanings), *others]
    return [word("in", (c, "place")), article, *others]


def phrase(p, case, *meanings, ein="ein"):
    """Return a noun phrase or pronoun; its first word has ``meanings`` as well."""
    if p.is_pronoun:
        form = p.head.target.split()[CASES.index(case)]
        return [word(form, (p, "noun"))]
    column = 3 if p.plural else "mfn".index(p.gender)
    if p.article == "the":
        article, endings = THE[case][column], WEAK
    else:
        article, endings = ein + A[case][column], MIXED
    noun = p.head.target
    if case == "dative" and p.head.dative:
        noun = p.head.dative
    return [
        word(article, (p, "article"), *meanings),
        *(word(a.target + endings[case][column], (p, a)) for a in p.adjectives),
        word(noun, (p, "noun")),
    ]


def verb(c):
    """Return the finite verb, and the words at the end of a main clause."""
    third, plural, participle = c.verb.target.split()
    number = int(c.subject.plural)
    helper, meaning = (c, "helper"), (c, "verb")
    if c.tense == "present":
        rest = [word(c.verb.prefix, meaning)] if c.verb.prefix else []
        return word((third, plural)[number], meaning), rest
    if c.tense in ("perfect", "past"):
        forms = ("ist", "sind") if c.verb.sein else HELPERS["perfect"]
        return word(forms[number], helper), [word(participle, meaning)]
    infinitive = c.verb.prefix + plural
    return word(HELPERS[c.tense][number], helper), [word(infinitive, meaning)]
