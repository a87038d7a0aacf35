"""Claims of chapter 6, "The Attention Revolution", each with its measurement."""

import functools
from dataclasses import replace
from importlib import import_module

import numpy as np

import minigrad as mg
from attention import (
    AdditiveAttention,
    BahdanauStep,
    LocalAttention,
    attend,
    dot,
    general,
)
from attention.app.experiments import fair
from attention.app.experiments.scoring import reference_weights
from attention.app.experiments.verdict import above, below, between, share
from attention.app.pretrained import EN_FR
from attention.costs import cost_of
from attention.seq2seq.translator import load
from attention.tasks.batching import in_order
from attention.tasks.grammar import splits
from attention.tasks.vocabulary import UNK
from lessons.classroom.records import record
from minigrad import nn

from .claims import (
    YES,
    claim,
    computed,
    drawn,
    fact,
    measured_words,
    printed,
    seeds,
    timed,
)

twins = import_module("lessons.book.10_heads.twins")


# the worked example of 6.2.5
Wh_h = np.array([[0.4, 0.2, -0.3, 0.6], [-0.2, 0.5, 0.3, -0.1],
                 [0.7, -0.3, 0.4, 0.2], [0.1, 0.4, -0.2, 0.5]])  # fmt: skip
Ws_s, v = np.array([0.3, -0.1, 0.5, 0.2]), np.array([0.3, 0.5, -0.2, 0.4])
SCORES = np.tanh(Ws_s + Wh_h) @ v  # (4,), the worked example
WEIGHTS = mg.softmax(SCORES).data


def entropy(p):
    return -(p * np.log(np.maximum(p, 1e-300))).sum(-1)


# 6.1, the bottleneck


@claim(
    "6",
    "a GRU has solved the vanishing gradient: 40 steps back at least a tenth "
    "of it is left, before training",
    above(0.1),
    "02",
    "solved the vanishing",
)
def gradient_far_back():
    left = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        gru = nn.GRU(8, 32, rng=rng)
        x = mg.Tensor(rng.normal(size=(1, 41, 8)), requires_grad=True)
        (gru(x)[0][:, -1] * rng.normal(size=32)).sum().backward()
        size = np.linalg.norm(x.grad[0], axis=-1)
        left.append(size[0] / size[-1])
    return drawn(left)


A_WORD = np.log2(30_000)  # bits of one of 30,000 equally likely words


@claim(
    "6.1.1",
    "50 words are more than 256 numbers can hold (bits of the words, "
    "over bits of the numbers: above 1)",
    above(1),
    "02",
    "must overflow",
)
def bits_of_fifty_words():
    return computed(50 * A_WORD / (256 * 32))


@claim("6.1.1", "for every width there is a length that is too long", YES, "02")
def length_that_fills_a_vector():
    return fact(True, f"256 numbers are full at {256 * 32 / A_WORD:,.0f} words")


@claim(
    "6.1.1",
    "a long sentence asks the model for the impossible (bits of 12 letters, "
    "over bits of 128 numbers: above 1)",
    above(1),
    "02",
    "asked to do the",
)
def bits_of_twelve_letters():
    return computed(12 * np.log2(26) / (128 * 32))


def letters(attention, hidden):
    """Return the lengths, and the share of right letters (seeds, lengths)."""
    kept = record("bottleneck")
    for run in kept["runs"]:
        if (run["attention"], run["hidden"]) == (attention, hidden):
            return kept["lengths"], np.array(run["letters"])
    raise KeyError((attention, hidden))


def loss_with_length(attention, hidden):
    lengths, shares = letters(attention, hidden)
    longest = lengths.index(record("bottleneck")["longest"])
    return shares[:, lengths.index(4)] - shares[:, longest]


def after_steps(values):
    """Return the mean over seeds, of models whose training had a fixed length."""
    return replace(seeds(values), steps=record("bottleneck")["steps"])


