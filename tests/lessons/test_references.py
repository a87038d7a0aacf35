"""The reference answers are right: they agree with the definitions of the library.

Of an answer that returns (output, backward) only the output is compared: the audit of
the exercise proves the gradients by differences.
"""

import types
from fractions import Fraction

import numpy as np
import pytest

import minigrad as mg
from attention import definitions, masked_softmax
from attention.app.pretrained import EN_FR
from attention.costs.counted import OpCounter
from attention.decoding.drafts import verify
from attention.decoding.sampling import draw as draw_token
from attention.decoding.sampling import filtered_probabilities
from attention.metrics import alignment
from attention.metrics.alignment import attention_entropy
from attention.metrics.bleu import corpus_bleu
from attention.published import bpe
from attention.variants import hard
from lessons.classroom import records
from lessons.classroom.catalogue import find
from lessons.classroom.theory import rationals, two_point_mean
from lessons.course import check
from lessons.course.comparisons import draw
from lessons.instrument import fair, patterns, verdict
from minigrad import safetensors


attention = definitions.scaled_dot_attention
dot, general, softmax = definitions.dot, definitions.general, definitions.softmax


def gru(xs, *rest):
    """Run the engine's GRU, which has the batch first."""
    states, _ = mg.gru(*map(mg.Tensor, (xs.swapaxes(0, 1), *rest)))
    return states.numpy().swapaxes(0, 1)


def delta_rule(q, k, v, b):
    return definitions.delta_rule(q, k, v, b[:, None])


PLAIN = [  # exercise, its answer, the library's, and the shapes of random arrays
    ("6.1", lambda my, e: my.weights(e), softmax, (7,)),
    ("6.2", lambda my, s, h: [[my.dot(s[0], k) for k in h]], dot, (1, 3), (5, 3)),
    ("6.2", lambda my, s, h: general(s, h, my.W_for_dot(3)), dot, (1, 3), (5, 3)),
    ("6.2", lambda my, s, h, R: general(s, h @ R.T, my.W_after_change(R)),
     lambda s, h, R: dot(s, h), (1, 3), (5, 3), (3, 3)),
    ("6.2", lambda my, R: my.recover_W(lambda s, h: s @ R @ h, 3, 3),
     lambda R: R, (3, 3)),
    ("6.4", lambda my, *qkv: my.attention_in_blocks(*qkv, 2), attention,
     (7, 3), (7, 3), (7, 5)),
    ("6.4", lambda my: my.attn_bytes(7, 3, 2, "float32"),
     lambda: 2 * np.ones((7, 7), "f4").nbytes),
    ("6.6", lambda my, s, H: my.luong_forward(s, H, np.ones(7, bool)),
     lambda s, H: softmax(dot(s[None], H))[0] @ H, (5,), (7, 5)),
    ("6.6", lambda my, T: my.exponent(abs(T), 3 * abs(T) ** 1.5), lambda T: 1.5, (5,)),
    ("6.8", lambda my, x: my.self_attention(x, 5**-0.5)[1],
     lambda x: attention(x, x, x), (7, 5)),
    ("6.10", lambda my, e: my.softmax_t(e, 0.1), lambda e: softmax(e / 0.1), (5, 7)),
    ("E.1", lambda my, a, b: my.multiply(a, b), np.multiply, (3, 1, 7), (5, 1)),
    ("E.2", lambda my, x: my.tanh(x), np.tanh, (3, 5)),
    ("E.2", lambda my, x, w: my.matmul(x, w), np.matmul, (3, 5), (5, 7)),
    ("E.2", lambda my, x: my.softmax(x), softmax, (3, 5)),
    ("E.2", lambda my, x: my.log_softmax(x), lambda x: np.log(softmax(x)), (3, 5)),
    ("E.6", lambda my, *arrays: my.gru(*arrays), gru,
     (3, 2, 7), (2, 5), (15, 7), (15, 5), (15,), (15,)),
    ("E.10", lambda my, *arrays: my.multihead(*arrays, 3),
     lambda X, Y, *W: definitions.multi_head(X, Y, Y, *W, [attention] * 3),
     (5, 6), (7, 6), (6, 6), (6, 6), (6, 6), (6, 6)),
    ("E.13", lambda my, q, k, v: my.linear_attention(abs(q), abs(k), v),
     lambda *qkv: definitions.causal_linear(*qkv, phi=abs, eps=0),
     (5, 3), (5, 3), (5, 7)),
    ("E.17", lambda my, s: my.sparsemax(s), definitions.sparsemax, (5, 7)),
    ("E.21", lambda my, *arrays: my.delta_rule(*arrays), delta_rule,
     (5, 3), (5, 3), (5, 7), (5,)),
    ("E.22", lambda my, *arrays: my.chunked(*arrays, 2, np.zeros((3, 7))), delta_rule,
     (5, 3), (5, 3), (5, 7), (5,)),
]  # fmt: skip
CASES = {}  # generators of pairs: what an answer returns, and the library


