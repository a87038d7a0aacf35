"""The reference answers are right: they agree with the definitions of the library.

Each case yields pairs of arrays: what the exercise's answer returns, and the library.
"""

from fractions import Fraction

import numpy as np
import pytest

import minigrad as mg
from attention import definitions, masked_softmax
from attention.app.experiments import fair, verdict
from attention.app.pretrained import EN_FR
from attention.costs.counted import OpCounter
from attention.metrics import alignment, patterns
from attention.metrics.alignment import attention_entropy
from attention.metrics.bleu import corpus_bleu
from attention.seq2seq import translator
from attention.tasks.grammar import splits
from attention.variants import hard
from attention.variants.pointer_generator import copy_loss
from lessons.classroom import records
from lessons.classroom.catalogue import find
from lessons.classroom.theory import rationals, two_point_mean
from lessons.course import check
from lessons.course.advantage import draw
from minigrad import safetensors


def reference(id, name):
    source = find(id).parts
    return check.run(source.answer, source.path)[name]


def against(theirs, ours, rng, *inputs):
    """Yield the pairs of an operation (arrays -> y, backward) and the engine's."""
    y, backward = ours(*inputs)
    tensors = [mg.Tensor(x, requires_grad=True) for x in inputs]
    out = theirs(*tensors)
    yield y, out.data
    g = rng.normal(size=y.shape)
    out.backward(g)
    found = backward(g)
    found = found if isinstance(found, tuple) else (found,)
    yield from ((a, t.grad) for a, t in zip(found, tensors, strict=True))


def projected(rng):
    """38.1: the general score, and the multiplications, counted while they run."""
    s, H, W = rng.normal(size=(5, 3)), rng.normal(size=(2, 7)), rng.normal(size=(3, 7))
    scores = s @ reference("38.1", "project_keys")(H, W).T
    yield scores, definitions.general(s, H, W)
    for precomputed in (True, False):
        ops = OpCounter()
        s, H, W = (ops.array(x) for x in (s, H, W))
        keys = [W @ h for h in H] if precomputed else H
        [q @ (h if precomputed else W @ h) for q in s for h in keys]
        yield reference("38.1", "mults")(1, 5, 2, 3, 7, precomputed), ops.multiplications


def variance(rng):
    """38.2: entries mean +- deviation, all cases, in exact fractions."""

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
        found = reference("38.2", "var_dot")(d, *args)
        assert found == of(score, both)
        assert reference("38.2", "var_between_keys")(d, *args) == two_point_mean(
            between, *queries
        )
        gain = reference("38.2", "centred_gain")(*args)
        yield float(gain * d * args[2] * args[3]), float(found)
    x = rng.normal(size=(3, 5))
    normed = mg.layer_norm(mg.tensor(x), mg.tensor(np.ones(5)), mg.tensor(np.zeros(5)))
    found = reference("38.2", "centre")(x)
    yield found / np.sqrt(x.var(1, keepdims=True) + 1e-5), normed.numpy()


def entropy(rng):
    """38.4: the mean over the rows that are not padding."""
    alpha, lengths = definitions.softmax(rng.normal(size=(3, 5, 7))), [5, 3, 1]
    rows = np.arange(5) < np.array(lengths)[:, None]
    found = reference("38.4", "attn_entropy")(alpha, lengths)
    yield found, attention_entropy(alpha)[rows].mean()


def uniform(rng):
    """6.1: the softmax, and the gradients of a product by the engine."""
    e, H, g = rng.normal(size=7), rng.normal(size=(7, 5)), rng.normal(size=5)
    alpha = reference("6.1", "weights")(e)
    yield alpha, definitions.softmax(e)
    tensors = mg.tensor(alpha, requires_grad=True), mg.tensor(H, requires_grad=True)
    c = tensors[0] @ tensors[1]
    c.backward(g)
    yield reference("6.1", "context")(alpha, H), c.numpy()
    gradients = reference("6.1", "context_backward")(alpha, H, g)
    yield from zip(gradients, [x.grad for x in tensors])


