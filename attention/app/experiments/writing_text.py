"""The text of a language model: its tokens, its parts, and what counting predicts.

    data = load(config)         a file, or the pages of this book
    data.train, data.held       ids of tokens; the model learns from ``train`` alone
    data.baselines              bits per character without any model

A token is a character, or one of a vocabulary of byte pairs that is learned from the
text (``published/bpe.py``). The text is cut into 100 equal parts, and every tenth is
held out, so that both sides have some of each chapter.
"""

import math
import pathlib
import zlib
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from minigrad.bounds import FileError

from ...published import bpe
from ...published.byte_tokenizer import ByteTokenizer
from ...published.splitting import split

BOOK = pathlib.Path(__file__).parents[3] / "lessons" / "book"
RULES = "gpt-2"  # how a text is split into words, in which pairs are merged
PARTS, EVERY = 100, 10  # parts of a text; every tenth is held out
MOST = 100_000  # characters that are held out, of a long text
CONTEXT = 2  # characters that a trigram reads


class Characters:
    """A vocabulary in which each character is a token, in the order of Unicode."""

    def __init__(self, characters):
        self.characters = characters
        self.ids = {character: i for i, character in enumerate(characters)}

    def __len__(self):
        return len(self.characters)

    def encode(self, text):
        """Return the ids of a text; ValueError for a character without an id."""
        try:
            return [self.ids[character] for character in text]
        except KeyError as error:
            raise ValueError(
                f"The model has no token for {error.args[0]!r}: the text that it "
                "learned from has no such character. One of write train --vocabulary 512 "
                "reads every text."
            ) from None

    def stream(self, ids):
        """Yield the text of ids, character by character."""
        for i in ids:
            yield self.characters[i]

    def decode(self, ids):
        """Return the text of ids."""
        return "".join(self.stream(ids))

    def state_dict(self):
        """Return what ``tokenizer_of`` needs."""
        return {"characters": self.characters}


class BytePairs(ByteTokenizer):
    """A vocabulary of all bytes, and of the tokens that merges make."""

    def __init__(self, merges):
        self.merges = [tuple(pair) for pair in merges]
        tokens = [*bpe.BYTES, *(left + right for left, right in self.merges)]
        vocabulary = {token: i for i, token in enumerate(dict.fromkeys(tokens))}
        super().__init__(vocabulary, self.merges, {}, RULES)

    def __len__(self):
        return len(self.vocabulary)

    def state_dict(self):
        """Return what ``tokenizer_of`` needs."""
        return {"merges": [list(pair) for pair in self.merges]}


def tokenizer_of(state):
    """Return the tokenizer whose ``state_dict`` this is."""
    if "characters" in state:
        return Characters(state["characters"])
    return BytePairs(state["merges"])


def learned_from(text, vocabulary):
    """Return the tokenizer of a text: characters, or so many tokens of byte pairs."""
    if vocabulary is None:
        return Characters("".join(sorted(set(text))))
    words = Counter(split(text, RULES))
    words = {bpe.symbols(word.encode()): n for word, n in words.items()}
    return BytePairs(bpe.learned(words, vocabulary - len(bpe.BYTES)))


@dataclass
class Data:
    """A text in two parts, and its tokenizer.

    name        of the text, to print
    characters  how many different characters the whole text has
    """

    name: str
    training_text: str
    held_text: str
    characters: int
    tokenizer: Characters | BytePairs

    @cached_property
    def train(self):
        """The ids of the part to learn from."""
        return np.array(self.tokenizer.encode(self.training_text))

    @cached_property
    def held(self):
        """The ids of the part that is held out."""
        return np.array(self.tokenizer.encode(self.held_text))

    @property
    def checksum(self):
        """A number that changes when any character changes."""
        return zlib.crc32(f"{self.training_text}\0{self.held_text}".encode())

    def bits(self, nats):
        """Return bits per character, from the mean loss of a token, in nats."""
        return nats / math.log(2) * len(self.held) / len(self.held_text)

    @cached_property
    def baselines(self):
        """Bits per held-out character, {name: bits}, of two predictions by counting."""
        return {
            f"each of {self.characters} characters alike": math.log2(self.characters),
            "counted trigrams": trigram_bits(
                self.training_text, self.held_text, self.characters
            ),
        }


def load(config):
    """Return the Data of a config."""
    if config.text is None:
        pages = sorted(BOOK.glob("*/README.md"))
        text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
        name = f"the {len(pages)} pages of this book"
    else:
        text, name = read(config.text), config.text
    parts = [
        text[len(text) * i // PARTS : len(text) * (i + 1) // PARTS]
        for i in range(PARTS)
    ]
    held = "".join(parts[EVERY - 1 :: EVERY])[:MOST]
    train = "".join(part for i, part in enumerate(parts) if i % EVERY != EVERY - 1)
    data = Data(
        name, train, held, len(set(text)), learned_from(text, config.vocabulary)
    )
    if min(len(data.train), len(data.held)) <= config.context:
        raise ValueError(
            f"{name} has {len(data.train)} tokens to train on and {len(data.held)} "
            f"held out; expected more than {config.context} of each, which the model "
            "reads at once. Take a longer text, or a smaller --context."
        )
    return data


def read(path):
    """Return the text of a file in UTF-8."""
    try:
        return pathlib.Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        text = f"--text is {path}, which cannot be read: {error.strerror}."
        raise FileError(text) from None
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path} is not UTF-8 text: byte {error.start} is "
            f"0x{error.object[error.start]:02x}. Save it as UTF-8."
        ) from None


def trigram_bits(train, held, characters):
    """Return the bits per character of ``held``, predicted by counts in ``train``.

    With N the number of times that a context h of two characters occurs, and T the
    number of different characters that follow it,

        P(c | h) = (count(h c) + T P(c | h')) / (N + T),      h' = h without its first

    and P = 1 / characters below the empty context. The weight T of the shorter context
    is that of Witten and Bell 1991: contexts that anything may follow are trusted less.
    """
    tables = []
    for n in range(CONTEXT + 1):
        followers = defaultdict(Counter)
        for i in range(n, len(train)):
            followers[train[i - n : i]][train[i]] += 1
        tables.append(
            {h: (found, found.total(), len(found)) for h, found in followers.items()}
        )
    bits = 0.0
    for i, c in enumerate(held):
        p = 1 / characters
        for n, table in enumerate(tables[: i + 1]):
            if h := table.get(held[i - n : i]):
                found, N, T = h
                p = (found[c] + T * p) / (N + T)
        bits -= math.log2(p)
    return bits / len(held)
