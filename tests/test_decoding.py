"""Decoding: greedy, beam search and sampling, held to all sentences there are."""

import itertools
import math

import numpy as np
import pytest

import minigrad as mg
from attention.seq2seq.beam import LEAST, beam_search, hypotheses, most
from attention.seq2seq.config import Seq2SeqConfig
from attention.seq2seq.decoding import greedy
from attention.seq2seq.model import Seq2Seq
from attention.seq2seq.sampling import draw, filtered, sample
from attention.tasks.batch import EOS, PAD, SOS
from attention.transformer.config import EncoderDecoderConfig, TransformerConfig
from attention.transformer.decoder_only import DecoderOnly
from attention.transformer.encoder_decoder import EncoderDecoder

V, N, S = 5, 4, 3  # ids 2, 3, 4 can be said; at most N tokens
SOURCE = np.array([[3, 4, 3], [4, 3, 0], [3, 3, 4], [4, 0, 0]])
LENGTHS = np.array([3, 2, 3, 1])


class Table:
    """Random logits and weights for each sentence and beginning: a model of nothing.

    PAD and SOS are by far the most probable of all.
    """

    def __init__(self, seed=0, vocabulary=V, sharp=1.5, attends=True):
        self.seed, self.V, self.sharp, self.attends = seed, vocabulary, sharp, attends
        self.calls = 0

    def start(self, source, lengths):
        self.S = source.shape[1]
        lengths = np.full(len(source), self.S) if lengths is None else lengths
        return Rows([(tuple(map(int, s[:n])), ()) for s, n in zip(source, lengths)])

    def step(self, state, tokens):
        assert len(tokens) == len(state.rows)
        self.calls += 1
        rows = [(s, (*said, int(y))) for (s, said), y in zip(state.rows, tokens)]
        found = [self.of(*row) for row in rows]
        weights = np.stack([w for _, w in found]) if self.attends else None
        return np.stack([logits for logits, _ in found]), Rows(rows), weights

    def of(self, source, said):
        rng = np.random.default_rng([self.seed, *source, 99, *said])
        logits = self.sharp * rng.standard_normal(self.V)
        logits[[PAD, SOS]] = 30
        weights = np.zeros(self.S)
        weights[: len(source)] = rng.dirichlet(np.full(len(source), 0.4))
        return logits, weights


class Rows:
    def __init__(self, rows):
        self.rows = rows

    def select(self, indices):
        self.rows = [self.rows[i] for i in indices]


def tiny(**options):
    c = dict(embedding=4, hidden=6) | options
    m = Seq2Seq(Seq2SeqConfig(6, V, **c), np.random.default_rng(0))
    rng = np.random.default_rng(1)
    for p in m.parameters():
        p.data = (1.2 * rng.standard_normal(p.shape)).astype(np.float32)
    return m


def transformer():
    c = EncoderDecoderConfig(vocabulary=6, target_vocabulary=V, width=8, heads=2,
                             layers=2, tied=False)  # fmt: skip
    return EncoderDecoder(c, np.random.default_rng(0)).eval()


MODELS = {
    "table": lambda: Table(),
    "table-without-weights": lambda: Table(attends=False),
    "gru": tiny,
    "lstm-fed-coverage": lambda: tiny(
        cell="lstm", attention="luong", input_feeding=True, coverage=True, layers=2
    ),
    "local": lambda: tiny(attention="luong", local="m", window=1, score="general"),
    "none": lambda: tiny(attention="none"),
    "transformer": transformer,
}


# The definition: all sentences, one after the other


def every_sentence(n=N):
    """All that end with EOS within n tokens, and all of n tokens without one."""
    for length in range(1, n + 1):
        for begun in itertools.product(range(3, V), repeat=length - 1):
            yield [*begun, EOS]
    yield from (list(y) for y in itertools.product(range(3, V), repeat=n))