def bilinear(rng):
    """6.2: the general score with each W_a."""
    s, h, R = rng.normal(size=(1, 3)), rng.normal(size=(5, 3)), rng.normal(size=(3, 3))
    scores = definitions.dot(s, h)
    yield [[reference("6.2", "dot")(s[0], k) for k in h]], scores
    yield definitions.general(s, h, reference("6.2", "W_for_dot")(3)), scores
    yield definitions.general(s, h @ R.T, reference("6.2", "W_after_change")(R)), scores
    found = reference("6.2", "recover_W")(lambda s, h: s @ R @ h, 3, 3)
    yield definitions.general(s, h, found), definitions.general(s, h, R)


def costs_of_scores(rng):
    """6.3: the multiplications of one step, counted while they run."""
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
            yield reference("6.3", "mults_additive")(T, d_s, d_h, d_a, cached), (
                n + ops.multiplications
            )


def in_blocks(rng):
    """6.4: attention with the whole matrix of scores."""
    Q, K, V = (rng.normal(size=(7, d)) for d in (3, 3, 5))
    found = reference("6.4", "attention_in_blocks")(Q, K, V, 2)
    yield found, definitions.scaled_dot_attention(Q, K, V)
    yield reference("6.4", "attn_bytes")(7, 3, 2, "float32"), 2 * np.ones((7, 7), "f4").nbytes


def local_p(rng):
    """E.9: the contexts, with a softmax over the keys of each window."""
    q, k, v = rng.normal(size=(3, 7)), rng.normal(size=(17, 7)), rng.normal(size=(17, 2))
    W, w, D = rng.normal(size=(11, 7)), rng.normal(size=11), 3
    p, _ = reference("E.9", "centre")(q, W, w, 17)
    for t, contexts in enumerate(definitions.local_p(q, k, v, W, w, D)):
        near = np.flatnonzero(np.abs(np.arange(17) - p[t]) <= D)
        e = np.exp(k[near] @ q[t])
        window = (e / e.sum())[None], near[None], p[t : t + 1]
        a, _ = reference("E.9", "gaussian")(*window, D)
        yield (a @ v[near])[0], contexts


def assembled(rng):
    """E.15: the words of the package's translator, which reads the same file."""
    model, p = translator.load(EN_FR), reference("E.15", "parameters")()
    for pair in splits("english-french", train=1, validation=1, test=3).test:
        ids = np.array(model.source.encode(pair.source))
        yield reference("E.15", "translate")(p, ids)[0], model.decode([ids])[0][0]


def comparison(rng):
    """E.16: the record of lesson 14; Student's factors have two decimals there."""
    kept = records.record("lookup")["lookup"]
    mean, low, high = reference("E.16", "difference")(kept, "dot", "additive")
    ours = fair.difference(kept, "dot", "additive")
    factor = reference("E.16", "STUDENT")[5]
    yield factor, round(verdict.student(5), 2)
    half = (ours.high - ours.low) / 2 * factor / verdict.student(5)
    yield (mean, low, high), (ours.value, ours.value - half, ours.value + half)
    curves = [run["curve"] for run in kept["runs"]]
    curves += [rng.normal(np.sqrt(np.arange(n)), 1.0) for n in (20, 24, 31, 90)]
    for curve in curves:
        yield reference("E.16", "_is_plateau")(curve, 0.01), fair.is_plateau(curve, 0.01)


def tiled(rng):
    """E.14: the engine's gradients of attention, with a mask and without one."""
    q, k, v = (rng.normal(size=(n, 5)) for n in (7, 11, 11))
    for causal in (False, True):
        mask = np.tri(7, 11, dtype=bool) | (not causal)

        def engine(q, k, v):
            return masked_softmax(0.7 * (q @ k.T), mask=mask) @ v

        def ours(q, k, v):
            e = np.where(mask, np.exp(0.7 * q @ k.T), 0.0)
            o, lse = e @ v / e.sum(1, keepdims=True), np.log(e.sum(1))
            tiles = reference("E.14", "backward")
            return o, lambda g: tiles(q, k, v, o, lse, g, 0.7, 3, causal)

        yield from against(engine, ours, rng, q, k, v)


def sparsemax(rng):
    """E.17: the weights; and the Jacobian, by the backward of each weight."""
    s = rng.normal(size=(5, 7))
    p, backward = reference("E.17", "sparsemax")(s)
    yield p, definitions.sparsemax(s)
    for row, weights in enumerate(p):
        g = np.zeros((7, *s.shape))
        g[:, row] = np.eye(7)
        J = [backward(each)[row] for each in g]
        yield reference("E.17", "jacobian")(weights), np.array(J)


