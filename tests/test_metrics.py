"""Metrics: BLEU by hand, by its definition, and as recorded; alignments and accuracy.

``tests/golden/bleu.json`` holds what sacrebleu computed, with its version, of texts
that stand in the file. To record it again, where sacrebleu is installed:

    python -c "from tests.test_metrics import record; record()"
"""

import itertools
import json
import math
import pathlib
import random

import numpy as np
import pytest

import minigrad as mg
from attention.seq2seq.alignment_metrics import diagonal_links, links
from attention.seq2seq.metrics import (
    alignment_error_rate,
    attention_entropy,
    bleu_parts,
    corpus_alignment_error_rate,
    corpus_bleu,
    diagonal_baseline,
    exact_match,
    mean_attention_entropy,
    renormalized,
    sentence_bleu,
    token_accuracy,
    uniform_baseline,
)

GOLDEN = pathlib.Path(__file__).parent / "golden" / "bleu.json"
SMOOTHINGS = [
    ("none", None), ("exp", None), ("floor", None), ("floor", 0.01), ("add-k", None),
    ("add-k", 0.5),
]  # fmt: skip


# BLEU by hand


def test_identity_is_100():
    text = ["the cat is on the mat", "there it sat all day long"]
    for smoothing, value in SMOOTHINGS:
        assert corpus_bleu(text, text, smoothing=smoothing, value=value) == (
            pytest.approx(100, rel=1e-12)
        )
    assert sentence_bleu("hello", "hello") == pytest.approx(100)  # one order is enough
    assert corpus_bleu(["hello"], ["hello"]) == 0  # no four words to be found


def test_nothing_shared_is_0():
    for smoothing, value in SMOOTHINGS:
        assert corpus_bleu(["a b c d e"], ["v w x y z"], 4, smoothing, value) == 0
        assert corpus_bleu([""], ["v w x y z"], 4, smoothing, value) == 0


def test_clipping():
    # Papineni et al. 2002, section 2.1: 7 times "the", of which a reference has 2
    said = "the the the the the the the"
    ones = ["the cat is on the mat", "there is a cat on the mat"]
    parts = bleu_parts([said], [ones], max_order=1, several=True)
    assert parts.precisions == pytest.approx([200 / 7])
    assert parts.score == pytest.approx(200 / 7)  # 7 words, and 7 in the nearer one
    assert (parts.hypothesis_length, parts.reference_length) == (7, 7)
    # of the other reference alone: it has one "the"
    assert bleu_parts([said], [ones[1]], 1).precisions == pytest.approx([100 / 7])


def test_brevity():
    # all of 3 words are right, and of 2 and 1 pairs; 6 should have been said
    parts = bleu_parts(["the cat is"], ["the cat is on the mat"], max_order=3)
    assert parts.precisions == [100, 100, 100]
    assert parts.brevity_penalty == pytest.approx(math.exp(1 - 6 / 3))
    assert parts.score == pytest.approx(100 * math.exp(-1))
    # too long is no less of a fault, but precision pays for it
    long = bleu_parts(["the cat is on the mat now"], ["the cat is on the mat"], 1)
    assert long.brevity_penalty == 1 and long.score == pytest.approx(100 * 6 / 7)


def test_the_nearest_reference_counts_and_of_two_the_shorter():
    ones = ["a b", "a b c d", "a b c d e f g"]
    for said, nearest in [("a b c", 2), ("a b c d e", 4), ("a b c d e f", 7)]:
        assert bleu_parts([said], [ones], 1, several=True).reference_length == nearest


def test_a_corpus_is_no_mean_of_sentences():
    # 1/1 and 1/4 words: of both together 2/5, not the mean of 1 and 1/4
    assert corpus_bleu(["a", "b x y z"], ["a", "b c d e"], 1) == pytest.approx(40)


@pytest.mark.parametrize(
    "smoothing, value, fourth",
    [("none", None, 0), ("exp", None, 50), ("floor", None, 10), ("floor", 0.3, 30)],
)
def test_smoothing_by_hand(smoothing, value, fourth):
    # 4 words in order, but for the last: 3/4, 2/3, 1/2 and 0 of 1
    parts = bleu_parts(["a b c d"], ["a b c x"], 4, smoothing, value)
    assert parts.precisions == pytest.approx([75, 200 / 3, 50, fourth])
    if fourth == 0:
        assert parts.score == 0
    else:
        product = 0.75 * 2 / 3 * 0.5 * fourth / 100
        assert parts.score == pytest.approx(100 * product**0.25)


