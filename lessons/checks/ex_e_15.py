"""Check an answer to E.15."""

import functools

import numpy as np

import minigrad as mg
from attention import kernels
from attention.app.experiments import bootstrap
from attention.app.experiments.verdict import below, share, written
from attention.app.pretrained import EN_FR
from attention.metrics import alignment
from attention.seq2seq import translator
from attention.tasks.grammar import splits
from lessons.checks.before import answers_pass
from lessons.checks.measure import without_loops
from lessons.checks.own_work import own_work  # noqa: F401
from lessons.checks.results import equal_all, shape_all
from lessons.classroom.steps import CheckFailed, laws, shape, values
from lessons.course.long_runs import judged, over_sentences
from minigrad import safetensors

# THE EXERCISE IN LOOPS

SOS, EOS = 1, 2


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gru(x, h, weights):
    """One step, from vectors."""
    W_ih, W_hh, b_ih, b_hh = weights
    a_r, a_z, a_n = (W_ih @ x + b_ih).reshape(3, -1)
    b_r, b_z, m = (W_hh @ h + b_hh).reshape(3, -1)
    r, z = sigmoid(a_r + b_r), sigmoid(a_z + b_z)
    return (1 - z) * np.tanh(a_n + r * m) + z * h


def run_gru(xs, weights):
    h, states = np.zeros(weights[1].shape[1]), []
    for x in xs:
        h = gru(x, h, weights)
        states.append(h)
    return np.array(states)


def encode(p, ids):
    x = p["E_source"][ids]
    left = run_gru(x, p["left"])
    right = run_gru(x[::-1], p["right"])[::-1]
    last = np.concatenate([left[-1], right[0]])
    s_0 = np.tanh(p["W_b"] @ last + p["b_b"])
    return np.concatenate([left, right], axis=1), s_0


def attend(p, s, H):
    e = [p["v"] @ np.tanh(p["W_s"] @ s + p["W_h"] @ h) for h in H]
    z = np.exp(np.array(e) - max(e))
    alpha = z / z.sum()
    return alpha @ H, alpha


def decode_word(p, y, s, H):
    c, alpha = attend(p, s, H)
    x = np.concatenate([p["E_target"][y], c])
    new = gru(x, s, p["decoder"])
    return p["W_o"] @ np.concatenate([new, c]) + p["b_o"], new, alpha


def translate(p, ids, max_length=40):
    H, s = encode(p, ids)
    words, rows, y = [], [], SOS
    while len(words) < max_length:
        logits, s, alpha = decode_word(p, y, s, H)
        y = int(logits[EOS:].argmax()) + EOS
        if y == EOS:
            break
        words.append(y)
        rows.append(alpha)
    return np.array(words, int), np.array(rows).reshape(len(words), len(ids))


# THE CHECK

SHAPES = {  # of small random parameters: S = 5, e = 3, d = 4, a = 7, V' = 11
    "E_source": (13, 3), "E_target": (11, 3), "W_b": (4, 8), "b_b": (4,),
    "W_s": (7, 4), "W_h": (7, 8), "v": (7,), "W_o": (11, 12), "b_o": (11,),
}  # fmt: skip


class Script(dict):
    """Parameters, printed as p in a report."""

    def __repr__(self):
        return "p"


def small(rng):
    """Return random parameters of a small translator, and the ids of five words."""
    p = Script({name: rng.normal(size=shape) for name, shape in SHAPES.items()})
    for name, width in (("left", 3), ("right", 3), ("decoder", 11)):
        shapes = (12, width), (12, 4), (12,), (12,)
        p[name] = tuple(rng.normal(size=shape) for shape in shapes)
    return p, rng.integers(0, 13, 5)


@functools.cache
def sentences():
    """Return parameters, five words, their translation and its weights, sixteen times.

    Every other time, the parameters seldom write EOS.
    """
    found = []
    for seed in range(16):
        p, ids = small(np.random.default_rng(seed))
        p["b_o"][0] += 2.0  # PAD is often the most probable word
        p["b_o"][EOS] += 1.5 if seed % 2 else -9.0
        found.append((p, ids, *translate(p, ids, 7)))
    return found


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
    if not np.array_equal(found, held["model.decoder.order.attention.W_q"]):
        text = "your read_safetensors of 6.7 does not return the arrays of the file"
        raise CheckFailed("earlier", text, "next: python -m lessons check 6.7")
    p, ids = small(rng)
    my.shape(my.run_gru(rng.normal(size=(5, 3)), p["left"]), (5, 4), "Sd")
    shape_all(my, my.encode(p, ids), {"H": (5, 8), "s_0": (4,)})
    s, H = rng.normal(size=4), rng.normal(size=(5, 8))
    shapes = {"logits": (11,), "state": (4,), "weights": (5,)}
    shape_all(my, my.decode_word(p, 3, s, H), shapes)


