"""38.2  The variance of a score  ●●●○  35 min  book §38.3

    e = s . h = sum_k s_k h_k      k = 1 … d

All entries are independent; those of s have mean mu_s and variance v_s, those of h mean
mu_h and variance v_h. With means of 0 and variances of 1 the variance of e is d, and
1 / sqrt(d) brings it back to 1. What do means that are not 0 add? And how much of that
does a softmax see, which compares the keys of one query?

All answers are exact formulas: the check puts in Fractions, and roots are not needed.
"""


def var_dot(d, mu_s, mu_h, v_s, v_h):
    """The variance of e, when s and h are both random."""
    # BEGIN SOLUTION
    # of one product: E s^2 E h^2 - (E s E h)^2, with E s^2 = v_s + mu_s^2
    return d * (v_s * v_h + v_s * mu_h**2 + v_h * mu_s**2)
    # END SOLUTION


def var_between_keys(d, mu_s, mu_h, v_s, v_h):
    """The variance of e over random keys h, for one query; then the mean over queries.

    This is how far the scores of one row of attention lie apart.
    """
    # BEGIN SOLUTION
    # given s it is v_h sum_k s_k^2; mu_h adds the same to the scores of all keys
    return d * v_h * (v_s + mu_s**2)
    # END SOLUTION


def centred_gain(mu_s, mu_h, v_s, v_h):
    """The variance of e, divided by what it is with the means mu_s, mu_h removed."""
    # BEGIN SOLUTION
    return 1 + mu_h**2 / v_h + mu_s**2 / v_s
    # END SOLUTION


def centre(x):
    """Rows x (…, d), each less its own mean; one half of what LayerNorm does."""
    # BEGIN SOLUTION
    return x - x.mean(axis=-1, keepdims=True)
    # END SOLUTION


# FOR THE CHECK

HINTS = {
    "": [
        "The d products are independent and alike: find the variance of one, s_k h_k.",
        "Var(x) = E[x^2] - (E x)^2, and E[s^2 h^2] = E[s^2] E[h^2]. Write E[s^2] with "
        "mu_s and v_s. For one query the s_k are constants, and Var(a h) = a^2 Var(h).",
        "(v_s + mu_s^2)(v_h + mu_h^2) - mu_s^2 mu_h^2: multiply out, and one term "
        "vanishes. For one query: v_h times sum_k s_k^2, and the mean of that over s.",
    ],
    "d-squared": ["Variances of independent terms add up. How many terms are there?"],
    "centred-only": ["That is the variance where both means are 0."],
    "no-mu-h": ["A mean of h multiplies every deviation of s."],
    "no-mu-s": ["A mean of s multiplies every deviation of h."],
    "second-moment": ["E[x^2] is the variance only where the mean is 0."],
    "exchanged": ["Whose deviations does mu_h multiply?"],
    "deviation": ["Is that a variance, or its root?"],
    "all-random": [
        "For one query the s_k are given. Does a mean of h, the same for all keys, "
        "move their scores apart?",
    ],
    "other-side": ["Here the keys are random, and the query is given."],
    "float": [
        "The formula is right, and its value was rounded: sums, products and quotients "
        "of Fractions are Fractions. Which operation makes a float?"
    ],
    "one-mean": ["Both means are taken away."],
    "inverse": ["The variance before is divided by the variance after."],
    "one-mean-for-all": ["Each row has a mean of its own, over the last axis."],
    "with-variance": ["Only the mean is taken away; the spread stays as it is."],
    "no-change": ["Which axis is the mean taken over, and is it taken away?"],
}

MUTANTS = [
    ("return d * (", "return d**2 * (", "d-squared"),
    ("return d * (", "return float(d) * (", "float"),
    (" + v_s * mu_h**2 + v_h * mu_s**2)", ")", "centred-only"),
    (" + v_s * mu_h**2", "", "no-mu-h"),
    (" + v_h * mu_s**2", "", "no-mu-s"),
    ("+ v_h * mu_s**2)", "+ v_h * mu_s**2 + mu_s**2 * mu_h**2)", "second-moment"),
    ("v_s * mu_h**2 + v_h * mu_s**2", "v_h * mu_h**2 + v_s * mu_s**2", "exchanged"),
    ("v_h * (v_s + mu_s**2)", "(v_h * (v_s + mu_s**2) + v_s * mu_h**2)", "all-random"),
    ("v_h * (v_s + mu_s**2)", "v_h * v_s", "centred-only"),
    ("v_h * (v_s + mu_s**2)", "v_s * (v_h + mu_h**2)", "other-side"),
    ("1 + mu_h**2 / v_h + mu_s**2 / v_s", "1 + mu_h**2 / v_h", "one-mean"),
    (
        "1 + mu_h**2 / v_h + mu_s**2 / v_s",
        "1 / (1 + mu_h**2 / v_h + mu_s**2 / v_s)",
        "inverse",
    ),
    ("x - x.mean(axis=-1, keepdims=True)", "x - x.mean()", "one-mean-for-all"),
    (
        "x - x.mean(axis=-1, keepdims=True)",
        "(x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)",
        "with-variance",
    ),
]