def functions(id):
    """Return the functions of a reference answer."""
    source = find(id).parts
    return types.SimpleNamespace(**check.run(source.answer, source.path))


def case(id):
    """Let a generator of (my, rng) be the case of an exercise."""
    return lambda generator: CASES.setdefault(id, generator)


def against(theirs, ours, rng, *inputs):
    """Yield the pairs of an operation (arrays -> y, backward) and the engine's."""
    y, backward = ours(*inputs)
    tensors = [mg.Tensor(x, requires_grad=True) for x in inputs]
    out = theirs(*tensors)
    yield y, out.data
    g = rng.normal(size=y.shape)
    out.backward(g)
    yield from zip(backward(g), [t.grad for t in tensors], strict=True)


@case("38.1")
def projected(my, rng):
    """The general score, and the multiplications, counted while they run."""
    s, H, W = rng.normal(size=(5, 3)), rng.normal(size=(2, 7)), rng.normal(size=(3, 7))
    scores = s @ my.project_keys(H, W).T
    yield scores, general(s, H, W)
    for precomputed in (True, False):
        ops = OpCounter()
        s, H, W = (ops.array(x) for x in (s, H, W))
        keys = [W @ h for h in H] if precomputed else H
        [q @ (h if precomputed else W @ h) for q in s for h in keys]
        yield my.mults(1, 5, 2, 3, 7, precomputed), ops.multiplications


@case("38.2")
def variance(my, rng):
    """Entries mean +- deviation, all cases, in exact fractions."""

    def of(f, x):
        return two_point_mean(lambda y: f(y) ** 2, *x) - two_point_mean(f, *x) ** 2

    for d in (1, 2):
        mu_s, mu_h, *sds = rationals(rng, 4)
        sd_s, sd_h = (abs(sd) + Fraction(1, 3) for sd in sds)
        args, queries, keys = (mu_s, mu_h, sd_s**2, sd_h**2), *(
            ([mu] * d, [sd] * d) for mu, sd in ((mu_s, sd_s), (mu_h, sd_h))
        )

        def between(s):
            return of(lambda h: sum(x * y for x, y in zip(s, h)), keys)

        def score(x):
            return sum(x[k] * x[d + k] for k in range(d))

        both = [a + b for a, b in zip(queries, keys)]
        found = my.var_dot(d, *args)
        assert found == of(score, both)
        assert my.var_between_keys(d, *args) == two_point_mean(between, *queries)
        yield float(my.centred_gain(*args) * d * sd_s**2 * sd_h**2), float(found)


@case("38.4")
def entropy(my, rng):
    """The mean over the rows that are not padding."""
    alpha, lengths = softmax(rng.normal(size=(3, 5, 7))), [5, 3, 1]
    rows = np.arange(5) < np.array(lengths)[:, None]
    found = my.attn_entropy(alpha, lengths)
    yield found, attention_entropy(alpha)[rows].mean()


