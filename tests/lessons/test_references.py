"""The reference answers are right: they agree with the definitions of the library.

Of an answer that returns (output, backward) only the output is compared: the audit of
the exercise proves the gradients by differences. What is not here has a second answer by
plain loops among those of the judge, to which each reference is compared.
"""

import types

import numpy as np
import pytest

import minigrad as mg
from attention import definitions
from attention.app.pretrained import EN_FR
from attention.costs.counted import OpCounter
from attention.decoding.drafts import verify
from attention.decoding.sampling import draw as draw_token
from attention.decoding.sampling import filtered_probabilities
from attention.metrics import alignment
from attention.metrics.alignment import attention_entropy
from attention.metrics.bleu import corpus_bleu
from attention.published import bpe
from lessons.classroom.catalogue import find
from lessons.course import check
from lessons.course.comparisons import draw
from lessons.instrument import patterns
from minigrad import safetensors


attention = definitions.scaled_dot_attention
dot, general, softmax = definitions.dot, definitions.general, definitions.softmax


def gru(xs, *rest):
    """Run the engine's GRU, which has the batch first."""
    states, _ = mg.gru(*map(mg.Tensor, (xs.swapaxes(0, 1), *rest)))
    return states.numpy().swapaxes(0, 1)


def delta_rule(q, k, v, b):
    return definitions.delta_rule(q, k, v, b[:, None])


MASK = np.arange(7) % 5 > 0
EDGES = np.eye(5) + np.tri(5, k=-2) > 0
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
    ("6.5", lambda my, *arrays: my.bahdanau_forward(*arrays, MASK)[1],
     lambda s, *arrays: softmax(definitions.additive(s[None], *arrays), MASK)[0],
     (3,), (7, 5), (11, 3), (11, 5), (11,)),
    ("E.1", lambda my, a, b: my.multiply(a, b), np.multiply, (3, 1, 7), (5, 1)),
    ("E.2", lambda my, x: my.tanh(x), np.tanh, (3, 5)),
    ("E.2", lambda my, x, w: my.matmul(x, w), np.matmul, (3, 5), (5, 7)),
    ("E.2", lambda my, x: my.softmax(x), softmax, (3, 5)),
    ("E.2", lambda my, x: my.log_softmax(x), lambda x: np.log(softmax(x)), (3, 5)),
    ("E.6", lambda my, *arrays: my.gru(*arrays), gru,
     (3, 2, 7), (2, 5), (15, 7), (15, 5), (15,), (15,)),
    ("E.7", lambda my, x: my.masked_softmax(x, MASK)[0], lambda x: softmax(x, MASK),
     (5, 7)),
    ("E.8", lambda my, s, V: my.online_attention(s, V, 3),
     lambda s, V: softmax(s) @ V, (3, 7), (7, 5)),
    ("E.10", lambda my, *arrays: my.multihead(*arrays, 3),
     lambda X, Y, *W: definitions.multi_head(X, Y, Y, *W, [attention] * 3),
     (5, 6), (7, 6), (6, 6), (6, 6), (6, 6), (6, 6)),
    ("E.13", lambda my, q, k, v: my.linear_attention(abs(q), abs(k), v),
     lambda *qkv: definitions.causal_linear(*qkv, phi=abs, eps=0),
     (5, 3), (5, 3), (5, 7)),
    ("E.17", lambda my, s: my.sparsemax(s), definitions.sparsemax, (5, 7)),
    ("E.18", lambda my, s, b: my.sink_softmax(s, b),
     lambda s, b: definitions.sink_softmax(s, b=b[:, None, None]), (2, 5, 7), (2,)),
    ("E.21", lambda my, *arrays: my.delta_rule(*arrays), delta_rule,
     (5, 3), (5, 3), (5, 7), (5,)),
    ("E.22", lambda my, *arrays: my.chunked(*arrays, 2, np.zeros((3, 7))), delta_rule,
     (5, 3), (5, 3), (5, 7), (5,)),
    ("E.24", lambda my, h, W, a, b: my.average(my.gat_scores(h, W, a, b), h @ W.T, EDGES),
     lambda *arrays: definitions.gat(*arrays, EDGES), (5, 7), (3, 7), (3,), (3,)),
]  # fmt: skip
CASES = {}  # generators of pairs: what an answer returns, and the library


def functions(id):
    """Return the functions of a reference answer."""
    source = find(id).parts
    return types.SimpleNamespace(**check.run(source.answer, source.path))


def case(id):
    """Let a generator of (my, rng) be the case of an exercise."""
    return lambda generator: CASES.setdefault(id, generator)


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


@case("38.4")
def entropy(my, rng):
    """The mean over the rows that are not padding."""
    alpha, lengths = softmax(rng.normal(size=(3, 5, 7))), [5, 3, 1]
    rows = np.arange(5) < np.array(lengths)[:, None]
    found = my.attn_entropy(alpha, lengths)
    yield found, attention_entropy(alpha)[rows].mean()


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
