"""Greedy decoding, and the interface between models and all ways of decoding.

    y_t = argmax_v P(v | y_1 … y_{t-1}, x),    until y_t = EOS

**The interface.** ``greedy``, ``beam_search`` and ``sample`` use three methods:

    state = model.start(source, lengths)          read the source (B, S); lengths (B,),
                                                  None if all rows have S tokens
    logits, state, weights = model.step(state, tokens)
                                                  from the last tokens (n,): logits
                                                  (n, V) and weights (n, S), or None
                                                  from a model without attention
    state.select(indices)                         in place: row n becomes the old row
                                                  indices[n]; rows may be repeated or
                                                  left out

The first tokens are SOS. But if the state has an attribute ``logits`` that is not None,
the source is a prompt, these are the logits of the first token after it, and there is
no SOS. ``step`` may change its state; only the returned state is used. Arrays and
Tensors are allowed. A Module is set to evaluation mode for the decoding, without a
graph, and then back to its mode.

**The distribution.** PAD and SOS are never produced; the other tokens share their
probability:

    P(v) = exp(logit_v) / sum over all u but PAD and SOS of exp(logit_u)

in float64, so that sums over long sentences are as exact as the logits.
"""

import contextlib
from dataclasses import dataclass

import numpy as np

from minigrad import nn, no_grad
from minigrad.checks import plain, whole

from ..tasks.batch import EOS, PAD, SOS


@dataclass
class Decoded:
    """Decoded sentences, one a row."""

    ids: np.ndarray  # (B, N) int64: up to and with EOS, then PAD
    lengths: np.ndarray  # (B,)   numbers of tokens, EOS included
    scores: np.ndarray  # (B,)    ln P of the sentence; of a beam, its ranking score
    weights: np.ndarray | None  # (B, N, S): 0 after the end


def greedy(model, source, lengths, max_length):
    """Take the most probable token at each step; of equal ones, the smallest id.

    source       (B, S) ids
    lengths      (B,) or None
    max_length   the largest number of tokens; a row of that length may lack EOS

    -> ``Decoded``
    """
    return decode(model, source, lengths, max_length, lambda logp: logp.argmax(-1))


def decode(model, source, lengths, max_length, choose):
    """Decode until all rows have ended; ``choose`` maps ln P (B, V) to tokens (B,)."""
    source = np.asarray(source)
    max_length = whole("decoding", "max_length", max_length, 1)
    B = len(source)
    rows, scores, ended = np.arange(B), np.zeros(B), np.zeros(B, bool)
    all_tokens, all_weights = [], []
    with evaluation(model):
        logits, state, weights = first_step(model, source, lengths)
        while True:
            logp = log_probabilities(logits)
            tokens = np.where(ended, PAD, choose(logp))
            scores += np.where(ended, 0, logp[rows, tokens])
            all_tokens.append(tokens)
            if weights is not None:
                all_weights.append(np.where(ended[:, None], 0, plain(weights)))
            ended |= tokens == EOS
            if len(all_tokens) == max_length or ended.all():
                break
            logits, state, weights = model.step(state, tokens)
    ids = np.stack(all_tokens, 1)
    weights = np.stack(all_weights, 1) if all_weights else None
    return Decoded(ids, (ids != PAD).sum(1), scores, weights)


def first_step(model, source, lengths):
    """Return logits, state and weights of the first token."""
    state = model.start(source, lengths)
    if getattr(state, "logits", None) is not None:
        return state.logits, state, None
    return model.step(state, np.full(len(source), SOS))


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


def log_probabilities(logits):
    """Return ln P (n, V) of the next token, -inf for PAD and SOS."""
    logits = np.array(plain(logits), np.float64)
    logits[:, [PAD, SOS]] = -np.inf
    largest = logits.max(-1, keepdims=True)
    if not np.isfinite(largest).all():
        raise FloatingPointError(
            "The model's logits are NaN, infinity, or -infinity for all tokens; "
            "expected finite numbers. Check its parameters for NaN."
        )
    logits -= largest
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))
