"""Sample tokens from a model: for decoding, and in training ("scheduled sampling").

For decoding, ``sample`` draws each token from Q. It computes Q from P, the
probabilities of the model, in this order:

    y_t ~ Q(. | y_1 … y_{t-1}, x)

    temperature  Q(v) is proportional to P(v)^{1/T}. T < 1 makes probable tokens more
                 probable, T > 1 makes the probabilities of all tokens more equal
    top_k        Q(v) = 0 for all but the k most probable tokens
    top_p        Q(v) = 0 for all but the most probable tokens, as few as have a sum of
                 p or more

Then Q is scaled so that its sum is 1. A distribution has many improbable tokens, which
together have a large probability, and a sentence seldom recovers after one of them.
top_k removes them by their rank, top_p by their sum. Fan et al. 2018; Holtzman et al.
2020, "nucleus sampling".

In training, ``mixed_inputs`` replaces some of the correct tokens by the model's own:

    input_t = y_{t-1}                                 with probability 1 - p
              argmax_v P(v | input_1 … input_{t-1})   with probability p, for t > 1

With teacher forcing, a model never reads its own tokens; in decoding it reads only its
own tokens. p grows during training. No gradient passes through the choice. So the
tokens are chosen first, step by step and without a graph; then the loss of the mixed
sentence is computed as usual. The targets stay the same. Bengio et al. 2015.
"""

import numpy as np

from minigrad.arguments import generator, number, plain, probability, whole
from minigrad.random import generator as own_generator

from ..tasks.batch import PAD, SOS
from .greedy import decode, evaluation


def sample(
    model, source, lengths, max_length, *, temperature=1.0, top_k=None, top_p=None,
    rng=None,
):  # fmt: skip
    """Draw one sentence for each row of source from the model: ``Decoded``.

    source (B, S) ids, lengths (B,) or None; model and max_length are as of ``greedy``

    temperature   T > 0; near 0 the result is that of ``greedy``
    top_k, top_p  k from 1; p above 0, at most 1; None keeps all tokens
    rng           a numpy.random.Generator; None uses minigrad's generator

    ``scores`` are ln P of the sentences, not ln Q. To draw several sentences for a
    source, repeat its row.
    """
    number("sample", "temperature", temperature, positive=True)
    top_k = None if top_k is None else whole("sample", "top_k", top_k, 1)
    if top_p is not None:
        number("sample", "top_p", probability("sample", "top_p", top_p), positive=True)
    rng = generator("sample", rng) or own_generator()
    choose = chooser(rng, temperature, top_k, top_p)
    return decode(model, source, lengths, max_length, choose)


def chooser(rng, temperature=1.0, top_k=None, top_p=None):
    """Return the function of ln P (n, V) that draws the next tokens (n,) from Q."""

    def choose(logp):
        return draw(filtered_probabilities(logp, temperature, top_k, top_p), rng)

    return choose


def filtered_probabilities(logp, temperature=1.0, top_k=None, top_p=None):
    """Return Q (n, V) of ln P (n, V), or of logits: rows sum to 1.

    Of equally probable tokens, the smallest ids are kept.
    """
    logp = np.asarray(logp, np.float64)
    with np.errstate(over="ignore"):  # -inf is correct: exp(-inf) = 0
        q = np.exp((logp - logp.max(-1, keepdims=True)) / temperature)
    q /= q.sum(-1, keepdims=True)
    if top_p == 1:  # keeps all; rounded sums would reach 1 before the tail
        top_p = None
    if top_k is None and top_p is None:
        return q
    order = np.argsort(-q, axis=-1, kind="stable")  # the most probable first
    ranked = np.take_along_axis(q, order, -1)
    if top_k is not None:
        ranked[:, top_k:] = 0
        ranked /= ranked.sum(-1, keepdims=True)
    if top_p is not None:
        before = ranked.cumsum(-1) - ranked  # the sum of all more probable tokens
        ranked[before >= top_p] = 0
        ranked /= ranked.sum(-1, keepdims=True)
    np.put_along_axis(q, order, ranked, -1)
    return q


def draw(probabilities, rng):
    """Draw a token from each row of (n, V): (n,), never one of probability 0."""
    total = probabilities.cumsum(-1)
    u = rng.random((len(total), 1)) * total[:, -1:]
    tokens = (total <= u).sum(-1)  # the first whose sum exceeds u
    # u may be rounded up to the whole total; then take the last possible token
    last = probabilities.shape[1] - 1 - (probabilities[:, ::-1] > 0).argmax(-1)
    return np.minimum(tokens, last)


def mixed_inputs(model, batch, p, rng):
    """Return ``batch.target_in`` (B, L), in which the model replaces some tokens.

    p     the probability, from 0 to 1, that a token becomes the model's own
    rng   a numpy Generator, which alone decides the replaced positions

    SOS and padding stay. The model's tokens are computed without dropout.
    """
    correct = batch.target_in
    replaced = rng.random(correct.shape) < probability("mixed_inputs", "p", p)
    replaced &= correct != PAD
    last = np.flatnonzero(replaced.any(0)).max(initial=0)
    mixed = correct.copy()
    if not last:  # position 0 is SOS
        return mixed
    with evaluation(model):
        state = model.start(batch.source, batch.lengths)
        for t in range(last):
            logits, state, _ = model.step(state, mixed[:, t])
            logits = np.array(plain(logits))
            logits[:, [PAD, SOS]] = -np.inf  # never produced, so never read
            own = logits.argmax(-1)
            mixed[:, t + 1] = np.where(replaced[:, t + 1], own, correct[:, t + 1])
    return mixed
