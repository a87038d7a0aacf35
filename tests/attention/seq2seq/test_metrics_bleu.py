"""BLEU is what is counted by hand, and its definition in loops."""

import math

import numpy as np
import pytest

from attention.seq2seq.metrics import bleu_parts, corpus_bleu, sentence_bleu

from .metrics_cases import SMOOTHINGS, random_corpus


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
