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
    # BEGIN SOLUTION
    said, rows, last = [], [], SOS
    with mg.no_grad():
        state = model.start(ids[None], np.array([len(ids)]))
        while len(said) < max_length:
            logits, state, weights = model.step(state, np.array([last]))
            last = int(logits.numpy()[0, EOS:].argmax()) + EOS  # neither PAD nor SOS
            if last == EOS:
                break
            said.append(last)
            rows.append(weights.numpy()[0])  # it looked there to say this word
    return np.array(said, int), np.array(rows).reshape(len(said), len(ids))
    # END SOLUTION


def layer_head_mean(layers):
    """The mean over all heads of all layers: [(H, T, S), ...]  ->  (T, S)"""
    # BEGIN SOLUTION
    return np.concatenate(layers).mean(0)
    # END SOLUTION


def links(weights):
    """{(t, s)}: for each word t the word s of the source that it looks at most."""
    # BEGIN SOLUTION
    return {(t, int(s)) for t, s in enumerate(weights.argmax(1))}
    # END SOLUTION


def alignment_error_rate(found, gold):
    """1 - 2 |found & gold| / (|found| + |gold|), of two sets of (t, s); 0 is right."""
    # BEGIN SOLUTION
    return 1 - 2 * len(found & gold) / (len(found) + len(gold))
    # END SOLUTION


def pattern(weights):
    """ "many-to-one", "reordering" or "diagonal", the first that is true.

    With p_t the word of the source that t looks at most:

    many-to-one   1/3 of the words t or more look where one before them has looked
    reordering    1 step in 10 or more, from p_t to p_{t+1}, goes back; one at least
    diagonal      else
    """
    # BEGIN SOLUTION
    p = weights.argmax(1)
    if 3 * (len(p) - len(set(p))) >= len(p):
        return "many-to-one"
    back = np.diff(p) < 0
    if back.any() and 10 * back.sum() >= len(back):
        return "reordering"
    return "diagonal"
    # END SOLUTION


def read_safetensors(path):
    """{name: array} of a file of weights, as published models come.

    8 bytes     n, a whole number, the least significant byte first
    n bytes     json: {name: {"dtype": "F32", "shape": [...], "data_offsets": [a, b]}};
                the entry "__metadata__", if there is one, is no array
    the rest    bytes a to b of it are the numbers of an array, row after row; _DTYPES
                says which NumPy dtype that is
    """
    # BEGIN SOLUTION
    data = pathlib.Path(path).read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    arrays = {}
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__":
            a, b = entry["data_offsets"]
            numbers = data[start + a : start + b]
            flat = np.frombuffer(numbers, _DTYPES[entry["dtype"]])
            arrays[name] = flat.reshape(entry["shape"])
    return arrays
    # END SOLUTION


# FOR THE CHECK

HINTS = {
    "": [
        "collect_attention is a loop of model.step. What is said last is fed next, and "
        "the weights of a step belong to the word that this step says.",
        "A set of pairs makes links easy to compare: found & gold is what is right. "
        "The pattern needs p = weights.argmax(1) and its differences alone.",
        "In the file, data starts at 8 + n, and the offsets count from there; "
        "np.frombuffer reads bytes as numbers, and reshape does the rest.",
    ],
    "not-fed": ["What does the decoder know of what it said before?"],
    "state-stands": ["Each step starts from the state that the last one returned."],
    "eos-said": ["EOS ends the sentence, and is no word of it."],
    "special": ["PAD and SOS are never said, however probable they seem."],
    "endless": ["A model that never says EOS has to be stopped."],
    "last-layer": ["All layers count, and all heads of each."],
    "maximum": ["A mean was asked for: its rows still sum to 1."],
    "by-source": ["For each word of the target one link. Which axis is searched?"],
    "precision": ["Links that are missing are errors as well."],
    "recall": ["Links that are too many are errors as well."],
    "no-complement": ["0 is right, and 1 is wrong."],
    "any-repeat": ["How many words must share a source for many-to-one?"],
    "counts-pauses": ["To look at the same word again is no step back."],
    "any-step-back": ["One step in ten or more has to go back."],
    "forward": ["A step back goes to a smaller s."],
    "offsets": ["From where do the offsets count?"],
    "metadata": ['"__metadata__" is no array.'],
}

MUTANTS = [
    ("np.array([last]))", "np.array([SOS]))", "not-fed"),
    ("logits, state, weights = model", "logits, _, weights = model", "state-stands"),
    ("if last == EOS:", "if said and said[-1] == EOS:", "eos-said"),
    ("[0, EOS:].argmax()) + EOS", "[0].argmax())", "special"),
    ("weights.numpy()[0])  # it", "np.roll(weights.numpy()[0], 1))  # it", "shifted"),
    ("return np.array(said, int), np.array(rows).reshape(len(said), len(ids))",
     "return np.array(said, int), np.array(rows).T", "transpose"),
    ("np.concatenate(layers).mean(0)", "layers[-1].mean(0)", "last-layer"),
    ("np.concatenate(layers).mean(0)", "np.concatenate(layers).max(0)", "maximum"),
    ("np.concatenate(layers).mean(0)", "np.stack(layers)[:, 0].mean(0)", "one-head"),
    ("enumerate(weights.argmax(1))", "enumerate(weights.argmax(0))", "by-source"),
    ("(t, int(s)) for", "(int(s), t) for", "transpose"),
    ("2 * len(found & gold) / (len(found) + len(gold))",
     "len(found & gold) / len(found)", "precision"),
    ("2 * len(found & gold) / (len(found) + len(gold))",
     "len(found & gold) / len(gold)", "recall"),
    ("return 1 - 2 *", "return 2 *", "no-complement"),
    ("3 * (len(p) - len(set(p))) >= len(p)", "len(set(p)) < len(p)", "any-repeat"),
    ("np.diff(p) < 0", "np.diff(p) <= 0", "counts-pauses"),
    ("np.diff(p) < 0", "np.diff(p) > 0", "forward"),
    ("if back.any() and 10 * back.sum() >= len(back):", "if back.any():",
     "any-step-back"),
    ("numbers = data[start + a : start + b]", "numbers = data[a : b]", "offsets"),
    ('if name != "__metadata__":', "if True:", "metadata"),
]  # fmt: skip
