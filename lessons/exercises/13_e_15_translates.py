"""E.15  Your attention translates  ●●●○  40 min  needs 6.5, 6.7, 6.9, E.6

Assemble your answers into a translator from English to French. The package has the
weights of a trained model; everything that computes is yours: the reader of the file
(6.7), the GRU cell (E.6), the attention (6.5), and the score BLEU (6.9).

    h_j = [forward GRU at word j; backward GRU at word j]          the states, H (S, 2d)
    s_0 = tanh(W_b [last state forward; last state backward] + b_b)
    c_t = attention of the query s_(t-1) to H
    s_t = GRU([E y_(t-1); c_t], s_(t-1))
    logits = W_o [s_t; c_t] + b_o                                  of the word y_t

``p`` below is a dictionary of arrays; E is short for an embedding table, with a row for
each word, and E y stands for the row of E of the word y:

    E_source (V, e), E_target (V', e)
    left, right, decoder     three GRU cells, each (W_ih, W_hh, b_ih, b_hh)
    W_b (d, 2d), b_b (d,)    W_s (a, d), W_h (a, 2d), v (a,)    W_o (V', 3d), b_o (V',)

``python -m lessons experiment E.15`` translates 200 sentences with your translator, and
prints its scores with intervals.
"""

import numpy as np

from attention.app.pretrained import EN_FR
from lessons import earlier

bahdanau_forward = earlier(__file__, "6.5", "bahdanau_forward")
read_safetensors = earlier(__file__, "6.7", "read_safetensors")
bleu = earlier(__file__, "6.9", "bleu")
cell = earlier(__file__, "E.6", "cell")

SOS, EOS = 1, 2


def parameters():
    """Return p, in float64, from the file of the package."""
    a = {name: x.astype(float) for name, x in read_safetensors(EN_FR).items()}

    def gru(start, end=""):
        names = "weight_ih", "weight_hh", "bias_ih", "bias_hh"
        return tuple(a[f"{start}{name}{end}"] for name in names)

    order = "model.decoder.order."
    return {
        "E_source": a["model.encoder.embed.weight"],
        "E_target": a["model.decoder.embed.weight"],
        "left": gru("model.encoder.rnn.", "_l0"),
        "right": gru("model.encoder.rnn.", "_l0_reverse"),
        "decoder": gru(f"{order}cell.layers.0."),
        "W_b": a["model.bridge.layers.0.0.weight"],
        "b_b": a["model.bridge.layers.0.0.bias"],
        "W_s": a[f"{order}attention.W_q"],
        "W_h": a[f"{order}attention.W_k"],
        "v": a[f"{order}attention.w_v"],
        "W_o": a["model.decoder.output.weight"],
        "b_o": a["model.decoder.output.bias"],
    }


def run_gru(xs, weights):
    """Return all states (S, d) of a GRU that begins with 0, for inputs xs (S, e).

    ``cell`` takes rows: x (1, e), h (1, d) and the four arrays of ``weights``, and
    returns h' (1, d) and what its backward needs.
    """
    h, states = np.zeros((1, weights[1].shape[1])), []  #? The state before the first word is 0.
    for x in xs:  #? Each word is one step, in the order of xs.
        #! for x in xs[::-1]:  | the states for the inputs in reverse order
        h, _ = cell(x[None], h, *weights)  #? Each step of a GRU begins with the state of the step before.
        #! h, _ = cell(x[None], 0 * h, *weights)  | cells that all begin with 0
        #! h, _ = cell(x[None], h, *weights[:2], *weights[:1:-1])  | the states with b_hh for b_ih and b_ih for b_hh
        states.append(h[0])
    return np.array(states)


