"""A GRU with attention learns to reverse strings of five letters, in a few seconds.

    python -m attention.first_model      # trains it, and writes first_model.png

The encoder computes a state h_j for each letter. The decoder has a state s. At each
step, s is the query, and the h_j are both the keys and the values: ``attend`` averages
the h_j, with weights from the scores of s and h_j. The average is called the context. A
GRU cell computes the next s from the context and s. From the next s and the context, a
linear layer computes the logits, one number for each letter: the letter with the
largest logit is the answer.
"""

import numpy as np

import minigrad as mg
from attention import additive, alignment_heatmap, attend
from minigrad import nn, optim

LETTERS, N, H = "abcdefghij", 5, 32  # V = 10 letters; N of them in a string; widths H


class Reverser(nn.Module):
    def __init__(self, rng):
        def parameter(*shape):
            return nn.Parameter(rng.standard_normal(shape, np.float32) / H**0.5)

        self.embed = nn.Embedding(len(LETTERS), H, rng=rng)
        self.encoder = nn.GRU(H, H // 2, bidirectional=True, rng=rng)
        self.W_q, self.W_k, self.w_v = parameter(H, H), parameter(H, H), parameter(H)
        self.cell = nn.GRUCell(H, H, rng=rng)
        self.output = nn.Linear(2 * H, len(LETTERS), rng=rng)

    def forward(self, source):  # (B, N) -> logits (B, N, V), weights (B, N, N)
        def score(s, h):
            return additive(s, h, self.W_q, self.W_k, self.w_v)

        h, _ = self.encoder(self.embed(source))  # (B, N, H), of both directions
        # s starts as the first h (B, H): the reading from right to left ends there
        s, logits, weights = h[:, 0], [], []
        for _ in range(N):  # at each step s is the only query: s[:, None] (B, 1, H)
            context, p = attend(s[:, None], h, h, score)  # (B, 1, H), (B, 1, N)
            s = self.cell(context[:, 0], s)
            logits.append(self.output(mg.concat([s, context[:, 0]], -1)))
            weights.append(p)
        return mg.stack(logits, 1), mg.concat(weights, 1)


def main(seed=0, path="first_model.png"):
    rng = np.random.default_rng(seed)
    model = Reverser(rng)
    optimizer = optim.Adam(model.parameters(), lr=7e-3)
    for step in range(1, 601):
        source = rng.integers(0, len(LETTERS), (64, N))
        loss = mg.cross_entropy(model(source)[0], source[:, ::-1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}  loss {loss.item():.3f}")
    source = rng.integers(0, len(LETTERS), (1000, N))
    accuracy = np.mean(model(source)[0].argmax(-1) == source[:, ::-1])
    print(f"right letters in 1000 strings, most of them new: {accuracy:.1%}")
    _, weights = model(np.array([[LETTERS.index(letter) for letter in "badge"]]))
    alignment_heatmap(weights[0], list("badge"), list("egdab"), path=path)
    print(f"wrote {path}: the weights with which it reverses badge")
    return accuracy


if __name__ == "__main__":
    main()
