"""Where the heads of a model look: the weights of all its layers.

    weights = weights_of(model, ids)             of all tokens: (layers, H, n, n)
    weights = weights_at_the_last(model, ids)    of the last token: (layers, H, n)

For the last token alone the others are read first, into the cache. So each layer
computes one row of weights for each head, not all n rows.
"""

import numpy as np

from ..decoding.greedy import evaluation
from ..softmax import masked_softmax


def weights_of(model, ids):
    """Return the attention weights (layers, H, n, n) of n tokens, queries first.

    model   a ``DecoderOnly``
    ids     (n,), or a list
    """
    return _weights_of_step(model, lambda: model.start(np.asarray(ids)[None]))


def weights_at_the_last(model, ids):
    """Return the attention weights (layers, H, n) of the last of n tokens.

    The arguments are those of ``weights_of``.
    """
    ids = np.asarray(ids)
    with evaluation(model):
        state = model.start(ids[None, :-1])
    return _weights_of_step(model, lambda: model.step(state, ids[-1:]))[:, :, -1]


def _weights_of_step(model, step):
    """Return the weights (layers, H, L, S) that all layers compute in ``step()``."""
    blocks, found = model.decoder.blocks, []
    normalizers = [block.normalize for block in blocks]

    def keeping(normalize):
        def keep(scores, allowed):
            if normalize is None:
                p = masked_softmax(scores, mask=allowed)
            else:
                p = normalize(scores, allowed)
            found.append(np.array(p.data[0]))  # (H, L, S)
            return p

        return keep

    with evaluation(model):
        try:
            for block, normalize in zip(blocks, normalizers):
                block.normalize = keeping(normalize)
            step()
        finally:
            for block, normalize in zip(blocks, normalizers):
                block.normalize = normalize
    return np.stack(found)  # (layers, H, L, S)
