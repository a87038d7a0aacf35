"""Check an answer to E.15."""

import functools

import numpy as np

import minigrad as mg
from attention import kernels
from attention.app.pretrained import EN_FR
from attention.seq2seq import translator
from attention.tasks.grammar import splits
from lessons.checks.before import answers_pass
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import equal_all, shape_all
from lessons.classroom.steps import CheckFailed, laws, shape, values
from minigrad import safetensors

SOS, EOS = 1, 2
SHAPES = {  # of small random parameters: S = 5, e = 3, d = 4, a = 7, V' = 11
    "E_source": (13, 3), "E_target": (11, 3), "W_b": (4, 8), "b_b": (4,),
    "W_s": (7, 4), "W_h": (7, 8), "v": (7,), "W_o": (11, 12), "b_o": (11,),
}  # fmt: skip


def small(rng):
    """Return random parameters of a small translator."""
    p = {name: rng.normal(size=shape) for name, shape in SHAPES.items()}
    for name, width in (("left", 3), ("right", 3), ("decoder", 11)):
        shapes = (12, width), (12, 4), (12,), (12,)
        p[name] = tuple(rng.normal(size=shape) for shape in shapes)
    return p


def gru(x, h, weights):
    """Return the state after one step of a GRU."""
    W_ih, W_hh, b_ih, b_hh = weights
    a, b = np.split(W_ih @ x + b_ih, 3), np.split(W_hh @ h + b_hh, 3)
    r, z = (sigmoid(a[k] + b[k]) for k in (0, 1))
    return (1 - z) * np.tanh(a[2] + r * b[2]) + z * h


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def states(xs, weights, keep=True, start=0.0):
    h, found = np.full(4, start), []
    for x in xs:
        h = gru(x, h if keep else 0 * h, weights)
        found.append(h)
    return np.array(found)


def encoded(
    p, ids, turn=True, back=True, first=-1, last=0, order=1, bend=np.tanh, cells=1,
    halves=1, table="E_source", cell=None, biased=True, mean=False,
):  # fmt: skip
    """Return {"H", "s_0"}; each option adds one mistake."""
    x = p[table][ids]
    one, other = (cell, cell) if cell else ("left", "right")[::cells]
    left = states(x, p[one])
    right = states(x[::-1] if turn else x, p[other])
    right = right[::-1] if back else right
    both = np.concatenate([left[first], right[last]][::order])
    H = np.concatenate([left, right][::halves], 1)
    both = H.mean(0) if mean else both
    return {"H": H, "s_0": bend(p["W_b"] @ both + biased * p["b_b"])}


def decoded(
    p, y, s, H, query="old", output="new", order=1, ends=1, table="E_target",
    biased=True, equal=False,
):  # fmt: skip
    """Return {"state", "weights", "logits"}; each option adds one mistake."""

    def attend(s):
        e = [p["v"] @ np.tanh(p["W_s"] @ s + p["W_h"] @ h) for h in H]
        z = np.exp((np.array(e) - max(e)) * (not equal))
        return z / z.sum()

    alpha = attend(s)
    c = alpha @ H
    new = gru(np.concatenate([p[table][y], c][::order]), s, p["decoder"])
    if query == "new":
        alpha = attend(new)
        c = alpha @ H
    last = np.concatenate([new if output == "new" else s, c][::ends])
    return {
        "state": new,
        "weights": alpha,
        "logits": p["W_o"] @ last + biased * p["b_o"],
    }


class Script(dict):
    """Parameters, printed as p in a report."""

    def __repr__(self):
        return "p"


@functools.cache
def package():
    """Return the package's translator, and pairs that it was not trained on."""
    pairs = splits("english-french", train=1, validation=1, test=200).test
    return translator.load(EN_FR), pairs