@case("38.5")
def windows(my, rng):
    """Attention through a window."""
    Q, K, V = (rng.normal(size=n) for n in ((5, 3), (7, 3), (2, 7, 11)))
    allowed = my.local_mask(7, 5, 1, lambda t: 4 - t)
    ours = my.local_attention(*map(mg.Tensor, (Q, K, V)), allowed)
    for o, v in zip(ours.numpy(), V):
        yield o, attention(Q, K, v, allowed)


@case("6.1")
def uniform(my, rng):
    """A product, and the engine's gradients, which the answer returns by themselves."""

    def ours(alpha, H):
        return my.context(alpha, H), lambda g: my.context_backward(alpha, H, g)

    inputs = rng.normal(size=7), rng.normal(size=(7, 5))
    yield from against(lambda alpha, H: alpha @ H, ours, rng, *inputs)


@case("6.3")
def costs_of_scores(my, rng):
    """The multiplications of one step, counted while they run."""
    for T, d_s, d_h, d_a in ((5, 3, 7, 11), (7, 11, 3, 5), (1, 7, 3, 5)):
        for cached in (True, False):
            ops, n = OpCounter(), 0
            shapes = (d_s,), (T, d_h), (d_a, d_s), (d_a, d_h), (d_a,)
            s, H, W_s, W_h, v = (ops.array(np.ones(shape)) for shape in shapes)
            keys = [W_h @ h for h in H]
            n -= ops.multiplications if cached else 0
            query = W_s @ s
            for key in keys:
                v @ np.tanh(query + key)
            n += ops.multiplications
            yield my.mults_additive(T, d_s, d_h, d_a, cached), n


@case("6.5")
def bahdanau(my, rng):
    """The weights of the definitions, and the engine's gradients of the inputs."""
    s, H, v = rng.normal(size=3), rng.normal(size=(7, 5)), rng.normal(size=11)
    W_s, W_h = rng.normal(size=(11, 3)), rng.normal(size=(11, 5))
    mask, inputs = np.arange(7) % 5 > 0, (s, H, W_s, W_h, v)
    _, alpha = my.bahdanau_forward(*inputs, mask)
    e = definitions.additive(s[None], H, W_s, W_h, v)
    yield alpha, softmax(e, mask)[0]

    def engine(s, H, W_s, W_h, v):
        e = mg.tanh(H @ W_h.T + W_s @ s) @ v
        return masked_softmax(e, mask=mask) @ H

    def ours(*inputs):
        def backward(g):
            found = my.bahdanau_backward(*inputs, mask, g)
            return tuple(found[name] for name in ("s", "H", "W_s", "W_h", "v"))

        return my.bahdanau_forward(*inputs, mask)[0], backward

    yield from against(engine, ours, rng, *inputs)


@case("6.7")
def translated(my, rng):
    """Links, their error rate, the name of a pattern, and a file of weights."""
    gold = {(0, 0), (1, 2), (3, 1), (4, 4), (4, 5)}
    for _ in range(20):
        w = rng.dirichlet(np.full(7, 0.2), 5)
        links = my.links(w)
        assert links == alignment.links(w)
        rate = my.alignment_error_rate(links, gold)
        yield rate, alignment.alignment_error_rate(w, gold)
        assert my.pattern(w) == patterns.alignment_pattern(w)
    with open(EN_FR, "rb") as file:
        theirs, _ = safetensors.read(file, EN_FR.stat().st_size)
    ours = my.read_safetensors(EN_FR)
    assert ours.keys() == theirs.keys()
    yield from ((ours[name], theirs[name]) for name in ours)


