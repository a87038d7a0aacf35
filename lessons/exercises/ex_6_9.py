"""6.9  With attention and without  ●●●○  60 min  needs 6.5  book §6.1

Two translators that are equal but for one thing: the decoder of the one knows the last
state of the encoder alone, that of the other looks at all of them. You write a step of
both decoders, and what is needed to compare them fairly: BLEU, a test set that was not
seen, and the lengths of the sources. The book expects the advantage of attention to
grow with length; say what you expect first. The long run, 500 pairs of English and
German and three seeds each, is ``python -m lessons experiment 6.9``.
"""

import math
from collections import Counter

import numpy as np

import minigrad as mg
from attention import masked_softmax
from lessons import NotWritten


def _ngrams(words, n):
    """How often each run of n words stands in a sentence: {(word, ...): number}."""
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def prediction():
    """What you expect of the long run, before it runs; no answer is wrong.

    "longest"   with attention, BLEU on sources of 11 to 15 words is "better", "worse"
                or "alike"
    "growth"    from sources of 5 to 7 words to those of 11 to 15, the advantage, in
                points of BLEU, "grows", "shrinks" or is "alike"
    ->  a dictionary with these two
    """
    raise NotWritten("6.9 prediction")


def bleu(refs, hyps, order=4):
    """BLEU of a corpus, from 0 to 1, one reference for each hypothesis.

    refs, hyps   lists of sentences, each a list of words

        p_n   = n-grams that are right / n-grams that were said, of all sentences
        BLEU  = brevity * (p_1 p_2 ... p_order)^(1/order)
        brevity = 1 if c >= r, else exp(1 - r / c);  c words were said, of r in refs

    An n-gram of a sentence is right as often as it stands in its reference, at most.
    0 where some n-gram order has nothing right.
    """
    raise NotWritten("6.9 bleu")


def bucket_by_length(sentences, bounds):
    """Which sentences have which length.

    sentences   lists of words;  bounds  [(low, high), ...], both included
    ->  {(low, high): [i, ...]}, numbers of sentences in their order; of no bucket: left
        out
    """
    raise NotWritten("6.9 bucket_by_length")


def hold_out(pairs, n):
    """(train, test) of pairs (source, target): the last n are the test.

    What is left is for training, but for pairs whose source, or whose target, is one of
    the test's.
    """
    raise NotWritten("6.9 hold_out")


def decode_step(p, y, s, H, mask):
    """One word further: logits (B, V) of the next word, and the state after it.

    y (B,) ids of the words that were said last, s (B, d) the state, H (B, S, m) the
    states of the encoder, mask (B, S) bool, True = a word. p holds Tensors: E (V, e);
    W_ih, W_hh, b_ih, b_hh of ``mg.gru_cell``; W_o, b_o. With attention, p also has W_s,
    W_h and v, of the score of 6.5.

        without      s' = GRU(E[y], s)          logits = W_o s' + b_o
        with         s' = GRU([E[y]; c], s)     logits = W_o [s'; c] + b_o
                     c the context that the old state s asks for

    All in minigrad, so that the backward comes with it; ``masked_softmax`` has a mask.
    """
    raise NotWritten("6.9 decode_step")
