"""Is the dot product as good as the additive score? A record of lesson 13.

    python lessons/book/13_translation/one_direction.py

The dot product needs queries and keys of one width, so the encoder reads in one
direction here. Everything else is that of ``python -m attention translate train``.
English to German, two sizes of data, both orders of the decoder, three seeds. Eight
minutes on a core.
"""

import pathlib
import sys
from concurrent.futures import ProcessPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

import numpy as np

from attention.app.experiments import bootstrap, scoring, translation
from lessons.classroom.records import write_record

ORDERS, SCORES = ("bahdanau", "luong"), ("additive", "dot")
STEPS = {500: 600, 2000: 1000}  # pairs: steps at most
SEEDS = (1, 2, 3)


def config_of(pairs, order, score, seed):
    return translation.Config(
        pairs=pairs, steps=STEPS[pairs], attention=order, score=score, seed=seed,
        bidirectional=False,
    )  # fmt: skip


def train(config, data):
    """{the numbers of a run}, and the counts of n-grams of its translations."""
    run, _ = translation.train(config, data)
    translator = translation.translator_of(config, data, run)
    scores = scoring.score(translator, data.test)
    found = {"best_step": run.best["step"], "validation": run.best["loss"]}
    found |= {"seconds": run.seconds, "parameters": run.model.num_parameters()}
    found |= {key: scores[key] for key in ("bleu", "exact", "aer")}
    wanted = [list(pair.target) for pair in data.test]
    return found, bootstrap.counts(scores["said"], wanted)


def measure(pairs, workers):
    data = translation.load(config_of(pairs, "luong", "dot", 1))
    plan = [(o, score, seed) for o in ORDERS for score in SCORES for seed in SEEDS]
    waiting = [workers.submit(train, config_of(pairs, *one), data) for one in plan]
    runs, counts = [], {}
    for (order, score, seed), one in zip(plan, waiting):
        found, n = one.result()
        counts.setdefault(order, {}).setdefault(score, []).append(n)
        runs.append({"order": order, "score": score, "seed": seed} | found)
        print(pairs, *runs[-1].values(), flush=True)
    summary = {
        order: compared({score: np.stack(n) for score, n in by_score.items()})
        for order, by_score in counts.items()
    }
    print(summary, flush=True)
    return {"steps": STEPS[pairs], "runs": runs, "summary": summary}


def compared(counts):
    """{"bleu": {score: [mean, low, high]}, "less": {score: its lack beside additive}}

    The intervals draw sentences and seeds anew, 2000 times.
    """
    drawn = bootstrap.resampled(counts, seed=1)
    mean = {k: float(bootstrap.bleu(n.sum(1)).mean()) for k, n in counts.items()}
    found = {"bleu": {}, "less": {}}
    for score in counts:
        found["bleu"][score] = [mean[score], *bootstrap.interval(drawn[score])]
        lack = bootstrap.interval(drawn["additive"] - drawn[score])
        found["less"][score] = [mean["additive"] - mean[score], *lack]
    return found


def main():
    with ProcessPoolExecutor(2) as workers:
        found = {str(pairs): measure(pairs, workers) for pairs in STEPS}
    command = "python lessons/book/13_translation/one_direction.py"
    print(write_record("translation_scores", found, command=command, seeds=SEEDS))


if __name__ == "__main__":
    main()