@case("6.9")
def advantage(my, rng):
    """BLEU of a corpus; a step, with the score of 6.5 and the engine's GRU."""
    refs, hyps = ([list("abcde"[i] for i in rng.integers(0, 5, n)) for n in sizes]
                  for sizes in ((9, 12, 8), (8, 11, 10)))  # fmt: skip
    for order in (1, 2, 4):
        found = 100 * my.bleu(refs, hyps, order)
        yield found, corpus_bleu(hyps, refs, max_order=order, smoothing="none")
    p, y, s, H, mask = draw(rng, True)
    logits, state = my.decode_step(p, y, s, H, mask)
    q = {name: x.numpy() for name, x in p.items()}
    for b, (h, allowed) in enumerate(zip(H.numpy(), mask)):
        e = definitions.additive(s.numpy()[b : b + 1], h, q["W_s"], q["W_h"], q["v"])
        c = definitions.attend(e, h, allowed[None])
        x = np.concatenate([q["E"][y[b : b + 1]], c], 1)
        cell = [mg.Tensor(a) for a in (x, s.numpy()[b : b + 1])]
        cell += [p[name] for name in ("W_ih", "W_hh", "b_ih", "b_hh")]
        new = mg.gru_cell(*cell).numpy()
        yield state.numpy()[b], new[0]
        yield logits.numpy()[b], q["W_o"] @ np.concatenate([new, c], 1)[0] + q["b_o"]


@case("E.3")
def graph(my, rng):
    """The engine's gradients of y = b x with b = a + 2 x."""
    a, x = (mg.Tensor(n, requires_grad=True) for n in rng.normal(size=2))
    b = a + 2 * x
    y = b * x
    y.backward()
    pairs = {"y": [("b", x.item()), ("x", b.item())], "b": [("a", 1.0), ("x", 2.0)]}
    found = my.backward(pairs | {"a": [], "x": []}, "y")
    yield from ((found[name], each.grad) for name, each in (("a", a), ("x", x)))


@case("E.7")
def masked(my, rng):
    """Weights and lse over the allowed keys."""
    x, mask = rng.normal(size=(3, 5)), rng.random((3, 5)) < 0.6
    mask[1] = False
    yield my.masked_softmax(x, mask)[0], softmax(x, mask)
    lse = [np.log(np.exp(x[k, mask[k]]).sum()) for k in (0, 2)]
    yield my.masked_lse(x[::2], mask[::2])[0], lse


@case("E.8")
def online(my, rng):
    """Attention in blocks, and of two sets of keys."""
    s, V = rng.normal(size=(3, 7)), rng.normal(size=(7, 5))
    of_all = my.online_attention(s, V, 3)
    yield from zip(of_all, (softmax(s) @ V, np.log(np.exp(s).sum(1))))
    parts = [my.online_attention(s[:, k], V[k], 2) for k in (slice(4), slice(4, 7))]
    yield from zip(my.merge(*parts[0], *parts[1]), of_all)


@case("E.9")
def local_p(my, rng):
    """The contexts, with a softmax over the keys of each window."""
    q, k, v = (rng.normal(size=size) for size in ((3, 7), (17, 7), (17, 2)))
    W, w, D = rng.normal(size=(11, 7)), rng.normal(size=11), 3
    p, _ = my.centre(q, W, w, 17)
    for t, contexts in enumerate(definitions.local_p(q, k, v, W, w, D)):
        near = np.flatnonzero(np.abs(np.arange(17) - p[t]) <= D)
        e = np.exp(k[near] @ q[t])
        window = (e / e.sum())[None], near[None], p[t : t + 1]
        a, _ = my.gaussian(*window, D)
        yield (a @ v[near])[0], contexts


@case("E.11")
def rope(my, rng):
    """The library rotates half-split pairs."""
    x, p = rng.normal(size=(5, 14)), np.array([0, 1, 2, 7, 100])
    order = my.to_half_split(14)
    y, _ = my.rope(x, p, 50.0)
    frequencies = definitions.frequencies(14, 50.0)
    yield y[:, order], definitions.rope(x[:, order], p, frequencies)


@case("E.12")
def buckets(my, rng):
    """One distance after the other."""
    bucket, distances = my.bucket, range(-140, 141)
    for sizes in ((True, 32, 128), (False, 9, 128), (False, 19, 16)):
        found = [definitions.t5_bucket(d, *sizes) for d in distances]
        yield bucket(distances, *sizes), found


