"""Copying: a word is written from the vocabulary, or copied from the source.

    P(w) = lambda softmax(z)_w + (1 - lambda) sum of a_j over the places j with x_j = w

z are the logits of the vocabulary, a the weights of attention over the source words x,
and lambda = sigmoid(r), a probability to write. r is usually a linear function of
context, state and input. This replaces the output layer, and the average of the values
stays what it was. With any attention: the weights of ``CoverageAttention``, its loss
added, give the model of See et al.

The vocabulary has V words. A source word that it lacks gets a number from V on, in each
example anew; it can be copied, and not written. As an input of the next step such a
word is the unknown word.

Let y be the right word. Which way did it come? The posterior probabilities are

    pi    = lambda softmax(z)_y / P(y)             it was written
    rho_j = (1 - lambda) a_j [x_j = y] / P(y)      it was copied from place j

which sum to 1. The loss -ln P(y) has the gradients

    dz = pi (softmax(z) - onehot(y))      cross-entropy, as far as y was written
    da_j = -(1 - lambda) [x_j = y] / P(y) = -rho_j / a_j
    dr = lambda (1 - lambda) (sum_j a_j [x_j = y] - softmax(z)_y) / P(y)
       = lambda (1 - pi) - (1 - lambda) pi = lambda - pi

If a is a softmax of scores e, then de_j = a_j (da_j - sum_n a_n da_n), and because the
rho_n sum to 1 - pi, this is (1 - pi) a_j - rho_j: cross-entropy again.

Gu et al. 2016 (copying); See, Liu and Manning 2017.
"""

import numpy as np

from minigrad import differentiable, sigmoid, softmax
from minigrad.arguments import between, whole
from minigrad.shapes import shapes

from .. import definitions
from .row import Variant


@shapes
def copy_probabilities(z, a, r, source, words):
    """Return P(w) of all words, from operations of minigrad.

    z (..., V), a (..., S), r (...), source (..., S) int  ->  P (..., W)

    words   W: V, and the number of source words that the vocabulary lacks
    """
    words = whole("copy_probabilities", "words", words, least=z.shape[-1])
    between("copy_probabilities", "source", source, 0, words - 1, "the words")
    gate, rest = sigmoid(r)[..., None], sigmoid(-r)[..., None]  # lambda, 1 - lambda
    vocabulary = np.eye(z.shape[-1], words, dtype=z.dtype)  # probability 0 from V on
    is_word = source[..., None] == np.arange(words)  # (..., S, W): x_j = w
    copied = a[..., None, :] @ is_word.astype(a.dtype)  # sum over j: (..., 1, W)
    return gate * (softmax(z) @ vocabulary) + rest * copied[..., 0, :]


@shapes
@differentiable
def copy_loss(z, a, r, source, target, ignore_index=-100):
    """Return -ln P(y) of each right word y, as one operation.

    z (..., V), a (..., S), r (...), source (..., S) int, target (...) int
        ->  loss (...)

    A target that is ``ignore_index`` has the loss 0 and no gradient. Raises ValueError
    for a target that is neither in the vocabulary nor in the source: P(y) would be 0.
    """
    ignored = target == ignore_index
    between("copy_loss", "source", source, 0, np.inf, "the words")
    z = z - z.max(-1, keepdims=True)
    ln_p = z - np.log(np.exp(z).sum(-1, keepdims=True))  # (..., V)
    ln_gate, ln_rest = (-np.logaddexp(0 * r, x) for x in (-r, r))  # lambda, 1 - lambda
    is_target = source == target[..., None]  # (..., S): x_j = y
    is_written = np.arange(z.shape[-1]) == target[..., None]  # (..., V): onehot(y)
    with np.errstate(divide="ignore"):  # ln 0 = -inf is right
        written = ln_gate + np.where(is_written, ln_p, -np.inf).max(-1)
        copied = ln_rest + np.log((a * is_target).sum(-1))
    ln_P = np.where(ignored, 0, np.logaddexp(written, copied))
    lost = ~(is_written.any(-1) | is_target.any(-1) | ignored)
    if lost.any():
        raise ValueError(
            f"copy_loss: target {np.broadcast_to(target, lost.shape)[lost][0]} is "
            f"neither in the vocabulary, 0 to {z.shape[-1] - 1}, nor in its source; "
            "expected one of them, or ignore_index."
        )

    def backward(g):
        g = np.where(ignored, 0, g)
        with np.errstate(invalid="ignore", over="ignore"):
            pi = np.where(written == -np.inf, 0, np.exp(written - ln_P))
            odds = np.exp(ln_rest - ln_P)
            odds = np.minimum(odds, np.finfo(odds.dtype).max)  # 0 inf = NaN if a_j = 0
        dz = (g * pi)[..., None] * (np.exp(ln_p) - is_written)
        da = np.where(is_target, -(g * odds)[..., None], 0)
        return dz, da, g * (np.exp(ln_gate) - pi), None, None

    return -ln_P, backward


def _source(z, a):
    """Return source words, one of each weight: half of the words of z, then new ones."""
    source = np.arange(a.shape[-1]) + z.shape[1] // 2
    return source, max(z.shape[1], source[-1] + 1)


def _definition(z, a, r):
    """Return P (L, W) for logits z (L, V) and scores a (L, S)."""
    source = _source(z, a)
    rows = zip(z, definitions.softmax(a), r)
    return np.stack([definitions.copy_probabilities(*row, *source) for row in rows])


def _copy(z, a, r):
    return copy_probabilities(z, softmax(a), r, *_source(z, a))


ROWS = [
    # E words of a vocabulary, and S scores of source words for each of L outputs
    Variant(
        "copy", _definition, _copy,
        inputs="z (L, E), a (L, S), r (L)",
        multiplications="L*S + L*E",
        about="""average: P(w) = g softmax(z)_w + (1 - g) times the sum of the weights
        of the places with the word w
        can write words of the source that the vocabulary lacks
        cannot write a word that neither the vocabulary nor the source has
        lesson 16: sentences with unseen names; See, Liu and Manning 2017""",
    ),
]  # fmt: skip
