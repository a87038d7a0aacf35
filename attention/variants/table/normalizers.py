"""The rows of the normalisers, of hard choices and of gates: lesson 15."""

import attention

from .rows import Formulas, Normalizer, Variant, normalized

NORMALIZERS = {
    "softmax": Normalizer(
        lambda s, allowed: attention.definitions.softmax(s, allowed),
        lambda s, allowed: attention.masked_softmax(s, mask=allowed),
        costs=normalized(4, booleans=1),
        tiles=lambda q, k, v: attention.scaled_dot_product_attention(
            q, k, v, path="tiled"
        ),
        about="""normaliser: p = exp(s) / sum of exp(s) over the allowed keys
        can give weights that sum to 1, and a gradient to every allowed key
        cannot give a weight of 0; return nothing where no key fits
        lesson 15: lookup where the key may be missing; Bahdanau et al. 2015;
        softmax.py""",
    ),
    "softmax+1": Normalizer(
        lambda s, allowed: attention.definitions.sink_softmax(s, allowed),
        lambda s, allowed: attention.softmax_plus_one(s, allowed),
        costs=normalized(5, exponentials="L*S + L"),
        tiles=lambda q, k, v: _with_sink(q, k, v, attention.Sink()),
        about="""normaliser: p = exp(s) / (1 + sum of exp(s))
        can give little weight to all keys where no key fits
        cannot learn from which score on a key fits
        lesson 15: lookup where the key may be missing; Miller 2023;
        variants/sink.py""",
    ),
    "sink": Normalizer(
        lambda s, allowed, b: attention.definitions.sink_softmax(s, allowed, b),
        lambda s, allowed, b: attention.sink_softmax(s, allowed, b),
        parameters="b ()",
        costs=normalized(5, exponentials="L*S + L"),
        tiles=lambda q, k, v, b: _with_sink(q, k, v, attention.Sink(b=b)),
        heads=lambda H: attention.Sink(H),
        about="""normaliser: p = exp(s) / (exp(b) + sum of exp(s)), with a learned b
        can give little weight to all keys where no key fits, and learn from which score
        on a key fits
        cannot return more than an average: the weights sum to less than 1
        lesson 15: lookup where the key may be missing; OpenAI 2025;
        variants/sink.py""",
    ),
    "sparsemax": Normalizer(
        lambda s, allowed: attention.definitions.sparsemax(s, allowed),
        lambda s, allowed: attention.sparsemax(s, allowed),
        costs=normalized(7, exponentials="0"),
        about="""normaliser: p = max(s - tau, 0), with the tau for which they sum to 1
        can give the weight 1 to a key that leads by 1, for any number of keys
        cannot give a gradient to keys whose weight is 0
        lesson 15: lookup among many more keys than in training; Martins and Astudillo
        2016; variants/entmax.py""",
    ),
    "entmax": Normalizer(
        lambda s, allowed, alpha=1.5: attention.definitions.entmax(s, allowed, alpha),
        lambda s, allowed, alpha: attention.entmax(s, allowed, alpha),
        options=dict(alpha=1.5),
        costs=normalized(9, scoring="L*E + L*S*E + L*S", exponentials="0"),
        about="""normaliser: p = max((alpha - 1) s - tau, 0)^(1 / (alpha - 1)), with the
        tau for which they sum to 1
        can be anything between softmax (alpha near 1) and sparsemax (alpha = 2)
        cannot give a gradient to keys whose weight is 0
        lesson 15: lookup among many more keys than in training; Peters et al. 2019;
        variants/entmax.py""",
    ),
    "sigmoid": Normalizer(
        lambda s, allowed, b: attention.definitions.sigmoid_weights(s, allowed, b),
        lambda s, allowed, b: attention.sigmoid_weights(s, allowed, b),
        parameters="b ()",
        costs=normalized(4),
        about="""normaliser: p = sigmoid(s + b), without a sum over the keys
        can count the keys that fit, or give little weight to all
        cannot keep its output in the range of the values as n grows
        lesson 15: how often a symbol occurs; Ramapuram et al. 2024;
        variants/sigmoid.py""",
    ),
    "stick-breaking": Normalizer(
        lambda s, allowed: attention.definitions.stick_breaking(s, allowed),
        lambda s, allowed: attention.stick_breaking(s, allowed),
        costs=normalized(8, averaging="L*S*Ev + 2*L*S"),
        about="""normaliser: p_j = sigmoid(s_j) prod over later keys l of (1 -
        sigmoid(s_l))
        can prefer the last fitting key, without positions
        cannot average fitting keys equally: near ones take most
        lesson 15: the last value of a name; Tan et al. 2024;
        variants/stick_breaking.py""",
    ),
}