@case("E.14")
def tiled(my, rng):
    """The engine's gradients of attention, with a mask and without one."""
    q, k, v = (rng.normal(size=(n, 5)) for n in (7, 11, 11))
    for causal in (False, True):
        mask = np.tri(7, 11, dtype=bool) | (not causal)

        def engine(q, k, v):
            return masked_softmax(0.7 * (q @ k.T), mask=mask) @ v

        def ours(q, k, v):
            e = np.where(mask, np.exp(0.7 * q @ k.T), 0.0)
            o, lse = e @ v / e.sum(1, keepdims=True), np.log(e.sum(1))
            return o, lambda g: my.backward(q, k, v, o, lse, g, 0.7, 3, causal)

        yield from against(engine, ours, rng, q, k, v)


@case("E.16")
def comparison(my, rng):
    """The record of lesson 14; Student's factors have two decimals there."""
    kept = records.record("lookup")["lookup"]
    mean, low, high = my.difference(kept, "dot", "additive")
    figures = (fair.figures(kept, arm) for arm in ("dot", "additive"))
    ours = verdict.over_seeds(np.subtract(*figures))
    factor = my.STUDENT[5]
    yield factor, round(verdict.student(5), 2)
    half = (ours.high - ours.low) / 2 * factor / verdict.student(5)
    yield (mean, low, high), (ours.value, ours.value - half, ours.value + half)


@case("E.17")
def sparsemax(my, rng):
    """The Jacobian, by the backward of each weight."""
    p, backward = my.sparsemax(rng.normal(size=(1, 7)))
    yield my.jacobian(p[0]), np.concatenate([backward(g[None]) for g in np.eye(7)])


@case("E.18")
def sink(my, rng):
    """The weights; their outputs, from those of a softmax over all or two parts."""
    s, b = rng.normal(size=(2, 5, 7)), rng.normal(size=2)
    v, parts = rng.normal(size=(2, 7, 3)), (slice(0, 4), slice(4, 7))
    p = definitions.sink_softmax(s, b=b[:, None, None])
    yield my.sink_softmax(s, b)[0], p

    def without(keys):
        e = np.exp(s[..., keys])
        return e @ v[:, keys] / e.sum(-1, keepdims=True), np.log(e.sum(-1))

    yield my.with_sink(*without(slice(0, 7)), b)[0], p @ v
    o, lse = map(np.stack, zip(*map(without, parts)))
    yield my.merged(o, lse, b), p @ v


@case("E.19")
def reinforce(my, rng):
    """Each estimate, their mean and variance, and the baseline of the least."""
    e, l, b = rng.normal(size=5), rng.uniform(1, 4, 5), 1.7
    p = softmax(e[None])[0]
    x = np.array([definitions.reinforce(p, j, l[j], b) for j in range(5)])
    for j, row in enumerate(x):
        yield my.estimate(e, l[j], j, b), row
    exact = my.exact(e, l)
    yield exact, p @ x
    yield my.variance(e, l, b), p @ ((x - exact) ** 2).sum(1)
    best = hard.best_baseline(p[None], l[None])
    yield my.best_baseline(e, l), np.asarray(best.data)[0]


@case("E.20")
def pointer_generator(my, rng):
    """The probabilities, and the loss of the right words."""
    z, e, r = rng.normal(size=(4, 5)), rng.normal(size=(4, 7)), rng.normal(size=4)
    x, y = np.array([2, 7, 0, 2, 8, 7, 7]), np.array([2, 7, 4, 8])
    weights = softmax(e)
    P = [definitions.copy_probabilities(*row, x, 11) for row in zip(z, weights, r)]
    yield my.probabilities(z, e, r, x, 11), P
    yield my.copy_loss(z, e, r, x, y)[0], -np.log(np.array(P)[range(4), y])