@shape("states for each word, logits for each word of the target")
def for_each_word(my, rng):
    answers_pass(my, "6.5")
    with open(EN_FR, "rb") as file:
        held = safetensors.read(file, EN_FR.stat().st_size)[0]
    found = my.parameters()["W_s"]
    same = np.array_equal(found, held["model.decoder.order.attention.W_q"])
    if not same:
        text = "your read_safetensors of 6.7 does not return the arrays of the file"
        raise CheckFailed("earlier", text, "next: python -m lessons check 6.7")
    p, ids = Script(small(rng)), rng.integers(0, 13, 5)
    my.shape(my.run_gru(rng.normal(size=(5, 3)), p["left"]), (5, 4), "Sd")
    shape_all(my, my.encode(p, ids), {"H": (5, 8), "s_0": (4,)})
    s, H = rng.normal(size=4), rng.normal(size=(5, 8))
    shapes = {"logits": (11,), "state": (4,), "weights": (5,)}
    shape_all(my, my.decode_word(p, 3, s, H), shapes)


@values("the states of a GRU, and the encoder, against loops")
def the_encoder(my, rng):
    p, ids = Script(small(rng)), rng.integers(0, 13, 5)
    xs = rng.normal(size=(5, 3))
    known = [
        ("first-state", "cells that all begin with 0", states(xs, p["left"], False)),
        ("wrong-start", "the states after h_0 = 1", states(xs, p["left"], start=1.0)),
        ("reversed", "the states for the inputs in reverse order",
         states(xs[::-1], p["left"])),
        ("exchanged", "the states with b_hh for b_ih and b_ih for b_hh",
         states(xs, [p["left"][k] for k in (0, 1, 3, 2)])),
    ]  # fmt: skip
    my.equal(my.run_gru(xs, p["left"]), states(xs, p["left"]), "Sd", known)
    options = [
        ("not-turned-back", "with the backward states in the order of reading",
         {"back": False, "last": -1}),
        ("reads-forward", "where both read forward", {"turn": False, "back": False}),
        ("reads-forward", "where both read forward, and the last state is the last",
         {"turn": False, "back": False, "last": -1}),
        ("wrong-last", "with the backward state of the last word", {"last": -1}),
        ("wrong-last", "with the forward state of the first word", {"first": 0}),
        ("halves-exchanged", "from [backward; forward]", {"order": -1}),
        ("halves-exchanged", "as [backward; forward]", {"halves": -1}),
        ("cells-exchanged", "with the cell right for left", {"cells": -1}),
        ("no-tanh", "without tanh", {"bend": lambda x: x}),
        ("no-tanh", "with the sigmoid for tanh", {"bend": sigmoid}),
        ("no-tanh", "with tanh before b_b is added",
         {"bend": lambda x: np.tanh(x - p["b_b"]) + p["b_b"]}),
        ("wrong-last", "from the mean of all rows of H", {"mean": True}),
        ("no-bias", "without b_b", {"biased": False}),
        ("target-table", "with E_target for E_source", {"table": "E_target"}),
        ("one-cell", "with the cell left for both", {"cell": "left"}),
        ("one-cell", "with the cell right for both", {"cell": "right"}),
    ]  # fmt: skip
    want = encoded(p, ids)
    others = [(tag, text, encoded(p, ids, **o)) for tag, text, o in options]
    variants = {
        name: [
            (tag, f"{name} {text}", other[name])
            for tag, text, other in others
            if not np.allclose(other[name], want[name])
        ]
        for name in want
    }
    equal_all(my, my.encode(p, ids), want, {"H": "Sd", "s_0": "d"}, variants)


@values("one word of the decoder, against a loop")
def one_word(my, rng):
    p = Script(small(rng))
    s, H = rng.normal(size=4), rng.normal(size=(5, 8))
    want = decoded(p, 3, s, H)
    options = [
        ("new-query", "with the query s_t", {"query": "new"}),
        ("old-state", "from s_(t-1)", {"output": "old"}),
        ("parts-exchanged", "with [c; E y]", {"order": -1}),
        ("parts-exchanged", "from [c; s_t]", {"ends": -1}),
        ("source-table", "with E_source for E_target", {"table": "E_source"}),
        ("no-bias", "without b_o", {"biased": False}),
        ("uniform", "with equal weights", {"equal": True}),
    ]
    others = [(tag, text, decoded(p, 3, s, H, **o)) for tag, text, o in options]
    variants = {
        name: [
            (tag, f"{name} {text}", other[name])
            for tag, text, other in others
            if not np.allclose(other[name], want[name])
        ]
        for name in want
    }
    logits, state, weights = my.decode_word(p, 3, s, H)
    equal_all(my, (state, weights, logits), want, None, variants)