def sink(rng):
    """E.18: the weights; their outputs, from those of a softmax over all or two parts."""
    s, b = rng.normal(size=(2, 5, 7)), rng.normal(size=2)
    v, parts = rng.normal(size=(2, 7, 3)), (slice(0, 4), slice(4, 7))
    p = definitions.sink_softmax(s, b=b[:, None, None])
    yield reference("E.18", "sink_softmax")(s, b)[0], p

    def without(keys):
        e = np.exp(s[..., keys])
        return e @ v[:, keys] / e.sum(-1, keepdims=True), np.log(e.sum(-1))

    yield reference("E.18", "with_sink")(*without(slice(0, 7)), b)[0], p @ v
    o, lse = map(np.stack, zip(*map(without, parts)))
    yield reference("E.18", "merged")(o, lse, b), p @ v


def reinforce(rng):
    """E.19: each estimate, their mean and variance, and the baseline of the least."""
    e, l, b = rng.normal(size=5), rng.uniform(1, 4, 5), 1.7
    p = definitions.softmax(e[None])[0]
    x = np.array([definitions.reinforce(p, j, l[j], b) for j in range(5)])
    for j, row in enumerate(x):
        yield reference("E.19", "estimate")(e, l[j], j, b), row
    exact = reference("E.19", "exact")(e, l)
    yield exact, p @ x
    yield reference("E.19", "variance")(e, l, b), p @ ((x - exact) ** 2).sum(1)
    loss = np.broadcast_to(l, (1, 5))
    best = hard.best_baseline(p[None], loss)
    yield reference("E.19", "best_baseline")(e, l), np.asarray(best.data)[0]


def broadcasts(rng):
    """E.1: the sums of a broadcast, and the gradients of a product."""
    unbroadcast, multiply = (reference("E.1", f) for f in ("unbroadcast", "multiply"))
    g, a, b = (rng.normal(size=size) for size in ((3, 5, 7), (3, 1, 7), (5, 1)))
    for shape in ((5, 7), (7,), (), (5, 1), (3, 1, 7), (1, 5, 1)):
        yield unbroadcast(g, shape), mg.unbroadcast(g, shape)
    yield from against(mg.mul, multiply, rng, a, b)


def backwards(rng):
    """E.2: the engine's operations."""
    x, w = rng.normal(size=(3, 5)), rng.normal(size=(5, 7))
    yield from against(mg.tanh, reference("E.2", "tanh"), rng, x)
    yield from against(mg.matmul, reference("E.2", "matmul"), rng, x, w)
    yield from against(mg.softmax, reference("E.2", "softmax"), rng, x)
    yield from against(mg.log_softmax, reference("E.2", "log_softmax"), rng, x)


def graph(rng):
    """E.3: the engine's gradients of y = b x with b = a + 2 x."""
    a, x = (mg.Tensor(n, requires_grad=True) for n in rng.normal(size=2))
    b = a + 2 * x
    y = b * x
    y.backward()
    pairs = {"y": [("b", x.item()), ("x", b.item())], "b": [("a", 1.0), ("x", 2.0)]}
    found = reference("E.3", "backward")(pairs | {"a": [], "x": []}, "y")
    yield from ((found[name], each.grad) for name, each in (("a", a), ("x", x)))


def bahdanau(rng):
    """6.5: the weights of the definitions, and the engine's gradients of the inputs."""
    s, H, v = rng.normal(size=3), rng.normal(size=(7, 5)), rng.normal(size=11)
    W_s, W_h = rng.normal(size=(11, 3)), rng.normal(size=(11, 5))
    mask, inputs = np.arange(7) % 5 > 0, (s, H, W_s, W_h, v)
    _, alpha = reference("6.5", "bahdanau_forward")(*inputs, mask)
    e = definitions.additive(s[None], H, W_s, W_h, v)
    yield alpha, definitions.softmax(e, mask)[0]

    def engine(s, H, W_s, W_h, v):
        e = mg.tanh(H @ W_h.T + W_s @ s) @ v
        return masked_softmax(e, mask=mask) @ H

    def ours(*inputs):
        def backward(g):
            found = reference("6.5", "bahdanau_backward")(*inputs, mask, g)
            return tuple(found[name] for name in ("s", "H", "W_s", "W_h", "v"))

        return reference("6.5", "bahdanau_forward")(*inputs, mask)[0], backward

    yield from against(engine, ours, rng, *inputs)