def encode(p, ids):
    """Return what the decoder needs: ids (S,) of a sentence  ->  H (S, 2d), s_0 (d,)

    The backward GRU reads from the last word to the first; its state at word j stands
    in row j of H, and its last state is that at the first word.
    """
    x = p["E_source"][ids]  # (S, e)  #? ids are words of the source language.
    #! x = p["E_target"][ids]  | H with E_target for E_source
    left = run_gru(x, p["left"])  #? The GRU left reads forward, right reads backward. Each has its own weights.
    #! left = run_gru(x, p["right"])  | H with the cell right for both
    right = run_gru(x[::-1], p["right"])[::-1]  #? The backward GRU reads the last word first, and row j of H belongs to word j in both halves.
    #! right = run_gru(x[::-1], p["right"])  | H with the backward states in the order of reading
    #! right = run_gru(x, p["right"])  | H where both read forward
    #! right = run_gru(x[::-1], p["left"])[::-1]  | H with the cell left for both
    #! left, right = run_gru(x, p["right"]), run_gru(x[::-1], p["left"])[::-1]  | H with the cell right for left
    last = np.concatenate([left[-1], right[0]])  #? Which row has the state after the backward GRU's last step? And the forward half comes first.
    #! last = np.concatenate([left[-1], right[-1]])  | s_0 with the backward state of the last word
    #! last = np.concatenate([left[0], right[0]])  | s_0 with the forward state of the first word
    #! last = np.concatenate([left.mean(0), right.mean(0)])  | s_0 from the mean of all rows of H
    #! last = np.concatenate([right[0], left[-1]])  | s_0 from [backward; forward]
    s_0 = np.tanh(p["W_b"] @ last + p["b_b"])  #? Compare with the formula of s_0: which vector is added, and of what is it a tanh?
    #! s_0 = 1 / (1 + np.exp(-p["W_b"] @ last - p["b_b"]))  | s_0 with the sigmoid for tanh
    #! s_0 = np.tanh(p["W_b"] @ last) + p["b_b"]  | s_0 with tanh before b_b is added
    #! s_0 = np.tanh(p["W_b"] @ last)  | s_0 without b_b
    #! s_0 = p["W_b"] @ last + p["b_b"]  | s_0 without tanh
    return np.concatenate([left, right], axis=1), s_0  #? The forward half comes first, in H and in s_0.
    #! return np.concatenate([right, left], axis=1), s_0  | H as [backward; forward]


def decode_word(p, y, s, H):
    """Do a step after word y  ->  logits (V',), the next state s (d,), weights (S,)"""
    everywhere = np.ones(len(H), bool)
    c, alpha = bahdanau_forward(s, H, p["W_s"], p["W_h"], p["v"], everywhere)  #? The query of the attention is the state before the step.
    #! c, alpha = H.mean(0), everywhere / len(H)  | the step with equal weights
    x = np.concatenate([p["E_target"][y], c])  #? y is a word of the target language. [E y; c]: which comes first?
    #! x = np.concatenate([p["E_source"][y], c])  | the state with E_source for E_target
    #! x = np.concatenate([c, p["E_target"][y]])  | the state with [c; E y]
    new = cell(x[None], s[None], *p["decoder"])[0][0]  #? The query of the attention is the state before the step, and it stays that.
    #! new = cell(x[None], s[None], *p["decoder"])[0][0]; c, alpha = bahdanau_forward(new, H, p["W_s"], p["W_h"], p["v"], everywhere)  | the step with the query s_t
    return p["W_o"] @ np.concatenate([new, c]) + p["b_o"], new, alpha  #? The logits are computed from the state after the step. [s; c]: which comes first, and which vector is added?
    #! return p["W_o"] @ np.concatenate([s, c]) + p["b_o"], new, alpha  | logits from s_(t-1)
    #! return p["W_o"] @ np.concatenate([c, new]) + p["b_o"], new, alpha  | logits from [c; s_t]
    #! return p["W_o"] @ np.concatenate([new, c]), new, alpha  | logits without b_o


def translate(p, ids, max_length=40):
    """Translate, without EOS: ids (S,) of a sentence  ->  ids (T,), weights (T, S)

    Begin with the word SOS. Each step writes the most probable word other than PAD = 0
    and SOS = 1. The sentence ends at EOS or after max_length words.
    """
    H, s = encode(p, ids)
    said, rows, y = [], [], SOS  #? Each translation begins with SOS.
    #! said, rows, y = [], [], 0  | the translation that begins with PAD as the first input
    #! said, rows, y = [], [], EOS  | the translation that begins with EOS as the first input
    while len(said) < max_length:  #? max_length words may be written, not one more and not one less.
        #! while len(said) < max_length - 1:  | the translation of at most max_length - 1 words
        #! while len(said) < 40:  | the translation of at most 40 words
        logits, s, alpha = decode_word(p, y, s, H)  #? Which word is the input of the second step, and from which state does it start?
        #! logits, s, alpha = decode_word(p, SOS, s, H)  | the translation with SOS as the input of each step
        #! logits, _, alpha = decode_word(p, y, s, H)  | the translation with the state s_0 in each step
        y = int(logits[EOS:].argmax()) + EOS  #? PAD and SOS are never written, EOS may be. From which word does the index of a maximum in logits[EOS:] count?
        #! y = int(logits.argmax())  | the translation in which PAD and SOS may be written
        #! y = int(logits[3:].argmax()) + 3  | the translation that never ends with EOS
        if y == EOS:  #? EOS ends the sentence and is not one of its words.
            #! if said and said[-1] == EOS:  | the translation with EOS as its last word
            break
        said.append(y)
        rows.append(alpha)
    return np.array(said, int), np.array(rows).reshape(len(said), len(ids))  #? SOS is the first input, and no word of the translation.
    #! return np.array([SOS, *said], int), np.array(rows).reshape(len(said), len(ids))  | the translation with SOS as its first word


