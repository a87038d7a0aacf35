"""The fake model and the measurements of the check of 6.7."""

import functools
import os
import time

import numpy as np

import minigrad as mg
from attention import kernels, marian
from attention.app.experiments import scoring
from attention.app.experiments.verdict import below
from attention.app.pretrained import EN_FR
from attention.metrics import alignment, patterns
from attention.seq2seq import translator
from attention.tasks.batching import in_order
from attention.tasks.grammar import by_length, generate, splits
from attention.tasks.vocabulary import Vocabulary
from attention.training import Run
from attention.transformer.config import EncoderDecoderConfig
from attention.transformer.encoder_decoder import EncoderDecoder
from lessons.checks import pictures
from lessons.classroom.steps import CheckFailed
from lessons.course.long_runs import judged, over_sentences
from minigrad import optim

PAD, SOS, EOS = 0, 1, 2
LONGEST = 100  # words of a ``Fake``; max_length is 40 at most
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
        if t >= LONGEST:
            text = f"found {LONGEST} steps, with a max_length of 40 or less"
            raise CheckFailed("endless", "expected the end of the sentence", text)
        right = int(words[0]) == expected and t < len(self.script)
        word = self.script[t] if right else 9 if t else 8
        logits = np.full((1, 12), -3.0)  # all below 0
        logits[0, [word, self.forbidden]] = -2, -1  # the largest one is not allowed
        return mg.Tensor(logits), (t + 1, word), mg.Tensor(self.weights(t)[None])

    def weights(self, t):
        w = np.exp(np.sin(1 + 3 * t + np.arange(self.S) ** 2))
        return w / w.sum()


def weights_folder():
    """Return the folder of the learner's Marian model, or None."""
    return os.environ.get("LESSONS_WEIGHTS")


@functools.cache
def pretrained():
    """Return the package's translator and pairs that it was not trained on."""
    model = translator.load(EN_FR)
    return model, splits("english-french", train=1, validation=1, test=200).test


def attended(my, n):
    """Return the model, the first n sentences, and (words, weights) of each."""
    with kernels.backend("numpy"):
        model, pairs = pretrained()
        found = [
            my.collect_attention(model.model, model.source.encode(pair.source))
            for pair in pairs[:n]
        ]
    return model, pairs[:n], [(said, np.asarray(w, float)) for said, w in found]


def same_patterns(my, n):
    """Fail at the first weights whose pattern is not that of the engine's rules."""
    for _, w in attended(my, n)[2]:
        want, found = patterns.alignment_pattern(w), my.pattern(w)
        text = f"expected {want} for p = {w.argmax(1)}", f"found {found}"
        my.holds(found == want or want == "uniform", "pattern", *text)


def tier_a(my, n=200):
    """Return measurements of the package's model with the learner's functions.

    The error rates are means over the sentences whose translation equals the reference,
    because the right alignment is known only for these.
    """
    model, pairs, found = attended(my, n)
    kept, off, agree = [], 0.0, True
    for pair, (said, w) in zip(pairs, found):
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
            alignment.diagonal_baseline(*w.shape, p.alignment) for p, w in exact
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
        "statement": judged(
            "the error rate is lower than that of the diagonal",
            below(0),
            over_sentences(np.subtract(rates["aer"], rates["aer_diagonal"])),
        ),
        "patterns": counted,
    }


def three_sentences():
    """Return [(source, alignment)] of 5, 15 and 30 words, unseen by the model.

    The last are two sentences of 15 words, twice as long as any that it has seen.
    """
    _, pairs = pretrained()
    short, long = ([p for p in pairs if len(p.source) == n] for n in (5, 15))
    return [joined(row) for row in (short[:1], long[:1], long[:2])]


def joined(pairs):
    """Return the source of several pairs as one sentence, and their alignment."""
    source, links, T = (), set(), 0
    for p in pairs:
        links |= {(T + t, len(source) + s) for t, s in p.alignment}
        source, T = source + tuple(p.source), T + len(p.target)
    return source, links


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
            (
                sum((list(self.source.encode(p.source)) for p in row), []),
                sum((list(self.target.encode(p.target)) for p in row), []),
            )
            for row in rows
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


def tier_t(my, steps=450):
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
        source, gold = joined(row)
        layers = transformer.weights(row)
        w = my.layer_head_mean(layers)
        each = {"mean of all": w}
        for k, layer in enumerate(layers, 1):
            each |= {f"layer {k}, head {h}": a for h, a in enumerate(layer, 1)}
        for name, a in each.items():
            rate = my.alignment_error_rate(my.links(a), gold)
            rates.setdefault(name, {}).setdefault(len(source), []).append(rate)
        names = patterns_of.setdefault(len(source), {})
        names[my.pattern(w)] = names.get(my.pattern(w), 0) + 1
        if sum(names.values()) == 1:  # the first of its length
            target = sum((list(p.target) for p in row), [])
            show(my, f"_t_{len(source)}_words", w, source, target)
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
    return {**found, "statement": statement}


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
        show(my, f"_b_{k}", w, list(map(str, source)), list(map(str, target)))
    return {"folder": os.path.basename(os.path.normpath(folder)), "sentences": found}


def show(my, ending, w, source, target):
    """Draw weights with the learner's function, into the learner's folder."""
    size = 1.5 + 0.24 * len(source), 1.2 + 0.24 * len(target)
    fig = pictures.drawn(my, "draw", size, w, list(source), list(target))
    pictures.keep(my, fig, ending)


def measured(my):
    """Measure all tiers: with the package's model, a Transformer, a published one."""
    with kernels.backend("numpy"):
        found = {"tier A": tier_a(my), "tier T": tier_t(my)}
        folder = weights_folder()
        found["tier B"] = tier_b(my, folder) if folder else NOT_RUN
        told = scoring.alignment_rates(*pretrained())
    print(found["tier A"]["statement"], *found["tier T"]["statement"], sep="\n")
    return {**found, "tier A, told the reference": told}
