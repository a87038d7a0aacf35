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
from lessons import NotWritten
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
    raise NotWritten("E.15 run_gru")


def encode(p, ids):
    """Return H (S, 2d) and s_0 (d,) for the ids (S,) of a sentence.

    The backward GRU reads from the last word to the first; its state at word j stands
    in row j of H, and its last state is that at the first word.
    """
    raise NotWritten("E.15 encode")


def decode_word(p, y, s, H):
    """Return logits (V',), the next state (d,) and the weights (S,), after word y."""
    raise NotWritten("E.15 decode_word")


def translate(p, ids, max_length=40):
    """Return the ids (T,) of the translation, without EOS, and its weights (T, S).

    Begin with the word SOS. Each step writes the most probable word other than PAD = 0
    and SOS = 1. The sentence ends at EOS or after max_length words.
    """
    raise NotWritten("E.15 translate")
