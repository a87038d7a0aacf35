"""BLEU equals the peer's, as recorded.

``tests/golden/bleu.json`` holds what sacrebleu computed, with its version, of texts
that stand in the file. To record it again, where sacrebleu is installed:

    python -c "from tests.test_metrics_peer import record; record()"
"""

import itertools
import json
import pathlib

import pytest

from attention.seq2seq.metrics import corpus_bleu, sentence_bleu

from .metrics_cases import SMOOTHINGS, random_corpus

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "bleu.json"


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
        "with": "record() in tests/attention/seq2seq/test_metrics_peer.py",
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
