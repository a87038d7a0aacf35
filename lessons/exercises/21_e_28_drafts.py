"""E.28  Speculative decoding  ●●●○  35 min  needs E.27

A large model reads several tokens in one call almost as fast as one. So a small model
drafts a few tokens, and the large one reads them all at once and decides which to keep.
At each place q is the distribution of the small model, from which the draft x was drawn,
and p that of the large one:

    keep x with probability min(1, p_x / q_x)
    otherwise draw a token from the rest, in proportion to max(p - q, 0), and stop

If all drafts are kept, one more token is drawn from the large model's next distribution.
The text has exactly the distribution of the large model; the small one decides only how
fast it is. (Leviathan et al. 2023; Chen et al. 2023.)
"""

import numpy as np


def keeps(p, q, x, u):
    """Return True if the draft x is kept, for a number u that is uniform in [0, 1).

    p, q (V,); q_x > 0. The draft is kept if u is less than min(1, p_x / q_x).
    """
    return bool(u < min(1, p[x] / q[x]))  #? With which probability is a draft kept that the large model finds half as likely?
    #! return bool(u < min(1, q[x] / p[x]))  | q_x / p_x for p_x / q_x
    #! return bool(u < p[x])  | p_x for p_x / q_x
    #! return bool(p[x] >= q[x])  | a draft that is kept if p_x >= q_x, whatever u is


def rest(p, q):
    """Return the distribution of the token that replaces a draft: (V,), sum 1.

    p, q (V,). If p equals q no draft is ever replaced; return p then.
    """
    r = np.maximum(p - q, 0)  #? Which tokens does the small model draft too seldom, and by how much?
    #! r = np.maximum(q - p, 0)  | max(q - p, 0) for max(p - q, 0)
    #! r = abs(p - q)  | |p - q|, also of tokens that are drafted too often
    #! r = p * (p > q)  | p of the tokens that are drafted too seldom, not p - q
    total = r.sum()
    return r / total if total > 0 else p  #? What do the probabilities sum to? What if p equals q?
    #! return r if total > 0 else p  | max(p - q, 0), not divided by its sum


def outcome(p, q):
    """Return the probability of each token after one draft, kept or replaced: (V,).

    p, q (V,). Enumerate: the draft is x with the probability q_x. It is kept with the
    probability min(1, p_x / q_x), or a token of the rest replaces it. With ``Fraction``s
    in p and q the result is exact: use ``rest``, np.minimum and sums alone.
    """
    kept = np.minimum(p, q)  #? With which probability is x both drafted and kept: q_x min(1, p_x / q_x)?
    #! kept = q * 1  | q: every draft is kept
    return kept + (1 - kept.sum()) * rest(p, q)  #? With which probability is some draft replaced, and by what?
    #! return kept + (1 - kept) * rest(p, q)  | each token with its own 1 - min(p_x, q_x), not with the sum
    #! return kept + rest(p, q)  | the rest without the probability that a draft is replaced


def verify(p, q, drafts, u, pick):
    """Return the list of tokens that are gained: the kept drafts and one token more.

    p (n + 1, V), q (n, V), drafts (n,), u (n,) uniform numbers. pick(r) draws a token
    from the distribution r (V,); call it once.
    """
    kept = []
    for t, x in enumerate(drafts):
        if not keeps(p[t], q[t], x, u[t]):
            return [*kept, pick(rest(p[t], q[t]))]  #? The first draft that is not kept ends the list. What takes its place, and what of those behind it?
            #! return [*kept, pick(p[t])]  | a token from p in the place of the draft, not from the rest
            #! return kept  | the kept drafts alone, without a token in the place of the next
            #! continue  | all drafts that are kept, also behind one that is not
        kept.append(int(x))
    return [*kept, pick(p[-1])]  #? After the last draft the large model has one more distribution.
    #! return kept  | all drafts, without one more token


def gained(a, n):
    """Return the mean number of tokens of one call with n drafts.

    Each draft is kept with the probability a, 0 <= a <= 1, whatever happened before.
    """
    return sum(a**t for t in range(n + 1))  #? One token is sure. The second is there if the first draft is kept; and the third?
    #= return n + 1 if a == 1 else (1 - a ** (n + 1)) / (1 - a)
    #! return n * a + 1  | 1 + n a: drafts behind one that is not kept count as well
    #! return sum(a**t for t in range(1, n + 1))  | the kept drafts alone, without the one token more


# ---- THE CHECK: each call my.f(…) is compared with the function f above

from fractions import Fraction


def some(rng, *size):
    """Return probabilities, some of which are 0."""
    p = rng.random(size) * (rng.random(size) < 0.8) + 1e-3
    return p / p.sum(-1, keepdims=True)


def drafts_kept(my, rng):
    """drafts that are kept, and that are not"""
    p, q = np.array([0.5, 0.25, 0.25, 0.0]), np.array([0.25, 0.5, 0.125, 0.125])
    for x in range(4):
        for u in (0.0, 0.1, 0.45, 0.5, 0.55, 0.999):
            my.keeps(p, q, x, u)


def what_replaces(my, rng):
    """the rest, also where p equals q or has other tokens"""
    for V in (3, 5):
        my.rest(some(rng, V), some(rng, V))
        my.outcome(some(rng, V), some(rng, V))
    p = some(rng, 3)
    my.rest(p, p)


def exact(my, rng):
    """three words with exact fractions: the outcome is p"""
    for _ in range(5):
        p, q = (x.astype(object) * Fraction(1, x.sum()) for x in rng.integers(1, 9, (2, 3)))
        found = my.only.outcome(p, q)
        text = f"the outcome p = {', '.join(map(str, p))}"
        is_p = len(found) == 3 and all(a == b for a, b in zip(found, p))
        my.holds("outcome", is_p, text, ", ".join(map(str, found)))


def texts(my, rng):
    """lists of tokens, for drafts of which some are kept, none, or all"""
    for n, V in ((4, 5), (3, 3), (2, 7), (0, 3)):
        p, q = some(rng, n + 1, V), some(rng, n, V)
        drafts = rng.integers(0, V, n)
        for u in (rng.random(n), np.zeros(n), np.full(n, 0.999)):
            my.verify(p, q, drafts, u, lambda r: int(np.argmax(r)))


def means(my, rng):
    """tokens of a call, for several rates"""
    for a in (0.0, 0.3, 0.8, 1.0, float(rng.random())):
        for n in (0, 1, 4):
            my.gained(a, n)


HINTS = """
rest  A token that is drafted too often needs nothing more. The others need p - q.
outcome  q_x min(1, p_x / q_x) = min(q_x, p_x). The sum of these is how often any is kept.
1  Both parts have the same sum: 1 - sum min(p, q) = sum max(p - q, 0).
2  So (1 - sum min(p, q)) rest = max(p - q, 0), and min(p, q) + max(p - q, 0) = p.
3  gained is 1 + a + a^2 + … + a^n.
"""
WHY = """min(p, q) arrives as kept drafts and max(p - q, 0) as replacements; together they
are p, whatever q is. A bad small model costs speed alone: the share that is kept is
sum min(p, q)."""
