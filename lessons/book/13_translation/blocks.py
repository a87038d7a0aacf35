"""Does a Transformer translate better than a GRU with attention? Lesson 13's record.

    python lessons/book/13_translation/blocks.py

The GRU of ``python -m attention compare`` (additive attention, two directions) and an
encoder-decoder Transformer of fewer parameters learn from the same 2000 pairs of
English and German, three seeds each. Of each run, the parameters with the least
validation loss translate the test sentences, greedily. Three minutes on a core.
"""

import pathlib
import sys
from concurrent.futures import ProcessPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

import numpy as np

import minigrad as mg
from attention.app.experiments import bootstrap, compare, scoring, translation
from attention.decoding.greedy import greedy
from attention.tasks.batch import PAD
from attention.tasks.batching import Batches, in_order
from attention.tasks.vocabulary import FIRST
from attention.training import Run, Validation, fit
from attention.transformer import EncoderDecoder, EncoderDecoderConfig
from lessons.classroom.records import write_record
from minigrad import optim

CONFIG = compare.Config(pairs=2000, steps=600, dropout=0.2)
SEEDS = (1, 2, 3)
SHAPE = {"width": 64, "heads": 4, "layers": 2, "hidden": 192}
RATE, WARMUP = 2e-3, 100  # of the Transformer


def loss_of(model, batch):
    """The mean cross-entropy of the target words, in nats."""
    logits = model(batch.source, batch.target_in, batch.lengths)
    return mg.cross_entropy(logits, batch.target_out, ignore_index=PAD)


def transformer(config, data, seed):
    """Train a Transformer; return (run, its translations of the test sentences)."""
    sizes = EncoderDecoderConfig(
        len(data.source), target_vocabulary=len(data.target), **SHAPE,
        dropout=config.dropout / 2,
    )  # fmt: skip
    model = EncoderDecoder(sizes, np.random.default_rng(seed))
    optimizer = optim.Adam(model.parameters(), lr=RATE)
    after = optim.CosineAnnealingLR(optimizer, T_max=config.steps)
    run = Run(model, optimizer, optim.WarmupLR(optimizer, WARMUP, after=after))
    batches = Batches(data.ids("train"), config.batch, seed)
    held_out = list(in_order(data.ids("validation"), 100))

    def validation_loss():
        with mg.no_grad():
            return float(np.mean([loss_of(model, b).item() for b in held_out]))

    validation = Validation(validation_loss, 50)
    fit(run, config.steps, lambda i: loss_of(model, batches[i]), validation=validation)
    model.load_state_dict(run.best["model"])
    said = []
    for batch in in_order(data.ids("test"), 100):
        for row in greedy(model.eval(), batch.source, batch.lengths, 40).ids:
            said.append(data.target.decode([i for i in row if i >= FIRST]))
    return run, said


def recurrent(config, data, seed):
    """Train the GRU with additive attention; return (run, its translations)."""
    own = config.translation("bahdanau", seed)
    own.patience = config.steps  # as long as the Transformer
    run, _ = translation.train(own, data)
    said = scoring.score(translation.translator_of(own, data, run), data.test)["said"]
    return run, said


def one_run(name, seed, data):
    """{the numbers of a run}, and the counts of n-grams of its translations."""
    train = {"GRU": recurrent, "Transformer": transformer}[name]
    run, said = train(CONFIG, data, seed)
    wanted = [list(pair.target) for pair in data.test]
    found = {"name": name, "seed": seed, "seconds": run.seconds}
    found["parameters"] = run.model.num_parameters()
    found |= {"best_step": run.best["step"], "validation": run.best["loss"]}
    found["exact"] = np.mean([a == b for a, b in zip(said, wanted)])
    found["said"] = [" ".join(words) for words in said[:6]]
    return found, bootstrap.counts(said, wanted)


def by_length(counts, lengths):
    """{"bleu": {part: {name: [mean, low, high]}}, "gain": {part: [...]}} of counts."""
    found = {"bleu": {}, "gain": {}}
    for part, rows in scoring.buckets(lengths).items():
        here = {name: n[:, rows] for name, n in counts.items()}
        drawn = bootstrap.resampled(here, seed=1)
        mean = {k: float(bootstrap.bleu(n.sum(1)).mean()) for k, n in here.items()}
        found["bleu"][part] = {
            name: [mean[name], *bootstrap.interval(drawn[name])] for name in here
        }
        gain = bootstrap.interval(drawn["Transformer"] - drawn["GRU"])
        found["gain"][part] = [mean["Transformer"] - mean["GRU"], *gain]
    return found


def main():
    data = translation.load(CONFIG.translation("bahdanau", 1))
    plan = [(name, seed) for seed in SEEDS for name in ("Transformer", "GRU")]
    runs, counts = [], {}
    with ProcessPoolExecutor(2) as workers:
        for one in [workers.submit(one_run, *each, data) for each in plan]:
            found, n = one.result()
            runs.append(found)
            counts.setdefault(found["name"], []).append(n)
            print(*found.values(), flush=True)
    counts = {name: np.stack(each) for name, each in counts.items()}
    found = by_length(counts, [len(pair.source) for pair in data.test])
    print(found)
    found |= {"pairs": CONFIG.pairs, "steps": CONFIG.steps, "batch": CONFIG.batch}
    found |= {"shape": SHAPE, "runs": runs}
    command = "python lessons/book/13_translation/blocks.py"
    print(write_record("translation_blocks", found, command=command, seeds=SEEDS))


if __name__ == "__main__":
    main()