@values("the states of a GRU, and the encoder, against loops")
def the_encoder(my, rng):
    p, ids = small(rng)
    xs = rng.normal(size=(5, 3))
    my.equal(my.run_gru(xs, p["left"]), run_gru(xs, p["left"]), "Sd")
    want = dict(zip(("H", "s_0"), encode(p, ids)))
    equal_all(my, my.encode(p, ids), want, {"H": "Sd", "s_0": "d"})


@values("one word of the decoder, against a loop")
def one_word(my, rng):
    p, _ = small(rng)
    arguments = p, 3, rng.normal(size=4), rng.normal(size=(5, 8))
    (logits, state, weights), want = my.decode_word(*arguments), decode_word(*arguments)
    want = {"state": want[1], "weights": want[2], "logits": want[0]}
    equal_all(my, (state, weights, logits), want)


@values("whole translations, word by word")
def whole_translations(my, rng):
    known = [(p, ids, words.tolist(), rows) for p, ids, words, rows in sentences()]
    found = [my.translate(p, ids, 7) for p, ids, *_ in known]
    yours = [np.asarray(words).tolist() for words, _ in found]
    wrong = [each for each in zip(known, yours) if each[0][2] != each[1]]
    (p, ids, want, _), words = wrong[0] if wrong else (known[0], yours[0])
    my.translate(p, ids, 7)  # the call that the report shows
    my.holds(
        not wrong,
        "eos-written" if EOS in words else "written",
        f"expected {want}",
        f"found {words}",
        f"{len(wrong)} of {len(known)} translations differ",
    )
    for (_, weights), (*_, want) in zip(found, known):
        if len(weights) or len(want):  # no rows are [] as well as an array (0, 5)
            my.equal(weights, want, "TS")


@laws("your translator writes what the package's writes")
def it_translates(my, rng):
    with kernels.backend("numpy"), mg.no_grad(), without_loops():
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
    """Translate 200 sentences with the learner's translator, and score them.

    No models are compared here: all weights are those of the package. So the sample is
    that of the sentences, and the intervals are over sentences.
    """
    p, (model, pairs) = Script(my.parameters()), package()
    refs, hyps, rates = [list(pair.target) for pair in pairs], [], []
    for pair in pairs:
        said, weights = my.translate(p, np.array(model.source.encode(pair.source)))
        hyps.append(model.target.decode(said))
        if hyps[-1] == list(pair.target):  # the right alignment is known
            own = alignment.alignment_error_rate(weights, pair.alignment)
            diagonal = alignment.diagonal_baseline(*weights.shape, pair.alignment)
            rates.append((own, own - diagonal))
    counts = bootstrap.counts(hyps, refs)[None]  # of one model
    low, high = bootstrap.interval(bootstrap.resampled({"own": counts}, seed)["own"])
    own, less = (over_sentences(each) for each in zip(*rates))
    exact = share(len(rates), len(pairs), "sentences")
    bleu = 100 * my.bleu(refs, hyps)
    statement = [
        f"BLEU: {bleu:.1f} [{low:.1f}, {high:.1f}]",
        f"right as a whole: {written(exact, 3, '')}",
        f"alignment error rate: {written(own, 3, '')}",
        judged("a lower rate than that of the diagonal", below(0), less, 3),
    ]
    print(*statement, sep="\n")
    return {
        "sentences": len(pairs), "bleu": round(bleu, 2), "exact": exact.value,
        "alignment error rate": round(own.value, 4), "statement": statement,
    }  # fmt: skip


STEP = "h = gru(x, h, weights)"
LEFT = 'left = run_gru(x, p["left"])'
RIGHT = 'right = run_gru(x[::-1], p["right"])[::-1]'
LAST = "[left[-1], right[0]]"
S_0 = 's_0 = np.tanh(p["W_b"] @ last + p["b_b"])'
NEW = 'new = gru(x, s, p["decoder"])'
NEXT = "logits, s, alpha = decode_word(p, y, s, H)"
BEST = "int(logits[EOS:].argmax()) + EOS"
LIMIT = "len(words) < max_length"
FORWARD = "The backward GRU reads the last word first."
END = "Which row has the state after the backward GRU's last step?"
TANH = "s_0 is a tanh."
HALVES = "The forward half comes first, in H and in s_0."
CELLS = "The GRU left reads forward, right reads backward. Each has its own weights."
ADDED = "Compare with the formula: which vector is added?"
ORDER = "[E y; c] and [s; c]: which comes first?"
FIRST = "Each translation begins with SOS."
LENGTH = "max_length words may be written, not one more and not one less."

