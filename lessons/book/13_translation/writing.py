"""What does a small language model write, at which temperature? A record of lesson 13.

    python lessons/book/13_translation/writing.py

A Transformer reads 4000 English sentences of the grammar and learns each next word.
Then it writes sentences of its own. Beside it stands a table of word pairs: how often
does which word follow which? Three seeds, two minutes on a core.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

import numpy as np

import minigrad as mg
from attention.decoding.sampling import sample
from attention.tasks.batch import PAD, SOS
from attention.tasks.batching import Batches
from attention.tasks.grammar import generate
from attention.tasks.vocabulary import FIRST, Vocabulary
from attention.training import Run, fit
from attention.transformer import DecoderOnly, TransformerConfig
from lessons.classroom.records import write_record
from minigrad import optim

READ, ALL, WRITTEN = 4000, 30_000, 200
STEPS, BATCH, RATE, SEEDS = 400, 50, 3e-3, (1, 2, 3)
TEMPERATURES = (0.3, 0.7, 1.0, 1.5)


def runs_of_four(words):
    words = ("(", *words, ")")  # the beginning and the end count
    return set(zip(words, words[1:], words[2:], words[3:]))


def train(ids, size, seed):
    """A language model of the sentences ids, each [(source, target)] with one word."""
    config = TransformerConfig(size, width=48, heads=4, layers=2)
    model = DecoderOnly(config, np.random.default_rng(seed))
    optimizer = optim.Adam(model.parameters(), lr=RATE)
    after = optim.CosineAnnealingLR(optimizer, T_max=STEPS)
    run = Run(model, optimizer, optim.WarmupLR(optimizer, 50, after=after))
    batches = Batches(ids, BATCH, seed)
    fit(run, STEPS, lambda step: loss_of(model, batches[step]))
    return run


def loss_of(model, batch):
    """The mean loss of a word: target_in is SOS and the words, target_out has EOS."""
    logits = model(batch.target_in)
    return mg.cross_entropy(logits, batch.target_out, ignore_index=PAD)


def write(model, vocabulary, temperature, seed):
    prompt, rng = np.full((WRITTEN, 1), SOS), np.random.default_rng([seed, 1])
    found = sample(model, prompt, None, 30, temperature=temperature, rng=rng)
    return [vocabulary.decode([i for i in row if i >= FIRST]) for row in found.ids]


def chained(sentences, rng):
    """Sentences of a table of word pairs: each word is drawn by the word before it."""
    after = {}
    for words in sentences:
        for a, b in zip(("(", *words), (*words, ")")):
            after.setdefault(a, []).append(b)
    found = []
    for _ in range(WRITTEN):
        words = ["("]
        while words[-1] != ")" and len(words) < 30:
            words.append(after[words[-1]][rng.integers(len(after[words[-1]]))])
        found.append(words[1:-1] if words[-1] == ")" else words[1:])
    return found


def judged(said, read, known):
    """Shares: of sentences all of whose runs of four the grammar has; read; different.

    known   the runs of four of the sentences that the grammar wrote, read or not
    """
    right = [runs_of_four(words) <= known for words in said]
    copied = [tuple(words) in read for words in said]
    new = [a and not b for a, b in zip(right, copied)]
    return {
        "right": np.mean(right), "copied": np.mean(copied), "new": np.mean(new),
        "different": len(set(map(tuple, said))) / len(said),
        "words": np.mean([len(words) for words in said]),
    }  # fmt: skip


def main():
    everything = [pair.source for pair in generate("english-german", ALL, seed=5)]
    held_out, corpus = everything[:WRITTEN], everything[WRITTEN:]
    read = corpus[:READ]
    known = set().union(*map(runs_of_four, corpus))
    vocabulary = Vocabulary.build(read, 1)
    ids = [([FIRST], vocabulary.encode(words)) for words in read]
    found = {"grammar": judged(held_out, set(read), known), "runs": [], "pairs": []}
    print(found, len(vocabulary), flush=True)
    for seed in SEEDS:
        run = train(ids, len(vocabulary), seed)
        loss = np.mean(run.losses[-50:])
        for temperature in TEMPERATURES:
            said = write(run.model, vocabulary, temperature, seed)
            one = {"seed": seed, "temperature": temperature, "loss": loss}
            one |= judged(said, set(read), known)
            one["said"] = [" ".join(words) for words in said[:4]]
            found["runs"].append(one)
            print(*one.values(), flush=True)
        said = chained(read, np.random.default_rng([seed, 2]))
        found["pairs"].append(judged(said, set(read), known) | {"said": said[:2]})
        print("pairs of words", found["pairs"][-1], flush=True)
    found |= {"read": READ, "all": len(corpus), "written": WRITTEN, "steps": STEPS}
    found |= {"parameters": run.model.num_parameters(), "words": len(vocabulary)}
    command = "python lessons/book/13_translation/writing.py"
    print(write_record("writing", found, command=command, seeds=SEEDS))


if __name__ == "__main__":
    main()
