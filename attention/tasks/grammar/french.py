"""Write a meaning as a French sentence: agreement, word order, elision.

    le chat noir       the noun, then the adjective; a few, as petit, come before it
    il ne le voit pas  the negation on either side, the object pronoun between
    il ne l'a pas vue  of the perfect, around its first verb; the participle agrees
                       with an object that has been named before it
    il peut le voir    but before an infinitive, of which it is the object
    le chat du garçon  the owner after the noun, where English has it before

In the last two steps, vowels are dropped (le homme: l' homme) and prepositions merge
with articles (à le parc: au parc).
"""

from .sentence_pairs import time_words, word

THE = {("m", False): "le", ("f", False): "la", ("m", True): "les", ("f", True): "les"}
A = {("m", False): "un", ("f", False): "une", ("m", True): "des", ("f", True): "des"}
FORMS = {("m", False): 0, ("f", False): 1, ("m", True): 2, ("f", True): 3}
HELPERS = {
    "perfect": ("a", "ont"),
    "past": ("a", "ont"),
    "future": ("va", "vont"),
    "can": ("peut", "peuvent"),
}

PREPOSITIONS = {"in": "dans", "at": "à"}
VOWELS = "aeiouéèêh"  # every h here is silent: homme
ELIDED = {"le": "l'", "la": "l'", "ne": "n'", "de": "d'", "que": "qu'"}
MERGED = {
    ("à", "le"): "au",
    ("à", "les"): "aux",
    ("de", "le"): "du",
    ("de", "les"): "des",
}


def sentence(s):
    """Return the words of a Sentence, full stop included."""
    words = clause(s.main)
    if s.other is not None:
        conjunction = s.conjunction.target.split()  # parce que is two
        other = [word(text, (s, "conjunction")) for text in conjunction]
        other += clause(s.other)
        if s.other_first:
            words = [*other, word(",", (s, "comma")), *words]
        else:
            words += other
    return merge_articles(elide([*words, word(".", (s, "end"))]))


def clause(c):
    """Return the words of a Clause, before elision."""
    time = time_words(c, c.time.target) if c.time is not None else []
    words = phrase(c.subject, 0) + verb(c)
    if c.object is not None and not c.object.is_pronoun:
        words += phrase(c.object, 1, c.negative)
    if c.recipient is not None and not c.recipient.is_pronoun:
        words += [word("à", (c, "to")), *phrase(c.recipient, 2)]
    if c.place is not None:
        preposition = PREPOSITIONS[c.place.head.preposition]
        words += [word(preposition, (c, "place")), *phrase(c.place, 1)]
    return time + words if c.time_first else words + time


def phrase(p, form, negative=False):
    """Return a noun phrase; or a pronoun as subject 0, direct 1 or indirect object 2.

    Under a negation un, une and des are de; so is des before an adjective.
    """
    if p.is_pronoun:
        return [word(p.head.target.split()[form], (p, "noun"))]
    before = [a for a in p.adjectives if a.before]
    after = [a for a in p.adjectives if not a.before]
    agreement = p.gender, p.plural
    words = []
    for a in before:
        following = p.head.target  # at most one stands before the noun
        words.append(word(adjective(a, agreement, following), (p, a)))
    words.append(word(p.head.target, (p, "noun")))
    words += [word(adjective(a, agreement), (p, a)) for a in after]
    if p.possessor is not None:
        whose = (p, "possessor")
        first = word(THE[agreement], whose)
        return [first, *words, word("de", whose), *phrase(p.possessor, 1)]
    if p.article == "the":
        article = THE[agreement]
    elif negative or (p.plural and before):
        article = "de"
    else:
        article = A[agreement]
    return [word(article, (p, "article")), *words]


def adjective(a, agreement, following=""):
    """Return the form that agrees; a fifth form is m. singular before a vowel."""
    forms = a.target.split()
    if len(forms) == 5 and agreement == ("m", False) and following:
        return forms[4] if following[0] in VOWELS else forms[0]
    return forms[FORMS[agreement]]


def verb(c):
    """Return the words from "ne" to the last form of the verb, with pronouns."""
    third, plural, participle, infinitive = c.verb.target.split()
    number = int(c.subject.plural)
    helper, no, meaning = (c, "helper"), (c, "not"), (c, "verb")
    clitic, agreement = [], ""
    if c.recipient is not None and c.recipient.is_pronoun:
        clitic = phrase(c.recipient, 2)
    elif c.object is not None and c.object.is_pronoun:
        clitic = phrase(c.object, 1)
        agreement = "e" if c.object.gender == "f" else ""
        agreement += "s" if c.object.plural else ""
    ne, pas = ([word("ne", no)], [word("pas", no)]) if c.negative else ([], [])
    often = [word("souvent", (c, "often"))] if c.often else []
    if c.tense == "present":
        finite = word((third, plural)[number], meaning)
        return [*ne, *clitic, finite, *pas, *often]
    finite = word(HELPERS[c.tense][number], helper)
    if c.tense in ("future", "can"):
        return [*ne, finite, *pas, *often, *clitic, word(infinitive, meaning)]
    seen = word(participle + agreement, meaning)
    return [*ne, *clitic, finite, *pas, *often, seen]


def elide(words):
    """Return ``words`` with "l'", "n'", ... before a vowel, "s'" before il and ils."""
    following = [w.text for w in words[1:]] + ["."]
    found = []
    for w, after in zip(words, following):
        if w.text in ELIDED and after[0] in VOWELS:
            w = w._replace(text=ELIDED[w.text])
        elif w.text == "si" and after in ("il", "ils"):
            w = w._replace(text="s'")
        found.append(w)
    return found


def merge_articles(words):
    """Return ``words`` with prepositions and articles merged, with both meanings."""
    found = []
    for w in words:
        before = found[-1].text if found else ""
        if (before, w.text) in MERGED:
            both = found.pop().meanings + w.meanings
            w = word(MERGED[before, w.text], *both)
        found.append(w)
    return found