MISTAKES = {
    "not-fed": ("with SOS as the input of each step", {"feed": False}),
    "state-stands": ("with the state s_0 in each step", {"move": False}),
    "special": ("in which PAD and SOS may be written", {"least": 0}),
    "past-eos": ("that never ends with EOS", {"least": EOS + 1, "moved": EOS + 1}),
    "one-word-more": ("of at most max_length + 1 words", {"most": 8}),
    "pad-first": ("that begins with PAD as the first input", {"first": 0}),
    "one-word-less": ("of at most max_length - 1 words", {"most": 6}),
    "endless": ("of at most 40 words", {"most": 40}),
    "first-word": ("that begins with EOS as the first input", {"first": EOS}),
    "not-moved": ("whose words are counted from EOS", {"moved": 0}),
}


@values("whole translations, word by word")
def whole_translations(my, rng):
    sentences = [sentence(seed, rng) for seed in range(40)]
    for k, (p, ids) in enumerate(sentences):
        want = written(p, ids)
        found, weights = my.translate(p, ids, 7)
        found = np.asarray(found).tolist()
        tag, text = "written", []
        if found != want[0]:
            rest = sentences[k:]  # one may agree by chance
            tag = next((t for t in MISTAKES if writes_so(my, rest, t)), tag)
            if tag in MISTAKES:
                text = [f"yours equals the translation {MISTAKES[tag][0]}  [{tag}]"]
        tag = "eos-written" if EOS in found else tag
        tag = "sos-written" if tag == "written" and SOS in found[:1] else tag
        lines = f"expected {want[0]}", f"found {found}", *text
        my.holds(found == want[0], tag, *lines)
        other = np.array(written(p, ids, first=EOS)[1])
        known = [("first-word", "the weights after EOS as the first word", other)]
        if np.size(weights) or want[1]:  # no rows are [] as well as an array (0, 5)
            my.equal(weights, np.array(want[1]).reshape(-1, 5), "TS", known)


def sentence(seed, rng):
    """Return parameters that seldom write EOS if seed is even, and the ids of words."""
    p = Script(small(np.random.default_rng(seed)))
    p["b_o"][0] += 2.0  # PAD is often the most probable word
    p["b_o"][EOS] += 1.5 if seed % 2 else -9.0
    return p, rng.integers(0, 13, 5)


def writes_so(my, sentences, mistake):
    """Return whether all translations are those of one mistake."""
    return all(
        list(my.translate(p, ids, 7)[0]) == written(p, ids, **MISTAKES[mistake][1])[0]
        for p, ids in sentences
    )


def written(p, ids, feed=True, move=True, least=EOS, most=7, first=SOS, moved=EOS):
    """Return the words and weights of a translation; each option adds one mistake."""
    start = encoded(p, ids)
    s, y, words, rows = start["s_0"], first, [], []
    while len(words) < most:
        step = decoded(p, y if feed else SOS, s, start["H"])
        s = step["state"] if move else s
        y = int(step["logits"][least:].argmax()) + min(least, moved)
        if y == EOS:
            break
        words.append(y)
        rows.append(step["weights"])
    return words, rows