def test_exp_halves_again_and_add_k_leaves_words_alone():
    parts = bleu_parts(["a b x c d"], ["a c y b d"], 4)
    assert parts.precisions == pytest.approx(
        [80, 100 / 2 / 4, 100 / 4 / 3, 100 / 8 / 2]
    )
    parts = bleu_parts(["a b c d"], ["a b c x"], 4, "add-k")
    assert parts.precisions == pytest.approx([75, 75, 200 / 3, 50])


# BLEU by its definition


def reference_bleu(hypotheses, references, N):
    """Papineni's formula, unsmoothed, in loops; references: a list of lists."""
    log_sum, c, r = 0, 0, 0
    for n in range(1, N + 1):
        matches = total = 0
        for said, ones in zip(hypotheses, references):
            grams = [tuple(said[i : i + n]) for i in range(len(said) - n + 1)]
            total += len(grams)
            for gram in set(grams):
                most = 0
                for one in ones:
                    found = [one[i : i + n] for i in range(len(one) - n + 1)]
                    most = max(most, found.count(list(gram)))
                matches += min(grams.count(gram), most)
        if not matches:
            return 0.0
        log_sum += math.log(matches / total) / N
    for said, ones in zip(hypotheses, references):
        c += len(said)
        r += sorted((abs(len(one) - len(said)), len(one)) for one in ones)[0][1]
    return 100 * min(1, math.exp(1 - r / c)) * math.exp(log_sum)


def random_corpus(seed, sentences=6, most=3):
    """Hypotheses that are damaged copies of one of their references."""
    rng = random.Random(seed)
    hypotheses, references = [], []
    for _ in range(sentences):
        ones = [
            [rng.choice("abcde") for _ in range(rng.randint(4, 12))]
            for _ in range(rng.randint(1, most))
        ]
        said = [w if rng.random() < 0.9 else "f" for w in rng.choice(ones)]
        hypotheses.append(said[: rng.randint(3, 12)])
        references.append(ones)
    return hypotheses, references


@pytest.mark.parametrize("N", [1, 2, 4, 5])
def test_equal_to_the_definition(N):
    scores = set()
    for seed in range(60):
        hypotheses, references = random_corpus(seed)
        found = corpus_bleu(hypotheses, references, N, "none", several=True)
        wanted = reference_bleu(hypotheses, references, N)
        assert found == pytest.approx(wanted, rel=1e-12)
        scores.add(round(found))
    assert len(scores) > 5


def test_strings_lists_and_ids_are_the_same():
    hypotheses, references = random_corpus(3)
    wanted = corpus_bleu(hypotheses, references, several=True)
    strings = [" ".join(s) for s in hypotheses]
    ones = [[" \t".join(s) + "\n" for s in options] for options in references]
    assert corpus_bleu(strings, ones, several=True) == wanted
    ids = [np.array([ord(w) for w in s]) for s in hypotheses]
    ones = [[[ord(w) for w in s] for s in options] for options in references]
    assert corpus_bleu(ids, ones, several=True) == wanted


# BLEU as recorded


def golden_texts():
    """The texts of the golden file: {name: (hypotheses, references)}, all strings."""
    cat = "the cat is on the mat"
    hello = [["hello there my old friend", "hello my friend"], ["good bye"]]
    texts = {
        "clipping": (["the the the the the the the"], [[cat, "there is a cat here"]]),
        "brevity": (["the cat is on"], [[cat]]),
        "equal": ([cat, "it sat there all day"], [[cat], ["it sat there all day"]]),
        "too long": (["so the cat is on the mat now"], [[cat]]),
        "no word": (["a b c d e"], [["v w x y z"]]),
        "one word right": (["a b c d e"], [["v a x y z"]]),
        "short": (["the cat"], [["the cat"]]),
        "short and wrong": (["the dog"], [["the cat"]]),
        "one word": (["cat"], [["cat"]]),
        "empty": (["", "the cat is here now"], [[cat], ["the cat is here today"]]),
        "references of other lengths": (["hello my old friend", "good bye"], hello),
        "punctuation": (["Ça va , l' ami ?"], [["Ça va , mon ami ?"]]),
    }
    for seed in range(8):
        hypotheses, references = random_corpus(seed, most=1 if seed % 2 else 3)
        texts[f"random {seed}"] = (
            [" ".join(s) for s in hypotheses],
            [[" ".join(s) for s in ones] for ones in references],
        )
    return texts


def golden_calls():
    """(smoothing, value, max_order, effective_order) of every score in the file."""
    orders = [(4, False), (4, True), (2, False), (1, True)]
    return [(*s, *o) for s, o in itertools.product(SMOOTHINGS, orders)]


