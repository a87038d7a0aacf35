"""38.2  The variance of a score  ●●●○  35 min  book §38.3

    e = s . h = sum_k s_k h_k      k = 1 … d

All entries are independent. Those of s have mean mu_s and variance v_s, those of h have
mean mu_h and variance v_h. With means of 0 and variances of 1 the variance of e is d,
and the factor 1 / sqrt(d) makes it 1. How much do other means add? A softmax compares
the keys of one query: which part of the variance changes its weights?

The check calls your formulas with Fractions: write exact ones, without roots.
"""

from lessons import NotWritten
from lessons.classroom.theory import Chain


def var_dot(d, mu_s, mu_h, v_s, v_h):
    """Return the variance of e when both s and h are random."""
    raise NotWritten("38.2 var_dot")


def derivation():
    """Return a chain of three or more expressions that derives ``var_dot``.

    Each expression is a function of (E, d, mu_s, mu_h, v_s, v_h), with a reason, as in
    38.1. E(f) is the expected value of f(s_k, h_k): E(lambda s, h: s * h) is that of
    one product. The first expression is d times the variance of one product, written
    with d and E alone. The last one contains d, means and variances, and no E. Between
    them stands what independence gives: E of functions of s alone and of h alone.
    """
    raise NotWritten("38.2 derivation")


def var_between_keys(d, mu_s, mu_h, v_s, v_h):
    """Return the variance of e over random keys h, as a mean over the queries s.

    It measures how far apart the scores of one row of attention are.
    """
    raise NotWritten("38.2 var_between_keys")


def centred_gain(mu_s, mu_h, v_s, v_h):
    """Return the variance of e, divided by its variance for means of 0."""
    raise NotWritten("38.2 centred_gain")


def centre(x):
    """Subtract from each row of x (…, d) its own mean, as LayerNorm does first."""
    raise NotWritten("38.2 centre")


def explanation():
    """Return a string: why does this argue for centring the inputs of attention, as
    LayerNorm does?

    Write ten words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    raise NotWritten("38.2 explanation")
