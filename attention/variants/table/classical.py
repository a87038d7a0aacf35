"""The rows of coverage, windows, whole attentions and heads: lessons 08 to 10."""

import attention

from .rows import SCALED, Formulas, Variant

CLASSICAL = {
    # additive, and w_c c_j from the second query on. Weights, coverages and contexts of
    # all steps are held twice: step by step, and as one array.
    "coverage": Variant(
        lambda *arrays: attention.definitions.coverage(*arrays),
        layer=lambda Dq, Dk, rng: attention.CoverageAttention(Dq, Dk, Dq, rng=rng),
        parameters="W_q (A, E), W_k (A, Dk), w_v (A), w_c (A)",
        costs=Formulas(
            projecting="A*(L*E + S*Dk)",
            scoring="L*S*A + (L - 1)*S*A",
            exponentials="L*S*A + L*S",
            held="w*((1 + S)*A + 2*L*S + L*Ev"
            " + max(2*L*S + L*Ev, 2*S*A*min(L - 1, 1)))",
        ),
        about="""score: w_c n_j is added in the tanh of additive, n_j the sum of the
        earlier weights of key j
        can avoid keys that were read before, or return to them
        cannot compute all queries at once: each needs the weights of those before
        lesson 8: sequences with repetitions; See, Liu and Manning 2017;
        variants/coverage.py""",
    ),
    # W keys for each query. Held are the keys, values and weights of its window; for
    # each key its position (8 bytes), and whether it exists and is allowed (2 bytes);
    # and the centre of the window, the number of keys, and the two ends (32 bytes).
    "local-m": Variant(
        lambda *x, **options: attention.definitions.local_m(*x, **options),
        layer=lambda Dq, Dk, rng, D: attention.LocalAttention(Dq, Dk, D, "m", "dot"),
        costs=Formulas(
            scoring="L*W*E",
            averaging="L*W*Ev",
            exponentials="L*W",
            scores="L*W",
            held="w*(L*W*(E + Ev + 1) + L*E) + 10*L*W + 32*L",
        ),
        options=dict(D=10),
        small=dict(D=2),
        letters=lambda L, S, T, D: {"W": min(2 * D + 1, S)},
        about="""mask: only the keys from t - D to t + D, for query t
        can align two sequences in the same order, at a fixed cost for each query
        cannot find a key that stands elsewhere, as in a reversal
        lesson 8: copying and reversal in windows; Luong et al. 2015;
        variants/local.py""",
    ),
    # the same around a predicted centre, with a Gaussian on the values
    "local-p": Variant(
        lambda *arrays, D: attention.definitions.local_p(*arrays, D),
        layer=lambda Dq, Dk, rng, D: attention.LocalAttention(Dq, Dk, D, "p", "dot"),
        parameters="W_p (E, E), v_p (E)",
        costs=Formulas(
            projecting="L*(E*E + E)",
            scoring="L*W*E + L + 2*L*W",
            averaging="2*L*W*Ev",
            exponentials="L*(E + 1) + 2*L*W",
            scores="L*W",
            held="w*(L*W*(E + Ev + max(E, Ev) + 3) + L*E) + 10*L*W + 32*L",
        ),
        options=dict(D=10),
        small=dict(D=2),
        letters=lambda L, S, T, D: {"W": min(2 * D + 1, S)},
        about="""mask: a window around a predicted centre, weights times a Gaussian
        can move its window to any place, with a gradient for the centre
        cannot read two distant places with one query
        lesson 8: copying and reversal in windows; Luong et al. 2015;
        variants/local.py""",
    ),
    "dense": Variant(
        lambda q, k, v: attention.definitions.scaled_dot_attention(q, k, v),
        lambda q, k, v: attention.scaled_dot_product_attention(q, k, v, path="dense"),
        costs=SCALED,
        about="""computation: nothing: scaled dot products of all pairs, as one matrix
        can let every token read every other one in one layer
        cannot need less memory than n^2 numbers
        lesson 12: lookup by distance; Vaswani et al. 2017; exact/dense.py""",
    ),
    "multi-head": Variant(
        lambda *arrays, H: attention.definitions.multi_head(
            *arrays, [attention.definitions.scaled_dot_attention] * H
        ),
        layer=lambda Dq, Dk, rng, H=1: attention.MultiHeadAttention(Dq, H, bias=False),
        inputs="q (L, H*E), k (S, H*E), v (S, H*E)",
        parameters="W_q (H*E, H*E), W_k (Hk*E, H*E), W_v (Hk*Ev, H*E), W_o (H*E, H*Ev)",
        costs=Formulas(
            projecting="L*H*E*H*E + S*Hk*(E + Ev)*H*E + L*H*Ev*H*E",
            scoring="H*(L*E + L*S*E)",
            averaging="H*L*S*Ev",
            exponentials="H*L*S",
            scores="H*L*S",
            held="w*(L*H*E + S*Hk*(E + Ev) + H*max(L*S + L*E, 2*L*S + L*Ev))",
            all_heads=True,
        ),
        small=dict(H=2),
        keywords=lambda L, S, **options: {"need_weights": True},  # the whole matrices
        about="""source: H attentions, of W_q q, W_k k and W_v v, joined by W_o
        can average values of several places separately
        cannot give a head more than D / H of the width
        lesson 10: what two heads can do and one cannot; Vaswani et al. 2017;
        exact/multihead.py""",
    ),
}
