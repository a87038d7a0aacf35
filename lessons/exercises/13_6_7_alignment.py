"""6.7  The attention of a trained translator  ●●●○  60 min  needs 6.5  book §6.5

Collect the attention weights of a trained translator for each word of sources of 5, 15
and 30 words, look at them, and name the pattern that they form. The check uses the
English-French model of this package. A grammar made its sentences, so the right
alignment is known, and the weights can be compared with it.

``python -m lessons experiment 6.7`` takes two models with layers and heads: a
Transformer that it trains first, 450 steps, on the same grammar, and, with
``--weights DIR``, a published Marian model (opus-mt-en-fr), if you have its files.

Weights are (T, S), with a row for each target word. Every row sums to 1.
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
    said, rows, last = [], [], SOS  #? Which word does the docstring give for the first step?
    #! said, rows, last = [], [], PAD  | a sentence whose first step reads PAD
    with mg.no_grad():
        state = model.start(ids[None], np.array([len(ids)]))
        while len(said) < max_length:  #? Stop after max_length words: some models never write EOS.
            #! while len(said) < 40:  | up to 40 words, whatever max_length is
            logits, state, weights = model.step(state, np.array([last]))  #? Which word is the input of the second step, and from which state does it start?
            #! logits, state, weights = model.step(state, np.array([SOS]))  | steps that all read SOS
            #! logits, _, weights = model.step(state, np.array([last]))  | steps that all start from the first state
            last = int(logits.numpy()[0, EOS:].argmax()) + EOS  #? PAD and SOS are never written. argmax counts from the start of the slice.
            #! last = int(logits.numpy()[0].argmax())  | the most probable words, also PAD and SOS
            #! last = int((logits.numpy()[0] * (np.arange(logits.shape[1]) >= EOS)).argmax())  | the largest of logits in which those of PAD and SOS are 0
            if last == EOS:  #? EOS ends the sentence and is not one of its words.
                #! if last == PAD:  | a sentence that does not end at EOS
                #! if said and said[-1] == EOS:  | a sentence with EOS among its words
                break
            said.append(last)
            rows.append(weights.numpy()[0])  #? The weights of a step belong to the word that this step writes.
            #! rows.append(np.roll(weights.numpy()[0], 1))  | weights moved by one word of the source
    return np.array(said, int), np.array(rows).reshape(len(said), len(ids))  #? One row for each written word, one column for each source word.
    #! return np.array(said, int), np.array(rows).T  | weights with a column for each written word


def layer_head_mean(layers):
    """Return the mean over all heads of all layers: [(H, T, S), ...]  ->  (T, S)

    All layers have the same number H of heads.
    """
    return np.concatenate(layers).mean(0)  #? Every head of every layer counts once, and the rows of the mean still sum to 1.
    #! return layers[-1].mean(0)  | the mean of the last layer alone
    #! return layers[0].mean(0)  | the mean of the first layer alone
    #! return np.concatenate(layers).max(0)  | the largest of all heads
    #! return np.stack(layers)[:, 0].mean(0)  | the mean of the first heads
    #! return layers[0][0]  | the first head of the first layer


def links(weights):
    """Return {(t, s)}: for each target word t the source word s of largest weight."""
    return {(t, int(s)) for t, s in enumerate(weights.argmax(1))}  #? How many links do weights of shape (4, 3) have? Over which axis is the maximum?
    #! return {(s, int(t)) for s, t in enumerate(weights.argmax(0))}  | for each column the row of its largest weight
    #! return {(int(s), t) for t, s in enumerate(weights.argmax(1))}  | the links as pairs (s, t)
    #! return {(t, int(s)) for t, s in enumerate(weights.argmin(1))}  | the source words of least weight


def alignment_error_rate(found, gold):
    """Return 1 - 2 |found & gold| / (|found| + |gold|) of two sets of (t, s).

    0 means that both sets are equal. The sets are not both empty.
    """
    return 1 - 2 * len(found & gold) / (len(found) + len(gold))  #? What are |found|, |gold| and the number of links in both? The rate is 0 if found equals gold.
    #! return 1 - len(found & gold) / len(found)  | 1 - the right share of found
    #! return 1 - len(found & gold) / len(gold)  | 1 - the found share of gold
    #! return 1 - len(found & gold) / len(found | gold)  | 1 - |found & gold| / |found | gold|
    #! return 1 - 2 * len(found & gold) / len(found) + len(gold)  | 1 - 2 |found & gold| / |found| + |gold|
    #! return 2 * len(found & gold) / (len(found) + len(gold))  | the right share, not the error


def pattern(weights):
    """Return "many-to-one", "reordering" or "diagonal", the first that is true.

    With p_t the source word of the largest weight in row t:

    many-to-one   for at least 1/3 of all t, an earlier row has the same p as row t
    reordering    at least one step from p_t to p_{t+1} goes back, and so do at least
                  1/10 of all steps
    diagonal      else
    """
    p = weights.argmax(1)  #? p has an entry for each target word.
    again = len(p) - len(set(p))  # rows whose p an earlier row has  #? Any earlier row may have the same p. Has the first row with some p an earlier one?
    #! again = (p[1:] == p[:-1]).sum()  | the pattern if p_t is compared with the row before alone
    #! again = sum((p == s).sum() > 1 for s in p)  | the pattern if the first row with some p counts as well
    if 3 * again >= len(p):  #? Compute the share of p = (0, 0, 1) by hand. Which shares are enough for many-to-one?
        #! if again > 0:  | the pattern if one p that occurs again is enough
        return "many-to-one"
    back = np.diff(p) < 0  #? A step back goes to a smaller s, also one of 1.
    #! back = np.diff(p) <= 0  | the pattern if a step to the same word goes back
    #! back = np.diff(p) > 0  | the pattern if a step to a larger s goes back
    if back.any() and 10 * back.sum() >= len(back):  #? T rows have T - 1 steps. Is one of them back, and one in ten?
        #! if back.any() and 10 * back.sum() > len(back):  | the pattern if a share of exactly 1/10 is not enough
        return "reordering"
    return "diagonal"


def draw(fig, weights, source, target):
    """Draw weights (T, S) as a heatmap into a matplotlib figure.

    source, target   lists of words: the source on the horizontal axis and the target on
                     the vertical one, a word at each row and column of the image
    """
    ax = fig.subplots()
    ax.imshow(weights, cmap="Blues", vmin=0)  #? Row t of the weights is row t of the image, for target word t.
    ax.set_xticks(range(len(source)), source, rotation=90)  #? ax.set_xticks(range(n), words) writes a word at each column.
    ax.set_yticks(range(len(target)), target)


def read_safetensors(path):
    """Return {name: array} of a file in which published models store their weights.

    8 bytes     n, a whole number, the least significant byte first
    n bytes     json: {name: {"dtype": "F32", "shape": [...], "data_offsets": [a, b]}};
                the optional entry "__metadata__" is not an array
    the rest    bytes a to b of it are the numbers of an array, row after row; _DTYPES
                contains the NumPy dtype

    Each array has the shape and the dtype of the file.
    """
    data = pathlib.Path(path).read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")  #? The file has three parts. How long is each?
    arrays = {}
    for name, entry in json.loads(data[8:start]).items():  #? Where does ``return`` stand: inside the loop, or after it?
        #! for name, entry in [*json.loads(data[8:start]).items()][:1]:  | the arrays of the first entry alone
        if name != "__metadata__":  #? The entry "__metadata__" is not an array.
            a, b = entry["data_offsets"]
            numbers = data[start + a : start + b]  #? Where do the offsets begin to count?
            #! numbers = data[a:b]  | arrays of the bytes a to b of the whole file
            flat = np.frombuffer(numbers, _DTYPES[entry["dtype"]])
            arrays[name] = flat.reshape(entry["shape"])  #? The numbers stand row after row, the order of reshape. The shape [] is that of a single number.
            #! arrays[name] = flat.reshape(entry["shape"], order="F")  | arrays whose numbers stand column after column
            #! arrays[name] = flat.reshape(entry["shape"] or [1])  | an array of shape (1,) in the place of a single number
            #! arrays[name] = flat  | arrays without their shapes
    return arrays


def explanation():
    """Return a string: which pattern does each of the three sentences have, and how do
    the patterns change with length?

    Write ten words or more; they are not graded. The check then prints a good answer.
    """
    return (  #? Which words make a row leave the diagonal?
        "the five words go nearly along the diagonal; the fifteen step back where the "
        "adjective follows the noun\n"
        "at thirty, beyond the lengths of the training, the diagonal breaks\n"
        "the mean of all heads is paler than one head and aligns better than each; an "
        "alignment is not yet a cause"
    )


# ---- THE CHECK: each call my.f(…) is compared with the function f above

from lessons.course.words import your_own_words  # noqa: F401
from lessons.course import translators


def what_it_says(my, rng):
    """the words of a model, and its weights"""
    for script, *more in (([5, 4, 7, 5, EOS],), ([5] * 50, 6)):  # the second never ends
        for forbidden in (PAD, SOS):
            model = translators.Fake(script, 5, forbidden)
            my.collect_attention(model, np.arange(4, 9), *more)
    found = my.only.collect_attention(translators.Fake([EOS], 5), np.arange(4, 9))
    text = "written (0,) and weights (0, 5)", [*map(np.shape, found)]
    my.holds("collect_attention", text[1] == [(0,), (0, 5)], *text)


def the_mean(my, rng):
    """the mean over layers and heads"""
    my.layer_head_mean([rng.dirichlet(np.ones(5), (3, 7)) for _ in range(2)])


def of_each_row(my, rng):
    """links"""
    for _, w in translators.patterns(rng):
        found = my.only.links(w)
        is_threshold = found != links(w) and translators.is_threshold(found, w)
        text = "the largest weight of each row", "all weights above one number"
        my.holds("links", not is_threshold, *text, "threshold")
        my.links(w)


def errors(my, rng):
    """error rates"""
    found = {(0, 0), (1, 2), (2, 1), (3, 1), (4, 3), (5, 5)}
    for gold in ({*found, (6, 6)} - {(5, 5)}, {(1, 2), (6, 3)}, {(7, 1)}, found):
        my.alignment_error_rate(found, gold)


def names(my, rng):
    """patterns"""
    for p, w in translators.patterns(rng):
        found, want = my.only.pattern(w), pattern(w)
        my.holds("pattern", found == want, f"{want} for p = {p}", found)


def a_file(my, rng):
    """a file of weights"""
    held = {"a": rng.normal(size=(3, 5)), "n": np.arange(7, dtype="<i8"),
            "h": rng.normal(size=2).astype("<f2"), "x": np.float32(0.5)}  # fmt: skip
    for extra in ({}, {"__metadata__": {"format": "np"}}):
        found = my.read_safetensors(translators.stored(held, extra))
        kinds = [[np.asarray(x).dtype.str for x in of.values()] for of in (held, found)]
        my.holds("read_safetensors", kinds[0] == kinds[1], *kinds, "dtype")


def of_the_package(my, rng):
    """the package's model: its words, weights and error rates"""
    found = translators.measured(my.near(1e-5), 6)
    print("error rate {aer:.3f}, of a diagonal {aer_diagonal:.3f}".format(**found))


