"""The reference answers are right: they agree with the definitions of the library.

Each case yields pairs of arrays: what the exercise's answer returns, and the library.
"""

import numpy as np
import pytest

from attention import definitions
from lessons.classroom.catalogue import find
from lessons.course import check


def reference(id, name):
    source = find(id).parts
    return check.run(source.answer, source.path)[name]


def local_p(rng):
    """E.9: the contexts, with a softmax over the keys of each window."""
    q, k, v = rng.normal(size=(3, 7)), rng.normal(size=(17, 7)), rng.normal(size=(17, 2))
    W, w, D = rng.normal(size=(11, 7)), rng.normal(size=11), 3
    p, _ = reference("E.9", "centre")(q, W, w, 17)
    for t, contexts in enumerate(definitions.local_p(q, k, v, W, w, D)):
        near = np.flatnonzero(np.abs(np.arange(17) - p[t]) <= D)
        e = np.exp(k[near] @ q[t])
        window = (e / e.sum())[None], near[None], p[t : t + 1]
        a, _ = reference("E.9", "gaussian")(*window, D)
        yield (a @ v[near])[0], contexts


CASES = {"E.9": local_p}


@pytest.mark.parametrize("id", CASES)
def test_a_reference_answer_equals_the_library(id):
    pairs = list(CASES[id](np.random.default_rng(0)))
    assert pairs
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)