# ---- THE CHECK: each call my.f(…) is compared with the function f above

import minigrad as mg
from attention import kernels
from attention.app.experiments import bootstrap
from attention.metrics import alignment
from attention.seq2seq import translator
from attention.tasks.grammar import splits
from lessons.course.before import answers_pass
from lessons.course.long_runs import judged, over_sentences
from lessons.instrument.verdict import below, share, written

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


def package():
    """Return the package's translator, and pairs that it was not trained on."""
    pairs = splits("english-french", train=1, validation=1, test=200).test
    return translator.load(EN_FR), pairs


def earlier_answers(my, rng):
    """your attention of 6.5, and your reader of 6.7"""
    answers_pass(my, "6.5")
    is_read = np.array_equal(my.only.parameters()["W_s"], parameters()["W_s"])
    others = "others; next: python -m lessons check 6.7"
    my.holds("parameters", is_read, "the arrays of the file", others, "earlier")


def the_encoder(my, rng):
    """the states of a GRU, and the encoder"""
    p, ids = small(rng)
    my.run_gru(rng.normal(size=(5, 3)), p["left"])
    my.encode(p, ids)


def one_word(my, rng):
    """one word of the decoder"""
    my.decode_word(small(rng)[0], 3, rng.normal(size=4), rng.normal(size=(5, 8)))


def whole_translations(my, rng):
    """whole translations, word by word"""
    for k in range(16):
        p, ids = small(rng)
        p["b_o"][0] += 2.0  # PAD is often the most probable word
        p["b_o"][EOS] += 1.5 if k % 2 else -9.0  # which it seldom writes
        if len(translate(p, ids, 7)[0]):
            my.translate(p, ids, 7)
        else:  # no rows are [] as well as an array (0, 5)
            found = list(my.only.translate(p, ids, 7)[0])
            my.holds("translate", found == [], "no words: EOS is the first", f"{found}")


def it_translates(my, rng):
    """your translator writes what the package's writes"""
    with kernels.backend("numpy"), mg.no_grad():
        (model, pairs), p = package(), Script(my.made["parameters"]())
        for pair in pairs[:12]:
            ids = np.array(model.source.encode(pair.source))
            both = model.decode([ids])[0][0], my.translate(p, ids)[0]
            right, found = (" ".join(model.target.decode(words)) for words in both)
            my.holds("translate", found == right, right, found, "translation")
            my.after_pass += [" ".join(pair.source), f"   {found}"]
    my.after_pass[6:] = ["These are your reader, your cell and your attention."]


def experiment(my, seed=0):
    """Translate 200 sentences, and score them: with intervals over the sentences."""
    p, (model, pairs) = Script(my.made["parameters"]()), package()
    refs, hyps, rates = [list(pair.target) for pair in pairs], [], []
    for pair in pairs:
        said, weights = my.only.translate(p, np.array(model.source.encode(pair.source)))
        hyps.append(model.target.decode(said))
        if hyps[-1] == list(pair.target):  # the right alignment is known
            own = alignment.alignment_error_rate(weights, pair.alignment)
            diagonal = alignment.diagonal_baseline(*weights.shape, pair.alignment)
            rates.append((own, own - diagonal))
    counts = bootstrap.counts(hyps, refs)[None]  # of one model
    low, high = bootstrap.interval(bootstrap.resampled({"own": counts}, seed)["own"])
    own, less = (over_sentences(each) for each in zip(*rates))
    exact = share(len(rates), len(pairs), "sentences")
    bleu = 100 * my.made["bleu"](refs, hyps)
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


HINTS = """
encode  Follow one word: which row of each half of H is about it?
decode_word  In the formulas of c_t, s_t and the logits: index t, or t - 1?
1  Each part is a few lines that call what you have written: run_gru calls cell once for
   each word, decode_word calls the attention once and cell once.
2  A reversed sentence gives reversed states: turn the words before the backward GRU,
   and its states after it.
3  In decode_word, the query is the old state; the new state and the context give the
   logits. In translate, the word that was written is the next y.
"""
WHY = """Each part was right alone and has the shapes that the next one expects, so the
translator is their composition. Your functions compute what the layers of the package
compute, so its trained weights serve both."""