def _with_sink(q, k, v, sink):
    return attention.scaled_dot_product_attention(q, k, v, path="tiled", normalize=sink)


def _chosen(normalize, q, k, v, G, **options):
    """Return the context of a normaliser with the noise G."""
    return attention.attend(
        q, k, v, normalize=lambda s, allowed: normalize(s, allowed, noise=G, **options)
    )[0]


def _chosen_definition(normalize, q, k, v, G, **options):
    s = attention.definitions.scaled_dot(q, k)
    return normalize(s, G, **options) @ v


CHOICES = {
    "hard": Variant(
        lambda *arrays: _chosen_definition(attention.definitions.hard_weights, *arrays),
        lambda *arrays: _chosen(attention.hard_weights, *arrays),
        inputs="q (L, E), k (S, E), v (S, Ev), G (L, S)",
        costs=normalized(5, booleans=1, exponentials="0"),
        about="""normaliser: one key, drawn from softmax(s), has the weight 1
        can return one value unmixed; learn by REINFORCE
        cannot pass a gradient to the scores by itself
        lesson 15: choosing one of 8 keys by its label; Xu et al. 2015;
        variants/hard.py""",
    ),
    "gumbel": Variant(
        lambda *arrays, tau=0.5: _chosen_definition(
            attention.definitions.gumbel_softmax, *arrays, tau=tau
        ),
        lambda *arrays, tau: _chosen(attention.gumbel_softmax, *arrays, tau=tau),
        inputs="q (L, E), k (S, E), v (S, Ev), G (L, S)",
        options=dict(tau=0.5),
        small=dict(tau=0.5),
        costs=normalized(5, booleans=1),
        about="""normaliser: p = softmax((s + G) / tau) with noise G: a draw for tau ->
        0
        can choose one key forwards, and learn by the smooth form's gradient
        cannot have an unbiased gradient: it is that of the smooth form
        lesson 15: choosing one of 8 keys by its label; Jang et al. 2017;
        variants/hard.py""",
    ),
}
GATES = {
    "forgetting": Variant(
        lambda *arrays: attention.definitions.forgetting(*arrays),
        lambda *arrays: attention.forgetting_attention(*arrays, path="dense"),
        inputs="q (L, E), k (L, E), v (L, Ev), f (L)",
        costs=Formulas(  # held: the bias, and the pairs of its sums and of the mask
            scoring="L*E + L*L*E",
            averaging="L*L*Ev",
            exponentials="L*L + L",
            scores="L*L",
            held="w*4*L*L + 2*L*L",
        ),
        about="""score: + sum of ln sigmoid(f) over the tokens after j, up to i, f
        computed from the token
        can hide all tokens before a token, or none, by gates computed from the text
        cannot read again what a gate near 0 has hidden
        lesson 15: the mean since the last reset; Lin et al. 2025;
        variants/forgetting.py""",
    ),
    "output gate": Variant(
        lambda *arrays: attention.definitions.gated(*arrays),
        layer=lambda Dq, Dk, rng: attention.GatedAttention(Dq, Dq, rng=rng),
        parameters="W_g (Ev, E)",
        costs=normalized(
            2, projecting="L*E*Ev", averaging="L*S*Ev + L*Ev", exponentials="L*S + L*Ev"
        ),
        about="""average: context = sigmoid(W_g q) times weights @ values, entry by
        entry
        can return nothing, whatever the weights are
        cannot depend on whether a key fits: the gate is computed from the query alone
        lesson 15: lookup where the key may be missing; Qiu et al. 2025;
        variants/output_gate.py""",
    ),
}