@laws("your translator writes what the package's writes")
def it_translates(my, rng):
    with kernels.backend("numpy"), mg.no_grad():
        model, pairs = package()
        p = Script(my.parameters())
        for k, pair in enumerate(pairs[:12]):
            ids = np.array(model.source.encode(pair.source))
            said, weights = my.translate(p, ids)
            [(want, alpha)] = model.decode([ids])
            my.holds(
                list(said) == list(want),
                "translation",
                f"expected {' '.join(model.target.decode(want))}",
                f"found {' '.join(model.target.decode(np.asarray(said)))}",
            )
            my.equal(weights, alpha, "TS", rtol=1e-3, atol=1e-4)
            if k < 3:
                print(f"{' '.join(pair.source)}")
                print(f"   {' '.join(model.target.decode(said))}")
    print("These are your reader, your cell, your attention. It translates.")


def experiment(my, seed=0):
    """Translate 200 sentences with the learner's translator, and score them."""
    p = Script(my.parameters())
    model, pairs = package()
    refs, hyps, right = [], [], []
    for pair in pairs:
        said, weights = my.translate(p, np.array(model.source.encode(pair.source)))
        hyps.append(model.target.decode(said))
        refs.append(list(pair.target))
        if hyps[-1] == refs[-1]:  # the right alignment is known
            links = set(enumerate(weights.argmax(1)))
            both = len(links) + len(pair.alignment)
            right.append(2 * len(links & pair.alignment) / both)
    found = {
        "sentences": len(pairs),
        "bleu": round(100 * my.bleu(refs, hyps), 2),
        "exact": sum(a == b for a, b in zip(refs, hyps)) / len(pairs),
        "alignment error rate": round(1 - float(np.mean(right)), 4),
    }
    for name, value in found.items():
        print(f"{name}: {value}")
    return found


HINTS = {
    "source-table": ["y is a word of the target language."],
    "target-table": ["ids are words of the source language."],
    "one-cell": ["Each direction has weights of its own."],
    "no-bias": ["Compare with the formula: which vector is added?"],
    "cells-exchanged": ["The GRU left reads forward, right reads backward."],
    "first-word": ["Each translation begins with SOS."],
    "not-moved": ["The index of a maximum in logits[EOS:] counts from EOS."],
    "run_gru": ["One step for each word; the state of a step goes into the next one."],
    "encode": [
        "Follow one word: which row of each half of H is about it?",
    ],
    "decode_word": ["In the formulas of c_t, s_t and the logits: index t, or t - 1?"],
    "translate": [
        "The word that is written goes into the next step; SOS comes first, and EOS "
        "ends.",
    ],
    "": [
        "Each part is a few lines that call what you have written: run_gru calls cell "
        "once for each word, decode_word calls the attention once and cell once.",
        "A reversed sentence gives reversed states: turn the words before the "
        "backward GRU, and its states after it.",
        "In decode_word, the query is the old state; the new state and the context "
        "give the logits. In translate, the word that was written is the next y.",
    ],
    "not-turned-back": ["Row j of H belongs to word j in both halves."],
    "reads-forward": ["The backward GRU reads the last word first."],
    "wrong-last": ["Which row has the state after the backward GRU's last step?"],
    "no-tanh": ["s_0 is a tanh."],
    "halves-exchanged": ["The forward half comes first, in H and in s_0."],
    "wrong-start": ["The state before the first word is 0."],
    "first-state": ["Each step of a GRU begins with the state of the step before."],
    "new-query": ["The query of the attention is the state before the step."],
    "old-state": ["The logits are computed from the state after the step."],
    "parts-exchanged": ["[E y; c] and [s; c]: which comes first?"],
    "not-fed": ["Which word is the input of the second step?"],
    "state-stands": ["Each step starts from the state that the step before returned."],
    "special": ["PAD and SOS are never written, even if they are the most probable."],
    "eos-written": ["EOS ends the sentence and is not one of its words."],
    "past-eos": [
        "EOS may be the most probable word. Then the sentence ends, without EOS.",
    ],
    "one-word-more": ["max_length words may be written, not one more."],
    "pad-first": ["Each translation begins with SOS."],
    "one-word-less": ["max_length words may be written, not one less."],
    "sos-written": ["SOS is the first input, and no word of the translation."],
    "endless": ["Stop after max_length words."],
}