def masked(rng):
    """E.7: weights and lse over the allowed keys, of the definitions."""
    x, mask = rng.normal(size=(3, 5)), rng.random((3, 5)) < 0.6
    mask[1] = False
    y, backward = reference("E.7", "masked_softmax")(x, mask)
    yield y, definitions.softmax(x, mask)
    g = rng.normal(size=x.shape)
    ours, back = reference("E.7", "masked_lse")(x, mask)
    for k in (0, 2):  # the engine's operations, on the allowed keys
        keys = x[k, mask[k]]
        for_y, for_lse = (mg.Tensor(keys, requires_grad=True) for _ in range(2))
        mg.softmax(for_y).backward(g[k, mask[k]])
        lse = mg.logsumexp(for_lse)
        lse.backward(np.array(2.0))
        yield backward(g)[k, mask[k]], for_y.grad
        yield ours[k], lse.data
        yield back(np.full(3, 2.0))[k, mask[k]], for_lse.grad


def online(rng):
    """E.8: attention in blocks, and of two sets of keys."""
    s, V = rng.normal(size=(3, 7)), rng.normal(size=(7, 5))
    attention, merge = reference("E.8", "online_attention"), reference("E.8", "merge")
    o, lse = attention(s, V, 3)
    yield o, definitions.softmax(s) @ V
    yield lse, mg.logsumexp(mg.Tensor(s), axis=-1).data
    parts = *attention(s[:, :4], V[:4], 4), *attention(s[:, 4:], V[4:], 2)
    yield from zip(merge(*parts), definitions.merge(*parts))
    yield from zip(merge(*parts), (o, lse))


def rope(rng):
    """E.11: the library rotates half-split pairs."""
    x, p = rng.normal(size=(5, 14)), np.array([0, 1, 2, 7, 100])
    order = reference("E.11", "to_half_split")(14)
    y, _ = reference("E.11", "rope")(x, p, 50.0)
    yield y[:, order], definitions.rope(x[:, order], p, definitions.frequencies(14, 50.0))
    q, k = x, rng.normal(size=(7, 14))
    turned = (definitions.rope(a[:, order], np.arange(len(a)), definitions.frequencies(14))
              for a in (q, k))  # fmt: skip
    yield reference("E.11", "scores")(q, k), definitions.dot(*turned)


def buckets(rng):
    """E.12: one distance after the other."""
    bucket, distances = reference("E.12", "bucket"), range(-140, 141)
    for sizes in ((True, 32, 128), (False, 9, 128), (False, 19, 16)):
        found = [definitions.t5_bucket(d, *sizes) for d in distances]
        yield bucket(distances, *sizes), found


def chunks(rng):
    """E.22: the outputs of the delta rule, in chunks of any length."""
    q, k, v = rng.normal(size=(3, 11, 5)) / 2
    b = rng.uniform(0.3, 0.9, 11)
    for C in (1, 4, 11):
        o, _ = reference("E.22", "chunked")(q, k, v, b, C, np.zeros((5, 5)))
        yield o, definitions.delta_rule(q, k, v, b[:, None])


def latent(rng):
    """E.23: both forms with one head. The library rotates (x_m, x_(m + F/2))."""
    E, F, R, halves = 5, 4, 6, [0, 2, 1, 3]
    x, W_q, W_d, W_r = (rng.normal(size=(n, 11)) for n in (7, E + F, R, F))
    W_k, W_v = rng.normal(size=(E, R)), rng.normal(size=(3, R))
    q, u = np.split(x @ W_q.T, [E], axis=1)
    u = reference("E.23", "_rope")(u, np.arange(7))
    cache = reference("E.23", "latent_rows")(x, 0, W_d, W_r)
    W_q, W_r = W_q[[*range(E), *(E + m for m in halves)]], W_r[halves]
    o = definitions.mla(x, W_q, W_d, W_r, np.ones(R), W_k, W_v, np.eye(3), np.tri(7) > 0)
    for form in ("expanded", "absorbed"):
        yield reference("E.23", form)(q[None], u[None], cache, W_k[None], W_v[None])[0], o


