"""The experiment of 6.7: alignments of the package's model, a Transformer, a Marian."""

import functools
import os
import time
import types
from collections import Counter

import numpy as np

import minigrad as mg
from attention import kernels
from attention.app.experiments import scoring
from attention.published import marian
from attention.tasks.batching import in_order
from attention.tasks.grammar import generate
from attention.tasks.vocabulary import Vocabulary
from attention.training import Run
from attention.transformer.config import EncoderDecoderConfig
from attention.transformer.encoder_decoder import EncoderDecoder
from lessons.instrument.verdict import below
from minigrad import optim

from .long_runs import judged, over_sentences
from .translators import joined, measured, pretrained, show

PAD = 0
NOT_RUN = "not run: weights not supplied"
TEXTS = (  # for tier B: of 5, 15 and 30 words
    "The black cat sleeps here.",
    "The young woman who lives next door has bought a small red car this morning.",
    "When the old man came back to his village after many long years, he did not know "
    "the houses, and nobody in the old street knew what he really wanted.",
)


class Transformer:
    """Two layers of four heads, trained on one or two sentences at a time."""

    def __init__(self, steps, rate=2e-3):
        rng = np.random.default_rng(0)
        pairs = generate("english-french", 3000, seed=7)
        self.source = Vocabulary.build([p.source for p in pairs])
        self.target = Vocabulary.build([p.target for p in pairs])
        sizes = {"width": 64, "heads": 4, "layers": 2, "hidden": 128, "tied": False}
        config = EncoderDecoderConfig(
            len(self.source), target_vocabulary=len(self.target), **sizes
        )
        self.model = EncoderDecoder(config, rng)
        run = Run(self.model, optim.Adam(self.model.parameters(), lr=rate))
        begun = time.monotonic()
        for i in range(steps):
            run.optimizer.lr = rate * min(1, (i + 1) / 50) * (1 - i / steps)
            rows = [rng.choice(len(pairs), rng.integers(1, 3)) for _ in range(32)]
            batch = self.batch([[pairs[k] for k in row] for row in rows])
            logits = self.model(batch.source, batch.target_in, batch.lengths)
            loss = mg.cross_entropy(logits, batch.target_out, ignore_index=PAD)
            run.descend(loss)
            if i % 50 == 49:
                left = (time.monotonic() - begun) / (i + 1) * (steps - i - 1)
                print(f"step {i + 1} of {steps}, loss {loss.item():.2f}, about "
                      f"{left:.0f} s left", flush=True)  # fmt: skip
        self.model.eval()

    def batch(self, rows):
        """Return the batch of rows, each a list of pairs that are read as one."""
        ids = [
            (self.source.encode(source), self.target.encode(target))
            for source, target, _ in map(joined, rows)
        ]
        return next(in_order(ids, len(ids)))

    def weights(self, row):
        """Return the weights of each layer, (H, T, S), for the reference as target."""
        batch = self.batch([row])
        with mg.no_grad():
            _, layers = self.model(
                batch.source, batch.target_in, batch.lengths, need_weights=True
            )
        return [np.asarray(layer, float)[0, :, :-1] for layer in layers]  # less EOS


def tier_t(answer, draw, steps=450):
    """Return patterns and error rates of a Transformer's layers, heads, and mean.

    It is no comparison of models: one is trained, and its heads are compared with their
    mean, sentence by sentence.
    """
    transformer, (_, pairs) = Transformer(steps), pretrained()
    five, fifteen = ([p for p in pairs if len(p.source) == n] for n in (5, 15))
    rows = [[p] for p in five[:20] + fifteen[:20]]
    rows += [[a, b] for a, b in zip(fifteen[:20], fifteen[1:21])]
    rates, patterns_of = {}, {}
    for row in rows:
        source, target, gold = joined(row)
        layers = transformer.weights(row)
        w = answer.layer_head_mean(layers)
        each = {"mean of all": w}
        for k, layer in enumerate(layers, 1):
            each |= {f"layer {k}, head {h}": a for h, a in enumerate(layer, 1)}
        for name, a in each.items():
            rate = answer.alignment_error_rate(answer.links(a), gold)
            rates.setdefault(name, {}).setdefault(len(source), []).append(rate)
        names = patterns_of.setdefault(len(source), Counter())
        names[answer.pattern(w)] += 1
        if names.total() == 1:  # the first of its length
            draw(f"_t_{len(source)}_words", w, source, target)
    means = {
        name: {n: round(float(np.mean(of)), 4) for n, of in each.items()}
        for name, each in rates.items()
    }
    print("alignment error rate", *(f"{n:>9} words" for n in (5, 15, 30)))
    for name, each in means.items():
        print(f"{name:<20}", *(f"{rate:>15.3f}" for rate in each.values()))
    all_heads, statement = rates.pop("mean of all"), []
    for n in all_heads:
        best = min(rates, key=lambda name: means[name][n])
        less = np.subtract(all_heads[n], rates[best][n])
        statement.append(judged(
            f"{n} words: the mean of all heads has a lower rate than the best one",
            below(0), over_sentences(less, steps),
        ))  # fmt: skip
    found = {"steps": steps, "aer": means, "patterns": patterns_of}
    return found | {"statement": statement}


def tier_b(answer, draw, folder, texts=TEXTS):
    """Return the patterns of a published model, as means over layers and heads."""
    model, found = marian.load(folder), []
    if model.tokenizer is None:
        return {"not run": f"{folder} has no tokenizer; expected source.spm and others"}
    for k, text in enumerate(texts):
        ids = np.array([model.tokenizer.encode(text)])
        said = model.generate(ids, num_beams=1)  # PAD first, EOS last
        with mg.no_grad():
            _, layers = model(ids, said[:, :-1], need_weights=True)
        w = answer.layer_head_mean([np.asarray(layer[0], float) for layer in layers])
        source, target = ids[0].tolist(), said[0, 1:].tolist()  # row t is for target t
        found.append({
            "text": text,
            "said": model.tokenizer.decode(said[0]),
            "source": source,
            "target": target,
            "pattern": answer.pattern(w),
        })  # fmt: skip
        draw(f"_b_{k}", w, list(map(str, source)), list(map(str, target)))
    return {"folder": os.path.basename(os.path.normpath(folder)), "sentences": found}


def of_three_models(my):
    """Measure alignments: with the package's model, a Transformer, a published one."""
    answer, draw = types.SimpleNamespace(**my.made), functools.partial(show, my)
    with kernels.backend("numpy"):
        first, second = measured(answer), tier_t(answer, draw)
        folder = os.environ.get("LESSONS_WEIGHTS")  # of the learner's Marian model
        third = tier_b(answer, draw, folder) if folder else NOT_RUN
        told = scoring.alignment_rates(*pretrained())
    claim = "the error rate is lower than that of the diagonal"
    first["statement"] = judged(claim, below(0), over_sentences(first.pop("less")))
    print(first["statement"], *second["statement"], sep="\n")
    found = {"tier A": first, "tier T": second, "tier B": third}
    return found | {"tier A, told the reference": told}
