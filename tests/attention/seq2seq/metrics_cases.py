"""Ways to smooth BLEU, and texts to score, for the tests."""

import random

SMOOTHINGS = [
    ("none", None), ("exp", None), ("floor", None), ("floor", 0.01), ("add-k", None),
    ("add-k", 0.5),
]  # fmt: skip


def random_corpus(seed, sentences=6, most=3):
    """Hypotheses that are damaged copies of one of their references."""
    rng = random.Random(seed)
    hypotheses, references = [], []
    for _ in range(sentences):
        ones = [
            [rng.choice("abcde") for _ in range(rng.randint(4, 12))]
            for _ in range(rng.randint(1, most))
        ]
        said = [w if rng.random() < 0.9 else "f" for w in rng.choice(ones)]
        hypotheses.append(said[: rng.randint(3, 12)])
        references.append(ones)
    return hypotheses, references
