"""38.2  The variance of a score  ●●●○  35 min  book §38.3

    e = s . h = sum_k s_k h_k      k = 1 … d

All entries are independent. Those of s have mean mu_s and variance v_s, those of h have
mean mu_h and variance v_h. With means of 0 and variances of 1 the variance of e is d,
and the factor 1 / sqrt(d) makes it 1. How much do other means add? A softmax compares
the keys of one query: which part of the variance changes its weights?

The check calls your formulas with Fractions: write exact ones, without roots.
"""

from lessons.classroom.theory import Chain


def var_dot(d, mu_s, mu_h, v_s, v_h):
    """Return the variance of e when both s and h are random."""
    # BEGIN SOLUTION
    # of one product: E s^2 E h^2 - (E s E h)^2, with E s^2 = v_s + mu_s^2
    return d * (v_s * v_h + v_s * mu_h**2 + v_h * mu_s**2)
    # END SOLUTION


def derivation():
    """Return a chain of three or more expressions that derives ``var_dot``.

    Each expression is a function of (E, d, mu_s, mu_h, v_s, v_h), with a reason, as in
    38.1. E(f) is the expected value of f(s_k, h_k): E(lambda s, h: s * h) is that of
    one product. The first expression is d times the variance of one product, written
    with d and E alone. The last one contains d, means and variances, and no E. Between
    them stands what independence gives: E of functions of s alone and of h alone.
    """
    # BEGIN SOLUTION
    return (
        Chain(
            lambda E, d, mu_s, mu_h, v_s, v_h: (
                d * (E(lambda s, h: (s * h) ** 2) - E(lambda s, h: s * h) ** 2)
            ),
            "d independent products have d times the variance of one",
        )
        .then(
            lambda E, d, mu_s, mu_h, v_s, v_h: (
                d
                * (
                    E(lambda s, h: s**2) * E(lambda s, h: h**2)
                    - (E(lambda s, h: s) * E(lambda s, h: h)) ** 2
                )
            ),
            "the mean of a product of independent factors is the product of the means",
        )
        .then(
            lambda E, d, mu_s, mu_h, v_s, v_h: (
                d * ((v_s + mu_s**2) * (v_h + mu_h**2) - (mu_s * mu_h) ** 2)
            ),
            "E s^2 = v_s + mu_s^2, and mu_s^2 mu_h^2 cancels",
        )
        .then(
            lambda E, d, mu_s, mu_h, v_s, v_h: var_dot(d, mu_s, mu_h, v_s, v_h),
            "expanded",
        )
    )
    # END SOLUTION


def var_between_keys(d, mu_s, mu_h, v_s, v_h):
    """Return the variance of e over random keys h, as a mean over the queries s.

    It measures how far apart the scores of one row of attention are.
    """
    # BEGIN SOLUTION
    # given s it is v_h sum_k s_k^2; mu_h adds the same to the scores of all keys
    return d * v_h * (v_s + mu_s**2)
    # END SOLUTION


def centred_gain(mu_s, mu_h, v_s, v_h):
    """Return the variance of e, divided by its variance for means of 0."""
    # BEGIN SOLUTION
    return 1 + mu_h**2 / v_h + mu_s**2 / v_s
    # END SOLUTION


def centre(x):
    """Subtract from each row of x (…, d) its own mean, as LayerNorm does first."""
    # BEGIN SOLUTION
    return x - x.mean(axis=-1, keepdims=True)
    # END SOLUTION


def explanation():
    """Return a string: why does this argue for centring the inputs of attention, as
    LayerNorm does?

    Write ten words or more; they are not graded. After that, the check prints what a
    good answer says.
    """
    # BEGIN SOLUTION
    return (
        "The factor 1 / sqrt(d) gives scores of variance 1 only if both means are 0. "
        "A mean of the keys alone adds the same to all scores of a query, which the "
        "softmax cancels; a mean of the queries adds d v_h mu_s^2 to the variance "
        "between keys, so the weights are sharper than planned. LayerNorm subtracts "
        "the mean of each vector, before W_q and W_k, and both terms are gone."
    )
    # END SOLUTION


# FOR THE CHECK

WHY = (
    "A product of independent numbers has variance v_s v_h + mu_s^2 v_h + mu_h^2 v_s, "
    "and the variances of d independent products add. Only the terms with v_h differ "
    "between the keys of one query, and a softmax ignores what all scores of a row "
    "have in common."
)

MUTANTS = [
    ("s**2) * E(lambda s, h: h**2)", "s**2) + E(lambda s, h: h**2)", "false-link"),
    ("d * (E(lambda s, h: (s * h) ** 2) - E(lambda s, h: s * h) ** 2)",
     "d * E(lambda s, h: (s * h) ** 2)", "starts-elsewhere"),
    ("h: var_dot(d, mu_s, mu_h, v_s, v_h),", "h: d * v_s * v_h,", "arrives-elsewhere"),
    ("return d * (", "return float(d) * (", "float"),
]  # fmt: skip