@claim(
    "6.1.2",
    "without attention, quality falls with length (fall in right letters, "
    "32 numbers, from length 4 to the longest of training)",
    above(0),
    "02",
    "quality falls",
)
def fall_without_attention():
    return after_steps(loss_with_length("none", 32))


@claim(
    "6.1.1",
    "a wider vector is no complete solution (fall in right letters, 128 numbers, "
    "from length 4 to the longest of training)",
    above(0),
    "02",
    "no complete solution",
)
def fall_with_a_wide_vector():
    return after_steps(loss_with_length("none", 128))


@claim(
    "6.1.3",
    "looking back removes the bottleneck: attention with 32 numbers beats "
    "128 numbers without it, at the longest length of training (difference)",
    above(0),
    "02",
    "looking back removes",
)
def gain_of_looking_back():
    at = record("bottleneck")["lengths"].index(record("bottleneck")["longest"])
    gain = letters("bahdanau", 32)[1][:, at] - letters("none", 128)[1][:, at]
    return after_steps(gain)


# 6.2, additive attention


@claim(
    "6.2.2",
    "the weights can become arbitrarily peaked (most that one of 4 words "
    "can get, with v as in the example: above 0.999)",
    above(0.999),
    "03",
    "arbitrarily peaked",
)
def most_weight():
    return computed(1 / (1 + 3 * np.exp(-2 * np.abs(v).sum())))


@claim(
    "6.2.2",
    "scores divided by the sum of their absolute values sum to 1: [1, -2, 0.5]",
    printed("1"),
    "03",
    "sum of absolute values",
)
def sum_of_divided_scores():
    return computed(np.array([1.0, -2.0, 0.5]).sum() / 3.5)


@claim("6.2.2", "equal scores give equal weights, 1/T (T = 4)", printed("0.25"), "03")
def weight_of_equal_scores():
    return computed(mg.softmax(np.ones(4)).data[0])


@functools.cache
def translator_and_pairs():
    translator = load(EN_FR)
    for parameter in translator.model.parameters():
        parameter.data = parameter.data.astype(np.float64)  # from 16 bits
    pairs = splits("english-french", 4000, 100, 200).test
    return translator, pairs, reference_weights(translator, pairs)


@claim(
    "6.2.1",
    "writing an adjective, a model gives its noun a moderate score, too "
    "(weight on the noun: above 0.1)",
    above(0.1),
    "13",
    "moderate score",
)
def weight_on_the_noun():
    _, pairs, weights = translator_and_pairs()
    found = []  # "chat noir", "black cat": noir at t + 1 and cat at s + 1
    for pair, w in zip(pairs, weights):
        links = set(pair.alignment)
        swaps = [(t, s) for t, s in links if {(t + 1, s - 1), (t, s)} <= links]
        found += [w[t + 1, s] for t, s in swaps]
    return measured_words(found)


def log_probabilities(translator, sources, pair):
    """Of each target word, for variants of one source: (variants, T)."""
    ids = [(s, translator.target.encode(pair.target)) for s in sources]
    batch = next(iter(in_order(ids, 100)))
    with mg.no_grad():
        logits = translator.model(batch.source, batch.target_in, batch.lengths)
    p = mg.log_softmax(logits).numpy()  # (variants, T + 1, words)
    return np.take_along_axis(p, batch.target_out[..., None], -1)[:, :-1, 0]


@claim(
    "6.2.2",
    "the word of largest weight is the most relevant one (share of target "
    "words for which removing it costs most: nearly all, 0.95)",
    above(0.95),
    "13",
)
def most_relevant_word():
    translator, pairs, weights = translator_and_pairs()
    right, words = 0, 0
    for pair, w in zip(pairs[:60], weights):
        ids = translator.source.encode(pair.source)
        without = [[*ids[:s], UNK, *ids[s + 1 :]] for s in range(len(ids))]
        p = log_probabilities(translator, [ids, *without], pair)  # (S + 1, T)
        drop = p[0] - p[1:]  # (S, T): what each source word was worth
        counts = drop.max(0) > 0.5  # target words that depend on any
        right += (drop.argmax(0) == w.argmax(1))[counts].sum()
        words += counts.sum()
    return share(right, words, "words, 1 model")


