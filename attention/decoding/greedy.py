"""Greedy decoding, and the methods of a model that every kind of decoding calls.

    y_t = argmax_v P(v | y_1 … y_{t-1}, source),    until y_t = EOS

P is the probability that the model gives to the token v, one of V tokens.

**The interface.** ``greedy``, ``beam_search`` and ``sample`` use three methods:

    state = model.start(source, lengths)
        Read the source (B, S). lengths (B,) are the numbers of tokens, or None if all
        rows have S tokens.
    logits, state, weights = model.step(state, tokens)
        Read the previous tokens (n,); return logits (n, V), the next state, and weights
        (n, S), or None without attention. ``step`` may change the old state.
    state.select(indices)
        Replace row i by row indices[i], in place. A row may be repeated or dropped.

The first tokens are SOS, the start token; EOS is the end token, and PAD fills a row
after it. A model with other ids than ours has them in an attribute ``special``. Logits
and weights are arrays or Tensors. Decoding sets a Module to evaluation mode, builds no
graph, and then restores its mode.
"""

import contextlib
from dataclasses import dataclass

import numpy as np

from minigrad import log_softmax, nn, no_grad
from minigrad.arguments import plain, whole

from ..tasks.batch import EOS, PAD, SOS


@dataclass(frozen=True)
class Special:
    """The ids with a meaning of their own, and those that are never produced."""

    pad: int = PAD
    start: int = SOS
    end: int = EOS
    never: tuple = (PAD, SOS)


def special_of(model):
    """Return the ``Special`` ids of a model; ours if it has none."""
    return getattr(model, "special", Special())


@dataclass
class Decoded:
    """Decoded sentences, one in each row."""

    ids: np.ndarray  # (B, N) int64: a sentence, EOS, then PAD
    lengths: np.ndarray  # (B,)   the numbers of tokens, including EOS
    scores: np.ndarray  # (B,)    ln P of the sentence; beam search: s(y) of beam.py
    weights: np.ndarray | None  # (B, N, S): 0 after the end


def greedy(model, source, lengths, max_length):
    """Take the most probable token at each step; of equal ones, the smallest id.

    source       (B, S) ids
    lengths      (B,) or None
    max_length   the largest number of tokens; a row of that length may lack EOS, the
                 token that ends a sentence

    Returns a ``Decoded``.
    """
    return decode(model, source, lengths, max_length, lambda logp: logp.argmax(-1))


def decode(model, source, lengths, max_length, choose):
    """Decode until all rows have ended; ``choose`` maps ln P (B, V) to tokens (B,).

    The other arguments and the result are those of ``greedy``. Rows that have ended go
    on with PAD, until the last one ends.
    """
    B = len(source)
    scores, counts = np.zeros(B), np.zeros(B, int)
    all_tokens, all_weights = [], []
    with evaluation(model):
        for tokens, logp, weights, ended in steps(
            model, source, lengths, max_length, choose
        ):
            counts += ~ended
            scores += np.where(ended, 0, logp)
            all_tokens.append(tokens)
            if weights is not None:
                all_weights.append(np.where(ended[:, None], 0, plain(weights)))
    ids = np.stack(all_tokens, 1)
    weights = np.stack(all_weights, 1) if all_weights else None
    return Decoded(ids, counts, scores, weights)


def steps(model, source, lengths, max_length, choose):
    """Decode as ``decode`` does, and yield each step, inside ``evaluation(model)``.

    Yields (tokens (B,), their ln P (B,), weights (B, S) or None, ended (B,)); ended
    are the rows that had ended before the step.
    """
    source, special = np.asarray(source), special_of(model)
    max_length = whole("decoding", "max_length", max_length, 1)
    rows, ended = np.arange(len(source)), np.zeros(len(source), bool)
    logits, state, weights = first_step(model, source, lengths)  # start, step(SOS)
    for n in range(max_length):
        if n:
            logits, state, weights = model.step(state, tokens)
        # (B, V); PAD and SOS have P = 0
        logp = log_probabilities(logits, special.never)
        tokens = np.where(ended, special.pad, choose(logp))  # (B,)
        yield tokens, logp[rows, tokens], weights, ended
        ended = ended | (tokens == special.end)
        if ended.all():
            return


# ---- A first reading can stop here ----


def first_step(model, source, lengths):
    """Return logits (B, V), state and weights (B, S) or None of the first token.

    A language model has a prompt instead of a source: if its first state has logits
    that are not None, they are the logits of the first token after the prompt, and
    there is no SOS.
    """
    state = model.start(source, lengths)
    if getattr(state, "logits", None) is not None:
        return state.logits, state, None
    return model.step(state, np.full(len(source), special_of(model).start))


@contextlib.contextmanager
def evaluation(model):
    """Evaluate a model without dropout and without a graph; restore its mode after."""
    modules = model.modules() if isinstance(model, nn.Module) else []
    modes = [(module, module.training) for module in modules]
    try:
        for module, _ in modes:
            module.training = False
        with no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode


def log_probabilities(logits, never=Special.never):
    """Return ln P (n, V) from logits (n, V), -inf for tokens that are never produced.

        P(v) = exp(logit_v) / sum_u exp(logit_u)    over all u except PAD and SOS

    PAD and SOS are never produced, so they are not in the sum. It is computed in
    float64, so that the sum of ln P over a long sentence is as exact as the logits.
    """
    logits = np.array(plain(logits), np.float64)
    logits[:, list(never)] = -np.inf
    if not np.isfinite(logits.max(-1)).all():
        raise FloatingPointError(
            "The model's logits are NaN, infinity, or -infinity for all tokens; "
            "expected finite numbers. Check its parameters for NaN."
        )
    return log_softmax.raw(logits)[0]
