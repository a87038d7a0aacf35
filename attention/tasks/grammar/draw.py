"""Draw the meanings of random sentences that make sense.

A table does not eat apples. So each verb lists the kinds of nouns that may be its
subject and its object; each noun lists the adjectives that fit it, and each adverb of
time its tenses. Two negations are never drawn, because the languages express them
differently: "not" with an indefinite subject, and "not" with a place and an object
("not in the garden, but ...").
"""

from .meaning import TENSES, Clause, Phrase, Sentence


class Dice:
    """Uniform numbers of a numpy Generator, drawn many at once for speed."""

    def __init__(self, rng):
        self.rng, self.numbers = rng, []

    def roll(self):
        """Return a number from 0 up, below 1."""
        if not self.numbers:
            self.numbers = self.rng.random(4096).tolist()
        return self.numbers.pop()

    def chance(self, p):
        """Return True with probability ``p``."""
        return self.roll() < p

    def choose(self, things):
        """Return one of ``things``, each equally likely."""
        return things[int(self.roll() * len(things))]


class Drawer:
    """Draw sentences with the words of a lexicon."""

    def __init__(self, lexicon, rng):
        self.lexicon, self.dice = lexicon, Dice(rng)
        self.places = {n.english: n for n in lexicon.nouns if n.kind == "place"}
        self._nouns = {}

    def sentence(self, alone=0.6):
        """Return a sentence of one clause, with probability ``alone``, or of two."""
        dice, lexicon = self.dice, self.lexicon
        if dice.chance(alone):
            return Sentence(self.clause(TENSES))
        if dice.chance(0.4):
            conjunction, other_first = lexicon.that, False
            verb = dice.choose(lexicon.saying)
            main = Clause(verb, "present", self.subject(verb, definite=True))
            other = self.clause(TENSES, end=True)
        else:
            conjunction = dice.choose(lexicon.conjunctions)
            other_first = dice.chance(0.4)
            timed = dice.chance(0.5)  # only one of the two clauses has a time
            tenses = [t for t in TENSES.split() if t in conjunction.tenses]
            main = self.clause(" ".join(tenses), timed, end=other_first)
            other = self.clause(conjunction.tenses[main.tense], not timed, end=True)
        if not _go_together(main, conjunction, other):
            return self.sentence(alone=0)
        return Sentence(main, conjunction, other, other_first)

    def clause(self, tenses, timed=True, end=False):
        """Return a clause in one of ``tenses``; but see ``_looks_present``.

        timed   whether it may have a time; ``end``: the time stands at its end
        """
        dice = self.dice
        verb = dice.choose(self.lexicon.verbs)
        allowed = [t for t in tenses.split() if t in (verb.tenses or tenses).split()]
        if not allowed:  # this verb has none of the tenses
            return self.clause(tenses, timed, end)
        tense = dice.choose(allowed)
        negative = dice.chance(0.2)
        subject = self.subject(verb, definite=negative)
        if tense == "past" and subject.plural and not negative and _looks_present(verb):
            tense = "present" if "present" in allowed else "perfect"
        direct, recipient = self.objects(verb, subject, negative)
        place = self.place(verb, negative)
        time, often = None, False
        if verb.often and tense in ("present", "past") and dice.chance(0.2):
            often = True
        elif timed and not verb.lasting and dice.chance(0.4):
            times = [t for t in self.lexicon.times if tense in t.tenses.split()]
            time = dice.choose(times)
        time_first = time is not None and not end and dice.chance(0.5)
        return Clause(
            verb, tense, subject, negative, direct, recipient, place, time,
            time_first, often,
        )  # fmt: skip

    def subject(self, verb, definite):
        """Return a pronoun or a noun phrase, as the subject of a verb."""
        if self.dice.chance(0.35):
            return Phrase(self.dice.choose(self.lexicon.pronouns))
        return self.noun_phrase(verb.subjects, definite)

    def objects(self, verb, subject, negative):
        """Return the direct object or None, and the recipient or None."""
        if not verb.objects:
            return None, None
        taken = _nouns_of([subject]) | {subject.head}
        definite = verb.definite or (negative and verb.indirect)
        personal = "person" in verb.objects.split()
        direct = personal and self.pronoun(taken)
        direct = direct or self.noun_phrase(verb.objects, definite, taken)
        taken |= _nouns_of([direct])
        if not verb.recipient:
            return direct, None
        # "gives the apple to a child" has another order in German, and is rare
        definite = negative or direct.article == "the"
        recipient = self.pronoun(taken)
        return direct, recipient or self.noun_phrase("person", definite, taken)

    def pronoun(self, taken):
        """Return a pronoun as object, not one of ``taken``; in most cases None."""
        if not self.dice.chance(0.35):
            return None
        possible = [p for p in self.lexicon.objects if p not in taken]
        return Phrase(self.dice.choose(possible))

    def noun_phrase(self, kinds, definite=False, taken=()):
        """Return a noun of one of ``kinds``, with article or owner, and adjectives."""
        dice = self.dice
        noun = self.noun(kinds, taken)
        article = "the"
        if not definite and dice.chance(0.5):
            article = "a" if not noun.plural else "some" if self.lexicon.some else "the"
        possessor = None
        if self.lexicon.possessors and noun.kind != "person" and article == "the":
            if dice.chance(0.25):
                owner = self.noun("person", taken)
                while owner.english.endswith("s"):  # "girls's" is not a word
                    owner = self.noun("person", taken)
                possessor = Phrase(owner, adjectives=self.adjectives(owner))
        return Phrase(noun, article, self.adjectives(noun), possessor)

    def noun(self, kinds, taken=()):
        """Return a noun of one of ``kinds``, not one of ``taken``."""
        if kinds not in self._nouns:
            nouns = [n for n in self.lexicon.nouns if n.kind in kinds.split()]
            self._nouns[kinds] = nouns
        noun = self.dice.choose(self._nouns[kinds])
        while noun in taken:
            noun = self.dice.choose(self._nouns[kinds])
        return noun

    def adjectives(self, noun):
        """Return no adjective, one, or one before and one after the noun."""
        dice = self.dice
        if not noun.adjectives or not dice.chance(0.5):
            return ()
        fitting = [self.lexicon.adjectives[name] for name in noun.adjectives.split()]
        first = dice.choose(fitting)
        others = [a for a in fitting if a.before != first.before]
        if self.lexicon.adjective_pairs and others and dice.chance(0.3):
            return first, dice.choose(others)
        return (first,)

    def place(self, verb, negative):
        """Return a phrase of a place, in most cases None."""
        if not verb.places or not self.dice.chance(0.35):
            return None
        if negative and verb.objects:
            return None
        noun = self.places[self.dice.choose(verb.places.split())]
        return Phrase(noun, "the", self.adjectives(noun))


def _go_together(main, conjunction, other):
    """Return whether two clauses make a sentence that makes sense."""
    if not conjunction.lasting and (main.verb.lasting or other.verb.lasting):
        return False  # if the woman likes the dress, ...
    nouns, others = (_nouns_of(_participants(clause)) for clause in (main, other))
    if main.verb is other.verb or not nouns.isdisjoint(others):
        return False  # a child sleeps if the child sleeps
    # French "they" would be ils or elles, and the English does not say which
    women = any(noun.plural and noun.gender == "f" for noun in nouns | others)
    return not (women and (_has_they(main) or _has_they(other)))


def _nouns_of(phrases):
    """Return the nouns of ``phrases``, those of their owners included."""
    whole = [*phrases, *(p.possessor for p in phrases if p.possessor is not None)]
    return {p.head for p in whole if not p.is_pronoun}


def _has_they(clause):
    return any(p.is_pronoun and p.plural for p in _participants(clause))


def _participants(clause):
    phrases = clause.subject, clause.object, clause.recipient
    return [p for p in phrases if p is not None]


def _looks_present(verb):
    """Return whether present and past are one form, as in "they read".

    In the past, such a clause is drawn as the present or the perfect.
    """
    base, _, past, _ = verb.english.split()
    return base == past
