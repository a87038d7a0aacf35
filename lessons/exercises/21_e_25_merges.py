"""E.25  Byte-pair merges  ●●○○  35 min

A language model reads tokens. Single characters make a text long; whole words make the
vocabulary large, and a new word has no token. Byte-pair encoding lies between. It is
learned from the words of a text:

    1  each word is a tuple of single characters
    2  count all pairs of neighbours, and join the most frequent pair everywhere
    3  repeat step 2, now with the joined tokens

The joined pairs, in the order of learning, are the merges. A new word is cut by the same
merges: of all pairs of neighbours the one that was learned first is joined everywhere,
until no pair is left that was learned. (Sennrich et al. 2016.)
"""


def pairs(words):
    """Return {(left, right): number} of all pairs of neighbours in a text.

    words  {tuple of tokens: how often this word occurs in the text}
    """
    counts = {}
    for tokens, times in words.items():
        for pair in zip(tokens, tokens[1:]):  #? Which neighbours has the word a b c? Does a pair reach from one word into the next?
            #! for pair in dict.fromkeys(zip(tokens, tokens[1:])):  | pairs that count once in a word, however often it has them
            #! for pair in (tuple(sorted(p)) for p in zip(tokens, tokens[1:])):  | pairs in the order of the alphabet
            counts[pair] = counts.get(pair, 0) + times  #? How often does the text have this word?
    return counts


def join(tokens, pair):
    """Return the list of tokens in which every occurrence of the pair is one token.

    tokens, a tuple, are read from left to right: with (a, a), a a a becomes aa a.
    """
    joined, i = [], 0
    while i < len(tokens):
        if tokens[i : i + 2] == pair:
            joined.append(pair[0] + pair[1])  #? Which token is made of these two?
            #! joined.append(pair[1] + pair[0])  | the token right + left
            i += 2  #? Which token is the next that has not been read?
            #! i += 1; joined += tokens[i : i + 1]; i += 1  | the joined token, and its right half again
        else:
            joined.append(tokens[i])
            i += 1
    return joined  #? Is every occurrence joined, also the second and the last?
    #! return [*tokens[:k], "".join(pair), *tokens[k + 2 :]] if (k := next((k for k in range(len(tokens)) if tokens[k : k + 2] == pair), None)) is not None else [*tokens]  | a tuple in which the first occurrence alone is joined


def learn(words, n):
    """Return the list of the first n merges. Use ``pairs`` and ``join``.

    words  {str: how often this word occurs in the text}

    Of equally frequent pairs take the largest in Python's order of tuples. Stop early
    if no pair occurs at least twice.
    """
    cut = {tuple(word): times for word, times in words.items()}
    merges = []
    while len(merges) < n:  #? How many merges are wanted at most?
        counts = pairs(cut)  #? Which words are counted: those of the beginning, or those with the pairs that are joined already?
        best = max(counts, key=lambda pair: (counts[pair], pair), default=None)  #? Which pair is the most frequent, and which of equally frequent ones is taken?
        #! best = max(counts, key=lambda pair: counts[pair], default=None)  | merges with the first that was counted of equally frequent pairs
        #! best = min(counts, key=lambda pair: (-counts[pair], pair), default=None)  | merges with the smallest of equally frequent pairs
        #! best = max(counts, key=lambda pair: (counts[pair] * len("".join(pair)), pair), default=None)  | merges of the pair that saves the most characters
        if best is None or counts[best] < 2:  #? What does a pair tell that occurs once?
            break
        merges.append(best)
        cut = {tuple(join(tokens, best)): times for tokens, times in cut.items()}  #? In which words is the new pair joined, before the next is counted?
    return merges
    #! c = pairs({tuple(word): k for word, k in words.items()}); return sorted((p for p in c if c[p] > 1), key=lambda p: (c[p], p), reverse=True)[:n]  | the most frequent pairs of characters, counted once


def encode(word, merges):
    """Return the list of tokens of a word, a str, with these merges."""
    tokens = tuple(word)
    while True:
        found = [pair for pair in merges if pair in zip(tokens, tokens[1:])]  #? Which merges fit neighbours of the word as it is cut now? In which order are they?
        #! found = sorted((pair for pair in merges if pair in zip(tokens, tokens[1:])), key=lambda p: -len("".join(p)))  | tokens with the longest pair joined first
        #! found = [pair for pair in zip(tokens, tokens[1:]) if pair in merges]  | tokens with the leftmost pair joined first
        if not found:
            return [*tokens]
        tokens = tuple(join(tokens, found[0]))  #? Of the pairs that fit, which was learned first?
        #! tokens = tuple(join(tokens, found[-1]))  | tokens with the pair joined first that was learned last


# ---- THE CHECK: each call my.f(…) is compared with the function f above

WORDS = {"lower": 5, "low": 2, "slower": 3, "newest": 6, "widest": 3}


def draw(rng, n=8):
    """Return words of the letters a, b and c, and how often they occur."""
    lengths = rng.integers(1, 9, n)
    words = ["".join(rng.choice(list("abc"), k)) for k in lengths]
    return {word: int(rng.integers(1, 6)) for word in words}


def neighbours(my, rng):
    """pairs of neighbours, in the words of the example and in random ones"""
    for words in (WORDS, draw(rng), {"a": 3}, {"aaaa": 2}):
        my.pairs({tuple(word): times for word, times in words.items()})


def joined(my, rng):
    """pairs that occur once, several times, at the end, overlapping, or not"""
    for word, pair in (("lower", "we"), ("aaa", "aa"), ("aaaa", "aa"), ("abcab", "ab"),
                       ("cabcab", "ab"), ("abc", "cb"), ("a", "ab")):  # fmt: skip
        my.join(tuple(word), tuple(pair))
    my.join(("lo", "w", "e", "lo", "w"), ("lo", "w"))
    for word in draw(rng):
        my.join(tuple(word), ("a", "b"))


def learned(my, rng):
    """the merges of the example, of random words, and of words that end early"""
    my.learn(WORDS, 6)
    for n in (1, 5, 30):
        my.learn(draw(rng), n)
    my.learn({"ab": 1, "cd": 1}, 3)
    my.learn({"ab": 2, "cd": 3, "b": 9}, 5)


def cut(my, rng):
    """words that were learned from, and new ones"""
    merges = learn(WORDS, 9)
    for word in (*WORDS, "lowest", "wow", "x", "newer"):
        my.encode(word, merges)
    for _ in range(4):
        merges = learn(draw(rng), 8)
        for word in draw(rng, 4):
            my.encode(word, merges)
    my.encode("abc", [("b", "c"), ("a", "b"), ("a", "bc")])
    my.encode("abcd", [("a", "b"), ("c", "d"), ("ab", "c")])


HINTS = """
pairs  A word of n tokens has n - 1 pairs, and each counts as often as its word occurs.
join  Walk through the tuple with an index i. By how much does it grow after a pair?
learn  The loop has three parts: count, choose, and join the chosen pair in each word.
1  zip(tokens, tokens[1:]) are the pairs of neighbours. A slice of a tuple is a tuple,
   which can be compared with the pair.
2  A key of max can be a tuple: it compares the count first, and then the pair.
3  learn: while there are fewer than n merges, take max(counts, key=lambda p:
   (counts[p], p)), append it, and make cut anew with join. encode: join the first of
   the merges that is among the pairs of neighbours, and begin again.
"""
WHY = """Frequent words become one token, rare ones a few, and a new word still has
tokens, since single characters stay in the vocabulary. The order of the merges is part of
the model: another order cuts the same word in another way."""