SPOILED = [  # (name, sentence, hint, line, spoiled line)
    ("first-state", "cells that all begin with 0",
     "Each step of a GRU begins with the state of the step before.", STEP,
     "h = gru(x, 0 * h, weights)"),
    ("wrong-start", "the states after h_0 = 1", "The state before the first word is 0.",
     "np.zeros(weights", "np.ones(weights"),
    ("reversed", "the states for the inputs in reverse order", "", "for x in xs:",
     "for x in xs[::-1]:"),
    ("exchanged", "the states with b_hh for b_ih and b_ih for b_hh", "", STEP,
     "h = gru(x, h, [weights[k] for k in (0, 1, 3, 2)])"),
    ("not-turned-back", "H with the backward states in the order of reading",
     "Row j of H belongs to word j in both halves.", RIGHT, RIGHT[:-6]),
    ("reads-forward", "H where both read forward", FORWARD, RIGHT,
     'right = run_gru(x, p["right"])'),
    ("wrong-last", "s_0 with the backward state of the last word", END, LAST,
     "[left[-1], right[-1]]"),
    ("wrong-last", "s_0 with the forward state of the first word", END, LAST,
     "[left[0], right[0]]"),
    ("wrong-last", "s_0 from the mean of all rows of H", END, LAST,
     "[left.mean(0), right.mean(0)]"),
    ("halves-exchanged", "s_0 from [backward; forward]", HALVES, LAST,
     "[right[0], left[-1]]"),
    ("halves-exchanged", "H as [backward; forward]", HALVES, "[left, right], axis",
     "[right, left], axis"),
    ("cells-exchanged", "H with the cell right for left", CELLS,
     f"{LEFT}\n    {RIGHT}",
     'left = run_gru(x, p["right"])\n    right = run_gru(x[::-1], p["left"])[::-1]'),
    ("one-cell", "H with the cell left for both", CELLS, RIGHT,
     RIGHT.replace('"right"', '"left"')),
    ("one-cell", "H with the cell right for both", CELLS, LEFT,
     LEFT.replace('"left"', '"right"')),
    ("target-table", "H with E_target for E_source",
     "ids are words of the source language.", 'p["E_source"][ids]',
     'p["E_target"][ids]'),
    ("no-tanh", "s_0 without tanh", TANH, S_0, S_0.replace("np.tanh", "")),
    ("no-tanh", "s_0 with the sigmoid for tanh", TANH, S_0,
     S_0.replace("np.tanh", "sigmoid")),
    ("no-tanh", "s_0 with tanh before b_b is added", TANH, S_0,
     's_0 = np.tanh(p["W_b"] @ last) + p["b_b"]'),
    ("no-bias", "s_0 without b_b", ADDED, S_0, S_0.replace(' + p["b_b"]', "")),
    ("uniform", "the step with equal weights", "", "alpha = z / z.sum()",
     "alpha = 0 * z + 1 / len(z)"),
    ("new-query", "the step with the query s_t",
     "The query of the attention is the state before the step.", NEW,
     f"{NEW}\n    c, alpha = attend(p, new, H)"),
    ("old-state", "logits from s_(t-1)",
     "The logits are computed from the state after the step.", "[new, c]", "[s, c]"),
    ("parts-exchanged", "logits from [c; s_t]", ORDER, "[new, c]", "[c, new]"),
    ("parts-exchanged", "the state with [c; E y]", ORDER, '[p["E_target"][y], c]',
     '[c, p["E_target"][y]]'),
    ("source-table", "the state with E_source for E_target",
     "y is a word of the target language.", 'p["E_target"][y]', 'p["E_source"][y]'),
    ("no-bias", "logits without b_o", ADDED, ' + p["b_o"], new', ", new"),
    ("not-fed", "the translation with SOS as the input of each step",
     "Which word is the input of the second step?", NEXT, NEXT.replace("y", "SOS")),
    ("state-stands", "the translation with the state s_0 in each step",
     "Each step starts from the state that the step before returned.", NEXT,
     NEXT.replace(" s, alpha", " _, alpha")),
    ("special", "the translation in which PAD and SOS may be written",
     "PAD and SOS are never written, even if they are the most probable.", BEST,
     "int(logits.argmax())"),
    ("past-eos", "the translation that never ends with EOS",
     "EOS may be the most probable word. Then the sentence ends, without EOS.", BEST,
     "int(logits[3:].argmax()) + 3"),
    ("not-moved", "the translation whose words are counted from EOS",
     "The index of a maximum in logits[EOS:] counts from EOS.", BEST, BEST[:-6]),
    ("one-word-more", "the translation of at most max_length + 1 words", LENGTH, LIMIT,
     "len(words) <= max_length"),
    ("one-word-less", "the translation of at most max_length - 1 words", LENGTH, LIMIT,
     "len(words) < max_length - 1"),
    ("endless", "the translation of at most 40 words", "Stop after max_length words.",
     LIMIT, "len(words) < 40"),
    ("pad-first", "the translation that begins with PAD as the first input", FIRST,
     "[], [], SOS", "[], [], 0"),
    ("first-word", "the translation that begins with EOS as the first input", FIRST,
     "[], [], SOS", "[], [], EOS"),
    ("eos-written", "the translation with EOS as its last word",
     "EOS ends the sentence and is not one of its words.", "if y == EOS:",
     "if words and words[-1] == EOS:"),
    ("sos-written", "the translation with SOS as its first word",
     "SOS is the first input, and no word of the translation.", "np.array(words, int)",
     "np.array([SOS, *words], int)"),
]  # fmt: skip

HINTS = {
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
}
