"""Does coverage keep a trained decoder from repeating itself? A record of lesson 08.

    python lessons/book/08_local_coverage/repeating.py

Additive attention without coverage, with coverage from the first step (in the score and
in the loss), and with coverage in a last phase learns to translate 500 pairs of English
and German, three seeds. Greedy decoding and beam search write the test sentences. A
repetition is a word that an output has more often than its reference, which has it,
too. Five minutes on a core.
"""

import pathlib
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

import numpy as np

from attention.app.experiments import bootstrap, translation
from attention.decoding.beam import beam_search
from attention.tasks.batch import EOS
from attention.tasks.batching import Batches, in_order
from lessons.classroom.records import write_record

STEPS, LAST, SEEDS, LONGEST = 300, 60, (1, 2, 3), 40
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


def config_of(coverage, seed, **options):
    options = {"pairs": 500, "steps": STEPS, "patience": STEPS} | options
    return translation.Config(coverage=coverage, seed=seed, **options)


def train(coverage, seed, data):
    """{kind: what ``judged`` returns} of a model with coverage, or of two without.

    The second of the two gets coverage for LAST more steps, as in See et al. 2017.
    """
    config = config_of(coverage, seed)
    run, _ = translation.train(config, data)
    model = translation.translator_of(config, data, run).model
    if coverage:
        return {"with": judged(model, data)}
    found = {"without": judged(model, data)}
    late, _ = translation.build(config_of(True, seed, steps=LAST, lr=1e-3), data)
    late.model.load_state_dict(model.state_dict(), strict=False)
    batches = Batches(data.ids("train"), config.batch, seed + 1000)
    for step in range(LAST):
        late.descend(translation.loss_of(late.model, batches[step]))
    return found | {"at the end": judged(late.model, data)}


def judged(model, data):
    """{search: (counts of BLEU (n, 10), repetitions (n, 2), some translations)}"""
    wanted, found = [list(pair.target) for pair in data.test], {}
    for name, options in SEARCHES.items():
        said = written(model, data, options)
        repeated = np.array([repetitions(*each) for each in zip(said, wanted)])
        worst = sorted(range(len(said)), key=lambda i: -repeated[i, 0])[:3]
        examples = [[" ".join(x[i]) for x in (said, wanted)] for i in worst]
        found[name] = bootstrap.counts(said, wanted), repeated, examples
    return found


def intervals(by_kind, of):
    """{kind: [value, low, high], "less": {kind: likewise, of the first kind - this}}

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
    first, *others = by_kind
    less = {
        k: [values[first] - values[k], *bootstrap.interval(drawn[first] - drawn[k])]
        for k in others
    }
    return found | {"less": less}


def main():
    data = translation.load(config_of(False, 1))
    plan = [(coverage, seed) for seed in SEEDS for coverage in (False, True)]
    runs = {"without": [], "with": [], "at the end": []}
    with ProcessPoolExecutor(2) as workers:
        for one in [workers.submit(train, *each, data) for each in plan]:
            for kind, found in one.result().items():
                runs[kind].append(found)
                print(kind, [found[s][1].sum(0) for s in SEARCHES], flush=True)
    results = {
        "steps": STEPS, "last": LAST, "bleu": {}, "repeated": {}, "said": {}, "searches": {},
    }  # fmt: skip
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
    command = "python lessons/book/08_local_coverage/repeating.py"
    print(write_record("repeating", results, command=command, seeds=SEEDS))


if __name__ == "__main__":
    main()