def log_probability(model, source, length, y):
    """ln P(y) and the weights (|y|, S), step by step, without PAD and SOS."""
    state, said = model.start(source[None], np.array([length])), SOS
    total, looked = 0.0, []
    for token in y:
        logits, state, weights = model.step(state, np.array([said]))
        row = [float(z) for z in np.asarray(getattr(logits, "data", logits))[0]]
        top = max(row[2:])
        total += row[token] - top - math.log(sum(math.exp(z - top) for z in row[2:]))
        if weights is not None:
            looked.append(np.array(getattr(weights, "data", weights))[0])
        said = token
    return total, np.array(looked) if looked else None


def ranked(model, b, alpha, beta, n=N):
    """[(s, ln P, y)], best first, of every sentence for row b of SOURCE."""
    found = []
    for y in every_sentence(n):
        logp, looked = log_probability(model, SOURCE[b], LENGTHS[b], y)
        s = logp / ((5 + len(y)) / 6) ** alpha
        for j in range(LENGTHS[b] if beta else 0):
            s += beta * math.log(max(min(looked[:, j].sum(), 1.0), LEAST))
        found.append((s, logp, y))
    return sorted(found, key=lambda one: -one[0])


def decoded(d):
    """The rows of ids without padding."""
    return [row[:n].tolist() for row, n in zip(d.ids, d.lengths)]


# Beam search


@pytest.mark.parametrize("alpha, beta", [(0, 0), (1.0, 0), (0, 0.5), (0.6, 0.2)])
@pytest.mark.parametrize("seed", range(3))
def test_a_beam_of_full_width_ranks_all_sentences(seed, alpha, beta):
    model, everything = Table(seed), len(list(every_sentence()))
    found = hypotheses(model, SOURCE, LENGTHS, N, everything, alpha=alpha, beta=beta)
    for b, each in enumerate(found):
        expected = ranked(model, b, alpha, beta)
        assert [h.ids for h in each] == [y for _, _, y in expected]
        np.testing.assert_allclose([h.score for h in each], [s for s, _, _ in expected])
        np.testing.assert_allclose(
            [h.log_probability for h in each], [p for _, p, _ in expected]
        )
        # nothing is left out: all that can be said has probability 1
        assert sum(math.exp(h.log_probability) for h in each) == pytest.approx(1)


@pytest.mark.parametrize("name", MODELS)
def test_a_beam_of_full_width_finds_the_best(name):
    model, beta = MODELS[name](), 0.3
    if name in ("table-without-weights", "none"):
        beta = 0
    d = beam_search(model, SOURCE, LENGTHS, 3, beam=20, alpha=0.7, beta=beta)
    with mg.no_grad():
        for b in range(len(SOURCE)):
            s, _, y = ranked(model, b, 0.7, beta, n=3)[0]
            assert decoded(d)[b] == y
            np.testing.assert_allclose(d.scores[b], s, rtol=1e-4)


def test_penalties_change_what_is_best():
    """Else the tests above would pass without them."""
    plain, *others = (
        beam_search(Table(0), SOURCE, LENGTHS, N, 40, **options)
        for options in (dict(), dict(alpha=2.0), dict(beta=2.0))
    )
    for other in others:
        assert decoded(plain) != decoded(other)


@pytest.mark.parametrize("alpha, beta", [(0, 0), (1.0, 0.5)])
@pytest.mark.parametrize("name", MODELS)
def test_a_beam_of_one_is_greedy(name, alpha, beta):
    if name in ("table-without-weights", "none"):
        beta = 0
    for length in 1, 2, 7:
        one = beam_search(
            MODELS[name](), SOURCE, LENGTHS, length, 1, alpha=alpha, beta=beta
        )
        g = greedy(MODELS[name](), SOURCE, LENGTHS, length)
        np.testing.assert_array_equal(one.ids, g.ids)
        np.testing.assert_array_equal(one.lengths, g.lengths)
        if g.weights is None:
            assert one.weights is None
        else:
            np.testing.assert_allclose(one.weights, g.weights, atol=1e-6)
        if not alpha:
            np.testing.assert_allclose(one.scores, g.scores, rtol=1e-5)


