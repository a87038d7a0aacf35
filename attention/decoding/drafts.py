"""Verify drafts: a small model proposes tokens, and a large one keeps its distribution.

    keep the drafted token x with probability min(1, p(x) / q(x))
    otherwise draw from the distribution in proportion to max(p - q, 0)

q is the small model's distribution, from which x was drawn, and p that of the large one.
The result has exactly the distribution p: a token x arrives with probability

    q(x) min(1, p(x) / q(x)) = min(p(x), q(x))    as a draft, and otherwise with
    (1 - sum_y min(p(y), q(y))) max(p(x) - q(x), 0) / sum_y max(p(y) - q(y), 0)

Both sums of differences are the same number, so the second part is max(p(x) - q(x), 0),
and the two add up to p(x). The large model computes p for all drafted tokens in one
call, so several tokens may be gained by one call. ("Speculative decoding".)

Leviathan et al. 2023; Chen et al. 2023.
"""

import numpy as np

from minigrad.arguments import generator, plain
from minigrad.random import generator as own_generator

from .sampling import draw


def verify(p, q, drafts, rng=None):
    """Return the tokens that are kept, and one token more: 1 to n + 1 tokens.

    p       (n + 1, V), the large model's distribution at each place, and after the last
    q       (n, V), the small model's, from which ``drafts`` (n,) were drawn
    """
    rng = generator("verify", rng) or own_generator()
    p, q = (np.asarray(plain(x), np.float64) for x in (p, q))
    drafts = [int(x) for x in plain(drafts)]
    for t, x in enumerate(drafts):
        if rng.random() * q[t, x] >= p[t, x]:
            rest = np.maximum(p[t] - q[t], 0)
            rest = rest if rest.any() else p[t]  # p is q, up to rounding
            return [*drafts[:t], int(draw(rest[None], rng)[0])]
    return [*drafts, int(draw(p[len(drafts), None], rng)[0])]
