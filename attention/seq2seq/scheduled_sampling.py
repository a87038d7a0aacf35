"""Scheduled sampling: in training, sometimes read what the model itself would say.

    fed_t = y_{t-1}                             with probability 1 - p
            argmax_v P(v | fed_1 … fed_{t-1})   with probability p, for t > 1

Under teacher forcing a model never sees its own mistakes; in use it reads nothing else.
p rises while it learns. Its words are taken as given: no gradient goes through the
choice. So they can be found first, step by step and without a graph, and the loss is
that of the mixed sentence, in one pass as always. What was to be said does not change.

The choice is made without dropout. Bengio et al. 2015, with the linear schedule.
"""

import numpy as np

from ..checks import plain
from ..tasks.batch import PAD, SOS
from .decoding import decoding


def mixed_inputs(model, batch, p, rng):
    """``batch.target_in`` (B, T) with some of its words replaced by the model's.

    p     from 0 to 1: the share of replaced words
    rng   a numpy Generator; which places are replaced depends on it alone

    SOS and padding stay. Raises ValueError for another p.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"mixed_inputs: p is {p}; expected a number from 0 to 1.")
    given = batch.target_in
    own = (rng.random(given.shape) < p) & (given != PAD)
    last = np.flatnonzero(own.any(0)).max(initial=0)  # place 0 is SOS, and stays
    mixed = given.copy()
    if not last:
        return mixed
    with decoding(model):
        state = model.start(batch.source, batch.lengths)
        for t in range(last):
            logits, state, _ = model.step(state, mixed[:, t])
            logits = np.array(plain(logits))
            logits[:, [PAD, SOS]] = -np.inf  # never said, so never read
            said = logits.argmax(-1)
            mixed[:, t + 1] = np.where(own[:, t + 1], said, given[:, t + 1])
    return mixed