def by_definition(model, b, K, n):
    """The search as its text has it, one beginning a call: [(ln P, y)] finished."""
    going, finished = [(0.0, [])], []
    for _ in range(n):
        candidates = []
        for place, (_, y) in enumerate(going):
            for token in range(2, V):
                logp, _ = log_probability(model, SOURCE[b], LENGTHS[b], [*y, token])
                candidates.append((-logp, place, token, [*y, token]))
        kept = sorted(candidates)[: K - len(finished)]
        going = [(-p, y) for p, _, token, y in kept if token != EOS]
        finished += [(-p, y) for p, _, token, y in kept if token == EOS]
    return finished + going


@pytest.mark.parametrize("K", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("alpha", [0.0, 1.5])
def test_a_beam_of_any_width_is_its_definition(K, alpha):
    for seed in range(3):
        model = Table(seed, sharp=0.7)
        found = hypotheses(model, SOURCE, LENGTHS, N, K, alpha=alpha)
        best = beam_search(model, SOURCE, LENGTHS, N, K, alpha=alpha)
        for b, each in enumerate(found):
            expected = [(p / ((5 + len(y)) / 6) ** alpha, y)
                        for p, y in by_definition(model, b, K, N)]  # fmt: skip
            expected.sort(key=lambda one: -one[0])
            assert [h.ids for h in each] == [y for _, y in expected]
            # ending early loses nothing
            assert decoded(best)[b] == expected[0][1]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("K", [1, 3])
def test_a_batch_is_as_good_as_one_at_a_time(name, K):
    model = MODELS[name]()
    together = beam_search(model, SOURCE, LENGTHS, 6, K, alpha=0.5)
    for b in range(len(SOURCE)):
        n = LENGTHS[b]
        alone = beam_search(model, SOURCE[b : b + 1, :n], None, 6, K, alpha=0.5)
        assert decoded(alone)[0] == decoded(together)[b]
        np.testing.assert_allclose(alone.scores[0], together.scores[b], rtol=1e-4)
        if alone.weights is not None:
            k = alone.weights.shape[1]
            weights = together.weights[b]
            np.testing.assert_allclose(weights[:k, :n], alone.weights[0], atol=1e-5)
            assert not weights[k:].any() and not weights[:, n:].any()


@pytest.mark.parametrize("K", [1, 2, 5])
@pytest.mark.parametrize("name", ["gru", "lstm-fed-coverage", "local"])
def test_weights_belong_to_the_sentence_they_come_with(name, K):
    """Told to say the same, the model looks where the beam says it has looked."""
    model = MODELS[name]()
    for b, each in enumerate(hypotheses(model, SOURCE, LENGTHS, 5, K)):
        for h in each:
            told = np.array([[SOS, *h.ids[:-1]]])
            out = model.forced(SOURCE[b : b + 1], told, LENGTHS[b : b + 1])
            np.testing.assert_allclose(h.weights, out.weights.data[0], atol=1e-5)
            assert h.weights.shape == (len(h.ids), S)


def test_the_search_ends_as_soon_as_nothing_better_can_come():
    certain = Table(sharp=0.0)  # all tokens alike: EOS, the first among them, wins
    certain.of = lambda source, said: (np.array([0, 0, 20.0, 0, 0]), np.zeros(S))
    for K in 1, 4:
        certain.calls = 0
        d = beam_search(certain, SOURCE, LENGTHS, 50, K, alpha=1.0)
        assert decoded(d) == [[EOS]] * 4 and certain.calls == 1
    certain.calls = 0
    greedy(certain, SOURCE, LENGTHS, 50)
    assert certain.calls == 1
    # but all K are found if all K are asked for
    assert [len(each) for each in hypotheses(certain, SOURCE, LENGTHS, 50, 4)] == [
        4
    ] * 4


def test_equals_go_by_place_and_then_by_id():
    class Flat(Table):
        def of(self, source, said):
            return np.zeros(self.V), np.full(S, 1 / S)

    assert decoded(greedy(Flat(), SOURCE, LENGTHS, 3)) == [[EOS]] * 4
    each = hypotheses(Flat(), SOURCE[:1], LENGTHS[:1], 2, 4)[0]
    assert [h.ids for h in each] == [[EOS], [3, EOS], [3, 3], [3, 4]]
    scores = np.array([[1.0, 2.0, 2.0], [2.0, -np.inf, 0.0]])
    assert most(scores, 2) == [(2.0, 0, 1), (2.0, 0, 2)]
    assert most(scores, 4) == [(2, 0, 1), (2, 0, 2), (2, 1, 0), (1, 0, 0)]
    assert most(scores, 9)[-1] == (0.0, 1, 2) and len(most(scores, 9)) == 5


def test_most_is_a_sort():
    rng = np.random.default_rng(0)
    for n in 1, 3, 17, 40, 60:
        scores = rng.integers(-3, 3, (5, 8)).astype(float)  # many equals
        scores[scores == -3] = -np.inf
        expected = sorted(
            (-scores[r, t], r, t) for r in range(5) for t in range(8)
            if scores[r, t] > -np.inf
        )[:n]  # fmt: skip
        assert most(scores, n) == [(-s, r, t) for s, r, t in expected]


def test_a_source_token_that_is_never_looked_at_is_no_infinity():
    class Blind(Table):
        def of(self, source, said):
            return super().of(source, said)[0], np.array([1.0, 0, 0])

    each = hypotheses(Blind(), SOURCE, LENGTHS, N, 4, beta=1.0)
    for b, n in enumerate(LENGTHS):
        for h in each[b]:
            penalty = (n - 1) * math.log(LEAST)  # padding does not count
            assert h.score == pytest.approx(h.log_probability + penalty)


# All three


def every_way():
    rng = np.random.default_rng(0)
    return {
        "greedy": lambda m, *a: greedy(m, *a),
        "beam": lambda m, *a: beam_search(m, *a, 3, alpha=0.5),
        "sample": lambda m, *a: sample(m, *a, rng=rng),
        "hot": lambda m, *a: sample(m, *a, temperature=50.0, top_k=4, rng=rng),
    }


@pytest.mark.parametrize("way", every_way())
@pytest.mark.parametrize("name", MODELS)
def test_rows_end_once_and_hold_neither_pad_nor_sos(name, way):
    d = every_way()[way](MODELS[name](), SOURCE, LENGTHS, 6)
    assert d.ids.dtype == np.int64 and d.ids.shape == (4, d.lengths.max())
    for row, n in zip(d.ids.tolist(), d.lengths):
        said = row[:n]
        assert not {PAD, SOS} & set(said) and set(row[n:]) <= {PAD}
        assert EOS not in said[:-1] and (said[-1] == EOS or n == 6)
    if d.weights is not None:
        assert d.weights.shape == (*d.ids.shape, S)
        for b, n in enumerate(d.lengths):
            assert not d.weights[b, n:].any()
            assert not d.weights[b, :, LENGTHS[b] :].any()


@pytest.mark.parametrize("way", ["greedy", "sample"])
@pytest.mark.parametrize("name", ["table", "gru", "transformer"])
def test_scores_are_log_probabilities(name, way):
    model = MODELS[name]()
    d = every_way()[way](model, SOURCE, LENGTHS, 5)
    with mg.no_grad():
        for b, y in enumerate(decoded(d)):
            logp, looked = log_probability(model, SOURCE[b], LENGTHS[b], y)
            np.testing.assert_allclose(d.scores[b], logp, rtol=1e-4)
            np.testing.assert_allclose(d.weights[b, : len(y)], looked, atol=1e-5)


@pytest.mark.parametrize("way", every_way())
def test_a_model_is_decoded_without_dropout_and_left_as_it_was(way):
    model = tiny(dropout=0.5).train()
    model.encoder.eval()
    modes = [part.training for part in model.modules()]
    recorded = []
    step = model.step

    def watched(state, tokens):
        recorded.append([part.training for part in model.modules()])
        logits, state, weights = step(state, tokens)
        assert not logits.requires_grad and not weights.requires_grad
        return logits, state, weights

    model.step = watched
    d = every_way()[way](model, SOURCE, LENGTHS, 4)
    assert recorded and not any(map(any, recorded))
    assert [part.training for part in model.modules()] == modes
    if way in ("greedy", "beam"):
        plain = every_way()[way](tiny(), SOURCE, LENGTHS, 4)
        np.testing.assert_array_equal(d.ids, plain.ids)
    model.step = lambda state, tokens: 1 / 0
    with pytest.raises(ZeroDivisionError):
        every_way()[way](model, SOURCE, LENGTHS, 4)
    assert [part.training for part in model.modules()] == modes


@pytest.mark.parametrize("way", ["greedy", "beam"])
def test_a_prompt_is_gone_on_with(way):
    """A state that has read a prompt has logits already: no SOS comes between."""
    model = DecoderOnly(TransformerConfig(vocabulary=7, width=8, heads=2),
                        np.random.default_rng(0)).eval()  # fmt: skip
    d = every_way()[way](model, SOURCE, LENGTHS, 5)
    assert d.weights is None
    if way == "beam":
        return
    for b, n in enumerate(LENGTHS):
        ids = SOURCE[b, :n].tolist()
        for token in decoded(d)[b]:
            logits = model(np.array([ids])).data[0, -1].copy()
            logits[[PAD, SOS]] = -np.inf
            assert token == logits.argmax()
            ids.append(token)


# Sampling


def filtered_by_hand(logits, T, k, p):
    """One row: what is left, by sorting and adding up."""
    q = [math.exp((z - max(logits)) / T) for z in logits]
    order = sorted(range(len(q)), key=lambda v: (-q[v], v))
    kept = order if k is None else order[:k]
    if p is not None:
        total, so_far, nucleus = sum(q[v] for v in kept), 0.0, []
        for v in kept:
            if nucleus and so_far / total >= p:
                break
            nucleus.append(v)
            so_far += q[v]
        kept = nucleus
    total = sum(q[v] for v in kept)
    return [q[v] / total if v in kept else 0.0 for v in range(len(q))]


@pytest.mark.parametrize("T", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("k", [None, 1, 3, 99])
@pytest.mark.parametrize("p", [None, 1e-9, 0.5, 0.9, 1.0])
def test_filters_are_their_definition(T, k, p):
    logits = np.random.default_rng(0).standard_normal((6, 9))
    logits[:, :2] = -np.inf
    q = filtered(logits, T, k, p)
    expected = [filtered_by_hand(row.tolist(), T, k, p) for row in logits]
    np.testing.assert_allclose(q, expected, rtol=1e-12, atol=0)
    np.testing.assert_allclose(q.sum(-1), 1)


def test_the_nucleus_holds_the_token_that_reaches_p():
    q = np.log([[0.5, 0.25, 0.125, 0.125]])
    for p, left in (0.4, 1), (0.5, 1), (0.51, 2), (0.75, 2), (0.76, 3), (0.9, 4):
        assert (filtered(q, top_p=p) > 0).sum() == left
    assert filtered([[0.0, -50.0]], top_p=1.0)[0, 1] > 0  # 1 + e^-50 is 1, rounded
    # after top_k: 0.5 and 0.25 are then 2/3 and 1/3
    assert (filtered(q, top_k=2, top_p=0.6) > 0).sum() == 1
    # of equals the least ids stay
    equals = np.random.default_rng(0).integers(0, 2, (1, 300)).astype(float)
    _, left = np.nonzero(filtered(equals, top_k=40))
    np.testing.assert_array_equal(left, np.flatnonzero(equals)[:40])


@pytest.mark.filterwarnings("error")
def test_a_low_temperature_is_greedy():
    model = Table(1)
    expected = greedy(model, SOURCE, LENGTHS, 6)
    for T in 1e-3, 1e-300, 5e-324:
        d = sample(model, SOURCE, LENGTHS, 6, temperature=T)
        np.testing.assert_array_equal(d.ids, expected.ids)
    d = sample(model, SOURCE, LENGTHS, 6, top_k=1)
    np.testing.assert_array_equal(d.ids, expected.ids)


def test_sentences_come_as_often_as_they_are_probable():
    model, n = Table(2), 6000
    source, lengths = np.repeat(SOURCE[:1], n, 0), np.repeat(LENGTHS[:1], n)
    state = model.of
    known = {}
    model.of = lambda s, said: known.setdefault(said, state(s, said))  # each once
    d = sample(model, source, lengths, 3, rng=np.random.default_rng(0))
    counts = {}
    for y in decoded(d):
        counts[tuple(y)] = counts.get(tuple(y), 0) + 1
    chi = 0.0
    sentences = list(every_sentence(3))
    for y in sentences:
        expected = n * math.exp(log_probability(model, SOURCE[0], LENGTHS[0], y)[0])
        chi += (counts.get(tuple(y), 0) - expected) ** 2 / expected
    degrees = len(sentences) - 1
    assert chi < degrees + 4 * math.sqrt(2 * degrees)  # four standard deviations


def test_draw_never_takes_what_cannot_come():
    class Edge:
        def __init__(self, u):
            self.u = u

        def random(self, shape):
            return np.full(shape, self.u)

    q = np.array([[0.0, 0.3, 0.0, 0.7, 0.0], [1.0, 0, 0, 0, 0]])
    np.testing.assert_array_equal(draw(q, Edge(0.0)), [1, 0])
    np.testing.assert_array_equal(draw(q, Edge(1 - 2**-53)), [3, 0])
    np.testing.assert_array_equal(draw(q, Edge(1.0)), [3, 0])  # rounded up
    np.testing.assert_array_equal(draw(q, Edge(0.3)), [3, 0])
    np.testing.assert_array_equal(draw(q, Edge(0.2999)), [1, 0])
    np.testing.assert_array_equal(draw(2 * q, Edge(0.4)), [3, 0])  # whatever the sum


def test_samples_repeat_with_their_generator():
    model = tiny()

    def rows(rng=None):
        return sample(model, SOURCE, LENGTHS, 6, rng=rng).ids.tolist()

    assert rows(np.random.default_rng(3)) == rows(np.random.default_rng(3))
    mg.manual_seed(5)
    first, second = rows(), rows()
    mg.manual_seed(5)
    assert (rows(), rows()) == (first, second)
    assert len({str(rows()) for _ in range(6)}) > 1


# What does not fit


class Wrong(Table):
    def __init__(self, logits, weights):
        super().__init__()
        self.given = logits, weights

    def step(self, state, tokens):
        return self.given[0], state, self.given[1]


def wrong(logits, weights=None):
    return lambda way: way(Wrong(logits, weights), SOURCE, LENGTHS, 3)


@pytest.mark.parametrize("way", every_way())
@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda way: way(Table(), SOURCE[0], None, 3), ValueError,
         "source is int64 of shape (3,); expected ids (B, S), whole numbers, one row "
         "or more."),
        (lambda way: way(Table(), SOURCE[:0], None, 3), ValueError, "shape (0, 3)"),
        (lambda way: way(Table(), SOURCE * 1.0, None, 3), ValueError, "is float64"),
        (lambda way: way(Table(), SOURCE, [1, 2], 3), ValueError,
         "there are 2 lengths for 4 rows of source; expected as many."),
        (lambda way: way(Table(), SOURCE, [1, 2, 3, 4], 3), ValueError,
         "lengths holds 4; expected numbers from 0 to 3, the tokens of a row."),
        (lambda way: way(Table(), SOURCE, LENGTHS, 0), ValueError,
         "max_length is 0; expected a whole number, 1 or more."),
        (lambda way: way(Table(), SOURCE, LENGTHS, 2.0), TypeError,
         "max_length is 2.0; expected a whole number."),
        (wrong(np.full((4, V), np.nan)), FloatingPointError,
         "the model's logits are NaN, infinity, or -infinity for all tokens; expected "
         "finite ones."),
        (wrong(np.full((4, V), np.inf)), FloatingPointError, "infinity"),
        (wrong(np.full((4, V), -np.inf)), FloatingPointError, "infinity"),
        (wrong(np.zeros((3, V))), ValueError,
         "the model's step gave logits of shape (3, 5); expected (4, V), a row for "
         "each token, with V more than 2."),
        (wrong(np.zeros((4, 2))), ValueError, "logits of shape (4, 2)"),
        (wrong(np.zeros((4, V)), np.zeros((4, 2))), ValueError,
         "the model's step gave weights of shape (4, 2); expected (n, S) = (4, 3), a "
         "row for each token, or None."),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit(way, call, kind, message):
    with pytest.raises(kind) as error:
        call(every_way()[way])
    name = {"beam": "beam_search", "hot": "sample"}.get(way, way)
    assert str(error.value).startswith(name + ": ") and message in str(error.value)


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda *a: beam_search(*a, 0), ValueError,
         "beam_search: beam is 0; expected a whole number, 1 or more."),
        (lambda *a: beam_search(*a, alpha=-1.0), ValueError,
         "beam_search: alpha is -1.0; expected a number, 0 or more."),
        (lambda *a: beam_search(*a, beta=np.nan), ValueError,
         "beam_search: beta is nan; expected a number, 0 or more."),
        (lambda *a: beam_search(*a, alpha="1"), TypeError,
         "beam_search: alpha is '1'; expected a number."),
        (lambda *a: hypotheses(*a, best=0), ValueError,
         "beam_search: best is 0; expected a whole number, 1 or more."),
        (lambda _, *a: beam_search(Table(attends=False), *a, beta=1.0), ValueError,
         "beam_search: beta is 1.0, and the model returned no weights; expected "
         "weights (n, S) for a coverage penalty, or beta 0."),
        (lambda *a: sample(*a, temperature=0), ValueError,
         "sample: temperature is 0; expected a number above 0. What it comes to at 0 "
         "is greedy."),
        (lambda *a: sample(*a, temperature=None), TypeError,
         "sample: temperature is None; expected a number."),
        (lambda *a: sample(*a, temperature=np.nan), ValueError, "temperature is nan"),
        (lambda *a: sample(*a, top_p=0.0), ValueError,
         "sample: top_p is 0.0; expected a number above 0 and at most 1."),
        (lambda *a: sample(*a, top_p=1.1), ValueError, "top_p is 1.1"),
        (lambda *a: sample(*a, top_p=True), TypeError, "top_p is True"),
        (lambda *a: sample(*a, top_k=0), ValueError,
         "sample: top_k is 0; expected a whole number, 1 or more."),
        (lambda *a: sample(*a, top_k=2.5), TypeError, "top_k is 2.5"),
        (lambda *a: sample(*a, rng=7), TypeError,
         "sample: rng is a int; expected a numpy.random.Generator, such as "
         "np.random.default_rng(0)."),
    ],
)  # fmt: skip
def test_options_that_do_not_fit(call, kind, message):
    with pytest.raises(kind) as error:
        call(Table(), SOURCE, LENGTHS, 3)
    assert message in str(error.value)
