"""Greedy decoding, and what every way of decoding asks of a model.

    y_t = argmax_v P(v | y_1 … y_{t-1}, x),    until y_t = EOS

**The protocol.** ``greedy``, ``beam_search`` and ``sample`` know of a model only

    state = model.start(source, lengths)          read the source (B, S); lengths (B,),
                                                  None if all rows have S tokens
    logits, state, weights = model.step(state, tokens)
                                                  tokens (n,), what was said last, to
                                                  logits (n, V) and weights (n, S), or
                                                  None from a model that has none
    state.select(indices)                         in place: row n becomes what row
                                                  indices[n] was; rows may be repeated
                                                  and left out

The first tokens are SOS; but if the state has an attribute ``logits`` that is not None,
the source is a prompt, these are of what follows it, and no SOS is said. ``step`` may
change the state it is given or leave it alone: what it returns is used, and nothing
else. Tensors and arrays are as good. If the model is a Module, it decodes in evaluation
mode, and is then as it was; no graph is kept.

**The distribution.** PAD and SOS are never said. Their share goes to the other tokens,

    P(v) = exp(logit_v) / sum over all u but PAD and SOS of exp(logit_u)

in float64, so that sums over long sentences are no worse than the logits.
"""

import contextlib
from dataclasses import dataclass

import numpy as np

from minigrad import nn, no_grad

from ..checks import between, plain, whole, wholes
from ..tasks.batch import EOS, PAD, SOS


@dataclass
class Decoded:
    """Sentences, one a row."""

    ids: np.ndarray  # (B, N) int64: up to and with EOS, then PAD
    lengths: np.ndarray  # (B,)   how many were said, EOS among them
    scores: np.ndarray  # (B,)    ln P of the sentence; of a beam, what it was ranked by
    weights: np.ndarray | None  # (B, N, S): 0 where nothing was said


def greedy(model, source, lengths, max_length):
    """The most probable token at each step; among equals, that of the least id.

    source (B, S) ids, lengths (B,) or None, max_length: no row is longer, so the last
    token of a row that is as long may be another than EOS  ->  ``Decoded``

    Raises FloatingPointError when the model's logits are NaN.
    """
    return one_by_one(
        "greedy", model, source, lengths, max_length, lambda logp: logp.argmax(-1)
    )


def one_by_one(name, model, source, lengths, max_length, choose):
    """Decode with ``choose``, ln P (B, V) -> tokens (B,), until all rows have ended."""
    source, lengths = checked(name, source, lengths)
    max_length = whole(name, "max_length", max_length, 1)
    B = len(source)
    rows, scores, ended = np.arange(B), np.zeros(B), np.zeros(B, bool)
    said, looked = [], []
    with decoding(model):
        logits, state, weights = first_step(model, source, lengths)
        while True:
            logp = log_probabilities(name, logits, B)
            tokens = np.where(ended, PAD, choose(logp))
            scores += np.where(ended, 0, logp[rows, tokens])
            weights = checked_weights(name, weights, (B, source.shape[1]))
            if weights is not None:
                looked.append(np.where(ended[:, None], 0, weights))
            said.append(tokens)
            ended |= tokens == EOS
            if len(said) == max_length or ended.all():
                break
            logits, state, weights = model.step(state, tokens)
    ids = np.stack(said, 1)
    weights = np.stack(looked, 1) if looked else None
    return Decoded(ids, (ids != PAD).sum(1), scores, weights)


def first_step(model, source, lengths):
    """What the protocol's ``step`` returns, of the first token of all."""
    state = model.start(source, lengths)
    if getattr(state, "logits", None) is not None:
        return state.logits, state, None
    return model.step(state, np.full(len(source), SOS))


@contextlib.contextmanager
def decoding(model):
    """Without a graph, and without dropout."""
    parts = model.modules() if isinstance(model, nn.Module) else []
    modes = [(part, part.training) for part in parts]
    try:
        for part in parts:
            part.training = False
        with no_grad():
            yield
    finally:
        for part, mode in modes:
            part.training = mode


def log_probabilities(name, logits, n):
    """ln P (n, V) of the next token, -inf for PAD and SOS."""
    logits = np.array(plain(logits), np.float64)
    if logits.ndim != 2 or len(logits) != n or logits.shape[1] <= EOS:
        raise ValueError(
            f"{name}: the model's step gave logits of shape {logits.shape}; expected "
            f"({n}, V), a row for each token, with V more than {EOS}."
        )
    logits[:, [PAD, SOS]] = -np.inf
    top = logits.max(-1, keepdims=True)
    if not np.isfinite(top).all():
        raise FloatingPointError(
            f"{name}: the model's logits are NaN, infinity, or -infinity for all "
            "tokens; expected finite ones. Are its parameters finite?"
        )
    logits -= top
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def checked_weights(name, weights, shape):
    """The weights (n, S) of a step as an array, or None."""
    weights = None if weights is None else plain(weights)
    if weights is not None and weights.shape != shape:
        raise ValueError(
            f"{name}: the model's step gave weights of shape {weights.shape}; expected "
            f"(n, S) = {shape}, a row for each token, or None."
        )
    return weights


def checked(name, source, lengths):
    """source as an array (B, S) with B not 0, lengths as an array or None.

    Which ids and lengths there may be, the model says itself.
    """
    source = np.asarray(source)
    if source.ndim != 2 or not len(source) or source.dtype.kind not in "iu":
        raise ValueError(
            f"{name}: source is {source.dtype} of shape {source.shape}; expected ids "
            "(B, S), whole numbers, one row or more."
        )
    if lengths is not None:
        lengths = wholes(name, "lengths", lengths, {1: "(B,), one for each row"})
        if len(lengths) != len(source):
            raise ValueError(
                f"{name}: there are {len(lengths)} lengths for {len(source)} rows of "
                "source; expected as many."
            )
        between(name, "lengths", lengths, 0, source.shape[1], "the tokens of a row")
    return source, lengths
