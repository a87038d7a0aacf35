"""38.2  The variance of a score  ●●●○  35 min  book §38.3

    e = s . h = sum_k s_k h_k      k = 1 … d

All entries are independent; those of s have mean mu_s and variance v_s, those of h mean
mu_h and variance v_h. With means of 0 and variances of 1 the variance of e is d, and
1 / sqrt(d) brings it back to 1. What do means that are not 0 add? And how much of that
does a softmax see, which compares the keys of one query?

All answers are exact formulas: the check puts in Fractions, and roots are not needed.
"""

from lessons import NotWritten


def var_dot(d, mu_s, mu_h, v_s, v_h):
    """The variance of e, when s and h are both random."""
    raise NotWritten("38.2 var_dot")


def var_between_keys(d, mu_s, mu_h, v_s, v_h):
    """The variance of e over random keys h, for one query; then the mean over queries.

    This is how far the scores of one row of attention lie apart.
    """
    raise NotWritten("38.2 var_between_keys")


def centred_gain(mu_s, mu_h, v_s, v_h):
    """The variance of e, divided by what it is with the means mu_s, mu_h removed."""
    raise NotWritten("38.2 centred_gain")


def centre(x):
    """Rows x (…, d), each less its own mean; one half of what LayerNorm does."""
    raise NotWritten("38.2 centre")