def heatmaps(my, rng):
    """heatmaps of sentences of 5, 15 and 30 words"""
    for words, target, w in translators.three_sentences(collect_attention):
        fig = translators.show(my, f"_{len(words)}_words", w, words, target)
        translators.is_heatmap(my, fig, w, words, target)
        print(f"{len(words):2} words: {my.only.pattern(w)}")


def experiment(my, seed=0):
    """Measure three models; no result depends on the seed."""
    from lessons.course import alignments  # loads slowly
    return alignments.of_three_models(my)


HINTS = """
draw  Which axis has the source words?
collect_attention  Follow one word: what goes into a step, comes out, and is kept?
links  The largest weight of one row may be smaller than another weight of a second row.
read_safetensors  The file has three parts. How long is each? Which entry is no array?
1  collect_attention is a loop over model.step. The word before is the input of the next
   step, and the weights of a step belong to the word that this step writes.
2  A set of pairs makes links easy to compare: found & gold contains the right ones. The
   pattern needs only p = weights.argmax(1) and its differences.
3  In the file, the offsets count from 8 + n. np.frombuffer reads bytes as numbers.
"""
WHY = """Each step of the decoder gives one row of weights over the source, and the
largest weight of a row is the link that it claims. A grammar made the sentences, so the
right links are known, and the error rate replaces an impression of a picture."""