@claim(
    "6.2.4",
    "in Bahdanau's model the context does not enter the next state",
    YES,
    "03",
    r"\tanh(W_c [c; s])",
)
def state_without_context():
    mg.manual_seed(0)
    step = BahdanauStep(2, 5, 3, AdditiveAttention(5, 3, 4))
    h = np.random.default_rng(0).normal(size=(1, 4, 3))
    x, s = np.ones((1, 2)), np.zeros((1, 5))
    states = [step(mg.Tensor(x), mg.Tensor(s), m, m)[0].data for m in (h, -h)]
    same = np.allclose(*states)
    return fact(same, "it is an input of the GRU: other words, another state")


PRINTED = {
    "score": ("0.458", "0.121", "0.512", "0.389"),
    "weight": ("0.270", "0.193", "0.285", "0.252"),
}
for name, values in (("score", SCORES), ("weight", WEIGHTS)):
    for j in range(4):
        said = PRINTED[name][j]
        register = claim(
            "6.2.5", f"the {name} of word {j + 1} is {said}", printed(said), "03",
            "Three of them are wrong" if name == "score" else "and the weights",
        )  # fmt: skip
        register(lambda x=values[j]: computed(x))


@claim("6.2.5", "word 3 has the highest score", YES, "03", "is the lowest of the four")
def highest_word():
    return fact(SCORES.argmax() == 2, f"word {SCORES.argmax() + 1}; word 3 is lowest")


@claim("6.2.5", "exp(0.512) is 1.668", printed("1.668"), "03")
def exponential():
    return computed(np.exp(0.512))


# 6.3, multiplicative attention


@claim(
    "6.3.1",
    "the dot product rewards similar directions: of 16 random keys, the one "
    "of highest score has the highest cosine (always, 1)",
    YES,
    "04",
    "rewards similar directions",
)
def best_direction():
    rng = np.random.default_rng(1)
    q, k = rng.normal(size=(2000, 8, 1)), rng.normal(size=(2000, 16, 8))
    e = (k @ q)[..., 0]  # (n, 16); the length of the query changes no order
    cosines = e / np.linalg.norm(k, axis=-1)
    same = (e.argmax(1) == cosines.argmax(1)).sum()
    return share(same, 2000, "draws", "drawn")


@claim("6.3.2", "with the identity as its matrix, general is dot", YES, "04")
def general_of_the_identity():
    q, k = np.random.default_rng(2).normal(size=(2, 3, 4))
    same = np.allclose(general(q, k, np.eye(4)).data, dot(q, k).data)
    return fact(same, "the same scores")


def overfit(run):
    """Return how much larger the loss of unseen sentences is than that of seen ones."""
    return run["loss"]["test"] - run["loss"]["train"]


for other in ("additive", "dot"):
    register = claim(
        "6.3.2",
        "general can overfit on a small corpus (500 pairs: loss of unseen minus seen "
        f"sentences, of general minus that of {other})",
        above(0),
        "13",
        "can overfit",
    )

    @register
    def overfit_of_general(other=other):
        pair = "bahdanau, general", f"bahdanau, {other}"
        return fair.difference(record("translation")["500"], *pair, overfit, 0.0)


@claim(
    "6.3.3",
    "the Gaussian of local-p makes the centre monotonic (share of steps in "
    "which the centre goes back, for random queries)",
    printed("0"),
    "08",
    "monotonic alignment patterns",
)
def steps_back():
    rng = np.random.default_rng(3)
    layer = LocalAttention(8, 8, D=3, kind="p", score="dot", rng=rng)
    hidden = np.tanh(rng.normal(size=(2000, 2, 8)) @ layer.W_p.data.T)
    centre = hidden @ layer.v_p.data  # grows with p_t; two queries in a row
    return share((centre[:, 1] < centre[:, 0]).sum(), 2000, "draws", "drawn")