def graphs(rng):
    """E.24: the averages of GAT and of GATv2."""
    h, W_l, W_r = rng.normal(size=(5, 7)), rng.normal(size=(3, 7)), rng.normal(size=(3, 7))
    a, a_2, edges = rng.normal(size=3), rng.normal(size=3), np.eye(5) + np.tri(5, k=-2) > 0
    average = reference("E.24", "average")
    e = reference("E.24", "gat_scores")(h, W_l, a, a_2)
    yield average(e, h @ W_l.T, edges), definitions.gat(h, W_l, a, a_2, edges)
    e, _ = reference("E.24", "gatv2_scores")(h, W_l, W_r, a)
    yield average(e, h @ W_r.T, edges), definitions.gatv2(h, W_l, W_r, a, edges)


def recurrent(rng):
    """E.6: the engine's GRU, which has the batch first."""
    T, B, I, H = 3, 2, 7, 5  # noqa: E741
    sizes = (T, B, I), (B, H), (3 * H, I), (3 * H, H), (3 * H,), (3 * H,)

    def engine(xs, *rest):
        return mg.gru(xs.swapaxes(0, 1), *rest)[0].swapaxes(0, 1)

    arrays = [rng.normal(size=size) for size in sizes]
    yield from against(engine, reference("E.6", "gru"), rng, *arrays)


def windows(rng):
    """38.5: attention through a window."""
    Q, K, V = (rng.normal(size=n) for n in ((5, 3), (7, 3), (2, 7, 11)))
    allowed = reference("38.5", "local_mask")(7, 5, 1, lambda t: 4 - t)
    ours = reference("38.5", "local_attention")(*map(mg.Tensor, (Q, K, V)), allowed)
    for o, v in zip(ours.numpy(), V):
        yield o, definitions.scaled_dot_attention(Q, K, v, allowed)


def advantage(rng):
    """6.9: BLEU of a corpus; a step, with the score of 6.5 and the engine's GRU."""
    refs, hyps = ([list("abcde"[i] for i in rng.integers(0, 5, n)) for n in sizes]
                  for sizes in ((9, 12, 8), (8, 11, 10)))  # fmt: skip
    for order in (1, 2, 4):
        found = 100 * reference("6.9", "bleu")(refs, hyps, order)
        yield found, corpus_bleu(hyps, refs, max_order=order, smoothing="none")
    p, y, s, H, mask = draw(rng, True)
    logits, state = reference("6.9", "decode_step")(p, y, s, H, mask)
    q = {name: x.numpy() for name, x in p.items()}
    for b, (h, allowed) in enumerate(zip(H.numpy(), mask)):
        e = definitions.additive(s.numpy()[b : b + 1], h, q["W_s"], q["W_h"], q["v"])
        c = definitions.attend(e, h, allowed[None])
        x = np.concatenate([q["E"][y[b : b + 1]], c], 1)
        cell = [mg.Tensor(a) for a in (x, s.numpy()[b : b + 1])]
        new = mg.gru_cell(*cell, *(p[n] for n in ("W_ih", "W_hh", "b_ih", "b_hh"))).numpy()
        yield state.numpy()[b : b + 1], new
        yield logits.numpy()[b], (np.concatenate([new, c], 1) @ q["W_o"].T + q["b_o"])[0]


def cosines(rng):
    """6.8: self-attention without projections."""
    X = rng.normal(size=(7, 5))
    _, Z = reference("6.8", "self_attention")(X, 1 / np.sqrt(5))
    yield Z, definitions.scaled_dot_attention(X, X, X)


def temperature(rng):
    """6.10: the weights of scores that are divided by tau."""
    e = rng.normal(size=(5, 7))
    for tau in (0.1, 2.0):
        yield reference("6.10", "softmax_t")(e, tau), definitions.softmax(e / tau)


def pointer_generator(rng):
    """E.20: the probabilities; the loss, and its gradients for logits and for scores."""
    z, e, r = rng.normal(size=(4, 5)), rng.normal(size=(4, 7)), rng.normal(size=4)
    x, y = np.array([2, 7, 0, 2, 8, 7, 7]), np.array([2, 7, 4, 8])
    a = definitions.softmax(e)
    P = reference("E.20", "probabilities")(z, e, r, x, 11)
    for row, *inputs in zip(P, z, a, r):
        yield row, definitions.copy_probabilities(*inputs, x, 11)
    loss, backward = reference("E.20", "copy_loss")(z, e, r, x, y)
    inputs = [mg.Tensor(each, requires_grad=True) for each in (z, e, r)]
    z, e, r = inputs
    g, theirs = rng.normal(size=4), copy_loss(z, mg.softmax(e), r, np.tile(x, (4, 1)), y)
    yield loss, theirs.data
    (theirs * g).sum().backward()
    yield from zip(backward(g), [each.grad for each in inputs])
    pi, rho = reference("E.20", "posteriors")(*(each.data for each in inputs), x, y)
    yield pi + rho.sum(1), np.ones(4)


