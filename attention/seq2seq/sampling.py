"""Decoding by chance: say each token as often as the model holds it probable.

    y_t ~ Q(. | y_1 … y_{t-1}, x),    Q from P in this order:

    temperature  Q(v) ~ P(v)^{1/T}      T < 1: more of the probable; T > 1: more even
    top_k        0 for all but the k most probable
    top_p        0 for all but the most probable that together have p: the fewest whose
                 sum is p or more, after temperature and top_k

and what is left is scaled up to sum to 1. The tail of a distribution is long: tokens
that are each improbable come often, taken together, and after one of them a sentence
seldom recovers. top_k cuts the tail at a rank, top_p where the probability ends.
Fan et al. 2018; Holtzman et al. 2020, "nucleus sampling".
"""

import numpy as np

from minigrad.random import generator

from ..checks import whole
from .decoding import one_by_one

NAME = "sample"


def sample(
    model, source, lengths, max_length, *, temperature=1.0, top_k=None, top_p=None,
    rng=None,
):  # fmt: skip
    """Sentences drawn from the model, one for each row of source: ``Decoded``.

    model, source, lengths, max_length   as of ``greedy``
    temperature   T > 0; towards 0 it becomes ``greedy``
    top_k, top_p  k from 1; p above 0, at most 1; None leaves all in
    rng           a numpy.random.Generator; None is minigrad's own

    ``scores`` are ln P of the sentence in the model's own distribution, not in Q.
    Repeat a row of source for more than one sentence of it.
    """
    checked = _checked_filters(temperature, top_k, top_p)
    if not (rng is None or isinstance(rng, np.random.Generator)):
        raise TypeError(
            f"{NAME}: rng is a {type(rng).__name__}; expected a numpy.random.Generator,"
            " such as np.random.default_rng(0)."
        )
    rng = generator() if rng is None else rng

    def choose(logp):
        return draw(_filtered(logp, *checked), rng)

    return one_by_one(NAME, model, source, lengths, max_length, choose)


def filtered(logp, temperature=1.0, top_k=None, top_p=None):
    """Q (n, V) of ln P (n, V), or of logits: probabilities, rows sum to 1.

    Among equals the least id stays in.
    """
    logp = np.asarray(logp, np.float64)
    return _filtered(logp, *_checked_filters(temperature, top_k, top_p))


def draw(probabilities, rng):
    """A token from each row of (n, V), (n,), and never one of probability 0."""
    total = probabilities.cumsum(-1)
    u = rng.random((len(total), 1)) * total[:, -1:]
    tokens = (total <= u).sum(-1)  # the first whose sum exceeds u
    # u may be rounded up to the whole total; then it is the last that can come
    last = probabilities.shape[1] - 1 - (probabilities[:, ::-1] > 0).argmax(-1)
    return np.minimum(tokens, last)


def _filtered(logp, temperature, top_k, top_p):
    with np.errstate(over="ignore"):  # to -inf, which is right
        q = np.exp((logp - logp.max(-1, keepdims=True)) / temperature)
    q /= q.sum(-1, keepdims=True)
    if top_k is None and top_p is None:
        return q
    order = np.argsort(-q, axis=-1, kind="stable")  # the most probable first
    ranked = np.take_along_axis(q, order, -1)
    if top_k is not None:
        ranked[:, top_k:] = 0
        ranked /= ranked.sum(-1, keepdims=True)
    if top_p is not None:
        before = ranked.cumsum(-1) - ranked  # of all that are more probable: 0 at first
        ranked[before >= top_p] = 0
        ranked /= ranked.sum(-1, keepdims=True)
    np.put_along_axis(q, order, ranked, -1)
    return q


def _checked_filters(temperature, top_k, top_p):
    for name, value in ("temperature", temperature), ("top_p", top_p):
        number = isinstance(value, (int, float, np.integer, np.floating))
        if value is None and name == "top_p":
            continue
        if isinstance(value, (bool, np.bool_)) or not number:
            raise TypeError(f"{NAME}: {name} is {value!r}; expected a number.")
    if not 0 < temperature < np.inf:
        raise ValueError(
            f"{NAME}: temperature is {temperature}; expected a number above 0. What it "
            "comes to at 0 is greedy."
        )
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(
            f"{NAME}: top_p is {top_p}; expected a number above 0 and at most 1."
        )
    if top_k is not None:
        top_k = whole(NAME, "top_k", top_k, 1)
    # rounded sums reach 1 before the tail has come, but 1 leaves all in
    return float(temperature), top_k, None if top_p in (None, 1) else float(top_p)
