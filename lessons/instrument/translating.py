"""Compare translators fairly: the arms are options of ``TranslationConfig``.

    class Windows(Translating):
        name, question = "copy", "Can a window copy?"
        options = {"task": "copy", "hidden": 64}
        arms = {"global": {}, "local-m": {"local": "m", "window": 3}}

The figure is the share of strings that are right as a whole, or BLEU of sentences.
"""

import functools
from collections import Counter

from attention.app.experiments import scoring, translation

from .fair import Study


class Translating(Study):
    """A comparison of translators.

    options    of all arms, for ``TranslationConfig``
    arms       {name: further options}
    """

    options, arms, ceiling = {}, {}, float("inf")  # BLEU has another one than a share

    def config_of(self, arm, rate=None, seed=0):
        """Return the ``TranslationConfig`` of a run."""
        return translation.Config(
            **{"validation": 200, **self.options, **self.arms[arm]}, lr=rate, seed=seed
        )

    @functools.cached_property
    def data(self):
        """The sentences or questions, the same for all arms."""
        return translation.load(self.config_of(next(iter(self.arms))))

    def batches(self, seed):
        batch = self.config_of(next(iter(self.arms))).batch
        return translation.Batches(self.data.ids("train"), batch, seed)

    def build(self, arm, rate, seed):
        run, run.rng = translation.build(self.config_of(arm, rate, seed), self.data)
        return run

    def loss_at(self, arm, run, seed, step):
        # dropout draws from this generator
        run.rng.bit_generator.state = translation.generator_state(seed, step)
        return translation.loss_of(run.model, run.batches[step])

    def validate(self, arm, model):
        return self.figure_of(self.scores(model, self.data.validation))

    def test(self, arm, model):
        found = self.scores(model, self.data.test)
        found.pop("said")
        return {"figure": self.figure_of(found), **found}

    def scores(self, model, pairs):
        """Return the scores of the translations of pairs of words."""
        return scoring.score(translation.translator(model, self.data), pairs)

    def figure_of(self, scores):
        """Return the figure, out of all scores."""
        return scores["bleu"]["all"] if "bleu" in scores else scores["exact"]["all"]


def word_by_word(train, sources):
    """Translate each word by the target word that it was linked with most often.

    train   [(words of a source, words of its target, their alignment)]

    That is a trivial solution: it keeps the order, and reads no other word.
    """
    linked = {}
    for source, target, alignment in train:
        for t, s in alignment:
            linked.setdefault(source[s], Counter())[target[t]] += 1
    return [
        [linked[w].most_common(1)[0][0] for w in source if w in linked]
        for source in sources
    ]
