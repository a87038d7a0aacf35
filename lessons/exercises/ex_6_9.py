"""6.9  Translation with and without attention  ●●●○  60 min  needs 6.5  book §6.1

Two translators differ in one thing: without attention, the decoder receives only the
last state of the encoder; with attention, it receives a weighted sum of all states.
Write one step of both decoders, and what a fair comparison needs: BLEU, a test set of
unseen pairs, and BLEU by the length of the source. The book expects the advantage of
attention to grow with the length: write down your own prediction first. Then

    python -m lessons experiment 6.9

compares both fairly, with your ``decode_step``, your split of 500 English-German pairs,
and your BLEU. Their widths give them nearly equally many parameters. Each has four
learning rates and trains until a plateau (lesson 14), from five seeds. It prints the
advantage with its interval and draws the figure. Ctrl-C loses nothing; ``--quick``
trains each only once. The exercise passes with your own run of your present code.
"""

import math
from collections import Counter

import numpy as np

import minigrad as mg
from attention import masked_softmax
from lessons import NotWritten

ENCODER = "gru"  # in both directions; "lstm" is the chapter's, two layers of an LSTM


def _ngrams(words, n):
    """Return how often each run of n words occurs: {(word, ...): number}."""
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def prediction():
    """Return your prediction for the long run, before it runs. No answer is wrong.

    "longest"   is BLEU with attention, on sources of 11 to 15 words, "better", "worse"
                or "alike"?
    "growth"    from sources of 5 to 7 words to sources of 11 to 15 words, the
                advantage, in points of BLEU, "grows", "shrinks" or is "alike"
    ->  a dictionary with these two keys
    """
    raise NotWritten("6.9 prediction")


def bleu(refs, hyps, order=4):
    """Return the BLEU of a corpus, from 0 to 1, one reference for each hypothesis.

    refs, hyps   lists of sentences, each a list of words

        p_n   = right n-grams / n-grams of the hypotheses, over all sentences
        BLEU  = brevity * (p_1 p_2 ... p_order)^(1/order)
        brevity = 1 if c >= r, else exp(1 - r / c);  hyps have c words, refs have r

    An n-gram of a hypothesis is right at most as often as its own reference contains
    it. Return 0 if an order has no right n-gram.
    """
    raise NotWritten("6.9 bleu")


def bucket_by_length(sentences, bounds):
    """Group sentences by their number of words.

    sentences   lists of words;  bounds  [(low, high), ...], both included
    ->  {(low, high): [i, ...]}, the indices of sentences in their order; leave out
        sentences that are in no group
    """
    raise NotWritten("6.9 bucket_by_length")


def bleu_by_length(sources, refs, hyps, bounds):
    """Return {(low, high): BLEU of the sentences whose source has low to high words}.

    sources, refs, hyps   lists of sentences, each a list of words
    Use ``bucket_by_length`` and ``bleu``.
    """
    raise NotWritten("6.9 bleu_by_length")


def hold_out(pairs, n):
    """Split pairs (source, target) into (train, test): the last n are the test.

    Leave out of the others those whose source, or whose target, occurs in the test. The
    rest is for training, in its order; a pair that occurs twice stays. n may be 0.
    """
    raise NotWritten("6.9 hold_out")


def decode_step(p, y, s, H, mask):
    """Return logits (B, V) of the next word and the state after this step.

    y (B,) ids of the words before, s (B, d) the state, H (B, S, m) the states of the
    encoder, mask (B, S) bool, True for a word. s and H are Tensors, and so is what p
    contains: E (V, e); the weights of ``mg.gru_cell(x, s, W_ih, W_hh, b_ih, b_hh)``;
    W_o (V, d), b_o (V,). With attention, W_o is (V, d + m), and p also contains
    W_s (a, d), W_h (a, m) and v (a,), the parameters of the score of 6.5.

        without      s' = GRU(E[y], s)          logits = W_o s' + b_o
        with         s' = GRU([E[y]; c], s)     logits = W_o [s'; c] + b_o
                     c is the context for the old state s

    Use minigrad throughout, so that the backward is computed for you;
    ``masked_softmax(e, mask=…)`` takes the mask by its name.
    """
    raise NotWritten("6.9 decode_step")


def explanation():
    """Return a string: what does your table say about the book's expectation, and why?

    Write ten words or more after the long run. They are not graded; the check prints
    what a good answer says.
    """
    raise NotWritten("6.9 explanation")
