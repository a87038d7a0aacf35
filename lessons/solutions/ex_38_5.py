"""38.5  Monotonic local attention  ●●○○  35 min  book §38.7

A query that attends to the 2 D + 1 keys around a centre has 2 D + 1 scores for any
length of the source. The result is good only if the centre is in the right place. Write
the window, choose the centre that reverses a string, compute attention through it, and
train a small model: does it learn with a window in the wrong place?

    allowed[t, s]  =  |s - center(t)| <= D
"""

import numpy as np

import minigrad as mg
from attention import masked_softmax


class Reverser:
    """A model that attends once: a query for each output, a key for each position.

    The values are the embeddings of the symbols; Q and K learn where to attend.
    """

    def __init__(self, length, symbols, width, rng):
        shapes = (length, width), (length, width), (symbols, width), (symbols, width)
        self.Q, self.K, self.E, self.W_o = (
            mg.nn.Parameter(rng.normal(size=shape) / 2) for shape in shapes
        )

    def parameters(self):
        return [self.Q, self.K, self.E, self.W_o]

    def values(self, strings):
        """Return the embeddings (B, S, width) of strings (B, S), which are ints."""
        return mg.embedding(strings, self.E)

    def logits(self, context):
        """Return the scores of all symbols: (B, T, width)  ->  (B, T, symbols)"""
        return context @ self.W_o.T


def local_mask(S, T, D, center):
    """Return which keys each query may attend to.

    S keys, T queries, ``center`` a function t -> position, which may be a fraction
    ->  allowed (T, S) bool, True where the key s is in the window of the query t
    """
    # BEGIN SOLUTION
    s = np.arange(S)[None, :]  # (1, S)
    p = np.array([center(t) for t in range(T)])[:, None]  # (T, 1)
    return np.abs(s - p) <= D
    # END SOLUTION


def center_for_reversal(t, length):
    """Return the centre of the window of query t, to reverse a string of ``length``.

    Query t writes the t-th symbol of the reversed string, t = 0, 1, …
    """
    # BEGIN SOLUTION
    return length - 1 - t
    # END SOLUTION


def batch_masks(lengths, S, T, D):
    """Return the windows that reverse strings of several lengths, padded to S symbols.

    lengths (B,) ints  ->  allowed (B, T, S) bool, False for padding, s >= length
    Rows t >= length follow the same formula; their centre is negative.
    """
    # BEGIN SOLUTION
    real = np.arange(S) < np.asarray(lengths)[:, None]  # (B, S)
    windows = [
        local_mask(S, T, D, lambda t: center_for_reversal(t, n)) for n in lengths
    ]
    return np.stack(windows) & real[:, None, :]  # no query may attend to padding
    # END SOLUTION


def local_attention(Q, K, V, allowed):
    """Return attention, with scores q . k / sqrt(d), through a window.

    Q (T, d), K (S, d), V (B, S, w), allowed (T, S)  ->  (B, T, w)
    Q, K, V and the result are Tensors; allowed is an array.
    ``masked_softmax(e, mask=…)`` gives the weight 0 where a mask is False; a query
    without an allowed key returns 0.
    """
    # BEGIN SOLUTION
    e = Q @ K.T / K.shape[-1] ** 0.5  # (T, S)
    return masked_softmax(e, mask=allowed) @ V
    # END SOLUTION


def training_step(model, optimizer, strings, allowed):
    """Do one step on strings (B, S) of ints; return the loss before it, a float.

    The context is that of the model's Q, K and values, through the window; the loss is
    the mean cross-entropy (``mg.cross_entropy``) of its logits against the reversed
    strings. The gradients are those of this step alone.
    """
    # BEGIN SOLUTION
    context = local_attention(model.Q, model.K, model.values(strings), allowed)
    loss = mg.cross_entropy(model.logits(context), strings[:, ::-1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "To reverse a string, query t needs the symbol at length - 1 - t, where the length "
    "is that of the string without padding, so even the narrowest window is enough if "
    "its centre is there. A symbol outside the window receives no gradient, so no "
    "training can make up for a wrong centre."
)

MUTANTS = [
    (" / K.shape[-1] ** 0.5", "", "unscaled"),
    ("masked_softmax(e, mask=allowed)", "masked_softmax(e)", "mask-leak"),
    ("masked_softmax(e, mask=allowed)", "masked_softmax(e, mask=~allowed)",
     "complement"),
    ("np.abs(s - p) <= D", "np.abs(s - p) > D", "complement"),
    ("return np.abs(s - p) <= D", "return (np.abs(s - p) <= D).T", "transpose"),
]  # fmt: skip