@claim(
    "6.3.3",
    "local attention can match global attention (reversal of 20 letters, "
    "window of local-m with D = 3: share of wanted letters inside, 1)",
    printed("1"),
    "08",
    "can match global",
)
def letters_in_the_window():
    t = np.arange(20)
    return computed((np.abs((19 - t) - t) <= 3).mean())


def doubled(score, how):
    one, two = (cost_of(score, L=50, S=50, E=d, projected=how) for d in (64, 128))
    return (two.projecting + two.scoring) / (one.projecting + one.scoring)


for score, how, words in (
    ("dot", None, "dot"),
    ("additive", "pairs", "additive, keys projected for every pair"),
    ("additive", "once", "additive, keys projected once"),
):
    register = claim(
        "6.3.4",
        f"{words}: cost proportional to T d (factor when d doubles: 2.00)",
        printed("2.00"),
        "04",
        r"\Theta(T d)",
    )
    register(lambda score=score, how=how: computed(doubled(score, how)))


@claim(
    "6.3.4",
    "additive needs separate operations for each source position",
    YES,
    "04",
    "separate operations",
)
def one_by_one():
    same = np.allclose(SCORES, [np.tanh(Ws_s + row) @ v for row in Wh_h])
    return fact(not same, "one expression for all gives the same")


@claim(
    "6.3.4",
    "dot is faster than additive in a whole pass (times as long, 10 keys: above 1)",
    above(1),
    "04",
    "dramatically faster",
)
def time_with_ten_keys():
    return timed(
        [
            r["whole"]["additive"][0] / r["whole"]["dot"][0]
            for r in record("scores")["runs"]
        ]
    )


@claim(
    "6.3.4",
    "the reason is throughput (multiplications a second of dot, over those "
    "of additive, scores of 1000 keys: above 1)",
    above(1),
    "04",
    "throughput",
)
def throughput():
    kept, rates = record("scores"), []
    d, T = kept["d"], kept["T"][-1]
    work = {"additive": T * (d * d + d) + d * d, "dot": T * d}
    for run in kept["runs"]:
        dot, additive = (work[x] / run["scores"][x][-1] for x in ("dot", "additive"))
        rates.append(dot / additive)
    return timed(rates)


# 6.4, self-attention


@claim("6.4.1", 'from "it" to "animal" are 7 words', printed("7"), "09")
def words_between():
    said = "The animal did not cross the street because it was too tired".split()
    return computed(said.index("it") - said.index("animal"))


@claim(
    "6.4.1",
    "a single step has no intervening information loss (weight of one of "
    "100 words, before training: above 0.9)",
    above(0.9),
    "09",
    "information loss",
)
def weight_of_a_far_word():
    x = np.random.default_rng(4).normal(size=(200, 100, 16))
    W_q, W_k = np.random.default_rng(5).normal(size=(2, 16, 16)) / 4
    e = (x[:, -1:] @ W_q) @ (x @ W_k).swapaxes(1, 2) / 4
    return drawn(mg.softmax(e).data[:, 0, 0])


def own_weight(projected=False):
    rng = np.random.default_rng(6)
    q = k = rng.normal(size=(500, 8, 16))
    if projected:
        q, k = (q @ W for W in rng.normal(size=(2, 500, 16, 16)) / 4)
    e = q @ k.swapaxes(1, 2) / (4 if projected else 1)
    return np.einsum("nii->ni", mg.softmax(e).data).mean(1)  # (500,)


@claim(
    "6.4.2",
    "one vector for query, key and value does the same as three (weight of a word on "
    "itself, among 8 words: below 0.2)",
    below(0.2),
    "09",
    "intuition is",
)
def weight_on_itself():
    words = f"with projections {own_weight(projected=True).mean():.2f}"
    return drawn(own_weight(), words)


def work_of_self_attention(projections):
    """Return its multiplications, over those of a recurrence with two matrices."""
    matrix = 100 * 512**2  # the products of 100 words with one matrix
    work = cost_of("dot", L=100, S=100, E=512).multiplications + projections * matrix
    return work / (2 * matrix)


