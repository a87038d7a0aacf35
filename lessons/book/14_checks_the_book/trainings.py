"""Claims that rest on experiments of single lessons, each with its record."""

from dataclasses import replace
from importlib import import_module

import numpy as np

from attention.app.experiments import fair
from attention.app.experiments.verdict import above, below, between
from lessons.classroom.records import record

from .claims import claim, count, seeds, timed

ablation = import_module("lessons.book.10_heads.ablation")

for setting, words in (
    ("additive, 4", "additive scores"), ("dot, 4", "dot products of 4 numbers"),
    ("dot, 16", "dot products of 16 numbers"),
):  # fmt: skip
    register = claim(
        "6.2.2",
        "absolute values over their sum make it harder than a softmax to focus on one "
        f"key of ten ({words}: right values minus those of a softmax, below -0.01)",
        below(-0.01),
        "03",
        "focus sharply",
    )

    @register
    def less_of_absolute_values(setting=setting):
        return fair.difference(record("normalizers")[setting], "absolute", "softmax")


for order in ("bahdanau", "luong"):
    register = claim(
        "6.3.1",
        f"dot matches additive in translation ({order}'s decoder, 500 pairs: BLEU of "
        "dot minus that of additive, within 2)",
        between(-2, 2),
        "13",
        "the dot product matches" if order == "bahdanau" else "",
    )

    @register
    def less_of_dot(order=order):
        pair = f"{order}, dot", f"{order}, additive"
        return fair.difference(record("translation")["500"], *pair)


for task, within, words in (
    ("copy", 0.05, "copying, share of right strings, within 0.05"),
    ("reversal", 0.05, "reversal, share of right strings, within 0.05"),
    ("en-de", 2, "translation, BLEU, within 2"),
):
    for kind in ("local-m", "local-p"):
        register = claim(
            "6.3.3",
            f"{kind} matches global attention ({words}: {kind} minus global)",
            between(-within, within),
            "08",
        )

        @register
        def less_of_local(task=task, kind=kind):
            return fair.difference(record("local")[task], f"{kind}, D = 3", "global")


@claim(
    "6.3.3",
    "local attention is faster on long sequences (500 words: time of global over that "
    "of local-m)",
    above(1),
    "08",
)
def time_of_local():
    calls = record("local")["calls"]
    return timed([calls["global"][-1] / calls["local-m"][-1]])


@claim(
    "6.4.1",
    '"it" finds "animal" (two blocks: weight of "it" on its noun, minus that on the '
    "other noun, in the head that finds it best: above 0)",
    above(0),
    "09",
)
def lead_of_the_noun():
    def lead(run):
        return run["looks"]["meant"] - run["looks"]["other"]

    return fair.of_arm(record("pronouns")["models"], "two blocks", lead)


@claim(
    "6.4.1",
    "a single step has no intervening information loss (after training: largest weight "
    'of any head of "it" on its noun, above 0.9)',
    above(0.9),
    "09",
)
def weight_of_the_noun():
    kept = record("pronouns")["models"]
    return fair.of_arm(
        kept, "two blocks", lambda run: run["looks"]["any_head"]["meant"]
    )


@claim(
    "6.4.1",
    '"it" and "animal" show the central advantage of self-attention (right nouns of two '
    "blocks, minus those of a GRU of equal size: above 0.01)",
    above(0.01),
    "09",
    "central advantage",
)
def lead_over_a_recurrence():
    return fair.difference(record("pronouns")["models"], "two blocks", "GRU")


for setting, words in (
    ("additive, 4", "additive scores"), ("dot, 4", "dot products"),
):  # fmt: skip
    register = claim(
        "6.5.2",
        f"a trained lookup is as precise as a hard one ({words}: right values with all "
        "weight on the largest, minus right values, within 0.01)",
        between(-0.01, 0.01),
        "09",
        "as precise as a hard lookup" if setting == "additive, 4" else "",
    )

    @register
    def hard_minus_soft(setting=setting):
        return fair.of_arm(
            record("normalizers")[setting],
            "softmax",
            lambda run: run["hard"] - run["figure"],
        )

    register = claim(
        "6.5.2",
        f"nearly all weight is on one value ({words}, trained: the largest weight of "
        "ten, above 0.9)",
        above(0.9),
        "09",
    )

    @register
    def largest_weight(setting=setting):
        return fair.of_arm(record("normalizers")[setting], "softmax", "largest")