def delta(rng):
    """E.21: the outputs of all tokens, and the state after one token."""
    q, k, v = (rng.normal(size=(5, n)) / 2 for n in (3, 3, 7))
    b = rng.uniform(0.3, 0.9, (5, 1))
    yield reference("E.21", "delta_rule")(q, k, v, b[:, 0])[0], definitions.delta_rule(q, k, v, b)
    S = reference("E.21", "write")(np.zeros((3, 7)), k[0], v[0], b[0, 0])
    yield q[:1] @ S, definitions.delta_rule(q[:1], k[:1], v[:1], b[:1])


def multi_head(rng):
    """E.10: keys and values come from Y."""
    X, Y, *W = (rng.normal(size=(n, 6)) for n in (5, 7, 6, 6, 6, 6))
    Z, _ = reference("E.10", "multihead")(X, Y, *W, 3)
    yield Z, definitions.multi_head(X, Y, Y, *W, [definitions.scaled_dot_attention] * 3)


def linear_attention(rng):
    """E.13: the library's features are those of q and k themselves."""
    q, k, v = rng.random((5, 3)), rng.random((5, 3)), rng.normal(size=(5, 7))
    o, _ = reference("E.13", "linear_attention")(q, k, v)
    yield o, definitions.causal_linear(q, k, v, phi=lambda x: x, eps=0)


def translated(rng):
    """6.7: links, their error rate, the name of a pattern, and a file of weights."""
    gold = {(0, 0), (1, 2), (3, 1), (4, 4), (4, 5)}
    for _ in range(20):
        w = rng.dirichlet(np.full(7, 0.2), 5)
        links = reference("6.7", "links")(w)
        assert links == alignment.links(w)
        rate = reference("6.7", "alignment_error_rate")(links, gold)
        yield rate, alignment.alignment_error_rate(w, gold)
        assert reference("6.7", "pattern")(w) == patterns.alignment_pattern(w)
    with open(EN_FR, "rb") as file:
        theirs, _ = safetensors.read(file, EN_FR.stat().st_size)
    ours = reference("6.7", "read_safetensors")(EN_FR)
    assert ours.keys() == theirs.keys()
    yield from ((ours[name], theirs[name]) for name in ours)


def timed_pass(rng):
    """6.6: the context of dot scores, and the exponent of an exact power."""
    s, H = rng.normal(size=5), rng.normal(size=(7, 5))
    c, alpha = reference("6.6", "luong_forward")(s, H, np.ones(7, bool))
    yield alpha, definitions.softmax(definitions.dot(s[None], H))[0]
    yield c, alpha @ H
    Ts = np.array([10, 50, 100])
    yield reference("6.6", "exponent")(Ts, 3 * Ts**1.5), 1.5


CASES = {
    "38.1": projected,
    "38.2": variance,
    "38.4": entropy,
    "38.5": windows,
    "6.1": uniform,
    "6.2": bilinear,
    "6.3": costs_of_scores,
    "6.4": in_blocks,
    "6.5": bahdanau,
    "6.6": timed_pass,
    "6.7": translated,
    "6.8": cosines,
    "6.9": advantage,
    "6.10": temperature,
    "E.1": broadcasts,
    "E.2": backwards,
    "E.3": graph,
    "E.6": recurrent,
    "E.7": masked,
    "E.8": online,
    "E.9": local_p,
    "E.10": multi_head,
    "E.11": rope,
    "E.12": buckets,
    "E.13": linear_attention,
    "E.14": tiled,
    "E.15": assembled,
    "E.16": comparison,
    "E.17": sparsemax,
    "E.18": sink,
    "E.19": reinforce,
    "E.20": pointer_generator,
    "E.21": delta,
    "E.22": chunks,
    "E.23": latent,
    "E.24": graphs,
}


@pytest.mark.parametrize("id", CASES)
def test_a_reference_answer_equals_the_library(id):
    pairs = list(CASES[id](np.random.default_rng(0)))
    assert pairs
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)
