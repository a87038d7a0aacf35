"""The rows of pointers, copying and alignment: lesson 16."""

import attention

from .rows import Formulas, Variant


def _copied(a, E):
    """Return source words, one of each weight: half of the E words, then new ones."""
    import numpy as np

    return np.arange(a.shape[-1]) + E // 2


def _probabilities(z, a, r):
    """Return P (L, W) of the definition, for logits z and the scores a."""
    import numpy as np

    definitions, source = attention.definitions, _copied(a, z.shape[1])
    words = max(z.shape[1], source[-1] + 1)
    return np.stack([
        definitions.copy_probabilities(z_t, definitions.softmax(a_t), r_t, source, words)
        for z_t, a_t, r_t in zip(z, a, r)
    ])  # fmt: skip


def _copy(z, a, r):
    from minigrad import softmax

    source = _copied(a, z.shape[1])
    words = max(z.shape[1], source[-1] + 1)
    return attention.copy_probabilities(z, softmax(a), r, source, words)


POINTERS = {
    # the scores, and no values: the weights are the answer
    "pointer": Variant(
        lambda *arrays: attention.definitions.pointer(*arrays),
        layer=lambda Dq, Dk, rng: attention.Pointer(Dq, Dk, Dq, rng=rng),
        inputs="q (L, E), k (S, Dk)",
        parameters="W_q (A, E), W_k (A, Dk), w_v (A)",
        costs=Formulas(
            projecting="A*(L*E + S*Dk)",
            scoring="L*S*A",
            averaging="0",
            exponentials="L*S*A",
        ),
        about="""template: the weights over the elements are the output; there are no
        values
        can answer with a place of an input longer than those of the training
        cannot write what the input does not contain
        lesson 16: sorting numbers; Vinyals, Fortunato and Jaitly 2015;
        variants/pointer.py""",
    ),
    # E words of a vocabulary, and S scores of source words for each of L outputs
    "copy": Variant(
        _probabilities,
        _copy,
        inputs="z (L, E), a (L, S), r (L)",
        costs=Formulas(scoring="0", averaging="L*S + L*E", exponentials="L*S + L*E"),
        about="""average: P(w) = g softmax(z)_w + (1 - g) times the sum of the weights
        of the places with the word w
        can write words of the source that the vocabulary lacks
        cannot write a word that neither the vocabulary nor the source has
        lesson 16: sentences with unseen names; See, Liu and Manning 2017;
        variants/pointer_generator.py""",
    ),
    # N filters of width M over the last weights and their sum, from the second query on
    "location": Variant(
        lambda *arrays, **unused: attention.definitions.location(*arrays),
        layer=lambda Dq, Dk, rng, N, M: attention.LocationAttention(
            Dq, Dk, Dq, filters=N, width=M, rng=rng
        ),
        parameters="W_q (A, E), W_k (A, Dk), w_v (A), F (N, 2, M), U (A, N)",
        costs=Formulas(
            projecting="A*(L*E + S*Dk)",
            scoring="L*S*A + (L - 1)*S*N*(2*M + A)",
            exponentials="L*S*A + L*S",
        ),
        options=dict(N=8, M=5),
        small=dict(N=2, M=3),
        about="""score: U f_j is added in the tanh of additive, f_j filters of past
        weights
        can move on by one key from the last step, even among equal keys
        cannot compute all queries at once: each needs the weights of those before
        lesson 16: copying three letters; Chorowski et al. 2015;
        variants/location.py""",
    ),
    "monotonic": Variant(
        lambda *arrays: attention.definitions.monotonic(*arrays),
        layer=lambda Dq, Dk, rng: attention.MonotonicAttention(Dq, Dk, Dq, noise=0.0),
        parameters="W_q (A, E), W_k (A, Dk), w_v (A), r ()",
        costs=Formulas(
            projecting="A*(L*E + S*Dk)",
            scoring="L*S*A + 2*L*S",
            exponentials="L*S*A + L*S",
            held="w*5*L*S",  # e, p, and the three arrays of the recurrence
        ),
        about="""normaliser: a_ij = P(step i stops at j), reading on from the last stop
        can read in linear time, before the whole source has arrived
        cannot go back; move on to an equal key if the query is the same
        lesson 16: runs of letters; Raffel et al. 2017; variants/monotonic.py""",
    ),
    "mocha": Variant(
        lambda *arrays, W: attention.definitions.mocha(*arrays, W),
        layer=lambda Dq, Dk, rng, W: attention.MoChA(Dq, Dk, Dq, W, noise=0.0),
        parameters=(
            "W_q (A, E), W_k (A, Dk), w_v (A), r (), V_q (A, E), V_k (A, Dk), w_u (A)"
        ),
        costs=Formulas(
            projecting="2*A*(L*E + S*Dk)",
            scoring="2*L*S*A + 2*L*S",
            averaging="L*S*Ev + L*(S*W - W*(W - 1)//2)",
            exponentials="2*L*S*A + L*S + L*(S*W - W*(W - 1)//2)",
        ),
        options=dict(W=4),
        small=dict(W=3),
        letters=lambda L, S, T, W: {"W": min(W, S)},
        about="""normaliser: a softmax over the W keys that end at each monotonic stop
        can average a few keys, and still read in one direction
        cannot go back further than W keys
        lesson 16: runs of letters; Chiu and Raffel 2018; variants/monotonic.py""",
    ),
}