def record():
    """Write the golden file."""
    import sacrebleu

    cases = {}
    for name, (hypotheses, references) in golden_texts().items():
        streams = list(map(list, itertools.zip_longest(*references)))
        scores = []
        for smoothing, value, order, effective in golden_calls():
            metric = sacrebleu.BLEU(
                tokenize="none", smooth_method=smoothing, smooth_value=value,
                max_ngram_order=order, effective_order=effective, force=True,
            )  # fmt: skip
            scores.append(metric.corpus_score(hypotheses, streams).score)
        cases[name] = {
            "hypotheses": hypotheses, "references": references, "scores": scores,
        }  # fmt: skip
    whole = {
        "made by": f"sacrebleu {sacrebleu.__version__}, tokenize='none', corpus_score",
        "with": "record() in tests/test_metrics.py",
        "calls": "smoothing, value, max_order, effective_order of the scores, in order",
        "arguments": golden_calls(),
        "cases": "CASES",
    }
    lines = [  # one case a line
        f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}"
        for k, v in cases.items()
    ]
    text = json.dumps(whole).replace('"CASES"', "{\n" + ",\n".join(lines) + "\n}")
    GOLDEN.write_text(text + "\n", encoding="utf-8")


RECORDED = json.loads(GOLDEN.read_text("utf-8")) if GOLDEN.exists() else {"cases": {}}


@pytest.mark.parametrize("name", golden_texts())
def test_bleu_is_that_of_the_peer(name):
    case = RECORDED["cases"][name]
    texts = case["hypotheses"], case["references"]
    assert len(case["scores"]) == len(RECORDED["arguments"]) == len(golden_calls())
    for call, wanted in zip(RECORDED["arguments"], case["scores"]):
        smoothing, value, order, effective = call
        found = corpus_bleu(*texts, order, smoothing, value, True, effective)
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12), call
        if effective and len(texts[0]) == 1 and order == 4:
            one = sentence_bleu(
                texts[0][0], texts[1][0], order, smoothing, value, several=True
            )
            assert one == found


# accuracy


def test_accuracy_and_exact_match():
    wanted = np.array([[5, 6, 2, 0], [7, 2, 0, 0], [5, 6, 7, 2]])
    said = np.array([[5, 6, 2, 9], [7, 9, 9, 9], [5, 9, 7, 2]])
    assert token_accuracy(said, wanted) == 7 / 9
    assert exact_match(said, wanted) == 1 / 3
    assert token_accuracy(wanted, wanted) == exact_match(wanted, wanted) == 1
    # what is not said is wrong; what is said beyond is not asked for
    assert token_accuracy(said[:, :2], wanted) == 4 / 9
    assert exact_match(said[:, :2], wanted) == 0
    wide = np.concatenate([said, said], axis=1)
    assert token_accuracy(wide, wanted) == 7 / 9
    assert exact_match(said, wanted, ignore=None) == 0
    assert token_accuracy([[0, 1]], [[0, 2]], ignore=-1) == 0.5


# alignments


def one_hot(sources, S):
    return np.eye(S)[list(sources)]


def test_alignment_error_rate_by_hand():
    w = one_hot([0, 2, 1, 3], 5) * 0.6 + 0.08
    assert links(w) == {(0, 0), (1, 2), (2, 1), (3, 3)}
    gold = {(0, 0), (1, 2), (2, 1), (3, 3)}
    assert alignment_error_rate(w, gold) == 0
    assert alignment_error_rate(w, {(0, 1), (1, 0)}) == 1
    # 2 of 4 found links are right, and 2 of 3 gold ones found
    gold = {(0, 0), (1, 2), (2, 4)}
    assert alignment_error_rate(w, gold) == pytest.approx(1 - 4 / 7)
    # (3, 3) is allowed now: 2 sure and 3 possible ones
    assert alignment_error_rate(w, gold, {(3, 3), (3, 4)}) == pytest.approx(1 - 5 / 7)
    # sure or not, the possible ones hold the sure ones
    assert alignment_error_rate(w, gold, gold | {(3, 3)}) == pytest.approx(1 - 5 / 7)
    assert alignment_error_rate(w, set(), {(0, 0)}) == pytest.approx(1 - 1 / 4)


def test_alignments_in_every_form():
    w = np.random.default_rng(1).dirichlet(np.ones(6), 4)
    gold, possible = {(0, 3), (2, 1)}, {(1, 5)}
    wanted = alignment_error_rate(w, gold, possible)
    matrix, other = np.zeros((4, 6), bool), np.zeros((4, 6), bool)
    matrix[[0, 2], [3, 1]], other[1, 5] = True, True
    for weights in (w, w.tolist(), mg.Tensor(w), w.astype(np.float16)):
        assert alignment_error_rate(weights, matrix, other) == wanted
        assert alignment_error_rate(weights, [[0, 3], (2, 1)], list(possible)) == wanted
    assert alignment_error_rate(w, np.array([[0, 3], [2, 1]]).tolist()) <= 1


