"""The check of 6.7: a model that follows a script, the package's translator, a file."""

import atexit
import functools
import json
import pathlib
import shutil
import tempfile

import numpy as np

import minigrad as mg
from attention import kernels
from attention.app.pretrained import EN_FR
from attention.metrics import alignment
from attention.seq2seq import translator
from attention.tasks.grammar import by_length, splits
from minigrad import safetensors

from . import pictures
from .outcome import CheckFailed

PAD, SOS = 0, 1
PLACES = (  # for each target word its source word, in hexadecimal
    "01234 01324 210 001 012031 012211 010101 2 0 5643210 1032546789 001234 0112345678 "
    "01 1023 01234567 012345678 0123465789a 1023456789a 0123465789ab 1023456789ab"
).split()
LONGEST = 100  # words of a ``Fake``; max_length is 40 at most


class Fake:
    """A model that writes the words of ``script``.

    If its input is not the word before, it writes 9, or 8 in the first step.
    """

    def __init__(self, script, S, forbidden=PAD):
        self.script, self.S, self.forbidden = script, S, forbidden

    def start(self, source, lengths):
        assert source.shape == (1, self.S) and list(lengths) == [self.S]
        return 0, SOS

    def step(self, state, words):
        t, expected = state
        if t >= LONGEST:
            text = f"found {LONGEST} steps, with a max_length of 40 or less"
            raise CheckFailed("endless", "expected the end of the sentence", text)
        right = int(words[0]) == expected and t < len(self.script)
        word = self.script[t] if right else 9 if t else 8
        logits = np.full((1, 12), -3.0)  # all below 0
        logits[0, [word, self.forbidden]] = -2, -1  # the largest one is not allowed
        return mg.Tensor(logits), (t + 1, word), mg.Tensor(self.weights(t)[None])

    def weights(self, t):
        w = np.exp(np.sin(1 + 3 * t + np.arange(self.S) ** 2))
        return w / w.sum()


def patterns(rng):
    """Yield places p and random weights whose largest entry in row t is at p[t]."""
    for p in ([int(s, 16) for s in digits] for digits in PLACES):
        w = np.sort(rng.dirichlet(np.ones(max(p) + 1), len(p)), axis=1)
        for row, s in zip(w, p):
            row[[s, -1]] = row[[-1, s]]
        yield p, w


def is_threshold(found, w):
    """Return whether a set of pairs (t, s) has the largest of all weights."""
    pairs = sorted(np.ndindex(w.shape), key=lambda pair: -w[pair])
    return isinstance(found, set) and found == {*pairs[: len(found)]}


def stored(arrays, more):
    """Write arrays to a .safetensors file; return its path.

    more   entries of the header that stand before those of the arrays

    The file is there until the program ends: naming a mistake reads it again.
    """
    header, data = dict(more), b""
    for name, x in arrays.items():
        ends = [len(data), len(data) + x.nbytes]
        dtype, data = safetensors.NAMES[x.dtype], data + x.tobytes()
        header[name] = {"dtype": dtype, "shape": x.shape, "data_offsets": ends}
    text = json.dumps(header).encode()
    path = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
    atexit.register(shutil.rmtree, path.parent, ignore_errors=True)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return str(path)


@functools.cache
def pretrained():
    """Return the package's translator and pairs that it was not trained on."""
    model = translator.load(EN_FR)
    return model, splits("english-french", train=1, validation=1, test=200).test


def measured(answer, n=200):
    """Return measurements of the package's model with the functions of an answer.

    The error rates are means over the sentences whose translation equals the reference,
    because the right alignment is known only for these; less, the rates less those of
    a diagonal.
    """
    model, pairs = pretrained()
    rates, diagonal, patterns_of = [], [], {}
    for pair in pairs[:n]:
        ids = model.source.encode(pair.source)
        with kernels.backend("numpy"):
            said, w = answer.collect_attention(model.model, ids)
        w = np.asarray(w, float)
        patterns_of[pair] = answer.pattern(w)
        if model.target.decode(said) == list(pair.target):
            rates.append(answer.alignment_error_rate(answer.links(w), pair.alignment))
            diagonal.append(alignment.diagonal_baseline(*w.shape, pair.alignment))
    counted = {
        bucket: {
            name: sum(patterns_of[pair] == name for pair in inside)
            for name in ("diagonal", "reordering", "many-to-one")
        }
        for bucket, inside in by_length(pairs[:n]).items()
    }
    return {
        "sentences": len(patterns_of),
        "exact": len(rates) / len(patterns_of),
        "aer": float(np.mean(rates)),
        "aer_diagonal": float(np.mean(diagonal)),
        "less": np.subtract(rates, diagonal),
        "patterns": counted,
    }


def three_sentences(collect):
    """Yield (words, translation, weights) of unseen sources of 5, 15 and 30 words.

    The last are two sentences of 15 words, twice as long as any of the training.
    """
    model, pairs = pretrained()
    short, long = ([p for p in pairs if len(p.source) == n] for n in (5, 15))
    for row in (short[:1], long[:1], long[:2]):
        source = joined(row)[0]
        said, w = collect(model.model, np.array(model.source.encode(source)))
        yield source, model.target.decode(said), w


def joined(pairs):
    """Return source and target of several pairs as one pair, and its alignment."""
    source, target, links = [], [], set()
    for p in pairs:
        links |= {(len(target) + t, len(source) + s) for t, s in p.alignment}
        source, target = source + list(p.source), target + list(p.target)
    return source, target, links


def show(my, ending, w, source, target):
    """Draw weights with the learner's function, into the learner's folder."""
    size = 1.5 + 0.24 * len(source), 1.2 + 0.24 * len(target)
    fig = pictures.drawn(my, "draw", size, w, list(source), list(target))
    pictures.keep(my, fig, ending)
    return fig


def is_heatmap(my, fig, w, source, target):
    """Fail unless a figure shows w, with the words of the source and the target."""
    pictures.has_image(fig, w, "the weights")
    ax = pictures.panels(fig)[0]
    ticks = ax.get_xticklabels(), ax.get_yticklabels()
    across, down = ([label.get_text() for label in each] for each in ticks)
    my.holds(
        "draw",
        (across, down) == (source, target),
        f"{source[:3]} … below the image and {target[:3]} … beside it",
        f"{across[:3]} … and {down[:3]} …",
        "words-exchanged" if (across, down) == (target, source) else "no-words",
    )