@claim(
    "6.4.3",
    "self-attention is more work than a recurrence (without projections, 100 words, "
    "d = 512: multiplications over those of the recurrence)",
    above(1),
    "09",
    "comes at a cost",
)
def work_of_a_sentence():
    return computed(work_of_self_attention(projections=0))


@claim(
    "6.4.3",
    "self-attention is more work than a recurrence (the same, with projections of "
    "queries, keys and values)",
    above(1),
    "09",
)
def work_with_projections():
    return computed(work_of_self_attention(projections=3))


@claim("6.4.4", "all positions are two products of matrices and a softmax", YES, "09")
def two_products():
    X = np.random.default_rng(7).normal(size=(8, 16))
    same = np.allclose(mg.softmax(X @ X.T).data @ X, attend(X, X, X, dot)[0].data)
    return fact(same, "equal to a query at a time")


for width in ("64", "512"):
    register = claim(
        "6.4.4",
        "its advantage over a recurrence grows with length (gain in time at 4096 "
        f"tokens over the gain at 1024, one thread, both compiled, width {width})",
        above(1),
        "12",
    )

    @register
    def growth_of_the_gain(width=width):
        growth = []
        for run in record("sweep")["runs"]:
            kept = run["compiled"]["recurrence"][width]
            gain = np.divide(kept["GRU"], kept["self-attention"])
            gain = dict(zip(kept["n"], gain))
            growth.append(gain[4096] / gain[1024])
        return timed(growth)


for name, without, words in (
    ("no positions", "positions", "positions"),
    ("4 blocks", "feed-forward", "the feed-forward network"),
    ("4 blocks", "residual", "the sum x + f(x)"),
    ("4 blocks", "norm", "the norm"),
):
    register = claim(
        "6.4.4",
        f"without {words} a Transformer does not train (right answers, 4 "
        "blocks: below 0.9)",
        below(0.9),
        "10",
        "does not train effectively",
    )

    @register
    def right_without(name=name, without=without):
        return fair.of_arm(record("transformer")[name], without)


@claim(
    "6.4.4",
    "the sum x + f(x) makes training faster (4 blocks: steps until 95 of 100 answers "
    "are right, without it over with it, above 1)",
    above(1),
    "10",
)
def time_without_the_sum():
    kept = record("transformer")["4 blocks"]

    def steps(run):
        return run["curve"].index(next(x for x in run["curve"] if x >= 0.95)) + 1

    return seeds(
        fair.figures(kept, "residual", steps) / fair.figures(kept, "nothing", steps)
    )


# 6.5, attention as a general mechanism


@claim(
    "6.5.2",
    "a lookup as precise as a hard one still passes gradients (slope "
    "of a weight of 0.999, by its own score: above 0.025, a tenth of the most)",
    above(0.025),
    "09",
    "flow freely",
)
def slope_of_a_hard_lookup():
    return computed(0.999 * (1 - 0.999))


@claim(
    "6.5.3",
    "alignments are found without supervision (500 pairs: error rate, "
    "minus that of the diagonal)",
    below(0),
    "13",
)
def alignment_error():
    kept = record("translation")["500"]
    return fair.of_arm(
        kept, "bahdanau, additive", lambda run: run["aer"] - run["aer_diagonal"]
    )


@claim(
    "6.5.4",
    "many heads are designed to become different",
    YES,
    "10",
    "specifically designed",
)
def heads_that_part():
    layer, rng = twins.begin(True, 0), np.random.default_rng(8)
    x, y = twins.draw(rng, 16)
    ((layer(x)[:, 2:, :12] - y) ** 2).mean().backward()
    g = layer.W_q.weight.grad
    same = np.allclose(g[:7], g[7:])
    return fact(not same, "equal heads get equal gradients and stay equal")


X8, ORDER = np.random.default_rng(9).normal(size=(8, 16)), np.arange(8)[::-1]