def test_ties_and_rows_of_nothing():
    w = np.array([[0.5, 0.5, 0], [0, 0, 0], [0.2, 0.4, 0.4]])
    assert links(w) == {(0, 0), (2, 1)}
    assert alignment_error_rate(w, {(0, 0), (2, 1)}) == 0


def test_of_many_sentences_the_counts_are_summed():
    a, b = one_hot([0], 3), one_hot([0, 1, 2, 2], 3)
    golds = {(0, 1)}, {(0, 0), (1, 1), (2, 2)}
    rates = [alignment_error_rate(w, g) for w, g in zip((a, b), golds)]
    assert rates == [1, pytest.approx(1 - 6 / 7)]
    assert corpus_alignment_error_rate([a, b], golds) == pytest.approx(1 - 6 / 9)
    found = corpus_alignment_error_rate([a, b], golds, [{(0, 0)}, None])
    assert found == pytest.approx(1 - 7 / 9)


def test_baselines():
    assert diagonal_links(3, 5) == {(0, 0), (1, 2), (2, 4)}
    assert diagonal_links(1, 5) == {(0, 0)} and diagonal_links(0, 5) == set()
    gold = {(0, 0), (1, 1), (2, 3), (3, 2)}
    assert diagonal_baseline(4, 4, gold) == pytest.approx(1 - 4 / 8)
    assert diagonal_baseline(4, 4, {(t, t) for t in range(4)}) == 0
    # every way to guess, 4^3 of them, in the mean
    sure, possible = {(0, 0), (2, 1)}, {(2, 2)}
    rates = [
        alignment_error_rate(one_hot(guess, 4), sure, possible)
        for guess in itertools.product(range(4), repeat=3)
    ]
    assert uniform_baseline(3, 4, sure, possible) == pytest.approx(np.mean(rates))


# entropy


def test_entropy_by_a_loop():
    rng = np.random.default_rng(1)
    w = rng.dirichlet(np.ones(5), (3, 2, 4))  # (B, H, L, S)
    lengths, targets = [5, 3, 1], [4, 2, 0]
    H, kept = attention_entropy(w, lengths), []
    assert H.shape == (3, 2, 4)
    for b, h, t in np.ndindex(H.shape):
        row = w[b, h, t, : lengths[b]]
        wanted = -sum(x * math.log(x) for x in row / row.sum())
        assert H[b, h, t] == pytest.approx(wanted, abs=1e-12)
        if t < targets[b]:
            kept.append(wanted)
    assert mean_attention_entropy(w, lengths, targets) == pytest.approx(np.mean(kept))
    assert mean_attention_entropy(w) == pytest.approx(attention_entropy(w).mean())


@pytest.mark.filterwarnings("error")
def test_entropy_of_one_of_all_and_of_none():
    w = np.array([[1, 0, 0, 0], [0.25] * 4, [0.5, 0.5, 0, 0], [0] * 4])
    H = attention_entropy(w)
    assert H == pytest.approx([0, math.log(4), math.log(2), 0]) and not np.signbit(H[0])
    assert mean_attention_entropy(w) == pytest.approx((math.log(4) + math.log(2)) / 3)
    # all that the last row looks at is padding
    w = np.array([[[0.5, 0.25, 0.25], [0, 0, 1]]])
    assert attention_entropy(w, [2])[0, 1] == 0
    wanted = -(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3))
    assert mean_attention_entropy(w, [2]) == pytest.approx(wanted)


def test_entropy_of_half_precision_and_of_a_tensor():
    w = np.random.default_rng(1).dirichlet(np.ones(50), 20)
    wanted = attention_entropy(w)
    for half in (w.astype(np.float16), mg.Tensor(w.astype(np.float32))):
        assert attention_entropy(half) == pytest.approx(wanted, rel=1e-2)


def test_rows_that_sum_to_less_than_one_by_design():
    """As of local-p: a Gaussian stands upon the softmax."""
    p = np.random.default_rng(2).dirichlet(np.ones(6), (3, 4))
    w = p * np.linspace(0.2, 0.9, 4)[:, None]
    w[0, 0] = 0
    with pytest.raises(
        ValueError, match=r"renormalized\(weights\) brings those of loc"
    ):
        attention_entropy(w)
    p[0, 0] = 0
    np.testing.assert_allclose(renormalized(w), p, atol=1e-15)
    assert attention_entropy(renormalized(mg.Tensor(w))) == pytest.approx(
        attention_entropy(p)
    )
    gold = {(1, 1), (2, 3)}
    assert alignment_error_rate(renormalized(w[1]), gold) == pytest.approx(
        alignment_error_rate(p[1], gold)
    )
    for scores in p * 2, p - 0.5:  # they are no weights
        with pytest.raises(ValueError, match="renormalized: row .* of the weights "):
            renormalized(scores)
