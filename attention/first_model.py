"""A first model: a GRU with attention learns to reverse strings of five letters.

    python -m attention.first_model      # trains it, and writes first_model.png

An encoder reads the string in both directions. At each step of the decoder, its state
is a query; ``attend`` averages the encoder's states with the weights that the query
gives them, and a GRU cell computes the next state from this average, the context.
"""

import numpy as np

import minigrad as mg
from attention import additive, alignment_heatmap, attend
from minigrad import nn, optim
from minigrad.shapes import shapes

LETTERS = "abcdefghij"  # V = 10 of them
N, H = 5, 32  # the length of a string; the number of entries of a vector


class Reverser(nn.Module):
    def __init__(self, rng):
        def parameter(*shape):
            return nn.Parameter(rng.standard_normal(shape, np.float32) / H**0.5)

        self.embed = nn.Embedding(len(LETTERS), H, rng=rng)
        self.encoder = nn.GRU(H, H // 2, bidirectional=True, rng=rng)
        self.W_q, self.W_k, self.w_v = parameter(H, H), parameter(H, H), parameter(H)
        self.cell = nn.GRUCell(H, H, rng=rng)
        self.output = nn.Linear(2 * H, len(LETTERS), rng=rng)

    def score(self, q, k):
        """Return one number for each query in q and each key in k."""
        return additive(q, k, self.W_q, self.W_k, self.w_v)

    @shapes
    def forward(self, source):
        """source (B, N) int  ->  logits (B, N, V), weights (B, N, N)"""
        states, _ = self.encoder(self.embed(source))  # (B, N, H), of both directions
        s, logits, weights = states[:, 0], [], []  # s (B, H), the decoder's state
        for _ in range(N):
            context, p = attend(s[:, None], states, states, self.score)  # (B, 1, H)
            s = self.cell(context[:, 0], s)
            logits.append(self.output(mg.concat([s, context[:, 0]], -1)))
            weights.append(p[:, 0])
        return mg.stack(logits, 1), mg.stack(weights, 1)


def main(seed=0, path="first_model.png"):
    rng = np.random.default_rng(seed)
    model = Reverser(rng)
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    for step in range(1, 501):
        source = rng.integers(0, len(LETTERS), (64, N))
        loss = mg.cross_entropy(model(source)[0], source[:, ::-1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}  loss {loss.item():.3f}")

    source = rng.integers(0, len(LETTERS), (1000, N))  # most are new
    accuracy = np.mean(model(source)[0].argmax(-1) == source[:, ::-1])
    print(f"right letters in 1000 strings, most of them new: {accuracy:.1%}")

    word = "badge"
    _, weights = model(np.array([[LETTERS.index(letter) for letter in word]]))
    title = "The weights of each step"
    alignment_heatmap(weights[0], list(word), list(word[::-1]), title, path)
    print(f"its weights while it reverses {word!r}: {path}")
    return accuracy


if __name__ == "__main__":
    main()
