"""Claims that rest on experiments of single lessons, each with its record.

A claim whose record has not been made yet stands in the table of open claims, with the
script that makes the record.
"""

import numpy as np

from lessons.classroom.records import record

from .claims import above, below, between, claim, interval, seeds, timed

POSED = "translation_posed", "lessons/book/13_translation/as_posed.py"
SCORES = "translation_scores", "lessons/book/13_translation/one_direction.py"
LOCAL = "local", "lessons/book/08_local_coverage/local.py"
REPEATING = "repeating", "lessons/book/08_local_coverage/repeating.py"
HEADS = "heads", "lessons/book/10_heads/ablation.py"
SCALING = "scaling", "lessons/book/10_heads/scaling.py"
QUALITY = "quality", "lessons/book/12_exact_and_cheap/quality.py"


def of_runs(name, what, **wanted):
    """Return a number of each run of a record that has these settings, by seed."""
    runs = [
        run
        for run in record(name)["runs"]
        if all(run[key] == value for key, value in wanted.items())
    ]
    return np.array([what(run) for run in sorted(runs, key=lambda run: run["seed"])])


for order in ("bahdanau", "luong"):
    register = claim(
        "6.3.1",
        f"dot matches additive in translation ({order}'s decoder, an encoder of one "
        "direction: BLEU of dot minus that of additive, within 2)",
        between(-2, 2),
        "13",
        "the dot product matches" if order == "bahdanau" else "",
        SCORES,
    )

    @register
    def less_of_dot(order=order):
        dot, additive = (
            of_runs(SCORES[0], lambda run: run["bleu"]["all"], order=order, score=score)
            for score in ("dot", "additive")
        )
        return seeds(dot - additive)


for task, within, words in (
    ("copy", 0.05, "copying, share of right strings, within 0.05"),
    ("en-de", 2, "translation, BLEU, within 2"),
):
    for kind in ("local-m", "local-p"):
        register = claim(
            "6.3.3",
            f"{kind} matches global attention ({words}: {kind} minus global)",
            between(-within, within),
            "08",
            needs=LOCAL,
        )

        @register
        def less_of_local(task=task, kind=kind):
            local, whole = (
                of_runs(LOCAL[0], lambda run: run["score"], task=task, kind=each)
                for each in (kind, "global")
            )
            return seeds(local - whole)


@claim(
    "6.3.3",
    "local attention is faster on long sequences (1000 words: time of global over that "
    "of local-m)",
    above(1),
    "08",
    needs=LOCAL,
)
def time_of_local():
    calls = record(LOCAL[0])["calls"]
    return timed([calls["global"][-1] / calls["local-m"][-1]])


@claim(
    "6.5.4",
    "early layers look near, deep layers far (weight on the nearest three words: first "
    "half of the layers minus second half)",
    above(0),
    "10",
    needs=HEADS,
)
def nearness_by_layer():
    layers = record(HEADS[0])["layers"]
    early, late = (
        of_runs(
            HEADS[0],
            lambda run, late=late: np.mean(
                [h["near"] for h in run["heads"] if (h["layer"] >= layers / 2) == late]
            ),
        )
        for late in (False, True)
    )
    return seeds(early - late)


def widest():
    runs = record(SCALING[0])["runs"]
    return {key: max(run[key] for run in runs) for key in ("width", "layers")}


@claim(
    "38.6",
    "an unscaled Transformer does not train at all (the widest and deepest, one head: "
    "right answers below 0.2, where chance is 0.125)",
    below(0.2),
    "10",
    "would not train at all",
    needs=SCALING,
)
def unscaled_transformer():
    right = of_runs(SCALING[0], lambda run: run["accuracy"], scaled=False, **widest())
    return seeds(right)


@claim(
    "38.6",
    "a scaled Transformer trains better (the same: right answers, scaled minus "
    "unscaled)",
    above(0),
    "10",
    needs=SCALING,
)
def gain_of_scaling():
    scaled, unscaled = (
        of_runs(SCALING[0], lambda run: run["accuracy"], scaled=each, **widest())
        for each in (True, False)
    )
    return seeds(scaled - unscaled)


@claim(
    "38.8",
    "coverage fights repetition (share of repeated words under beam search: without "
    "coverage minus with it)",
    above(0),
    "08",
    needs=REPEATING,
)
def fewer_repetitions():
    kept = record(REPEATING[0])
    rests_on = f"{len(kept['made']['seeds'])} seeds and their sentences"
    return interval(*kept["repeated"]["beam"]["less"]["with"], rests_on)


@claim(
    "notes",
    "linear attention loses some expressivity (right values of a small model, minus "
    "those of dense attention)",
    below(0),
    "12",
    needs=QUALITY,
)
def less_of_linear():
    linear, dense = (
        of_runs(QUALITY[0], lambda run: run["accuracy"][0], form=form)
        for form in ("linear", "dense")
    )
    return seeds(linear - dense)


@claim(
    "ex. 6.9",
    "as posed (2 layers of LSTM, 20 epochs, 500 pairs) the advantage of attention "
    "grows with length (BLEU, from 5 to 7 words to 11 to 15)",
    above(0),
    "13",
    needs=POSED,
)
def growth_as_posed():
    attention, none = (
        of_runs(
            POSED[0], lambda run: run["bleu"]["11-15"] - run["bleu"]["5-7"], kind=kind
        )
        for kind in ("bahdanau", "none")
    )
    return seeds(attention - none)
