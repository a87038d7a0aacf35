"""Does coverage keep a trained decoder from repeating itself? A record of lesson 08.

    python lessons/book/08_local_coverage/repeating.py

Additive attention with coverage (in the score and in the loss) and without learns to
translate 500 pairs of English and German, three seeds. Greedy decoding and beam search
write the test sentences. A repetition is a word that an output has more often than its
reference, which has it, too. Three minutes on a core.
"""

import pathlib
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

import numpy as np

from attention.app.experiments import bootstrap, translation
from attention.seq2seq.beam import beam_search
from attention.tasks.batch import EOS
from attention.tasks.batching import in_order
from lessons.classroom.records import write_record

STEPS, SEEDS, LONGEST = 300, (1, 2, 3), 40
SEARCHES = {  # beta: the penalty of beam search for words that were not looked at
    "greedy": {"beam": 1},
    "beam": {"beam": 4},
    "beam, beta": {"beam": 4, "alpha": 0.2, "beta": 0.2},
}


def repetitions(said, wanted):
    """(repeated words, words) of an output beside its reference."""
    mine, right = Counter(said), Counter(wanted)
    return sum(max(mine[w] - right[w], 0) for w in right), len(said)


def written(model, data, options):
    """The translations of the test sentences, lists of words."""
    found = []
    for batch in in_order(data.ids("test"), 100):
        out = beam_search(model, batch.source, batch.lengths, LONGEST, **options)
        for row, n in zip(out.ids, out.lengths):
            found.append(data.target.decode([i for i in row[:n] if i != EOS]))
    return found


def train(coverage, seed, data):
    """{search: (counts of BLEU (n, 10), repetitions (n, 2), some translations)}"""
    config = translation.Config(
        pairs=500, steps=STEPS, patience=STEPS, seed=seed, coverage=coverage
    )
    run, _ = translation.train(config, data)
    model = translation.translator_of(config, data, run).model
    wanted = [list(pair.target) for pair in data.test]
    found = {"validation": run.best["loss"]}
    for name, options in SEARCHES.items():
        said = written(model, data, options)
        pairs = zip(said, wanted)
        repeated = np.array([repetitions(*each) for each in pairs])
        worst = sorted(range(len(said)), key=lambda i: -repeated[i, 0])[:3]
        examples = [[" ".join(x[i]) for x in (said, wanted)] for i in worst]
        found[name] = bootstrap.counts(said, wanted), repeated, examples
    return found


def intervals(by_kind, of):
    """{kind: [value, low, high]} and the difference "less": the first kind - the second

    by_kind   {kind: (seeds, n, k)} counts;  of   (..., k) sums -> a number
    """
    rng, times = np.random.default_rng(1), 2000
    n = next(iter(by_kind.values())).shape[1]
    weights = rng.multinomial(n, np.full(n, 1 / n), size=times)
    values, drawn = {}, {}
    for kind, counts in by_kind.items():
        values[kind] = float(of(counts.sum(1)).mean())
        each = of(np.einsum("tn,snk->tsk", weights, counts))  # (times, seeds)
        seeds = rng.integers(len(counts), size=each.shape)
        drawn[kind] = np.take_along_axis(each, seeds, 1).mean(1)
    found = {k: [values[k], *bootstrap.interval(drawn[k])] for k in by_kind}
    first, second = by_kind
    less = bootstrap.interval(drawn[first] - drawn[second])
    return found | {"less": [values[first] - values[second], *less]}


def main():
    data = translation.load(translation.Config(pairs=500))
    plan = [(coverage, seed) for seed in SEEDS for coverage in (False, True)]
    runs = {"without": [], "with": []}
    with ProcessPoolExecutor(2) as workers:
        waiting = [workers.submit(train, *each, data) for each in plan]
        for (coverage, seed), one in zip(plan, waiting):
            runs["with" if coverage else "without"].append(one.result())
            found = one.result()
            shares = [found[s][1].sum(0) for s in SEARCHES]
            print(coverage, seed, found["validation"], shares, flush=True)
    results = {"steps": STEPS, "bleu": {}, "repeated": {}, "said": {}, "searches": {}}
    for search, options in SEARCHES.items():
        ngrams, repeated = (
            {kind: np.stack([one[search][i] for one in runs[kind]]) for kind in runs}
            for i in (0, 1)
        )
        results["bleu"][search] = intervals(ngrams, bootstrap.bleu)
        share = intervals(repeated, lambda x: x[..., 0] / x[..., 1])
        results["repeated"][search] = share
        results["said"][search] = runs["without"][0][search][2]
        results["searches"][search] = options
        print(search, results["bleu"][search], share)
    results["validation"] = {
        kind: [one["validation"] for one in each] for kind, each in runs.items()
    }
    command = "python lessons/book/08_local_coverage/repeating.py"
    print(write_record("repeating", results, command=command, seeds=SEEDS))


if __name__ == "__main__":
    main()
