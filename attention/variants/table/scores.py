"""The rows of the scores: lessons 03 to 05."""

import math

import attention

from .rows import DOT, SCALED, Formulas, Score

# W_q q_i is computed once for each query, and W_k k_j once for each key
ADDITIVE = Formulas(
    projecting="A*(L*E + S*Dk)",
    scoring="L*S*A",
    exponentials="L*S*A + L*S",
    held="w*max(L*S + (L + S)*A, 2*L*S + L*Ev)",
    unfused="w*max(L*S + (L + S)*A + L*S*A, 2*L*S + L*Ev)",
)
ADDITIVE_WAYS = {
    "once": {},
    # W_k k_j is computed again for each query, as in a decoder that does not keep it
    "steps": {"projecting": "A*(L*E + L*S*Dk)"},
    # W_q q_i and W_k k_j are computed again for each pair
    "pairs": {"projecting": "A*(L*S*E + L*S*Dk)"},
}

SCORES = {
    "additive": Score(
        lambda *arrays: attention.definitions.additive(*arrays),
        layer=lambda Dq, Dk, rng: attention.AdditiveAttention(Dq, Dk, Dq, rng=rng),
        parameters="W_q (A, E), W_k (A, Dk), w_v (A)",
        costs=ADDITIVE,
        ways=ADDITIVE_WAYS,
        reversal=True,
        about="""score: s = w . tanh(W_q q + W_k k), a network with one hidden layer
        can prefer keys in the middle of a range; compare queries and keys of two widths
        cannot be one matrix product: each pair takes a tanh for each of A hidden units
        lesson 4: which keys a score can prefer; Bahdanau et al. 2015; layers.py""",
    ),
    "dot": Score(
        lambda q, k: attention.definitions.dot(q, k),
        layer=lambda Dq, Dk, rng: attention.LuongAttention("dot", Dq, Dk, rng=rng),
        costs=DOT,
        reversal=True,
        about="""score: s = q . k
        can be one matrix product, without parameters
        cannot compare queries and keys of two widths; keep the deviation of its scores
        as the width grows
        lesson 4: which keys a score can prefer; Luong et al. 2015;
        variants/luong.py""",
    ),
    "general": Score(
        lambda *arrays: attention.definitions.general(*arrays),
        layer=lambda Dq, Dk, rng: attention.GeneralAttention(Dq, Dk, rng=rng),
        parameters="W_a (E, Dk)",
        costs=Formulas(  # W_a^T q_i is computed once for each query
            projecting="L*E*Dk",
            scoring="L*S*Dk",
            held="w*max(L*S + L*Dk, 2*L*S + L*Ev)",
        ),
        ways={
            "queries": {},
            "keys": {
                "projecting": "S*E*Dk",
                "scoring": "L*S*E",
                "held": "w*max(L*S + S*E, 2*L*S + L*Ev)",
            },
            "pairs": {
                "projecting": "L*S*E*Dk",
                "held": "w*max(L*S + S*E, 2*L*S + L*Ev)",
            },
        },
        reversal=True,
        about="""score: s = q . W_a k, with a learned matrix
        can learn which directions of queries and keys belong together
        cannot prefer keys in the middle of a range: it is linear in the key
        lesson 4: which keys a score can prefer; Luong et al. 2015; layers.py""",
    ),
    "scaled": Score(
        lambda q, k: attention.definitions.scaled_dot(q, k),
        layer=lambda Dq, Dk, rng: attention.DotProductAttention(rng=rng),
        costs=SCALED,
        reversal=True,
        about="""score: s = q . k / sqrt(E)
        can keep the deviation of the scores of random vectors at 1, for every width
        cannot compare queries and keys of two widths
        lesson 5: entropy of the weights against the width; Vaswani et al. 2017;
        layers.py""",
    ),
    "concat": Score(  # W_a [q; k] = W_q q + W_k k
        lambda q, k, W_a, v_a: attention.definitions.additive(
            q, k, W_a[:, : q.shape[1]], W_a[:, q.shape[1] :], v_a
        ),
        layer=lambda Dq, Dk, rng: attention.LuongAttention("concat", Dq, Dk, rng=rng),
        parameters="W_a (A, E + Dk), v_a (A)",
        costs=ADDITIVE,
        ways=ADDITIVE_WAYS,
        about="""score: s = v_a . tanh(W_a [q; k])
        can compute all that additive can: W_a is W_q beside W_k
        cannot be one matrix product: each pair takes a tanh for each of A hidden units
        lesson 4: which keys a score can prefer; Luong et al. 2015;
        variants/luong.py""",
    ),
    "gaussian": Score(  # a square for each coordinate of q_i - k_j
        lambda q, k, log_h=0.0: attention.definitions.gaussian(q, k, math.exp(log_h)),
        # the square of the bandwidth is the divisor of "scaled"
        layer=lambda Dq, Dk, rng: attention.GaussianAttention(Dq**0.25, rng=rng),
        costs=DOT,
        about="""score: s = -|q - k|^2 / (2 h^2), a distance, with a width h
        can estimate a smooth curve from points near the query
        cannot prefer one of two keys at the same distance
        lesson 4: a curve through noisy points; Nadaraya 1964; variants/gaussian.py""",
    ),
    "cosine": Score(
        lambda *arrays: attention.definitions.cosine(*arrays),
        layer=lambda Dq, Dk, rng: attention.CosineAttention(rng=rng),
        parameters="tau ()",
        costs=Formulas(  # the squares of q and k, and tau q
            scoring="2*L*E + S*E + L*S*E",
            held="w*max(L*S + 2*L*E + S*E, 2*L*S + L*Ev)",
        ),
        about="""score: s = tau cos(q, k), with a learned tau
        can keep its scores between -tau and tau, whatever training does
        cannot give a long key a larger weight than a short one
        lesson 15: training without the factor 1 / sqrt(E); Henry et al. 2020;
        variants/qk_norm.py""",
    ),
    "qk-norm": Score(
        lambda *arrays: attention.definitions.qk_norm(*arrays),
        layer=lambda Dq, Dk, rng: attention.QKNormAttention(Dq, rng=rng),
        parameters="g_q (E), g_k (E)",
        costs=Formulas(  # the squares, the gains, and the scale of q
            scoring="3*L*E + 2*S*E + L*S*E",
            held="w*max(L*S + 2*L*E + S*E, 2*L*S + L*Ev)",
        ),
        about="""score: s = q^ . k^ / sqrt(E), with x^ = gain x / root of the mean
        square of x
        can keep its scores bounded by the gains
        cannot give a long key a larger weight than a short one
        lesson 15: training without the factor 1 / sqrt(E); Dehghani et al. 2023;
        variants/qk_norm.py""",
    ),
}
REVERSAL_SCORES = tuple(name for name, row in SCORES.items() if row.reversal)
