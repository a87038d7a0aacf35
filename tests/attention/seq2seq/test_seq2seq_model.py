"""The recurrent encoder-decoder equals its loops, for every config.

The loops read the tokens of a sentence alone, so padding has no influence.
"""

import numpy as np
import pytest

from attention import definitions
from attention.variants.table import SCORES

from ...ops.recurrent import CELLS, one_step, run
from .seq2seq_cases import (
    LENGTHS,
    READ,
    SOURCE,
    SPREAD,
    TARGET,
    close,
    model,
    stepwise,
)

# The definition: one example and one step at a time

NAMES = "weight_ih", "weight_hh", "bias_ih", "bias_hh"


def encode_by_hand(p, c, x):
    """The memory of one sentence, and the last states of each layer."""
    x, last = x[None], []
    for layer in range(c.layers):
        sides, (step, _, n) = [], CELLS[c.cell]
        for end in ["", "_reverse"][: 1 + c.bidirectional]:
            w = [p[f"encoder.rnn.{name}_l{layer}{end}"] for name in NAMES]
            zeros = (np.zeros((1, c.hidden)),) * n
            sides.append(run(step, x, zeros, w, reverse=bool(end)))
        x, *states = (np.concatenate(each, -1) for each in zip(*sides))
        last.append([state[0] for state in states])
    return x[0], last


def attend_by_hand(p, c, q, memory, t, covered):
    """Return context and weights of one query over the h_j."""
    name = "decoder.order.attention."
    inner = name + ("score." if c.local else "")
    P = {n.removeprefix(inner): x for n, x in p.items() if n.startswith(inner)}

    def score(q, k):
        if c.score == "additive":
            b = covered[:, None] * P["w_c"] if c.coverage else 0
            return definitions.additive(q, k, P["W_q"], P["W_k"], P["w_v"], b)
        return SCORES[c.score].definition(q, k, *P.values())

    one, D = np.eye(len(memory)), c.window  # the contexts of unit vectors are weights
    if c.local == "m":
        a = definitions.local_m(q[None], memory, one, D, score, lambda _: t)
    elif c.local == "p":
        predicting = p[name + "W_p"], p[name + "v_p"]
        a = definitions.local_p(q[None], memory, one, *predicting, D, score)
    else:
        a = definitions.attend(score(q[None], memory), one)
    return a[0] @ memory, a[0]


def by_hand(m, source, target, lengths):
    """logits (B, L, V), weights (B, L, S), coverages (B, L, S)."""
    p, c = m.state_dict(), m.config
    step, _, each = CELLS[c.cell]
    (B, S), L = source.shape, target.shape[1]
    logits = np.empty((B, L, c.target_vocabulary))
    weights, coverages = np.zeros((B, L, S)), np.zeros((B, L, S))
    for b in range(B):
        n = lengths[b] if c.mask_padding else S
        memory, last = encode_by_hand(p, c, p["encoder.embed.weight"][source[b, :n]])
        states = []
        for layer in range(c.layers):
            own = last[layer]
            if c.decoder_init == "zero":
                own = [np.zeros(c.hidden)] * each
            elif c.bidirectional:
                name = f"bridge.layers.{layer}.{{}}."
                own = [p[name.format(i) + "weight"] @ s + p[name.format(i) + "bias"]
                       for i, s in enumerate(own)]  # fmt: skip
                own[0] = np.tanh(own[0])
            states.append(list(own))
        covered, attentional = np.zeros(n), np.zeros(c.hidden)
        for t in range(L):
            x = p["decoder.embed.weight"][target[b, t]]
            a = np.zeros(n)
            if c.attention == "bahdanau":
                found, a = attend_by_hand(p, c, states[-1][0], memory, t, covered)
                x = np.concatenate([x, found])
            if c.input_feeding:
                x = np.concatenate([x, attentional])
            for layer in range(c.layers):
                w = [p[f"decoder.order.cell.layers.{layer}.{name}"] for name in NAMES]
                states[layer] = one_step(step, x, states[layer], w)
                x = states[layer][0]
            out = x
            if c.attention == "bahdanau":
                out = np.concatenate([x, found])
            if c.attention == "luong":
                found, a = attend_by_hand(p, c, x, memory, t, covered)
                both = np.concatenate([found, x])
                out = attentional = np.tanh(p["decoder.order.W_c"] @ both)
            logits[b, t] = p["decoder.output.weight"] @ out + p["decoder.output.bias"]
            weights[b, t, :n], coverages[b, t, :n] = a, covered
            covered = covered + a
    return logits, weights, coverages


@pytest.mark.parametrize("name", SPREAD)
def test_definition(name):
    m = model(name)
    logits, weights, coverages = by_hand(m, SOURCE, TARGET, LENGTHS)
    out = m.forced(SOURCE, TARGET, LENGTHS)
    np.testing.assert_allclose(out.logits.data[READ], logits[READ], **close)
    np.testing.assert_array_equal(m(SOURCE, TARGET, LENGTHS).data, out.logits.data)
    if m.config.attention == "none":
        assert out.weights is None
    else:
        np.testing.assert_allclose(out.weights.data[READ], weights[READ], **close)
    if m.config.coverage:
        np.testing.assert_allclose(out.coverages.data, coverages, **close)
    else:
        assert out.coverages is None


# dropout


@pytest.mark.parametrize("name", ["bahdanau", "luong-deep", "luong-fed", "none"])
def test_dropout_acts_in_training_alone(name):
    m = model(name, dropout=0.5)
    arguments = SOURCE, TARGET, LENGTHS
    plain = model(name)(*arguments).data
    np.testing.assert_array_equal(m.eval()(*arguments).data, plain)
    first = m.train()(*arguments).data
    assert abs(first - plain).max() > 1e-3
    assert abs(first - m(*arguments).data).max() > 1e-3  # new random numbers
    # with everything dropped, the output layer has its bias alone
    nothing = model(name, dropout=1.0)
    for out in nothing(*arguments).data, stepwise(nothing)[0].data:
        bias = np.broadcast_to(m.decoder.output.bias.data, out.shape)
        np.testing.assert_allclose(out, bias, **close)
