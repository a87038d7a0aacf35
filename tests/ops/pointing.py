"""Copying, filters and monotonic weights: specifications."""

import numpy as np

from attention import definitions

from ..attention.definition_cases import batched
from .spec import call, normal, spec

# -- copy_loss -------------------------------------------------------------------------


def copy_loss(z, a, r, source, target, ignore_index=-100):
    """-ln P(y), one position at a time."""
    loss = np.zeros(target.shape)
    leading = *loss.shape, a.shape[-1]
    a, source = np.broadcast_to(a, leading), np.broadcast_to(source, leading)
    for at in np.ndindex(loss.shape):
        if target[at] != ignore_index:
            arrays = z[at], a[at], r[at], source[at]
            P = definitions.copy_probabilities(*arrays, words=9)
            loss[at] = -np.log(P[target[at]])
    return loss


def _weights(r, shape):
    return r.dirichlet(np.ones(shape[-1]), shape[:-1])


# 5 words in the vocabulary; the words 5 to 8 are in a source only, and 1 occurs twice
_source = np.array([[[1, 6, 1, 7]], [[0, 8, 5, 2]]])
_target = np.array([[1, 6, 3], [2, 5, 4]])

spec(
    "copy_loss",
    copy_loss,
    {
        "batched": lambda r: call(
            normal(r, (2, 3, 5)), _weights(r, (2, 3, 4)), normal(r, (2, 3)),
            _source, _target,
        ),
        "one": lambda r: call(
            normal(r, (5,)), _weights(r, (4,)), normal(r, ()), _source[0, 0],
            np.array(1),
        ),
        "ignored": lambda r: call(
            normal(r, (2, 3, 5)), _weights(r, (2, 3, 4)), normal(r, (2, 3)),
            _source, np.array([[1, -100, 3], [-100, 5, 4]]),
        ),
        "weights-for-all": lambda r: call(
            normal(r, (3, 5)), _weights(r, (4,)), normal(r, (3,)), _source[0, 0],
            _target[0],
        ),
        "empty": lambda r: call(
            normal(r, (0, 5)), _weights(r, (0, 4)), normal(r, (0,)), _source[0],
            np.zeros(0, int),
        ),
    },
)  # fmt: skip


# -- monotonic_weights -----------------------------------------------------------------


def monotonic(p, before=None):
    signature = "(l,s)->(l,s)" if before is None else "(l,s),(s)->(l,s)"
    arrays = [p] if before is None else [p, before]
    return batched(definitions.monotonic_weights, signature)(*arrays)


def _stops(r, shape):
    return r.uniform(0.1, 0.9, shape)


spec(
    "monotonic_weights",
    monotonic,
    {
        "before": lambda r: call(_stops(r, (3, 5, 7)), _weights(r, (3, 7))),
        "batched": lambda r: call(_stops(r, (2, 3, 5))),
        "more-steps-than-keys": lambda r: call(_stops(r, (7, 3))),
        "before-of-all": lambda r: call(_stops(r, (3, 5, 7)), _weights(r, (7,))),
        "one-key": lambda r: call(_stops(r, (3, 1))),
        "empty": lambda r: call(_stops(r, (0, 3, 5))),
    },
)
