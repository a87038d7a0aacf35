"""A model with attention learns to reverse strings of five letters, in a few seconds.

    python -m attention.first_model      # trains it, and writes first_model.png here

Letter j of the string has a vector h_j, the sum of two embeddings: one of the letter,
one of its position. An embedding is a vector of parameters. Step i writes letter i of
the answer. The step has an embedding too, the query q_i. The h_j are both the keys and
the values: ``attend`` averages them, with weights p_ij from the scores of q_i and h_j.
The average is called the context. From it a linear layer computes the logits, one
number for each of ten letters: the letter with the largest logit is the answer. No step
reads what other steps wrote.
"""

import os
import sys

import numpy as np

import minigrad as mg
from attention import alignment_heatmap, attend
from minigrad import nn, optim

LETTERS, N, H = "abcdefghij", 5, 32  # V = 10 letters; N of them in a string; widths H


class Reverser(nn.Module):
    def __init__(self, rng):
        self.letter = nn.Embedding(len(LETTERS), H, rng=rng)
        self.position = nn.Embedding(N, H, rng=rng)
        self.step = nn.Embedding(N, H, rng=rng)
        self.output = nn.Linear(H, len(LETTERS), rng=rng)

    def forward(self, source):  # (B, N) -> logits (B, N, V), weights (B, N, N)
        h = self.letter(source) + self.position(np.arange(N))  # (B, N, H)
        q = self.step(np.arange(N))  # (N, H), the same for every string
        context, p = attend(q, h, h)  # (B, N, H), (B, N, N)
        return self.output(context), p


def main(seed=0, path="first_model.png"):
    rng = np.random.default_rng(seed)
    model = Reverser(rng)
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    for step in range(1, 401):
        source = rng.integers(0, len(LETTERS), (64, N))  # a batch of B = 64 strings
        loss = mg.cross_entropy(model(source)[0], source[:, ::-1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step}  loss {loss.item():.3f}")
    source = rng.integers(0, len(LETTERS), (1000, N))
    accuracy = np.mean(model(source)[0].argmax(-1) == source[:, ::-1])
    print(f"right letters in 1000 strings, most of them new: {accuracy:.1%}")
    _, weights = model(np.array([[LETTERS.index(letter) for letter in "badge"]]))
    alignment_heatmap(weights[0], list("badge"), list("egdab"), path=path)
    print(f"wrote {os.path.abspath(path)}: the weights with which it reverses badge")
    return accuracy


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        text = f"{error.strerror}: {error.filename}."
        sys.exit(f"{text}\nRun it in a folder that you can write to.")
