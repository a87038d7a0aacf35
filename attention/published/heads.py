"""Where the heads of a model look: the weights of all layers at one query.

    weights = weights_at_the_last(model, ids)    of the last token: (layers, H, n)

The other tokens are read first, into the cache. So each layer computes one row of
weights for each head, not all n rows.
"""

import numpy as np

from ..decoding.greedy import evaluation
from ..softmax import masked_softmax


def weights_at_the_last(model, ids):
    """Return the attention weights (layers, H, n) of the last of n tokens.

    model   a ``DecoderOnly``
    ids     (n,), or a list
    """
    ids, blocks = np.asarray(ids), model.decoder.blocks
    normalizers, rows = [block.normalize for block in blocks], []

    def keeping(normalize):
        def keep(scores, allowed):
            if normalize is None:
                p = masked_softmax(scores, mask=allowed)
            else:
                p = normalize(scores, allowed)
            rows.append(np.array(p.data[0, :, -1]))  # (H, n)
            return p

        return keep

    with evaluation(model):
        state = model.start(ids[None, :-1])
        try:
            for block, normalize in zip(blocks, normalizers):
                block.normalize = keeping(normalize)
            model.step(state, ids[-1:])
        finally:
            for block, normalize in zip(blocks, normalizers):
                block.normalize = normalize
    return np.stack(rows)  # (layers, H, n)