def nearness(late, trained=True):
    """Return the weight on the nearest three words, of one half of the layers."""
    kept = record("heads")
    models = fair.figures(kept["models"], "whole", lambda run: run["heads"])
    half = kept["layers"] / 2
    return np.array(
        [
            np.mean([h["near"] for h in heads if (h["layer"] >= half) == late])
            for heads in (models if trained else kept["untrained"])
        ]
    )


@claim(
    "6.5.4",
    "early layers look nearer than deep ones (weight on the nearest three words: first "
    "half of the layers minus second half, above 0)",
    above(0),
    "10",
)
def nearness_by_layer():
    return seeds(nearness(late=False) - nearness(late=True))


@claim(
    "6.5.4",
    "deep layers look far (second half of the layers: weight on the nearest three "
    "words, minus that before the training, below 0)",
    below(0),
    "10",
)
def nearness_of_deep_layers():
    return seeds(nearness(late=True) - nearness(late=True, trained=False))


def of_followers(what):
    """Return what each model of lesson 10 has, of its head that follows agreement."""

    def of_run(run):
        k = ablation.follower(run["heads"])
        return what(run["heads"][k], run["heads"][:k] + run["heads"][k + 1 :])

    return fair.of_arm(record("heads")["models"], "whole", of_run)


@claim(
    "6.5.4",
    "some heads follow the agreement of subject and verb (in each model, the head that "
    "does so most: its weight on the subject, from the word that predicts the verb, "
    "minus that of a head that looks at distances or at nouns: above 0.3)",
    above(0.3),
    "10",
    "subject-verb agreement heads",
)
def weight_on_the_subject():
    return of_followers(lambda own, others: ablation.excess(own["follows"]["before"]))


@claim(
    "6.5.4",
    "the number of a verb needs them (share of right verbs where the nearest noun has "
    "another number: without another head, minus without that one: above 0)",
    above(0),
    "10",
)
def verbs_that_need_the_head():
    def right(head):
        return head["without"]["differ"]

    return of_followers(
        lambda own, others: np.mean([right(head) for head in others]) - right(own)
    )


@claim(
    "38.6",
    "an unscaled Transformer does not train at all (six blocks of one head, d = 64: "
    "share of seeds with right answers below 0.2, chance is 0.125; nearly all, 0.9)",
    above(0.9),
    "10",
    "would not train at all",
)
def unscaled_transformer():
    kept = record("scaling")["6 blocks"]
    found = count(fair.figures(kept, "unscaled"), below(0.2))
    return replace(found, steps=fair.steps_without_plateau(kept, "unscaled"))


@claim(
    "38.6",
    "a scaled Transformer trains better (the same models, each with its best rate: "
    "right answers of scaled minus unscaled, above 0.01)",
    above(0.01),
    "10",
)
def gain_of_scaling():
    return fair.difference(record("scaling")["6 blocks"], "scaled", "unscaled")


for task, test, lists in (
    ("once", "longer", "copying a list without its repetitions, longer lists"),
    ("any order", "trained", "writing a list in any order"),
):
    for arm, words in (
        ("in the score", "in the score"),
        ("score and loss", "in score and loss, from the first step"),
        ("at the end", "in score and loss, in a last phase"),
    ):
        register = claim(
            "38.8",
            f"coverage {words} fights repetition ({lists}: share of repeated letters "
            "without coverage minus that with it, above .001)",
            above(0.001),
            "08",
        )

        @register
        def fewer_repetitions(task=task, test=test, arm=arm):
            def repeated(run):
                return run[test]["repeated"]

            kept = record("repeating")[task]
            return fair.difference(kept, "without", arm, repeated)


for arm, words in (("linear", "four heads"), ("wide linear", "one wide head")):
    register = claim(
        "notes",
        f"linear attention loses some expressivity ({words}: right values of a small "
        "model, minus those of dense attention)",
        below(0),
        "12",
    )

    @register
    def less_of_linear(arm=arm):
        return fair.difference(record("quality")["forms"], arm, "dense")
