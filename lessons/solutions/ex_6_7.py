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
            rows.append(weights.numpy()[0])  # the weights of this word
    return np.array(said, int), np.array(rows).reshape(len(said), len(ids))
    # END SOLUTION


def layer_head_mean(layers):
    """Return the mean over all heads of all layers: [(H, T, S), ...]  ->  (T, S)

    All layers have the same number H of heads.
    """
    # BEGIN SOLUTION
    return np.concatenate(layers).mean(0)
    # END SOLUTION


def links(weights):
    """Return {(t, s)}: for each target word t the source word s of largest weight."""
    # BEGIN SOLUTION
    return {(t, int(s)) for t, s in enumerate(weights.argmax(1))}
    # END SOLUTION


def alignment_error_rate(found, gold):
    """Return 1 - 2 |found & gold| / (|found| + |gold|) of two sets of (t, s).

    0 means that both sets are equal. The sets are not both empty.
    """
    # BEGIN SOLUTION
    return 1 - 2 * len(found & gold) / (len(found) + len(gold))
    # END SOLUTION


def pattern(weights):
    """Return "many-to-one", "reordering" or "diagonal", the first that is true.

    With p_t the source word of the largest weight in row t:

    many-to-one   for at least 1/3 of all t, an earlier row has the same p as row t
    reordering    at least one step from p_t to p_{t+1} goes back, and so do at least
                  1/10 of all steps
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


def draw(fig, weights, source, target):
    """Draw weights (T, S) as a heatmap into a matplotlib figure.

    source, target   lists of words: the source on the horizontal axis and the target on
                     the vertical one, a word at each row and column of the image
    """
    # BEGIN SOLUTION
    ax = fig.subplots()
    ax.imshow(weights, cmap="Blues", vmin=0)
    ax.set_xticks(range(len(source)), source, rotation=90)
    ax.set_yticks(range(len(target)), target)
    # END SOLUTION


def read_safetensors(path):
    """Return {name: array} of a file in which published models store their weights.

    8 bytes     n, a whole number, the least significant byte first
    n bytes     json: {name: {"dtype": "F32", "shape": [...], "data_offsets": [a, b]}};
                the optional entry "__metadata__" is not an array
    the rest    bytes a to b of it are the numbers of an array, row after row; _DTYPES
                contains the NumPy dtype

    Each array has the shape and the dtype of the file.
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


def explanation():
    """Return a string: which pattern does each of the three sentences have, and how do
    the patterns change with length?

    Write ten words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    # BEGIN SOLUTION
    return (
        "The five words go nearly along the diagonal, with one step back where French "
        "puts the adjective after the noun. The long sentences have the same steps "
        "inside a diagonal, and two French words that look at one English word. At "
        "thirty words, twice what the model was trained on, the diagonal breaks: it "
        "stops early, or returns to the start. In the Transformer the mean over "
        "layers and heads is paler than one head, and aligns better than each."
    )
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "Each step of the decoder gives one row of weights over the source, and the "
    "largest weight of a row is the link that it claims. A grammar made the sentences, "
    "so the right links are known, and the error rate replaces an impression of a "
    "picture."
)

MUTANTS = [
    ("ax.imshow(weights,", "ax.imshow(weights.T,", "transposed"),
    ("range(len(source)), source, rotation=90)", "range(len(source)))", "no-words"),
    ("""ax.set_xticks(range(len(source)), source, rotation=90)
    ax.set_yticks(range(len(target)), target)""",
     """ax.set_yticks(range(len(source)), source)
    ax.set_xticks(range(len(target)), target)""", "words-exchanged"),
    ("np.array([last]))", "np.array([SOS]))", "not-fed"),
    ("logits, state, weights = model", "logits, _, weights = model", "state-stands"),
    ("if last == EOS:", "if said and said[-1] == EOS:", "eos-written"),
    ("[0, EOS:].argmax()) + EOS", "[0].argmax())", "special"),
    ("weights.numpy()[0])  #", "np.roll(weights.numpy()[0], 1))  #", "shifted"),
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
