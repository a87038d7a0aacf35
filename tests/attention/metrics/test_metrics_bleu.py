"""BLEU equals its definition in loops, and the scores of sacrebleu.

``tests/golden/bleu.json`` holds texts and the scores that sacrebleu computed of them,
with its version. To record it again, where sacrebleu is installed:

    python -c "from tests.attention.metrics.test_metrics_bleu import record; record()"
"""

import itertools
import json
import math
import pathlib
import random

import numpy as np
import pytest

from attention.metrics import bleu_parts, corpus_bleu

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "bleu.json"


def random_corpus(seed, sentences=6, most=3):
    """Hypotheses that are damaged copies of one of their references."""
    rng = random.Random(seed)
    hypotheses, references = [], []
    for _ in range(sentences):
        ones = [
            [rng.choice("abcde") for _ in range(rng.randint(4, 12))]
            for _ in range(rng.randint(1, most))
        ]
        copy = [w if rng.random() < 0.9 else "f" for w in rng.choice(ones)]
        hypotheses.append(copy[: rng.randint(3, 12)])
        references.append(ones)
    return hypotheses, references


def test_brevity():
    # 3 words, 2 pairs and 1 triple are right; the reference has 6 words
    parts = bleu_parts(["the cat is"], ["the cat is on the mat"], max_order=3)
    assert parts.precisions == [100, 100, 100]
    assert parts.brevity_penalty == pytest.approx(math.exp(1 - 6 / 3))
    assert parts.score == pytest.approx(100 * math.exp(-1))
    # a long hypothesis has no penalty, but a lower precision
    long = bleu_parts(["the cat is on the mat now"], ["the cat is on the mat"], 1)
    assert long.brevity_penalty == 1 and long.score == pytest.approx(100 * 6 / 7)
    # the nearest reference counts, and of two the shorter
    ones = ["a b", "a b c d", "a b c d e f g"]
    for text, nearest in [("a b c", 2), ("a b c d e", 4), ("a b c d e f", 7)]:
        assert bleu_parts([text], [ones], 1, several=True).reference_length == nearest


def reference_bleu(hypotheses, references, N):
    """Papineni's formula, unsmoothed, in loops; references: a list of lists."""
    log_sum, c, r = 0, 0, 0
    for n in range(1, N + 1):
        matches = total = 0
        for words, ones in zip(hypotheses, references):
            grams = [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
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
    for words, ones in zip(hypotheses, references):
        c += len(words)
        r += sorted((abs(len(one) - len(words)), len(one)) for one in ones)[0][1]
    return 100 * min(1, math.exp(1 - r / c)) * math.exp(log_sum)


@pytest.mark.parametrize("N", [1, 2, 4, 5])
def test_equal_to_the_definition(N):
    scores = set()
    for seed in range(60):
        hypotheses, references = random_corpus(seed)
        found = corpus_bleu(
            hypotheses, references, max_order=N, smoothing="none", several=True
        )
        wanted = reference_bleu(hypotheses, references, N)
        assert found == pytest.approx(wanted, rel=1e-12)
        scores.add(round(found))
    assert len(scores) > 5


def test_strings_lists_and_ids_give_the_same_score():
    hypotheses, references = random_corpus(3)
    wanted = corpus_bleu(hypotheses, references, several=True)
    strings = [" ".join(s) for s in hypotheses]
    ones = [[" \t".join(s) + "\n" for s in options] for options in references]
    assert corpus_bleu(strings, ones, several=True) == wanted
    ids = [np.array([ord(w) for w in s]) for s in hypotheses]
    ones = [[[ord(w) for w in s] for s in options] for options in references]
    assert corpus_bleu(ids, ones, several=True) == wanted


# sacrebleu


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
    """(smoothing, max_order, effective_order) of every score in the file."""
    orders = [(4, False), (4, True), (2, False), (1, True)]
    return [(s, *o) for s, o in itertools.product(("none", "exp"), orders)]


def record():
    """Write the golden file."""
    import sacrebleu

    cases = {}
    for name, (hypotheses, references) in golden_texts().items():
        streams = list(map(list, itertools.zip_longest(*references)))
        scores = []
        for smoothing, order, effective in golden_calls():
            metric = sacrebleu.BLEU(
                tokenize="none", smooth_method=smoothing, max_ngram_order=order,
                effective_order=effective, force=True,
            )  # fmt: skip
            scores.append(metric.corpus_score(hypotheses, streams).score)
        cases[name] = {
            "hypotheses": hypotheses, "references": references, "scores": scores,
        }  # fmt: skip
    whole = {
        "made by": f"sacrebleu {sacrebleu.__version__}, tokenize='none', corpus_score",
        "with": "record() in tests/attention/metrics/test_metrics_bleu.py",
        "calls": "smoothing, max_order, effective_order of the scores, in order",
        "arguments": golden_calls(),
        "cases": "CASES",
    }
    lines = [  # one case a line
        f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}"
        for k, v in cases.items()
    ]
    text = json.dumps(whole).replace('"CASES"', "{\n" + ",\n".join(lines) + "\n}")
    GOLDEN.write_text(text + "\n", encoding="utf-8")


RECORDED = json.loads(GOLDEN.read_text("utf-8"))


@pytest.mark.parametrize("name", golden_texts())
def test_bleu_is_that_of_sacrebleu(name):
    case = RECORDED["cases"][name]
    texts = case["hypotheses"], case["references"]
    assert texts == golden_texts()[name]
    assert list(map(tuple, RECORDED["arguments"])) == golden_calls()
    for call, wanted in zip(golden_calls(), case["scores"], strict=True):
        smoothing, order, effective = call
        found = corpus_bleu(
            *texts,
            max_order=order,
            smoothing=smoothing,
            several=True,
            effective_order=effective,
        )
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12), call
