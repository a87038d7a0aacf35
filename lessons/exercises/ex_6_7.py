"""6.7  Where a trained translator looks  ●●●○  50 min  needs 6.5  book §6.5

A translator that was trained says a sentence; you collect where it looked, and say what
that looks like. Two of them:

    tier A   the English-French model that comes with the package. A grammar made its
             sentences, so the right alignment is known, and looking can be measured
    tier B   a published Marian model (opus-mt-en-fr), if you have its files:
             python -m lessons experiment 6.7 --weights DIR. Without them it is not
             run, and nothing is shown in its place

Weights are (T, S) here: a row for each word that was said, a column for each of the
source, and every row sums to 1.
"""

import json
import pathlib

import numpy as np

import minigrad as mg
from lessons import NotWritten

PAD, SOS, EOS = 0, 1, 2
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4"}


def collect_attention(model, ids, max_length=40):
    """What the model says of one sentence, greedily, and where it looked for each word.

    model   state = model.start(source (1, S), lengths (1,)), and then, for each word,
            logits (1, V), state, weights (1, S) = model.step(state, words (1,)), where
            words is what was said last, SOS at first; logits and weights are Tensors
    ids     (S,) of the source

    The most probable word is said, PAD and SOS excepted, until it is EOS, or max_length
    words were said.
    ->  said (T,) ids without EOS, weights (T, S)
    """
    raise NotWritten("6.7 collect_attention")


def layer_head_mean(layers):
    """The mean over all heads of all layers: [(H, T, S), ...]  ->  (T, S)"""
    raise NotWritten("6.7 layer_head_mean")


def links(weights):
    """{(t, s)}: for each word t the word s of the source that it looks at most."""
    raise NotWritten("6.7 links")


def alignment_error_rate(found, gold):
    """1 - 2 |found & gold| / (|found| + |gold|), of two sets of (t, s); 0 is right."""
    raise NotWritten("6.7 alignment_error_rate")


def pattern(weights):
    """ "many-to-one", "reordering" or "diagonal", the first that is true.

    With p_t the word of the source that t looks at most:

    many-to-one   1/3 of the words t or more look where one before them has looked
    reordering    1 step in 10 or more, from p_t to p_{t+1}, goes back; one at least
    diagonal      else
    """
    raise NotWritten("6.7 pattern")


def read_safetensors(path):
    """{name: array} of a file of weights, as published models come.

    8 bytes     n, a whole number, the least significant byte first
    n bytes     json: {name: {"dtype": "F32", "shape": [...], "data_offsets": [a, b]}};
                the entry "__metadata__", if there is one, is no array
    the rest    bytes a to b of it are the numbers of an array, row after row; _DTYPES
                says which NumPy dtype that is
    """
    raise NotWritten("6.7 read_safetensors")
