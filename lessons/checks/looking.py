"""The fake model and the two measurements of the check of 6.7."""

import os

import numpy as np

import minigrad as mg
from attention import kernels, marian
from attention.app.experiments import scoring
from attention.app.pretrained import EN_FR
from attention.plotting import heatmaps as plots
from attention.seq2seq import alignment_metrics, patterns, translator
from attention.tasks.grammar import by_length, splits
from lessons.classroom.catalogue import work_folder

PAD, SOS, EOS = 0, 1, 2
NOT_RUN = "not run: weights not supplied"
TEXTS = (  # for tier B: of 5, 15 and 30 words
    "The black cat sleeps here.",
    "The young woman who lives next door has bought a small red car this morning.",
    "When the old man came back to his village after many long years, he did not know "
    "the houses, and nobody in the old street knew what he really wanted.",
)


class Fake:
    """A model that writes the words of ``script``.

    If its input is not the word before, it writes 9, or 8 in the first step.
    """

    def __init__(self, script, S, forbidden=PAD):
        self.script, self.S, self.forbidden = script, S, forbidden

    def start(self, source, lengths):
        assert source.shape == (1, self.S) and list(lengths) == [self.S]
        return 0, SOS

    def step(self, state, words):
        t, expected = state
        right = int(words[0]) == expected and t < len(self.script)
        word = self.script[t] if right else 9 if t else 8
        logits = np.zeros((1, 12))
        logits[0, [word, self.forbidden]] = 1, 2  # the most probable one is not allowed
        return mg.Tensor(logits), (t + 1, word), mg.Tensor(self.weights(t)[None])

    def weights(self, t):
        w = np.exp(np.sin(1 + 3 * t + np.arange(self.S) ** 2))
        return w / w.sum()


def weights_folder():
    """Return the folder of the learner's Marian model, or None."""
    return os.environ.get("LESSONS_WEIGHTS")


def pretrained():
    """Return the package's translator and pairs that it was not trained on."""
    model = translator.load(EN_FR)
    return model, splits("english-french", train=1, validation=1, test=200).test


def tier_a(my, n=200):
    """Return measurements of the package's model with the learner's functions.

    The error rates are means over the sentences whose translation equals the reference,
    because the right alignment is known only for these.
    """
    with kernels.backend("numpy"):
        model, pairs = pretrained()
        found = [
            my.collect_attention(model.model, model.source.encode(pair.source))
            for pair in pairs[:n]
        ]
    kept, off, agree = [], 0.0, True
    for pair, (said, w) in zip(pairs, found):
        w = np.asarray(w, float)
        off = max(off, float(np.abs(w.sum(1) - 1).max()))
        name = my.pattern(w)
        expected = patterns.alignment_pattern(w)
        agree &= name == expected or expected == "uniform"
        right = model.target.decode(said) == list(pair.target)
        kept.append((pair, w, name, right))
    exact = [(pair, w) for pair, w, _, right in kept if right]
    rates = {
        "aer": [my.alignment_error_rate(my.links(w), p.alignment) for p, w in exact],
        "aer_diagonal": [
            alignment_metrics.diagonal_baseline(*w.shape, p.alignment) for p, w in exact
        ],
    }
    names = "diagonal", "reordering", "many-to-one"
    counted = {
        bucket: {
            name: sum(n == name and p in inside for p, _, n, _ in kept)
            for name in names
        }
        for bucket, inside in by_length([pair for pair, *_ in kept]).items()
    }
    return {
        "sentences": len(kept),
        "exact": len(exact) / len(kept),
        "off": off,  # from 1, of the sum of a row
        "agree": agree,  # with the engine's patterns
        **{name: float(np.mean(each)) for name, each in rates.items()},
        "patterns": counted,
    }


def tier_b(my, folder, texts=TEXTS):
    """Return the patterns of a published model, as means over layers and heads."""
    model, found = marian.load(folder), []
    if model.tokenizer is None:
        return {"not run": f"{folder} has no tokenizer; expected source.spm and others"}
    for k, text in enumerate(texts):
        ids = np.array([model.tokenizer.encode(text)])
        said = model.generate(ids, num_beams=1)  # PAD first, EOS last
        with mg.no_grad():
            layers = model(ids, said[:, :-1], return_attentions=True).cross_attentions
        w = my.layer_head_mean([np.asarray(layer[0], float) for layer in layers])
        source, target = ids[0].tolist(), said[0, 1:].tolist()  # row t is for target t
        found.append({
            "text": text,
            "said": model.tokenizer.decode(said[0]),
            "source": source,
            "target": target,
            "off": float(np.abs(w.sum(1) - 1).max()),
            "pattern": my.pattern(w),
        })  # fmt: skip
        draw(f"tier_b_{k}", w, list(map(str, source)), list(map(str, target)),
             f"Tier B, a published model: {found[-1]['pattern']}")  # fmt: skip
    return {"folder": os.path.basename(os.path.normpath(folder)), "sentences": found}


def draw(name, w, source, target, title, gold=None):
    """Draw a heatmap into the learner's folder, with its tier in the title."""
    folder = work_folder() / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"ex_6_7_{name}.svg"
    plots.alignment_heatmap(w, source, target, title, path, gold=gold)


def draw_tier_a(my):
    """Draw a sentence of each length, with the right alignment if it is known."""
    model, pairs = pretrained()
    for bucket, inside in by_length(pairs).items():
        pair = inside[-1]
        said, w = my.collect_attention(model.model, model.source.encode(pair.source))
        words = model.target.decode(said)
        gold = sorted(pair.alignment) if words == list(pair.target) else None
        title = f"Tier A, our own model, {bucket} words: {my.pattern(w)}"
        draw(f"tier_a_{bucket}", w, list(pair.source), words, title, gold)


def experiment(my, seed=0):
    """Measure both tiers and draw the figures; no result depends on the seed."""
    found = {"tier A": tier_a(my)}
    draw_tier_a(my)
    folder = weights_folder()
    found["tier B"] = tier_b(my, folder) if folder else NOT_RUN
    return {
        **found,
        "tier A, told the reference": scoring.alignment_rates(*pretrained()),
    }
