"""The meaning of a sentence as data, and the entries of a lexicon that it consists of.

    Sentence  ->  Clause  ->  Phrase  ->  Noun, Adjective, Verb, ...    entries

An entry of a lexicon is a word in English and in the other language, the target.
Every sentence has new clauses and phrases. A word's meaning is a pair of such an object
and a name: ``(phrase, "article")`` or ``(clause, "verb")``. Objects are compared by
identity, so two cats in one sentence are two meanings.
"""

from dataclasses import dataclass

# a tense that stands here three times is drawn three times as often
TENSES = "present present present perfect past past future can"
AFTER_BECAUSE = {  # tense of the main clause: tenses of the clause with "because"
    "present": "present perfect can",
    "perfect": "past perfect",
    "past": "past",
    "future": "present perfect can",
    "can": "present perfect",
}


@dataclass(frozen=True, eq=False)
class Noun:
    """A noun in one number; a plural is an entry of its own."""

    english: str
    target: str
    gender: str  # of the target: "m", "f" or "n"
    kind: str  # verbs choose by it: "person", "food", ...
    adjectives: str = ""  # that fit the noun, in English
    plural: bool = False
    dative: str = ""  # the German dative plural, if it is another form
    preposition: str = ""  # of a place, in English


@dataclass(frozen=True, eq=False)
class Pronoun:
    """A personal pronoun: in English as subject and object, and in the target."""

    english: str  # "he him"
    target: str  # subject, direct object, indirect object: "er ihn ihm"
    plural: bool
    gender: str = "m"


@dataclass(frozen=True, eq=False)
class Adjective:
    """The target's stem or forms; in English, low ranks stand first."""

    english: str
    target: str
    rank: int  # 0 opinion, 1 size, 2 age, 3 colour: the order of English
    before: bool = True  # whether it stands before the noun in the target


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb, with the kinds of nouns that may be its subject and object."""

    english: str  # "see sees saw seen"
    target: str  # "sieht sehen gesehen"; French has the infinitive as a fourth
    subjects: str  # kinds of nouns: "person animal"
    objects: str = ""  # kinds of nouns; "": it takes no object
    particle: str = ""  # looks "for"
    places: str = ""  # nouns, in English
    tenses: str = ""  # if fewer than TENSES
    recipient: bool = False  # give: something, to someone
    indirect: bool = False  # helfen: its object is in the dative
    definite: bool = False  # its object never has the article "a"
    often: bool = False  # "often" may stand with it
    lasting: bool = False  # "likes", but not "likes today"
    prefix: str = ""  # of a German separable verb
    sein: bool = False  # its perfect is formed with sein


@dataclass(frozen=True, eq=False)
class Time:
    """An adverb of time, and the tenses that fit it."""

    english: str
    target: str
    tenses: str


@dataclass(frozen=True, eq=False)
class Conjunction:
    """The first word of a dependent clause, and the tenses of that clause."""

    english: str
    target: str
    tenses: dict  # {tense of the main clause: tenses of this one}
    lasting: bool = False  # its clauses may hold lasting verbs


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
    some: bool = False  # plurals may be indefinite
    possessors: bool = False  # things may have an owner
    adjective_pairs: bool = False  # a noun may have one adjective before and one after


@dataclass(frozen=True, eq=False)
class Phrase:
    """A noun with its article, adjectives and owner, or a pronoun."""

    head: object  # a Noun or a Pronoun
    article: str = "the"  # or "a", "some"
    adjectives: tuple = ()
    possessor: object = None  # the owner, a Phrase, in place of an article

    @property
    def plural(self):
        """Whether the head is plural."""
        return self.head.plural

    @property
    def gender(self):
        """The gender of the head."""
        return self.head.gender

    @property
    def is_pronoun(self):
        """Whether the head is a pronoun."""
        return isinstance(self.head, Pronoun)


@dataclass(frozen=True, eq=False)
class Clause:
    """Who does what, to what, for whom, where and when; or does not do it."""

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
    """A main clause, and possibly a dependent one."""

    main: Clause
    conjunction: Conjunction | None = None
    other: Clause | None = None
    other_first: bool = False
