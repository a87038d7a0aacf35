"""What is said, before any language says it, and what a lexicon holds to say it with.

    Sentence  ->  Clause  ->  Phrase  ->  Noun, Adjective, Verb, ...    entries

The entries, of a lexicon, stand for a word in English and in the other language, the
target. Clauses and phrases, made anew for every sentence, stand for what is meant: a
word says that it means ``(phrase, "article")`` or ``(clause, "verb")``. So they are
compared by identity, for two cats in one sentence are two meanings.
"""

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun in one number; a plural is an entry of its own."""

    english: str
    target: str
    gender: str  # of the target: "m", "f" or "n"
    kind: str  # what verbs choose by: "person", "food", ...
    adjectives: str = ""  # those that go with it, in English
    plural: bool = False
    dative: str = ""  # where German has another form for it
    preposition: str = ""  # of a place: a key of Lexicon.prepositions


@dataclass(frozen=True, eq=False)
class Pronoun:
    """A personal pronoun: in English as subject and object, and in the target."""

    english: str  # "he him"
    target: str  # subject, direct object, indirect object: "er ihn ihm"
    plural: bool
    gender: str = "m"


@dataclass(frozen=True, eq=False)
class Adjective:
    """The target's stem, or its forms; English puts those of low rank first."""

    english: str
    target: str
    rank: int  # 0 opinion, 1 size, 2 age, 3 colour: the order of English
    before: bool = True  # whether it stands before the noun in the target


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb, and who may do it to what."""

    english: str  # "see sees saw seen"
    target: str  # "sieht sehen gesehen"; French has the infinitive as a fourth
    subjects: str  # kinds of nouns: "person animal"
    objects: str = ""  # kinds of nouns; none for what has no object
    particle: str = ""  # looks "for"
    places: str = ""  # where it may be done: nouns, in English
    tenses: str = ""  # fewer than those of the lexicon
    recipient: bool = False  # give: something, to someone
    indirect: bool = False  # helfen: its object is in the dative
    definite: bool = False  # its object is never "a" something
    often: bool = False  # may be done often
    lasting: bool = False  # goes on: "likes", but not "likes today"
    prefix: str = ""  # of a German separable verb
    sein: bool = False  # whether its perfect is made with sein


@dataclass(frozen=True, eq=False)
class Time:
    """An adverb of time, and the tenses that it goes with."""

    english: str
    target: str
    tenses: str


@dataclass(frozen=True, eq=False)
class Conjunction:
    """What a clause is begun with, and the tenses that may stand in it."""

    english: str
    target: str
    tenses: dict  # {tense of the main clause: tenses of this one}
    lasting: bool = False  # whether its clauses may be of what is always so


@dataclass(frozen=True, eq=False)
class Lexicon:
    """All words of one language pair."""

    nouns: tuple
    pronouns: tuple
    objects: tuple  # the pronouns that may be an object
    adjectives: dict  # {English: Adjective}
    verbs: tuple
    saying: tuple  # verbs whose object is a clause
    times: tuple
    conjunctions: tuple
    that: Conjunction
    prepositions: dict  # {English: target}
    tenses: str
    often: str = ""  # the target's word; without it, nothing is done often
    some: bool = False  # whether plurals may be indefinite
    possessors: bool = False  # whether things belong to someone
    adjective_pairs: bool = False  # whether one before and one after may go together


@dataclass(frozen=True, eq=False)
class Phrase:
    """A noun with what belongs to it, or a pronoun."""

    head: object  # a Noun or a Pronoun
    article: str = "the"  # or "a", "some"
    adjectives: tuple = ()
    possessor: object = None  # a Phrase, whose it is, in place of an article

    @property
    def plural(self):
        return self.head.plural

    @property
    def gender(self):
        return self.head.gender

    @property
    def is_pronoun(self):
        return isinstance(self.head, Pronoun)


@dataclass(frozen=True, eq=False)
class Clause:
    """Who does what, to what, for whom, where and when; or does not."""

    verb: Verb
    tense: str  # "present", "past", "perfect", "future" or "can"
    subject: Phrase
    negative: bool = False
    object: Phrase | None = None
    recipient: Phrase | None = None
    place: Phrase | None = None
    time: Time | None = None
    time_first: bool = False
    often: bool = False


@dataclass(frozen=True, eq=False)
class Sentence:
    """A main clause, and possibly another that depends on it."""

    main: Clause
    conjunction: Conjunction | None = None
    other: Clause | None = None
    other_first: bool = False
