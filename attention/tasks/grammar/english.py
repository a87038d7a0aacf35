"""Write a meaning as an English sentence, the source of both pairs: a list of words.

    [time] subject verb object [to recipient] [preposition place] [time]

    present    sees       does not see        perfect   has seen    has not seen
    past       saw        did not see         future    will see    will not see
                                              can       can see     cannot see

A word with two functions has two meanings. If the target is "has seen", the English
"saw" is linked to both words, and "did" is linked to "has".
"""

from .sentence_pairs import time_words, word


def sentence(s):
    """Return the words of a Sentence, full stop included."""
    words = clause(s.main)
    if s.other is not None:
        other = [word(s.conjunction.english, (s, "conjunction"))] + clause(s.other)
        if s.other_first:
            words = other + [word(",", (s, "comma"))] + words
        else:
            words = words + other
    return with_an(words + [word(".", (s, "end"))])


def clause(c):
    """Return the words of a Clause, in the same order in main and dependent clauses."""
    time = time_words(c, c.time.english) if c.time is not None else []
    words = phrase(c.subject, form=0) + verb(c)
    if c.recipient is not None and c.recipient.is_pronoun:
        words += phrase(c.recipient, form=1)  # gives him the book
    if c.object is not None:
        words += phrase(c.object, form=1, negative=c.negative)
    if c.recipient is not None and not c.recipient.is_pronoun:
        words += [word("to", (c, "to"))] + phrase(c.recipient, form=1)
    if c.place is not None:
        words += [word(c.place.head.preposition, (c, "place"))]
        words += phrase(c.place, form=1)
    return time + words if c.time_first else words + time


def phrase(p, form, negative=False):
    """Return a noun phrase or a pronoun: ``form`` 0 as subject, 1 as object."""
    if p.is_pronoun:
        return [word(p.head.english.split()[form], (p, "noun"))]
    if p.possessor is not None:
        first = phrase(p.possessor, form) + [word("'s", (p, "possessor"))]
    else:
        article = "any" if negative and p.article == "some" else p.article
        first = [word(article, (p, "article"))]
    adjectives = sorted(p.adjectives, key=lambda adjective: adjective.rank)
    between = [word(a.english, (p, a)) for a in adjectives]
    return first + between + [word(p.head.english, (p, "noun"))]


def verb(c):
    """Return the finite verb, "not", "often", and the verb's other form."""
    base, third, past, participle = c.verb.english.split()
    plural = c.subject.plural
    helper, no, meaning = (c, "helper"), (c, "not"), (c, "verb")
    often = [word("often", (c, "often"))] if c.often else []
    not_ = [word("not", no)] if c.negative else []
    if c.tense == "present" and not c.negative:
        words = often + [word(base if plural else third, meaning)]
    elif c.tense == "present":
        # the target has no "does": its finite verb is linked to both words
        words = [word("do" if plural else "does", meaning), *not_, *often]
        words += [word(base, meaning)]
    elif c.tense == "past" and not c.negative:
        words = often + [word(past, helper, meaning)]
    elif c.tense == "past":
        words = [word("did", helper), *not_, *often, word(base, meaning)]
    elif c.tense == "perfect":
        has = word("have" if plural else "has", helper)
        words = [has, *not_, *often, word(participle, meaning)]
    elif c.tense == "future":
        words = [word("will", helper), *not_, *often, word(base, meaning)]
    elif c.negative:
        words = [word("cannot", helper, no), *often, word(base, meaning)]
    else:
        words = [word("can", helper), *often, word(base, meaning)]
    return words + [word(text, meaning) for text in c.verb.particle.split()]


def with_an(words):
    """Return ``words`` with "an" for "a" before a vowel."""
    following = [*words[1:], None]
    return [
        w._replace(text="an") if w.text == "a" and after.text[0] in "aeiou" else w
        for w, after in zip(words, following)
    ]
