"""Byte-pair encoding (BPE): cut a word into tokens by merging pairs.

A word begins as single symbols. A list of pairs, the merges, was learned from text: the
pair that was the most frequent first, then the most frequent after all its occurrences
were merged, and so on. To encode a word, the pair that stands first in the list is
merged wherever it occurs, from left to right, until no pair of neighbours is in it:

    merges    1  l o      2  e r      3  lo w      4  low er
    lower     l o w e r     lo w e r     lo w er     low er     lower      one token
    slower    s l o w e r   s lo w e r   s lo w er   s low er   s lower    two tokens

The order is that of learning, not the longest match. With n symbols this takes at most
n merges, each of which looks at all symbols.

The symbols are **bytes**, so that a text in any language, and every emoji, has tokens:
a character of UTF-8 is 1 to 4 bytes. In the files a byte is written as a character that
can be seen, since many bytes are control characters or spaces. A byte that is a visible
character in Latin-1 is that character; the others are, in their order, the characters
from U+0100 on. So the space, byte 0x20, is U+0120 (Ġ), and " the" is the token "Ġthe".

Sources: Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword
Units"; Radford et al. 2019, "Language Models are Unsupervised Multitask Learners".
"""

from collections import Counter, defaultdict

VISIBLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
OTHERS = [byte for byte in range(256) if byte not in VISIBLE]
SYMBOLS = {byte: chr(byte) for byte in VISIBLE} | {
    byte: chr(0x100 + i) for i, byte in enumerate(OTHERS)
}
BYTES = {symbol: byte for byte, symbol in SYMBOLS.items()}


def symbols(data):
    """Return the text in which each byte is a visible character."""
    return "".join([SYMBOLS[byte] for byte in data])


def bytes_of(token):
    """Return the bytes of a token; KeyError if a character is no symbol."""
    return bytes([BYTES[symbol] for symbol in token])


def merged(word, ranks):
    """Return the tokens of a word.

    word    its symbols, a str
    ranks   {(left, right): place in the list of merges}
    """
    tokens = list(word)
    while len(tokens) > 1:
        pairs = zip(tokens, tokens[1:])
        best = min(pairs, key=lambda pair: ranks.get(pair, len(ranks)))
        if best not in ranks:
            break
        tokens = _merge(tokens, best)
    return tokens


def learned(words, n):
    """Return at most n merges: at each step the pair that is the most frequent now.

    words   {word, in symbols: how often it occurs in the text}

    A merge changes the words that contain its pair, and only these are counted again.
    Of equally frequent pairs the last in the alphabet is taken. A pair that occurs once
    is not merged.
    """
    tokens = {word: list(word) for word in words}
    counts, places = Counter(), defaultdict(set)  # of a pair: how often, in which words

    def count(word, times):
        for pair in zip(tokens[word], tokens[word][1:]):
            counts[pair] += times
            places[pair].add(word)

    for word, times in words.items():
        count(word, times)
    merges = []
    while len(merges) < n and counts:
        best = max(counts, key=lambda pair: (counts[pair], pair))
        if counts[best] < 2:
            break
        merges.append(best)
        for word in places.pop(best):
            count(word, -words[word])
            tokens[word] = _merge(tokens[word], best)
            count(word, words[word])
        places.pop(best, None)
        del counts[best]
    return merges


def _merge(tokens, pair):
    """Return the tokens with every occurrence of the pair joined."""
    (left, right), joined, i = pair, [], 0
    while i < len(tokens):
        if tokens[i] == left and tokens[i + 1 : i + 2] == [right]:
            joined.append(left + right)
            i += 2
        else:
            joined.append(tokens[i])
            i += 1
    return joined
