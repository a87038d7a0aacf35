# pyright: basic
"""A program as a user writes it: it runs, and a type checker finds no error in it.

A GRU reads six numbers, additive attention summarizes its states, and the model learns
which number is the largest. The other lines use what else a user needs.
"""

import pathlib
import tempfile
from typing import Any

import numpy as np

import minigrad as mg
from attention import AdditiveAttention, MultiHeadAttention, attend, kernels, masks
from minigrad import Tensor, nn, optim
from minigrad.nn import Linear, Module

rng = np.random.default_rng(0)
mg.manual_seed(0)


class Largest(Module):
    def __init__(self, width: int = 8):
        self.rnn = nn.GRU(1, width)
        self.pool = AdditiveAttention(width, width, width)
        self.out = nn.Sequential(Linear(width, width), mg.tanh, nn.Linear(width, 6))

    def forward(self, x: Tensor) -> Tensor:
        states, last = self.rnn(x)
        return self.out(self.pool(last[0][:, None], states, states)[:, 0])


def accuracy(model: Largest, x: np.ndarray, y: np.ndarray) -> float:
    with mg.no_grad(), kernels.backend("numpy"):
        logits = model.eval()(Tensor(x))
    return float((logits.argmax(axis=-1) == y).mean())


x = rng.normal(size=(64, 6, 1)).astype(np.float32)
y = x[..., 0].argmax(axis=1)
model = Largest()
optimizer = optim.Adam(model.parameters(), lr=1e-2)
schedule = optim.CosineAnnealingLR(optimizer, T_max=20)
losses: list[float] = []
for _ in range(20):
    optimizer.zero_grad()
    penalty = 1e-4 * sum((p * p).sum() for p in model.parameters())
    loss = mg.cross_entropy(model.train()(Tensor(x)), y) + penalty
    loss.backward()
    norm = optim.clip_grad_norm_(optimizer.params, 1.0)
    optimizer.step()
    schedule.step()
    losses.append(loss.item())
assert losses[-1] < losses[0] and accuracy(model, x, y) > 1 / 6
assert model.pool.attention_weights.shape == (64, 1, 6)


@mg.lift
def cube(x: Any) -> Any:
    def backward(g: Any) -> Any:
        return g * 3 * x**2

    return x**3, backward


w = Tensor(rng.normal(size=(3, 4)), requires_grad=True)
error = (cube(w).swapaxes(0, 1) @ w - 1).mean(axis=0, keepdims=True)
(-(error**2)).sum().backward()
w.data -= 0.1 * w.grad
assert (w == w).all() and w.grad.shape == mg.where(w > 0, w, 0.0).numpy().shape
print(mg.gradcheck(cube, [w]).table())

q = Tensor(rng.normal(size=(2, 5, 4)))
mask = (masks.causal & masks.padding([3, 5])).dense(2, None, 5, 5)[:, 0]
context, weights = attend(q, q, q, mask=mask)
heads = MultiHeadAttention(4, 2)(q.astype(np.float32), is_causal=True)
assert context.shape == heads.shape and abs(weights.sum(axis=-1).data - 1).max() < 1e-9

with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "model.safetensors"
    mg.checkpoint.save(path, {"model": model.state_dict(), "steps": len(losses)})
    state = mg.checkpoint.load(path)
missing, unexpected = model.load_state_dict(state["model"])
assert not missing and not unexpected and state["steps"] + 1 == 21