@case("E.23")
def latent(my, rng):
    """Both forms with one head. The library rotates (x_m, x_(m + F/2))."""
    E, F, R, halves = 5, 4, 6, [0, 2, 1, 3]
    x, W_q, W_d, W_r = (rng.normal(size=(n, 11)) for n in (7, E + F, R, F))
    W_k, W_v = rng.normal(size=(E, R)), rng.normal(size=(3, R))
    q, u = np.split(x @ W_q.T, [E], axis=1)
    u = my.rope.raw(u, np.arange(7), interleaved=True)[0]
    cache = my.latent_rows(x, 0, W_d, W_r)
    W_q, W_r = W_q[[*range(E), *(E + m for m in halves)]], W_r[halves]
    matrices, causal = (W_q, W_d, W_r, np.ones(R), W_k, W_v, np.eye(3)), np.tri(7) > 0
    o = definitions.mla(x, *matrices, causal)
    for compute in (my.expanded, my.absorbed):
        yield compute(q[None], u[None], cache, W_k[None], W_v[None])[0], o


@case("E.24")
def graphs(my, rng):
    """The averages of GAT and of GATv2."""
    h, W_l, W_r = (rng.normal(size=(n, 7)) for n in (5, 3, 3))
    (a, a_2), edges = rng.normal(size=(2, 3)), np.eye(5) + np.tri(5, k=-2) > 0
    e = my.gat_scores(h, W_l, a, a_2)
    yield my.average(e, h @ W_l.T, edges), definitions.gat(h, W_l, a, a_2, edges)
    e, _ = my.gatv2_scores(h, W_l, W_r, a)
    yield my.average(e, h @ W_r.T, edges), definitions.gatv2(h, W_l, W_r, a, edges)


@case("E.25")
def byte_pairs(my, rng):
    """The merges of random words, and the tokens of others."""
    for _ in range(9):
        drawn = ["".join(rng.choice(list("abc"), n)) for n in rng.integers(1, 9, 9)]
        words = {word: int(rng.integers(1, 6)) for word in drawn}
        merges = my.learn(words, 9)
        ranks = {pair: rank for rank, pair in enumerate(merges)}
        yield merges == bpe.learned(words, 9), True
        yield [my.encode(w, merges) == bpe.merged(w, ranks) for w in drawn[::-1]], True


@case("E.27")
def sampling(my, rng):
    """Temperature, top-k and top-p."""
    z = 3 * rng.normal(size=11)
    p = my.probabilities(z, 0.7)
    yield p, filtered_probabilities(z[None], 0.7)[0]
    yield my.top_k(p, 4), filtered_probabilities(np.log(p)[None], top_k=4)[0]
    yield my.top_p(p, 0.8), filtered_probabilities(np.log(p)[None], top_p=0.8)[0]


@case("E.28")
def speculative(my, rng):
    """The tokens of the library's ``verify``, from the same random numbers."""
    for seed in range(20):
        p, q = (softmax(rng.normal(size=(n, 5))) for n in (4, 3))
        drafts = rng.integers(0, 5, 3)
        numbers = np.random.default_rng(seed)
        pick = lambda r: draw_token(r[None], numbers)[0]  # noqa: E731
        u = np.random.default_rng(seed).random(3)
        kept = my.verify(p, q, drafts, u, lambda r: None)
        numbers.random(min(len(kept), 3))  # one number for each draft that is read
        again = my.verify(p, q, drafts, u, pick)
        yield again, verify(p, q, drafts, np.random.default_rng(seed))


@pytest.mark.parametrize("row", PLAIN, ids=lambda row: row[0])
def test_a_reference_answer_equals_one_function(row):
    id, ours, theirs, *shapes = row
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=shape) for shape in shapes]
    found = ours(functions(id), *inputs)
    y = found[0] if isinstance(found, tuple) else found
    np.testing.assert_allclose(y, theirs(*inputs), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("id", CASES)
def test_a_reference_answer_equals_the_library(id):
    pairs = list(CASES[id](functions(id), np.random.default_rng(0)))
    assert pairs
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)