@claim(
    "6.5.5",
    "shuffling the words does not change the outputs",
    YES,
    "10",
    "do not change if",
)
def unchanged_outputs():
    Z, shuffled = (attend(x, x, x, dot)[0].data for x in (X8, X8[ORDER]))
    return fact(np.allclose(Z, shuffled), "they are shuffled in the same way")


@claim(
    "6.5.5",
    "self-attention is permutation-equivariant",
    YES,
    "10",
    "permutation-*equivariant*",
)
def shuffled_outputs():
    Z, shuffled = (attend(x, x, x, dot)[0].data for x in (X8, X8[ORDER]))
    return fact(np.allclose(Z[ORDER], shuffled), "shuffled words, shuffled outputs")


# The exercises


@claim("ex. 6.4", "the scores of 1000 tokens are 4 MB", printed("4"), "12")
def megabytes():
    return computed(cost_of("dense", L=1000).score_bytes / 1e6)


def ranks(x):
    return x.argsort(-1).argsort(-1).astype(float)


def rank_correlation(scale):
    """Of mutual weight and gain in cosine, over the 28 pairs of 8 vectors."""
    X = np.random.default_rng(10).normal(size=(500, 8, 16))
    p = mg.softmax(X @ X.swapaxes(1, 2) * scale).data
    i, j = np.triu_indices(8, 1)
    mutual = (p + p.swapaxes(1, 2))[:, i, j]  # (500, 28)
    gain = (cosines(p @ X) - cosines(X))[:, i, j]
    a, b = (ranks(x) - 13.5 for x in (mutual, gain))
    return (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))


def cosines(X):
    U = X / np.linalg.norm(X, axis=-1, keepdims=True)
    return U @ U.swapaxes(1, 2)


for scale, words in ((1, "1"), (1 / 4, "1/4"), (1 / 20, "1/20")):
    register = claim(
        "ex. 6.8",
        "vectors of high mutual weight become more similar (rank "
        f"correlation of weight and gain in cosine, scores times {words})",
        above(0),
        "09",
        "become more similar" if scale == 1 else "",
    )
    register(lambda scale=scale: drawn(rank_correlation(scale)))


def change_with_length(run):
    return run["bleu"]["11-15"] - run["bleu"]["5-7"]


for size, arm in (("500", "bahdanau, additive"), ("2000", "GRU")):
    register = claim(
        "ex. 6.9",
        f"with {size} pairs the advantage of attention grows with length "
        "(BLEU, from 5 to 7 words to 11 to 15)",
        above(0),
        "13",
        "advantage of attention" if size == "500" else "",
    )

    @register
    def growth_of_the_advantage(size=size, arm=arm):
        kept = record("translation")[size]
        return fair.difference(kept, arm, "none", change_with_length)


def reorderings(words):
    kinds = record("ex_6_7")["result"]["tier A"]["patterns"][words]
    return kinds["reordering"], sum(kinds.values())


@claim(
    "ex. 6.7",
    "the pattern changes with length (share of reorderings, 11 to 15 "
    "words minus 5 to 7)",
    above(0),
    "13",
)
def change_of_pattern():
    short, long = reorderings("5-7"), reorderings("11-15")
    p, q = short[0] / short[1], long[0] / long[1]
    half = 1.96 * (p * (1 - p) / short[1] + q * (1 - q) / long[1]) ** 0.5
    found = drawn([0.0, 0.0])
    rests_on = f"{short[1]} and {long[1]} sentences, one model"
    return type(found)(q - p, q - p - half, q - p + half, "drawn", rests_on)


@claim(
    "ex. 6.10",
    "at temperature 5 the weights are near the uniform limit (entropy "
    "over ln 8: 0.95 or more)",
    between(0.95, 1),
    "09",
    "show both limits",
)
def entropy_at_five():
    X = np.random.default_rng(11).normal(size=(500, 8, 16))
    p = mg.softmax(X @ X.swapaxes(1, 2) / 5).data
    return drawn(entropy(p).mean(-1) / np.log(8))
