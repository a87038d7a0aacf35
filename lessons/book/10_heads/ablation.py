"""What do the heads of a language model look at, and which of them matter?

    python lessons/book/10_heads/ablation.py

A model of four blocks with four heads learns to continue sentences of the course's
English grammar. Then each head is removed in turn, by a zero in W_o in place of its
columns, and the loss is measured again. A record of lesson 10; some minutes.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from importlib import import_module

import numpy as np

import minigrad as mg
from attention.exact.multihead import heads
from attention.metrics.alignment import attention_entropy
from attention.tasks.batch import EOS, PAD, SOS
from attention.tasks.batching import pad
from attention.tasks.grammar import generate
from attention.tasks.vocabulary import Vocabulary
from attention.transformer import TransformerConfig
from lessons.classroom.records import write_record

Transformer = import_module("lessons.book.10_heads.small").Transformer
LAYERS, HEADS, WIDTH, SEEDS = 4, 4, 64, (0, 1, 2, 3, 4, 5)
STEPS, BATCH, RATE = 400, 32, 2e-3
SENTENCES, TEST = 4000, 200  # so many that each is read three times
EXAMPLE = "if the small children have visited us , he can play ."


def corpus():
    """Return training and test ids (n, T), padded, and the vocabulary."""
    sentences = [pair.source for pair in generate("english-german", SENTENCES)]
    words = Vocabulary.build([list(each) for each in sentences])
    rows = [[SOS, *words.encode(each), EOS] for each in sentences]
    return pad(rows[TEST:])[0], pad(rows[:TEST])[0], words


def loss_of(model, ids):
    """Return the mean cross-entropy of each next word; padding does not count."""
    logits, weights = model(ids[:, :-1])
    V = logits.shape[-1]
    loss = mg.cross_entropy(logits.reshape(-1, V), ids[:, 1:].ravel(), ignore_index=PAD)
    return loss, weights


def train(ids, words, seed):
    config = TransformerConfig(len(words), width=WIDTH, heads=HEADS, layers=LAYERS)
    model = Transformer(config, True, None, np.random.default_rng(seed))
    optimizer = mg.optim.Adam(model.parameters(), lr=RATE)
    after = mg.optim.CosineAnnealingLR(optimizer, T_max=STEPS)
    schedule = mg.optim.WarmupLR(optimizer, 50, after=after)
    rng = np.random.default_rng(100 + seed)
    for _ in range(STEPS):
        batch = ids[rng.integers(len(ids), size=BATCH)]
        longest = (batch != PAD).sum(1).max()
        loss, _ = loss_of(model, batch[:, :longest])
        optimizer.zero_grad()
        loss.backward()
        mg.optim.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model


def look(p, ids):
    """Return what a head does, from its weights p (n, T, T); means over all queries.

    The first query has one key only, so that it does not count, nor does padding.
    """
    T = p.shape[-1]
    i, j = np.indices((T, T))
    counted = (ids[:, :-1] != PAD) & (np.arange(T) > 0)  # (n, T)
    shares = {
        "itself": (p * (i == j)).sum(-1),
        "previous": (p * (i - j == 1)).sum(-1),
        "first": (p * (j == 0)).sum(-1),
        "near": (p * (i - j <= 2)).sum(-1),
        "largest": p.max(-1),
        "entropy": attention_entropy(p) / np.log(np.arange(1, T + 1).clip(2)),
    }
    return {name: float(share[counted].mean()) for name, share in shares.items()}


def sizes(model, weights):
    """Return the mean length of what each head adds to a word: (LAYERS, HEADS)."""
    E, found = WIDTH // HEADS, []
    for attention, x, p in zip(model.attentions, model.inputs, weights):
        v = heads(attention.W_v, mg.Tensor(x), HEADS).data  # (n, H, T, E)
        W = attention.W_o.weight.data.reshape(WIDTH, HEADS, E)  # of the columns
        parts = np.einsum("nhte,dhe->nhtd", p @ v, W)
        found.append(np.linalg.norm(parts, axis=-1).mean((0, 2)))
    return np.array(found)


def removed(model, ids):
    """Return the loss without each head: (LAYERS, HEADS)."""
    E, losses = WIDTH // HEADS, []
    for attention in model.attentions:
        W = attention.W_o.weight
        whole = W.data.copy()  # (D, H E)
        for head in range(HEADS):
            without = whole.copy()
            without[:, head * E : (head + 1) * E] = 0
            W.data = without
            losses.append(loss_of(model, ids)[0].item())
        W.data = whole
    return np.reshape(losses, (LAYERS, HEADS))


def measure(train_ids, test_ids, words, seed):
    model = train(train_ids, words, seed)
    with mg.no_grad():
        loss, weights = loss_of(model, test_ids)
        size, without = sizes(model, weights), removed(model, test_ids)
        seen = [
            {"layer": layer, "head": head} | look(p[:, head], test_ids)
            for layer, p in enumerate(weights)
            for head in range(HEADS)
        ]
        ids = np.array([[SOS, *words.encode(EXAMPLE.split())]])
        example = [p[0].round(3) for p in model(ids)[1]] if seed == 0 else None
    for head, length, each in zip(seen, size.ravel(), without.ravel()):
        head |= {"size": float(length), "rise": float(each - loss.item())}
    return {"seed": seed, "loss": loss.item(), "heads": seen, "example": example}


def keep(runs):
    """The record of these runs."""
    results = {"layers": LAYERS, "heads": HEADS, "sentence": EXAMPLE, "runs": runs}
    command, seeds = (
        "python lessons/book/10_heads/ablation.py",
        [r["seed"] for r in runs],
    )
    return write_record("heads", results, command=command, seeds=seeds)


def main():
    runs, texts = [], corpus()
    for seed in SEEDS:
        runs.append(measure(*texts, seed))
        print(seed, runs[-1]["loss"], [round(h["rise"], 3) for h in runs[-1]["heads"]])
        print(
            keep(runs), flush=True
        )  # after each seed, so that a long run can be ended


if __name__ == "__main__":
    main()
