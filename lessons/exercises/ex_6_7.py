"""6.7  The attention of a trained translator  ●●●○  60 min  needs 6.5  book §6.5

A trained translator translates sources of 5, 15 and 30 words. Collect its attention
weights for each word, look at them, and name the pattern that they form. The check uses

    tier A   the English-French model of this package. A grammar made its sentences, so
             the right alignment is known, and the weights can be compared with it

and ``python -m lessons experiment 6.7`` takes two models with layers and heads:

    tier T   a Transformer that it trains first, 450 steps, on the same grammar; one model
             says what its heads do, and nothing about other models
    tier B   a published Marian model (opus-mt-en-fr), if you have its files, with
             --weights DIR. Without them it is left out

Weights are (T, S) here: one row for each target word, one column for each source word,
and every row sums to 1.
"""

import json
import pathlib

import numpy as np

import minigrad as mg
from lessons import NotWritten

PAD, SOS, EOS = 0, 1, 2
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4"}


def collect_attention(model, ids, max_length=40):
    """Return the words that the model writes for one sentence, and their weights.

    model   state = model.start(source (1, S), lengths (1,)) comes first. Then, for each
            word, logits (1, V), state, weights (1, S) = model.step(state, words (1,)),
            where words is the word before, SOS at first; logits and weights are
            Tensors, and .numpy() returns their arrays
    ids     (S,) of the source

    Each step writes the most probable word other than PAD and SOS. The sentence ends at
    EOS or after max_length words.
    ->  written (T,) ids without EOS, weights (T, S)
    """
    raise NotWritten("6.7 collect_attention")


def layer_head_mean(layers):
    """Return the mean over all heads of all layers: [(H, T, S), ...]  ->  (T, S)

    All layers have the same number H of heads.
    """
    raise NotWritten("6.7 layer_head_mean")


def links(weights):
    """Return {(t, s)}: for each target word t the source word s of largest weight."""
    raise NotWritten("6.7 links")


def alignment_error_rate(found, gold):
    """Return 1 - 2 |found & gold| / (|found| + |gold|) of two sets of (t, s).

    0 means that both sets are equal. The sets are not both empty.
    """
    raise NotWritten("6.7 alignment_error_rate")


def pattern(weights):
    """Return "many-to-one", "reordering" or "diagonal", the first that is true.

    With p_t the source word of the largest weight in row t:

    many-to-one   for at least 1/3 of all t, an earlier row has the same p as row t
    reordering    at least one step from p_t to p_{t+1} goes back, and so do at least
                  1/10 of all steps
    diagonal      else
    """
    raise NotWritten("6.7 pattern")


def draw(fig, weights, source, target):
    """Draw weights (T, S) as a heatmap into a matplotlib figure.

    source, target   lists of words: the source on the horizontal axis and the target on
                     the vertical one, a word at each row and column of the image
    """
    raise NotWritten("6.7 draw")


def read_safetensors(path):
    """Return {name: array} of a file in which published models store their weights.

    8 bytes     n, a whole number, the least significant byte first
    n bytes     json: {name: {"dtype": "F32", "shape": [...], "data_offsets": [a, b]}};
                the optional entry "__metadata__" is not an array
    the rest    bytes a to b of it are the numbers of an array, row after row; _DTYPES
                contains the NumPy dtype

    Each array has the shape and the dtype of the file.
    """
    raise NotWritten("6.7 read_safetensors")


def explanation():
    """Return a string: which pattern does each of the three sentences have, and how do
    the patterns change with length?

    Write ten words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    raise NotWritten("6.7 explanation")
