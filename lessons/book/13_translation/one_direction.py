"""Is the dot product as good as the additive score? A record of lesson 13.

    python lessons/book/13_translation/one_direction.py

The dot product needs queries and keys of one width, so the encoder reads in one
direction here. Everything else is that of ``python -m attention translate train``.
2000 pairs of English and German, both orders of the decoder, three seeds. Four minutes
on a core.
"""

import pathlib
import sys
from concurrent.futures import ProcessPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

import numpy as np

from attention.app.experiments import bootstrap, scoring, translation
from lessons.classroom.records import write_record

ORDERS, SCORES = ("bahdanau", "luong"), ("additive", "dot")
PAIRS, STEPS, SEEDS = 2000, 600, (1, 2, 3)


def config_of(order, score, seed):
    return translation.Config(
        pairs=PAIRS, steps=STEPS, attention=order, score=score, seed=seed,
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
    data = translation.load(config_of("luong", "dot", 1))
    plan = [(o, score, seed) for seed in SEEDS for o in ORDERS for score in SCORES]
    runs, counts = [], {order: {score: [] for score in SCORES} for order in ORDERS}
    with ProcessPoolExecutor(2) as workers:
        waiting = [workers.submit(train, config_of(*one), data) for one in plan]
        for (order, score, seed), one in zip(plan, waiting):
            found, n = one.result()
            counts[order][score].append(n)
            runs.append({"order": order, "score": score, "seed": seed} | found)
            print(*runs[-1].values(), flush=True)
    found = {"pairs": PAIRS, "steps": STEPS, "runs": runs, "summary": {}}
    for order, by_score in counts.items():
        by_score = {score: np.stack(n) for score, n in by_score.items()}
        found["summary"][order] = compared(by_score)
    print(found["summary"])
    command = "python lessons/book/13_translation/one_direction.py"
    print(write_record("translation_scores", found, command=command, seeds=SEEDS))


if __name__ == "__main__":
    main()
