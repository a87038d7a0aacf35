"""The rows of heads and small caches: lesson 17."""

import attention

from .rows import CHOSEN, SCALED, SQUARE, Formulas, Variant


def _stepwise(q, k, v, budget, recent, sinks):
    """Return the contexts of all tokens, with a ``SmallCache`` of one head."""
    from minigrad import stack

    cache = attention.SmallCache(budget, recent, sinks)
    rows = ((x[t][None] for x in (q, k, v)) for t in range(len(q)))
    return stack([cache.step(*row)[0][0] for row in rows])


def _cached(budget, recent, sinks, about):
    """Return the row of a cache of a fixed size; its first queries have fewer keys."""
    return Variant(
        lambda *x, **options: attention.definitions.small_cache(*x, **options),
        _stepwise,
        inputs="q (S, E), k (S, E), v (S, Ev)",
        costs=CHOSEN._replace(scoring="S*E + P*E"),
        options=dict(budget=budget, recent=recent, sinks=sinks),
        small=dict(budget=4, recent=2, sinks=min(sinks, 2)),
        # all pairs of the first tokens, and then budget + 1 keys for each
        letters=lambda L, S, T, budget, **others: {
            "P": attention.masks.pair_counts.window_pairs(S, S, budget, 0)
        },
        about=about,
    )


CACHES = {
    # R numbers of the latent vector and F rotated ones are cached for each token
    "mla": Variant(
        lambda *arrays, **unused: attention.definitions.mla(*arrays),
        layer=lambda Dq, Dk, rng, R, F: attention.LatentAttention(Dq, 1, R, F, rng),
        inputs="x (S, E)",
        parameters=(
            "W_q (E + F, E), W_d (R, E), W_r (F, E), gain (R), W_k (E, R), W_v (E, R), "
            "W_o (E, E)"
        ),
        costs=SQUARE._replace(
            projecting="S*E*(2*E + 2*F + 3*R) + S*(2*R + 4*F)", scoring="S*S*(E + F)"
        ),
        options=dict(R=16, F=8),
        small=dict(R=3, F=2),
        about="""source: keys and values of all heads are made from one cached vector
        can cache R + F numbers a token, a vector and its part for positions, and
        compute with these alone
        cannot rotate more than F numbers of its keys by position
        lesson 17: lookup among many pairs, by bytes of the cache; DeepSeek-AI 2024;
        variants/latent.py""",
    ),
    # two queries and keys of width E, and values of width 2 E
    "diff": Variant(
        lambda *arrays: attention.definitions.differential(*arrays),
        layer=lambda Dq, Dk, rng: attention.DifferentialAttention(Dq, 1, rng=rng),
        inputs="x (S, 2*E)",
        parameters=(
            "W_q (2*E, 2*E), W_k (2*E, 2*E), W_v (2*E, 2*E), W_o (2*E, 2*E), "
            "a_1 (E), b_1 (E), a_2 (E), b_2 (E), gain (2*E)"
        ),
        costs=Formulas(
            projecting="16*S*E*E + 6*S*E + 2*E",
            scoring="2*(S*E + S*S*E)",
            averaging="4*S*S*E + 2*S*E",
            exponentials="2*S*S + 2",
            scores="2*S*S",
        ),
        about="""normaliser: w = softmax(s1) - lambda softmax(s2)
        can give negative weights; subtract what two softmaxes have in common
        cannot do more than two heads that share their values
        lesson 17: a value minus the mean of all values; Ye et al. 2024;
        variants/differential.py""",
    ),
    "talking": Variant(
        lambda *arrays, H=1: attention.definitions.talking_heads(*arrays),
        lambda *arrays, H=1: attention.talking_heads(*arrays),
        inputs="q (H, L, E), k (H, S, E), v (H, S, Ev)",
        parameters="P (H, H), Q (H, H)",
        costs=Formulas(
            scoring="H*(L*E + L*S*E) + 2*H*H*L*S",
            averaging="H*L*S*Ev",
            exponentials="H*L*S",
            scores="H*L*S",
            all_heads=True,
        ),
        small=dict(H=2),
        about="""score: two H x H matrices mix scores and weights of the heads
        can let a head use the scores and the weights of the others
        cannot be computed in tiles: the weights of all heads must exist at once
        lesson 17: nothing trained, identity matrices give multi-head attention; Shazeer
        et al. 2020; variants/heads_together.py""",
    ),
    "shared": Variant(
        lambda *arrays: attention.definitions.shared(*arrays),
        lambda x, k, v, W_q, W_o: attention.shared_attention(
            x, k[None], v[None], W_q, W_o
        ),
        inputs="x (L, E), k (S, E), v (S, E)",
        parameters="W_q (E, E), W_o (E, E)",
        costs=Formulas(projecting="2*L*E*E", scoring="L*E + L*S*E", averaging="L*S*E"),
        about="""source: keys and values are those of the layer before
        can halve the cache of a stack of layers
        cannot compute other keys and values than that layer
        lesson 17: lookup among many pairs, by bytes of the cache; Brandon et al. 2024;
        variants/heads_together.py""",
    ),
    "stream": _cached(
        budget=36,
        recent=32,
        sinks=4,
        about="""mask: the newest keys and the first ones, positions counted in the
        cache
        can read a text of any length with a cache of a fixed size
        cannot find what has left the window
        lesson 17: long texts after training on short ones; Xiao et al. 2024;
        variants/small_cache.py""",
    ),
    "evict": _cached(
        budget=36,
        recent=8,
        sinks=0,
        about="""mask: the newest keys and those with the largest weights so far
        can keep far tokens that were read often, in a cache of a fixed size
        cannot find a token that becomes important only later
        lesson 17: lookup among many pairs, by bytes of the cache; Zhang et al. 2023;
        variants/small_cache.py""",
    ),
    # a scale and a zero for each channel of the keys, and for each token of the values
    "quantized": Variant(
        lambda *arrays: attention.definitions.quantized(*arrays),
        lambda q, *cache: attention.attend(
            q, attention.dequantize(*cache[:3]), attention.dequantize(*cache[3:])
        )[0],
        inputs=(
            "q (L, E), k (S, E), k.scale (E), k.zero (E), "
            "v (S, Ev), v.scale (S, 1), v.zero (S, 1)"
        ),
        costs=SCALED._replace(
            scoring="L*E + L*S*E + S*E", averaging="L*S*Ev + S*Ev", held=""
        ),
        about="""source: keys and values are codes of 8 bits: x = zero + scale times
        code
        can hold a cache in a quarter of the bytes of float32, with a known error
        cannot represent differences that are smaller than a scale
        lesson 17: lookup among many pairs, by bytes of the cache; Liu et al. 2024;
        variants/small_cache.py""",
    ),
}
