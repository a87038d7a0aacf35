"""The rows of memories and blocks by content: lesson 18."""

import attention

from .rows import CHOSEN, Formulas, Variant

# Multiplications of the recurrence, token by token: the write k_t v_t^T and the read
# S_t^T q_t of a state (E, Ev), and the decay; the delta rule reads S^T k_t as well. In
# chunks of T tokens they are E Ev less, and T (E + Ev) more.
GATES = "q (L, E), k (L, E), v (L, Ev), log_a (L)"
RECURRENCE = Formulas(scoring="0", averaging="3*L*E*Ev", exponentials="L", scores="0")


def _pairs_of_blocks(L, block, best):
    """Return {"P", "M"}: the pairs of the chosen blocks, and the comparisons."""
    pairs, means = attention.masks.pair_counts.chosen_pairs(L, block, best)
    return {"P": pairs, "M": means}


MEMORIES = {
    "retnet": Variant(
        lambda q, k, v: attention.definitions.decay(
            q, k, v, attention.retnet_log_decay(1).repeat(len(q), 0)
        ),
        lambda q, k, v: attention.decay_attention(
            q, k, v, attention.retnet_log_decay(1)[0].astype(q.dtype)
        ),
        inputs="q (L, E), k (L, E), v (L, Ev)",
        # a fixed number times the first state, 0, is not counted
        costs=RECURRENCE._replace(averaging="(3*L - 1)*E*Ev", exponentials="0"),
        about="""template: S = a S + k v^T, o = S^T q, with a fixed a for each head, and
        no softmax
        can continue a text with a state of fixed size; forget slowly
        cannot choose when to forget; replace a value
        lesson 18: overwritten names; Sun et al. 2023; variants/decay.py""",
    ),
    "decay": Variant(
        lambda q, k, v, log_a: attention.definitions.decay(q, k, v, log_a[:, None]),
        lambda q, k, v, log_a: attention.decay_attention(q, k, v, log_a),
        inputs=GATES,
        costs=RECURRENCE,
        about="""template: S = a_t S + k v^T, with a number a_t computed from the token
        can reset its state; be computed as a matrix of pairs or token by token
        cannot forget one key and keep another
        lesson 18: overwritten names; Dao and Gu 2024; variants/decay.py""",
    ),
    "gla": Variant(
        lambda q, k, v, log_a: attention.definitions.decay(q, k, v, log_a),
        lambda q, k, v, log_a: attention.gated_linear_attention(q, k, v, log_a),
        inputs=GATES.replace("log_a (L)", "log_a (L, E)"),
        costs=RECURRENCE._replace(exponentials="L*E"),
        about="""template: S = diag(a_t) S + k v^T, with a vector a_t from the token
        can forget some coordinates of the keys and keep others
        cannot replace the value of a key that shares coordinates with others
        lesson 18: overwritten names; Yang et al. 2024; variants/gated_linear.py""",
    ),
    "delta": Variant(
        lambda q, k, v, b: attention.definitions.delta_rule(q, k, v, b[:, None]),
        lambda q, k, v, b: attention.delta_rule(q, k, v, b),
        inputs=GATES.replace("log_a", "b"),
        costs=RECURRENCE._replace(averaging="L*(3*E*Ev + Ev)", exponentials="0"),
        about="""template: S = S + k b (v - S^T k)^T, which writes the error of what k
        returns
        can replace the value of a key, and keep those of orthogonal keys
        cannot return exact values of more keys than coordinates;
        set its state to 0 at once
        lesson 18: overwritten names; Schlag et al. 2021; variants/delta_rule.py""",
    ),
    "delta-gate": Variant(
        lambda q, k, v, log_a, b: attention.definitions.delta_rule(
            q, k, v, b[:, None], log_a[:, None]
        ),
        lambda q, k, v, log_a, b: attention.delta_rule(q, k, v, b, log_a),
        inputs=f"{GATES}, b (L)",
        costs=RECURRENCE._replace(averaging="L*(4*E*Ev + Ev)"),
        about="""template: the delta rule, on a state that is multiplied by a_t first
        can replace one value, or reset its state
        cannot return exact values of more keys than coordinates
        lesson 18: overwritten names; Yang, Kautz and Hatamizadeh 2024;
        variants/delta_rule.py""",
    ),
    # P pairs; each query also compares itself with the means of the earlier blocks
    "blocks": Variant(
        lambda *x, **options: attention.definitions.chosen_blocks(*x, **options),
        lambda q, k, v, **options: attention.block_attention(
            *(x[None, None] for x in (q, k, v)), **options
        )[0, 0],
        inputs="q (L, E), k (L, E), v (L, Ev)",
        costs=CHOSEN._replace(scoring="L*E + P*E + M*E"),
        options=dict(block=64, best=3),
        small=dict(block=2, best=2),
        letters=lambda L, S, T, block, best: _pairs_of_blocks(L, block, best),
        about="""mask: the own block, and the earlier blocks with the largest q . mean
        key
        can find a key at any distance, and read few keys
        cannot find a key if the mean of its block has a small product with the query
        lesson 18: lookup by distance; Lu et al. 2025; variants/chosen_blocks.py""",
    ),
    # M means, the P pairs of the blocks that they choose, and W pairs of the window
    "nsa": Variant(
        lambda *x, **options: attention.definitions.native_sparse(*x, **options),
        lambda *arrays, **options: attention.native_sparse(
            *(x[None, None] for x in arrays), **options
        )[0, 0],
        inputs="q (L, E), k (L, E), v (L, Ev), gates (L, 3)",
        costs=Formulas(
            scoring="3*L*E + (M + P + W)*E",
            averaging="(M + P + W)*Ev + 3*L*Ev",
            exponentials="M + P + W",
            scores="0",
        ),
        options=dict(block=64, best=3, window=128),
        small=dict(block=2, best=2, window=3),
        letters=lambda L, S, T, block, best, window: {
            **_pairs_of_blocks(L, block, best),
            "W": attention.masks.pair_counts.window_pairs(L, L, window - 1, 0),
        },
        about="""template: three branches, mixed by gates: means of blocks, the blocks
        that these choose, and a window
        can learn its choice: the weights that choose have a gradient of their own
        cannot read the keys of a far block whose mean has a small product with the
        query
        lesson 18: lookup by distance; Yuan et al. 2025; variants/chosen_blocks.py""",
    ),
    # A random features
    "performer": Variant(
        lambda *arrays: attention.definitions.performer(*arrays),
        lambda q, k, v, W: attention.performer_attention(q, k, v, W),
        parameters="W (A, E)",
        costs=Formulas(
            scoring="(L + S)*(A*E + E) + L*A",
            averaging="(L + S)*A*Ev",
            exponentials="(L + S)*A",
            scores="0",
        ),
        about="""template: phi(x) = exp(W x - |x|^2 / 2), whose products are exp on
        average
        can approximate softmax in linear time, where scores are small
        cannot find one of many keys: its error grows like exp(|q + k|^2)
        lesson 18: the error against the number of features; Choromanski et al. 2021;
        variants/random_features.py""",
    ),
    # S keys are reduced to A
    "linformer": Variant(
        lambda *arrays: attention.definitions.linformer(*arrays),
        lambda q, k, v, P, F: attention.linformer_attention(q, k, v, P, F),
        parameters="P (A, S), F (A, S)",
        costs=Formulas(
            projecting="A*S*(E + Ev)",
            scoring="L*E + L*A*E",
            averaging="L*A*Ev",
            exponentials="L*A",
            scores="L*A",
        ),
        about="""source: P K and F V with learned P and F: r sums over the positions in
        the place of S keys
        can keep values that change slowly along the text, in linear time
        cannot keep more than r independent tokens; be causal; change its length
        lesson 18: one key, and a smooth average; Wang et al. 2020;
        variants/low_rank.py""",
    ),
    # M landmarks, and six steps of the inverse of four products each
    "nystrom": Variant(
        lambda *x, **options: attention.definitions.nystrom(*x, **options),
        lambda *x, **options: attention.nystrom_attention(*x, **options),
        costs=Formulas(
            scoring="2*M*E + L*E + (M*M + M*S + L*M)*E + 24*M**3",
            averaging="(M*S + M*M + L*M)*Ev",
            exponentials="M*M + M*S + L*M",
            scores="M*M + M*S + L*M",
        ),
        options=dict(landmarks=32),
        small=dict(landmarks=2),
        letters=lambda L, S, T, landmarks: {"M": min(landmarks, L, S)},
        about="""template: weights by way of m landmarks, means of segments of the text
        can approximate smooth weights with few landmarks
        cannot give one key all weight unless it is a landmark; be causal
        lesson 18: one key, and a smooth average; Xiong et al. 2021;
        variants/low_rank.py""",
    ),
}
