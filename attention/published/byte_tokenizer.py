"""Turn text into the ids of tokens and back, in the way of GPT-2.

    text         "<|im_start|>It's 2"
    1  special tokens are set apart       <|im_start|>     It's 2
    2  the rest is split into words       It   's   (space)   2          splitting.py
    3  a word is cut into tokens          It   's   (space)   2          bpe.py
    4  each token has its id

Ids become text by joining the bytes of their tokens: ``decode(encode(text)) == text``
for every text of which the vocabulary has the bytes (GPT-2's has all 256).

    tokenizer = read_tokenizer(folder)             tokenizer_files.py
    ids = tokenizer.encode("It's 2")
    for part in tokenizer.stream(ids): print(part, end="", flush=True)
"""

import codecs
import re

from . import bpe
from .splitting import normalized, split

KNOWN = 2**16  # words whose ids are kept
NO_TOKEN = "\ufffd".encode("utf-8")


class ByteTokenizer:
    """A vocabulary of tokens, made of bytes, with the merges that find them.

    vocabulary   {token, in the symbols of bpe.py: id}
    merges       pairs of tokens, in the order of learning
    special      {text: id} of special tokens, which are found before all else
    splitting    a name in ``splitting.RULES``
    unknown      the id for a byte that has no token; None: ``encode`` rejects it
    """

    def __init__(self, vocabulary, merges, special, splitting, unknown=None):
        self.vocabulary, self.special = vocabulary, special
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.splitting, self.unknown = splitting, unknown
        self.bytes = {  # id: bytes
            i: bpe.bytes_of(token)
            for token, i in vocabulary.items()
            if token not in special
        } | {i: text.encode("utf-8") for text, i in special.items()}
        longest_first = sorted(special, key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        self._known = {}  # {word: its ids}, because words come again

    def encode(self, text, special=True):
        """Return the ids of a text, a list.

        text      a str, or bytes in UTF-8 or not
        special   False: the texts of special tokens are cut as any other text is, for
                  text from a source that is not trusted
        """
        if isinstance(text, bytes):  # a byte that is not in a character is kept
            text = text.decode("utf-8", "surrogateescape")
        ids, i = [], 0
        for match in self._special.finditer(text) if special else ():
            ids += self._words(text[i : match.start()]) + [self.special[match[0]]]
            i = match.end()
        return ids + self._words(text[i:])

    def decode_bytes(self, ids):
        """Return the bytes of ids, exactly; they may be no UTF-8.

        A table of embeddings may have more rows than there are tokens. An id without a
        token gives U+FFFD.
        """
        return b"".join([self.bytes.get(int(i), NO_TOKEN) for i in ids])

    def decode(self, ids):
        """Return the text of ids; bytes that are not UTF-8 are replaced by a mark."""
        return self.decode_bytes(ids).decode("utf-8", "replace")

    def stream(self, ids):
        """Yield the text of ids in parts, each as soon as its characters are whole.

        A token may end inside a character. Its bytes wait for those of the next one.
        """
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for i in ids:
            if part := decoder.decode(self.decode_bytes([i])):
                yield part
        if part := decoder.decode(b"", final=True):
            yield part

    def _words(self, text):
        words = split(normalized(text, self.splitting), self.splitting)
        if len(self._known) > KNOWN:
            self._known.clear()
        for word in words:
            if word not in self._known:
                self._known[word] = self._ids_of(word)
        return [i for word in words for i in self._known[word]]

    def _ids_of(self, word):
        """Return the ids of a word."""
        word = bpe.symbols(word.encode("utf-8", "surrogateescape"))
        ids = []
        for token in bpe.merged(word, self.ranks):
            i = self.vocabulary.get(token, self.unknown)
            if i is None:
                raise ValueError(
                    f"encode: the vocabulary has no token for {bpe.bytes_of(token)!r}."
                )
            ids.append(i)
        return ids
